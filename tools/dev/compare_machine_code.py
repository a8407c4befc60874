#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the machine code that two builds of jit-gemm make of the same problems.

Usage: compare_machine_code.py OLD_JIT_GEMM NEW_JIT_GEMM [--set FILE] [--markdown]

For each line of the set (machine_code_set.txt beside this file): instructions, registers and
local memory of both. A unit is bad where the new one has over 0.5 percent more instructions (two
are always allowed), over 2 registers more, or local memory that the old one did not have. Needs NVRTC and nvdisasm, no GPU; exit 1 if any is bad.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

MOST_INSTRUCTIONS = 0.005
MOST_REGISTERS = 2


def inspect(tool, line):
    arch, *words = shlex.split(line)
    command = [tool, "inspect", *words, "--arch", arch, "--json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": done.stderr.strip()}
    state = json.loads(done.stdout)
    count = state.get("instructions")
    if count is not None:
        count -= state["opcodes"].get("NOP", 0)  # they fill up the last line
    return {"instructions": count, "registers": state["registers"], "local": state["local_bytes"]}


def judge(old, new):
    """Why the new code is worse than the old, in words; empty if it is not."""
    if "error" in old or "error" in new:
        return "" if old.get("error") == new.get("error") else "one of both fails"
    found = []
    if old["instructions"] is None or new["instructions"] is None:
        found.append("no listing: is there no nvdisasm?")
    else:
        limit = max(2, MOST_INSTRUCTIONS * old["instructions"])
        if new["instructions"] - old["instructions"] > limit:
            found.append("instructions")
    if new["registers"] - old["registers"] > MOST_REGISTERS:
        found.append("registers")
    if new["local"] > old["local"]:
        found.append("local memory")
    return ", ".join(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--set", default=pathlib.Path(__file__).with_name("machine_code_set.txt"))
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    lines = [line for line in pathlib.Path(options.set).read_text(encoding="utf-8").splitlines()
             if line and not line.startswith("#")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        olds = pool.map(lambda line: inspect(options.old, line), lines)
        news = pool.map(lambda line: inspect(options.new, line), lines)
        rows = [(line, old, new, judge(old, new)) for line, old, new in zip(lines, olds, news)]
    bar = "| " if options.markdown else ""
    if options.markdown:
        print("| unit | instructions | registers | local bytes | |\n|---|---|---|---|---|")
    for line, old, new, verdict in rows:
        if "error" in old or "error" in new:
            text = f"{old.get('error', 'fine')} -> {new.get('error', 'fine')}"
        else:
            text = "  ".join(f"{bar}{old[key]} -> {new[key]}"
                             for key in ("instructions", "registers", "local"))
        print(f"{bar}{line}  {text}  {bar}{verdict or 'ok'}{' |' if bar else ''}")
    bad = [row for row in rows if row[3]]
    print(f"{len(rows)} units, {len(bad)} bad")
    return 1 if bad or not rows else 0


sys.exit(main())
