"""Orders of passes that have a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from tilewright.ir.limits import KEPT_LOOP_OPERATIONS
from tilewright.ir.pass_manager import Pass, Pipeline, make_pass
from tilewright.passes import find_pass

ARGUMENTS = ("tilewright-find-open-arguments",)
PLACEMENT = ("aie-place-tiles",)
TRACING = (
    "aie-insert-trace-flows",
    "aie-trace-to-config",
    "aie-trace-pack-reg-writes",
    "aie-inline-trace-config",
)
RESOURCES = (
    "aie-canonicalize-device",
    "aie-lower-scratchpad-parameters",
    "aie-objectFifo-stateful-transform",
    "aie-objectFifo-unroll{default-dynamic=true keep-sequences}",
    "aie-lower-memcpy",
    "aie-assign-lock-ids",
    "aie-assign-bd-ids",
    "aie-lower-cascade-flows",
    "aie-assign-tile-controller-ids",
    "aie-generate-column-control-overlay{route-shim-to-tct=issuing-tiles route-shim-to-tile-ctrl=false}",
    "aie-assign-buffer-addresses",
)
ROUTING = ("aie-create-pathfinder-flows",)
DESIGN_LOWERING = (*ARGUMENTS, *PLACEMENT, *TRACING, *RESOURCES, *ROUTING)
"""From a design as people write it to descriptors, locks, addresses and switch settings.

The order is upstream's. Copies that tokens hold back come before the locks that they need, which upstream's users do by
hand; and tokens of all tiles that issue some get a route, not only those of shim tiles.
"""

SEQUENCE_GATHERING = ("aie-materialize-bd-chains", "aie-materialize-runtime-sequences", "tilewright-number-pdis")
"""Sequences that run others get these inlined, and load the configurations of their devices by number. Chains of
descriptors are written out before, since a sequence cannot take along what it refers to them by."""

NPU_DMA_LOWERING = (
    "aie-materialize-bd-chains",
    "aie-substitute-shim-dma-allocations",
    "aie-unroll-runtime-sequence-loops",
    "canonicalize",
    "aie-decompose-large-dma-bd",
    "aie-lower-dynamic-bd-pool{allow-while free-awaited recycle}",
    "canonicalize",
    "aie-assign-runtime-sequence-bd-ids{skip-without-tasks}",
    "aie-dma-tasks-to-npu",
    "aie-lower-dma-channel-reset",
    "aie-dma-to-npu",
    "aie-lower-set-lock",
    "aie-lower-core-reset",
)
"""From runtime sequences with tasks and transfers to instructions of the command processor; on each device.

The order is upstream's. The options accept control flow that upstream refuses.
"""

FULL_GUARDS: dict[str, str] = dict.fromkeys(
    ("aie-decompose-large-dma-bd", "aie-dma-tasks-to-npu", "aie-dma-to-npu", "aie-npu-dma-lowering"), "guards=full"
)
"""Options with which all limits of the hardware are checked, and chains are lowered that are numbered at run time."""


def with_options(order: Sequence[str], options: Mapping[str, str]) -> tuple[str, ...]:
    """An order in which some flags have these options, besides those that they had."""
    return tuple(_with_option(step, options.get(step.partition("{")[0])) for step in order)


def _with_option(step: str, option: str | None) -> str:
    flag, _, options = step.removesuffix("}").partition("{")
    return step if option is None else f"{flag}{{{' '.join([*options.split(), option])}}}"


AVOID_USED = {"aie-lower-dynamic-bd-pool": "avoid-used", "aie-assign-runtime-sequence-bd-ids": "avoid-used"}
"""Options with which tasks get no descriptors that their tiles use otherwise."""

KEEP_LONG_LOOPS = {"aie-unroll-runtime-sequence-loops": f"keep-over={KEPT_LOOP_OPERATIONS}"}
"""The option with which loops that run thousands of times stay loops, where that can be."""

SEQUENCE_LOWERING = (
    *with_options(NPU_DMA_LOWERING, AVOID_USED | KEEP_LONG_LOOPS),
    "canonicalize",
    "cse",
    "tilewright-join-writes",  # behind what makes addresses constants
)
"""`NPU_DMA_LOWERING` for `tilewright compile`: what is known is computed here rather than each time the sequence is
generated."""

PACKET_DMA_LOWERING = (
    "aie-materialize-bd-chains",
    "aie-substitute-shim-dma-allocations",
    "aie-assign-runtime-sequence-bd-ids",
    "canonicalize",
    "aie-dma-tasks-to-npu",
    "aie-dma-to-npu",
    "aie-lower-set-lock",
)
"""`NPU_DMA_LOWERING` of sequences that send control packets: these have no loops."""


@dataclass
class DriverOptions:
    """What the command line of upstream's driver says about its passes, named as its flags."""

    placer: str = "sequential_placer"
    cores_per_col: str = "-1"
    sa_seed: str = "1"
    alloc_scheme: str = ""
    dynamic_fifos: bool = True
    packet_fifos: bool = False
    overlay: bool = False
    """Route control packets to all tiles."""
    no_materialize: bool = False
    expand_load_pdis: bool = False
    """Replace loads of other devices by what configures these."""
    load_pdi_to_ctrl_pkt: bool = False
    """Do so with control packets, which need the routes."""
    guards: str = "upstream"
    """`full` lowers sequences as `tilewright compile` does."""


