# SPDX-License-Identifier: MIT
"""Runs of many lines by few processes of `jit-gemm run --lines -`, each with a bound on its time."""
import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time

from emulated_runs import clean_environment

VERDICTS = ("passed", "failed", "refused")
WRAPPER = shlex.split(os.environ.get("JIT_GEMM_TEST_WRAPPER", ""))
REPORT = "========= "  # begins what compute-sanitizer says


class Process:
    """One of them; begun anew behind a line that failed, broke it or did not end. `words` are for all
    lines, `limit_s` for each. With JIT_GEMM_TEST_WRAPPER it runs under that command."""

    def __init__(self, tool, words, limit_s, **variables):
        self.command = [*WRAPPER, str(tool), "run", "--lines", "-", "--verify", *words]
        self.limit_s, self.environment = limit_s, clean_environment(**variables)
        self.process, self.said = None, None

    def begin(self):
        self.process = subprocess.Popen(self.command, env=self.environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.said = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process, self.said), daemon=True).start()

    @staticmethod
    def listen(process, said):
        for line in process.stdout:
            said.put(line.rstrip("\n"))
        said.put(None)

    def end(self):
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # a wrapper and what it runs
            self.process.wait()
            self.process.stdin.close()
            self.process = None

    def run(self, words):
        """("passed", "failed" or "refused", what was said)."""
        if self.process is None:
            self.begin()
        lines, end = [], time.monotonic() + self.limit_s
        try:
            self.process.stdin.write(shlex.join(map(str, words)) + "\n")
            self.process.stdin.flush()
            while True:
                line = self.said.get(timeout=max(end - time.monotonic(), 0.01))
                if line is None:
                    return self.broken(lines, f"the process ended with status {self.process.wait()}")
                if line.startswith("line ") and lines and line.split(": ")[-1] in VERDICTS:
                    break
                lines.append(line)
        except queue.Empty:
            return self.broken(lines, f"no end within {self.limit_s:g} s")
        except BrokenPipeError:
            return self.broken(lines, "the process is gone")
        verdict = line.split(": ")[-1]
        if any(text.startswith(REPORT) and "COMPUTE-SANITIZER" not in text for text in lines):
            return self.broken(lines, "the wrapper found something")
        if verdict == "failed":
            self.end()
        return verdict, "\n".join(lines)

    def broken(self, lines, reason):
        self.end()
        return "failed", "\n".join([*lines, reason])
