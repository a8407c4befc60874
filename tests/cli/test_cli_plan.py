#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `jit-gemm plan` prints. TAP.

Usage: test_cli_plan.py JIT_GEMM SOURCE_ROOT

Nothing here needs a GPU or a compiler.
"""
import json
import re
import sys
import xml.dom.minidom

from cli_harness import ARCH, Folder, expect, expect_exit, named_tests, run_tests, tool


def test_plan_prints_a_config_that_it_takes_back():
    done = tool("plan", "4096x4096x4096", "bf16", *ARCH)
    expect_exit(done, 0)
    match = re.search(r"kernel=gemm tile=\S+ cluster=\S+ [a-z_0-9= ]*pdl=[01]", done.stdout)
    expect(match, "no config", done)
    again = tool("plan", "4096x4096x4096", "bf16", *ARCH, "--config", match.group(0))
    expect_exit(again, 0)
    expect(match.group(0) in again.stdout, "the config was not taken", again)
    state = json.loads(tool("plan", "4096x4096x4096", "bf16", *ARCH, "--json").stdout)
    expect(state["arch"] == "sm_90a" and match.group(0) in state["plan"], "json")
    lines = state["plan"].splitlines()
    expect(len(state["candidates"]) == len(lines) > 2 and state["recipe"] is None, "an object for each")
    for line, row in zip(lines, state["candidates"]):
        expect(line.startswith(f"{row['verdict']}: {row['config']}: {row.get('reason', 'predicted ')}"), line)
        expect(" ".join(f"{key}={value}" for key, value in row["keys"].items()) == row["config"], line)
        if "predicted_us" in row:
            text = f"predicted {row['predicted_us']:.1f} us, {row['tiles']} tiles in {row['waves']:.2f} waves, " \
                   f"grid {row['grid']}, shared memory {row['smem_bytes']} bytes"
            expect(", ".join([text, *row["notes"]]) in line, f"{text} in {line}")
        else:
            expect("predicted" not in line, line)
    expect([row["verdict"] for row in state["candidates"]].count("chosen") == 1, "one is chosen")
    noted = json.loads(tool("plan", "512x512x4096", "bf16", "workspace=64m", "input_align=2", *ARCH, "--json").stdout)
    expect(any(row.get("notes") for row in noted["candidates"]), "what has no field is a note")


def test_a_sweep_names_kernels_and_bands():
    problem = ["n=4096", "k=4096", "a=bf16", "dynamic=m", *ARCH, "--sweep", "m=1..1024"]
    state = json.loads(tool("plan", *problem, "--json").stdout)
    bands = state["bands"]
    expect(state["sweep"] == "m=1..1024" and bands[0]["first"] == 1, "json")
    expect(bands[-1]["last"] == 1024, "the last band ends with the range")
    for before, band in zip(bands, bands[1:]):
        expect(band["first"] == before["last"] + 1, "bands follow each other")
    expect(max(band["loss"] for band in bands) <= 0.05, "the loss is at most 5 %")
    expect(len({band["config"] for band in bands}) == state["kernels"], "kernels")
    text = tool("plan", *problem).stdout
    expect(f"{state['kernels']} kernels in {len(bands)} bands" in text, text)
    for band in bands:
        expect(f"kernel {band['kernel']}: {band['config']}\n" in text, band["config"])
    with Folder() as folder:
        picture = folder.path / "bands.svg"
        done = tool("plan", *problem, "-o", picture)
        expect(done.returncode == 0 and done.stdout == text, "the picture changes no text", done)
        drawn = xml.dom.minidom.parse(str(picture))
        titles = [item.firstChild.data for item in drawn.getElementsByTagName("title")]
        expect(len(titles) == len(bands), "a bar for each band")
        for title, band in zip(titles, bands):
            expect(title.startswith(f"{band['first']}..{band['last']}: kernel {band['kernel']}, "), title)
        legend = "".join(item.firstChild.data for item in drawn.getElementsByTagName("text"))
        expect(all(band["config"] in legend for band in bands), "the kernels' configs")
        xs = [float(item.getAttribute("x1")) for group in drawn.getElementsByTagName("g")
              for item in group.getElementsByTagName("line")]
        expect(xs == sorted(xs) and xs[0] < xs[-1], "bands from left to right")
        done = tool("plan", *problem, "-o", folder.path / "none" / "bands.svg")
        expect(done.returncode == 1 and "No such file" in done.stderr, "no folder", done)
    one = json.loads(tool("plan", *problem, "--loss", "1000%", "--json").stdout)
    expect(one["kernels"] == 1, "a great loss leaves one kernel")
    for words, error in ((["--sweep", "m=1..x"], "range: '1..x' at column 3"),
                         (["--sweep", "k=1..8"], "range.dimension: 'k' is compiled"),
                         (["--sweep", "m=1..8", "--loss", "5"], "range.loss: '5'"),
                         (["--loss", "5%"], "--loss is for --sweep"),
                         (["-o", "x.svg"], "-o is for --sweep")):
        done = tool("plan", *problem[:-2], *words)
        expect(done.returncode == 2 and error in done.stderr, f"{words}: {done.stderr}")


def test_sizes_of_groups_are_planned_for():
    words = ["plan", "m=32768", "n=1536", "k=4096", "a=e4m3", "d=bf16", "a_scale=1x128", "b_scale=128x128", "groups=128", *ARCH]
    equal = tool(*words, "--group-sizes", "uniform", "--json")
    chosen = json.loads(equal.stdout)["candidates"][0]
    expect(chosen["keys"]["tile"] == "256x128x128", "tiles that 256 rows fill", equal)
    expect(any(note == "of 128 groups that typically have 256 rows" for note in chosen["notes"]), "what was priced", equal)
    skewed = json.loads(tool(*words, "--group-sizes", "zipf", "--json").stdout)
    expect(re.search(r" typical_sizes=\d+x\d+", skewed["problem"]), skewed["problem"])
    again = json.loads(tool("plan", *skewed["problem"].split(), *ARCH, "--json").stdout)
    expect(again["candidates"] == skewed["candidates"], "its text says the same")
    for more, message in ((["batch=2"], "--group-sizes needs groups of rows in the problem"),
                          (["groups=2", "group_by=k_offsets", "layout=tn"], "--group-sizes needs groups of rows"),
                          (["groups=2", "typical_sizes=2x8"], "the problem's own typical_sizes= exclude each other"),
                          (["groups=2"], "--group-sizes: the groups have 17 rows in all, but M is 16")):
        done = tool("plan", "16x16x64", "bf16", *more, "--group-sizes", "8,9", *ARCH)
        expect_exit(done, 2)
        expect(message in done.stderr, message, done)


def test_a_plan_is_sorted_and_folded_and_calls_a_tie_a_tie():
    for words in (["4096x4096x4096", "bf16", "--arch", "sm_100a"],
                  ["4096x4096x4096", "e4m3", "output_align=2", "--arch", "sm_90a"],
                  ["64x4096x4096", "bf16", "--config", "cluster=1x1", "--arch", "sm_100a"]):
        done = tool("plan", *words)
        expect_exit(done, 0)
        lines = done.stdout.splitlines()
        expect(re.match(r"chosen: kernel=gemm [^:]*: predicted [0-9.]+ us$", lines[0]), lines[0], done)
        expect(max(map(len, lines[1:])) <= 100, "a long line", done)
        expect(sum(line.startswith(("chosen: ", "rejected: ")) for line in lines) == 10, "ten candidates", done)
        whole = json.loads(tool("plan", *words, "--json").stdout)["plan"].splitlines()
        expect(whole[0].startswith(lines[0] + ", " + lines[1].strip()), "not the library's", done)
        every = tool("plan", *words, "--all").stdout
        expect(every.startswith("\n".join(lines[:-1])), "the rest follows", done)
        expect(sum(line.startswith(("chosen: ", "rejected: ")) for line in every.splitlines()) == len(whole),
               "all candidates")
        more = re.fullmatch(r"and (\d+) more: (\d+) slower, (\d+) that cannot be; --all shows them", lines[-1])
        slower = sum(": predicted " in line for line in whole[10:])
        expect(more and [int(more[i]) for i in (1, 2, 3)] == [len(whole) - 10, slower, len(whole) - 10 - slower],
               lines[-1])
        times = [float(time) for time in re.findall(r"predicted ([0-9.]+) us", "\n".join(whole))]
        expect(len(times) > 2 and times == sorted(times), f"not sorted: {times}", done)
        best = re.search(r"predicted ([0-9.]+) us", lines[0])[1]
        for line in whole[1:]:
            if f": predicted {best} us" in line:
                expect(": a tie, " in line or ": slower by less than 0.1 us: " in line, line, done)
    expect("a tie, and the chosen one is listed earlier: predicted" in
           tool("plan", "512x512x512", "bf16", "--arch", "sm_100a").stdout, "no tie")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
