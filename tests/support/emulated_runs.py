# SPDX-License-Identifier: MIT
"""Runs of `jit-gemm` for the suites that make many of them, and one rule by which all are judged."""
import concurrent.futures
import os
import re
import subprocess

import emulator_coverage

FINDING = re.compile(r"^(?:error|warning) \[", re.MULTILINE)
KEPT = ("JIT_GEMM_NVRTC", "JIT_GEMM_NVDISASM")  # where things are, not what is done


def clean_environment(**variables):
    """The caller's environment without our variables, but for `variables`."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("JIT_GEMM_") or name in KEPT}
    return {**kept, **{name: str(value) for name, value in variables.items()}}


def emulator_by_name(emulator, settings):
    """Variables with which `--device emulator` finds this emulator, rather than one installed."""
    folders = [str(emulator.parent), os.environ.get("LD_LIBRARY_PATH", "")]
    return {"JIT_GEMM_EMULATOR": settings, "LD_LIBRARY_PATH": ":".join(filter(None, folders))}


def pool():
    return concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1)


class Runner:
    """Runs the tool on a driver, with a cache that these runs share."""

    def __init__(self, tool, driver, folder):
        self.tool, self.driver, self.cache = str(tool), str(driver), f"{folder}/cache"

    def run(self, words, settings="", timeout=300, covered=True, **variables):
        """What the process said; a process that did not end has 124 as its status."""
        settings += emulator_coverage.setting() if covered else ""
        environment = clean_environment(JIT_GEMM_DRIVER=self.driver, JIT_GEMM_EMULATOR=settings,
                                        JIT_GEMM_CACHE_DIR=self.cache, **variables)
        command = [self.tool, *map(str, words)]
        try:
            return subprocess.run(command, env=environment, capture_output=True, text=True,
                                  timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"no end within {timeout} s")


def complaint(done, word="PASS"):
    """What is wrong with a run of `jit-gemm run`; empty if its last line begins with `word` and the
    emulator found nothing worse than advice."""
    lines = done.stdout.splitlines() or [""]
    if done.returncode == 0 and lines[-1].startswith(word + " ") and not FINDING.search(done.stderr):
        return ""
    return f"exit status {done.returncode}\n{done.stdout}{done.stderr}"


def print_result(number, name, wrong):
    """A line of TAP, and what was wrong behind a failure."""
    print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
    for line in wrong.splitlines()[:40]:
        print("# " + line)
    print(end="", flush=True)
