# SPDX-License-Identifier: MIT
"""scripts/handoff: what it runs on the emulator, and what it says of failures. Prints TAP.

Usage: test_handoff.py JIT_GEMM SOURCE_ROOT EMULATOR
"""
import pathlib
import subprocess
import sys

from cli_harness import (ROOT, TOOL, Folder, clean_environment, emulator_by_name, expect,
                         expect_exit, named_tests, need_compiler, run_tests)

EMULATOR = pathlib.Path(sys.argv[3]).resolve()
STUB = """#!/bin/sh
case "$1" in
plan) echo "chosen: kernel=gemm"; exit 0;;
version | doctor | inspect) echo "here"; exit 0;;
esac
case "$*" in
*debug=1*) echo "the kernel gave up: CTA 0 waits" >&2; exit 1;;
*64x32*) sleep 60;;
*swap_ab=1*) echo "jit-gemm: error: problem.config: no swap_ab here" >&2; exit 2;;
*256x128*) echo "FAIL rel_error=1"; exit 1;;
esac
while [ $# -gt 1 ]; do [ "$1" = --save ] && echo "$$" >"$2"; shift; done
echo "PASS rel_error=0"
"""


def handoff(folder, *words, program=TOOL):
    path = folder.path / "report.txt"
    environment = clean_environment(JIT_GEMM_CACHE_DIR=folder.cache,
                                    **emulator_by_name(EMULATOR, ""))
    done = subprocess.run([sys.executable, str(ROOT / "scripts/handoff"), "--tool", str(program),
                           "-o", str(path), *words], env=environment, capture_output=True,
                          text=True, timeout=500, check=False)
    return done, path.read_text(encoding="utf-8") if path.exists() else ""


def test_the_emulator_passes_everything_and_is_named():
    need_compiler()
    with Folder() as folder:
        done, report = handoff(folder, "--device", "emulator", "--quick", "--every", "160")
        expect_exit(done, 0)
        expect("EMULATOR: nothing here ran on a GPU" in report, "emulation is not said", done)
        for number in range(1, 11):
            expect(f"\nok       smoke {number} " in report, f"smoke {number}", done)
        expect(report.count("give the same bits") == 2, "bits", done)
        expect("\nok       stress" in report and "\nok       sm100a_grid 1 " in report, "sections", done)
        expect("\nskipped  bench        emulated" in report, "bench", done)
        expect(" 0 failed, 0 refused, 1 skipped" in report.splitlines()[-1], "summary", done)


def test_failures_hangs_and_refusals_are_told_apart():
    with Folder() as folder:
        stub = folder.path / "stub"
        stub.write_text(STUB, encoding="ascii")
        stub.chmod(0o755)
        done, report = handoff(folder, "--device", "gpu", "--only", "machine,smoke", "--seconds",
                               "0.5", program=stub)
        expect(done.returncode == 1, "it does not fail", done)
        expect("\nFAIL     smoke 1 " in report and "no end after" in report and
               "| the kernel gave up: CTA 0 waits" in report, "hangs", done)
        expect("\nFAIL     smoke 3 " in report, "wrong results", done)
        expect("\nrefused  smoke 4 " in report and "no swap_ab here" in report, "refusals", done)
        expect("\nok       smoke 2 " in report, "passes", done)
        expect("\nskipped  smoke bits   2 and 3 and 7: not all" in report, "bits", done)


def test_different_bits_are_a_failure():
    with Folder() as folder:
        stub = folder.path / "stub"
        stub.write_text("\n".join(line for line in STUB.splitlines()
                                  if not line.startswith("*")), encoding="ascii")
        stub.chmod(0o755)
        done, report = handoff(folder, "--device", "gpu", "--only", "smoke", program=stub)
        expect(done.returncode == 1 and "2 and 3 and 7 give different bits" in report, "bits",
               done)


def test_what_is_timed_has_scales_of_a_byte_too():
    with Folder() as folder:
        stub = folder.path / "stub"
        stub.write_text(STUB, encoding="ascii")
        stub.chmod(0o755)
        done, report = handoff(folder, "--device", "gpu", "--only", "bench", program=stub)
        expect_exit(done, 0)
        for words in ("4096x4096x4096 bf16", "8192x8192x8192 mxfp8 d=bf16", "8192x8192x8192 nvfp4 d=bf16"):
            expect(f"ok       bench        jit-gemm bench {words} --arch sm_100a --against cublaslt" in report, words, done)
        done, report = handoff(folder, "--device", "gpu", "--only", "bench", "--quick", program=stub)
        expect_exit(done, 0)
        expect("mxfp8" not in report and "4096x4096x4096 bf16" in report, "less", done)


def test_wrong_words_are_refused():
    with Folder() as folder:
        done, _ = handoff(folder, "--only", "smoke,nothing")
        expect(done.returncode == 2 and "sections are" in done.stderr, "sections", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
