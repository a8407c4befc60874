# SPDX-License-Identifier: MIT
"""Holds the cost model of sm_100a against published figures, and docs/sm100a-model.md against both.

Usage: test_sm100a_model.py JIT_GEMM SOURCE_ROOT

Every row of the page's first two tables is a problem with a published time. The prediction that stands beside
it is what `plan` says, and the error is their ratio. The first table's root mean square error has a bound. The
third has sizes of MXFP8 and NVFP4, of which only the prediction is held.
Prints TAP.
"""
import functools
import json
import math
import re

from cli_harness import ROOT, expect, expect_exit, run_tests, tool

PAGE = ROOT / "docs" / "sm100a-model.md"
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([0-9.]+) \| ([0-9.]+) \| ([-+][0-9.]+) % \|$", re.M)
SIZE_ROW = re.compile(r"^\| (\d+x\d+x\d+) \| ([0-9.]+), (\d+) \| [^|]+ \| ([0-9.]+), (\d+) \|", re.M)
LEAST_ROWS = 18
MOST_ERROR = 0.05


def section(title):
    parts = PAGE.read_text().split(f"\n## {title}\n")
    expect(len(parts) == 2, f"the page has no section {title}")
    return parts[1].split("\n## ")[0]


@functools.lru_cache(maxsize=None)
def predict(problem):
    done = tool("plan", *problem.split(), "--arch", "sm_100a", "--json")
    expect_exit(done, 0)
    chosen = json.loads(done.stdout)["candidates"][0]
    expect(chosen["verdict"] == "chosen", "the first candidate is not the chosen one", done)
    return chosen["predicted_us"]


def read_rows(title, least):
    text = section(title)
    rows = ROW.findall(text)
    expect(len(rows) == text.count("| `") and len(rows) >= least, f"{len(rows)} rows are read")
    return rows


def check_rows(title, least):
    """The root mean square of the rows' errors."""
    squares = []
    for problem, source, _, published, printed, error in read_rows(title, least):
        predicted = predict(problem)
        expect(abs(predicted - float(printed)) < 0.051, f"{problem}: the page says {printed}, plan {predicted}")
        ratio = predicted / float(published)
        # The page rounds both to a tenth of a microsecond.
        expect(abs(100 * (ratio - 1) - float(error)) < 0.06 + 15 / float(published),
               f"{problem}, {source}: {error} % of {published}")
        squares.append(math.log(ratio) ** 2)
    return math.sqrt(sum(squares) / len(squares))


def test_rows_that_count_are_within_the_bound():
    error = check_rows("Rows that count", LEAST_ROWS)
    expect(error <= MOST_ERROR, f"root mean square error of {error:.4f}")
    said = re.search(r"ratios: ([0-9.]+); at most ([0-9.]+)\.", section("Rows that count"))
    expect(said is not None, "the page does not say what the error is")
    expect(abs(float(said[1]) - error) < 0.0011 and float(said[2]) == MOST_ERROR, f"{said[0]}: it is {error:.4f}")


def test_rows_that_do_not_count_are_what_the_page_says():
    error = check_rows("Rows that do not", 1)
    said = re.search(r"Root mean square: ([0-9.]+)\.", section("Rows that do not"))
    expect(said is not None and abs(float(said[1]) - error) < 0.0011, f"it is {error:.4f}")


def test_sizes_of_scaled_products_are_what_the_page_says():
    rows = SIZE_ROW.findall(section("MXFP8 and NVFP4 by size"))
    expect(len(rows) == 3, f"{len(rows)} sizes")
    for size, *said in rows:
        for words, us, rate in (("mxfp8", *said[:2]), ("nvfp4", *said[2:])):
            modelled = predict(f"{size} {words} d=bf16")
            wanted = 2 * int(size.split("x")[0]) ** 3 / modelled / 1e6
            expect(abs(modelled - float(us)) < 0.06, f"{size} {words}: {modelled} us")
            expect(abs(wanted - float(rate)) < 1.1, f"{size} {words}: {wanted} TFLOP/s")


if __name__ == "__main__":
    run_tests([("rows that count are within the bound", test_rows_that_count_are_within_the_bound),
               ("sizes of scaled products are what the page says", test_sizes_of_scaled_products_are_what_the_page_says),
               ("rows that do not count are what the page says",
                test_rows_that_do_not_count_are_what_the_page_says)])
