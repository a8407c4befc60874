#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library's own epilogues on the command line. Prints TAP.

Usage: test_cli_named_epilogues.py JIT_GEMM SOURCE_ROOT
"""
import json
import sys

from cli_harness import ARCH, SMALL, expect, expect_exit, named_tests, run_tests, tool


def test_list_has_all_of_them_in_order():
    done = tool("epilogue", "list")
    expect_exit(done, 0)
    names = [line.split()[0] for line in done.stdout.splitlines()]
    expect(names == sorted(names) and "bias_gelu" in names and len(names) > 20, "names", done)
    items = json.loads(tool("epilogue", "list", "--json").stdout)
    expect([item["name"] for item in items] == names, "the JSON has others", done)


def test_show_has_operands_and_text():
    done = tool("epilogue", "show", "bias_relu_aux")
    expect_exit(done, 0)
    for words in ("operand bias:row_vector:as_d\n", "operand aux:matrix:as_d:out\n",
                  "cuBLASLt: CUBLASLT_EPILOGUE_RELU_AUX_BIAS", "d = relu(x);\n"):
        expect(words in done.stdout, words, done)


def test_show_knows_the_type_of_d():
    for d, want in (("f16", "f16"), ("e4m3", "bf16"), ("s32", "f32")):
        item = json.loads(tool("epilogue", "show", "bias", "--d", d, "--json").stdout)
        expect(item["operands"][0] == {"name": "bias", "kind": "row_vector", "type": want, "role": "in"}, d)


def test_a_name_in_the_place_of_a_text_gets_its_operands_and_the_line_that_works():
    names = [line.split()[0] for line in tool("epilogue", "list").stdout.splitlines()]
    for name in names:
        done = tool("plan", *SMALL, *ARCH, "--epilogue", name, "--operand", "x:row_vector:bf16")
        expect_exit(done, 2)
        expect(f"--epilogue: `{name}` is the name of one of the library's own, which takes " in done.stderr, name, done)
        line = done.stderr.splitlines()[-1].split()
        expect(line == ["jit-gemm", "plan", *" ".join([*SMALL, *ARCH]).split(), f"epilogue={name}"], name, done)
        again = tool(*line[1:])
        expect_exit(again, 2 if "d_scale" in again.stderr or "pair" in again.stderr else 0)
    done = tool("run", *SMALL, "--epilogue=bias_gelu_aux", "--device", "emulator")
    expect("takes bias:row_vector:bf16, aux:matrix:bf16:out\n" in done.stderr, "operands", done)
    done = tool("cache", "explain", *SMALL, *ARCH, "--config", "tile=64x64 cluster=1x1", "--epilogue", "relu")
    expect("takes no operands\n" in done.stderr and "cache explain " in done.stderr and
           "--config 'tile=64x64 cluster=1x1' epilogue=relu\n" in done.stderr, "quotes", done)
    done = tool("epilogue", "check", "--epilogue", "relu")
    expect_exit(done, 2)
    expect("`jit-gemm epilogue show relu` shows it" in done.stderr, "no problem, no line", done)
    for wrong, words in (("bias_gleu", "did you mean bias_gelu?"), ("quantum", "`jit-gemm epilogue list` has the names")):
        done = tool("plan", *SMALL, *ARCH, "--epilogue", wrong)
        expect_exit(done, 2)
        expect(f"`{wrong}` is neither a text, which ends in `;`, nor a name; {words}" in done.stderr, wrong, done)


def test_wrong_usage_is_exit_2():
    for words, message in ((["epilogue"], "subcommand is missing"),
                           (["epilogue", "sing"], "no command `jit-gemm epilogue sing`"),
                           (["epilogue", "list", "gelu"], "takes no words"),
                           (["epilogue", "show"], "give one name"),
                           (["epilogue", "show", "a", "b"], "give one name"),
                           (["epilogue", "show", "gelo"], "has no epilogue `gelo`"),
                           (["epilogue", "show", "gelu", "--d", "f64"], "no type `f64`"),
                           (["plan", *SMALL, "epilogue=bias", "--operand", "b:scalar:f32"],
                            "those of epilogue=bias are known")):
        done = tool(*words, *([] if words[0] == "epilogue" else ARCH))
        expect_exit(done, 2)
        expect(message in done.stderr, message, done)


def test_a_problem_takes_them_without_registration():
    done = tool("build", *SMALL, "d=e4m3", "epilogue=bias_residual", *ARCH, "--emit", "source", "-o", "-",
                "--no-cache")
    expect_exit(done, 0)
    for words in ("JG_ROW(0, bias, RowVectorInput, bf16)", "JG_ROW(1, residual, MatrixInput, bf16)",
                  "d = acc + bias + residual;"):
        expect(words in done.stdout, words, done)


def test_their_names_are_taken():
    done = tool("plan", *SMALL, "epilogue=relu", "--epilogue", "d = acc;", *ARCH)
    expect(done.returncode == 2, "it was taken", done)
    expect("'relu' is an epilogue of the library" in done.stderr and "choose another name" in done.stderr,
           "no remedy", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
