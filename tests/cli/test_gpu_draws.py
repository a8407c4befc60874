# SPDX-License-Identifier: MIT
"""Draws lines of `jit-gemm run` for sm_90a (tests/emulated/warpgroup_draws.py) and runs them on a GPU:
many in a process, by `run --lines -`, several processes beside each other. Each line that is not
refused runs three times: twice with the same inputs, whose results have the same bits unless parts of
K are added as they come, and with others; a fourth time as two launches behind each other, where the
second one has something to read. Each run is compared with the reference kernel.

Usage: test_gpu_draws.py JIT_GEMM SOURCE_ROOT [--seed SEED] [--cases COUNT] [--seconds S] [--jobs N]
    [--limit S] [--driver PATH]

COUNT lines are drawn, or as many as begin within S seconds. A run that has no end within the limit is
a failure that is named, and its process is ended. `--driver` names an emulator. It takes small problems
only, and so does JIT_GEMM_TEST_WRAPPER (test_gpu_grid.py). Prints TAP: a line for each that was not refused, and counts.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import shlex
import sys
import threading
import time

from cli_harness import HOLDER, ROOT, TOOL, Skip, need_gpu, run_tests
from line_runs import WRAPPER, Process

sys.path.insert(0, str(ROOT / "tests/emulated"))
from warpgroup_draws import MOST_PRODUCTS, draw_line  # noqa: E402

SMALL_PRODUCTS = 4 << 20  # M * N * K * batch, where each of them takes long
SCRATCH = pathlib.Path(HOLDER.name)


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--driver")
    return parser.parse_args(sys.argv[3:])


def begin_process(options):
    device = ["--driver", options.driver, "--arch", "sm_90a"] if options.driver else ["--device", "gpu"]
    return Process(TOOL, ["--repeat", "8", *device], options.limit, JIT_GEMM_CACHE_DIR=SCRATCH / "cache",
                   JIT_GEMM_EMULATOR="sms=4,show=warnings")


def without_place(words):
    """The emulator compares whole boxes, of which some bring columns of a neighbour that writes them."""
    at = words.index("--in-place") if "--in-place" in words else len(words)
    return words[:at] + words[at + 2:]


def is_in_any_order(words, said):
    return "split_order=unordered" in said or any("split_order=unordered" in word for word in words)


class Suite:
    def __init__(self, options):
        self.options = options
        self.begun = time.monotonic()
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.counts, self.reasons, self.words = (collections.Counter() for _ in range(3))
        self.results = []

    def next_number(self):
        """Of a line that is to run; None at the end."""
        with self.lock:
            number = next(self.numbers)
        is_late = time.monotonic() - self.begun > self.options.seconds
        return None if is_late or number >= self.options.cases else number

    def look(self, process, words, number):
        """(verdict, the words that show it, what was said)."""
        place = SCRATCH / f"d{number}"
        paths = [pathlib.Path(f"{place}{end}") for end in "ab"]
        first = None
        for index, seed in enumerate((number, number, number + 1)):
            line = [*words, "--seed", str(seed)]
            verdict, said = process.run([*line, "--save", str(paths[min(index, 1)])])
            if verdict == "refused" and index == 0:
                return verdict, line, said
            if verdict != "passed":
                return "failed", line, said
            self.counts["runs"] += 1
            if index == 0:
                first = paths[0].read_bytes()
            elif index == 1 and not is_in_any_order(words, said) and paths[1].read_bytes() != first:
                return "failed", line, "the second launch of the same inputs has other bits"
        for path in paths:
            path.unlink()
        line = [*words, "--seed", str(number + 2), "--back-to-back"]
        verdict, said = process.run(line)
        self.counts["behind each other"] += verdict == "passed"
        return "failed" if verdict == "failed" else "passed", line, said

    def work(self):
        process = begin_process(self.options)
        most = SMALL_PRODUCTS if self.options.driver or WRAPPER else MOST_PRODUCTS
        while (number := self.next_number()) is not None:
            words = draw_line(f"{self.options.seed}.{number}", most)
            if self.options.driver:
                words = without_place(words)
            verdict, line, said = self.look(process, words, number)
            self.note(verdict, words, line, said)
        process.end()

    def note(self, verdict, words, line, said):
        with self.lock:
            self.counts[verdict] += 1
            if verdict == "refused":
                error = next((text for text in said.splitlines() if "error:" in text), said)
                self.reasons[error[:90]] += 1
                return
            self.words.update(word for word in set(shlex.join(words).replace("'", " ").split())
                              if "=" in word and not word[word.index("=") + 1:].isdigit())
            number = self.counts["passed"] + self.counts["failed"]
            print(f"{'ok' if verdict == 'passed' else 'not ok'} {number} - {shlex.join(words)}")
            if verdict == "failed":
                print(f"# repeat with: jit-gemm run {shlex.join(line)} --verify")
                for text in said.splitlines()[-30:]:
                    print("# " + text)
            sys.stdout.flush()

    def conclude(self):
        for reason, count in self.reasons.most_common(20):
            print(f"# refused {count} times: {reason}")
        print("# lines with:", ", ".join(f"{word} {count}" for word, count in sorted(self.words.items())))
        counts = self.counts
        print(f"# seed {self.options.seed}: {counts['passed']} lines passed, {counts['failed']} failed, "
              f"{counts['refused']} refused; {counts['runs']} runs and {counts['behind each other']} pairs "
              f"behind each other in {time.monotonic() - self.begun:.0f} s")
        print(f"1..{counts['passed'] + counts['failed']}")
        return 1 if counts["failed"] or not counts["passed"] else 0


def skip_all(reason):
    def skip():
        raise reason
    return run_tests([("drawn lines", skip)])


def main():
    options = read_options()
    try:
        if not options.driver:
            need_gpu()
    except Skip as reason:
        return skip_all(reason)
    suite = Suite(options)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for job in [pool.submit(suite.work) for _ in range(options.jobs)]:
            job.result()
    return suite.conclude()


if __name__ == "__main__":
    sys.exit(main())
