"""Arrays described to the copy engine by the host: the runtime makes tensor maps, which launches are given by value."""

from __future__ import annotations

from llvmlite import ir
from xdsl.ir import Operation

from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.nvgpu import TmaCreateDescriptorOp, driver_number
from tilewright.gpu.host.functions import call_runtime, host_body, in_row
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import I8, I32, index, value_type


def _create(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, TmaCreateDescriptorOp)
    body, builder, array, type = host_body(lowering), lowering.builder, lowering.memref(op.tensor), op.type
    assert type.data_type is not None, "the verifier looked for it"
    width = index(element_bytes(op.tensor.type))
    start = builder.gep(array.base, [builder.mul(array.offset, width)], source_etype=I8)
    strides = [builder.mul(stride, width) for stride in array.strides]
    # the engine begins with the innermost dimension
    lists = (array.sizes, strides, [lowering[size] for size in op.boxDimensions])
    numbers = in_row(body, [number for list in lists for number in reversed(list)])
    kinds = [type.data_type.code, *map(driver_number, (type.swizzle, type.l2promo, type.oob))]
    room = body.variable(value_type(type))
    address = builder.ptrtoint(start, index(0).type)
    codes = [ir.Constant(I32, kind) for kind in kinds]
    call_runtime(body, op, "tensor_map", [room, address, *codes, index(len(array.sizes)), numbers])
    lowering[op.tensorMap] = builder.load(room, typ=value_type(type))


HANDLERS: dict[str, Handler] = {"nvgpu.tma.create.descriptor": _create}
