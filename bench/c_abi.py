#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The C interface of jit_gemm in ctypes, as far as the scripts of this folder need it.

Usage: c_abi.py PROGRAM

PROGRAM prints what the headers say (abi_sizes.c); exits with 1 where the structs here differ.
"""
import ctypes
import subprocess
import sys

KINDS = {"scalar": 0, "row_vector": 1, "column_vector": 2, "matrix": 3, "pair_vector": 4}
DTYPES = {"bf16": 1, "f32": 3}
PROBLEM_BYTES = 4096  # jit_gemm_problem or more: only the library reads it


class Operand(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("dtype", ctypes.c_int),
                ("role", ctypes.c_int), ("reserved", ctypes.c_int)]


class Epilogue(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("source", ctypes.c_char_p), ("source_size", ctypes.c_size_t),
                ("source_name", ctypes.c_char_p), ("first_line", ctypes.c_uint32),
                ("operand_count", ctypes.c_uint32), ("operands", ctypes.POINTER(Operand)),
                ("code", ctypes.c_void_p), ("code_size", ctypes.c_size_t),
                ("symbol", ctypes.c_char_p), ("code_kind", ctypes.c_int),
                ("reserved", ctypes.c_uint32)]


class Arg(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_uint64), ("ld", ctypes.c_int64),
                ("batch_stride", ctypes.c_int64), ("value", ctypes.c_float),
                ("reserved", ctypes.c_uint32)]


class Args(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("a", Arg), ("b", Arg), ("c", Arg), ("d", Arg),
                ("a_scale", Arg), ("b_scale", Arg), ("operands", ctypes.POINTER(Arg)),
                ("operand_count", ctypes.c_size_t), ("m", ctypes.c_int64), ("n", ctypes.c_int64),
                ("k", ctypes.c_int64), ("batch", ctypes.c_int64), ("alpha", ctypes.c_void_p),
                ("beta", ctypes.c_void_p), ("alpha_device", ctypes.c_uint64),
                ("beta_device", ctypes.c_uint64), ("workspace", ctypes.c_uint64),
                ("workspace_bytes", ctypes.c_uint64), ("d_scale", Arg),
                ("group_sizes", ctypes.c_uint64), ("d_rows", Arg), ("d_row_count", ctypes.c_int64),
                ("a_rows", Arg), ("a_row_count", ctypes.c_int64)]


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.jit_gemm_last_error.restype = ctypes.c_char_p
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
        rows = (Operand * max(len(operands), 1))()
        for row, text in zip(rows, operands):
            words = text.split(":")
            row.name, row.kind, row.dtype = words[0].encode(), KINDS[words[1]], DTYPES[words[2]]
            row.role = len(words) > 3
        epilogue = Epilogue(struct_size=ctypes.sizeof(Epilogue), name=name.encode(),
                            source=snippet.encode(), operand_count=len(operands), operands=rows)
        self.check(self.lib.jit_gemm_epilogue_register(self.context, ctypes.byref(epilogue)))

    def create(self, text):
        problem = ctypes.create_string_buffer(PROBLEM_BYTES)
        self.check(self.lib.jit_gemm_problem_parse(text.encode(), problem))
        gemm = ctypes.c_void_p()
        self.check(self.lib.jit_gemm_create(self.context, problem, ctypes.byref(gemm)))
        return gemm

    def run(self, gemm, addresses, operands=(), stream=None):
        """`addresses` by name of the argument, `a` for instance; `operands` in their order."""
        rows = (Arg * max(len(operands), 1))()
        for row, address in zip(rows, operands):
            row.pointer = address
        args = Args(struct_size=ctypes.sizeof(Args), operands=rows, operand_count=len(operands))
        for name, address in addresses.items():
            if name == "group_sizes":
                args.group_sizes = address
            else:
                getattr(args, name).pointer = address
        self.check(self.lib.jit_gemm_run(gemm, ctypes.byref(args), ctypes.c_void_p(stream)))


def describe():
    """Lines as abi_sizes.c prints them."""
    lines = []
    for name, struct in (("jit_gemm_operand", Operand), ("jit_gemm_epilogue", Epilogue),
                         ("jit_gemm_arg", Arg), ("jit_gemm_args", Args)):
        lines.append(f"{name} {ctypes.sizeof(struct)}")
        lines += [f"{name}.{field[0]} {getattr(struct, field[0]).offset}"
                  for field in struct._fields_]
    return lines


def main():
    printed = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
    *lines, problem = printed.splitlines()
    differences = set(lines) ^ set(describe())
    if differences or int(problem.split()[1]) > PROBLEM_BYTES:
        sys.exit("c_abi.py is not what the headers say: " +
                 ", ".join([*sorted(differences), problem]))


if __name__ == "__main__":
    main()
