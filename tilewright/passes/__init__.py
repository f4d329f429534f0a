"""Dialects to dialects: one pass per file, found by the flag that `opt` and pipelines call it by."""

from __future__ import annotations

from importlib import import_module

from tilewright.ir.pass_manager import Pass

PASSES: dict[str, str] = {
    "aie-assign-bd-ids": "assign_bd_ids:AssignBdIdsPass",
    "aie-assign-runtime-sequence-bd-ids": "assign_runtime_sequence_bd_ids:AssignRuntimeSequenceBdIdsPass",
    "aie-assign-tile-controller-ids": "assign_tile_controller_ids:AssignTileControllerIdsPass",
    "aie-ctrl-packet-infer-tiles": "ctrl_packet_infer_tiles:CtrlPacketInferTilesPass",
    "aie-ctrl-packet-to-dma": "ctrl_packet_to_dma:CtrlPacketToDmaPass",
    "aie-decompose-large-dma-bd": "decompose_large_dma_bd:DecomposeLargeDmaBdPass",
    "aie-dma-tasks-to-npu": "dma_tasks_to_npu:DmaTasksToNpuPass",
    "aie-dma-to-npu": "dma_to_npu:DmaToNpuPass",
    "aie-generate-column-control-overlay": "generate_column_control_overlay:GenerateColumnControlOverlayPass",
    "aie-legalize-ctrl-packet": "legalize_ctrl_packet:LegalizeCtrlPacketPass",
    "aie-lower-core-reset": "lower_core_reset:LowerCoreResetPass",
    "aie-lower-dma-channel-reset": "lower_dma_channel_reset:LowerDmaChannelResetPass",
    "aie-lower-dynamic-bd-pool": "lower_dynamic_bd_pool:LowerDynamicBdPoolPass",
    "aie-lower-scratchpad-parameters": "lower_scratchpad_parameters:LowerScratchpadParametersPass",
    "aie-lower-set-lock": "lower_set_lock:LowerSetLockPass",
    "aie-materialize-bd-chains": "materialize_bd_chains:MaterializeBdChainsPass",
    "aie-materialize-runtime-sequences": "materialize_runtime_sequences:MaterializeRuntimeSequencesPass",
    "aie-npu-dma-lowering": "npu_dma_lowering:NpuDmaLoweringPass",
    "aie-place-tiles": "place_tiles:PlaceTilesPass",
    "aie-substitute-shim-dma-allocations": "substitute_shim_dma_allocations:SubstituteShimDmaAllocationsPass",
    "aie-txn-to-ctrl-packet": "txn_to_ctrl_packet:TxnToCtrlPacketPass",
    "aie-unroll-runtime-sequence-loops": "unroll_runtime_sequence_loops:UnrollRuntimeSequenceLoopsPass",
    "aie-verify-runtime-rearm": "verify_runtime_rearm:VerifyRuntimeRearmPass",
    "canonicalize": "canonicalize:CanonicalizePass",
    "convert-aiex-to-emitc": "convert_aiex_to_emitc:ConvertAIEXToEmitCPass",
    "cse": "cse:CsePass",
    "symbol-dce": "symbol_dce:SymbolDcePass",
    "tilewright-guard-instructions": "guard_instructions:GuardInstructionsPass",
}
"""Flag of each pass, and `module:Class` under this package; imported when the pass is asked for."""


def find_pass(flag: str) -> type[Pass] | None:
    where = PASSES.get(flag)
    if where is None:
        return None
    module, _, name = where.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)
