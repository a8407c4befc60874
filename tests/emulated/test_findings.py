#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What becomes of a finding of the emulator: a kernel of ours is broken in one place, and run.

Usage: test_findings.py JIT_GEMM MUTATING_DRIVER

Which faults are found is for test_mutations.py; here it is what `jit-gemm run` makes of one.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import Runner  # noqa: E402
from mutated_kernels import KERNELS  # noqa: E402
from mutation_rules import RULES  # noqa: E402
from tap import named_tests, run_tests  # noqa: E402

TOOL, DRIVER = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
SETTINGS = "async=latest,schedule=fair,seed=1,threads=1,sms=2,max_steps=1000000"


class Broken:
    """A kernel by its name in mutated_kernels.py, with what a rule says of its place done to it."""

    def __init__(self, name, rule, place=0):
        self.kernel, self.rule, self.place = KERNELS[name], rule, place

    def __enter__(self):
        self.holder = tempfile.TemporaryDirectory(prefix="jit_gemm_findings_")
        folder = pathlib.Path(self.holder.name)
        self.runner, self.file = Runner(TOOL, DRIVER, folder), folder / "mutant.ptx"
        dump = folder / "kernel.ptx"
        done = self.run("", MUTANT_DUMP=dump)
        assert done.returncode == 0, done.stdout + done.stderr
        text = dump.read_text()
        _, change = list(RULES[self.rule](text))[self.place]
        self.file.write_text(change(text))
        return self

    def __exit__(self, *_):
        self.holder.cleanup()

    def run(self, settings, *words, **variables):
        variables = variables or {"MUTANT": self.file}
        return self.runner.run(["run", *self.kernel["run"], *(words or ["--verify"])],
                               SETTINGS + settings, covered=False, MUTANT_OF=self.kernel["of"],
                               **variables)


def last_word(done):
    return (done.stdout.splitlines() or [""])[-1].partition(" ")[0]


def expect(condition, done):
    assert condition, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"


def test_missing_tcgen05_fence_fails_a_verification_whose_numbers_are_right():
    with Broken("sm_100a plain", "drop tcgen05.fence") as broken:
        done = broken.run("")
        expect(done.returncode == 1 and last_word(done) == "FAIL", done)
        expect("warning [tensor-fence]" in done.stderr, done)
        expect("error: the emulator found" in done.stderr, done)
        plain = broken.run("", "--seed", "1")
        expect(plain.returncode == 0 and last_word(plain) == "DONE", plain)


def test_allowed_findings_let_a_verification_pass():
    for name, rule, kind in (("sm_100a plain", "drop tcgen05.fence", "tensor-fence"),
                             ("sm_90a plain", "drop fence.mbarrier_init", "proxy-fence")):
        with Broken(name, rule) as broken:
            done = broken.run("")
            expect(done.returncode == 1 and f"[{kind}]" in done.stderr, done)
            done = broken.run(f",allow=race,{kind},show=advice")
            expect(done.returncode == 0 and last_word(done) == "PASS", done)
            expect(f"advice [{kind}]" in done.stderr, done)


def test_hidden_warning_fails_a_verification_as_well():
    with Broken("sm_100a plain", "drop tcgen05.fence") as broken:
        done = broken.run(",show=none")
        expect(done.returncode == 1 and last_word(done) == "FAIL", done)
        expect("tensor-fence" not in done.stderr and "show=warnings" in done.stderr, done)


sys.exit(run_tests(named_tests(globals())))
