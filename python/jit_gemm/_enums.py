# SPDX-License-Identifier: MIT
"""Enums of the C interface, with the values of the headers; see _abi.py."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """What a call of the library came to."""

    OK = 0
    ARGUMENT = -1
    UNSUPPORTED = -2
    NO_MEMORY = -3
    NO_DRIVER = -4
    NO_COMPILER = -5
    DEVICE = -6
    COMPILE = -7
    LINK = -8
    LOAD = -9
    LAUNCH = -10
    NOT_CACHED = -11
    CAPTURE = -12
    VERSION = -13
    CANCELLED = -14
    IO = -15
    BUDGET = -16
    INTERNAL = -99


class Severity(enum.IntEnum):
    """How serious a log line or a diagnostic is."""

    ERROR = 0
    WARNING = 1
    INFO = 2
    DEBUG = 3


class DiagnosticOrigin(enum.IntEnum):
    """What a diagnostic speaks of."""

    FIELD = 0
    SNIPPET = 1
    GENERATED = 2
    SYSTEM = 3


class Dtype(enum.IntEnum):
    NONE = 0
    BF16 = 1
    F16 = 2
    F32 = 3
    TF32 = 4
    E4M3 = 5
    E5M2 = 6
    S8 = 7
    S32 = 8
    UE8M0 = 9
    E2M1 = 10
    UE4M3 = 11


class OperandKind(enum.IntEnum):
    SCALAR = 0
    ROW_VECTOR = 1
    COLUMN_VECTOR = 2
    MATRIX = 3
    PAIR_VECTOR = 4
    BLOCK_1X128 = 5
    BLOCK_1X32 = 6
    BLOCK_1X16 = 7


class OperandRole(enum.IntEnum):
    INPUT = 0
    OUTPUT = 1
    SUM = 2
    MAX = 3
    MIN = 4


class Policy(enum.IntEnum):
    ALLOW = 0
    WARN = 1
    FORBID = 2


class Nvtx(enum.IntEnum):
    """Are creates, compiles, loads and runs ranges for profilers?"""

    ENVIRONMENT = 0
    OFF = 1
    ON = 2


class Origin(enum.IntEnum):
    """Where a kernel came from."""

    COMPILED = 0
    DISK = 1
    MEMORY = 2
    BUNDLE = 3


class ScaleKind(enum.IntEnum):
    NONE = 0
    TENSOR = 1
    VECTOR = 2
    BLOCK = 3


class GroupBy(enum.IntEnum):
    NONE = 0
    BY_OFFSETS = 1
    BY_COUNTS = 2
    BY_ROWS = 3
    BY_K_OFFSETS = 4
    BY_POINTERS = 5


class Pair(enum.IntEnum):
    INTERLEAVED = 0
    HALVES = 1


class Dimension(enum.IntEnum):
    DYNAMIC = 0
    M = 1
    N = 2
    K = 3
    BATCH = 4


class EpilogueDepth(enum.IntEnum):
    """How far a check of an epilogue went."""

    SCANNED = 1
    COMPILED = 2


# The prefix that the members of each enum have in the headers.
ENUMS: dict[type[enum.IntEnum], str] = {
    Severity: "JIT_GEMM_SEVERITY_",
    DiagnosticOrigin: "JIT_GEMM_DIAGNOSTIC_",
    Dtype: "JIT_GEMM_DTYPE_",
    OperandKind: "JIT_GEMM_OPERAND_",
    OperandRole: "JIT_GEMM_OPERAND_",
    Policy: "JIT_GEMM_POLICY_",
    Nvtx: "JIT_GEMM_NVTX_",
    Origin: "JIT_GEMM_ORIGIN_",
    ScaleKind: "JIT_GEMM_SCALE_",
    GroupBy: "JIT_GEMM_GROUP_",
    Pair: "JIT_GEMM_PAIR_",
    Dimension: "JIT_GEMM_DIMENSION_",
    EpilogueDepth: "JIT_GEMM_EPILOGUE_",
    Status: "JIT_GEMM_ERR_",
}