DRIVER_TEXT = ("aie-scf-to-control-flow",)
"""What is done to a program that has addresses before the driver writes it."""


def driver_stages(options: DriverOptions) -> dict[str, tuple[str, ...]]:
    """The orders that upstream's driver runs one after the other, by the name of the file with what each makes.

    Programs of cores are left as they are: vectors stay vectors and loops loops, from whose form the simulator knows
    what they cost. Upstream's have branches from the addresses on: its files are written with `DRIVER_TEXT`.
    """
    place = f"placer={options.placer} cores-per-col={options.cores_per_col} sa-seed={options.sa_seed}"
    return {
        "placed.mlir": (f"{PLACEMENT[0]}{{{place}}}",),
        "traced.mlir": TRACING,
        "input_with_addresses.mlir": tuple(_driver_resources(options)),
        "input_physical.mlir": ROUTING,
        **dict(_driver_sequences(options)),
    }


def _driver_resources(options: DriverOptions) -> Iterator[str]:
    overlay = "aie-generate-column-control-overlay"
    yield from ("lower-affine", "aie-canonicalize-device", "aie-lower-scratchpad-parameters")
    has_overlay = options.overlay or options.load_pdi_to_ctrl_pkt
    # before the FIFOs, which then take the channels that it leaves
    if has_overlay:
        yield f"{overlay}{{route-shim-to-tile-ctrl=true emit-standalone-overlay={_bool(options.load_pdi_to_ctrl_pkt)}}}"
    yield f"aie-objectFifo-stateful-transform{{packet-sw-objFifos={_bool(options.packet_fifos)}}}"
    yield f"aie-objectFifo-unroll{{default-dynamic={_bool(options.dynamic_fifos)}}}"
    yield from ("aie-lower-memcpy", "aie-assign-lock-ids", "aie-assign-bd-ids", "aie-lower-cascade-flows")
    yield from ("aie-lower-broadcast-packet", "aie-lower-multicast", "aie-assign-tile-controller-ids")
    if not has_overlay:
        yield f"{overlay}{{route-shim-to-tile-ctrl=false}}"
    scheme = f"{{alloc-scheme={options.alloc_scheme}}}" if options.alloc_scheme else ""
    yield f"aie-assign-buffer-addresses{scheme}"
    yield from ("aie-assign-core-link-files", "aie-vector-transfer-lowering")


def _driver_sequences(options: DriverOptions) -> Iterator[tuple[str, tuple[str, ...]]]:
    if not options.no_materialize:
        yield "npu_materialized.mlir", SEQUENCE_GATHERING[:2]
    if options.expand_load_pdis or options.load_pdi_to_ctrl_pkt:
        legalize = ("aie-legalize-ctrl-packet",) if options.load_pdi_to_ctrl_pkt else ()
        yield "npu_expanded.mlir", (f"aie-expand-load-pdi{{ctrl-pkt={_bool(options.load_pdi_to_ctrl_pkt)}}}", *legalize)
    if options.load_pdi_to_ctrl_pkt:
        yield "ctrlpkt_to_dma.mlir", ("aie-ctrl-packet-to-dma",)
        yield "ctrlpkt_npu_lowered.mlir", PACKET_DMA_LOWERING
    else:
        yield "npu_dma_lowered.mlir", with_options(NPU_DMA_LOWERING, FULL_GUARDS if options.guards == "full" else {})
    yield "npu_lowered.mlir", SEQUENCE_GATHERING[2:]


def _bool(value: bool) -> str:
    return str(value).lower()


CORE_LOWERING = (
    "aie-localize-locks",
    "aie-normalize-address-spaces",
    "aie-standard-lowering{{device={device} tilecol={column} tilerow={row}}}",
    "aiex-standard-lowering",
    "canonicalize",
    "cse",
)
"""From a lowered design to the functions of one core, for its place and its device's name. The order is upstream's
(`getCoreLLVMLoweringPipeline` of tools/aiecc/IRTransforms.h) up to where types become LLVM's."""


