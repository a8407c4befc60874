# SPDX-License-Identifier: MIT
"""Matrix multiplication on NVIDIA tensor cores with your own epilogue in the same kernel.

    d = jit_gemm.gemm(a, b, "d = gelu(acc + bias) + r;", bias=bias, r=r)

docs/python.md is the manual.
"""

from ._call import gemm
from ._combiner import Combiner
from ._context import Context, DeviceInfo, default_context
from ._convert import from_float, to_float
from ._device_array import DeviceArray
from ._enums import DiagnosticOrigin, Severity, Status
from ._epilogue import Epilogue, NamedEpilogue, Operand, named_epilogues
from ._errors import (
    ArgumentError,
    BudgetError,
    CancelledError,
    CaptureError,
    CompileError,
    DeviceError,
    Diagnostic,
    Error,
    FileError,
    NoCompilerError,
    NoMemoryError,
    NotCachedError,
    UnsupportedError,
)
from ._gemm import Band, Family, Gemm, Info, plan_bands
from ._host_sizes import typical_sizes
from ._library import version
from ._operands import (
    column_vector,
    matrix,
    output,
    pair_vector,
    reduction,
    row_vector,
    scalar,
)
from ._packer import Packer, ScalesReport, convert_scales, count_scales
from ._prewarm import PrewarmResult, prewarm
from ._view import tf32, view

__all__ = [
    "ArgumentError",
    "Band",
    "BudgetError",
    "CancelledError",
    "CaptureError",
    "Combiner",
    "CompileError",
    "Context",
    "DeviceArray",
    "DeviceError",
    "DeviceInfo",
    "Diagnostic",
    "DiagnosticOrigin",
    "Epilogue",
    "Error",
    "Family",
    "FileError",
    "Gemm",
    "Info",
    "NamedEpilogue",
    "NoCompilerError",
    "NoMemoryError",
    "NotCachedError",
    "Operand",
    "Packer",
    "PrewarmResult",
    "ScalesReport",
    "Severity",
    "Status",
    "UnsupportedError",
    "column_vector",
    "convert_scales",
    "count_scales",
    "default_context",
    "from_float",
    "gemm",
    "matrix",
    "named_epilogues",
    "output",
    "pair_vector",
    "plan_bands",
    "prewarm",
    "reduction",
    "row_vector",
    "scalar",
    "tf32",
    "to_float",
    "typical_sizes",
    "version",
    "view",
]
