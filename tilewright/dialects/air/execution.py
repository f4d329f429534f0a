"""Waiting for tokens, and code that runs when they are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.irdl import IRDLOperation, opt_result_def, region_def, result_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import BlockOp, ImplicitTerminator, ParentOp, op_definition, parse_body, print_body
from tilewright.dialects._regions import verify_flow
from tilewright.dialects._syntax import (
    SQUARE,
    TypedOperandsOp,
    parse_optional_arrow_types,
    parse_optional_operands,
    print_attributes,
    print_operands,
    print_optional_arrow_types,
    resolve_all,
)
from tilewright.dialects.air.asynchronous import ASYNC, AsyncDependencies, AsyncOp
from tilewright.dialects.air.types import ANY_TOKEN, TOKEN


@op_definition
class WaitAllOp(AsyncOp):
    """Wait for all of the tokens, or give one that stands for all of them."""

    name = "air.wait_all"

    async_dependencies = var_operand_def(ANY_TOKEN)
    async_token = opt_result_def(ANY_TOKEN)
    custom_directives = (AsyncDependencies,)
    assembly_format = f"{ASYNC} attr-dict"


@op_definition
class ExecuteTerminatorOp(TypedOperandsOp):
    """The end of a body, and the values that it hands on."""

    name = "air.execute_terminator"

    values = var_operand_def()

    traits = traits_def(ParentOp("air.execute"), IsTerminator(), ReturnLike(), Pure())


@op_definition
class ExecuteOp(BlockOp, AsyncOp):
    """Code that runs in order once its dependencies are there; it gives a token, and what it hands on."""

    name = "air.execute"

    async_dependencies = var_operand_def(ANY_TOKEN)
    async_token = result_def(ANY_TOKEN)
    values = var_result_def()
    body = region_def()

    traits = traits_def(ImplicitTerminator(ExecuteTerminatorOp), RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        tokens = resolve_all(parser, parse_optional_operands(parser, SQUARE), TOKEN)
        types = parse_optional_arrow_types(parser)
        body = parse_body(parser)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=tokens, result_types=[TOKEN, *types], attributes=attributes, regions=[body])

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            print_operands(printer, self.operands)
        print_optional_arrow_types(printer, [value.type for value in self.values])
        printer.print_string(" ")
        print_body(printer, self.body)
        print_attributes(printer, self)

    def result_names(self) -> Sequence[str | None]:
        return ["async_token", "results"] if self.values else ["async_token"]  # as upstream names them

    def verify_(self) -> None:
        if self.body.first_block is None:
            raise VerifyException("ExecuteOp should have non-empty region.")
        if self.body.first_block.first_op is None:
            raise VerifyException("ExecuteOp should have non-empty body.")

    def verify_regions(self) -> None:
        end = self.body.block.last_op  # the trait has seen to it
        assert end is not None
        verify_flow(end, "parent", end.operand_types, [value.type for value in self.values])


OPS: Sequence[type[IRDLOperation]] = [WaitAllOp, ExecuteOp, ExecuteTerminatorOp]
