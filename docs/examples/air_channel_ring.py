"""Four ranks in a ring: everyone sends four numbers to the next rank and gets those of the rank before."""

from tilewright import air

ring = air.channel("ring", size=[4])


@air.jit
def exchange():
    @air.rank(4)
    def _(me):
        data = air.array(4, air.i32, host_shared=True)

        @air.launch(1, waves=1)
        def _(_):
            with air.if_(air.lane() < 4, hasElse=False):
                data[air.lane()] = me * 10 + air.lane()
            ring.put(data, (me + 1) % 4)
            ring.get(data, me)

        air.print_line("rank", me, "got", *(data[k] for k in range(4)))


if __name__ == "__main__":
    print(exchange().output, end="")
