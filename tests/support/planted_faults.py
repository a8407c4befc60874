# SPDX-License-Identifier: MIT
"""Suites of faults, each planted in the device code before NVRTC compiles it (mutating_nvrtc.c).

A fault is what it is, the device code, and what stands in its place. Where it is looked for gives a
pair: who showed it, and what is wrong if nobody did.
"""
from functools import partial
import pathlib
import subprocess
import tempfile

from emulated_runs import FINDING, Runner, clean_environment, complaint, pool, print_result
from strides import in_turn, stride

KERNEL_SRC = pathlib.Path(__file__).resolve().parents[2] / "kernel_src"


class Kernels:
    """`run --verify` of problems, with a fault in their kernels: none of them is cached."""

    def __init__(self, tool, emulator, nvrtc, folder):
        self.runner, self.nvrtc, self.complaints = Runner(tool, emulator, folder), nvrtc, {}

    def run(self, words, before, after):
        return self.runner.run(["run", *words, "--verify", "--no-cache", "--nvrtc", self.nvrtc],
                               "sms=4,async=latest,seed=1,threads=1,max_steps=4000000", timeout=120,
                               covered=False, MUTATE_FROM=before, MUTATE_TO=after)

    def unchanged(self, words, text):
        """The kernel as it is, but that `text` of it was written anew."""
        return "", complaint(self.run(words, text, text))

    def all_unchanged(self, kernels, text, title=""):
        """Jobs of all kernels as they are, for JIT_GEMM_TEST_EVERY=1: otherwise those that show a fault are enough."""
        return [(f"{title}{name}: unchanged", partial(self.unchanged, words, text))
                for name, words in kernels.items() if stride(0) == 1]

    def complaint_unchanged(self, words, text):
        """Of the kernel as it is, which runs once."""
        key = tuple(words)
        if key not in self.complaints:
            self.complaints[key] = self.unchanged(words, text)[1]
        return self.complaints[key]

    def seen_in(self, kernels, before, after):
        """The first kernel that shows the fault by a finding, by wrong numbers or by no end, and is right without it."""
        for name, words in kernels.items():
            done = self.run(words, before, after)
            last = (done.stdout.splitlines() or [""])[-1]
            if last.startswith("FAIL ") or FINDING.search(done.stderr) or done.returncode == 124:
                return name, self.complaint_unchanged(words, before)
            if not last.startswith("PASS "):
                return name, f"it was not planted\n{done.stderr}"
        return "", "no kernel shows it"


def seen_in_tests(program, tests, nvrtc, words, before, after):
    """Those of a program's tests that a pattern names have to fail, and to say all `words`. They have no
    cache where no folder is named."""
    environment = clean_environment(JIT_GEMM_NVRTC=nvrtc, MUTATE_FROM=before, MUTATE_TO=after)
    done = subprocess.run([program, "--jobs", "1", "--filter", tests], env=environment,
                          capture_output=True, text=True, timeout=240, check=False)
    said = done.stdout + done.stderr
    is_seen = done.returncode != 0 and all(word in said for word in words)
    return "tests", "" if is_seen else f"nothing is found\n{said}"


def missing(faults, modules):
    """Faults whose text the device code no longer has: they could not be planted."""
    code = "".join(path.read_text(encoding="utf-8") for path in KERNEL_SRC.rglob("*.cuh")
                   if not modules or str(path.relative_to(KERNEL_SRC)) in modules)
    return ", ".join(name for name, before, _ in faults if before not in code)


def report(workers, jobs, faults, modules=()):
    """Does those of the jobs, pairs of a title and a function, whose turn it is, and prints TAP of them, then whether
    each of `faults` can still be planted, in one of `modules` if they are named. The process's exit status."""
    failed, jobs = 0, [(title, workers.submit(job)) for title, job in in_turn(jobs)]
    print(f"1..{len(jobs) + 1}", flush=True)
    for number, (title, job) in enumerate(jobs, 1):
        place, wrong = job.result()
        print_result(number, f"{title} # in {place}" if place and not wrong else title, wrong)
        failed += bool(wrong)
    wrong = missing(faults, modules)
    print_result(len(jobs) + 1, "every fault can be planted", wrong)
    return 1 if failed or wrong else 0


def report_by_kernel(words, kernels, faults):
    """The whole suite of faults that each of the kernels behind them has to show. `words`: the tool, the emulator and the
    compiler that plants them."""
    with tempfile.TemporaryDirectory(prefix="jit_gemm_faults_") as folder, pool() as workers:
        planted = Kernels(*(pathlib.Path(word).resolve() for word in words), folder)
        jobs = planted.all_unchanged(kernels, faults[0][1])
        jobs += [(f"{name}: {kernel}", partial(planted.seen_in, {kernel: kernels[kernel]}, before, after))
                 for name, before, after, shown in faults for kernel in shown]
        return report(workers, jobs, [row[:3] for row in faults])
