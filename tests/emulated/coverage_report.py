#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What of our kernels the emulated suites executed, merged: lines of the sources, and opcodes with
their qualifiers. Fails if a line that was compiled into any of their kernels never ran and does
not stand in uncovered_lines.txt.

Usage: coverage_report.py KERNEL_SRC UNCOVERED FILE...

The files are what the suites left (tests/support/emulator_coverage.py). If one is missing, or older than the sources, the
suites have not been run: that is a skip.
"""
import collections
import pathlib
import re
import sys

SKIPPED = 77


def read_merged(paths):
    """{(opcode, file, line): was it executed}"""
    merged = {}
    for path in paths:
        for text in path.read_text(encoding="utf-8").splitlines():
            flag, opcode, place = text.split("\t")
            file, _, line = place.rpartition(":")
            if file.startswith("jg/"):
                key = opcode, file, int(line)
                merged[key] = merged.get(key, False) or flag == "1"
    return merged


def read_uncovered(path):
    """(file, regular expression, reason), as in `jg/ptx/tma.cuh | fence.proxy | why`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = [tuple(re.split(r" +\| +", line, maxsplit=2)) for line in lines
               if line.strip() and not line.startswith("#")]
    for entry in entries:
        if len(entry) != 3 or not all(entry):
            raise SystemExit(f"{path}: `{' | '.join(entry)}` is not `file | part | reason`")
    return entries


def find_missing(paths, sources):
    newest = max(source.stat().st_mtime for source in sources.rglob("*.cuh"))
    for path in paths:
        if not path.is_file():
            return f"{path.stem} has not been run in full"
        if path.stat().st_mtime < newest:
            return f"{path.stem} was run before the kernels' sources changed"
    return None


def report_lines(merged, sources, uncovered):
    """Prints what never ran, by file; returns those lines that have no reason for that."""
    lines = collections.defaultdict(dict)
    for (_, file, line), executed in merged.items():
        lines[file][line] = lines[file].get(line, False) or executed
    used, bad = set(), []
    for file in sorted(lines):
        text = (sources / file).read_text(encoding="utf-8").splitlines()
        never = sorted(line for line, executed in lines[file].items() if not executed)
        print(f"{file}: {len(lines[file]) - len(never)} of {len(lines[file])} lines executed")
        for line in never:
            words = text[line - 1].strip()
            entry = next((entry for entry in uncovered
                          if entry[0] == file and re.search(entry[1], words)), None)
            used.add(entry)
            bad += [] if entry else [f"{file}:{line}: {words}"]
            print(f"    {line}: {words}\n        never ran: {entry[2] if entry else 'NO REASON'}")
    for entry in uncovered:
        if entry not in used:
            print(f"not needed any more: {' | '.join(entry)}")
    return bad


def report_opcodes(merged):
    places = collections.defaultdict(lambda: [0, 0])
    for (opcode, _, _), executed in merged.items():
        places[opcode][0] += executed
        places[opcode][1] += 1
    places.pop("inlined", None)
    print("opcodes, and at how many of their places in the sources they were executed:")
    for opcode, (executed, total) in sorted(places.items()):
        print(f"    {executed:4} of {total:4}  {opcode}")
    ran = sum(executed > 0 for executed, _ in places.values())
    print(f"{ran} of {len(places)} opcodes with their qualifiers were executed")


def main():
    sources, uncovered, *files = map(pathlib.Path, sys.argv[1:])
    missing = find_missing(files, sources)
    if missing:
        print(f"skipped: {missing}; `meson test` of the suites {', '.join(f.stem for f in files)} "
              "comes first")
        sys.exit(SKIPPED)
    merged = read_merged(files)
    report_opcodes(merged)
    bad = report_lines(merged, sources, read_uncovered(uncovered))
    print(f"{len(bad)} lines never ran and stand without a reason in {uncovered.name}", *bad,
          sep="\n    ")
    sys.exit(1 if bad or not merged else 0)


if __name__ == "__main__":
    main()
