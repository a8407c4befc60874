# SPDX-License-Identifier: MIT
"""Runs the built jit-gemm in a clean environment."""
import fcntl
import functools
import json
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios

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


# Of `bench`: few launches, whose times nobody reads.
L2_BYTES = 4 << 20  # of the computing driver in tests of bench: so few sets of inputs that they are soon filled
QUICK_ROUND = ["--rounds", "1", "--warmup-ms", "20", "--round-ms", "4"]


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


def on_terminal(*words, columns=80, **variables):
    """Standard output and standard error of a terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = clean_environment(**{"TERM": "xterm", "NO_COLOR": "", **variables})
    with subprocess.Popen([str(TOOL), *map(str, words)], stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
                          env=environment) as process:
        os.close(follower)
        text = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        process.wait()
    os.close(leader)
    return text.decode().replace("\r\n", "\n")


def expect(condition, message, done=None):
    if not condition:
        if done is not None:
            message += f"\nexit {done.returncode}\n{done.stdout}\n{done.stderr}"
        raise AssertionError(message)


def unfolded(done):
    """What is on standard output, in one line with single blanks: the words of folded lines."""
    return " ".join(done.stdout.split())


def expect_width(text, most=100):
    """No line is longer, but for a word without blanks, such as a path, which is never broken."""
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        expect(len(line) <= most or indent + max(map(len, line.split())) > most - 12, f"{len(line)} columns: {line}")


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
