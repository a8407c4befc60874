#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands for `jit-gemm` in the blocks of the pages: the same command, on smaller sizes and the emulator.

What the pages run on a GPU runs on the emulator, with no side longer than SIDE and no K longer than DEPTH. Words in
capitals that a reader fills in are filled in. Each call is a line of JSON in $SMALL_JIT_GEMM_LOG: words and exit code.
"""
import json
import os
import re
import subprocess
import sys

SIDE, DEPTH = 256, 512
FILLED_IN = {"YOUR_TYPE": "f16", "YOUR_KIND": "row_vector", "YOURS": "static"}
PLACES = {"/srv/kernels": "srv/kernels"}  # absolute ones, to the folder of the test


def smaller(word):
    sizes = re.fullmatch(r"(\d+)x(\d+)x(\d+)", word)
    if sizes:
        m, n, k = map(int, sizes.groups())
        return f"{min(m, SIDE)}x{min(n, SIDE)}x{min(k, DEPTH)}"
    return re.sub(r"^n=\d+$", "n=64", word)


def adapt(words):
    words = [FILLED_IN.get(word, PLACES.get(word, word)) for word in words]
    words = [re.sub("YOUR_KIND|YOURS", lambda found: FILLED_IN[found[0]], word) for word in words]
    words = [word.replace("cc=9.0 sm_count=132 l2_bytes=52428800 ...", "h100 sm_count=114") for word in words]
    if words[:1] in (["run"], ["trace"]) or "--modelled" in words:
        words = [smaller(word) for word in words]
        if "--device" not in words:
            words += ["--device", "emulator"]
        if "--arch" not in words:
            words += ["--arch", "sm_90a"]
    return [os.path.abspath(word) if word.startswith("srv/") else word for word in words]


def main():
    words = adapt(sys.argv[1:])
    done = subprocess.run([os.environ["REAL_JIT_GEMM"], *words], capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    with open(os.environ["SMALL_JIT_GEMM_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps({"words": words, "code": done.returncode, "error": done.stderr[-2000:]}) + "\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
