"""Messages of 31 words from rank 0 to rank 1, each in one line of 128 bytes together with its flag.

Up to four of them are on their way.
"""

import numpy as np

from tilewright import air

stream = air.channel("stream", protocol="line", depth=4)


@air.jit
def send(sent, received):
    @air.rank(2)
    def _(me):
        @air.launch(1, waves=1)
        def _(_):
            with air.if_(me == 0) as first:
                for k in air.sequential(sent.shape[0]):
                    stream.put(sent[k, 0:31])
            with air.else_(first):
                for k in air.sequential(sent.shape[0]):
                    stream.get(received[k, 0:31])


if __name__ == "__main__":
    sent = np.arange(1000 * 31, dtype=np.int32).reshape(1000, 31)
    received = np.zeros_like(sent)
    result = send(sent, received)
    print("all there:", (result.ranks[1].arrays[1] == sent).all())
