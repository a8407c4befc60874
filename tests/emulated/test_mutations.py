#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks the project's own kernels in every way of the list below, and expects the emulator
to notice each.

Usage: test_mutations.py JIT_GEMM MUTATING_DRIVER [--list] [--only TEXT] [--kernel NAME]

For each kernel the PTX is taken as it comes to the driver. Each rule finds its places in
it; each place gives one mutant: the same text with one thing dropped or wrong. A mutant is
run by `jit-gemm run --verify` under one mode after the other until one of them notices it,
by a finding of the emulator or by wrong numbers. The unchanged kernel must pass every mode
with advice at most, and a mutant must show more than the advice that the kernel has anyway.
Of each rule every third place of a kernel is broken; JIT_GEMM_TEST_EVERY=1 breaks all. Prints TAP.
"""
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import emulator_coverage as coverage  # noqa: E402
from emulated_runs import Runner, complaint, pool, print_result  # noqa: E402
from mutated_kernels import KERNELS  # noqa: E402

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
EVERY = int(os.environ.get("JIT_GEMM_TEST_EVERY", "3"))  # which of the places of a rule
SMS = 2  # multiprocessors: few, so that a CTA has several tiles


def statement(pattern):
    """A rule's pattern: one statement at the start of a line, perhaps guarded."""
    return re.compile(r"^(\s*(?:@!?%?\w+\s+)?)(" + pattern + r")([^;]*;)", re.M)


def replaced(match, text):
    return lambda ptx: ptx[:match.start()] + text + ptx[match.end():]


def drop(pattern):
    return rewrite(pattern, lambda guard, opcode, operands: "")


def rewrite(pattern, change):
    """`change` gives the new statement from (guard, opcode, operands), or None."""
    def places(ptx):
        for match in statement(pattern).finditer(ptx):
            text = change(match.group(1), match.group(2), match.group(3))
            if text is not None:
                yield match, replaced(match, text)
    return places


def scoped(declaration, guard, body):
    return "{\n" + declaration + "\n" + guard + body + "\n}"


def operand_list(operands):
    """Operands at the top level, split at commas."""
    parts, depth, part = [], 0, ""
    for letter in operands.rstrip("; \t\n"):
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return parts + [part.strip()]


def always_ready(guard, opcode, operands):
    return f"{guard}setp.eq.u32 {operand_list(operands)[0]}, 0, 0;"


def wrong_parity(guard, opcode, operands):
    parts = operand_list(operands)
    parts[2:3] = ["mutant"]
    was = operand_list(operands)[2]
    return (f".reg .b32 mutant;\nxor.b32 mutant, {was}, 1;\n"
            f"{guard}{opcode} {', '.join(parts)};")


def more_bytes(guard, opcode, operands):
    parts = operand_list(operands)
    was, parts[-1] = parts[-1], "mutant"
    return scoped(f".reg .b32 mutant;\nadd.u32 mutant, {was}, 16;", guard,
                  f"{opcode} {', '.join(parts)};")


def one_more(guard, opcode, operands):
    parts = operand_list(operands)
    was, parts[-1] = parts[-1], "mutant"
    return scoped(f".reg .b32 mutant;\nadd.u32 mutant, {was}, 1;", guard,
                  f"{opcode} {', '.join(parts)};")


def later_group(guard, opcode, operands):
    return f"{guard}{opcode} {int(operands.strip(' ;')) + 1};"


def to_one_cta(guard, opcode, operands):
    wide = ".multicast::cluster::all"
    return f"{guard}{opcode.replace(wide, '')}{operands}" if wide in opcode else None


def other_descriptor(index, bits):
    def change(guard, opcode, operands):
        parts = operand_list(operands)
        was, parts[index] = parts[index], "mutant"
        return scoped(f".reg .b64 mutant;\nxor.b64 mutant, {was}, {bits};", guard,
                      f"{opcode} {', '.join(parts)};")
    return change


def other_mask(guard, opcode, operands):
    parts = operand_list(operands)
    was, parts[3] = parts[3], "mutant"
    return scoped(f".reg .b16 mutant;\nxor.b16 mutant, {was}, 1;", guard,
                  f"{opcode} {', '.join(parts)};")


def relaxed(guard, opcode, operands):
    return guard + re.sub("acq_rel|release|acquire", "relaxed", opcode) + operands


def keep_own(guard, opcode, operands):
    """What a lane has itself for what another one has."""
    parts = operand_list(operands)
    return f"{guard}mov.b32 {parts[0].split('|')[0]}, {parts[1]};"


