#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives `jit-gemm epilogue check`. Prints TAP.

Usage: test_cli_epilogue.py JIT_GEMM SOURCE_ROOT

Parts that compile are skipped, with the library's own words, where NVRTC is missing.
"""
import json
import sys

from cli_harness import ARCH, SMALL, expect, expect_exit, named_tests, need_compiler, run_tests, tool


def test_wrong_usage_is_exit_2_with_words_on_stderr():
    rows = [
        (["epilogue"], "subcommand is missing"),
        (["epilogue", "frobnicate"], "there is no command `jit-gemm epilogue frobnicate`"),
        (["epilogue", "check"], "give --epilogue, --epilogue-file or"),
        (["epilogue", "check", "d = acc;"], "takes no words"),
        (["epilogue", "check", "--epilogue", "d = acc;", "--operand", "x"], "NAME:KIND:TYPE"),
    ]
    for words, message in rows:
        done = tool(*words)
        expect(done.returncode == 2 and message in done.stderr and done.stdout == "",
               f"{words}: expected exit 2 and `{message}`", done)


def test_epilogue_check_says_how_far_it_went():
    words = ["epilogue", "check", "--no-cache", "--epilogue", "d = gelu(acc + bias);",
             "--operand", "bias:row_vector:bf16"]
    done = tool(*words, "--nvrtc", "/dev/null/libnvrtc.so")
    expect_exit(done, 0)
    expect(done.stdout.startswith("ok: scanned only"), "no compiler", done)
    state = json.loads(tool(*words, "--json", "--nvrtc", "/dev/null/libnvrtc.so").stdout)
    expect(state["ok"] and state["checked"] == "scanned" and state["diagnostics"] == [], str(state))
    need_compiler()
    done = tool(*words)
    expect_exit(done, 0)
    expect(done.stdout == "ok: scanned, and compiled by itself for sm_90a\n", "compiled", done)
    state = json.loads(tool(*words, "--json", "--arch", "sm_100a").stdout)
    expect(state["checked"] == "compiled" and state["arch"] == "sm_100a", str(state))


def test_epilogue_check_reports_as_a_build_does():
    done = tool("epilogue", "check", "--no-cache", "--epilogue", "float d = acc;")
    expect_exit(done, 1)
    lines = done.stderr.splitlines()
    expect(lines[0] == "1:7: error: a variable 'd' would hide the result 'd'", "scan", done)
    expect(lines[1] == "    float d = acc;" and lines[2] == " " * 10 + "^", "caret", done)
    expect("hint: " in lines[3] and done.stdout == "", "hint", done)
    need_compiler()
    operand = ["--operand", "bias:row_vector:f32"]
    text = "d = gleu(acc)\n  + bias[col];"
    done = tool("epilogue", "check", "--no-cache", "--epilogue", text, *operand)
    built = tool("build", *SMALL, *ARCH, "--epilogue", text, *operand, "-o", "-", "--no-cache")
    expect_exit(done, 1)
    expect(done.stderr == built.stderr and "2:5: error: " in done.stderr, built.stderr, done)
    done = tool("epilogue", "check", "--no-cache", "--json", "--epilogue", text, *operand)
    expect_exit(done, 1)
    state = json.loads(done.stdout)
    expect(not state["ok"] and state["status"] == "COMPILE" and done.stderr == "", "json", done)
    places = [(item["line"], item["column"], item["origin"]) for item in state["diagnostics"]]
    expect(places == [(1, 5, "snippet"), (2, 5, "snippet")], str(places))


def test_the_caret_stands_below_the_character():
    rows = [
        ("/* \u65e5\u672c */ d = acc @ 1;", "d = acc @ 1;", "@"),
        ("\td = acc @ 1;", "\td = acc @ 1;", "@"),
        ("/* \u00e4 */\td = acc;\r\nfloat y = (acc;\r\nd = y;\r\n", "float y = (acc;", "("),
    ]
    for text, line, mark in rows:
        done = tool("epilogue", "check", "--no-cache", "--epilogue", text)
        expect_exit(done, 1)
        shown, caret = done.stderr.splitlines()[1:3]
        expect(shown.endswith(line) and caret.index("^") == shown.index(mark), repr(text), done)
    done = tool("epilogue", "check", "--no-cache", "--epilogue",
                "d = acc" + " + acc" * 4000 + " @ 1;")
    shown, caret = done.stderr.splitlines()[1:3]
    escape = tool("epilogue", "check", "--no-cache", "--epilogue", "/* \x1b[2J */ d = acc @ 1;")
    expect("\x1b" not in escape.stderr and "?[2J" in escape.stderr, "escape sequence", escape)
    expect(len(shown) < 200 and shown[caret.index("^")] == "@", "a long line is cut", done)


def test_printf_on_the_emulator_is_named_and_the_cache_left_alone():
    need_compiler()
    done = tool("run", *SMALL, *ARCH, "--device", "emulator", "--epilogue", 'printf("%f", acc); d = acc;')
    expect(done.returncode == 1 and "printf prints on a GPU only: take it out" in done.stderr, "cause", done)
    expect("(snippet)" in done.stderr and "empty the disk cache" not in done.stderr, "hint", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
