"""The header of a library of generators: plain C that C++ can include, one declaration per sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from tilewright.codegen.cpp_names import RESERVED, identifier
from tilewright.ir.escapes import comment_text

LINE_WIDTH = 120
# Parameters of every function, and what C reserves beyond C++.
_TAKEN = RESERVED | {"words", "capacity", "failure", "restrict", "typeof"}
_BITS = {"bool": 8, "int8_t": 8, "int16_t": 16, "int32_t": 32, "int64_t": 64, "size_t": 64}


@dataclass(frozen=True)
class Parameter:
    """A scalar argument of a sequence."""

    type: str
    name: str

    @property
    def bits(self) -> int:
        return _BITS[self.type]


@dataclass(frozen=True)
class Function:
    """A generator: what it is called, which sequence it makes the words of, where that is written."""

    name: str
    sequence: str
    source: str
    parameters: Sequence[Parameter]


def parameter_names(names: Sequence[str]) -> list[str]:
    """Names that C and C++ allow, each a different one."""
    taken, found = set(_TAKEN), list[str]()
    for number, name in enumerate(names):
        wanted = unique = identifier(name) or f"arg{number}"
        count = 1
        while unique in taken:
            count += 1
            unique = f"{wanted}_{count}"
        taken.add(unique)
        found.append(unique)
    return found


def header_text(library: str, functions: Sequence[Function]) -> str:
    """The header `libLIBRARY.h`."""
    declarations = "\n\n".join(_declaration(library, function) for function in functions)
    return _HEADER.format(library=library, guard=f"LIB{library.upper()}_H", declarations=declarations)


def _declaration(library: str, function: Function) -> str:
    scalars = [f"{parameter.type} {parameter.name}" for parameter in function.parameters]
    parameters = ", ".join(["uint32_t *words", "int64_t capacity", *scalars, f"{library}_failure *failure"])
    declaration = fill(f"int64_t {function.name}({parameters});", LINE_WIDTH, subsequent_indent=" " * 4)
    source = f", {function.source}" if function.source else ""
    return f"/* Sequence {comment_text(function.sequence + source)}. */\n{declaration}"


_HEADER = """\
/* The generators in lib{library}.so: the TXN words of each runtime sequence for values of its scalar arguments.
 *
 * Every function gives the number of words that the stream has, header included, and writes them to `words` if they
 * fit into `capacity`. Ask for the number first (NULL and 0), or call again with more room where it is more than
 * `capacity`; what is in `words` then is of no use.
 *
 * Where the hardware cannot take the values there is no stream: the function gives a negative code, and tells more in
 * `*failure` unless that is NULL. No function keeps a state or allocates: threads may call them at the same time.
 */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {library}_failure {{
  int64_t code;  /* what the function returned */
  int64_t value; /* the number that was refused */
}} {library}_failure;

/* What a code means: which number has which limits, the line of the source that says so, the arguments that decide. */
const char *{library}_failure_text(int64_t code);

{declarations}

#ifdef __cplusplus
}}
#endif

#endif /* {guard} */
"""
