#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks the project's own kernels in every way of the list below, and expects the emulator
to notice each.

Usage: test_mutations.py JIT_GEMM MUTATING_DRIVER [--list] [--only TEXT] [--kernel NAME]

For each kernel the PTX is taken as it comes to the driver. Each rule finds its places in
it; each place gives one mutant: the same text with one thing dropped or wrong. A mutant is
run by `jit-gemm run --verify` under one mode after the other until one of them notices it,
by a finding of the emulator or by wrong numbers. The unchanged kernel must pass every mode
with no finding but advice, and a mutant must show more than that. The places of a rule are counted through all kernels, and every 192nd
is broken. Every other kernel is taken, and runs unchanged under two modes; JIT_GEMM_TEST_EVERY=1 takes all kernels, places
and modes.
Prints TAP.
"""
import collections
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import emulator_coverage as coverage  # noqa: E402
from emulated_runs import Runner, complaint, pool, print_result  # noqa: E402
from mutated_kernels import KERNELS  # noqa: E402
from mutation_rules import RULES, are_for  # noqa: E402
from scale_mutation_rules import SCALE_RULES  # noqa: E402
from strides import in_turn, stride  # noqa: E402
from tensor_scale_rules import TENSOR_SCALE_RULES  # noqa: E402

# Asynchrony and scheduling; in the order of how much they catch.
MODES = [
    "async=latest,schedule=fair,seed=1",
    "async=latest,schedule=fair,seed=2",
    "async=random,schedule=random,seed=3",
    "async=reorder,schedule=deep,seed=4",
    "async=eager,schedule=starve,seed=5",
    "async=latest,schedule=starve,seed=6",
    "async=random,schedule=starve,seed=7",
    "async=eager,schedule=fair,seed=8",
]
COMMON = "max_steps=1000000,threads=1,show=advice"  # few steps: one that hangs is given up soon
EVERY = stride(192)  # which of the places of a rule
ALL_RULES = RULES | SCALE_RULES | TENSOR_SCALE_RULES
SMS = 2  # multiprocessors: few, so that a CTA has several tiles


def findings(done):
    """Severity and kind of what the emulator reported: {"error [race]"}."""
    return set(re.findall(r"^(?:error|warning|advice) \[[\w-]+\]", done.stderr, re.M))


def is_wrong(done):
    """The kernel ran, and its numbers are not the reference's."""
    return (done.stdout.splitlines() or [""])[-1].startswith("FAIL ")


class Kernel:
    def __init__(self, name, tool, driver, folder):
        self.name, self.runner, self.folder = name, Runner(tool, driver, folder), folder
        self.of = KERNELS[name]["of"]
        self.sms = KERNELS[name].get("sms", SMS)
        self.harmless = KERNELS[name].get("harmless", {})
        self.always = KERNELS[name].get("always", set())
        self.rules = {rule: places for rule, places in ALL_RULES.items()
                      if are_for(rule) == KERNELS[name].get("only", "")}
        self.words = ["run", *KERNELS[name]["run"], "--verify"]
        dump = folder / "kernel.ptx"
        done = self.run(MODES[0], {"MUTANT_DUMP": str(dump)})
        if done.returncode != 0 or not dump.is_file():
            raise SystemExit(f"Bail out! {name}: {done.stdout}{done.stderr}")
        self.ptx = dump.read_text()
        self.first, self.usual = done, findings(done)

    def unchanged(self, mode):
        """The kernel as it is; its first run has been made."""
        return self.first if mode == MODES[0] else self.run(mode, {})

    def run(self, mode, variables):
        return self.runner.run(self.words, f"{COMMON},sms={self.sms},{mode}", timeout=120,
                               covered="MUTANT" not in variables, MUTANT_OF=self.of, **variables)

    def mutants(self, counts):
        """`counts`: places of each rule that kernels before this one have."""
        for rule, places in self.rules.items():
            for number, (match, change) in enumerate(places(self.ptx)):
                place = (rule, number)
                if place in self.harmless:
                    continue
                is_next = counts[rule] % EVERY == 0
                counts[rule] += 1
                if not is_next and place not in self.always:
                    continue
                line = self.ptx.count("\n", 0, match.start()) + 1
                yield f"{self.name}: {rule}, PTX line {line}", change(self.ptx)

    def caught(self, text):
        """The first mode that notices the mutant, or None."""
        with tempfile.NamedTemporaryFile("w", suffix=".ptx", dir=self.folder) as file:
            file.write(text)
            file.flush()
            for mode in MODES:
                done = self.run(mode, {"MUTANT": file.name})
                if is_wrong(done) or findings(done) - self.usual:
                    return mode
        return None


def main():
    tool, driver = map(pathlib.Path, sys.argv[1:3])
    words = sys.argv[3:]
    only = words[words.index("--only") + 1] if "--only" in words else ""
    wanted = words[words.index("--kernel") + 1] if "--kernel" in words else ""
    failed = 0
    coverage.begin()
    with tempfile.TemporaryDirectory(prefix="jit_gemm_mutants_") as holder, pool() as workers:
        jobs, mutants = [], []  # (title, job, whether something has to be noticed); (kernel, title, text)
        start = (lambda *_: None) if "--list" in words else workers.submit
        counts = collections.Counter()
        some = list(KERNELS) if wanted else list(KERNELS)[::stride(2)]
        for number, name in enumerate(name for name in some if wanted in name):
            folder = pathlib.Path(holder) / str(number)
            folder.mkdir()
            kernel = Kernel(name, tool.resolve(), driver.resolve(), folder)
            jobs += [(f"{name}: unchanged, {mode}", start(kernel.unchanged, mode), False)
                     for mode in (MODES if EVERY == 1 else (MODES[0], MODES[1 + number % 7]))]
            mutants += [(kernel, title, text) for title, text in kernel.mutants(counts) if only in title]
        jobs += [(title, start(kernel.caught, text), True) for kernel, title, text in in_turn(mutants)]
        if "--list" in words:
            print("\n".join(title for title, *_ in jobs))
            return
        print(f"1..{len(jobs)}", flush=True)
        for number, (title, job, is_mutant) in enumerate(jobs, 1):
            result = job.result()
            if is_mutant:
                title += f" # caught by {result}" if result else ""
                wrong = "" if result else "no mode noticed it"
            else:
                wrong = complaint(result)
            print_result(number, title, wrong)
            failed += bool(wrong)
    if not only and not wanted:
        coverage.finish()
    sys.exit(1 if failed else 0)


main()
