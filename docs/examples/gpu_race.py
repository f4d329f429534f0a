"""Two waves turn 128 numbers round: each leaves its own in memory of the block and takes those of the other."""

import numpy as np

from tilewright import air


@air.jit(settings={"check": "races"})
def reverse(numbers):
    @air.launch()
    def _():
        line = air.shared(128, air.i32)

        @air.herd(2)
        def _(wave):
            me = wave * air.lanes() + air.lane()
            line[me] = numbers[me]
            # here `air.barrier()` is missing
            numbers[me] = line[127 - me]


if __name__ == "__main__":
    reverse(np.arange(128, dtype=np.int32))
