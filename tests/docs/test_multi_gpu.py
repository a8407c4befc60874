#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the recipes of docs/multi-gpu.md as they are printed, on one machine without a GPU.

Usage: test_multi_gpu.py SOURCE_ROOT JIT_GEMM [EXAMPLE]

`srun` is a stand-in that runs its command once for each task; paths of the cluster are folders of the
test. `server` stands for the program that reads kernels: it fails where one of them would compile.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, TOOL = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
EXAMPLE = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
PAGE = (ROOT / "docs" / "multi-gpu.md").read_text(encoding="utf-8")
BLOCKS = {kind: re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.S | re.M) for kind in ("sh", "yaml")}
MANIFEST = "jit_gemm manifest 1\nproblem 256x256x128 bf16\nproblem 128x512x256 bf16 epilogue=swiglu\n"
SRUN = """#!/bin/bash
echo "srun $*" >>srun.log
tasks=2
while [[ $1 == --* ]]; do
    [[ $1 != --ntasks=1 ]] || tasks=1
    shift
done
for ((i = 0; i < tasks; i++)); do SLURM_PROCID=$i "$@"; done
"""
SERVER = """#!/bin/bash
jit-gemm verify-manifest "$1" --arch sm_90a && echo "served by $JIT_GEMM_CACHE_ROOTS" >>served.log
"""


def has_compiler():
    done = subprocess.run([TOOL, "build", "64x64x64", "bf16", "--arch", "sm_90a", "--no-cache", "-o",
                           "/dev/null"], capture_output=True, text=True, check=False)
    return done.returncode == 0


@unittest.skipUnless(has_compiler(), "nothing can be compiled here")
class Recipes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()  # 0700, as nobody else may exchange a file
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("bin", "kernels", "app", "cache"):
            (self.folder / name).mkdir()
        (self.folder / "kernels").chmod(0o777)  # as volumes often are
        (self.folder / "bin" / "jit-gemm").symlink_to(TOOL)
        self.write("bin/srun", SRUN)
        for place in ("server", "app/server"):
            self.write(place, SERVER)
        for place in ("model.manifest", "app/model.manifest"):
            self.write(place, MANIFEST)
        words = {key: value for key, value in os.environ.items()
                 if not key.startswith("JIT_GEMM_") or key == "JIT_GEMM_NVRTC"}
        self.env = {**words, "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                    "JIT_GEMM_CACHE_DIR": f"{self.folder}/cache", "SLURM_SUBMIT_DIR": str(self.folder)}

    def write(self, place, text):
        (self.folder / place).write_text(text, encoding="utf-8")
        (self.folder / place).chmod(0o755)

    def run_here(self, *words, **variables):
        return subprocess.run(words, cwd=self.folder, env={**self.env, **variables}, check=False,
                              capture_output=True, text=True)

    def expect(self, *words, **variables):
        done = self.run_here(*words, **variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_job_of_slurm_makes_kernels_once_and_serves_from_the_file(self):
        (job,) = [block for block in BLOCKS["sh"] if "#SBATCH" in block]
        (self.folder / "kernels").rmdir()
        self.write("job.sh", job)
        printed = self.expect("./job.sh", JIT_GEMM_CACHE_DIR=str(self.folder / "cache"))
        self.assertRegex(printed, "compiled=2 ")
        served = (self.folder / "served.log").read_text().splitlines()
        self.assertEqual(served, [f"served by {self.folder}/kernels/model.jgb"] * 2)
        self.assertEqual(len((self.folder / "srun.log").read_text().splitlines()), 3)

    def kubernetes(self):
        """The scripts of the two files, and the variables of the server."""
        job, serving, _ = [block.replace("/kernels", f"{self.folder}/kernels").replace(
            "/app/", f"{self.folder}/app/") for block in BLOCKS["yaml"]]
        scripts = []
        for text in (job, serving):
            (found,) = re.findall(r"^( +)args:\n +- \|\n((?:\1    .*\n)+)", text, re.M)
            scripts.append(found[1])
        variables = dict(re.findall(r"\{name: (JIT_GEMM_\w+), value: ([^}]+)\}", serving))
        return job, scripts, variables

    def test_the_pods_of_kubernetes_serve_from_the_volume(self):
        _, (prewarm, verify), variables = self.kubernetes()
        self.assertRegex(self.expect("bash", "-euc", prewarm), "compiled=2 ")
        empty = str(self.folder / "empty")
        self.expect("bash", "-euc", verify, JIT_GEMM_CACHE_DIR=empty)
        self.assertEqual(sorted(variables), ["JIT_GEMM_CACHE_ROOTS", "JIT_GEMM_PLAN_FOR"])
        self.expect("app/server", "app/model.manifest", JIT_GEMM_CACHE_DIR=empty, **variables)
        self.assertTrue((self.folder / "kernels" / "model.jgb").stat().st_mode & 0o044 == 0o044)

    def test_without_the_kernels_no_pod_begins_to_serve(self):
        _, (prewarm, verify), _ = self.kubernetes()
        self.assertNotEqual(self.run_here("bash", "-euc", verify).returncode, 0)
        open_to_all = prewarm.replace("chmod 755", "chmod 777")
        self.expect("bash", "-euc", open_to_all)
        self.assertNotEqual(self.run_here("bash", "-euc", verify).returncode, 0)

    def test_a_volume_for_the_cache_folder_is_taken_as_the_first_container_leaves_it(self):
        block = BLOCKS["yaml"][2].replace("/cache", f"{self.folder}/volume")
        (volume := self.folder / "volume").mkdir()
        volume.chmod(0o777)
        (variable,) = re.findall(r"\{name: (JIT_GEMM_\w+), value: ([^}]+)\}", block)
        build = ["jit-gemm", "build", "64x64x64", "bf16", "--arch", "sm_90a", "-o", "kernel.cubin"]
        refused = self.run_here(*build, **dict([variable]))
        self.assertIn(f"chmod +t {volume}", refused.stderr)
        self.assertEqual(list(volume.iterdir()), [])
        (command,) = re.findall(r"command: \[([^]]+)\]", block)
        self.expect(*[word.strip(' "') for word in command.split(",")])
        self.expect(*build, **dict([variable]))
        self.assertIn("of these 1 kernels", self.expect("jit-gemm", "cache", "stat", **dict([variable])))
        self.assertEqual(pathlib.Path(variable[1]).stat().st_mode & 0o777, 0o700)

    def test_yaml_is_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("there is no PyYAML")
        kinds = [yaml.safe_load(block).get("kind") for block in BLOCKS["yaml"]]
        self.assertEqual(kinds, ["Job", "Deployment", None])

    def test_the_commands_of_the_examples_are_right(self):
        program, python = BLOCKS["sh"][0].splitlines()
        self.assertTrue((ROOT / python.split()[-1]).is_file(), python)
        if EXAMPLE is None:
            self.skipTest("NCCL is not here, and the example was not built")
        name, *words = program.split()
        self.assertEqual(pathlib.Path(name).name, EXAMPLE.name)
        done = self.run_here(EXAMPLE, *words, JIT_GEMM_DRIVER="/absent")
        self.assertEqual(done.returncode, 77, done.stderr)  # no GPU, and no wrong word


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
