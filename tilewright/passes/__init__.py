"""Dialects to dialects: one pass per file, found by the flag that `opt` and pipelines call it by."""

from __future__ import annotations

from importlib import import_module

from tilewright.ir.pass_manager import Pass

PASSES: dict[str, str] = {
    "aie-assign-bd-ids": "assign_bd_ids:AssignBdIdsPass",
    "aie-assign-buffer-addresses": "assign_buffer_addresses:AssignBufferAddressesPass",
    "aie-assign-core-link-files": "assign_core_link_files:AssignCoreLinkFilesPass",
    "aie-assign-lock-ids": "assign_lock_ids:AssignLockIdsPass",
    "aie-assign-runtime-sequence-bd-ids": "assign_runtime_sequence_bd_ids:AssignRuntimeSequenceBdIdsPass",
    "aie-assign-tile-controller-ids": "assign_tile_controller_ids:AssignTileControllerIdsPass",
    "aie-canonicalize-device": "canonicalize_device:CanonicalizeDevicePass",
    "aie-create-cores": "create_cores:CreateCoresPass",
    "aie-create-pathfinder-flows": "create_pathfinder_flows:CreatePathfinderFlowsPass",
    "aie-ctrl-packet-infer-tiles": "ctrl_packet_infer_tiles:CtrlPacketInferTilesPass",
    "aie-ctrl-packet-to-dma": "ctrl_packet_to_dma:CtrlPacketToDmaPass",
    "aie-decompose-large-dma-bd": "decompose_large_dma_bd:DecomposeLargeDmaBdPass",
    "aie-dma-tasks-to-npu": "dma_tasks_to_npu:DmaTasksToNpuPass",
    "aie-dma-to-npu": "dma_to_npu:DmaToNpuPass",
    "aie-expand-load-pdi": "expand_load_pdi:ExpandLoadPdiPass",
    "aie-find-flows": "find_flows:FindFlowsPass",
    "aie-generate-column-control-overlay": "generate_column_control_overlay:GenerateColumnControlOverlayPass",
    "aie-inline-trace-config": "inline_trace_config:InlineTraceConfigPass",
    "aie-insert-trace-flows": "insert_trace_flows:InsertTraceFlowsPass",
    "aie-legalize-ctrl-packet": "legalize_ctrl_packet:LegalizeCtrlPacketPass",
    "aie-localize-locks": "localize_locks:LocalizeLocksPass",
    "aie-lower-broadcast-packet": "lower_broadcast_packet:LowerBroadcastPacketPass",
    "aie-lower-cascade-flows": "lower_cascade_flows:LowerCascadeFlowsPass",
    "aie-lower-core-reset": "lower_core_reset:LowerCoreResetPass",
    "aie-lower-dma-channel-reset": "lower_dma_channel_reset:LowerDmaChannelResetPass",
    "aie-lower-dynamic-bd-pool": "lower_dynamic_bd_pool:LowerDynamicBdPoolPass",
    "aie-lower-memcpy": "lower_memcpy:LowerMemcpyPass",
    "aie-lower-multicast": "lower_multicast:LowerMulticastPass",
    "aie-lower-scratchpad-parameters": "lower_scratchpad_parameters:LowerScratchpadParametersPass",
    "aie-lower-set-lock": "lower_set_lock:LowerSetLockPass",
    "aie-materialize-bd-chains": "materialize_bd_chains:MaterializeBdChainsPass",
    "aie-materialize-runtime-sequences": "materialize_runtime_sequences:MaterializeRuntimeSequencesPass",
    "aie-normalize-address-spaces": "normalize_address_spaces:NormalizeAddressSpacesPass",
    "aie-npu-dma-lowering": "npu_dma_lowering:NpuDmaLoweringPass",
    "aie-npu-to-cert": "npu_to_cert:NpuToCertPass",
    "aie-objectFifo-stateful-transform": "objectfifo_stateful_transform:ObjectFifoStatefulTransformPass",
    "aie-objectFifo-unroll": "objectfifo_unroll:ObjectFifoUnrollPass",
    "aie-objectfifo-liveness": "objectfifo_liveness:ObjectFifoLivenessPass",
    "aie-place-tiles": "place_tiles:PlaceTilesPass",
    "aie-register-objectFifos": "register_objectfifos:RegisterObjectFifosPass",
    "aie-scf-to-control-flow": "scf_to_control_flow:ScfToControlFlowPass",
    "aie-standard-lowering": "standard_lowering:StandardLoweringPass",
    "aie-substitute-shim-dma-allocations": "substitute_shim_dma_allocations:SubstituteShimDmaAllocationsPass",
    "aie-trace-pack-reg-writes": "trace_pack_reg_writes:TracePackRegWritesPass",
    "aie-trace-to-config": "trace_to_config:TraceToConfigPass",
    "aie-txn-to-ctrl-packet": "txn_to_ctrl_packet:TxnToCtrlPacketPass",
    "aie-unroll-runtime-sequence-loops": "unroll_runtime_sequence_loops:UnrollRuntimeSequenceLoopsPass",
    "aie-vector-transfer-lowering": "vector_transfer_lowering:VectorTransferLoweringPass",
    "aie-verify-runtime-rearm": "verify_runtime_rearm:VerifyRuntimeRearmPass",
    "aiex-standard-lowering": "aiex_standard_lowering:AiexStandardLoweringPass",
    "air-gpu-channel-to-cacheline": "air_gpu_channel_to_cacheline:AirGpuChannelToCachelinePass",
    "air-gpu-outlining": "air_gpu_outlining:AirGpuOutliningPass",
    "air-opt-shim-dma-bds": "air_opt_shim_dma_bds:AirOptShimDmaBdsPass",
    "air-rank-to-launch": "air_rank_to_launch:AirRankToLaunchPass",
    "air-rank-to-mgpu": "air_rank_to_mgpu:AirRankToMgpuPass",
    "air-shim-endpoints": "air_shim_endpoints:AirShimEndpointsPass",
    "air-symmetric-alloc-to-mgpu": "air_symmetric_alloc_to_mgpu:AirSymmetricAllocToMgpuPass",
    "air-to-nvvm": "air_to_rocdl:AirToNvvmPass",
    "air-to-rocdl": "air_to_rocdl:AirToRocdlPass",
    "air-to-std": "air_to_std:AirToStdPass",
    "air-translate-to-llvm": "air_translate_to_llvm:AirTranslateToLlvmPass",
    "airrt-to-npu": "airrt_to_npu:AirrtToNpuPass",
    "canonicalize": "canonicalize:CanonicalizePass",
    "cert-legalize-pages": "cert_legalize_pages:CertLegalizePagesPass",
    "convert-aie-to-control-packets": "convert_aie_to_control_packets:ConvertAieToControlPacketsPass",
    "convert-aie-to-transaction": "convert_aie_to_transaction:ConvertAieToTransactionPass",
    "convert-aiex-to-emitc": "convert_aiex_to_emitc:ConvertAIEXToEmitCPass",
    "convert-gpu-to-rocdl": "convert_gpu_to_rocdl:ConvertGpuToRocdlPass",
    "convert-scf-to-cf": "convert_scf_to_cf:ConvertScfToCfPass",
    "cse": "cse:CsePass",
    "lower-affine": "lower_affine:LowerAffinePass",
    "nvvm-attach-target": "attach_gpu_target:NvvmAttachTargetPass",
    "reconcile-unrealized-casts": "reconcile_unrealized_casts:ReconcileUnrealizedCastsPass",
    "rocdl-attach-target": "attach_gpu_target:RocdlAttachTargetPass",
    "sccp": "sccp:SccpPass",
    "symbol-dce": "symbol_dce:SymbolDcePass",
    "tilewright-guard-instructions": "guard_instructions:GuardInstructionsPass",
    "tilewright-lint-queue-depth": "lint_queue_depth:LintQueueDepthPass",
    "tilewright-join-writes": "join_writes:JoinWritesPass",
    "tilewright-number-pdis": "number_pdis:NumberPdisPass",
}
"""Flag of each pass, and `module:Class` under this package; imported when the pass is asked for."""


def find_pass(flag: str) -> type[Pass] | None:
    where = PASSES.get(flag)
    if where is None:
        return None
    module, _, name = where.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)
