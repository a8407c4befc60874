#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`jit-gemm bench --modelled` and `trace --modelled`. Prints TAP.

Usage: test_modelled.py JIT_GEMM SOURCE_ROOT EMULATOR

No time is compared with a number here: what must be slower is slower, twice the work takes about
twice the time, and the same takes the same time again, to the last digit.
"""
import json
import pathlib
import re
import sys

from cli_harness import (Folder, emulator_by_name, expect, expect_exit, expect_width, named_tests, need_compiler,
                         run_tests, tool)

EMULATOR = pathlib.Path(sys.argv[3]).resolve()


def bench(folder, *words, settings="sms=8", arch="sm_90a"):
    return tool("bench", *words, "--device", "emulator", "--arch", arch, "--modelled",
                cache=folder.cache, variables=emulator_by_name(EMULATOR, settings))


def times(folder, *problems, **more):
    words = [f"{problem}" for problem in problems]
    done = bench(folder, *words, "--json", **more)
    expect_exit(done, 0)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    expect(len(lines) == len(problems) and all(line["modelled"] is True for line in lines),
           "a line each, and each says that it is modelled", done)
    return [line["modelled_us"] for line in lines]


def test_the_same_takes_the_same_time_again():
    need_compiler()
    with Folder() as folder:
        for arch in ("sm_90a", "sm_100a"):
            first = times(folder, "512x512x512 bf16", arch=arch)
            other = times(folder, "512x512x512 bf16", arch=arch,
                          settings="sms=8,seed=5,async=latest,schedule=deep")
            expect(first == other, f"{arch}: {first} and {other}")


def test_more_work_takes_more_time():
    need_compiler()
    config = "config=tile=128x128 cluster=1x1 stages=4"
    with Folder() as folder:
        once, twice = times(folder, f"512x512x2048 bf16 {config}", f"512x512x4096 bf16 {config}")
        expect(1.7 * once < twice < 2.1 * once, f"twice K: {once} and {twice}")
        few, many = times(folder, f"256x512x2048 bf16 {config}", f"1024x512x2048 bf16 {config}")
        expect(3 * few < many < 5 * few, f"one tile a multiprocessor, and four: {few} and {many}")


def test_what_loses_on_a_gpu_loses_here():
    need_compiler()
    with Folder() as folder:
        good, short = times(folder, "512x1024x2048 bf16 config=tile=128x128 cluster=1x1 stages=6",
                            "512x1024x2048 bf16 config=tile=128x128 cluster=1x1 stages=2")
        expect(short > 1.2 * good, f"two stages do not hide the latency: {good} and {short}")
        large, small = times(folder, "1024x1024x1024 bf16 config=tile=128x256 cluster=1x1",
                             "1024x1024x1024 bf16 config=tile=64x64 cluster=1x1")
        expect(small > 1.2 * large, f"small tiles ask for more bytes: {large} and {small}")
        plain, fused = times(folder, "1024x1024x64 bf16", "1024x1024x64 bf16 epilogue=bias_gelu")
        expect(fused > plain, f"an epilogue costs something: {plain} and {fused}")


def test_blackwell_pairs_and_stages():
    need_compiler()
    with Folder() as folder:
        good, short = times(folder, "1024x1024x2048 bf16 config=mma=256x256 cluster=2x1",
                            "1024x1024x2048 bf16 config=mma=256x256 cluster=2x1 stages=2",
                            arch="sm_100a")
        expect(short > 1.1 * good, f"{good} and {short}")


def test_tiles_that_hang_over_are_timed():
    """Rows and columns outside of a matrix bring nothing."""
    need_compiler()
    rows = (("sm_90a", "tile=128x128 cluster=2x1"), ("sm_100a", "mma=256x192 cluster=4x1"))
    with Folder() as folder:
        for arch, config in rows:
            whole, less = times(folder, f"1024x768x512 bf16 config={config}",
                                f"1000x712x512 bf16 config={config}", arch=arch)
            expect(0.8 * whole < less < 1.02 * whole, f"{arch}: {whole} and {less}")


def test_a_clock_and_a_chip_can_be_named():
    need_compiler()
    with Folder() as folder:
        named = bench(folder, "256x256x256 bf16", "--mhz", "1000", "--json")
        for settings in ("sms=8,mhz=2000", "sms=8," + 100 * "seed=5," + "mhz=2000"):
            other = bench(folder, "256x256x256 bf16", "--mhz", "1000", "--json", settings=settings)
            expect(other.stdout == named.stdout, f"an option comes before the environment: {settings[:30]}", other)
        slow = bench(folder, "256x256x256 bf16", "--mhz", "1000", "--chip", "h100", "--json")
        fast = bench(folder, "256x256x256 bf16", "--mhz", "2000", "--chip", "h100", "--json")
        expect(json.loads(slow.stdout)["modelled_us"] > json.loads(fast.stdout)["modelled_us"],
               "a faster clock", slow)
        table = bench(folder, "256x256x256 bf16")
        lines = table.stdout.splitlines()
        expect(lines and lines[0].startswith("modelled ") and all(line[0] == " " for line in lines[1:]), "lines", table)
        expect_width(table.stdout)


def report(folder, problem, settings="sms=8", arch="sm_100a"):
    """What --verbose says of a launch: clocks, the clock that power leaves, parts of a tensor
    core's time."""
    done = bench(folder, problem, "--verbose", settings=settings, arch=arch)
    expect_exit(done, 0)
    whole = re.search(r"modelled on \w+: (\d+) clocks, .* at (\d+) MHz, .* at the (\d+) MHz that",
                      done.stderr)
    parts = re.search(r"means of \d+: (\d+) before the first product, (\d+) of products, (\d+) of rest "
                      r"between sums \(([\d.]+) sums each; at most (\d+) at once\), (\d+) within sums, "
                      r"(\d+) of products slowed down at shared memory, (\d+) behind", done.stderr)
    expect(whole is not None and parts is not None, "no report", done)
    names = ("begin", "products", "between", "sums", "longest", "within", "slowed", "end")
    return [int(word) for word in whole.groups()], dict(zip(names, map(float, parts.groups())))


