#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which cache folder is used, what it holds, and what is said where there is none. Prints TAP.

Usage: test_cli_folder.py JIT_GEMM SOURCE_ROOT

Nothing here needs a GPU. Tests that compile are skipped, with the library's own words, where
NVRTC is missing.
"""
import json
import os
import re
import subprocess
import sys

from cli_harness import (ARCH, SMALL, TOOL, Folder, Skip, expect, expect_exit, named_tests,
                         need_compiler, run_tests, tool)


def test_doctor_says_facts_by_name():
    with Folder() as folder:
        shared = folder.path / "shared"
        shared.mkdir(mode=0o700)
        missing = folder.path / "missing"
        words = ["doctor", "--json", "--nvrtc", "/nonexistent/libnvrtc.so", "--driver", "/nonexistent/libcuda.so",
                 "--cache-root", shared, "--cache-root", missing, "--capsule", folder.path / "capsules"]
        state = json.loads(tool(*words, cache=folder.cache).stdout)
        expect(state["can_run"] is False and state["status"] == "NO_DRIVER" and state["device"] is None and
               "/nonexistent/libcuda.so" in state["device_error"], f"{state}")
        expect(state["compiler"]["usable"] is False and "/nonexistent" in state["compiler"]["reason"], f"{state}")
        expect(state["cache"] == {"usable": True, "folder": f"{folder.cache}/v1"}, f"{state['cache']}")
        roots = state["cache_roots"]
        expect([root["number"] for root in roots] == [1, 2] and not roots[1]["used"] and
               roots[1]["text"].startswith(f"{missing}, not used: "), f"{roots}")
        expect(state["capsules"].startswith(f"{folder.path}/capsules, 0 of at most "), state["capsules"])
        for line in state["description"].splitlines():
            expect(": " in line, line)
        state = json.loads(tool("doctor", "--json", variables={
            "JIT_GEMM_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/tmp"}).stdout)
        expect(state["cache"]["usable"] is False and "JIT_GEMM_CACHE_DIR" in state["cache"]["reason"], f"{state}")
        emulator = state["emulator"]
        if emulator["can_run"]:
            device = emulator["device"]
            expect(device["is_emulated"] is True and device["multiprocessors"] > 0 and device["name"] in
                   emulator["description"], f"{emulator}")
        if state["compiler"]["usable"]:
            expect(re.fullmatch(r"\d+\.\d+", state["compiler"]["version"]) and
                   "libnvrtc" in state["compiler"]["path"], f"{state['compiler']}")


def test_stat_says_what_its_numbers_are():
    need_compiler()
    with Folder() as folder:
        manifest = folder.path / "two.manifest"
        manifest.write_text("jit_gemm manifest 1\nproblem 128x128x64 bf16\nproblem 128x128x128 bf16\n")
        expect_exit(tool("prewarm", manifest, "--arch", "sm_90a,sm_100a", cache=folder.cache), 0)
        expect_exit(tool("build", *SMALL, *ARCH, "--emit", "ptx", "-o", folder.path / "x", cache=folder.cache), 0)
        state = json.loads(tool("cache", "stat", "--json", cache=folder.cache,
                                variables={"JIT_GEMM_CACHE_LIMIT": "9m"}).stdout)
        files = [path.stat().st_size for path in folder.cache.rglob("*.jgk")]
        expect(state["entries"] == len(files) == state["kernels"] + state["notes"] and state["notes"] > 0 and
               state["bytes"] == sum(files) and state["limit"] == "9m" and state["bad"] == 0, f"{state}")
        targets = state["targets"]
        expect({name: row["kernels"] for name, row in targets.items()} ==
               {"sm_90a": 2, "sm_100a": 2, "sm_90a/ptx": 1}, f"{targets}")
        expect(0 < sum(row["bytes"] for row in targets.values()) < state["bytes"], f"{targets}")
        text = tool("cache", "stat", cache=folder.cache).stdout
        expect(f"of these 5 kernels and {state['notes']} notes\n" in text and ", limit 4g\n" in text and
               f"sm_90a/ptx  1 kernels, {targets['sm_90a/ptx']['bytes']} bytes\n" in text, text)


def test_a_gc_that_may_not_remove_says_so():
    if os.geteuid() != 0:
        raise Skip("only root can become somebody else")
    need_compiler()
    with Folder() as folder:
        folder.path.chmod(0o755)
        expect_exit(tool("build", *SMALL, *ARCH, "-o", folder.path / "x", cache=folder.cache), 0)
        for path in [folder.cache, *folder.cache.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        done = subprocess.run([str(TOOL), "cache", "gc", "--max-bytes", "1", "--cache", str(folder.cache)],
                              capture_output=True, text=True, check=False, user=65534, group=65534,
                              extra_groups=[])
        expect(done.returncode == 1 and done.stdout == "gc: removed=0 bytes=0\n" and
               "this user may remove nothing there: Permission denied; run it as the folder's owner" in done.stderr
               and str(folder.cache) in done.stderr, "nobody", done)
        expect(list(folder.cache.rglob("*.jgk")), "removed")


def test_a_missing_cache_folder_is_said():
    done = tool("cache", "stat", "--cache", "/dev/null/jit_gemm")
    expect(done.returncode == 1 and "cache folder" in done.stderr, "message", done)


def test_a_home_below_a_shared_folder_has_a_cache_and_a_shared_one_a_line():
    need_compiler()
    with Folder() as folder:
        home = folder.path / "home"
        home.mkdir(mode=0o755)
        nowhere = {"JIT_GEMM_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": str(home)}
        build = ["build", *SMALL, *ARCH, "-o", folder.path / "out"]
        for _ in range(2):
            done = tool(*build, variables=nowhere)
            expect(done.returncode == 0 and "warning" not in done.stderr, "a private home", done)
        expect(json.loads(tool("cache", "stat", "--json", variables=nowhere).stdout)["kernels"] == 1, "kept")
        shared = {**nowhere, "HOME": "/var/../tmp"}
        done = tool(*build, variables=shared)
        lines = [line for line in done.stderr.splitlines() if "warning" in line]
        expect(done.returncode == 0 and len(lines) == 1 and "no disk cache" in lines[0] and
               "(/var/../tmp)" in lines[0] and "JIT_GEMM_CACHE_DIR" in lines[0], "one line", done)
        done = tool(*build, "--emit", "source", variables=shared)
        expect(done.returncode == 0 and "warning" not in done.stderr, "no cache is used", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
