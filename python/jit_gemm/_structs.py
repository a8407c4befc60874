# SPDX-License-Identifier: MIT
"""Structs of the C interface in ctypes; see _abi.py."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)

from ._side_structs import CombinerArgs, PackerArgs, ScalesReport

NAME_SIZE = 64
CONFIG_SIZE = 256
MAX_OPERANDS = 16
RECIPE_SIZE = 128
SIZE_RUNS = 16
KEY_BYTES = 32
STRIDE_BROADCAST = -1
SIZE_EMPTY = -1
NO_LIMIT_MS = 0xFFFFFFFF


class Dim(ctypes.Structure):
    _fields_ = [("size", c_int64), ("mode", c_int32), ("reserved", c_int32)]


class Range(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("dimension", c_int),
        ("reserved", c_int32),
        ("first", c_int64),
        ("last", c_int64),
        ("loss", c_double),
    ]


class Scale(ctypes.Structure):
    _fields_ = [
        ("kind", c_int),
        ("dtype", c_int),
        ("block_mn", c_uint32),
        ("block_k", c_uint32),
        ("layout", c_uint32),
        ("reserved", c_uint32),
    ]


class Matrix(ctypes.Structure):
    _fields_ = [
        ("dtype", c_int),
        ("layout", c_int),
        ("alignment", c_uint32),
        ("reserved", c_uint32),
        ("scale", Scale),
    ]


class SizeRun(ctypes.Structure):
    _fields_ = [("groups", c_int64), ("least", c_uint32), ("most", c_uint32)]


class Problem(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("m", Dim),
        ("n", Dim),
        ("k", Dim),
        ("batch", Dim),
        ("a", Matrix),
        ("b", Matrix),
        ("c", Matrix),
        ("d", Matrix),
        ("epilogue", c_char * NAME_SIZE),
        ("config", c_char * CONFIG_SIZE),
        ("workspace_limit", c_uint64),
        ("pair", c_int),
        ("invariant", c_int),
        ("register_limit", c_uint32),
        ("no_local_memory", c_int32),
        ("group_by", c_int),
        ("group_rest", c_int),
        ("d_rows", c_int),
        ("a_rows", c_int),
        ("accumulate", c_int),
        ("scale_rows", c_int),
        ("weights", c_int),
        ("typical_sizes", SizeRun * SIZE_RUNS),
    ]


class Operand(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int),
        ("dtype", c_int),
        ("role", c_int),
        ("reserved", c_int32),
    ]


class Epilogue(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("source", c_char_p),
        ("source_size", c_size_t),
        ("source_name", c_char_p),
        ("first_line", c_uint32),
        ("operand_count", c_uint32),
        ("operands", POINTER(Operand)),
        ("code", c_void_p),
        ("code_size", c_size_t),
        ("symbol", c_char_p),
        ("code_kind", c_int),
        ("reserved", c_uint32),
    ]


class NamedEpilogue(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("math", c_char_p),
        ("cublaslt", c_char_p),
        ("source", c_char_p),
        ("operand_count", c_uint32),
        ("operands", Operand * MAX_OPERANDS),
    ]


class Arg(ctypes.Structure):
    _fields_ = [
        ("pointer", c_uint64),
        ("ld", c_int64),
        ("batch_stride", c_int64),
        ("value", c_float),
        ("reserved", c_uint32),
    ]


class Args(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("a", Arg),
        ("b", Arg),
        ("c", Arg),
        ("d", Arg),
        ("a_scale", Arg),
        ("b_scale", Arg),
        ("operands", POINTER(Arg)),
        ("operand_count", c_size_t),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("batch", c_int64),
        ("alpha", POINTER(c_float)),
        ("beta", POINTER(c_float)),
        ("alpha_device", c_uint64),
        ("beta_device", c_uint64),
        ("workspace", c_uint64),
        ("workspace_bytes", c_uint64),
        ("d_scale", Arg),
        ("group_sizes", c_uint64),
        ("d_rows", Arg),
        ("d_row_count", c_int64),
        ("a_rows", Arg),
        ("a_row_count", c_int64),
        ("a_lds", c_uint64),
        ("b_lds", c_uint64),
        ("c_lds", c_uint64),
        ("d_lds", c_uint64),
        ("group_ns", c_uint64),
        ("group_ks", c_uint64),
        ("host_group_sizes", POINTER(c_int32)),
        ("host_group_count", c_size_t),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("origin", c_int),
        ("registers", c_uint32),
        ("spill_bytes", c_uint32),
        ("smem_bytes", c_uint32),
        ("threads", c_uint32),
        ("grid_ctas", c_uint32),
        ("compile_ms", c_double),
        ("load_ms", c_double),
        ("arch", c_char * 16),
        ("key", c_char * 33),
        ("entry", c_char * NAME_SIZE),
        ("config", c_char * CONFIG_SIZE),
        ("workspace_bytes", c_uint64),
        ("tmem_columns", c_uint32),
        ("sum_fraction_bits", c_uint32),
        ("is_gated", c_uint32),
        ("launches", c_uint32),
        ("invariant", c_int),
        ("accumulate", c_int),
        ("recipe", c_char * RECIPE_SIZE),
        ("cache_root", c_uint32),
        ("host_groups", c_uint32),
    ]


class Band(ctypes.Structure):
    _fields_ = [
        ("first", c_int64),
        ("last", c_int64),
        ("kernel", c_uint32),
        ("reserved", c_uint32),
        ("planned", c_int64),
        ("first_us", c_double),
        ("last_us", c_double),
        ("loss", c_double),
        ("loss_size", c_int64),
        ("config", c_char * CONFIG_SIZE),
    ]


class Diagnostic(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("severity", c_int),
        ("origin", c_int),
        ("line", c_uint32),
        ("column", c_uint32),
        ("where", c_char_p),
        ("text", c_char_p),
        ("hint", c_char_p),
    ]


LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
ProgressFunction = ctypes.CFUNCTYPE(c_int32, c_void_p, c_size_t, c_size_t, c_char_p)


class ContextOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("arch", c_char_p),
        ("device", c_int32),
        ("no_device", c_int32),
        ("driver", c_char_p),
        ("nvrtc", c_char_p),
        ("cache_dir", c_char_p),
        ("no_cache", c_int32),
        ("policy", c_int),
        ("log", LogFunction),
        ("log_user", c_void_p),
        ("log_level", c_int),
        ("exact_device", c_int32),
        ("compile_limit_ms", c_uint32),
        ("reserved", c_int32),
        ("cache_limit", c_uint64),
        ("cache_roots", POINTER(c_char_p)),
        ("cache_root_count", c_size_t),
        ("capsule_dir", c_char_p),
        ("cache_keys", c_char_p),
        ("cache_key_count", c_size_t),
        ("cache_least_serial", c_uint64),
        ("plan_for", c_char_p),
        ("nvtx", c_int),
        ("reserved_end", c_int32),
    ]


class Stats(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("creates", c_uint64),
        ("memory_hits", c_uint64),
        ("disk_hits", c_uint64),
        ("compiles", c_uint64),
        ("compile_failures", c_uint64),
        ("cache_rejects", c_uint64),
        ("cache_store_errors", c_uint64),
        ("forbidden_misses", c_uint64),
        ("compile_ms", c_double),
        ("load_ms", c_double),
        ("cache_trimmed", c_uint64),
        ("root_hits", c_uint64),
    ]


class PrewarmOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("archs", POINTER(c_char_p)),
        ("arch_count", c_size_t),
        ("jobs", c_uint32),
        ("progress", ProgressFunction),
        ("progress_user", c_void_p),
        ("ptx", c_int32),
        ("require_cached", c_int32),
        ("bundle", c_char_p),
        ("deadline_ms", c_uint32),
        ("only_estimate", c_int32),
    ]


class PrewarmResult(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("total", c_size_t),
        ("cached", c_size_t),
        ("compiled", c_size_t),
        ("failed", c_size_t),
        ("bundle_kernels", c_size_t),
        ("bundle_bytes", c_uint64),
        ("jobs", c_uint32),
        ("reserved", c_uint32),
        ("missing", c_size_t),
        ("estimated_seconds", c_double),
        ("estimated_bytes", c_uint64),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char * 128),
        ("cc_major", c_int32),
        ("cc_minor", c_int32),
        ("sm_count", c_int32),
        ("driver_version", c_int32),
        ("l2_bytes", c_int64),
        ("memory_bytes", c_int64),
        ("smem_optin_bytes", c_int32),
        ("is_emulated", c_int32),
        ("ordinal", c_int32),
        ("reserved", c_int32),
    ]


STRUCTS: dict[str, type[ctypes.Structure]] = {
    "jit_gemm_dim": Dim,
    "jit_gemm_range": Range,
    "jit_gemm_scale": Scale,
    "jit_gemm_matrix": Matrix,
    "jit_gemm_size_run": SizeRun,
    "jit_gemm_problem": Problem,
    "jit_gemm_operand": Operand,
    "jit_gemm_epilogue": Epilogue,
    "jit_gemm_named_epilogue": NamedEpilogue,
    "jit_gemm_arg": Arg,
    "jit_gemm_args": Args,
    "jit_gemm_info": Info,
    "jit_gemm_band": Band,
    "jit_gemm_diagnostic": Diagnostic,
    "jit_gemm_context_options": ContextOptions,
    "jit_gemm_stats": Stats,
    "jit_gemm_prewarm_options": PrewarmOptions,
    "jit_gemm_prewarm_result": PrewarmResult,
    "jit_gemm_device_info": DeviceInfo,
    "jit_gemm_scales_report": ScalesReport,
    "jit_gemm_packer_args": PackerArgs,
    "jit_gemm_combiner_args": CombinerArgs,
}
