#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the files that we need out of downloaded Python wheels. pip unpacks them; which of their files are ours, and
where they go, is said here, since no two of NVIDIA's packages have the same folders.

unpack_wheels.py cuda WHEELS TARGET    headers and shared libraries to TARGET/{include,lib}
unpack_wheels.py nvdisasm WHEELS TARGET  only nvdisasm
unpack_wheels.py site WHEELS TARGET    packages of Python, whole, for PYTHONPATH
unpack_wheels.py tools WHEELS TARGET   clang-format and clang-tidy, with their data
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def keep(path, target, is_program=False):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
    if is_program:
        target.chmod(0o755)


def keep_cuda(path, parts, target):
    """Packages of CUDA 12 and 13 differ in their folders; only the last ones matter."""
    if parts[0] != "nvidia":
        return
    if "include" in parts:
        keep(path, target.joinpath(*parts[parts.index("include"):]))
    elif parts[-2] == "lib" and ".so" in parts[-1]:
        keep(path, target / "lib" / parts[-1])


def keep_nvdisasm(path, parts, target):
    """nvidia/cu13/bin/nvdisasm."""
    if parts[-2:] == ("bin", "nvdisasm"):
        keep(path, target / "nvdisasm", is_program=True)


def keep_site(path, parts, target):
    """Each package and what says that it is installed, which finds the theme."""
    keep(path, target.joinpath(*parts))


def keep_tools(path, parts, target):
    """clang_format/data/bin/clang-format and its like; the data folder keeps its shape."""
    if len(parts) >= 3 and parts[1] == "data":
        keep(path, target.joinpath(*parts[2:]), is_program=parts[2] == "bin")


def main():
    kind, wheels, target = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    keep_file = {"cuda": keep_cuda, "nvdisasm": keep_nvdisasm, "site": keep_site,
                 "tools": keep_tools}[kind]
    found = sorted(wheels.glob("*.whl"))
    if not found:
        sys.exit(f"no wheels in {wheels}")
    with tempfile.TemporaryDirectory(dir=wheels) as folder:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index",
                        "--no-deps", "--no-compile", "--target", folder, *map(str, found)], check=True,
                       env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"})
        root = pathlib.Path(folder)
        for path in sorted(root.rglob("*")):
            if path.is_file():
                keep_file(path, path.relative_to(root).parts, target)


main()
