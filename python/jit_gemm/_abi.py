# SPDX-License-Identifier: MIT
"""The C interface in ctypes: functions of include/jit_gemm, and the enums and structs that they
take.

The only definition outside of the headers. tests/write_abi_check.py holds every struct, field,
enum and function of it to them.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from ._enums import *  # noqa: F403
from ._structs import *  # noqa: F403
from ._side_structs import CombinerArgs as CombinerArgs
from ._side_structs import PackerArgs as PackerArgs
from ._side_structs import ScalesReport as ScalesReport
from ._structs import (
    Args,
    Band,
    ContextOptions,
    DeviceInfo,
    Diagnostic,
    Epilogue,
    Info,
    NamedEpilogue,
    PrewarmOptions,
    PrewarmResult,
    Problem,
    Range,
    Scale,
    Stats,
)

# A status is a plain c_int: _errors.check makes an exception of it.
_STATUS = c_int
_HANDLE = c_void_p
_RET_HANDLE = POINTER(c_void_p)

# Name without `jit_gemm_`: result, then parameters.
FUNCTIONS: dict[str, tuple[object, ...]] = {
    "version_string": (c_char_p,),
    "version": (c_int,),
    "status_text": (c_char_p, c_int),
    "last_error": (c_char_p,),
    "diagnostics_take": (_STATUS, _RET_HANDLE),
    "diagnostics_count": (c_size_t, _HANDLE),
    "diagnostics_get": (_STATUS, _HANDLE, c_size_t, POINTER(Diagnostic)),
    "diagnostics_log": (c_char_p, _HANDLE),
    "diagnostics_destroy": (None, _RET_HANDLE),
    "context_create": (_STATUS, POINTER(ContextOptions), _RET_HANDLE),
    "context_destroy": (None, _RET_HANDLE),
    "cancel": (_STATUS, _HANDLE),
    "context_add_cache_root": (_STATUS, _HANDLE, c_char_p),
    "context_arch": (c_char_p, _HANDLE),
    "context_stats": (_STATUS, _HANDLE, POINTER(Stats)),
    "context_write_manifest": (_STATUS, _HANDLE, c_char_p),
    "context_load_manifest": (_STATUS, _HANDLE, c_char_p, c_int),
    "context_planned_device": (_STATUS, _HANDLE, c_char_p, c_size_t, POINTER(c_size_t)),
    "context_describe": (_STATUS, _HANDLE, c_char_p, c_size_t, POINTER(c_size_t)),
    "epilogue_register": (_STATUS, _HANDLE, POINTER(Epilogue)),
    "epilogue_check": (_STATUS, _HANDLE, POINTER(Epilogue), POINTER(c_int)),
    "epilogue_named_count": (c_uint32,),
    "epilogue_named": (_STATUS, c_uint32, c_int, POINTER(NamedEpilogue)),
    "problem_parse_sized": (_STATUS, c_char_p, c_size_t, POINTER(Problem)),
    "problem_print": (_STATUS, POINTER(Problem), c_char_p, c_size_t, POINTER(c_size_t)),
    "problem_set_typical_sizes": (_STATUS, POINTER(Problem), c_void_p, c_uint32),
    "check": (_STATUS, _HANDLE, POINTER(Problem)),
    "convert_from_float": (_STATUS, c_int, c_void_p, c_size_t, c_void_p),
    "convert_to_float": (_STATUS, c_int, c_void_p, c_size_t, c_void_p),
    "plan": (_STATUS, _HANDLE, POINTER(Problem), c_char_p, c_size_t, POINTER(c_size_t)),
    "create": (_STATUS, _HANDLE, POINTER(Problem), _RET_HANDLE),
    "run": (_STATUS, _HANDLE, POINTER(Args), c_void_p),
    "get_info": (_STATUS, _HANDLE, POINTER(Info)),
    "destroy": (None, _RET_HANDLE),
    "prewarm": (
        _STATUS,
        _HANDLE,
        c_char_p,
        c_size_t,
        POINTER(PrewarmOptions),
        POINTER(PrewarmResult),
    ),
    "range_parse_sized": (_STATUS, c_char_p, c_size_t, POINTER(Range)),
    "plan_bands": (
        _STATUS,
        _HANDLE,
        POINTER(Problem),
        POINTER(Range),
        POINTER(Band),
        c_size_t,
        POINTER(c_size_t),
    ),
    "family_create": (_STATUS, _HANDLE, POINTER(Problem), POINTER(Range), _RET_HANDLE),
    "family_run": (_STATUS, _HANDLE, POINTER(Args), c_void_p),
    "family_get_bands": (_STATUS, _HANDLE, POINTER(Band), c_size_t, POINTER(c_size_t)),
    "family_get_info": (_STATUS, _HANDLE, c_size_t, POINTER(Info)),
    "family_destroy": (None, _RET_HANDLE),
    "scales_bytes": (_STATUS, POINTER(Scale), c_int64, c_int64, POINTER(c_size_t)),
    "scales_convert": (
        _STATUS,
        POINTER(Scale),
        c_int64,
        c_int64,
        c_void_p,
        c_uint32,
        c_void_p,
    ),
    "scales_count": (
        _STATUS,
        POINTER(Scale),
        c_int64,
        c_int64,
        c_void_p,
        POINTER(ScalesReport),
    ),
    "packer_create": (_STATUS, _HANDLE, POINTER(Scale), c_uint32, _RET_HANDLE),
    "packer_run": (_STATUS, _HANDLE, POINTER(PackerArgs), c_void_p),
    "packer_get_info": (_STATUS, _HANDLE, POINTER(Info)),
    "packer_destroy": (None, _RET_HANDLE),
    "combiner_create": (_STATUS, _HANDLE, c_int, c_int, c_uint32, _RET_HANDLE),
    "combiner_run": (_STATUS, _HANDLE, POINTER(CombinerArgs), c_void_p),
    "combiner_get_info": (_STATUS, _HANDLE, POINTER(Info)),
    "combiner_destroy": (None, _RET_HANDLE),
    "device_get_info": (_STATUS, _HANDLE, POINTER(DeviceInfo)),
    "device_alloc": (_STATUS, _HANDLE, c_size_t, POINTER(c_uint64)),
    "device_free": (_STATUS, _HANDLE, c_uint64),
    "device_upload": (_STATUS, _HANDLE, c_uint64, c_void_p, c_size_t),
    "device_download": (_STATUS, _HANDLE, c_void_p, c_uint64, c_size_t),
    "device_fill": (_STATUS, _HANDLE, c_uint64, ctypes.c_ubyte, c_size_t),
    "device_synchronize": (_STATUS, _HANDLE),
    "device_findings": (_STATUS, _HANDLE, POINTER(c_uint64)),
}


def bind(library: ctypes.CDLL) -> None:
    """Gives the functions of a loaded library their types."""
    for name, (result, *parameters) in FUNCTIONS.items():
        function = getattr(library, "jit_gemm_" + name)
        function.restype = result
        function.argtypes = parameters
