#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives `jit-gemm bench` with scales of a byte for each block: mx, nv, ue8m0. Prints TAP.

Usage: test_cli_bench_bytes.py JIT_GEMM SOURCE_ROOT COMPUTING_DRIVER COMPUTING_CUBLASLT

The driver is one of a device of compute capability 10.0. It and the cuBLASLt compute on the host, and
each reads scales where it has them: they agree only if bench gives both the same.
"""
import json
import re
import sys

from cli_harness import L2_BYTES, QUICK_ROUND, Folder, expect, expect_exit, named_tests, need_compiler, run_tests, tool, unfolded

DRIVER, CUBLASLT = sys.argv[3:5]
MX, NV = "1 32 ue8m0 1 32 ue8m0", "1 16 ue4m3 1 16 ue4m3"
ROWS = "1 128 ue8m0 1 128 ue8m0"
LAYOUTS = ["a_scale_layout=128x4", "b_scale_layout=128x4"]


def bench(folder, types, scales, *words, fault="none", against="cublaslt", **more):
    # The fake driver multiplies A by B, as the library asks it to: not B by A.
    return tool("bench", *words, "--config", "swap_ab=0", *QUICK_ROUND, "--against", against, "--cublaslt", CUBLASLT,
                "--driver", DRIVER, cache=folder.cache,
                variables={"COMPUTING_DRIVER": f"{types} {fault}", "COMPUTING_SCALES": scales, "COMPUTING_CC": "10",
                           "COMPUTING_L2": str(L2_BYTES),
                           "JIT_GEMM_DRIVER": DRIVER, **more})


def compared(result):
    return re.fullmatch(r"compared with kernel=reference: max diff \d\.\de[-+]\d\d", result["entries"][0]["note"])


def test_both_compute_the_same_product_with_scales_of_a_byte():
    need_compiler()
    # More than one piece of rows, and of four blocks along K; a part of each at the end.
    rows = (("e4m3 bf16", MX, ["8x136x288", "mxfp8", "d=bf16"]),
            ("e5m2 f32", MX, ["8x136x288", "mxfp8e5m2", "b=mxfp8e5m2", "d=f32"]),
            ("e2m1 bf16", NV, ["136x8x192", "nvfp4", "d=bf16"]))
    with Folder() as folder:
        for types, scales, words in rows:
            done = bench(folder, types, scales, *words, "--json")
            expect_exit(done, 0)
            result = json.loads(done.stdout)
            ours, *rivals = result["entries"]
            expect(compared(result) and ours["median_us"] > 0, f"{words}: {ours['note']}", done)
            expect(len(rivals) == 2 and all(not one["absent"] and one["difference"] < 1 / 128 for one in rivals),
                   str(words), done)


def test_a_wrong_element_is_found_without_a_rival():
    need_compiler()
    with Folder() as folder:
        for types, scales, words in (("e4m3 bf16", MX, ["mxfp8", "d=bf16"]), ("e2m1 bf16", MX, ["mxfp4", "d=bf16"])):
            done = bench(folder, types, scales, "12x48x96", *words, fault="element")
            expect(done.returncode == 1 and "jit_gemm and kernel=reference disagree" in done.stderr, words[0], done)
            done = bench(folder, types, scales, "12x48x96", *words, fault="unwritten")
            expect(done.returncode == 1 and "not written" in done.stderr, words[0], done)


def test_what_cublaslt_has_not_is_absent_and_compared_with_the_reference_kernel():
    need_compiler()
    rows = (("e2m1 bf16", MX, ["mxfp4", "d=bf16"], "no e2m1 with scales mx"),
            ("e4m3 bf16", MX, ["mxfp8", "d=bf16", "batch=3"], "of a batch"),
            ("e4m3 bf16", ROWS, ["e4m3", "d=bf16", "a_scale=1x128ue8m0", "b_scale=1x128ue8m0", *LAYOUTS], "as mx and nv only"),
            ("e4m3 e4m3", MX, ["mxfp8", "d=e4m3"], "not supported"))
    with Folder() as folder:
        for types, scales, words, reason in rows:
            done = bench(folder, types, scales, "16x48x256", *words, "--json")
            expect_exit(done, 0)
            result = json.loads(done.stdout)
            expect(compared(result), f"{words}: {result['entries'][0]['note']}", done)
            expect(all(one["absent"] and reason in one["note"] for one in result["entries"][1:]), reason, done)


def test_operands_of_four_bits_take_half_a_byte():
    need_compiler()
    with Folder() as folder:
        done = bench(folder, "e2m1 bf16", NV, "16x160x256", "nvfp4", "d=bf16", "--json")
        expect_exit(done, 0)
        # Scales: of A one piece of rows, of B two, of four along K each.
        set_bytes = (16 * 256 + 160 * 256) // 2 + (1 + 2) * 4 * 512
        expect(json.loads(done.stdout)["sets"] == 2 * L2_BYTES // set_bytes + 1, f"sets of {set_bytes} bytes", done)


def grouped(folder, form, *words, **more):
    return bench(folder, "e4m3 bf16", MX, *words, "n=16", "k=160", f"group_by={form}", COMPUTING_GROUPS=f"{form} 16", **more)


def test_groups_are_compared_with_the_reference_kernel():
    need_compiler()
    mxfp8 = ["mxfp8", "d=bf16", "groups=3"]
    with Folder() as folder:
        for form, words, sizes in (("offsets", ["m=180", *mxfp8], "130,0,29"), ("counts", ["m=40", *mxfp8], "40,0,29"),
                                   ("rows", ["m=384", *mxfp8], "128,0,256")):
            done = grouped(folder, form, *words, "--group-sizes", sizes, "--json")
            expect_exit(done, 0)
            expect(compared(json.loads(done.stdout)), form, done)
        sizes = ["--group-sizes", "130,0,50"]
        done = grouped(folder, "offsets", "m=180", *mxfp8, *sizes, fault="element")
        expect(done.returncode == 1 and "jit_gemm and kernel=reference disagree" in done.stderr, "an element", done)
        done = grouped(folder, "offsets", "m=180", *mxfp8, *sizes, against="dense")
        expect_exit(done, 0)
        expect("absent: groups with scales of a byte are compared with the reference kernel only" in unfolded(done),
               "a loop of products", done)


def test_rows_by_an_index_and_more_results_than_d_say_that_they_are_not_compared():
    need_compiler()
    with Folder() as folder:
        done = bench(folder, "e4m3 bf16", MX, "16x48x256", "mxfp8", "d=bf16", "d_rows=indexed")
        expect_exit(done, 0)
        expect("not compared with the reference kernel: rows by an index" in unfolded(done), "an index", done)
        done = bench(folder, "e4m3 bf16", MX, "16x48x256", "mxfp8", "d=bf16", "--epilogue", "d = acc; s = acc;",
                     "--operand", "s:column_vector:f32:sum", COMPUTING_SUMS="rows")
        expect_exit(done, 0)
        expect("not compared with the reference kernel: the epilogue writes more than D" in unfolded(done), "sums", done)


def test_a_chip_without_such_scales_refuses_them():
    need_compiler()
    with Folder() as folder:
        done = bench(folder, "e4m3 bf16", MX, "16x48x256", "mxfp8", "d=bf16", COMPUTING_CC="9")
        expect(done.returncode != 0 and "sm_90a" in done.stderr and "us " not in done.stdout, "an H200", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
