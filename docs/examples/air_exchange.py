"""Every rank stores its number into the symmetric heaps of all ranks, and prints what it finds in its own."""

from tilewright import air


@air.jit
def exchange():
    @air.rank(3)
    def _(me):
        slots = air.symmetric(3, air.i32)

        @air.launch(1, waves=1)
        def _(_):
            for other in air.sequential(3):
                air.peer(slots, other)[me] = me.astype(air.i32) + 100

        air.barrier()
        found = air.array(3, air.i32, host_shared=True)
        air.copy(found, slots)
        air.print_line("rank", me, "found", *(found[k] for k in range(3)))


if __name__ == "__main__":
    print(exchange().output, end="")