RULES = {
    "drop fence.proxy.async": drop(r"fence\.proxy\.async[\w.:]*"),
    "drop fence.mbarrier_init": drop(r"fence\.mbarrier_init[\w.]*"),
    "drop wgmma.fence": drop(r"wgmma\.fence[\w.]*"),
    "drop wgmma.commit_group": drop(r"wgmma\.commit_group[\w.]*"),
    "drop wgmma.wait_group": drop(r"wgmma\.wait_group[\w.]*"),
    "wait for one wgmma group fewer": rewrite(r"wgmma\.wait_group[\w.]*", later_group),
    "drop tcgen05.fence": drop(r"tcgen05\.fence[\w.:]*"),
    "drop tcgen05.wait": drop(r"tcgen05\.wait[\w.:]*"),
    "drop tcgen05.commit": drop(r"tcgen05\.commit[\w.:]*"),
    "drop mbarrier.arrive": drop(r"mbarrier\.arrive\.(?!expect)[\w.:]*"),
    "drop expect_tx": drop(r"mbarrier\.arrive\.expect_tx[\w.:]*"),
    "expect 16 bytes more": rewrite(r"mbarrier\.arrive\.expect_tx[\w.:]*", more_bytes),
    "one arrival more": rewrite(r"mbarrier\.init[\w.:]*", one_more),
    "wait for nothing": rewrite(r"mbarrier\.try_wait[\w.:]*", always_ready),
    "wrong phase": rewrite(r"mbarrier\.try_wait[\w.:]*", wrong_parity),
    "drop bar.sync": drop(r"(?:bar\.sync|barrier\.sync)[\w.]*"),
    "drop the cluster barrier": drop(r"barrier\.cluster\.(?:arrive|wait)[\w.]*"),
    "drop bulk commit_group": drop(r"cp\.async\.bulk\.commit_group"),
    "drop bulk wait_group": drop(r"cp\.async\.bulk\.wait_group[\w.]*"),
    "drop a copy": drop(r"cp\.async\.bulk\.tensor[\w.:]*"),
    "wrong multicast mask": rewrite(r"cp\.async\.bulk\.tensor[\w.:]*multicast[\w.:]*",
                                    other_mask),
    "drop a request of launch control": drop(r"clusterlaunchcontrol\.try_cancel[\w.:]*"),
    "a response to one CTA": rewrite(r"clusterlaunchcontrol\.try_cancel[\w.:]*", to_one_cta),
    "other swizzle of A": rewrite(r"wgmma\.mma_async[\w.]*",
                                  other_descriptor(1, "0x4000000000000000")),
    "other swizzle of A, tcgen05": rewrite(r"tcgen05\.mma[\w.:]*",
                                           other_descriptor(1, "0x2000000000000000")),
    "other stride of B, tcgen05": rewrite(r"tcgen05\.mma[\w.:]*",
                                          other_descriptor(2, "0x0000000800000000")),
    "release made relaxed": rewrite(r"red\.release[\w.]*", relaxed),
    "acquire made relaxed": rewrite(r"ld\.acquire[\w.]*", relaxed),
    "drop the count of a part": drop(r"red\.release[\w.]*"),
    "drop the clearing of a lock": drop(r"st\.global\.u32"),
    "drop a vector of sums": drop(r"(?:st\.global|ld\.global|red\.[\w.]*add)\.v4\.f32"),
    "free tensor memory early": drop(r"tcgen05\.dealloc[\w.:]*"),
    "reductions: release and acquire made relaxed": rewrite(r"atom\.acq_rel[\w.]*", relaxed),
    "reductions: count one more": rewrite(r"atom\.acq_rel[\w.]*", one_more),
    "reductions: keep one's own": rewrite(r"shfl\.sync\.bfly[\w.]*", keep_own),
    "reductions: drop a store": drop(r"st\.global\.u32"),
    "reductions: drop a value for another warp": drop(r"st\.shared\.f32"),
    "reductions: drop bar.sync": drop(r"(?:bar\.sync|barrier\.sync)[\w.]*"),
    "other stride of B": rewrite(r"wgmma\.mma_async[\w.]*",
                                 other_descriptor(2, "0x0000000800000000")),
}


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
        self.rules = {rule: places for rule, places in RULES.items()
                      if rule.startswith("reductions: ") == KERNELS[name].get("reduces", False)}
        self.words = ["run", *KERNELS[name]["run"], "--verify"]
        dump = folder / "kernel.ptx"
        done = self.run(MODES[0], {"MUTANT_DUMP": str(dump)})
        if done.returncode != 0 or not dump.is_file():
            raise SystemExit(f"Bail out! {name}: {done.stdout}{done.stderr}")
        self.ptx = dump.read_text()
        self.usual = set().union(*(findings(self.run(mode, {})) for mode in MODES))

    def run(self, mode, variables):
        return self.runner.run(self.words, f"{COMMON},sms={self.sms},{mode}", timeout=120,
                               covered="MUTANT" not in variables, MUTANT_OF=self.of, **variables)

    def mutants(self):
        for rule, places in self.rules.items():
            for number, (match, change) in enumerate(places(self.ptx)):
                if number % EVERY or (rule, number) in self.harmless:
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
        jobs = []  # (title, job, whether something has to be noticed)
        for number, name in enumerate(name for name in KERNELS if wanted in name):
            folder = pathlib.Path(holder) / str(number)
            folder.mkdir()
            kernel = Kernel(name, tool.resolve(), driver.resolve(), folder)
            jobs += [(f"{name}: unchanged, {mode}", workers.submit(kernel.run, mode, {}), False)
                     for mode in MODES]
            jobs += [(title, workers.submit(kernel.caught, text), True)
                     for title, text in kernel.mutants() if only in title]
        if "--list" in words:
            print("\n".join(title for title, _, _ in jobs))
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