def test_parts_of_the_time_add_up():
    need_compiler()
    pair = "config=mma=256x256 cluster=2x1 stages="
    with Folder() as folder:
        for arch, config in (("sm_90a", "config=tile=128x128 cluster=1x1"), ("sm_100a", f"{pair}4")):
            whole, parts = report(folder, f"1024x1024x512 bf16 {config}", arch=arch)
            total = sum(parts[name] for name in parts if name not in ("sums", "longest"))
            expect(abs(total - whole[0]) <= 4, f"{arch}: {total} of {whole[0]}: {parts}")
            expect(parts["begin"] > 100 and parts["end"] > 100, f"{arch}: {parts}")
        _, full = report(folder, f"1024x1024x1024 bf16 {pair}6")
        _, starved = report(folder, f"1024x1024x1024 bf16 {pair}2")
        expect(starved["within"] > full["within"] + 1000,
               f"two stages do not hide the latency: {full}, {starved}")
        _, one = report(folder, f"1024x1024x256 bf16 {pair}4 acc_stages=1")
        _, two = report(folder, f"1024x1024x256 bf16 {pair}4 acc_stages=2")
        expect(one["between"] > two["between"] + 500 and one["longest"] > two["longest"],
               f"one accumulator waits for its epilogue at every tile: {one}, {two}")
        expect(one["sums"] == two["sums"] == 4, f"a tile of 16 for each of 4 pairs: {one}, {two}")


