"""Words of a runtime sequence without native code: its lowered operations, executed one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from tilewright.codegen.interpreter import Interpreter, Refused
from tilewright.codegen.sequence_scalars import (
    RangeError,
    ScalarSequence,
    SequenceGuard,
    Words,
    arguments_behind,
)
from tilewright.codegen.static_words import HEADER_WORDS
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.sequence import RuntimeSequenceOp, scalar_arguments
from tilewright.txn.codec import header_words


class InterpretedSequence(ScalarSequence):
    """One runtime sequence; gives what the native generator gives, and refuses what that refuses."""

    def __init__(self, sequence: RuntimeSequenceOp, emitter: TxnEmitter, names: Sequence[str]):
        super().__init__(names, scalar_arguments(sequence))
        self.sequence, self.emitter = sequence, emitter

    def __call__(self, scalars: Mapping[str, int]) -> Words:
        values = self._values(scalars)
        words, count = [0] * HEADER_WORDS, 0
        try:
            for emitted in Interpreter(
                self.sequence, self.emitter, dict(zip(self.arguments, values, strict=True))
            ).run():
                words += cast("list[int]", emitted.words)
                count += 1
        except Refused as error:
            raise self._refused(error, values) from None
        self._check_count(len(words), values, self.sequence.location)
        words[:HEADER_WORDS] = header_words(self.emitter.header, count, len(words) * WORD_BYTES)
        return np.array(words, np.uint32)

    def _refused(self, error: Refused, values: Sequence[int]) -> RangeError:
        used = {number for value in error.about for number in arguments_behind(value, self.arguments)}
        guard = SequenceGuard(error.subject, error.demand, error.op.location, tuple(sorted(used)))
        return self._explain(guard, error.value, values)
