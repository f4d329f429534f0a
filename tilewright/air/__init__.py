"""AIR programs on GPUs: of Python functions, or of MLIR; run on an emulated or a real GPU, host code included.

`@air.jit` traces a function; `launch`, `herd`, `channel` and the like have mlir-air's names. `compile` reads MLIR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.support.lazy import lazy_names, listed_names

if TYPE_CHECKING:
    from tilewright.air import library as library
    from tilewright.air import ops as ops
    from tilewright.air import types as types
    from tilewright.air.arrays import Array as Array
    from tilewright.air.arrays import Region as Region
    from tilewright.air.atomics import atomic_add as atomic_add
    from tilewright.air.atomics import atomic_and as atomic_and
    from tilewright.air.atomics import atomic_cas as atomic_cas
    from tilewright.air.atomics import atomic_exchange as atomic_exchange
    from tilewright.air.atomics import atomic_load as atomic_load
    from tilewright.air.atomics import atomic_max as atomic_max
    from tilewright.air.atomics import atomic_min as atomic_min
    from tilewright.air.atomics import atomic_or as atomic_or
    from tilewright.air.atomics import atomic_store as atomic_store
    from tilewright.air.atomics import atomic_sub as atomic_sub
    from tilewright.air.atomics import atomic_wait as atomic_wait
    from tilewright.air.atomics import atomic_xor as atomic_xor
    from tilewright.air.atomics import fence as fence
    from tilewright.air.atomics import wait_until as wait_until
    from tilewright.air.escapes import inline_asm as inline_asm
    from tilewright.air.escapes import intrinsic as intrinsic
    from tilewright.air.escapes import print_line as print_line
    from tilewright.air.extern_kernels import ExternKernel as ExternKernel
    from tilewright.air.extern_kernels import extern as extern
    from tilewright.air.functions import Jit as Jit
    from tilewright.air.functions import jit as jit
    from tilewright.air.levels import Scope as Scope
    from tilewright.air.levels import cdiv as cdiv
    from tilewright.air.levels import herd as herd
    from tilewright.air.levels import launch as launch
    from tilewright.air.levels import rank as rank
    from tilewright.air.levels import rank_number as rank_number
    from tilewright.air.levels import segment as segment
    from tilewright.air.levels import sequential as sequential
    from tilewright.air.levels import world_size as world_size
    from tilewright.air.levels import yield_ as yield_
    from tilewright.air.messages import Channel as Channel
    from tilewright.air.messages import Token as Token
    from tilewright.air.messages import array as array
    from tilewright.air.messages import channel as channel
    from tilewright.air.messages import copy as copy
    from tilewright.air.messages import dma as dma
    from tilewright.air.messages import fill as fill
    from tilewright.air.messages import peer as peer
    from tilewright.air.messages import symmetric as symmetric
    from tilewright.air.messages import wait as wait
    from tilewright.air.micro_tiles import MicroTile as MicroTile
    from tilewright.air.micro_tiles import PackedShape as PackedShape
    from tilewright.air.micro_tiles import micro_tile as micro_tile
    from tilewright.air.ops import argmax as argmax
    from tilewright.air.ops import argmin as argmin
    from tilewright.air.ops import ceil as ceil
    from tilewright.air.ops import clip as clip
    from tilewright.air.ops import cos as cos
    from tilewright.air.ops import erf as erf
    from tilewright.air.ops import exp as exp
    from tilewright.air.ops import exp2 as exp2
    from tilewright.air.ops import floor as floor
    from tilewright.air.ops import fma as fma
    from tilewright.air.ops import gelu as gelu
    from tilewright.air.ops import log as log
    from tilewright.air.ops import log2 as log2
    from tilewright.air.ops import max as max
    from tilewright.air.ops import maximum as maximum
    from tilewright.air.ops import min as min
    from tilewright.air.ops import minimum as minimum
    from tilewright.air.ops import relu as relu
    from tilewright.air.ops import rsqrt as rsqrt
    from tilewright.air.ops import sigmoid as sigmoid
    from tilewright.air.ops import silu as silu
    from tilewright.air.ops import sin as sin
    from tilewright.air.ops import sqrt as sqrt
    from tilewright.air.ops import sum as sum
    from tilewright.air.ops import tanh as tanh
    from tilewright.air.ops import where as where
    from tilewright.air.program import AirProgram as AirProgram
    from tilewright.air.program import ArgumentError as ArgumentError
    from tilewright.air.program import RankReport as RankReport
    from tilewright.air.program import RunResult as RunResult
    from tilewright.air.program import compile as compile
    from tilewright.air.program import lanes_of as lanes_of
    from tilewright.air.program import split_passes as split_passes
    from tilewright.air.random import rand as rand
    from tilewright.air.random import randint as randint
    from tilewright.air.random import randn as randn
    from tilewright.air.tensors import CompiledKernel as CompiledKernel
    from tilewright.air.tensors import Symbol as Symbol
    from tilewright.air.tensors import Tensor as Tensor
    from tilewright.air.tensors import symbol as symbol
    from tilewright.air.tensors import tensor as tensor
    from tilewright.air.tile_products import dot as dot
    from tilewright.air.tile_scans import cumsum as cumsum
    from tilewright.air.tile_scans import scan as scan
    from tilewright.air.tile_transfers import load as load
    from tilewright.air.tile_transfers import store as store
    from tilewright.air.tiles import Buffer as Buffer
    from tilewright.air.tiles import Tile as Tile
    from tilewright.air.tiles import alloc as alloc
    from tilewright.air.tiles import arange as arange
    from tilewright.air.tiles import dealloc as dealloc
    from tilewright.air.tiles import full as full
    from tilewright.air.tiles import private as private
    from tilewright.air.tiles import shared as shared
    from tilewright.air.tiles import zeros as zeros
    from tilewright.air.types import DType as DType
    from tilewright.air.types import bf16 as bf16
    from tilewright.air.types import f16 as f16
    from tilewright.air.types import f32 as f32
    from tilewright.air.types import f64 as f64
    from tilewright.air.types import i8 as i8
    from tilewright.air.types import i16 as i16
    from tilewright.air.types import i32 as i32
    from tilewright.air.types import i64 as i64
    from tilewright.air.types import ui8 as ui8
    from tilewright.air.types import ui16 as ui16
    from tilewright.air.types import ui32 as ui32
    from tilewright.air.types import ui64 as ui64
    from tilewright.air.vectors import Vector as Vector
    from tilewright.air.vectors import broadcast as broadcast
    from tilewright.air.vectors import vector as vector
    from tilewright.air.vectors import vload as vload
    from tilewright.air.vectors import vstore as vstore
    from tilewright.air.waves import barrier as barrier
    from tilewright.air.waves import lane as lane
    from tilewright.air.waves import lanes as lanes
    from tilewright.air.waves import shuffle as shuffle
    from tilewright.air.waves import wave as wave
    from tilewright.iron.builders.control import else_ as else_
    from tilewright.iron.builders.control import if_ as if_

_HOMES = {
    "arrays": "Array Region",
    "atomics": """
        atomic_add atomic_and atomic_cas atomic_exchange atomic_load atomic_max atomic_min atomic_or atomic_store
        atomic_sub atomic_wait atomic_xor fence wait_until
    """,
    "escapes": "inline_asm intrinsic print_line",
    "extern_kernels": "ExternKernel extern",
    "functions": "Jit jit",
    "waves": "barrier lane lanes shuffle wave",
    "levels": "Scope cdiv herd launch rank rank_number segment sequential world_size yield_",
    "messages": "Channel Token array channel copy dma fill peer symmetric wait",
    "micro_tiles": "MicroTile PackedShape micro_tile",
    "ops": """
        argmax argmin ceil clip cos erf exp exp2 floor fma gelu log log2 max
        maximum min minimum relu rsqrt sigmoid silu sin sqrt sum tanh where
    """,
    "program": "AirProgram ArgumentError RankReport RunResult compile lanes_of split_passes",
    "tensors": "CompiledKernel Symbol Tensor symbol tensor",
    "random": "rand randint randn",
    "tile_products": "dot",
    "tile_scans": "cumsum scan",
    "tile_transfers": "load store",
    "tiles": "Buffer Tile alloc arange dealloc full private shared zeros",
    "types": "DType bf16 f16 f32 f64 i8 i16 i32 i64 ui8 ui16 ui32 ui64",
    "vectors": "Vector broadcast vector vload vstore",
}
"""Names by the module that they come from."""
_NAMES = {
    **{name: f"{__name__}.{home}:{name}" for home, names in _HOMES.items() for name in names.split()},
    **{name: f"tilewright.iron.builders.control:{name}" for name in ("else_", "if_")},
    **{name: f"{__name__}.{name}" for name in ("library", "ops", "types")},
}

_FOR_COMMANDS = {"lanes_of", "split_passes"}

__all__ = [name for name in _NAMES if name not in _FOR_COMMANDS]  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__, _NAMES)
__dir__ = listed_names(__name__)
