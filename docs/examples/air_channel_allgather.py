"""An allgather over as many ranks as there are, up to 16: everyone has a row, and in the end all rows.

Each rank broadcasts its row. The two waves of the herd share the work.
"""

import numpy as np

from tilewright import air

rows = air.channel("rows", size=[16, 1], broadcast_shape=[16, 16])


@air.jit(ranks=4)
def allgather(sent, gathered):
    @air.rank()
    def _(me):
        @air.launch(1, waves=2)
        def _(_):
            rows.put(sent[me, :], [me, 0])
            for source in air.sequential(air.world_size()):
                rows.get(gathered[source, :], [source, me])


if __name__ == "__main__":
    sent = np.arange(16 * 100, dtype=np.float32).reshape(16, 100)
    gathered = np.zeros((16, 100), np.float32)
    result = allgather(sent, gathered)
    print([int((rank.arrays[1][:4] == sent[:4]).all()) for rank in result.ranks])
