#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command prints on a terminal and in a pipe: colour, and lines that fit. TAP.

Usage: test_cli_terminal.py JIT_GEMM SOURCE_ROOT

Nothing here needs a GPU or a compiler.
"""
import os
import re
import subprocess
import sys
import tempfile

from cli_harness import ARCH, TOOL, clean_environment, expect, named_tests, on_terminal, run_tests, tool

PLAN = ["plan", "4096x4096x4096", "bf16", "epilogue=bias_gelu", *ARCH]
WRONG = ["plan", "4096x4096x4096", "bf17", *ARCH]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def has_color(text):
    return ESCAPE.search(text) is not None


def test_colour_is_a_matter_of_the_terminal_and_of_who_says_so():
    for words in (PLAN, WRONG):
        expect(has_color(on_terminal(*words)), f"{words}: a terminal has colour")
        expect(has_color(on_terminal(*words, NO_COLOR="")), "an empty NO_COLOR says nothing")
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            expect(not has_color(on_terminal(*words, **variables)), f"{words}: {variables}")
        expect(not has_color(on_terminal(*words, "--color", "never")), "never")
        expect(has_color(on_terminal(*words, "--color=always", NO_COLOR="1")), "an option wins over NO_COLOR")
        done = tool(*words)
        expect(not has_color(done.stdout + done.stderr), "a pipe has none", done)
        done = tool(*words, "--color", "always")
        expect(has_color(done.stdout + done.stderr), "always", done)
        bare = tool(*words)
        expect(ESCAPE.sub("", done.stdout) == bare.stdout, "the text is the same", done)
    done = tool("plan", "--color", "sometimes", *PLAN[1:])
    expect(done.returncode == 2 and "use auto, always or never" in done.stderr, "a wrong word", done)


def test_lines_fit_the_terminal_and_a_hundred_columns_of_a_pipe():
    sweep = ["plan", "n=8192", "k=4096", "a=f16", "dynamic=m", "--sweep", "m=1..1024", *ARCH]
    for words in (PLAN, [*PLAN, "--all"], WRONG, sweep, ["env"], ["epilogue", "list"], ["epilogue", "show", "bias_gelu"],
                  ["doctor"], ["version"]):
        for columns, most in ((80, 80), (100, 100), (200, 100)):
            text = ESCAPE.sub("", on_terminal(*words, columns=columns))
            # A path, as another word without blanks, is never broken.
            long = [line for line in text.splitlines()
                    if len(line) > most and max(map(len, line.split())) < most - 12]
            expect(not long, f"{words}: at {columns}: {long[:1]}")
    for words in (PLAN, sweep):
        lines = tool(*words).stdout.splitlines()
        long = [line for line in lines if len(line) > 100 and not line.startswith(("chosen: ", "kernel "))]
        expect(not long, f"{words}: in a pipe: {long[:1]}")


def test_help_fits_a_hundred_columns():
    for words in ([], ["cache"], ["epilogue"], ["run"], ["build"], ["plan"], ["inspect"], ["trace"], ["prewarm"],
                  ["verify-manifest"], ["bench"], ["tune"], ["replay"], ["doctor"], ["env"], ["version"],
                  *(["cache", sub] for sub in ("ls", "stat", "verify", "gc", "export", "keygen", "sign", "import",
                                               "explain")),
                  *(["epilogue", sub] for sub in ("check", "list", "show"))):
        for option in ("--help", "-h"):
            done = tool(*words, option)
            expect(done.returncode == 0 and done.stderr == "", f"{words} {option}", done)
            long = [line for line in done.stdout.splitlines() if len(line) > 100]
            expect(not long, f"{words}: {long[:1]}")


def test_two_dashes_end_options():
    one = tool("plan", *ARCH, "--", "256x256x256", "bf16")
    expect(one.returncode == 0 and "chosen: " in one.stdout, "words behind --", one)
    done = tool("plan", "--", "256x256x256", "bf16", *ARCH)
    expect(done.returncode == 2 and "'--arch'" in done.stderr, "no option behind --", done)


def test_bytes_of_names_that_a_terminal_obeys_or_cannot_show_are_hidden():
    name = b"/absent/\x1b[31m\xff\xc3\xa9"
    for words in ([name], ["plan", name], ["plan", b"--" + name], ["plan", *PLAN[1:4], "--arch", name], ["replay", name],
                  ["prewarm", name, *ARCH], ["cache", "verify", name]):
        done = subprocess.run([str(TOOL), *words], capture_output=True, check=False, env=clean_environment())
        expect(done.returncode in (1, 2) and b"/absent/?[31m?\xc3\xa9" in done.stderr, f"{words}: {done}")


def test_facts_hide_such_bytes_too():
    with tempfile.TemporaryDirectory() as place:
        folder = os.fsencode(place) + b"/\x1b[31m\xff\xc2\x9b1m\xc3\xa9"
        shown = os.fsencode(place) + b"/?[31m???1m\xc3\xa9"
        os.mkdir(folder, 0o700)
        environment = {os.fsencode(name): os.fsencode(value) for name, value in clean_environment().items()}
        environment[b"JIT_GEMM_CACHE_DIR"] = folder
        for words in (["doctor"], ["env"], ["cache", "stat"], ["cache", "keygen", "-o", folder + b"/key"]):
            done = subprocess.run([str(TOOL), *words], capture_output=True, check=False, env=environment)
            expect(shown in done.stdout and not re.search(b"\x1b|\xff|\x9b", done.stdout), f"{words}: {done}")
        limit = subprocess.run([str(TOOL), "cache", "stat"], capture_output=True, check=False,
                               env={**environment, b"JIT_GEMM_CACHE_LIMIT": b"\x1b[2J\n"})
        expect(b"limit ?[2J?\n" in limit.stdout, f"{limit}")
        lines = folder + b"/lines"
        with open(lines, "wb") as file:
            file.write(b"\x1b[2J bf16\n")
        done = subprocess.run([str(TOOL), "run", "--lines", lines, "--driver", "/absent", "--arch", "sm_90a"],
                              capture_output=True, check=False, env=environment)
        expect(b"\x1b" not in done.stdout + done.stderr, f"a line: {done}")


def test_output_that_is_not_written_is_a_failure():
    for words in (["env", "--json"], [*PLAN, "--all"], ["--help"], ["epilogue", "list", "--json"],
                  ["doctor", "--driver", "/absent"]):  # which fails anyhow
        with open("/dev/full", "wb") as full:
            done = subprocess.run([str(TOOL), *words], stdout=full, stderr=subprocess.PIPE, check=False,
                                  env=clean_environment())
        expect(done.returncode == 1 and b"standard output cannot be written" in done.stderr, f"{words}: {done}")


def test_a_closed_stream_is_no_file_that_is_opened_later():
    # More than a pipe holds: the tool reads when all of it is written.
    script = 'exec "$0" epilogue check --epilogue-file - >&- 2>&-'
    with subprocess.Popen(["sh", "-c", script, str(TOOL)], stdin=subprocess.PIPE,
                          env=clean_environment()) as process:
        process.stdin.write(b"d = acc; //" + b" " * 200000)
        process.stdin.flush()
        there = [os.readlink(f"/proc/{process.pid}/fd/{stream}") for stream in (1, 2)
                 if os.path.islink(f"/proc/{process.pid}/fd/{stream}")]
        process.stdin.close()
        process.wait()
    expect(there == ["/dev/null"] * 2, f"standard output and error are {there}")
    expect(process.returncode == 1, f"exit code {process.returncode}, of output that is not written")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
