#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What of our kernels the emulated suites executed, merged: lines of the sources, and opcodes with
their qualifiers. Fails if a line that was compiled into any of their kernels never ran and does
not stand in uncovered_lines.txt.

Usage: coverage_report.py KERNEL_SRC UNCOVERED FILE...

The files are what the suites left (tests/support/emulator_coverage.py); those of suites of one chip stand behind `chip=`. If
one is missing, or older than the sources, the suites have not been run: that is a skip. Where a suite of a chip
ran a share of its list, FILE.share is there in FILE's place. What such a share compiles, and what suites of
both chips do, need not run then: lines are those of suites of one chip that ran whole, which any suite may execute.
"""
import collections
import pathlib
import re
import sys

SKIPPED = 77


def read_merged(paths, judged):
    """{(opcode, file, line): was it executed}, of what the `judged` ones of the paths have."""
    merged, wanted = {}, set()
    for path in paths:
        for text in path.read_text(encoding="utf-8").splitlines():
            flag, opcode, place = text.split("\t")
            file, _, line = place.rpartition(":")
            if file.startswith("jg/"):
                key = opcode, file, int(line)
                merged[key] = merged.get(key, False) or flag == "1"
                if path in judged:
                    wanted.add(key)
    lines = {key[1:] for key in wanted}
    return {key: executed for key, executed in merged.items() if key[1:] in lines}


def read_uncovered(path):
    """(file, regular expression, reason), as in `jg/ptx/tma.cuh | fence.proxy | why`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = [tuple(re.split(r" +\| +", line, maxsplit=2)) for line in lines
               if line.strip() and not line.startswith("#")]
    for entry in entries:
        if len(entry) != 3 or not all(entry):
            raise SystemExit(f"{path}: `{' | '.join(entry)}` is not `file | part | reason`")
    return entries


def find_files(words):
    """(the files that there are, or should be; those of them that are judged)"""
    paths, whole, has_share = [], [], False
    for word in words:
        path = pathlib.Path(word.removeprefix("chip="))
        share = path.with_name(path.name + ".share")
        is_share = word.startswith("chip=") and share.is_file()
        paths.append(share if is_share else path)
        has_share |= is_share
        if word.startswith("chip=") and not is_share:
            whole.append(path)
    return paths, whole if has_share else paths


def find_missing(paths, sources):
    newest = max(source.stat().st_mtime for source in sources.rglob("*.cuh"))
    for path in paths:
        if not path.is_file():
            return f"{path.stem} has not been run in full"
        if path.stat().st_mtime < newest:
            return f"{path.stem} was run before the kernels' sources changed"
    return None


def reasons(entries, has_share):
    """The entries that count: those of the other chip only where it ran a share."""
    return [entry for entry in entries if has_share or not entry[2].startswith("the other chip")]


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
    sources, uncovered = map(pathlib.Path, sys.argv[1:3])
    files, judged = find_files(sys.argv[3:])
    missing = find_missing(files, sources)
    if missing:
        print(f"skipped: {missing}; `meson test` of the suites {', '.join(f.stem for f in files)} "
              "comes first")
        sys.exit(SKIPPED)
    merged = read_merged(files, judged)
    report_opcodes(merged)
    bad = report_lines(merged, sources, reasons(read_uncovered(uncovered), len(judged) < len(files)))
    print(f"{len(bad)} lines never ran and stand without a reason in {uncovered.name}", *bad,
          sep="\n    ")
    sys.exit(1 if bad or not merged else 0)


if __name__ == "__main__":
    main()
