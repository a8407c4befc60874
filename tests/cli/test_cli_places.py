#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where a cache may lie and what is said of places that it cannot use; kernels are the same
bytes wherever they are made. Prints TAP.

Usage: test_cli_places.py JIT_GEMM SOURCE_ROOT
"""
import os
import shutil
import subprocess
import sys

from cli_harness import (ARCH, SMALL, TOOL, Folder, Skip, expect, expect_exit, named_tests,
                         need_compiler, run_tests, tool)

# Without a compiler there is only what is cached.
ABSENT = "/absent/libnvrtc.so"
NO_CACHE = "jit-gemm: warning: no disk cache, kernels are compiled again in every process: "


def build(folder, *words, cache="", variables=None, **others):
    """A build, with the folder that the variables give unless `cache` is one."""
    return tool("build", *SMALL, *ARCH, "-o", folder.path / "out.cubin", *words,
                variables={"JIT_GEMM_CACHE_DIR": str(cache), **(variables or {})}, **others)


def expect_words(done, words):
    """The build has its kernel, and one line says what is wrong with the place."""
    expect_exit(done, 0)
    lines = [line for line in done.stderr.splitlines() if line.startswith("jit-gemm: warning")]
    expect(len(lines) == 1 and lines[0].startswith(NO_CACHE) and words in lines[0], words, done)


def test_a_home_that_is_absent_costs_the_cache_and_one_line():
    need_compiler()
    with Folder() as folder:
        done = build(folder, variables={"HOME": "/jit_gemm_absent", "XDG_CACHE_HOME": ""})
        expect_words(done, "the cache folder /jit_gemm_absent/.cache/jit_gemm cannot be opened or made")
        expect(not os.path.exists("/jit_gemm_absent"), "nothing is made there", done)


def test_a_folder_of_a_second_user_is_refused_with_the_owner():
    need_compiler()
    if os.geteuid() != 0:
        raise Skip("only root can give a folder away")
    with Folder() as folder:
        theirs = folder.path / "theirs"
        theirs.mkdir(mode=0o755)
        os.chown(theirs, 65534, 65534)
        done = build(folder, cache=theirs)
        expect_words(done, "belongs to user 65534")
        expect(not list(theirs.iterdir()), "nothing is made there", done)


def in_own_mounts(script, *words, variables):
    """A shell script that may mount; skipped where that is not allowed."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        raise Skip("only root can mount, with unshare")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        raise Skip("root may have no mounts of its own here")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", str(TOOL), *map(str, words)],
                          env={"PATH": os.environ["PATH"], **variables}, capture_output=True,
                          text=True, timeout=120, check=False)
    if done.returncode == 77:
        raise Skip("nothing can be mounted here")
    return done


def test_a_full_disk_costs_the_entry_and_says_so():
    need_compiler()
    with Folder() as folder:
        folder.cache.mkdir(mode=0o700)
        done = in_own_mounts(
            'mount -t tmpfs -o size=16k,mode=700 none "$3" || exit 77; '
            '"$1" build 256x256x128 bf16 --arch sm_90a -o "$2"',
            folder.path / "out.cubin", folder.cache,
            variables={"JIT_GEMM_CACHE_DIR": str(folder.cache)})
        expect_exit(done, 0)
        expect("could not be kept" in done.stderr and "No space left on device" in done.stderr,
               "the reason", done)
        expect((folder.path / "out.cubin").stat().st_size > 1000, "the kernel is there", done)


def test_a_read_only_disk_serves_and_keeps_nothing():
    need_compiler()
    with Folder() as folder:
        expect_exit(build(folder, cache=folder.cache), 0)
        done = in_own_mounts(
            'mount --bind "$3" "$3" && mount -o remount,bind,ro "$3" || exit 77; '
            '"$1" build 256x256x128 bf16 --arch sm_90a -o "$2" --nvrtc /absent/libnvrtc.so && '
            '"$1" build 256x256x256 bf16 --arch sm_90a -o "$2"',
            folder.path / "out.cubin", folder.cache,
            variables={"JIT_GEMM_CACHE_DIR": str(folder.cache)})
        expect_exit(done, 0)
        expect("could not be kept" in done.stderr and "Read-only file system" in done.stderr,
               "the reason", done)


def test_no_shell_expands_a_name():
    need_compiler()
    with Folder() as folder:
        name = "$(touch here) `touch here`; touch here & $HOME *"
        done = build(folder, cache=folder.path / name,
                     variables={"HOME": str(folder.path), "JIT_GEMM_NVDISASM": "touch here;"})
        expect_exit(done, 0)
        expect((folder.path / name / "v1").is_dir(), "the folder has the name as it is", done)
        inspected = tool("inspect", *SMALL, *ARCH, cache=folder.path / name,
                         variables={"JIT_GEMM_NVDISASM": "touch here;"})
        expect(not list(folder.path.rglob("here")) and not os.path.exists("here"),
               "nothing was run", inspected)


def install_elsewhere(prefix):
    """The program of a prefix that has a copy of it and of its library."""
    for part in ("bin", "lib"):
        (prefix / part).mkdir(parents=True)
    for path in (TOOL.parent.parent / "lib").glob("libjit_gemm.so.?"):
        shutil.copy(path, prefix / "lib" / path.name)
    return shutil.copy(TOOL, prefix / "bin" / TOOL.name)


def test_kernels_are_the_same_bytes_wherever_they_are_made():
    """Other folders, homes, time zones, locales, masks and prefixes: other processes, at another time."""
    need_compiler()
    with Folder() as folder:
        manifest = folder.path / "kernels.manifest"
        manifest.write_text("jit_gemm manifest 1\nproblem 256x256x128 bf16\n", encoding="ascii")
        made = []
        programs = [TOOL, install_elsewhere(folder.path / "another prefix")]
        for number, variables in enumerate((
                {"HOME": "/", "TZ": "UTC", "LC_ALL": "C"},
                {"HOME": str(folder.path), "TZ": "Asia/Kolkata", "LC_ALL": "de_DE.UTF-8",
                 "TMPDIR": str(folder.path), "USER": "somebody"})):
            place = folder.path / f"place{number}"
            place.mkdir()
            before = os.getcwd()
            mask = os.umask(0 if number else 0o077)
            os.chdir(place)
            try:
                done = tool("prewarm", manifest, *ARCH, "--cache", place / "cache",
                            variables=variables, program=programs[number])
                expect_exit(done, 0)
                done = build(folder, "--nvrtc", ABSENT, cache=place / "cache", variables=variables)
                expect_exit(done, 0)
            finally:
                os.chdir(before)
                os.umask(mask)
            names = sorted(path.parent.name + path.name for path in place.rglob("*.jgk"))
            made.append((names, (folder.path / "out.cubin").read_bytes()))
        expect(made[0][0] == made[1][0] and len(made[0][0]) >= 1, f"names of entries: {made[0][0]}")
        expect(made[0][1] == made[1][1], "the same machine code")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
