#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the wheel: the package, the library, the emulator and what both need.

Usage: build_wheel.py [--build FOLDER] [-o FOLDER]

--build takes the libraries of a meson folder, as they are there; without it one is set up in
build/wheel, for release. The wheel is for x86-64 or AArch64 Linux of the C library that the
libraries need, and for any Python from 3.10 on, because it has no extension module. It is also
the backend of `pip install ./python`.

By hand, because a wheel is a zip file with three texts, and the tools that write them would have to
be fetched. The same inputs give the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARIES = ("lib/libjit_gemm.so.0", "emulator/libjit_gemm_emulator.so")
# Libraries that the wheel brings along: whose package has the notice that goes with each, and its name
# for pkg-config.
BUNDLED = {
    "libxxhash.so": ("libxxhash0", "libxxhash"),
    "libsodium.so": ("libsodium23", "libsodium"),
}
SUMMARY = "Matrix multiplication on NVIDIA tensor cores with your own epilogue in the same kernel"
FIXED_TIME = (2026, 1, 1, 0, 0, 0)


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{words[0]}: {done.stdout}{done.stderr}")
    return done.stdout


def project_version() -> str:
    text = (ROOT / "meson.build").read_text(encoding="utf-8")
    found = re.search(r"^\s*version: '([^']+)'", text, re.M)
    if found is None:
        sys.exit("meson.build names no version")
    return found[1]


def build_libraries() -> pathlib.Path:
    """A folder of meson's with the libraries, optimised and without tests."""
    folder = ROOT / "build" / "wheel"
    options = [
        "--buildtype=release",
        "-Dtests=false",
        "-Dtools=false",
        "-Dexamples=false",
        "-Dbench=false",
    ]
    if (ROOT / "build/cuda/include").is_dir():  # what scripts/demo and scripts/check fetch
        options.append(f"-Dtoolkit_include={ROOT / 'build/cuda/include'}")
    if not (folder / "build.ninja").exists():
        run("meson", "setup", *options, folder, ROOT)
    run("ninja", "-C", folder)
    return folder


def find_libraries(build: pathlib.Path) -> dict[str, pathlib.Path]:
    """Files of the wheel's folder lib by name: ours, and those that are not everywhere."""
    found = {}
    for name in LIBRARIES:
        path = build / name
        if not path.exists():
            sys.exit(f"{path} is missing: build the project in {build} first")
        found[path.name] = path.resolve()
        for line in run("ldd", path).splitlines():
            words = line.split()
            if any(words[0].startswith(prefix) for prefix in BUNDLED):
                if len(words) < 3 or not words[2].startswith("/"):
                    sys.exit(f"{path.name} needs {words[0]}, which is not installed")
                found[words[0]] = pathlib.Path(words[2]).resolve()
    return found


def find_notice(package: str) -> bytes:
    """The licence of a library that goes along."""
    path = pathlib.Path("/usr/share/doc") / package / "copyright"
    if not path.is_file():
        sys.exit(f"{path} is missing: it has the licence of a library that the wheel contains")
    return path.read_bytes()


def list_of_parts(libraries: dict[str, pathlib.Path]) -> bytes:
    """What the wheel consists of, as SPDX."""
    ours, more = [], []
    for name, path in libraries.items():
        bundled = [BUNDLED[prefix] for prefix in BUNDLED if name.startswith(prefix)]
        if bundled:
            version = run("pkg-config", "--modversion", bundled[0][1]).strip()
            more += ["--bundled", path, "--package", f"{bundled[0][1]}={version}"]
        else:
            ours.append(path)
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "parts.json"
        words = ["--version", project_version(), "--output", output, *more, *ours]
        run(sys.executable, ROOT / "packaging/write_sbom.py", *words)
        return output.read_bytes()


def platform_tag(libraries: dict[str, pathlib.Path]) -> str:
    """manylinux of the newest symbol of the C library that one of the libraries takes."""
    newest = (2, 17)
    for path in libraries.values():
        for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", path)):
            newest = max(newest, (int(major), int(minor)))
    return f"manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"


def metadata() -> str:
    return (
        "Metadata-Version: 2.1\nName: jit-gemm\n"
        f"Version: {project_version()}\nSummary: {SUMMARY}\n"
        "License: MIT\nRequires-Python: >=3.10\n"
        "Provides-Extra: compiler\n"
        "Requires-Dist: nvidia-cuda-nvrtc>=13,<13.3; extra == 'compiler'\n"
    )


def contents(build: pathlib.Path) -> tuple[str, dict[str, bytes]]:
    """The wheel's name and its files, RECORD not counted."""
    libraries = find_libraries(build)
    tag = f"py3-none-{platform_tag(libraries)}"
    info = f"jit_gemm-{project_version()}.dist-info"
    files = {}
    for path in sorted((HERE / "jit_gemm").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            files[f"jit_gemm/{path.name}"] = path.read_bytes()
    for name, path in libraries.items():
        files[f"jit_gemm/lib/{name}"] = path.read_bytes()
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: build_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/sboms/jit_gemm.spdx.json"] = list_of_parts(libraries)
    for prefix, (package, _) in BUNDLED.items():
        if any(name.startswith(prefix) for name in libraries):
            files[f"{info}/licenses/{package}.txt"] = find_notice(package)
    return f"jit_gemm-{project_version()}-{tag}.whl", files


def write(folder: pathlib.Path, build: pathlib.Path) -> pathlib.Path:
    name, files = contents(build)
    record = f"jit_gemm-{project_version()}.dist-info/RECORD"
    lines = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    files[record] = ("".join(lines) + f"{record},,\n").encode()
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{name}.{os.getpid()}"
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, data)
    return unfinished.replace(folder / name)


# -------------------------------------------------------------------- PEP 517, for pip


def build_wheel(wheel_directory: str, config_settings: object = None, _: object = None) -> str:
    return write(pathlib.Path(wheel_directory), build_libraries()).name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    raise RuntimeError("the package is built from a checkout of the whole project: build a wheel")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, help="a meson folder with the libraries")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("."))
    words = parser.parse_args()
    path = write(words.output, words.build or build_libraries())
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
