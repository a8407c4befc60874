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
from strides import in_turn  # noqa: E402
from tap import named_tests, run_tests  # noqa: E402
from tensor_scale_rules import TENSOR_SCALE_RULES  # noqa: E402

TOOL, DRIVER = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
SETTINGS = "async=latest,schedule=fair,seed=1,threads=1,max_steps=1000000"


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
        _, change = list((RULES | TENSOR_SCALE_RULES)[self.rule](text))[self.place]
        self.file.write_text(change(text))
        return self

    def __exit__(self, *_):
        self.holder.cleanup()

    def run(self, settings, *words, **variables):
        variables = variables or {"MUTANT": self.file}
        settings = f"{SETTINGS},sms={self.kernel.get('sms', 2)}{settings}"
        return self.runner.run(["run", *self.kernel["run"], *(words or ["--verify"])], settings,
                               covered=False, MUTANT_OF=self.kernel["of"], **variables)


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


def test_launches_back_to_back_are_both_verified():
    with Broken("sm_100a back to back", "back to back: drop griddepcontrol.wait") as broken:
        done = broken.run("", MUTANT_DUMP=broken.file)
        expect(done.returncode == 0 and last_word(done) == "PASS", done)
        words = [line.split()[0] for line in done.stdout.splitlines()]
        expect(words[-4:] == ["D", "second", "D", "PASS"], done)


def test_missing_wait_for_the_grid_before_is_found_back_to_back():
    for name in ("sm_90a back to back", "sm_100a back to back"):
        with Broken(name, "back to back: drop griddepcontrol.wait") as broken:
            done = broken.run("")
            expect(done.returncode == 1 and "error [race]" in done.stderr, done)
            expect("griddepcontrol.wait does not stand between them" in done.stderr or
                   "nothing orders them" in done.stderr, done)


def test_scale_factors_of_the_stage_before_are_named():
    for name, kind in (("sm_100a scales of MX", "mx"), ("sm_100a pair, scales of NVFP4", "pairs of scales")):
        with Broken(name, f"{kind}: copy to cells of the stage before") as broken:
            done = broken.run(",definedness=off")  # for the first stage, which has none before it
            expect(done.returncode == 1 and "warning [scale-origin] row 0 of A is multiplied by a "
                   "scale factor of other elements" in done.stderr, done)
            expect("and so did their own factors" in done.stderr, done)


def test_second_launch_must_have_something_to_read_of_the_first():
    with tempfile.TemporaryDirectory(prefix="jit_gemm_findings_") as folder:
        done = Runner(TOOL, DRIVER, folder).run(
            ["run", "256x256x128", "bf16", "--arch", "sm_100a", "--back-to-back"], SETTINGS,
            covered=False)
        expect(done.returncode == 2 and "must lie as D" in done.stderr, done)


sys.exit(run_tests(in_turn(named_tests(globals()))))