def test_groups_have_modelled_times():
    need_compiler()
    with Folder() as folder:
        for arch in ("sm_90a", "sm_100a"):
            done = bench(folder, "m=1024 n=256 k=512 a=bf16 groups=4", "--group-sizes",
                         "128,128,256,512", "--json", arch=arch)
            less = bench(folder, "m=1024 n=256 k=512 a=bf16 groups=4 dynamic=m", "--group-sizes",
                         "0,128,0,0", "--json", arch=arch)
            expect_exit(done, 0)
            expect_exit(less, 0)
            whole, part = json.loads(done.stdout), json.loads(less.stdout)
            flops = [row["modelled_us"] * row["modelled_tflops"] for row in (whole, part)]
            expect(7.5 < flops[0] / flops[1] < 8.5, f"{arch}: products of the groups: {flops}", less)
            expect(whole["modelled_us"] > part["modelled_us"], f"{arch}: rows", done)
        us = times(folder, *(f"m=512 n=256 k={k} mxfp8 d=bf16 groups=4" for k in (512, 4096)), arch="sm_100a")
        expect(us[1] > 2 * us[0], f"scales of a byte: {us}")
        done = bench(folder, "256x256x256 bf16", "--group-sizes", "1,2")
        expect(done.returncode == 2 and "--group-sizes needs groups" in done.stderr, "none", done)


def test_first_waves_stand_for_a_large_launch():
    """Within 2 percent of the whole launch, of which a third runs; the output says what ran."""
    need_compiler()
    problem = "2048x3072x1024 bf16 config=tile=128x256 cluster=2x1"
    with Folder() as folder:
        whole, part = (bench(folder, problem, "--json", "--mhz", "1500", settings=f"sms=24,whole={whole}")
                       for whole in (0, 1))
        expect_exit(part, 0)
        us = [json.loads(run.stdout)["modelled_us"] for run in (whole, part)]
        expect(0.98 * us[0] < us[1] < 1.02 * us[0] and us[0] != us[1], f"{us}", part)
        said = re.search(r"from the first waves: .* begun (\d+) of (\d+) sums; 4 of 12 clusters", part.stderr)
        expect(said and 0 < int(said[1]) < int(said[2]) / 2, "which waves ran", part)
        expect("first waves" not in whole.stderr, "all of it was asked for", whole)


def test_power_slows_busy_tensor_cores():
    need_compiler()
    with Folder() as folder:
        (_, boost, busy), _ = report(folder, "1024x1024x4096 bf16 config=mma=256x256 cluster=2x1")
        (_, _, idle), _ = report(folder, "128x512x256 bf16")
        expect(busy < 0.85 * boost and idle == boost, f"{boost}, {busy} and {idle}")


def test_modelled_times_stay_out_of_results():
    rows = ((["--out", "x.jsonl"], "measured"), (["--against", "cublaslt"], "--against"),
            (["--rounds", "3"], "--rounds"), (["--warmup-ms", "1"], "--warmup-ms"),
            (["--chip", "b300"], "h100"), (["--mhz", "-1"], "--mhz"))
    with Folder() as folder:
        for words, reason in rows:
            done = bench(folder, "256x256x256 bf16", *words)
            expect(done.returncode == 2 and reason in done.stderr, str(words), done)
        done = bench(folder, "256x256x256 bf16", settings="seed=1,timing=off")
        expect(done.returncode == 2 and "timing=off" in done.stderr, "not timed", done)
        done = tool("bench", "256x256x256 bf16", "--modelled", cache=folder.cache)
        expect(done.returncode == 2 and "--device emulator" in done.stderr, "no emulator", done)
        done = tool("bench", "256x256x256 bf16", "--chip", "h100", cache=folder.cache)
        expect(done.returncode == 2 and "--modelled" in done.stderr, "not modelled", done)


