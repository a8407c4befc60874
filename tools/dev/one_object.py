#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a static library of one object, whose hidden names are local to it.

one_object.py --objcopy OBJCOPY --ar AR --output LIBRARY --private FOLDER ARCHIVE... -- LINKER...

All members of the archives become one object; LINKER is the compiler, with its options. Names that
are visible outside of a shared library stay global; everything else can meet no name of a program.
"""
import argparse
import pathlib
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    for name in ("objcopy", "ar", "output", "private"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("archives", nargs="+")
    end = sys.argv.index("--")
    words, linker = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1:]
    folder = pathlib.Path(words.private)
    folder.mkdir(parents=True, exist_ok=True)
    whole, made = folder / "jit_gemm.o", pathlib.Path(words.output)
    made.unlink(missing_ok=True)
    subprocess.run([*linker, "-r", "-nostdlib", "-o", whole, "-Wl,--whole-archive",
                    *words.archives, "-Wl,--no-whole-archive"], check=True)
    subprocess.run([words.objcopy, "--localize-hidden", whole], check=True)
    subprocess.run([words.ar, "rcsD", made, whole], check=True)


main()
