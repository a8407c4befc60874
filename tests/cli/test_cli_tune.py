#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives `jit-gemm tune`, and `--recipe` of the other commands. Prints TAP.

Usage: test_cli_tune.py JIT_GEMM SOURCE_ROOT COMPUTING_DRIVER

The driver computes on the host, by a clock of its own: the more shared memory a kernel has, the less
time it takes.
"""
import json
import os
import re
import signal
import subprocess
import sys

from cli_harness import (ARCH, TOOL, Folder, clean_environment, expect, expect_exit, expect_width, named_tests,
                         need_compiler, run_tests, tool)

DRIVER = sys.argv[3]
HEAD = "jit_gemm recipe 1\n"
FIRST = ["16x16x64", "bf16"]
SECOND = ["16x32x64", "bf16"]
# The fake driver multiplies A by B, as the library asks it to: not B by A.
QUICK = ["--config", "swap_ab=0", "--rounds", "2", "--candidates", "3"]
LINE = r"problem sm_90a (m=16 n=\d+ k=64 a=bf16) config=(kernel=gemm .*) # measured (.*) us, " \
       r"predicted (.*) us, on .*, \d+ multiprocessors"


def computing(fault="none"):
    return {"COMPUTING_DRIVER": f"bf16 bf16 {fault}", "COMPUTING_CLOCK": "1"}


def tune(*words, fault="none"):
    return tool("tune", *words, *QUICK, "--driver", DRIVER, variables=computing(fault))


def write(folder, text):
    path = folder.path / "hand.recipe"
    path.write_text(HEAD + text, encoding="ascii")
    return path


def chosen(done):
    expect_exit(done, 0)
    return re.search(r"^chosen: (.*): predicted", done.stdout, re.M).group(1)


def test_a_recipe_is_measured_written_and_obeyed():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "h.recipe"
        done = tune(*FIRST, *SECOND, "-o", path)
        expect_exit(done, 0)
        lines = path.read_text(encoding="ascii").splitlines()
        expect(lines[0] + "\n" == HEAD and len(lines) == 3, "lines", done)
        for line, sizes in zip(lines[1:], ("m=16 n=16", "m=16 n=32")):
            found = re.fullmatch(LINE, line)
            expect(found and found.group(1).startswith(sizes), line)
            table = done.stdout[done.stdout.index(found.group(1)):].split("\n\n")[0]
            expect_width(table)
            rows = [row for row in re.sub(r"\n {40,}", " ", table).splitlines() if " kernel=gemm " in row]
            measured = [float(row.split()[1]) for row in rows]
            expect(len(rows) == 3 and measured == sorted(measured), "three candidates, the fastest first", done)
            expect(["(the fastest)" in row for row in rows] == [True, False, False], "the fastest", done)
            expect(found.group(2) in rows[0] and found.group(3) == rows[0].split()[1], "the line is the fastest's", done)
            choice = [row for row in rows if "(the model's choice)" in row]
            expect(len(choice) == 1 and choice[0] is not rows[0], "the model's choice is another", done)
            expect(float(choice[0].split()[2]) == 1, "ratio to the model's choice", done)
        last = done.stdout.splitlines()[-1]
        expect(re.fullmatch(r"tune: problems=2 failed=0 candidates=6 regret_median=\d\.\d+ regret_p95=\d\.\d+ "
                            rf"regret_worst=\d+\.\d+ recipe={path}", last), last)
        plan = tool("plan", *FIRST, *ARCH, "--recipe", path)
        expect(chosen(plan) == re.fullmatch(LINE, lines[1]).group(2), "plan takes it", plan)
        expect(f"recipe: chosen by recipe {path}:2 (measured" in " ".join(plan.stdout.split()), "plan says so", plan)
        run = tool("run", *FIRST, "--verify", "--recipe", path, "--driver", DRIVER,
                   variables=computing())
        expect(f"recipe   {path}:2" in run.stdout and " origin=disk " in run.stdout, "run takes it", run)


def test_json_has_all_candidates_and_the_summary():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "h.recipe"
        done = tune("16x16x64", "bf16", "16x16x256", "bf16", "16x16x192", "bf16", "-o", path, "--json")
        expect_exit(done, 0)
        *problems, last = map(json.loads, done.stdout.splitlines())
        expect([one["problem"] for one in problems] == [f"m=16 n=16 k={k} a=bf16" for k in (64, 256, 192)] and
               {one["arch"] for one in problems} == {"sm_90a"}, "problems", done)
        regrets = []
        for one in problems:
            tried = one["candidates"]
            expect(len(tried) == 3 and len({each["config"] for each in tried}) == 3, "candidates", done)
            best = min(range(3), key=lambda i, tried=tried: tried[i]["measured_us"])
            expect(one["best"] == best, "best", done)
            expect(f"{one['problem']} config={tried[best]['config']} #" in path.read_text(encoding="ascii"), "line", done)
            for each in tried:
                expect(abs(each["measured_us"] / tried[0]["measured_us"] / each["ratio"] - 1) < 1e-6, "ratio", done)
            regrets.append(tried[0]["measured_us"] / tried[best]["measured_us"])
        summary = last["summary"]
        expect(len(set(regrets)) == 3, f"regrets that show nothing: {regrets}")
        for name, expected in zip(("median", "p95", "worst"), sorted(regrets)[1:] + [max(regrets)]):
            expect(abs(summary["regret_" + name] / expected - 1) < 1e-6, name, done)
        expect(summary["problems"] == 3 and summary["failed"] == 0 and summary["candidates"] == 9 and
               summary["recipe"] == str(path), "summary", done)


def test_an_update_replaces_its_problems_and_keeps_the_rest():
    need_compiler()
    with Folder() as folder:
        kept = "problem sm_100a 16x16x64 bf16 config=mma=128x64 # mine\n"
        path = write(folder, "# why\nproblem sm_90a 16x16x64 bf16 config=tile=64x64\n" + kept)
        done = tune(*FIRST, *SECOND, "-o", path)
        expect(done.returncode == 2 and "is there already; --update" in done.stderr, "an old file", done)
        done = tune(*FIRST, *SECOND, "-o", path, "--update")
        expect_exit(done, 0)
        lines = path.read_text(encoding="ascii").splitlines()
        expect(lines[1] == "# why" and lines[3] + "\n" == kept and len(lines) == 5, "\n".join(lines), done)
        expect(re.fullmatch(LINE, lines[2]) and "n=16 " in lines[2], lines[2])
        expect(re.fullmatch(LINE, lines[4]) and "n=32 " in lines[4], lines[4])


def test_problems_come_from_a_file_too():
    need_compiler()
    with Folder() as folder:
        shapes = folder.path / "shapes.txt"
        shapes.write_text("# two\n\n16x32x64 bf16\n  16x48x64 bf16\r\n", encoding="ascii")
        path = folder.path / "h.recipe"
        done = tune(*FIRST, "--shapes", shapes, "-o", path)
        expect_exit(done, 0)
        expect("tune: problems=3 failed=0 candidates=9 " in done.stdout, "three problems", done)
        expect(len(path.read_text(encoding="ascii").splitlines()) == 4, "three lines", done)
        shapes.write_text("16x32x64 bf16\n16x32 bf16\n", encoding="ascii")
        done = tune("--shapes", shapes, "-o", folder.path / "i.recipe")
        expect(done.returncode == 2 and "shapes.txt: line 2" in done.stderr, "a wrong line", done)


def test_a_recipe_may_be_for_sizes_of_groups():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "h.recipe"
        words = ["m=90", "n=48", "k=64", "bf16", "groups=4"]
        done = tune(*words, "--group-sizes", "0,7,64,19", "--plan-sizes", "-o", path)
        expect_exit(done, 0)
        line = path.read_text(encoding="ascii").splitlines()[1]
        expect(" typical_sizes=1x0,1x7,1x19,1x64 a=bf16 config=" in line, line)
        plan = tool("plan", *words, "--group-sizes", "19,64,7,0", *ARCH, "--recipe", path)
        expect(f"{path}:2 " in " ".join(plan.stdout.split()), "the same sizes in any order", plan)
        plan = tool("plan", *words, *ARCH, "--recipe", path)
        expect("recipe" not in plan.stdout, "without sizes it is another problem", plan)


def test_what_cannot_be_done_is_told_before_anything_is_compiled():
    with Folder() as folder:
        old = write(folder, "problem sm_90a 16x16x64 bf16\n")
        missing = folder.path / "no" / "h.recipe"
        new = folder.path / "h.recipe"
        rows = (([*FIRST], 2, "-o FILE is missing"),
                ([*FIRST, "-o", "-"], 2, "-o needs a file"),
                (["-o", new], 2, "a problem is missing"),
                ([*FIRST, "-o", new, "--candidates", "0"], 2, "--candidates: from 1 to 32"),
                ([*FIRST, "-o", new, "--candidates", "33"], 2, "--candidates: from 1 to 32"),
                ([*FIRST, "-o", new, "--recipe", old], 2, "leave --recipe out"),
                ([*FIRST, "-o", new, "--device", "emulator"], 2, "tune --device emulator: times of an emulated"),
                (["16x128x128", "e4m3", "d_scale=1x128", "groups=8", "-o", new], 2, "groups beside computed scales of D are not measured"),
                ([*FIRST, "-o", new, "--group-sizes", "8,8"], 2, "--group-sizes needs groups in a problem"),
                (["16x16x64", "bf16", "groups=2", "-o", new, "--group-sizes", "8,9"], 2, "the groups have 17 rows in all"),
                ([*FIRST, *SECOND, "m=16", "n=16", "k=64", "a=bf16", "d=bf16", "-o", new], 2, "is there twice"),
                (["9x16x64", "bf16", "dynamic=m", "16x16x64", "bf16", "dynamic=m", "-o", new], 2, "is there twice"),
                ([*FIRST, "-o", old, "--update"], 2, f"recipe {old}:2: problem.config"),
                ([*FIRST, "-o", missing], 1, "cannot be created"),
                ([*FIRST, "-o", folder.path, "--update"], 1, "cannot be"))
        for words, code, message in rows:
            driver = [] if "emulator" in words else ["--driver", DRIVER]
            done = tool("tune", *words, *driver, cache=folder.cache, variables=computing())
            expect(done.returncode == code and message in done.stderr, f"{words}: {message}", done)
            expect(done.stdout == "", "something was measured", done)
        expect(sorted(os.listdir(folder.path)) in (["cache", "hand.recipe"], ["hand.recipe"]), "files are left")
        done = tool("tune", *FIRST, "-o", new, "--config", "kernel=reference", "--driver", DRIVER,
                    cache=folder.cache, variables=computing())
        expect(done.returncode == 2 and "reference kernel has no candidates" in done.stderr, "reference", done)


def test_without_a_gpu_it_fails_as_bench_does():
    with Folder() as folder:
        variables = {"JIT_GEMM_DRIVER": "/dev/null/libcuda.so"}
        done = tool("tune", *FIRST, "-o", folder.path / "h.recipe", variables=variables)
        other = tool("bench", *FIRST, variables=variables)
        expect(done.returncode == other.returncode == 1 and done.stderr == other.stderr, "no GPU", done)
        expect(not os.listdir(folder.path), "a file is left")


def test_kernels_that_disagree_write_nothing():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "h.recipe"
        done = tune(*FIRST, "-o", path, fault="unwritten")
        expect(done.returncode == 1 and "nothing was measured, and nothing written" in done.stderr, "wrong", done)
        expect("tune: problems=1 failed=1 candidates=0 " in done.stdout, "the summary", done)
        expect(not path.exists(), "a file is left")


def test_a_candidate_that_computes_something_else_is_named():
    need_compiler()
    with Folder() as folder:
        done = tune(*FIRST, "-o", folder.path / "h.recipe", fault="large")
        expect(done.returncode == 1 and re.search(r"candidate and jit_gemm disagree: .* nothing was timed "
                                                  r"\(kernel=gemm tile=64x256x64 ", done.stderr), "the third", done)


def test_results_beside_d_are_compared():
    need_compiler()
    with Folder() as folder:
        words = [*FIRST, "--epilogue", "d = acc; s = acc;", "--operand", "s:column_vector:f32:sum"]
        for fault, code in (("none", 0), ("large_sum", 1)):
            done = tool("tune", *words, *QUICK, "-o", folder.path / f"{fault}.recipe", "--driver", DRIVER,
                        variables={**computing(fault), "COMPUTING_SUMS": "rows"})
            expect(done.returncode == code and ("candidate and jit_gemm disagree" in done.stderr) == bool(code), fault, done)


def test_one_problem_that_fails_leaves_the_others():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "h.recipe"
        done = tune(*FIRST, "max_registers=1", *SECOND, "-o", path)
        expect(done.returncode == 1 and "the model's choice cannot be made" in done.stderr, "a budget", done)
        expect("tune: problems=2 failed=1 candidates=3 " in done.stdout, "the summary", done)
        lines = path.read_text(encoding="ascii").splitlines()
        expect(len(lines) == 2 and "n=32" in lines[1], "\n".join(lines), done)


def test_an_interrupt_writes_nothing():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "h.recipe"
        words = [word for i in range(40) for word in (f"16x{16 + 8 * i}x64", "bf16")]
        environment = clean_environment(JIT_GEMM_CACHE_DIR=folder.cache, **computing())
        with subprocess.Popen([str(TOOL), "tune", *words, "-o", str(path), *QUICK, "--driver", DRIVER],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            while b"fastest)" not in process.stdout.readline():
                expect(process.poll() is None, "it ended before a problem was measured")
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        expect(process.returncode == 1 and errors.decode() == "jit-gemm: error: interrupted; nothing was written\n",
               f"{process.returncode}: {errors.decode()}")
        expect(b"tune: problems" not in output, output.decode())
        expect(os.listdir(folder.path) == ["cache"], str(os.listdir(folder.path)))


def test_every_command_on_problems_takes_a_recipe():
    need_compiler()
    with Folder() as folder:
        path = write(folder, "problem sm_90a 256x256x128 bf16 config=tile=64x128 cluster=1x1\n")
        words = ["256x256x128", "bf16", *ARCH, "--recipe", path]
        manifest = folder.path / "m.manifest"
        manifest.write_text("jit_gemm manifest 1\nproblem 256x256x128 bf16\n", encoding="ascii")
        plain = tool("build", "256x256x128", "bf16", *ARCH, "--emit", "source", "-o", "-").stdout
        source = tool("build", *words, "--emit", "source", "-o", "-").stdout
        expect("tile=64x128" in source and "tile=64x128" not in plain, "build")
        done = tool("prewarm", manifest, *ARCH, "--recipe", path, cache=folder.cache)
        expect("cached=0 compiled=1" in done.stdout, "prewarm", done)
        done = tool("verify-manifest", manifest, *ARCH, cache=folder.cache)
        expect(done.returncode == 1, "the model's kernel is there", done)
        done = tool("verify-manifest", manifest, *ARCH, "--recipe", path, cache=folder.cache)
        expect_exit(done, 0)
        done = tool("prewarm", manifest, *ARCH, "--recipe", path, cache=folder.cache)
        expect("cached=1 compiled=0" in done.stdout, "prewarm", done)


def test_a_wrong_recipe_is_an_error_of_every_command():
    with Folder() as folder:
        path = write(folder, "# one\nproblem sm_90a 16x16x64 bf16 config=tile=1000x1000\n")
        manifest = folder.path / "m.manifest"
        manifest.write_text("jit_gemm manifest 1\nproblem 256x256x128 bf16\n", encoding="ascii")
        for words in (["plan", *SECOND], ["build", *SECOND, "-o", "-"], ["prewarm", manifest],
                      ["verify-manifest", manifest]):
            done = tool(*words, *ARCH, "--recipe", path, cache=folder.cache)
            expect(done.returncode == 2 and f"recipe {path}:3: problem.config: " in done.stderr, words[0], done)
        done = tool("plan", *SECOND, *ARCH, "--recipe", folder.path / "none")
        expect(done.returncode == 1 and "none' cannot be read" in done.stderr, "no file", done)


def test_words_of_the_command_line_win():
    with Folder() as folder:
        path = write(folder, "problem sm_90a 4096x4096x4096 bf16 config=tile=128x128 cluster=1x1\n")
        words = ["4096x4096x4096", "bf16", *ARCH, "--recipe", path]
        expect("tile=128x128" in chosen(tool("plan", *words)), "taken")
        expect("tile=128x128" in chosen(tool("plan", *words, "--config", "cluster=1x1")), "taken with its own words")
        done = tool("plan", *words, "--config", "tile=128x256")
        expect("tile=128x256" in chosen(done) and f"recipe: {path}:2 is not taken" in done.stdout, "not taken", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
