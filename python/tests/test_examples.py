# SPDX-License-Identifier: MIT
"""The examples run, as a user runs them, and print what their reader is told to look at."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from support import ROOT, CompilerTest, in_turn, main, optional, torch_python

TORCH_PYTHON = torch_python()
EXAMPLES = ROOT / "python" / "examples"
COMMANDS = f"{os.environ.get('JIT_GEMM_TEST_BUILD', 'build')}/tools:{os.environ['PATH']}"

# Fails where torch is built without libuv, as Debian's is.
OPEN_STORE = """
from torch.distributed import TCPStore
TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
"""
# What torchrun does for two processes: those torches cannot run it.
TWO_PROCESSES = """
import os, socket, subprocess, sys
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
shared = dict(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", USE_LIBUV="0")
processes = [
    subprocess.Popen([sys.executable, *sys.argv[1:]], env={**os.environ, **shared, "RANK": rank, "LOCAL_RANK": rank})
    for rank in "01"
]
sys.exit(max(process.wait() for process in processes))
"""


def two_processes():
    """What to start Python with."""
    opened = subprocess.run([TORCH_PYTHON, "-c", OPEN_STORE], capture_output=True, check=False)
    if opened.returncode == 0:
        return "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"
    return "-c", TWO_PROCESSES


class Examples(CompilerTest):
    def expect(self, name, words, module=None, launcher=(), arguments=()):
        python = TORCH_PYTHON if module == "torch" else sys.executable
        if python is None or (python == sys.executable and module and not optional(module)):
            self.skipTest(f"there is no {module}")
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "python"),
            "PATH": COMMANDS,
            "MPLBACKEND": "Agg",
        }
        done = subprocess.run(
            [python, *launcher, EXAMPLES / name, *arguments],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(words, done.stdout)
        return done.stdout

    def test_bias_gelu_shows_a_mistake_at_its_place(self):
        self.expect("01_bias_gelu.py", "  d = gelo(acc + bias);\n      ^\n", "numpy")

    def test_swiglu_has_half_as_many_columns(self):
        self.expect("02_swiglu.py", "(64, 96), relative errors", "numpy")

    def test_serving_compiles_nothing(self):
        self.expect("03_serving.py", "compiles: 0, d[5, 1] = 9.0")

    def test_torch_training_runs_compiled(self):
        self.expect("04_torch_training.py", "compiled: (48, 40)", "torch")

    def test_two_processes_add_up_what_one_makes(self):
        launcher = two_processes() if TORCH_PYTHON else ()
        printed = self.expect("05_tensor_parallel.py", "right", "torch", launcher)
        for process in "01":
            for form in ("in order", "overlapped"):
                self.assertRegex(printed, rf"process {process}, {form}: \S+, right\n")

    def picture(self, name, words):
        """Runs a program in cells, which prints what its picture shows and saves it."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "picture.png")
            self.expect(name, words, "matplotlib", arguments=[path])
            self.assertEqual(path.read_bytes()[:4], b"\x89PNG")
            self.assertGreater(path.stat().st_size, 10000)

    def test_ratios_of_kept_results_are_drawn(self):
        self.picture(
            "06_ratio_by_shape.py", "decode        17 problems, geometric mean 1.10, worst 1.03"
        )

    def test_a_timeline_of_the_emulator_is_drawn(self):
        if shutil.which("jit-gemm", path=COMMANDS) is None:
            self.skipTest("the command is not built")
        self.picture("07_timeline.py", "of 4 CTAs, 24 tiles\n")

    def test_no_measured_point_is_above_the_roof(self):
        self.picture("08_roofline.py", "31 points, 0 above the roof; ")

    def test_each_example_has_a_test(self):
        names = sorted(path.name[:2] for path in EXAMPLES.glob("*.py"))
        self.assertEqual(names, ["01", "02", "03", "04", "05", "06", "07", "08"])


if __name__ == "__main__":
    main(in_turn)
