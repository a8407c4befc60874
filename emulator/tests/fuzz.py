#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a target of libFuzzer on the inputs that are kept for it, and keeps them.

    fuzz.py run PROGRAM PACK RUNS          all inputs of the pack, then mutants: RUNS in all
    fuzz.py keep PROGRAM PACK [FOLDER...]  the pack becomes the least set of inputs, of itself and
                                           of the folders, that reach all that these reach
    fuzz.py unpack PACK FOLDER             a file for each input

A pack is text: a line of base64 for each input, in the order of sizes. `run` draws the same mutants each
time; FUZZ_SEED=N draws others, FUZZ_RUNS=N more. An input that is a finding is left in the working folder
as crash-HASH, and so is named; the program repeats it by that file's name as its only argument.
"""
import base64
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MOST_BYTES = 4096  # of a mutant, and of an input that is kept


def read_pack(pack):
    return [base64.b64decode(line, validate=True)
            for line in pathlib.Path(pack).read_text(encoding="ascii").split()]


def unpack(pack, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    for number, data in enumerate(read_pack(pack)):
        (folder / f"{number:04}").write_bytes(data)


def run(program, pack, runs):
    with tempfile.TemporaryDirectory() as folder:
        unpack(pack, folder + "/pack")
        os.mkdir(folder + "/new")
        done = subprocess.run(
            [program, f"-runs={os.environ.get('FUZZ_RUNS', runs)}",
             f"-seed={os.environ.get('FUZZ_SEED', '1')}", f"-max_len={MOST_BYTES}",
             folder + "/new", folder + "/pack"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    counts = re.findall(r"^#(\d+)\s+DONE\s+cov: (\d+) ft: (\d+)", text, re.M)
    if done.returncode != 0 or not counts:
        print(text[-12000:])
        return done.returncode or 1
    print("%s executions of %s: %s edges, %s features" % (
        counts[-1][0], pathlib.Path(program).name, counts[-1][1], counts[-1][2]))
    return 0


def keep(program, pack, folders):
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder + "/kept")
        kept.mkdir()
        if pathlib.Path(pack).exists():
            unpack(pack, folder + "/pack")
            folders = [folder + "/pack", *folders]
        subprocess.run([program, "-merge=1", "-use_counters=0", "-use_cmp=0",
                        f"-max_len={MOST_BYTES}", str(kept), *folders],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        inputs = sorted((path.read_bytes() for path in kept.iterdir()),
                        key=lambda data: (len(data), data))
        inputs = [data for data in inputs if data]  # libFuzzer begins with the empty one
        pathlib.Path(pack).write_text(
            "".join(base64.b64encode(data).decode() + "\n" for data in inputs), encoding="ascii")
    print(f"{pack}: {len(inputs)} inputs, {sum(map(len, inputs))} bytes")
    return 0


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "run":
        return run(*sys.argv[2:])
    if len(sys.argv) >= 4 and sys.argv[1] == "keep":
        return keep(sys.argv[2], sys.argv[3], sys.argv[4:])
    if len(sys.argv) == 4 and sys.argv[1] == "unpack":
        unpack(*sys.argv[2:])
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