def test_a_trace_has_modelled_times():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "timeline.json"
        done = tool("trace", "512x512x512", "bf16", "--device", "emulator", "--arch", "sm_90a", "-o",
                    path, "--modelled", variables=emulator_by_name(EMULATOR, "sms=8"))
        expect_exit(done, 0)
        expect("modelled times" in done.stderr, "it does not say what the times are", done)
        document = json.loads(path.read_text(encoding="utf-8"))
        expect(document["otherData"]["modelled"] is True, "not said in the file")
        events = [event for event in document["traceEvents"] if event["ph"] == "X"]
        loads = [event for event in events if event["cat"] == "load"]
        expect(loads and all(event["dur"] >= 0 for event in events), "bars")
        done = tool("trace", "512x512x512", "bf16", "-o", path, "--modelled", cache=folder.cache)
        expect(done.returncode == 2 and "--device emulator" in done.stderr, "no emulator", done)


def trace(folder, *words, problem="512x512x512", **more):
    return tool("trace", problem, "bf16", "-o", folder.path / "timeline.json", *words,
                cache=folder.cache, variables=emulator_by_name(EMULATOR, "sms=8"), **more)


def test_a_trace_has_a_clock_and_a_chip():
    need_compiler()
    modelled = ("--device", "emulator", "--arch", "sm_90a", "--modelled", "--json")
    lasts = {}
    with Folder() as folder:
        for chip, mhz in (("h100", "1000"), ("h100", "2000"), ("h200", "1000")):
            # Few rows: what a GPC draws is the limit.
            done = trace(folder, *modelled, "--chip", chip, "--mhz", mhz, problem="64x1024x4096")
            expect_exit(done, 0)
            said = json.loads(done.stdout)
            expect((said["modelled"], said["chip"], said["mhz"]) == (True, chip, int(mhz)), "what it is", done)
            events = json.loads((folder.path / "timeline.json").read_text(encoding="utf-8"))["traceEvents"]
            lasts[chip, mhz] = max(event["ts"] + event["dur"] for event in events if event["ph"] == "X")
        expect(lasts["h100", "1000"] > 1.5 * lasts["h100", "2000"], f"twice the clock: {lasts}")
        expect(lasts["h100", "1000"] != lasts["h200", "1000"], f"two chips: {lasts}")
        rows = ((("--chip", "h100"), "--modelled"), ((*modelled, "--chip", "b300"), "h100"),
                ((*modelled, "--mhz", "-1"), "--mhz"), ((*modelled, "--mhz", "10001"), "--mhz"))
        for words, reason in rows:
            done = trace(folder, *words)
            expect(done.returncode == 2 and reason in done.stderr, str(words), done)
        done = trace(folder, *modelled, "--chip", "b200")
        expect(done.returncode == 1 and "timing=b200 is of sm_100" in done.stderr, "another kind of chip", done)


def test_blocks_of_a_group_are_worked_on_one_after_the_other():
    """Blocks lie in turns: by groups where tiles come in several rounds, as they lie where all run at once."""
    need_compiler()
    configs = {"sm_90a": "tile=128x128", "sm_100a": "mma=128x128 scheduler=static"}
    with Folder() as folder:
        path = folder.path / "order.json"
        for arch, config in configs.items():
            for ctas, wanted in ((4, [0, 0, 1, 1, 2, 2, 3, 3]), (16, [0, 1, 2, 3, 0, 1, 2, 3])):
                done = tool("trace", "m=1024", "n=256", "k=64", "bf16", "groups=4", "group_by=rows", "--device",
                            "emulator", "--arch", arch, "--ctas", "16", "-o", path, "--config",
                            f"{config} cluster=1x1 raster=m raster_group=2", cache=folder.cache,
                            variables=emulator_by_name(EMULATOR, f"sms={ctas}"))
                expect_exit(done, 0)
                groups = [[] for _ in range(ctas)]  # of each CTA's tiles
                for event in json.loads(path.read_text(encoding="utf-8"))["traceEvents"]:
                    if event["ph"] == "X" and event["cat"] == "load":
                        groups[event["pid"]].append(event["args"]["batch"])
                listed = [group for tiles in zip(*groups) for group in tiles]
                expect(listed[::2] == listed[1::2] == wanted, f"{arch}, {ctas} CTAs: {listed}")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
