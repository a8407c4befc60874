#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What scripts/lib.sh says where pip cannot download: the cause, not a guess."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What pip wrote, and what has to be said of it.
ROWS = [
    ("SSLError(SSLCertVerificationError(1, 'certificate verify failed: self-signed'))",
     "a certificate was refused"),
    ("Temporary failure in name resolution", "is the network there"),
    ("ERROR: No matching distribution found for x", "is the network there"),
    ("THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "is not the one whose hash"),
    ("OSError: [Errno 28] No space left on device", "pip says why above"),
]
FAKE = """#!/bin/sh
case "$*" in *--version*) exit 0;; esac
echo "$PIP_SAYS" >&2
exit 1
"""


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        fake = pathlib.Path(folder) / "python3"
        fake.write_text(FAKE, encoding="ascii")
        fake.chmod(0o755)
        for says, expected in ROWS:
            environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", PIP_SAYS=says)
            script = (f"root={ROOT} build={folder}; . {ROOT}/scripts/lib.sh; "
                      f"fetch_wheels list.txt {folder}/wheels")
            done = subprocess.run(["bash", "-c", script], env=environment, text=True, check=False,
                                  capture_output=True, timeout=60)
            if done.returncode == 0 or expected not in done.stderr or says not in done.stderr:
                print(f"'{says}' gave exit {done.returncode}: {done.stderr}")
                wrong += 1
    print(f"{len(ROWS)} rows, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
