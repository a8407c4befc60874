#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives `--device`: the GPU, the emulator, and what `auto` takes. Prints TAP.

Usage: test_cli_device.py JIT_GEMM SOURCE_ROOT COMPUTING_DRIVER COMPUTING_EMULATOR LIBRARY

The tool and its library are copied to places of their own, and a fake emulator is put beside
them under the real one's name: what this machine has does not matter, but for a real GPU. The
fake emulator shows a B200 and an H200; all tests name the H200's architecture.
"""
import json
import pathlib
import re
import shutil
import sys

from cli_harness import (ARCH, SMALL, Folder, Skip, expect, expect_exit, named_tests,
                         need_compiler, run_tests, tool)

DRIVER, EMULATOR, LIBRARY = map(pathlib.Path, sys.argv[3:6])
EMULATOR_NAME = "libjit_gemm_emulator.so"
LAST_LINE = (r"%s rel_error=\d\.\d+e[+-]\d+ device=Fake_H200 arch=sm_90a origin=%s "
             r"kernel_us=emulated")


class Copy(Folder):
    """A folder with bin/jit-gemm, lib/libjit_gemm and, if wanted, an emulator."""

    def __init__(self, emulator_folder="emulator"):
        self.emulator_folder = emulator_folder

    def __enter__(self):
        super().__enter__()
        for name in ("bin", "lib", "emulator"):
            (self.path / name).mkdir()
        self.program = self.path / "bin" / "jit-gemm"
        shutil.copy(sys.argv[1], self.program)
        for library in LIBRARY.parent.glob("libjit_gemm.so*"):
            if library.is_file():
                shutil.copy(library, self.path / "lib" / library.name)
        if self.emulator_folder:
            self.emulator = self.path / self.emulator_folder / EMULATOR_NAME
            shutil.copy(EMULATOR, self.emulator)
        return self

    def run(self, *words, plan="bf16 bf16 none", variables=None, **more):
        if words[0] == "run" and "--config" not in words:
            words += ("--config", "swap_ab=0")  # the fake driver multiplies A by B, not B by A
        return tool(*words, cache=self.cache, program=self.program,
                    variables={"LD_LIBRARY_PATH": str(self.path / "lib"),
                               "COMPUTING_DRIVER": plan, **(variables or {})}, **more)


def need_no_gpu():
    if json.loads(tool("doctor", "--json").stdout)["can_run"]:
        raise Skip("there is a GPU, which auto takes")


# ------------------------------------------------------------------------------ running

def test_emulator_passes_and_the_last_line_claims_no_time():
    need_compiler()
    with Copy() as copy:
        for origin in ("compiled", "disk"):
            done = copy.run("run", "100x60x72", "bf16", "batch=2", "--verify", *ARCH, "--device",
                            "emulator")
            expect_exit(done, 0)
            expect(re.fullmatch(LAST_LINE % ("PASS", origin), done.stdout.splitlines()[-1]),
                   "last line", done)
            expect("emulated: the kernel runs on the CPU" in done.stdout, "device line", done)
            expect("TFLOP/s" not in done.stdout and "registers" not in done.stdout, "claims",
                   done)


def test_mistakes_of_an_emulated_kernel_fail():
    need_compiler()
    with Copy() as copy:
        for fault in ("element", "unwritten", "stray", "before", "after"):
            done = copy.run("run", "100x59x72", "bf16", "d=f32", "--ldd", "64", "--verify", *ARCH,
                            "--device", "emulator", plan=f"bf16 f32 {fault}")
            expect_exit(done, 1)
            expect(done.stdout.splitlines()[-1].startswith("FAIL "), fault, done)


def test_sums_of_the_host_take_factors_layouts_and_c():
    need_compiler()
    with Copy() as copy:
        words = ["run", "m=64", "n=96", "k=80", "a=f16", "c=f32", "d=f32", "dynamic=m,k", "--m",
                 "37", "--k", "48", "--lda", "56", "--ldc", "100", "--alpha", "-0.5", "--beta",
                 "3", "--verify", "--json", *ARCH, "--device", "emulator"]
        done = copy.run(*words, plan="f16 f32 none")
        expect_exit(done, 0)
        state = json.loads(done.stdout)
        expect(state["result"] == "PASS" and state["rel_error"] < 1e-6, str(state))
        expect(state["emulated"] is True and state["kernel_us"] is None and
               "registers" not in state, str(state))


def test_reference_kernel_runs_only_where_there_is_a_snippet():
    need_compiler()
    with Copy() as copy:
        for more, kernels in (([], 1), (["--epilogue", "d = relu(acc);"], 2)):
            done = copy.run("run", *SMALL, "d=f32", *more, "--verify", "--verbose", "--no-cache", *ARCH,
                            "--device", "emulator", plan="bf16 f32 none")
            expect(done.stderr.count("info: compiled ") == kernels, f"{more}: not {kernels} kernels", done)


def test_d_over_an_input_that_does_not_lie_as_d_is_refused():
    need_compiler()
    with Copy() as copy:
        rows = [([], "C", "there is no matrix `C` to read; give C, or the name of a matrix"),
                (["c=f32"], "C", "`C` does not lie as D; give it D's type and leading dim"),
                (["c=bf16"], "r", "there is no matrix `r` to read")]
        for more, name, message in rows:
            done = copy.run("run", *SMALL, *more, *ARCH, "--device", "emulator", "--in-place", name)
            expect(done.returncode == 2 and message in done.stderr, message, done)


def test_one_launch_and_no_timing():
    need_compiler()
    with Copy() as copy:
        done = copy.run("run", *SMALL, *ARCH, "--device", "emulator", "--repeat", "7")
        expect_exit(done, 0)
        expect(done.stdout.splitlines()[-1] ==
               "DONE device=Fake_H200 arch=sm_90a origin=compiled kernel_us=emulated",
               "last line", done)
        expect("median" not in done.stdout, "a time", done)


# ---------------------------------------------------------------------------------- auto

def test_auto_takes_the_emulator_where_no_gpu_is_and_says_why():
    need_compiler()
    need_no_gpu()
    with Copy() as copy:
        done = copy.run("run", "64x64x64", "bf16", "--verify", *ARCH)
        expect_exit(done, 0)
        notes = [line for line in done.stderr.splitlines() if "device auto" in line]
        expect(len(notes) == 1 and
               re.search(r"the emulator, Fake H200, because no GPU can be used: \w+", notes[0]),
               "note", done)


def test_auto_with_an_unknown_architecture_says_so_once():
    with Copy() as copy:
        done = copy.run("run", *SMALL, "--arch", "sm_12")
        expect(done.returncode == 2 and done.stderr.count("no kernels for 'sm_12'") == 1,
               "message", done)


def test_auto_does_not_replace_a_driver_that_was_named():
    with Copy() as copy:
        done = copy.run("run", *SMALL, variables={"JIT_GEMM_DRIVER": "/dev/null/libcuda.so.1"})
        expect(done.returncode == 1 and "emulator, Fake" not in done.stderr, "variable", done)
        done = copy.run("run", *SMALL, "--driver", "/dev/null/libcuda.so.1")
        expect(done.returncode == 1 and "emulator, Fake" not in done.stderr, "option", done)


def test_auto_says_which_named_driver_it_took():
    need_compiler()
    with Copy() as copy:
        for driver, device in ((DRIVER, "Fake GPU 0"), (EMULATOR, "Fake H200")):
            done = copy.run("run", "64x64x64", "bf16", "--repeat", "1", *ARCH, "--driver", driver)
            expect_exit(done, 0)
            expect(f"device auto: {device}, of the driver that was named" in done.stderr, device,
                   done)


def test_gpu_refuses_an_emulated_device():
    with Copy() as copy:
        done = copy.run("run", *SMALL, *ARCH, "--device", "gpu",
                        variables={"JIT_GEMM_DRIVER": "emulator"})
        expect(done.returncode == 1 and "--device gpu: Fake H200" in done.stderr, "run", done)
        results = copy.path / "results.jsonl"
        done = copy.run("bench", *SMALL, *ARCH, "--out", results, variables={"JIT_GEMM_DRIVER": "emulator"})
        expect(not results.exists(), "no file of nothing", done)
        expect(done.returncode == 1 and "Fake H200 is emulated: its times say nothing of a GPU"
               in done.stderr, "bench", done)


# -------------------------------------------------------------------------------- lookup

def test_emulator_is_found_beside_the_library_and_in_the_build_tree():
    for folder in ("lib", "emulator"):
        with Copy(folder) as copy:
            done = copy.run("plan", *SMALL, *ARCH, "--device", "emulator")
            expect_exit(done, 0)
            done = copy.run("doctor", *ARCH, variables={"JIT_GEMM_DRIVER": "/dev/null/x"})
            expect(f"emulator: {copy.emulator.resolve()}, CUDA 13.0, takes PTX" in done.stdout and
                   "emulator: 1, Fake H200, sm_90" in done.stdout, folder, done)
            expect(done.returncode == 1 and "on the emulator they can" in done.stdout, folder,
                   done)


def test_an_emulator_planted_beside_the_program_is_not_loaded():
    with Copy("bin") as copy:
        done = copy.run("plan", *SMALL, *ARCH, "--device", "emulator")
        expect(f"{copy.path.resolve()}/bin" not in done.stderr and "Fake" not in done.stderr,
               "the program's folder", done)


def test_an_emulator_that_others_may_write_is_not_loaded():
    with Copy("lib") as copy:
        copy.emulator.chmod(0o666)
        done = copy.run("plan", *SMALL, *ARCH, "--device", "emulator")
        expect("Fake" not in done.stderr and
               (done.returncode == 0 or f"{EMULATOR_NAME} is not trusted" in done.stderr),
               "mode", done)


def test_missing_emulator_says_where_it_was_looked_for():
    with Copy(None) as copy:
        done = copy.run("run", *SMALL, *ARCH, "--device", "emulator")
        if "Fake" not in done.stderr and done.returncode == 0:
            raise Skip("the loader finds an emulator: one is installed")
        expect_exit(done, 1)
        root = copy.path.resolve()
        expect(f"looked in {root}/lib, {root}/emulator, {EMULATOR_NAME}" in
               done.stderr, "places", done)
        state = json.loads(copy.run("doctor", "--json").stdout)
        expect(state["emulator"]["can_run"] is False and
               state["emulator"]["description"].startswith("emulator: none: "), str(state))


def test_a_library_that_takes_no_ptx_is_not_the_emulator():
    with Copy() as copy:
        shutil.copy(DRIVER, copy.emulator)
        done = copy.run("run", *SMALL, *ARCH, "--device", "emulator")
        expect(done.returncode == 1 and "is not the emulator: it does not take PTX" in
               done.stderr, "message", done)


def test_doctor_describes_the_emulator_alone():
    need_compiler()
    with Copy() as copy:
        done = copy.run("doctor", *ARCH, "--device", "emulator", "--json")
        expect_exit(done, 0)
        state = json.loads(done.stdout)
        expect(state["can_run"] and state["emulator"]["can_run"] and
               "device: 1, Fake H200" in state["description"], str(state))


# ------------------------------------------------------------------------------ cache

def test_prewarm_for_the_emulator_makes_what_a_run_finds():
    need_compiler()
    with Copy() as copy:
        manifest = copy.path / "one.manifest"
        manifest.write_text("jit_gemm manifest 1\nproblem 64x64x64 bf16 config=swap_ab=0\n",
                            encoding="ascii")
        words = ["prewarm", manifest, *ARCH, "--cache", copy.cache]
        for target in ("gpu", "emulator"):  # neither opens a driver
            done = copy.run(*words, "--device", target,
                            variables={"JIT_GEMM_DRIVER": "/dev/null/libcuda.so.1"})
            expect_exit(done, 0)
            expect("total=1 cached=0 compiled=1 failed=0" in done.stdout, target, done)
        done = copy.run("run", "64x64x64", "bf16", *ARCH, "--device", "emulator")
        expect_exit(done, 0)
        expect("origin=disk" in done.stdout, "run", done)

        rows = json.loads(copy.run("cache", "ls", "--json").stdout)
        keys = {row["record"]["kind"]: row["key"] for row in rows}
        expect(sorted(keys) == ["cubin", "ptx"] and len(rows) == 2, str(rows))
        done = copy.run("cache", "ls")
        expect(re.search(rf"^{keys['ptx']} .* sm_90a/ptx m=64", done.stdout, re.M) and
               re.search(rf"^{keys['cubin']} .* sm_90a  m=64", done.stdout, re.M), "ls", done)
        done = copy.run("cache", "verify")
        expect(done.returncode == 0 and "bad=0" in done.stdout, "verify", done)
        for target, kind in (("gpu", "cubin"), ("emulator", "ptx")):
            done = copy.run("cache", "explain", "64x64x64", "bf16", "--config", "swap_ab=0", *ARCH,
                            "--device", target)
            expect_exit(done, 0)
            expect("cached   yes" in done.stdout and
                   re.findall(r"^entry    (\w+)$", done.stdout, re.M) == [keys[kind]] and
                   "differs in code kind (cubin, ptx)\n" in done.stdout, target, done)


def test_without_a_gpu_all_commands_take_one_chip():
    need_compiler()
    rows = [("plan",), ("build", "-o", "/dev/null"), ("inspect",), ("cache", "explain"),
            ("build", "--emit", "source", "-o", "/dev/null")]
    notes = set()
    for row in rows:
        done = tool(*row, *SMALL)
        if row == ("plan",) and "the emulator" not in done.stderr:
            raise Skip("there is a GPU, or no emulator")
        if row != ("inspect",):  # it wants nvdisasm
            expect(done.returncode == 0, " ".join(row), done)
        notes.add(done.stderr.splitlines()[0])
    expect(len(notes) == 1, f"one rule for all: {notes}")
    done = tool("build", *SMALL, "-o", "/dev/null",
                variables={"JIT_GEMM_DRIVER": "/dev/null/libcuda.so.1"})
    expect(done.returncode == 1 and "--arch" in done.stderr, "a named driver is not replaced",
           done)


def test_a_plan_says_nothing_of_the_cache():
    variables = {"JIT_GEMM_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/var/../tmp"}
    done = tool("plan", *SMALL, *ARCH, variables=variables)
    expect(done.returncode == 0 and done.stderr == "", "no word of a cache", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
