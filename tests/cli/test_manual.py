#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual page and the completion of shells, which are made of the command's tables. Prints TAP.

Usage: test_manual.py JIT_GEMM SOURCE_ROOT FOLDER

FOLDER has what tools/dev/write_manual.py wrote. What needs man, zsh or fish is skipped where they
are missing.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from cli_harness import Folder, Skip, expect, expect_exit, named_tests, run_tests, tool

MADE = pathlib.Path(sys.argv[3]).resolve()


def described():
    done = tool("describe")
    expect_exit(done, 0)
    return json.loads(done.stdout)


def leaves(data):
    """(words, what is said of it) of each command that does something."""
    for one in data["commands"]:
        for leaf in one.get("commands", [one]):
            yield ([one["name"], leaf["name"]] if "commands" in one else [one["name"]]), leaf


def need(program):
    if shutil.which(program) is None:
        raise Skip(f"there is no {program}")


def shell(*words, folder=None):
    return subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True,
                          timeout=60, check=False)


def test_describe_says_what_help_says():
    for words, leaf in leaves(described()):
        text = tool(*words, "--help").stdout
        shown = re.findall(r"^  (-[-\w]+)", text, re.M)
        expect([*(one["name"] for one in leaf["options"]), "-h"] == shown, f"{words}: {shown}")
        expect(text.startswith(f"usage: jit-gemm {leaf['usage']}\n"), f"{words}: {leaf['usage']}")


def test_describe_takes_no_words_and_is_not_listed():
    done = tool("describe", "run")
    expect_exit(done, 2)
    expect("describe" not in tool("--help").stdout, "the help lists describe")


def test_page_has_no_warnings_and_all_options():
    need("man")
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "500", "MANPAGER": "cat"}
    done = subprocess.run(["man", "--warnings", "-l", MADE / "jit-gemm.1"], env=environment,
                          capture_output=True, text=True, timeout=60, check=False)
    expect_exit(done, 0)
    expect(done.stderr == "", "warnings", done)
    data = described()
    for words, leaf in leaves(data):
        begin = done.stdout.find(f"   jit-gemm {' '.join(words)}\n")
        expect(begin >= 0, f"no part on {words}")
        end = done.stdout.find("\n   jit-gemm ", begin + 1)
        for option in leaf["options"]:
            expect(re.search(re.escape(option["name"]) + r"[ ,.\n]", done.stdout[begin:end]),
                   f"{words}: no {option['name']}")
    for variable in data["variables"]:
        expect(variable["name"] in done.stdout, f"no {variable['name']}")


def bash_words(*words, folder=None):
    """What a real bash makes of these words, the last of which is being written."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              'complete -p jit-gemm >&2; _jit_gemm; printf "%s\\n" "${COMPREPLY[@]}"')
    done = shell("bash", "--norc", "-c", script, "bash", MADE / "jit-gemm", "jit-gemm", *words,
                 folder=folder)
    expect_exit(done, 0)
    expect("-F _jit_gemm jit-gemm" in done.stderr and done.stderr.count("\n") == 1, "stderr", done)
    return done.stdout.split()


def test_bash_completes_words():
    expect(bash_words("verify-") == ["verify-manifest"], "a command")
    expect(bash_words("cache", "exp") == ["export", "explain"], "a subcommand")
    expect(bash_words("run", "64x64x64", "--back") == ["--back-to-back"], "an option")
    expect(bash_words("run", "--device", "") == ["auto", "gpu", "emulator"], "a word of a value")
    expect(bash_words("run", "--device", "=", "em") == ["emulator"], "a value behind =")
    expect(bash_words("run", "--device", "=") == ["auto", "gpu", "emulator"], "a value behind =")
    expect(bash_words("run", "--seed", "") == [], "a number")
    expect(bash_words("nothing", "") == [], "no command")
    expect(bash_words("help", "ver") == ["verify-manifest", "version"], "help of a command")


def test_bash_completes_every_command_and_option():
    for words, leaf in leaves(described()):
        expect(words[-1] in bash_words(*words), f"{words}")
        expect(bash_words(*words, "-") == [*(one["name"] for one in leaf["options"]), "--help"],
               f"{words}")


def test_bash_completes_files():
    with Folder() as folder:
        (folder.path / "my kernels").mkdir()
        (folder.path / "my.manifest").write_text("", encoding="ascii")
        expect(bash_words("prewarm", "my.", folder=folder.path) == ["my.manifest"], "a file")
        expect(bash_words("plan", "--cache", "my", folder=folder.path) == ["my", "kernels"], "a folder")


def test_zsh_takes_its_function():
    need("zsh")
    with Folder() as folder:
        script = ("fpath=($1 $fpath); autoload -U compinit; compinit -u -d $2; "
                  "print ${_comps[jit-gemm]}; autoload +X _jit-gemm && print loaded")
        done = shell("zsh", "-f", "-c", script, "zsh", MADE, folder.path / "dump")
        expect(done.stdout == "_jit-gemm\nloaded\n" and done.stderr == "", "compinit", done)


def test_fish_completes_words():
    need("fish")
    script = 'source $argv[1]; for line in $argv[2..]; complete -C "jit-gemm $line"; echo .; end'
    with Folder() as folder:
        environment = {**os.environ, "HOME": str(folder.path)}
        lines = ["verify-", "cache expo", "run 64x64x64 --back", "run --device em", "run --seed "]
        done = subprocess.run(["fish", "-c", script, MADE / "jit-gemm.fish", *lines], text=True,
                              env=environment, capture_output=True, timeout=60, check=False)
    expect_exit(done, 0)
    found = [line.split("\t")[0] for line in done.stdout.splitlines()]
    expect(found == ["verify-manifest", ".", "export", ".", "--back-to-back", ".", "emulator", ".",
                     "."], f"{found}", done)


run_tests(named_tests(globals()))
