#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives `jit-gemm bench --against cublaslt` with scales, and with what cuBLASLt lacks. Prints TAP.

Usage: test_cli_bench.py JIT_GEMM SOURCE_ROOT COMPUTING_DRIVER COMPUTING_CUBLASLT STEADY_NVML

Both compute on the host, and each reads scales where it has them: the two agree only if bench
gives the same values to both.
"""
import json
import pathlib
import re
import sys

from cli_harness import (L2_BYTES, QUICK_ROUND, Folder, expect, expect_exit, expect_width, named_tests, need_compiler,
                         on_terminal, run_tests, tool, unfolded)
from strides import in_turn

DRIVER, CUBLASLT, NVML = sys.argv[3:6]
VECTOR = "1 1000000 column"
TENSOR = "1000000 1000000 column"


def bench(folder, scales, *words, fault="none", **more):
    d_type = next((word[2:] for word in words if word.startswith("d=")), words[1])
    types = f"{words[1]} {d_type} {fault}"
    # The fake driver multiplies A by B, as the library asks it to: not B by A.
    config = [] if "--config" in words else ["--config", "swap_ab=0"]
    return tool("bench", *words, *config, *QUICK_ROUND, "--against", "cublaslt", "--cublaslt", CUBLASLT,
                "--driver", DRIVER, cache=folder.cache,
                variables={"COMPUTING_DRIVER": types, "COMPUTING_SCALES": scales,
                           "COMPUTING_L2": str(L2_BYTES), "JIT_GEMM_DRIVER": DRIVER, **more})


def test_both_compute_the_same_product_with_scales():
    need_compiler()
    rows = (("1 128 row 128 128 row", ["4x132x272", "a_scale=1x128", "b_scale=128x128"]),
            ("1 128 column 128 128 column", ["4x132x272", "a_scale=1x128", "a_scale_layout=column",
                                             "b_scale=128x128", "b_scale_layout=column"]),
            ("128 128 row 1 128 column", ["132x4x272", "a_scale=128x128", "b_scale=1x128",
                                          "b_scale_layout=column"]),
            ("0 0 row 128 128 row", ["4x132x272", "b_scale=128x128"]),
            (TENSOR + " " + VECTOR, ["12x20x64", "a_scale=tensor", "b_scale=vector"]),
            (TENSOR + " 0 0 row", ["12x20x64", "a_scale=tensor"]))
    with Folder() as folder:
        for scales, words in rows:
            done = bench(folder, scales, words[0], "e4m3", "d=bf16", *words[1:])
            expect_exit(done, 0)
            for name in ("default", "best"):
                expect(re.search(rf"^  cublaslt {name} +\d", done.stdout, re.M), str(words), done)
            ones = words[1].startswith("b_scale")
            expect(("scales of A are ones" in unfolded(done)) == ones, "a note", done)


def test_what_cublaslt_has_no_mode_for_is_absent():
    need_compiler()
    rows = ((["e4m3", "d=bf16", "a_scale=128x128", "b_scale=128x128"], "128x128 of both A and B"),
            (["e4m3", "a_scale=vector", "b_scale=vector"], "no D of e4m3"),
            (["e4m3", "d=bf16", "batch=2", "a_scale=1x128", "b_scale=1x128"], "of a batch"),
            (["bf16", "a_scale=tensor"], "A is bf16"))
    with Folder() as folder:
        for words, message in rows:
            done = bench(folder, "0 0 row 0 0 row", "16x16x64", *words)
            expect_exit(done, 0)
            expect(len(re.findall(rf"absent: cuBLASLt [^:]*{message}", unfolded(done))) == 2, message, done)


def gated(folder, pair, sizes, *words, fault="none"):
    return bench(folder, "0 0 row 0 0 row", sizes, "bf16", f"pair={pair}", "--epilogue", "d = acc0 * acc1;", *words,
                 fault=fault, COMPUTING_PAIR=pair)


def test_pairs_of_columns_are_timed_alone():
    need_compiler()
    with Folder() as folder:
        for pair in ("interleaved", "halves"):
            done = gated(folder, pair, "16x48x64", "--json")
            expect_exit(done, 0)
            result = json.loads(done.stdout)
            first, *rivals = result["entries"]
            expect(not first["absent"] and first["median_us"] > 0, "its own time", done)
            expect(len(rivals) == 2 and all(one["absent"] and "no pairs of columns" in one["note"] for one in rivals),
                   "no rival", done)
            # Work is counted by columns of B.
            expect(result["flops"] == 2 * 16 * 48 * 64, "flops", done)


def test_operands_beside_pairs_are_as_large_as_they_should_be():
    need_compiler()
    operands = ("--operand", "r:matrix:bf16", "--operand", "v:row_vector:f32", "--operand", "p:pair_vector:f32")
    with Folder() as folder:
        done = bench(folder, "0 0 row 0 0 row", "16x48x64", "bf16", "batch=2", "--epilogue",
                     "d = (acc0 + p0) * (acc1 + p1) + r + v;", *operands, "--json", COMPUTING_PAIR="interleaved")
        expect_exit(done, 0)
        # Vectors have 64 bytes to spare.
        set_bytes = 2 * 2 * (16 * 64 + 48 * 64 + 16 * 24) + 4 * (24 + 48) + 2 * 64
        expect(json.loads(done.stdout)["sets"] == 2 * L2_BYTES // set_bytes + 1, f"sets of {set_bytes} bytes", done)


def test_a_column_of_pairs_that_is_not_written_is_found():
    need_compiler()
    with Folder() as folder:
        done = gated(folder, "halves", "16x48x64", fault="unwritten")
        expect(done.returncode == 1 and "not written" in done.stderr, "the last element", done)


def summed(folder, sums, *words, fault="none"):
    kind = {"rows": "column_vector", "all": "scalar"}[sums]
    return bench(folder, "0 0 row 0 0 row", "16x48x64", "bf16", "--epilogue", "d = acc; s = acc;",
                 "--operand", f"s:{kind}:f32:sum", *words, fault=fault, COMPUTING_SUMS=sums)


def test_reductions_are_timed_alone():
    need_compiler()
    with Folder() as folder:
        for sums in ("rows", "all"):
            done = summed(folder, sums)
            expect_exit(done, 0)
            expect(len(re.findall(r"absent: [^:]* no reductions", unfolded(done))) == 2, sums, done)
            expect_exit(summed(folder, sums, "batch=2"), 0)
        done = summed(folder, "rows", "batch=2", "d=f32", "--config", "kernel=reference")
        expect_exit(done, 0)
        expect("kernel=reference" in unfolded(done), "the reference kernel", done)


def test_a_reduction_that_is_not_written_is_found():
    need_compiler()
    with Folder() as folder:
        for sums in ("rows", "all"):
            done = summed(folder, sums, "batch=2", fault="unsummed")
            expect(done.returncode == 1 and "operand s has elements that are not written" in done.stderr, sums, done)


def by_columns(folder, scales, *words, **more):
    return bench(folder, scales, *words, "d_layout=column", COMPUTING_LAYOUT="column", **more)


def test_a_column_major_d_is_timed_beside_cublaslt():
    need_compiler()
    rows = (("0 0 row 0 0 row", ["16x48x64", "bf16"]),
            (TENSOR + " 0 0 row", ["12x20x64", "e4m3", "d=bf16", "a_scale=tensor"]),
            ("1 128 row 128 128 row", ["4x132x272", "e4m3", "d=bf16", "a_scale=1x128", "b_scale=128x128"]),
            ("128 128 row 1 128 column", ["132x4x272", "e4m3", "d=bf16", "a_scale=128x128", "b_scale=1x128",
                                          "b_scale_layout=column"]))
    with Folder() as folder:
        for scales, words in rows:
            done = by_columns(folder, scales, *words)
            expect_exit(done, 0)
            for name in ("default", "best"):
                expect(re.search(rf"^  cublaslt {name} +\d", done.stdout, re.M), str(words), done)


def test_a_column_major_d_and_what_lies_as_it_does_are_as_large_as_they_should_be():
    need_compiler()
    with Folder() as folder:
        done = by_columns(folder, "0 0 row 0 0 row", "20x50x64", "bf16", "c=f32", "batch=2", "--epilogue", "d = acc + r;",
                          "--operand", "r:matrix:bf16", "--json")
        expect_exit(done, 0)
        result = json.loads(done.stdout)
        expect(all(one["note"] == "the second kernel has no column-major D" for one in result["entries"][1:]), "no rival",
               done)
        # Columns of r are padded to 24 elements.
        set_bytes = 2 * (2 * (20 * 64 + 50 * 64 + 24 * 50) + 4 * 20 * 50)
        expect(result["sets"] == 2 * L2_BYTES // set_bytes + 1, f"sets of {set_bytes} bytes", done)


def test_a_column_major_d_is_read_where_it_lies():
    need_compiler()
    with Folder() as folder:
        done = by_columns(folder, "0 0 row 0 0 row", "20x50x64", "bf16", fault="unwritten")
        expect(done.returncode == 1 and "not written" in done.stderr, "the last element", done)
        done = by_columns(folder, "0 0 row 0 0 row", "20x50x64", "bf16", fault="element")
        expect(done.returncode == 1 and "cublaslt default and jit_gemm disagree" in done.stderr, "the last element", done)


PLAIN = "0 0 row 0 0 row"


def grouped(folder, form, *words, against="dense", types="bf16 bf16", fault="none", **more):
    n = next(word[2:] for word in words if word.startswith("n="))
    return tool("bench", *words, f"group_by={form}", *QUICK_ROUND, "--against",
                against, "--cublaslt", CUBLASLT, "--driver", DRIVER, cache=folder.cache,
                variables={"COMPUTING_DRIVER": f"{types} {fault}", "COMPUTING_GROUPS": f"{form} {n}",
                           "COMPUTING_L2": str(L2_BYTES), "JIT_GEMM_DRIVER": DRIVER, **more})


# Form, words, rows or K of all groups, launches and kernels of the loop.
GROUPS = (("offsets", ["m=90", "n=48", "k=64", "bf16", "groups=4", "--group-sizes", "0,7,64,19"], 90 - 0, 3, 3),
          ("offsets", ["m=90", "n=48", "k=64", "bf16", "groups=3"], 90, 3, 1),
          ("offsets", ["m=100", "n=48", "k=64", "bf16", "groups=3", "--group-sizes", "17,18,19"], 54, 3, 1),
          ("counts", ["m=40", "n=48", "k=64", "bf16", "groups=3", "--group-sizes", "0,40,13"], 53, 2, 2),
          ("rows", ["m=600", "n=48", "k=64", "bf16", "groups=3", "--group-sizes", "0,100,280"], 472, 4, 1),
          ("pointers", ["m=40", "n=48", "k=64", "bf16", "groups=3", "--group-sizes", "0,40,13"], 53, 2, 2),
          ("pointers", ["m=40", "n=48", "k=64", "bf16", "groups=3", "--group-sizes", "zipf"], 73, 3, 3))


def test_groups_are_timed_beside_a_product_for_each():
    need_compiler()
    with Folder() as folder:
        for form, words, rows, launches, kernels in GROUPS:
            done = grouped(folder, form, *words, "--json")
            expect_exit(done, 0)
            result = json.loads(done.stdout)
            expect(result["flops"] == 2 * rows * 48 * 64, f"{form}: {rows} rows", done)
            expect(result["groups"].endswith(f"together {rows}"), result["groups"], done)
            ours, dense = result["entries"]
            expect(dense["name"] == "dense, group by group" and dense["difference"] < 1e-2, "its results", done)
            expect(dense["note"] == f"{launches} launches of {kernels} kernel{'s' if kernels > 1 else ''}", dense["note"], done)
            expect(ours["median_us"] > 0 and dense["median_us"] > 0, "times", done)


def test_groups_with_an_n_and_a_k_of_their_own_are_timed():
    need_compiler()
    with Folder() as folder:
        words = ["m=40", "n=48", "k=64", "bf16", "groups=4", "dynamic=n,k", "--group-sizes", "7,40,13,2"]
        done = grouped(folder, "pointers", *words, "--group-ns", "48,0,48,48", "--group-ks", "64,64,33,0", "--json")
        expect_exit(done, 0)
        result = json.loads(done.stdout)
        expect(result["flops"] == 2 * 48 * (7 * 64 + 13 * 33), "only what groups have is counted", done)
        expect(result["groups"].endswith("together 62; each with an N and a K of its own"), result["groups"], done)
        dense = result["entries"][1]
        expect(dense["difference"] < 1e-2 and dense["note"] == "3 launches of 3 kernels", "its results", done)
        done = grouped(folder, "pointers", *words, "--group-ks", "64,64,33,65")
        expect_exit(done, 2)
        expect("--group-ks: group 3 has 65, more than `k`, which is 64" in done.stderr, "the reason", done)
        done = grouped(folder, "offsets", *words[:-2], "--group-ns", "1,2,3,4")
        expect("--group-ns needs group_by=pointers and dynamic=n" in done.stderr, "the reason", done)


def test_groups_along_k_are_timed_beside_a_product_for_each():
    need_compiler()
    with Folder() as folder:
        words = ["m=24", "n=48", "k=96", "a=bf16", "d=f32", "layout=tn", "groups=3", "--group-sizes"]
        done = grouped(folder, "k_offsets", *words, "16,32,48", "--json", types="bf16 f32")
        expect_exit(done, 0)
        result = json.loads(done.stdout)
        expect(result["flops"] == 2 * 24 * 48 * 96 and len(result["entries"]) == 2, "flops", done)
        expect(not result["entries"][1]["absent"], "the loop", done)
        done = grouped(folder, "k_offsets", *words, "16,0,48", types="bf16 f32")
        expect_exit(done, 0)
        expect("absent: a group has no elements of K" in unfolded(done), "zeros", done)


def test_rows_by_an_index_are_timed():
    need_compiler()
    sizes = ["n=48", "k=64", "bf16", "groups=3", "--group-sizes", "0,40,13"]
    with Folder() as folder:
        for form, m in (("offsets", 60), ("counts", 40)):
            for index in (["a_rows=indexed"], ["d_rows=indexed"], ["a_rows=indexed", "d_rows=indexed"]):
                done = grouped(folder, form, f"m={m}", *sizes, *index, "--json")
                expect_exit(done, 0)
                ours, dense = json.loads(done.stdout)["entries"]
                expect(ours["median_us"] > 0 and not dense["absent"] and dense["difference"] < 1e-2, f"{form} {index}", done)
                done = grouped(folder, form, f"m={m}", *sizes, *index, fault="index")
                expect(done.returncode == 1 and re.search("disagree|wrong result", done.stderr), f"{form} {index}: another one", done)
        done = bench(folder, PLAIN, "16x48x64", "bf16", "a_rows=indexed", "d_rows=indexed")
        expect_exit(done, 0)
        expect(len(re.findall("absent: .* no rows by an index", done.stdout)) == 2, "cuBLASLt", done)


def test_a_group_with_another_ones_b_is_found():
    need_compiler()
    words = ["n=48", "k=64", "a=bf16", "groups=2", "--group-sizes", "16,16"]
    with Folder() as folder:
        for form, m in (("offsets", 32), ("counts", 16), ("pointers", 16)):
            done = grouped(folder, form, f"m={m}", *words, fault="group")
            expect(done.returncode == 1 and "dense, group by group and jit_gemm disagree" in done.stderr, form, done)
        done = grouped(folder, "k_offsets", "m=24", "n=48", "k=96", "a=bf16", "d=f32", "layout=tn", "groups=2",
                       "--group-sizes", "48,48", types="bf16 f32", fault="group")
        expect(done.returncode == 1 and "disagree" in done.stderr, "k_offsets", done)
        done = grouped(folder, "offsets", "m=32", *words, fault="unwritten")
        expect(done.returncode == 1 and "not written" in done.stderr, "the last row", done)


def test_what_has_rows_or_scales_is_a_groups_own_part():
    need_compiler()
    sizes = ["groups=3", "--group-sizes", "16,0,32"]
    scaled = ["m=48", "n=40", "k=256", "e4m3", "d=bf16", *sizes]
    with Folder() as folder:
        for form in ("offsets", "counts"):
            for scales, words in (("1 128 row 128 128 row", ["a_scale=1x128", "b_scale=128x128"]),
                                  ("1 128 column 128 128 row", ["a_scale=1x128", "a_scale_layout=column", "b_scale=128x128"]),
                                  ("1 1000000 column 1 1000000 column", ["a_scale=vector", "b_scale=vector"])):
                done = grouped(folder, form, *scaled, *words, types="e4m3 bf16", COMPUTING_SCALES=scales)
                expect_exit(done, 0)
                expect(re.search(r"^  dense, group by group +\d", done.stdout, re.M), f"{form}: {words}", done)
        for form in ("offsets", "counts"):  # their values are nobody's, but arguments are looked at
            done = grouped(folder, form, "m=48", "n=48", "k=64", "bf16", *sizes, "--epilogue", "d = acc * w + r + b;", "--operand",
                           "w:column_vector:f32", "--operand", "r:matrix:bf16", "--operand", "b:row_vector:bf16")
            expect_exit(done, 0)
            expect(re.search(r"^  dense, group by group +\d", done.stdout, re.M), f"{form}: operands", done)
        done = grouped(folder, "offsets", "m=48", "n=40", "k=256", "e4m3", "d=bf16", "a_scale=vector", "b_scale=vector",
                       "groups=3", "--group-sizes", "17,0,31", types="e4m3 bf16", COMPUTING_SCALES=VECTOR + " " + VECTOR)
        expect_exit(done, 0)
        expect("absent: a group's part of a column vector is not aligned" in unfolded(done), "a vector that is cut", done)


def test_rivals_without_groups_say_so():
    need_compiler()
    with Folder() as folder:
        done = grouped(folder, "offsets", "m=32", "n=48", "k=64", "a=bf16", "groups=2", against="cublaslt")
        expect_exit(done, 0)
        expect(len(re.findall("absent: .*? --against dense", unfolded(done))) == 2, "cuBLASLt", done)
        done = tool("bench", "16x48x64", "bf16", "--against", "dense", *QUICK_ROUND, "--driver", DRIVER,
                    cache=folder.cache, variables={"COMPUTING_DRIVER": "bf16 bf16 none", "COMPUTING_GROUPS": "none 48"})
        expect_exit(done, 0)
        expect("absent: the problem has no groups" in unfolded(done), "no groups", done)
        done = grouped(folder, "offsets", "m=32", "n=48", "k=64", "a=bf16", "groups=2", "--group-sizes", "0,0")
        expect(done.returncode == 1 and "all groups are empty" in done.stderr, "nothing to time", done)
        done = grouped(folder, "offsets", "m=32", "n=48", "k=64", "a=bf16", "groups=2", "--epilogue", "d = acc; s = acc;",
                       "--operand", "s:row_vector:f32:sum")
        expect(done.returncode == 1 and "groups beside reductions, as that to s" in done.stderr, "reductions", done)


def test_problems_come_from_a_file_and_results_go_to_one():
    need_compiler()
    with Folder() as folder:
        shapes, out = str(folder.path / "shapes.txt"), str(folder.path / "results.jsonl")
        pathlib.Path(shapes).write_text("# two\n\n16x32x64 bf16\n  16x48x64 bf16\r\n", encoding="ascii")
        for _ in range(2):  # appended
            done = bench(folder, PLAIN, "12x20x64", "bf16", "--shapes", shapes, "--out", out)
            expect_exit(done, 0)
        expect(len(re.findall("^m=.* a=bf16", done.stdout, re.M)) == 3, "a table for each", done)
        results = [json.loads(line) for line in pathlib.Path(out).read_text(encoding="utf-8").splitlines()]
        expect([one["problem"].split()[1] for one in results] == 2 * ["n=20", "n=32", "n=48"], "in their order", done)
        expect(all(re.match(f"jit-gemm bench 12x20x64 .* --out {out}", one["command"]) for one in results), results[0]["command"], done)
        pathlib.Path(shapes).write_text("16x32x64 bf16\n16x32 bf16\n", encoding="ascii")
        done = bench(folder, PLAIN, "12x20x64", "bf16", "--shapes", shapes)
        expect(done.returncode == 2 and "shapes.txt: line 2" in done.stderr and done.stdout == "", "a wrong line", done)
        done = bench(folder, PLAIN, "12x20x64", "bf16", "--out", str(folder.path / "no" / "file"))
        expect(done.returncode == 1 and "No such file" in done.stderr, "a file that cannot be made", done)
        done = bench(folder, PLAIN, "12x20x64", "bf16", "--json", "--out", out)
        expect(done.returncode == 2 and "leave one out" in done.stderr, "both", done)


def test_one_problem_that_fails_leaves_the_others():
    need_compiler()
    with Folder() as folder:
        # The stand-in for the driver multiplies bf16, whatever it is given.
        done = tool("bench", "16x32x64", "f16", "12x20x64", "bf16", "--config", "swap_ab=0", *QUICK_ROUND,
                    "--against", "cublaslt", "--cublaslt", CUBLASLT, "--driver", DRIVER, "--json",
                    cache=folder.cache, variables={"COMPUTING_DRIVER": "bf16 bf16 none", "COMPUTING_SCALES": PLAIN})
        expect(done.returncode == 1 and "disagree" in done.stderr, "the first fails", done)
        expect([json.loads(line)["problem"].split()[1] for line in done.stdout.splitlines()] == ["n=20"], "the second", done)


def test_an_s8_that_looks_like_poison_is_a_result_and_one_that_is_not_written_none():
    need_compiler()
    with Folder() as folder:
        # Sums of 64 products of bytes: half of them lie below -128, and become that.
        def alone(fault):
            return tool("bench", "16x48x64", "s8", "d=s8", "--config", "swap_ab=0", *QUICK_ROUND,
                        "--driver", DRIVER, cache=folder.cache,
                        variables={"COMPUTING_DRIVER": f"s8 s8 {fault}", "COMPUTING_SCALES": PLAIN})
        expect_exit(alone("none"), 0)
        done = alone("unwritten")
        expect(done.returncode == 1 and "not written" in done.stderr, "the last element", done)


def test_clock_and_power_are_those_of_nvml():
    need_compiler()
    with Folder() as folder:
        done = bench(folder, PLAIN, "12x20x64", "bf16", "--json", JIT_GEMM_NVML=NVML)
        expect_exit(done, 0)
        expect(all((one["sm_mhz"], one["watts"]) == (1755, 651.4) for one in json.loads(done.stdout)["entries"]), "all",
               done)
        done = bench(folder, PLAIN, "12x20x64", "bf16", JIT_GEMM_NVML="/no/such/file")
        expect_exit(done, 0)
        expect(re.search(r"^  jit_gemm .*%     0    0$", done.stdout, re.M), "unknown", done)


def test_replays_need_a_driver_with_graphs():
    need_compiler()
    with Folder() as folder:
        done = bench(folder, PLAIN, "12x20x64", "bf16", "--replays")
        expect(done.returncode == 1 and "no CUDA graphs" in done.stderr, "named", done)


def test_a_terminal_is_told_which_problem_is_under_way():
    need_compiler()
    words = ["bench", "16x16x64", "bf16", "16x32x64", "bf16", "--config", "swap_ab=0", "--rounds", "1", "--round-ms", "1",
             "--warmup-ms", "1", "--driver", DRIVER]
    variables = {"COMPUTING_DRIVER": "bf16 bf16 none", "COMPUTING_CLOCK": "1"}
    with Folder() as folder:
        text = on_terminal(*words, "--color", "never", JIT_GEMM_CACHE_DIR=folder.cache, **variables)
        shown = re.findall(r"\r\x1b\[K\[(\d)/2\] m=16 n=(\d+)", text)
        expect(shown == [("1", "16"), ("2", "32")], f"{text!r}")
        for line in text.split("\n"):
            expect("[1/2]" not in line.split("\x1b[K")[-1], f"it does not stay: {line!r}")
        done = tool(*words, cache=folder.cache, variables=variables)
        expect(done.returncode == 0 and "[1/2]" not in done.stderr and "\r" not in done.stdout, "a pipe", done)


if __name__ == "__main__":
    sys.exit(run_tests(in_turn(named_tests(globals()))))
