// Marks for the vendor's compilers, which mean nothing to this computer's.
#pragma once

#define restrict __restrict
#define chess_prepare_for_pipelining
#define chess_loop_range(...)
#define chess_loop_count(...)
#define chess_flatten_loop
#define chess_unroll_loop(...)
#define chess_storage(...)
#define chess_protect_access
#define chess_copy(x) (x)
#define chess_separator()
#define chess_separator_scheduler(...)
#define chess_memory_fence()
#define chess_no_hw_loop
#define chess_hw_loop
#define chess_modulo_scheduling_off
#define chess_require_pipelining(...)
#define chess_allocate(...)
#define chess_manifest(x) __builtin_constant_p(x)
#define chess_dont_care(type) type{}
#define chess_alignof(x) alignof(x)
#define chess_report(...)
#define chess_assert(...)
#define __aie_dm_resource_a
#define __aie_dm_resource_b
#define __aie_dm_resource_c
#define __aie_dm_resource_d
#define __aie_dm_resource_stack
#define __builtin_aie2_sched_barrier()
#define __builtin_aie2p_sched_barrier()
