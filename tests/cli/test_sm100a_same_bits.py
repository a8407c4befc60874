# SPDX-License-Identifier: MIT
"""Every shape of the multiplication, swapped or not, must give the same bits: the order in which K
is added up does not depend on it.

Arguments: the tool, the source folder, the emulator, whose tensor core is exact to the bit here.
"""
import pathlib
import sys

from cli_harness import (Folder, emulator_by_name, expect, expect_exit, need_compiler, run_tests,
                         tool)
from strides import in_turn, stride

EMULATOR = pathlib.Path(sys.argv[3]).resolve()
FUSED = ["--epilogue", "d = max(acc * s + bias, 0.0f) * u + r + row - col;",
         "--operand", "s:scalar:f32", "--operand", "bias:row_vector:bf16",
         "--operand", "u:column_vector:f32", "--operand", "r:matrix:bf16"]
PROBLEMS = [
    ["200x136x264", "bf16", "d=f32"],
    ["264x72x330", "f16"],
    ["24x264x200", "bf16", "c=bf16", "layout=tn", "--beta", "0.5", "--alpha", "1.5"],
    ["136x200x130", "bf16", "layout=nn", "batch=2", *FUSED],
]
CONFIGS = [
    "mma=128x64", "mma=128x176", "mma=128x256 cluster=2x2", "mma=256x256 cluster=2x1",
    "mma=256x96 cluster=4x1", "mma=64x32", "mma=64x80 cluster=1x2", "mma=64x256",
    "mma=128x32 cta_group=2 cluster=2x1", "mma=128x224 cta_group=2 cluster=2x2",
    "mma=128x16 swap_ab=1", "mma=128x96 cluster=2x1 swap_ab=1", "mma=64x16 swap_ab=1",
    "mma=64x112 swap_ab=1", "mma=128x32 cta_group=2 cluster=2x1 swap_ab=1",
    "mma=128x160 cta_group=2 cluster=2x2 swap_ab=1", "mma=256x64 cluster=2x1 swap_ab=1",
    "mma=256x256 cluster=4x1 swap_ab=1",
]

EVERY = stride(3)  # which of the configs a problem has


def result_of(problem, config, path):
    done = tool("run", *problem, "--config", config, "--device", "emulator", "--arch", "sm_100a",
                "--save", path, variables=emulator_by_name(EMULATOR, "sms=16,numbers=exact"))
    expect_exit(done, 0)
    return path.read_bytes()


def make_test(number, problem):
    def test():
        need_compiler()
        with Folder() as folder:
            first = result_of(problem, CONFIGS[0], folder.path / "d")
            expect(any(first), "all zeros")
            for config in CONFIGS[1 + number % EVERY::EVERY]:
                other = result_of(problem, config, folder.path / "d")
                expect(other == first, f"{config} gives other bits than {CONFIGS[0]}")
    return test


if __name__ == "__main__":
    sys.exit(run_tests(in_turn([(" ".join(problem), make_test(number, problem))
                                for number, problem in enumerate(PROBLEMS)])))
