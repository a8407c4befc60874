#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the example of several GPUs on the emulator's two devices, with a stand-in for NCCL.

Usage: test_tensor_parallel.py PROGRAM STAND_IN EMULATOR SCRATCH
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

program, stand_in, emulator, scratch = (os.path.abspath(word) for word in sys.argv[1:])
links = pathlib.Path(scratch)
shutil.rmtree(links, ignore_errors=True)
links.mkdir(parents=True)
(links / "libcuda.so.1").symlink_to(emulator)
ENV = {**os.environ, "TMPDIR": scratch,
       "LD_LIBRARY_PATH": f"{pathlib.Path(stand_in).parent}:{scratch}"}


def run(*words):
    return subprocess.run([program, *words], env=ENV, capture_output=True, text=True,
                          check=False, timeout=200)


def expect(holds, what, done):
    if not holds:
        sys.exit(f"{what}\n{done.returncode}\n{done.stdout}{done.stderr}")


RIGHT = r"^process (\d), (in order|overlapped): largest difference \S+ of \S+: right$"
for sizes, results in (("tokens=48 width=64 hidden=160 chunks=3", 4),
                       ("tokens=40 width=72 hidden=48 chunks=1", 4),
                       ("processes=1 tokens=16 width=64 hidden=64 chunks=2", 2)):
    done = run(*sizes.split(), "repeats=0")
    found = re.findall(RIGHT, done.stdout, re.M)
    expect(done.returncode == 0 and len(set(found)) == results, sizes, done)

done = run("tokens=16", "width=64", "hidden=64", "chunks=2", "repeats=1")
expect(done.returncode == 0 and re.search(r"^overlapped .* of in order$", done.stdout, re.M),
       "what it measures is printed once", done)

# The emulator has two devices: the third process ends the two that wait for it.
done = run("processes=3", "hidden=96", "repeats=0", "tokens=8", "width=64")
expect(done.returncode == 77 and "no GPU for each process" in done.stderr, "a device short", done)

for words, reason in (("chunks=3", "tokens must be a multiple of chunks"),
                      ("hidden=100", "hidden of 8 * processes"),
                      ("processes=99", "at most 16 processes"),
                      ("tokens=0", "tokens=0: not one of"), ("tokens=4x", "tokens=4x: not one of"),
                      ("rows=4", "rows=4: not one of")):
    done = run(words)
    expect(done.returncode == 1 and reason in done.stderr, words, done)
print("two processes give what one gives; wrong words and a missing device are told")
