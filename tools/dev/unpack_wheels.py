#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the files that we need out of downloaded Python wheels (zip files).

unpack_wheels.py cuda WHEELS TARGET    headers and shared libraries to TARGET/{include,lib}
unpack_wheels.py nvdisasm WHEELS TARGET  only nvdisasm
unpack_wheels.py tools WHEELS TARGET   clang-format and clang-tidy, with their data
"""
import pathlib
import shutil
import sys
import zipfile


def write(archive, name, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(name) as source, open(target, "wb") as out:
        shutil.copyfileobj(source, out)


def unpack_cuda(archive, target):
    """Wheels of CUDA 12 and 13 differ in their folders; only the last ones matter."""
    for name in archive.namelist():
        parts = name.split("/")
        if parts[0] != "nvidia" or name.endswith("/"):
            continue
        if "include" in parts:
            write(archive, name, target.joinpath(*parts[parts.index("include"):]))
        elif parts[-2] == "lib" and ".so" in parts[-1]:
            write(archive, name, target / "lib" / parts[-1])


def unpack_nvdisasm(archive, target):
    """nvidia/cu13/bin/nvdisasm."""
    for name in archive.namelist():
        if name.split("/")[-2:] == ["bin", "nvdisasm"]:
            write(archive, name, target / "nvdisasm")
            (target / "nvdisasm").chmod(0o755)


def unpack_tools(archive, target):
    """clang_format/data/bin/clang-format and its like; the data folder keeps its shape."""
    for name in archive.namelist():
        parts = name.split("/")
        if len(parts) < 3 or parts[1] != "data" or name.endswith("/"):
            continue
        place = target.joinpath(*parts[2:])
        write(archive, name, place)
        if parts[2] == "bin":
            place.chmod(0o755)


def main():
    kind, wheels, target = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    unpack = {"cuda": unpack_cuda, "nvdisasm": unpack_nvdisasm, "tools": unpack_tools}[kind]
    found = sorted(wheels.glob("*.whl"))
    if not found:
        sys.exit(f"no wheels in {wheels}")
    for path in found:
        with zipfile.ZipFile(path) as archive:
            unpack(archive, target)


main()