LATE_OVERLAY = "aie-generate-column-control-overlay"
EARLY_OVERLAY = (
    f"{LATE_OVERLAY}{{route-shim-to-tct=issuing-tiles route-shim-to-tile-ctrl=true emit-standalone-overlay=true}}"
)


class LoadExpansion(NamedTuple):
    """What becomes of the loads of device images in sequences: orders of passes on the module, and on each device."""

    design: Sequence[str]
    gathering: Sequence[str]
    packets: Sequence[str] = ()


def _gathering(expansion: str) -> tuple[str, ...]:
    *before, number = SEQUENCE_GATHERING
    return (*before, expansion, number)  # what is loaded is settled before it is numbered


def _with_early_overlay() -> tuple[str, ...]:
    """`DESIGN_LOWERING` in which the overlay has its shim channels before objectFifos take others, as in upstream's."""
    order = [step for step in DESIGN_LOWERING if not step.startswith(LATE_OVERLAY)]
    order.insert(order.index("aie-objectFifo-stateful-transform"), EARLY_OVERLAY)
    return tuple(order)


LOAD_EXPANSIONS: Mapping[str | None, LoadExpansion] = {
    None: LoadExpansion(DESIGN_LOWERING, SEQUENCE_GATHERING),
    "write32": LoadExpansion(DESIGN_LOWERING, _gathering("aie-expand-load-pdi{keep-programs}")),
    "ctrlpkt": LoadExpansion(
        _with_early_overlay(),
        _gathering("aie-expand-load-pdi{ctrl-pkt keep-programs}"),
        ("aie-legalize-ctrl-packet", "aie-ctrl-packet-to-dma{keep-words}"),
    ),
}
"""By upstream's word for it (`aiex.configure` has it as `expand_mode`); its compiler driver has the second as
--expand-load-pdis, the third as --load-pdi-to-ctrl-pkt."""

QUEUE_GUARDS = ("tilewright-guard-task-queues",)
"""Behind a lowering: what is pushed, and how often, is settled then."""


GUARD_INSTRUCTIONS = "tilewright-guard-instructions"
GPU_KERNELS = frozenset(("air-to-rocdl", "air-gpu-outlining"))
"""Passes that make kernels of GPUs: a program that they are given is for these."""


def makes_gpu_kernels(pipeline: Pipeline) -> bool:
    return any(step.name in GPU_KERNELS for step in _all_steps(pipeline))


def guarded(pipeline: Pipeline) -> Pipeline:
    """The same pipeline with all limits checked in what it turns into C++, unless that is to be upstream's text.

    Text that `opt` prints in between stays upstream's; where it ends as C++, nothing shows but the checks.
    """
    conversions = [step for step in _all_steps(pipeline) if step.name == "convert-aiex-to-emitc"]
    if not conversions or any(cast(Any, step).upstream_text for step in conversions):
        return pipeline
    check = Pipeline("aie.device", [*passes_of([GUARD_INSTRUCTIONS])])
    return Pipeline(pipeline.anchor, [check, *_with_full_guards(pipeline).steps])


def _all_steps(pipeline: Pipeline) -> Iterator[Pass]:
    for step in pipeline.steps:
        if isinstance(step, Pipeline):
            yield from _all_steps(step)
        else:
            yield step


def _with_full_guards(pipeline: Pipeline) -> Pipeline:
    from tilewright.passes.sequence.limit_checks import Guards  # which most users of an order need not load

    steps = list[Pass | Pipeline]()
    for step in pipeline.steps:
        if isinstance(step, Pipeline):
            steps.append(_with_full_guards(step))
        else:
            steps.append(replace(cast(Any, step), guards=Guards.FULL) if step.name in FULL_GUARDS else step)
    return Pipeline(pipeline.anchor, steps)


def pipeline_of(order: Sequence[str]) -> Pipeline:
    """A pipeline on a module that runs an order; passes on devices run on each of them."""
    pipeline = Pipeline()
    for step in passes_of(order):
        pipeline.add(step)
    return pipeline


def passes_of(order: Sequence[str]) -> list[Pass]:
    """The passes of an order such as `NPU_DMA_LOWERING`: flags, with options in braces."""
    return [_make(text) for text in order]


def _make(text: str) -> Pass:
    flag, _, options = text.removesuffix("}").partition("{")
    pass_type = find_pass(flag)
    # orders are written in the product, so a flag that is not there is our mistake
    assert pass_type is not None, f"there is no pass {flag}"
    return make_pass(pass_type, options)
