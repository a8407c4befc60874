#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The check that nobody asks for the chip: a tree that is right, and one for each violation."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/dev"))
import check_chips  # noqa: E402
from checked_trees import report  # noqa: E402

GOOD = {
    "lib/plan/arch.c": '#include "plan/sm90a/sm90a.h"\nconst char *name = "sm_90a";\n',
    "lib/plan/sm100a/limits.c": "int f(int cta_group) { return cta_group == 0; }\n",
    "lib/plan/config.c": "/* sm_90a has no cta_group > 0 */\nint cta_group; // Hopper\n",
    "lib/api/target.c": 'const char *hint = "name one, for instance sm_90a";\n',
    "tools/cmd_doctor.c": '#define FALLBACK_ARCH "sm_90a"\nconst char *arch = FALLBACK_ARCH;\n',
    "lib/source/assemble.c": "int rows(int m, int cta_group) { return m * cta_group; }\n",
    "kernel_src/jg/sm90a/roles.cuh": "namespace jg::sm90a {}\n",
    "kernel_src/jg/ptx/tcgen05.cuh": "// sm_100a\n#define SM100A 1\n",
    "kernel_src/jg/tile/loader.cuh": "constexpr bool kPair = Cluster::kCtaGroup == 2;\n"
                                      "static_assert(kM % kCtaGroup == 0);\n",
}
# What is planted, and the words that the checker must say of it.
BAD = [
    ("lib/plan/bad.c", "int x = config->layout.cta_group > 0;\n", "bad.c:1: 'cta_group > 0'"),
    ("lib/plan/bad.c", "\nif (layout.cta_group != 0) {}\n", "bad.c:2: 'cta_group != 0'"),
    ("lib/source/bad.c", "if (config->layout.mma_m > 0) {}\n", "'mma_m > 0' means a chip"),
    ("lib/plan/bad.c", "if (config->storage.acc_stages == 0) {}\n", "'acc_stages == 0' means"),
    ("lib/runtime/bad.c", "bool x = info->tmem_columns != 0;\n", "'tmem_columns != 0' means"),
    ("tools/bad.c", 'int x = strcmp(arch, "sm_100a");\n', '"sm_100a" names a chip'),
    ("verify/bad.c", "bool is_blackwell;\n", "'blackwell' names a chip"),
    ("lib/source/bad.c", 'int x = strcmp(name, "sm_100a");\n', '"sm_100a" names a chip'),
    ("lib/runtime/bad.c", "int is_blackwell(void);\n", "'blackwell' names a chip"),
    ("lib/runtime/bad.c", "int x = IS_HOPPER;\n", "'HOPPER' names a chip"),
    ("lib/plan/bad.c", '#include "plan/sm90a/sm90a.h"\n', "is a path into a chip's room"),
    ("lib/plan/bad.c", "int x = jg_sm100a_lanes(config);\n", "'sm100a' names a chip"),
    ("lib/api/bad.c", "int x = facts->cc_major == 9;\n", "asks for a chip"),
    ("kernel_src/jg/epilogue/bad.cuh", "bool x = Config::kCtaGroup > 0;\n", "means a chip"),
    ("kernel_src/jg/tile/bad.cuh", "#include <jg/sm90a/roles.cuh>\n", "'sm90a' names a chip"),
]


if __name__ == "__main__":
    report(check_chips, GOOD, BAD)
