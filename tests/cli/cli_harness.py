# SPDX-License-Identifier: MIT
"""Runs the built jit-gemm in a clean environment."""
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import clean_environment, emulator_by_name  # noqa: E402,F401
from tap import Skip, named_tests, run_tests  # noqa: E402,F401

TOOL = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
HOLDER = tempfile.TemporaryDirectory(prefix="jit_gemm_cli_")
ARCH = ["--arch", "sm_90a"]
SMALL = ["256x256x128", "bf16"]


class Folder:
    """A private cache folder and a place for files, removed afterwards."""

    def __enter__(self):
        self.holder = tempfile.TemporaryDirectory(prefix="jit_gemm_cli_")
        self.path = pathlib.Path(self.holder.name)
        self.cache = self.path / "cache"
        return self

    def __exit__(self, *error):
        self.holder.cleanup()


def tool(*words, text=None, cache=None, variables=None, binary=False, timeout=120,
         program=TOOL):
    """Runs the tool in a clean environment: no variable of ours but those given."""
    environment = clean_environment(
        **{"JIT_GEMM_CACHE_DIR": cache or HOLDER.name + "/cache", **(variables or {})})
    done = subprocess.run([str(program), *map(str, words)], input=text, env=environment,
                          capture_output=True, timeout=timeout, check=False)
    if not binary:
        done.stdout = done.stdout.decode()
    done.stderr = done.stderr.decode()
    return done


def expect(condition, message, done=None):
    if not condition:
        if done is not None:
            message += f"\nexit {done.returncode}\n{done.stdout}\n{done.stderr}"
        raise AssertionError(message)


def expect_exit(done, code):
    expect(done.returncode == code, f"expected exit {code}", done)


@functools.lru_cache(maxsize=None)
def need_compiler():
    with Folder() as folder:
        done = tool("build", *SMALL, *ARCH, "--emit", "ptx", "-o", "-", cache=folder.cache)
        if done.returncode and "no usable compiler library was found" in done.stderr:
            raise Skip(done.stderr.strip().splitlines()[0])
        expect_exit(done, 0)


def need_gpu():
    done = tool("doctor", "--json")
    state = json.loads(done.stdout)
    if not state["can_run"]:
        raise Skip("no usable GPU: " + state["status"])
