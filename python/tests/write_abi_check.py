#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a C program that compares the numbers of jit_gemm/_abi.py with the headers.

Usage: write_abi_check.py OUTPUT.c

The program prints each size, offset, enum value and constant that is not what the headers say, and
exits with 1 then. test_abi.py compares names: fields, enumerators, parameters.
"""

import ctypes
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from jit_gemm import _abi  # noqa: E402

HEADERS = [
    "combine.h",
    "device.h",
    "family.h",
    "groups.h",
    "jit_gemm.h",
    "named_epilogues.h",
    "scales.h",
]
CONSTANTS = {
    "JIT_GEMM_NAME_SIZE": _abi.NAME_SIZE,
    "JIT_GEMM_CONFIG_SIZE": _abi.CONFIG_SIZE,
    "JIT_GEMM_MAX_OPERANDS": _abi.MAX_OPERANDS,
    "JIT_GEMM_RECIPE_SIZE": _abi.RECIPE_SIZE,
    "JIT_GEMM_SIZE_RUNS": _abi.SIZE_RUNS,
    "JIT_GEMM_STRIDE_BROADCAST": _abi.STRIDE_BROADCAST,
    "JIT_GEMM_SIZE_EMPTY": _abi.SIZE_EMPTY,
    "JIT_GEMM_NO_LIMIT": _abi.NO_LIMIT_MS,
    "JIT_GEMM_OK": _abi.Status.OK,
}
HEAD = """/* SPDX-License-Identifier: MIT */
/* Written by write_abi_check.py. */
#include <stddef.h>
#include <stdio.h>

%s

static const struct {
    const char *what;
    long long header;
    long long python;
} k_lines[] = {
"""
TAIL = """};

int main(void)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof(k_lines) / sizeof(k_lines[0]); i++) {
        if (k_lines[i].header != k_lines[i].python) {
            printf("%s is %lld, and _abi.py says %lld\\n", k_lines[i].what, k_lines[i].header,
                   k_lines[i].python);
            wrong = 1;
        }
    }
    return wrong;
}
"""


def lines():
    """(what is compared, value here): C expressions and numbers."""
    for name, struct in _abi.STRUCTS.items():
        yield f"sizeof({name})", ctypes.sizeof(struct)
        for field, *_ in struct._fields_:
            member = getattr(struct, field)
            yield f"offsetof({name}, {field})", member.offset
            yield f"sizeof((({name} *)0)->{field})", member.size
    for enum, prefix in _abi.ENUMS.items():
        for member in enum:
            if member is not _abi.Status.OK:
                yield prefix + member.name, int(member)
    yield from CONSTANTS.items()


def main():
    text = HEAD % "\n".join(f'#include "jit_gemm/{name}"' for name in HEADERS)
    for what, value in lines():
        text += f'    {{"{what}", (long long)({what}), {value}LL}},\n'
    pathlib.Path(sys.argv[1]).write_text(text + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()
