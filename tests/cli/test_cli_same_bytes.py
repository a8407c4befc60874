#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same kernel in any folder, process and day: byte for byte. Prints TAP.

Usage: test_cli_same_bytes.py JIT_GEMM SOURCE_ROOT OTHER_DAY

The last one is a library that shifts the calendar of a program which it is loaded into.
"""
import hashlib
import os
import subprocess
import sys

from cli_harness import TOOL, Folder, clean_environment, expect, named_tests, need_compiler, run_tests

OTHER_DAY = os.path.abspath(sys.argv[3])
YEARS = 3 * 365 * 86400
EPILOGUE = ["--epilogue", "d = gelu(acc * s + bias);", "--operand", "s:scalar:f32", "--operand",
            "bias:row_vector:bf16"]
ROWS = [
    ["256x256x128", "bf16", "--arch", "sm_90a"],
    ["256x256x128", "bf16", "--arch", "sm_100a", *EPILOGUE],
    ["300x200x128", "e4m3", "a_scale=1x128", "b_scale=128x128", "d=bf16", "--arch", "sm_90a"],
    ["256x256x128", "bf16", "--arch", "sm_90a", "--config", "lineinfo=1", *EPILOGUE],
    ["256x256x128", "bf16", "--arch", "sm_100a", "--config", "debug=1 trace=1"],
    ["256x256x128", "bf16", "--arch", "sm_100a", "--emit", "ptx", *EPILOGUE],
    ["256x256x128", "bf16", "--arch", "sm_90a", "--emit", "source", *EPILOGUE],
]


def build(words, folder, output, **variables):
    """Bytes of a build in that folder. Nothing is cached."""
    environment = clean_environment(JIT_GEMM_CACHE_DIR="", **variables)
    done = subprocess.run([str(TOOL), "build", *words, "--no-cache", "-o", str(output)], cwd=folder,
                          env=environment, capture_output=True, text=True, timeout=120, check=False)
    expect(done.returncode == 0, f"{words}", done)
    return output.read_bytes()


def may_have_own_folder():
    """A sandbox may forbid a thread a current folder of its own; lines of a cubin name it then."""
    return subprocess.run(["unshare", "--help"], capture_output=True, check=False).returncode == 0 and \
        subprocess.run([sys.executable, "-c", "import ctypes, sys\nsys.exit(ctypes.CDLL(None).unshare(0x200) != 0)"],
                       check=False).returncode == 0


def test_the_same_bytes_in_any_folder_process_and_day():
    need_compiler()
    with Folder() as folder:
        other = folder.path / "a b" / "other place"
        other.mkdir(parents=True)
        places = [(folder.path, {}),
                  (other, {"HOME": str(other), "TZ": "Pacific/Apia", "LC_ALL": "C.UTF-8", "USER": "somebody"}),
                  ("/", {"LD_PRELOAD": OTHER_DAY, "OTHER_DAY_SECONDS": str(YEARS)}),
                  ("/usr", {"LD_PRELOAD": OTHER_DAY, "OTHER_DAY_SECONDS": str(-YEARS), "TMPDIR": "/nonexistent"})]
        for words in ROWS:
            if "lineinfo=1" in words and not may_have_own_folder():
                continue
            found = [build(words, place, folder.path / f"out{number}", **variables)
                     for number, (place, variables) in enumerate(places)]
            digests = [hashlib.sha256(data).hexdigest() for data in found]
            expect(len(set(digests)) == 1, f"{words}: {digests}")
            expect(str(folder.path).encode() not in found[0] and b"somebody" not in found[1], f"{words}: a path")


def test_the_other_day_is_another_day():
    days = []
    for seconds in ("0", str(YEARS)):
        environment = {**os.environ, "LD_PRELOAD": OTHER_DAY, "OTHER_DAY_SECONDS": seconds}
        done = subprocess.run([sys.executable, "-c", "import time; print(int(time.time()))"], env=environment,
                              capture_output=True, text=True, check=True)
        days.append(int(done.stdout))
    expect(days[1] - days[0] > YEARS - 86400, f"{days}")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
