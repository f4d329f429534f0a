"""TXN operations <-> words, and the tools on them.

Words or bytes go in through `decode`, operations come out through `encode`; both follow the table in `opcodes`.
"""

from tilewright.txn.codec import decode, encode
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import (
    Header,
    Operation,
    Stream,
    TxnError,
    address_patch,
    block_write,
    mask_write,
    sync,
    write,
)

__all__ = [
    "Header",
    "Opcode",
    "Operation",
    "Stream",
    "TxnError",
    "address_patch",
    "block_write",
    "decode",
    "encode",
    "mask_write",
    "sync",
    "write",
]
