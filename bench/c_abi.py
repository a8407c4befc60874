# SPDX-License-Identifier: MIT
"""Kernels by raw addresses, for the scripts of this folder: the C interface of python/jit_gemm
without what it checks and derives in each call."""
import ctypes
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from jit_gemm import _abi  # noqa: E402

KINDS = {kind.name.lower(): kind for kind in _abi.OperandKind}
DTYPES = {dtype.name.lower(): dtype for dtype in _abi.Dtype}


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        _abi.bind(self.lib)
        self.context = ctypes.c_void_p()
        self.check(self.lib.jit_gemm_context_create(None, ctypes.byref(self.context)))
        self.registered = set()

    def check(self, status):
        if status != 0:
            sys.exit("jit_gemm: " + self.lib.jit_gemm_last_error().decode())

    def register(self, name, snippet, operands):
        if name in self.registered:
            return
        self.registered.add(name)
        rows = (_abi.Operand * max(len(operands), 1))()
        for row, text in zip(rows, operands):
            words = text.split(":")
            row.name, row.kind, row.dtype = words[0].encode(), KINDS[words[1]], DTYPES[words[2]]
            row.role = len(words) > 3
        epilogue = _abi.Epilogue(struct_size=ctypes.sizeof(_abi.Epilogue), name=name.encode(),
                                 source=snippet.encode(), operand_count=len(operands), operands=rows)
        self.check(self.lib.jit_gemm_epilogue_register(self.context, ctypes.byref(epilogue)))

    def create(self, text):
        problem = _abi.Problem()
        self.check(self.lib.jit_gemm_problem_parse_sized(text.encode(), ctypes.sizeof(problem),
                                                         ctypes.byref(problem)))
        gemm = ctypes.c_void_p()
        self.check(self.lib.jit_gemm_create(self.context, ctypes.byref(problem), ctypes.byref(gemm)))
        return gemm

    def run(self, gemm, addresses, operands=(), stream=None, m=0):
        """`addresses` by name of the argument, `a` for instance; `operands` in their order; `m` where it is dynamic."""
        rows = (_abi.Arg * max(len(operands), 1))()
        for row, address in zip(rows, operands):
            row.pointer = address
        args = _abi.Args(struct_size=ctypes.sizeof(_abi.Args), operands=rows,
                         operand_count=len(operands), m=m)
        for name, address in addresses.items():
            if name == "group_sizes":
                args.group_sizes = address
            else:
                getattr(args, name).pointer = address
        self.check(self.lib.jit_gemm_run(gemm, ctypes.byref(args), stream))
