#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives `jit-gemm run`, `doctor` and `bench`. Prints TAP.

Usage: test_cli_run.py JIT_GEMM SOURCE_ROOT COMPUTING_DRIVER COMPUTING_EMULATOR

The driver computes plain products on the host and makes the mistakes that it is told to.
Tests whose name begins with gpu_ need a GPU and are skipped without one.
"""
import json
import re
import sys

from cli_harness import (QUICK_ROUND, SMALL, Folder, expect, expect_exit, named_tests, need_compiler,
                         need_gpu, run_tests, tool)

DRIVER = sys.argv[3]
LAST_LINE = (r"%s rel_error=\d\.\d+e[+-]\d+ device=\S+ arch=sm_90a origin=%s "
             r"kernel_us=\d+\.\d+")


# The fake driver multiplies A by B, as the library asks it to: not B by A.
CONFIG = ("--config", "swap_ab=0")


def run_computing(folder, plan, *words):
    return tool("run", *words, *CONFIG, "--driver", DRIVER, cache=folder.cache,
                variables={"COMPUTING_DRIVER": plan})


def test_doctor_describes_the_machine():
    done = tool("doctor", variables={"JIT_GEMM_DRIVER": "/dev/null/libcuda.so.1"})
    expect(done.returncode == 1 and "libcuda" in done.stdout, "no driver is said", done)
    expect("sm_90a, sm_100a" in done.stdout, "all architectures are listed", done)
    state = json.loads(tool("doctor", "--json").stdout)
    expect(isinstance(state["can_run"], bool) and state["description"], str(state))


def test_run_without_a_driver_says_what_is_missing():
    done = tool("run", *SMALL, "--verify",
                variables={"JIT_GEMM_DRIVER": "/dev/null/libcuda.so.1"})
    expect_exit(done, 1)
    expect("driver" in done.stderr and "--device emulator" in done.stderr, "message", done)
    expect("PASS" not in done.stdout, "no pass", done)


def test_bench_without_a_driver_fails():
    done = tool("bench", *SMALL, variables={"JIT_GEMM_DRIVER": "/dev/null/libcuda.so.1"})
    expect(done.returncode == 1 and "driver" in done.stderr, "message", done)


def test_a_right_result_passes_and_the_last_line_has_its_form():
    need_compiler()
    with Folder() as folder:
        for origin in ("compiled", "disk"):
            done = run_computing(folder, "bf16 bf16 none", "100x60x72", "bf16", "batch=2",
                                 "--verify", "--repeat", "1")
            expect_exit(done, 0)
            expect(re.fullmatch(LAST_LINE % ("PASS", origin), done.stdout.splitlines()[-1]),
                   "last line", done)
            expect("D: rows of 60 bf16 elements are padded to 64" in done.stderr, "note", done)
            expect("device=Fake_GPU_0" in done.stdout, "spaces in the device's name", done)


def test_every_mistake_of_a_kernel_fails():
    need_compiler()
    rows = [
        ("element", "1 over the bound of an element; first at batch 0 row 99 column 58: 1000"),
        ("unwritten", "1 unwritten; first at batch 0 row 99 column 58"),
        ("stray", "1 written in the padding"),
        ("before", "D: a byte was written before the matrix, 4095 bytes into the guard"),
        ("after", "D: a byte was written after the matrix, 0 bytes into the guard"),
    ]
    with Folder() as folder:
        for fault, message in rows:
            done = run_computing(folder, f"bf16 f32 {fault}", "100x59x72", "bf16", "d=f32",
                                 "--verify", "--repeat", "1", "--ldd", "64")
            expect(done.returncode == 1 and message in done.stderr, fault, done)
            expect(re.fullmatch(LAST_LINE % ("FAIL", "(compiled|disk)"),
                                done.stdout.splitlines()[-1]), "last line", done)


def test_sums_of_halves_are_made_to_see_what_the_epilogue_leaves_open():
    need_compiler()
    with Folder() as folder:
        done = tool("run", "100x48x64", "bf16", "d=f32", "pair=halves", "--epilogue", "d = acc0 * acc1;", "--verify",
                    "--repeat", "1", *CONFIG, "--driver", DRIVER, cache=folder.cache,
                    variables={"COMPUTING_DRIVER": "bf16 f32 element", "COMPUTING_PAIR": "halves"})
        expect(done.returncode == 1 and "1 over the bound of an element" in done.stderr, "a wrong element", done)
        expect("problem.pair" not in done.stderr, "the sums are no pairs", done)


def test_launches_behind_each_other_have_the_bits_of_the_one_that_was_verified():
    need_compiler()
    words = ["100x59x72", "bf16", "d=f32", "--verify", "--repeat", "3"]
    with Folder() as folder:
        done = run_computing(folder, "bf16 f32 later", *words)
        expect(done.returncode == 1 and "D: other bits after 3 launches behind each other" in done.stderr, "bits", done)
        done = run_computing(folder, "bf16 f32 later", *words, "c=f32", "--beta", "0", "--in-place", "C")
        expect_exit(done, 0)


def test_a_fault_that_kernel_and_reference_share_is_seen_by_the_interpreter():
    """The computing driver takes D = acc, whatever the snippet says, of both kernels alike."""
    need_compiler()
    with Folder() as folder:
        words = ["100x60x72", "bf16", "d=f32", "batch=2", "--verify", "--repeat", "1", "--json"]
        done = run_computing(folder, "bf16 f32 none", *words, "--epilogue", "d = acc * 1.5f;")
        expect(done.returncode == 1 and "D: the reference is wrong" in done.stderr, "not seen", done)
        expect(json.loads(done.stdout)["result"] == "FAIL", "result", done)
        done = run_computing(folder, "bf16 f32 none", *words, "--epilogue", "d = acc * 1.0f;")
        expect_exit(done, 0)
        state = json.loads(done.stdout)
        expect(state["interpreted"] is True and state["interpreted_elements"] == 256, "not done", done)


def test_a_snippet_that_cannot_be_interpreted_says_why():
    need_compiler()
    with Folder() as folder:
        done = run_computing(folder, "bf16 f32 none", "100x60x72", "bf16", "d=f32", "--verify", "--json",
                             "--repeat", "1", "--epilogue", "float t[2] = {acc, acc}; d = t[1];")
        expect_exit(done, 0)
        state = json.loads(done.stdout)
        expect(state["interpreted"] is False and state["not_interpreted"].startswith("1:8: '['"),
               "reason", done)
        done = run_computing(folder, "bf16 f32 none", "100x60x72", "bf16", "d=f32", "--verify", "--json",
                             "--repeat", "1", "--epilogue", "d = acc; if (row > 3) { d += 0.0f * float(1 << col); }")
        state = json.loads(done.stdout)
        expect(state["interpreted"] is False and ": a shift by" in state["not_interpreted"], "reason", done)


def test_promises_of_alignment_are_not_outdone_and_guards_begin_at_the_matrix():
    need_compiler()
    words = ["100x60x72", "bf16", "output_align=2", "batch=2", "--verify", "--repeat", "1"]
    with Folder() as folder:
        done = run_computing(folder, "bf16 bf16 none", *words)
        expect_exit(done, 0)
        expect("D: rows of 60 bf16 elements are padded to 61, an odd multiple of 2 bytes"
               in done.stderr, "note", done)
        done = run_computing(folder, "bf16 bf16 before", *words)
        expect(done.returncode == 1 and
               "written before the matrix, 4095 bytes into" in done.stderr, "guard", done)


def test_lines_of_a_file_run_one_by_one_in_one_process():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "lines.txt"
        path.write_text("# none\n\n100x60x72 bf16 --seed 2\n  64x60x72 bf16 --epilogue 'd = acc * \"1.0f\";'\n"
                        "100x60x72 bf16 --epilogue 'd = acc * 1.0f;'\n")
        done = run_computing(folder, "bf16 bf16 none", "--verify", "--repeat", "1", "--lines", path)
        expect_exit(done, 1)
        lines = done.stdout.splitlines()
        expect(lines[0] == "line 3: 100x60x72 bf16 --seed 2" and "line 3: passed" in lines, "first", done)
        expect("line 4: failed" in lines and 'd = acc * "1.0f";' in done.stderr, "a quote in quotes", done)
        expect(lines[-2:] == ["line 5: passed", "3 lines: 2 passed, 1 failed, 0 refused"], "last", done)
        expect(len([line for line in lines if line.startswith("PASS ")]) == 2, "verified", done)


def test_a_line_that_fails_does_not_end_the_others():
    need_compiler()
    with Folder() as folder:
        text = b"100x59x72 bf16 d=f32 --ldd 64\n100x60x72 bf16 d=bf16 --alpha\n64x60x72 bf16 d=f32 'x\n"
        done = tool("run", "--lines=-", "--verify", *CONFIG, "--driver", DRIVER, "--repeat", "1", text=text,
                    cache=folder.cache, variables={"COMPUTING_DRIVER": "bf16 f32 after"})
        expect_exit(done, 1)
        expect([line for line in done.stdout.splitlines() if line.startswith("line ")][1::2] ==
               ["line 1: failed", "line 2: refused", "line 3: refused"], "verdicts", done)
        expect("--alpha needs a value" in done.stderr and "a quote has no end" in done.stderr, "why", done)


def test_what_does_not_go_with_lines_is_refused():
    rows = [(["--json"], "--lines and --json exclude"), (["--save", "x"], "--lines and --save exclude"),
            (["64x64x64", "bf16"], "leave out `64x64x64`")]
    for words, message in rows:
        done = tool("run", "--lines", "/dev/null", *words, "--driver", DRIVER)
        expect(done.returncode == 2 and message in done.stderr, message, done)
    done = tool("run", "--lines", "/none", "--driver", DRIVER)
    expect(done.returncode == 1 and "--lines /none: No such file" in done.stderr, "file", done)
    done = tool("run", "--lines", "-", "--driver", DRIVER, text=b"--lines x\n")
    expect(done.returncode == 2 and "a line has none of its own" in done.stderr, "nested", done)
    done = tool("run", "--lines", "-", "--driver", DRIVER, text=b"# none\n")
    expect(done.returncode == 2 and "0 lines: 0 passed" in done.stdout, "empty", done)


def test_without_verify_nothing_is_claimed_of_the_result():
    need_compiler()
    with Folder() as folder:
        done = run_computing(folder, "f16 f16 element", "64x64x64", "f16", "--repeat", "1")
        expect_exit(done, 0)
        expect(done.stdout.splitlines()[-1].startswith("DONE device=") and
               "PASS" not in done.stdout, "last line", done)


def test_alpha_seed_sizes_and_strides_reach_the_kernel():
    need_compiler()
    with Folder() as folder:
        words = ["m=128", "n=64", "k=64", "a=f16", "d=f32", "dynamic=m,k", "--verify", "--m",
                 "37", "--k", "48", "--lda", "56", "--ldb", "72", "--ldd", "68", "--repeat", "1"]
        plain = run_computing(folder, "f16 f32 none", *words, "--json")
        expect_exit(plain, 0)
        state = json.loads(plain.stdout)
        expect(state["result"] == "PASS" and state["rel_error"] < 1e-6, str(state))
        done = run_computing(folder, "f16 f32 none", *words, "--alpha", "-0.5", "--seed", "9")
        expect_exit(done, 0)
        done = run_computing(folder, "f16 f32 none", "64x64x64", "f16", "--m", "32")
        expect(done.returncode == 2 and "dynamic=m" in done.stderr, "an exact size", done)
        done = run_computing(folder, "f16 f32 none", "n=64", "k=64", "a=f16", "dynamic=m")
        expect(done.returncode == 2 and "`m` is dynamic and has no size" in done.stderr,
               "nothing would be launched, and nothing proven", done)
        done = run_computing(folder, "f16 f32 none", *words, "--lda", "40")
        expect(done.returncode == 2 and "less than its 48 columns" in done.stderr, "lda", done)


def test_a_launch_beyond_the_planned_sizes_gets_the_workspace_that_it_needs():
    need_compiler()
    with Folder() as folder:
        words = ["m=64", "n=64", "k=128", "batch=1", "a=f16", "dynamic=m,batch", "--config",
                 "split_k=2", "--verify", "--repeat", "1"]
        for sizes in (["--m", "130"], ["--batch", "3"], ["--m", "100", "--batch", "2"]):
            expect_exit(run_computing(folder, "f16 f16 none", *words, *sizes), 0)


def test_sizes_of_groups_that_have_no_room_are_refused():
    need_compiler()
    rows = (("group_by=offsets", "m=300", "100,201", "the groups have 301 rows in all, but M is 300"),
            ("group_by=counts", "m=300", "100,301", "the groups have 301 rows at most, but M is 300"),
            ("group_by=pointers", "m=300", "100,301", "the groups have 301 rows at most, but M is 300"),
            ("group_by=rows", "m=383", "128,256", "have 384 rows, but M is 383"),
            ("group_by=rows", "m=127", "1,1", "have 256 rows, but M is 127"))
    with Folder() as folder:
        for form, m, sizes, message in rows:
            done = run_computing(folder, "bf16 bf16 none", m, "n=64", "k=64", "bf16", "groups=2", form,
                                 "--group-sizes", sizes)
            expect(done.returncode == 2 and message in done.stderr, message, done)
        done = run_computing(folder, "bf16 bf16 none", "m=1000", "n=64", "k=64", "bf16", "groups=1000", "--host-sizes")
        expect(done.returncode == 2 and "room for 736 numbers" in done.stderr, "what a launch refuses", done)


def test_sizes_of_each_group_are_read_and_told():
    problem = ["m=30", "n=64", "k=64", "bf16", "groups=3", "group_by=pointers", "dynamic=n"]
    rows = ((problem, "--group-ns", "1,2", "--group-ns: 2 sizes are given, the problem has 3 groups"),
            (problem, "--group-ns", "1,x,3", "--group-ns: `1,x,3` is no list of sizes; give sizes such as 0,7,1200"),
            (problem, "--group-ns", "1,2,65", "--group-ns: group 2 has 65, more than `n`, which is 64"),
            (problem, "--group-ks", "1,2,3", "--group-ks needs group_by=pointers and dynamic=k in the problem"),
            (problem[:5] + problem[6:], "--group-ns", "1,2,3", "--group-ns needs group_by=pointers and dynamic=n"),
            (problem, "--ldb", "72", "--ldb: with group_by=pointers each group's rows lie as far apart"))
    with Folder() as folder:
        for words, option, sizes, message in rows:
            done = run_computing(folder, "bf16 bf16 none", *words, option, sizes)
            expect(done.returncode == 2 and message in done.stderr, message, done)


def test_bench_refuses_what_it_does_not_measure():
    rows = ((["n=64", "k=64", "a=f16", "dynamic=m"], "dynamic size"),
            (["64x128x128", "e4m3", "d_scale=1x128", "groups=8"], "groups beside computed scales of D are not measured"),
            (["m=128", "n=64", "k=128", "e4m3", "d=bf16", "layout=tn", "a_scale=1x128", "b_scale=1x128", "a_scale_layout=column",
              "b_scale_layout=column", "groups=8", "group_by=k_offsets", "--arch", "sm_100a"], "groups along K are measured with scales"),
            (["64x64x64", "f16", "groups=8", "--group-sizes", "1,2"], "2 sizes are given, the problem has 8 groups"),
            (["64x64x64", "f16", "groups=2", "--group-sizes", "1,x"], "or uniform or zipf"),
            (["64x64x64", "f16", "--group-sizes", "1,2"], "--group-sizes needs groups in a problem"))
    for words, message in rows:  # before a driver is looked for
        done = tool("bench", *words, "--driver", "/nonexistent/libcuda.so")
        expect(done.returncode == 2 and message in done.stderr, message, done)


def test_bench_times_nothing_that_was_not_written():
    need_compiler()
    with Folder() as folder:
        for types, problem in (("s8 s32", ["s8"]), ("e4m3 bf16", ["e4m3", "d=bf16"])):
            words = ["bench", "64x64x64", *problem, *QUICK_ROUND, *CONFIG, "--driver", DRIVER]
            done = tool(*words, cache=folder.cache,
                        variables={"COMPUTING_DRIVER": types + " unwritten"})
            expect(done.returncode == 1 and "not written" in done.stderr, types, done)
        done = tool(*words, cache=folder.cache, variables={"COMPUTING_DRIVER": types + " none"})
        expect_exit(done, 0)
        expect(re.search(r"^  jit_gemm +\d", done.stdout, re.M), "a time", done)


def test_bench_gives_every_scale_and_reads_those_of_d():
    need_compiler()
    rows = (["a_scale=1x128", "b_scale=128x128", "b_scale_layout=column"],
            ["a_scale=vector", "b_scale=tensor"])
    with Folder() as folder:
        for scales in rows:
            done = tool("bench", "68x64x136", "e4m3", "d=bf16", "batch=2", *scales, *QUICK_ROUND,
                        *CONFIG, "--driver", DRIVER, cache=folder.cache,
                        variables={"COMPUTING_DRIVER": "e4m3 bf16 none"})
            expect_exit(done, 0)
            expect(re.search(r"^  jit_gemm +\d", done.stdout, re.M), "a time", done)
        done = tool("bench", "64x64x64", "e4m3", "d_scale=1x128", *QUICK_ROUND, *CONFIG, "--driver", DRIVER,
                    cache=folder.cache, variables={"COMPUTING_DRIVER": "e4m3 e4m3 none"})
        expect(done.returncode == 1 and "not written" in done.stderr, "scales of D", done)


def test_a_pitch_that_the_kernel_cannot_take_is_refused():
    need_compiler()
    with Folder() as folder:
        done = run_computing(folder, "f16 f16 none", "64x64x64", "f16", "--lda", "65")
        expect(done.returncode == 2 and "args.a.ld" in done.stderr, "the field is named", done)


def test_gpu_run_passes_and_the_last_line_has_its_form():
    need_gpu()
    with Folder() as folder:
        words = ["run", "1000x520x264", "bf16", "d=f32", "layout=nn", "--verify"]
        for origin in ("compiled", "disk"):
            done = tool(*words, cache=folder.cache)
            expect_exit(done, 0)
            expect(re.fullmatch(r"PASS rel_error=\S+ device=\S+ arch=sm_90a "
                                rf"origin={origin} kernel_us=[0-9.]+",
                                done.stdout.splitlines()[-1]), "last line", done)


def test_gpu_run_with_operands_and_json():
    need_gpu()
    with Folder() as folder:
        done = tool("run", "300x200x100", "f16", "batch=3", "--verify", "--json", "--epilogue",
                    "aux = acc; d = relu(acc + bias) * s;", "--operand", "bias:row_vector:f16",
                    "--operand", "aux:matrix:bf16:out", "--operand", "s:scalar:f32",
                    cache=folder.cache)
        expect_exit(done, 0)
        expect(json.loads(done.stdout)["result"] == "PASS", "result", done)


def test_gpu_bench_measures():
    need_gpu()
    with Folder() as folder:
        done = tool("bench", "512x512x512", "bf16", "512x512x512 f16", "--rounds", "2", "--json",
                    cache=folder.cache)
        expect_exit(done, 0)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        expect(len(rows) == 2, "one line per problem", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
