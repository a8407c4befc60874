#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jit-gemm prewarm and cache, as a user would drive them. Prints TAP.

Usage: test_cli_cache.py JIT_GEMM SOURCE_ROOT

Nothing here needs a GPU. Tests that compile are skipped, with the library's own words, where
NVRTC is missing.
"""
import ctypes
import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

from cli_harness import (ARCH, SMALL, TOOL, Folder, Skip, expect, expect_exit, named_tests,
                         need_compiler, run_tests, tool)


def make_manifest(folder):
    """What the library itself writes, from the example program beside this build."""
    example = TOOL.parent.parent / "examples" / "example_03_cache_folder"
    if not example.exists():
        raise Skip("the examples are not built")
    done = subprocess.run([str(example), str(folder.path / "recorded")], check=False,
                          capture_output=True, timeout=120)
    expect(done.returncode == 0, done.stdout.decode() + done.stderr.decode())
    return folder.path / "recorded.manifest"


def test_prewarm_fills_a_cache_that_the_cache_commands_know():
    need_compiler()
    with Folder() as folder:
        manifest = make_manifest(folder)
        words = ["prewarm", manifest, *ARCH, "--cache", folder.cache]
        done = tool(*words)
        expect_exit(done, 0)
        expect(re.search(r"^prewarm: total=2 cached=0 compiled=2 failed=0 ", done.stdout, re.M),
               "summary", done)
        expect("\r" not in done.stderr, "a progress bar in a pipe", done)
        done = tool(*words)
        expect("total=2 cached=2 compiled=0 failed=0" in done.stdout, "resumed", done)

        rows = json.loads(tool("cache", "ls", "--json", cache=folder.cache).stdout)
        expect(len(rows) == 2 and all(row["record"]["arch"] == "sm_90a" for row in rows),
               str(rows))
        done = tool("cache", "ls", cache=folder.cache)
        expect("m=1024 n=1024 k=512 a=bf16" in done.stdout, "ls", done)
        state = json.loads(tool("cache", "stat", "--json", cache=folder.cache).stdout)
        expect(state["kernels"] == 2 and state["bad"] == 0, str(state))
        done = tool("cache", "stat", "--cache", folder.cache)
        expect("2 kernels" in done.stdout, "stat", done)
        done = tool("cache", "verify", cache=folder.cache)
        expect(done.returncode == 0 and "bad=0" in done.stdout, "verify", done)

        done = tool("cache", "explain", "1024x1024x512", "bf16", *ARCH, cache=folder.cache)
        expect_exit(done, 0)
        keys = [row["key"] for row in rows if row["record"]["problem"].startswith("m=1024")]
        expect("cached   yes" in done.stdout and f"entry    {keys[0]}" in done.stdout,
               "explain", done)
        done = tool("cache", "explain", "1024x1024x768", "bf16", *ARCH, cache=folder.cache)
        expect_exit(done, 1)
        expect("cached   no" in done.stdout and f"near     {keys[0]}" in done.stdout and
               "differs in k\n" in done.stdout, "near", done)
        done = tool("cache", "explain", keys[0][:12], cache=folder.cache)
        expect(done.returncode == 0 and f"key={keys[0]}" in done.stdout and
               "registers=" in done.stdout, "explain a key", done)
        done = tool("cache", "explain", "0123456789abcdef" * 2, cache=folder.cache)
        expect_exit(done, 1)

        done = tool("cache", "gc", "--max-bytes", "1", cache=folder.cache)
        expect(done.returncode == 0 and re.match(r"gc: removed=[1-9]", done.stdout), "gc", done)
        rows = json.loads(tool("cache", "ls", "--json", cache=folder.cache).stdout)
        expect(rows == [], "gc left " + str(rows))


def test_verify_finds_and_removes_a_damaged_entry():
    need_compiler()
    with Folder() as folder:
        expect_exit(tool("build", *SMALL, *ARCH, "-o", "/dev/null", cache=folder.cache), 0)
        files = sorted((path for path in folder.cache.rglob("*") if path.is_file()),
                       key=lambda path: path.stat().st_size)
        data = bytearray(files[-1].read_bytes())
        data[-100] ^= 1
        files[-1].write_bytes(data)
        done = tool("cache", "verify", cache=folder.cache)
        expect(done.returncode == 1 and "bad=1" in done.stdout, "found", done)
        expect_exit(tool("cache", "verify", "--remove", cache=folder.cache), 1)
        done = tool("cache", "verify", cache=folder.cache)
        expect(done.returncode == 0 and "bad=0" in done.stdout, "removed", done)


def forge(file, payload):
    """Gives an entry another payload, with the checksums that belong to it."""
    try:
        xxhash = ctypes.CDLL("libxxhash.so.0")
    except OSError as error:
        raise Skip("there is no libxxhash.so.0") from error
    xxhash.XXH3_64bits.restype = ctypes.c_uint64
    data = file.read_bytes()
    header = bytearray(data[:int.from_bytes(data[12:16], "little")])
    header[16:24] = (len(header) + len(payload)).to_bytes(8, "little")
    header[48:56] = len(payload).to_bytes(8, "little")
    header[64:96] = hashlib.sha256(payload).digest()
    checked = bytes(header[:-8])
    header[-8:] = xxhash.XXH3_64bits(checked, ctypes.c_size_t(len(checked))).to_bytes(8, "little")
    file.write_bytes(bytes(header) + payload)


def test_verify_names_an_entry_with_right_checksums_and_bad_code():
    need_compiler()
    with Folder() as folder:
        expect_exit(tool("build", *SMALL, *ARCH, "-o", "/dev/null", cache=folder.cache), 0)
        largest = max((path for path in folder.cache.rglob("*.jgk")),
                      key=lambda path: path.stat().st_size)
        for payload, reason in ((b"no code at all" * 100, "it is not an ELF file"),
                                (b"", "it is shorter than an ELF header")):
            forge(largest, payload)
            done = tool("cache", "verify", cache=folder.cache)
            expect(done.returncode == 1 and "bad=1" in done.stdout, "found", done)
            key = largest.parent.name + largest.stem
            expect(f"{key} bad code: {reason}\n" in done.stdout, "named", done)
        expect_exit(tool("cache", "verify", "--remove", cache=folder.cache), 1)
        expect_exit(tool("cache", "verify", cache=folder.cache), 0)


def test_verify_manifest_names_what_is_missing_and_compiles_nothing():
    need_compiler()
    with Folder() as folder:
        first = folder.path / "first"
        whole = folder.path / "whole"
        first.write_text("jit_gemm manifest 1\nproblem 128x128x64 bf16\n")
        whole.write_text("jit_gemm manifest 1\nproblem 128x128x64 bf16\n"
                         "problem m=1..600 n=4096 k=4096 a=bf16 dynamic=m\n")
        done = tool("verify-manifest", whole, *ARCH, cache=folder.cache)
        expect_exit(done, 1)
        kernels = int(re.match(r"verify-manifest: total=(\d+) cached=0 failed=\1\n", done.stdout).group(1))
        expect(kernels > 2, "the bands have several kernels", done)
        expect(done.stderr.count("is not in ") == kernels, "each is named", done)
        expect_exit(tool("prewarm", first, *ARCH, cache=folder.cache), 0)
        done = tool("verify-manifest", whole, *ARCH, cache=folder.cache)
        expect(f"total={kernels} cached=1 failed={kernels - 1}" in done.stdout, "one is there", done)
        expect_exit(done, 1)
        expect_exit(tool("prewarm", whole, *ARCH, cache=folder.cache), 0)
        done = tool("verify-manifest", whole, *ARCH, cache=folder.cache,
                    variables={"JIT_GEMM_NVRTC": "/dev/null/libnvrtc.so"})
        expect_exit(done, 0)
        expect(done.stdout == f"verify-manifest: total={kernels} cached={kernels} failed=0\n", "all", done)


def test_a_manifest_names_its_architectures():
    need_compiler()
    with Folder() as folder:
        manifest = folder.path / "two.manifest"
        manifest.write_text("jit_gemm manifest 1\n  arch sm_100a sm_90a # both\nproblem 128x128x64 bf16\n")
        done = tool("prewarm", manifest, cache=folder.cache)
        expect(done.returncode == 0 and "total=2 cached=0 compiled=2 " in done.stdout, "both", done)
        for words, total in (([], 2), (["--arch", "sm_100a"], 1)):
            done = tool("verify-manifest", manifest, *words, cache=folder.cache)
            expect(done.stdout == f"verify-manifest: total={total} cached={total} failed=0\n", "there", done)
        manifest.write_text("jit_gemm manifest 1\narch sm_9\n")
        done = tool("prewarm", manifest, cache=folder.cache)
        expect(done.returncode == 2 and "no kernels for 'sm_9'" in done.stderr, "wrong", done)


def test_prewarm_says_what_there_is_to_do_and_what_came_of_it():
    need_compiler()
    with Folder() as folder:
        manifest = folder.path / "three.manifest"
        manifest.write_text("jit_gemm manifest 1\nproblem 128x128x64 bf16\nproblem 128x128x64 bf16 max_registers=250\n"
                            "problem 128x128x128 bf16\n")
        words = ["prewarm", manifest, *ARCH, "--jobs", "1"]
        done = tool(*words, "--estimate", cache=folder.cache)
        expect(done.returncode == 0 and done.stdout == "estimate: total=3 cached=0 failed=0 missing=2 jobs=1 "
               "seconds=1.4 megabytes=0.1\n", "the budget is no part of a kernel", done)
        done = tool(*words, "--json", cache=folder.cache)
        state = json.loads(done.stdout)
        expect(done.returncode == 0 and state.pop("seconds") > 0 and state == {
            "command": "prewarm", "status": "OK", "total": 3, "cached": 1, "failed": 0, "jobs": 1, "compiled": 2},
            "json", done)
        state = json.loads(tool(*words, "--estimate", "--json", cache=folder.cache).stdout)
        expect(state["missing"] == 0 and state["cached"] == 3 and state["estimated_seconds"] == 0, str(state))
        state = json.loads(tool("verify-manifest", manifest, *ARCH, "--json", cache=folder.cache).stdout)
        expect(state["status"] == "OK" and state["cached"] == 3 and "compiled" not in state, str(state))
        done = tool("verify-manifest", manifest, "--arch", "sm_100a", "--json", cache=folder.cache)
        state = json.loads(done.stdout)
        expect(done.returncode == 1 and state["status"] == "NOT_CACHED" and state["failed"] == 3 and
               "forbids compiling" in state["error"], str(state))
        for more, text in ((["--estimate", "--bundle", "x"], "--estimate writes no bundle"),
                           (["--deadline", "-1"], "--deadline: `-1` is no whole number"),
                           (["--deadline", "10000000"], "--deadline: at most 1000000 seconds")):
            done = tool(*words, *more, cache=folder.cache)
            expect(done.returncode == 2 and text in done.stderr, text, done)


def test_prewarm_reports_a_bad_manifest():
    with Folder() as folder:
        manifest = folder.path / "bad.manifest"
        manifest.write_text("this is no manifest\n", encoding="ascii")
        done = tool("prewarm", manifest, *ARCH, cache=folder.cache)
        expect(done.returncode == 2 and "error: " in done.stderr, "bad text", done)
        done = tool("prewarm", folder.path / "none", *ARCH, cache=folder.cache)
        expect(done.returncode == 1 and "none: " in done.stderr, "no file", done)


def test_prewarm_shows_a_snippet_of_its_manifest():
    need_compiler()
    with Folder() as folder:
        manifest = folder.path / "wrong.manifest"
        snippet = "float x = acc;\n  d = gelo(x);"
        manifest.write_text(f"jit_gemm manifest 1\nepilogue two\nsource {len(snippet)} 40 model.py\n{snippet}\nend\n"
                            "problem 64x64x64 bf16 epilogue=two\n", encoding="ascii")
        done = tool("prewarm", manifest, *ARCH, cache=folder.cache)
        expect(done.returncode == 1, "exit status", done)
        expect("model.py:41:7: error: identifier \"gelo\" is undefined (epilogue 'two', manifest line 5)\n"
               "      d = gelo(x);\n"
               "          ^\n"
               "    hint: did you mean gelu?" in done.stderr, "source, line and caret", done)


def test_prewarm_stops_at_an_interrupt_and_goes_on():
    need_compiler()
    with Folder() as folder:
        lines = make_manifest(folder).read_text(encoding="utf-8").splitlines(keepends=True)
        found = [line for line in lines if "m=1024 n=1024 k=512" in line]
        expect(len(found) == 1, "the manifest's form: " + "".join(lines))
        at = lines.index(found[0])
        lines[at:at + 1] = [found[0].replace("m=1024", f"m={1024 + 64 * i}")
                            for i in range(40)]
        manifest = folder.path / "long.manifest"
        manifest.write_text("".join(lines), encoding="utf-8")
        words = [str(TOOL), "prewarm", str(manifest), *ARCH, "--jobs", "1", "--cache",
                 str(folder.cache)]
        try:
            leader, follower = pty.openpty()
        except OSError as error:
            raise Skip(f"no pseudo-terminal here: {error}") from error
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=follower) as process:
            os.close(follower)
            shown = b""
            while b" 1/41" not in shown:
                shown += os.read(leader, 1024)
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
            while True:  # the terminal must be drained, or the tool waits for it
                try:
                    if not os.read(leader, 1024):
                        break
                except OSError:
                    break
            output = process.stdout.read().decode()
            code = process.wait(timeout=60)
        os.close(leader)
        expect(b"\r" in shown and b"[" in shown, "no progress bar on a terminal")
        expect(code == 1 and output.startswith("prewarm cancelled: total=41"), output)
        done = tool("cache", "verify", cache=folder.cache)
        expect(done.returncode == 0, "the cache after an interrupt", done)


def test_a_root_is_read_before_the_cache_folder_and_never_written():
    need_compiler()
    with Folder() as folder:
        shared, own = folder.path / "shared", folder.path / "own"
        manifest = folder.path / "one.manifest"
        manifest.write_text("jit_gemm manifest 1\nproblem 128x128x64 bf16\n")
        words = ["verify-manifest", manifest, *ARCH, "--cache", own]
        expect_exit(tool("prewarm", manifest, *ARCH, "--cache", shared), 0)
        before = sorted((str(path), path.stat().st_mtime_ns) for path in shared.rglob("*"))
        expect_exit(tool(*words), 1)
        done = tool(*words, "--cache-root", shared)
        expect(done.returncode == 0 and "total=1 cached=1" in done.stdout, "by the option", done)
        done = tool(*words, variables={"JIT_GEMM_CACHE_ROOTS": f"/dev/null/none:{shared}"})
        expect(done.returncode == 0 and "total=1 cached=1" in done.stdout, "by the variable", done)
        expect("cache root /dev/null/none is not used: " in done.stderr, "the other is said", done)
        done = tool("prewarm", manifest, *ARCH, "--no-cache", "--cache-root", shared)
        expect(done.returncode == 2, "a root cannot be filled", done)
        after = sorted((str(path), path.stat().st_mtime_ns) for path in shared.rglob("*"))
        expect(before == after, f"the root has changed: {before}\n{after}")
        done = tool("cache", "ls", "--json", "--cache", own)
        expect(done.returncode == 0 and json.loads(done.stdout) == [], "it was copied", done)


def test_a_root_that_cannot_be_used_is_an_error_where_it_is_named():
    with Folder() as folder:
        words = ["prewarm", "/dev/null", *ARCH, "--cache", folder.cache, "--cache-root"]
        done = tool(*words, folder.path / "none")
        expect_exit(done, 1)
        expect("cache root: " in done.stderr and "/none cannot be used: " in done.stderr and
               "No such file or directory (no folder)" in done.stderr, "missing", done)
        other = folder.path / "other"
        other.mkdir(mode=0o700)
        other.chmod(0o722)
        done = tool(*words, other)
        expect(done.returncode == 1 and "may be written by others (mode 0722): remove that right "
               "(untrusted)" in done.stderr, "mode", done)


def test_doctor_lists_roots_and_why_one_is_not_used():
    with Folder() as folder:
        (folder.path / "filled" / "v1").mkdir(parents=True, mode=0o700)
        (folder.path / "filled").chmod(0o700)
        done = tool("doctor", "--cache-root", folder.path / "filled", "--cache-root", "/dev/null/none",
                    cache=folder.cache)
        expect(f"cache root 1: {folder.path}/filled/v1, read-only, trusted: " in done.stdout, "one", done)
        expect("cache root 2: /dev/null/none, not used: " in done.stdout, "two", done)
        done = tool("env", variables={"JIT_GEMM_CACHE_ROOTS": "/a:/b"})
        expect("JIT_GEMM_CACHE_ROOTS\n" in done.stdout and "= /a:/b" in done.stdout, "env", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
