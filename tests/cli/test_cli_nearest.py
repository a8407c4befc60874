#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A wrong word is an error that asks for the nearest right one. TAP.

Usage: test_cli_nearest.py JIT_GEMM SOURCE_ROOT

Nothing here needs a GPU or a compiler.
"""
import json
import sys

from cli_harness import ARCH, expect, expect_exit, named_tests, run_tests, tool

PLAN = ["plan", "256x256x256"]


def expect_meant(words, meant):
    """`meant` is None where nothing is near."""
    done = tool(*words)
    expect_exit(done, 2)
    question = f"did you mean {meant}?" if meant else "did you mean"
    expect((question in done.stderr) == (meant is not None), f"{words}: {meant}", done)
    expect(done.stdout == "", "an error goes to standard error only", done)


def test_types_have_names_elsewhere():
    for name, meant in (("fp16", "f16"), ("float16", "f16"), ("half", "f16"), ("__half", "f16"),
                        ("bfloat16", "bf16"), ("__nv_bfloat16", "bf16"), ("BF16", "bf16"), ("float", "tf32"),
                        ("float32", "tf32"), ("fp8", "e4m3"), ("e4m3fn", "e4m3"),
                        ("float8_e4m3fn", "e4m3"), ("float8_e5m2", "e5m2"), ("int8", "s8"),
                        ("nv_fp4", "nvfp4"), ("NVFP4", "nvfp4"), ("fp4", "nvfp4"), ("mx-fp8", "mxfp8"),
                        ("mxfp8_e5m2", "mxfp8e5m2"), ("float4_e2m1fn_x2", "nvfp4"), ("u8", "s8"),
                        ("complex64", None), ("x", None)):
        expect_meant([*PLAN, name, *ARCH], meant)
    for name, meant in (("float", "f32"), ("int32", "s32"), ("fp16", "f16")):
        expect_meant([*PLAN, "bf16", f"c={name}", *ARCH], meant)
        expect_meant([*PLAN, "bf16", f"d={name}", *ARCH], meant)
    expect_meant([*PLAN, "bf16", "c=nv_fp4", *ARCH], None)


def test_architectures_have_names_of_chips():
    for name, meant in (("h100", "sm_90a"), ("H200", "sm_90a"), ("hopper", "sm_90a"), ("sm_90", "sm_90a"),
                        ("sm90a", "sm_90a"), ("9.0", "sm_90a"), ("b200", "sm_100a"), ("blackwell", "sm_100a"),
                        ("sm_100", "sm_100a"), ("b300", "sm_103a"), ("sn_90a", "sm_90a"),
                        ("sm_80", None), ("sm_120a", None), ("sm_101a", None), ("a100", None)):
        expect_meant([*PLAN, "bf16", "--arch", name], meant)
    expect_meant([*PLAN, "bf16", *ARCH, "--plan-for", "H100"], "h100")


def test_keys_and_their_values():
    for word, meant in (("lyout=nt", "layout"), ("layout=TN", "tn"), ("d_layout=rows", "row"),
                        ("group_by=ofsets", "offsets"), ("a_scale=tensr", "tensor"), ("pair=halfs", "halves"),
                        ("accumulate=fats", "fast"), ("layout=A's", None)):
        expect_meant([*PLAN, "bf16", word, *ARCH], meant)
    expect_meant([*PLAN, "bf16", *ARCH, "--config", "tle=128x128"], "tile")


def test_values_that_are_one_of_a_few():
    run, build = ["run", "256x256x256", "bf16", *ARCH], ["build", "256x256x256", "bf16", *ARCH, "-o", "-"]
    bench = ["bench", "256x256x256", "bf16"]
    for words, meant in (([*run, "--device", "emulater"], "emulator"), ([*run, "--device", "cpu"], "emulator"),
                         ([*run, "--device", "CUDA"], "gpu"), ([*run, "--device", "quantum"], None),
                         ([*run, "--device="], None), ([*run, "--color", "allways"], "always"),
                         ([*build, "--emit", "pxt"], "ptx"), ([*build, "--emit", "SASS"], "cubin"),
                         ([*build, "--emit", "sorce"], "source"), ([*build, "--emit", "ltoir"], None),
                         ([*bench, "--against", "cublas"], "cublaslt"), ([*bench, "--against", "dens"], "dense"),
                         ([*bench, "--against", "mkl"], None), ([*bench, "--chip", "H100"], "h100"),
                         ([*bench, "--chip", "a100"], "h100"), (["doctor", "--device", "emu"], "emulator"),
                         (["replay", "x", "--device", "gpuu"], "gpu"),
                         (["prewarm", "x", *ARCH, "--device", "emulator2"], "emulator"),
                         (["verify-manifest", "x", *ARCH, "--device", "GPU"], "gpu"),
                         (["cache", "export", "-o", "x", "--device", "gqu"], "gpu"),
                         (["cache", "explain", "x", "--device", "cpu"], "emulator"),
                         (["epilogue", "show", "quantise", "--d", "bfloat16"], "bf16"),
                         (["epilogue", "show", "quantise", "--d", "fp8"], "e4m3"),
                         (["epilogue", "show", "quantise", "--d", "x y"], None)):
        expect_meant(words, meant)
    groups = ["bench", "m=64 n=64 k=64 a=bf16 groups=4", "--group-sizes"]
    for value, meant in (("zip", "zipf"), ("unifrom", "uniform"), ("0,x", None)):
        expect_meant([*groups, value], meant)


def test_every_option_with_words_refuses_another_and_lists_them():
    """Of the command's own table: an option that is added is in it."""
    described = json.loads(tool("describe").stdout)
    leaves = [([one["name"], leaf["name"]] if "commands" in one else [one["name"]], leaf)
              for one in described["commands"] for leaf in one.get("commands", [one])]
    seen = set()
    for words, leaf in leaves:
        for option in leaf["options"]:
            choices = option.get("value", "").split("|")
            if len(choices) < 2 or not all(word.islower() for word in choices):
                continue
            expect(option["kind"] == "choice", f"{words} {option['name']} is checked where it is read")
            done = tool(*words, option["name"], "qqqqqqqq")
            expect_exit(done, 2)
            listed = f"use {', '.join(choices[:-1])} or {choices[-1]}"
            expect(f"{option['name']}: there is no `qqqqqqqq`; {listed}" in done.stderr, f"{words}", done)
            seen.add(option["name"])
    expect(seen >= {"--device", "--emit", "--against", "--chip", "--color"}, f"{seen}")


def test_commands_options_and_epilogues():
    for words, meant in ((["plann"], "plan"), (["cache", "lss"], "ls"), (["epilogue", "lst"], "list"),
                         ([*PLAN, "bf16", *ARCH, "--jsn"], "--json"), (["run", "--verfiy"], "--verify"),
                         (["epilogue", "show", "bias_gleu"], "bias_gelu"), (["quantum"], None),
                         ([*PLAN, "bf16", "epilogue=bias_gleu", *ARCH], "bias_gelu"),
                         ([*PLAN, "bf16", "--quantum"], None)):
        expect_meant(words, meant)
    for operand, meant in (("b:row:bf16", "row_vector"), ("b:rowvector:bf16", "row_vector"),
                           ("b:col:f32", "column_vector"), ("b:tensor:f32", "matrix"),
                           ("b:row_vector:half", "f16"), ("b:row_vector:int8", None),
                           ("b:matrix:bf16:outt", "out")):
        expect_meant([*PLAN, "bf16", *ARCH, "--epilogue", "d = acc;", "--operand", operand], meant)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
