#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The floor checker against small trees: one that is right, and one for each violation."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/dev"))
import check_floors  # noqa: E402
from checked_trees import report  # noqa: E402

TABLE = """# Architecture

<!-- floors -->
| Floor | Folder | May include | May use |
|---|---|---|---|
| 0 | `lib/base` | `include/jit_gemm/status.h` | `libc` `xxhash.h` |
| 1 | `lib/plan` | `lib/base` `include/jit_gemm/status.h` | `pure` |
| 1 | `lib/cuda` | `lib/base` | `libc` `cuda.h` |
| 5 | `include` | | `stddef.h` |
| device | `kernel_src/jg/common` | | |
| device | `kernel_src/jg/ptx` | `kernel_src/jg/common` | `asm` `arch` |
| device | `kernel_src/jg/sm90a` | `kernel_src/jg/common` `kernel_src/jg/ptx` | `arch` |
| device | `kernel_src/jg/sm100a` | `kernel_src/jg/common` `kernel_src/jg/ptx` | `arch` |
"""
YARD = """# Architecture of a yard

<!-- floors -->
| Floor | Folder | May include | May use |
|---|---|---|---|
| 0 | `base` | | `libc` |
| 1 | `exec` | `base` | `libc` |
| tests | `tests` | `base` `exec` | `criterion` |
"""
GOOD = {
    "yard/ARCHITECTURE.md": YARD,
    "yard/base/base.h": "void *emu_alloc(size_t bytes);\nstatic inline int one(void) {}\n",
    "yard/base/base.c": '#include "base/base.h"\n\nvoid *emu_alloc(size_t bytes)\n{\n}\n',
    "yard/exec/warp.c": '#include "base/base.h"\n',
    "yard/tests/test_warp.c": '#include <criterion/criterion.h>\n#include "base/base.h"\n',
    "include/jit_gemm/status.h": "#include <stddef.h>\n",
    "include/jit_gemm/jit_gemm.h": '#include "jit_gemm/status.h"\n#include "jit_gemm/version.h"\n',
    "include/jit_gemm/version.h.in": "#define V @v@\n",
    "lib/base/alloc.c": "#include <stdlib.h>\nvoid f(void) { free(0); f_user(); }\n",
    "lib/base/str.h": '#include "jit_gemm/status.h"\n#include <xxhash.h>\n',
    "lib/plan/config.c": '/* time(0) */\n#include "base/str.h"\nconst char *f = "getenv(";\n',
    "lib/cuda/driver.h": '#include <cuda.h>\n#include "base/str.h"\n',
    "kernel_src/jg/common/types.cuh": "#pragma once\n",
    "kernel_src/jg/ptx/tma.cuh": '#include <jg/common/types.cuh>\nvoid f() { asm("nop;"); }\n',
    "kernel_src/jg/sm90a/roles.cuh": "#include <jg/ptx/tma.cuh>\n",
    "kernel_src/jg/sm100a/roles.cuh": "#include <jg/ptx/tma.cuh>\n",
}
# What is planted, and the words that the checker must say of it.
BAD = [
    ("lib/plan/bad.c", '#include "cuda/driver.h"\n', "lib/plan may not include lib/cuda"),
    ("lib/base/bad.c", '#include "plan/bad.h"\n', '"plan/bad.h" is not in the tree'),
    ("lib/plan/bad.c", "#include <unistd.h>\n", "lib/plan may not include <unistd.h>"),
    ("lib/plan/bad.c", "#include <cuda.h>\n", "lib/plan may not include <cuda.h>"),
    ("lib/plan/bad.c", '#include <stdio.h>\nint x = fopen("", "");\n', "bad.c:2: lib/plan is pure"),
    ("lib/plan/bad.c", "void *p = malloc(1);\n", "malloc() is called in lib/base/alloc.c only"),
    ("lib/cuda/bad.c", '#include "jit_gemm/jit_gemm.h"\n', "may not include include/jit_gemm"),
    ("lib/fresh/new.c", "int x;\n", "its folder has no row"),
    ("kernel_src/jg/common/bad.cuh", '#include "types.cuh"\n', "in angle brackets"),
    ("kernel_src/jg/common/bad.cuh", "#include <stdint.h>\n", "may not include <stdint.h>"),
    ("kernel_src/jg/common/bad.cuh", 'void f() { asm("nop;"); }\n', "may not contain inline PTX"),
    ("kernel_src/jg/common/bad.cuh", "#if __CUDA_ARCH__ >= 900\n", "may not test __CUDA_ARCH__"),
    ("kernel_src/jg/sm90a/bad.cuh", "#include <jg/sm100a/roles.cuh>\n",
     "kernel_src/jg/sm90a may not include kernel_src/jg/sm100a/roles.cuh"),
    ("kernel_src/jg/sm90a/bad.cuh", "#include <jg/ptx/gone.cuh>\n", "does not exist"),
    ("ARCHITECTURE.md", TABLE + "| 9 | `lib/gone` | | |\n", "there is no folder lib/gone"),
    ("ARCHITECTURE.md", "# Architecture\n", "no line <!-- floors -->"),
    ("lib/base/bad.c", "int f_user(void)\n{\n    return f();\n}\n",
     "a circle of files that use each other: alloc.c bad.c"),
    ("lib/base/meson.build", "library('a', '../../tests/support/fake.c')\n",
     "lib/base/meson.build:1: compiles a file of the tests"),
    ("yard/base/bad.c", '#include "exec/warp.h"\n', 'yard/base/bad.c:1: "exec/warp.h" is not in'),
    ("yard/base/bad.c", '#include "exec/warp.c"\n', "base may not include exec/warp.c"),
    ("yard/exec/bad.c", '#include "plan/config.c"\n', '"plan/config.c" is not in the tree'),
    ("yard/exec/bad.c", "#include <cuda.h>\n", "exec may not include <cuda.h>"),
    ("yard/fresh/new.c", "int x;\n", "yard/fresh/new.c:1: its folder has no row"),
    ("yard/base/bad.h", "\nvoid emu_attach(struct warp *warp);\n",
     "yard/base/bad.h:2: no source of this folder defines emu_attach()"),
    ("yard/base/bad.h", "bool emu_report(const char *text,\n                ...) EMU_PRINTF(1, 2);\n",
     "yard/base/bad.h:1: no source of this folder defines emu_report()"),
    ("yard/ARCHITECTURE.md", YARD + "| 9 | `gone` | | |\n", "there is no folder gone"),
    ("yard/ARCHITECTURE.md", "# Nothing\n", "yard/ARCHITECTURE.md: no line <!-- floors -->"),
]


if __name__ == "__main__":
    report(check_floors, {"ARCHITECTURE.md": TABLE, **GOOD}, BAD)
