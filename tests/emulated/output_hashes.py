#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints a hash of D for each of a list of problems, so that two devices can be compared.

Usage: output_hashes.py JIT_GEMM [--expect FILE] [words for `jit-gemm run`, such as
                        --device emulator]

Where there is a GPU its output is kept (outputs.txt is an H200's); the emulator, with
JIT_GEMM_EMULATOR=numbers=exact, must print the same: --expect says which lines differ, of one seed for
each problem in turn, or of both with JIT_GEMM_TEST_EVERY=1. The epilogues use no approximate function, because those differ in the last bits.
"""
import hashlib
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from strides import in_turn, stride  # noqa: E402

FUSED = ["--epilogue", "d = max(acc * s + bias, 0.0f) + r;", "--operand", "s:scalar:f32",
         "--operand", "bias:row_vector:bf16", "--operand", "r:matrix:bf16"]
WHOLE_K = ["--config", "split_k=1"]  # where the choice might have parts of it
PROBLEMS = [
    ["256x256x256", "bf16"],
    ["256x256x256", "f16"],
    ["512x384x4096", "bf16", "d=f32", *WHOLE_K],
    ["512x384x4096", "f16", "d=f32", *WHOLE_K],
    ["333x520x264", "bf16"],
    ["129x257x72", "f16", "d=f32"],
    ["1x512x1000", "bf16"],
    ["640x8x512", "f16", *WHOLE_K],
    ["256x512x520", "bf16", "layout=nn"],
    ["256x512x520", "bf16", "layout=tn"],
    ["256x512x520", "bf16", "layout=tt"],
    ["384x256x128", "bf16", "batch=3"],
    ["256x256x192", "bf16", "c=bf16", "--beta", "0.5", "--alpha", "1.5"],
    ["200x136x1024", "f16", "c=f32", "--beta", "-2", *WHOLE_K],
    ["512x512x640", "bf16", "--config", "tile=128x128 cluster=2x1 stages=3", *FUSED],
    ["512x512x640", "bf16", "--config", "tile=128x256 cluster=1x2 stages=3", *FUSED],
    ["500x260x640", "f16", "--config", "tile=256x128 stages=2"],
    ["192x320x64", "bf16", "--config", "tile=64x256", *FUSED],
    ["256x256x520", "tf32", *WHOLE_K],
    ["333x520x264", "tf32", "d=bf16"],
    ["192x320x96", "tf32", "--config", "tile=64x256", *FUSED],
    ["256x256x1024", "e4m3", "d=f32"],
    ["128x384x4096", "e4m3", "d=f32", *WHOLE_K],
    ["256x192x1000", "e5m2", "d=f32"],
    ["333x520x264", "e5m2", "b=e4m3", "d=bf16"],
    ["384x256x128", "e4m3", "b=e5m2", "batch=3"],
    ["512x512x640", "e4m3", "b=e5m2", "--config", "tile=128x192 cluster=2x1 stages=3", *FUSED],
    ["500x264x640", "e5m2", "--config", "tile=256x128 stages=2"],
    ["333x520x264", "e4m3", "d=bf16", "a_scale=tensor", "b_scale=tensor"],
    ["256x264x520", "e5m2", "b=e4m3", "a_scale=vector", "b_scale=vector", "--alpha", "0.75"],
    ["333x520x1000", "s8"],
    ["512x384x512", "s8", "d=bf16", "--config", "tile=128x256 cluster=2x1"],
    ["256x256x192", "s8", "c=s32", "--beta", "0.5", "--alpha", "1.5"],
]


def hash_of(words, path):
    """Hash of the file that `jit-gemm run --save` writes, or the text of what failed."""
    done = subprocess.run([*words, "--save", str(path)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
        return "failed"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


def main():
    tool, words = sys.argv[1], sys.argv[2:]
    expected = None
    if words[:1] == ["--expect"]:
        lines = pathlib.Path(words[1]).read_text(encoding="utf-8").splitlines()
        expected = {line for line in lines if not line.startswith("#")}
        words = words[2:]
    every = stride(4) if expected is not None else 1
    bad = 0
    with tempfile.TemporaryDirectory(prefix="jit_gemm_hashes_") as holder:
        for number, problem in in_turn(list(enumerate(PROBLEMS))) if expected is not None else enumerate(PROBLEMS):
            for seed in ("1", "2")[number % every::every]:
                digest = hash_of([tool, "run", *problem, "--arch", "sm_90a", "--seed", seed,
                                  *words], pathlib.Path(holder) / "d")
                line = f"{digest} seed {seed} {' '.join(problem)}"
                good = digest != "failed" and (expected is None or line in expected)
                bad += not good
                print(line if good else f"{line} <- differs", flush=True)
    if expected is not None:
        print(f"{len(expected)} outputs are known, {bad} differ")
        bad += len(expected) != 2 * len(PROBLEMS)
    sys.exit(1 if bad else 0)


main()
