"""Block 1 waits until block 0 has set a flag, which it sets to the wrong number."""

from tilewright import air


@air.jit
def wait():
    flag = air.array(1, air.i32)
    air.fill(flag, 0)

    @air.launch(2, waves=1)
    def _(block):
        with air.if_(block == 0) as first:
            air.atomic_exchange(flag, 0, 2)
        with air.else_(first):
            air.wait_until(lambda: air.atomic_add(flag, 0, 0) == 1)


if __name__ == "__main__":
    wait()
