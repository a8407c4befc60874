#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debug builds: a kernel that hangs says so and ends.

Usage: test_debug_builds.py JIT_GEMM MUTATING_DRIVER

The kernels are the project's own with one statement changed, on the emulator. Without debug=1 the
same change leaves the emulator to notice that nothing goes on. Prints TAP.
"""
import functools
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import Runner  # noqa: E402
from strides import in_turn  # noqa: E402
from tap import named_tests, run_tests  # noqa: E402

TOOL, DRIVER = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
CHIPS = {
    "sm_90a": ("wgmma.mma_async", "tile=64x128 stages=3"),
    "sm_100a": ("tcgen05.mma", "mma=128x64 cluster=1x1 stages=3"),
    "sm_100a pair": ("tcgen05.mma", "mma=256x128 cluster=2x1 stages=3"),
}


def run(chip, extra, folder, mutant=None, dump=None):
    of, config = CHIPS[chip]
    paths = {name: path for name, path in (("MUTANT", mutant), ("MUTANT_DUMP", dump)) if path}
    return Runner(TOOL, DRIVER, folder).run(
        ["run", "512x256x320", "bf16", "--arch", chip.split()[0], "--config", config + extra],
        "sms=4,async=latest,show=none", MUTANT_OF=of, **paths)


def drop(text, pattern, place):
    match = list(re.finditer(pattern, text, re.M))[place]
    return text[:match.start()] + text[match.end():]


@functools.lru_cache(maxsize=None)
def run_unchanged(chip, extra, folder):
    """What the kernel itself says, and its PTX."""
    dump = folder / f"{chip}{extra}.ptx"
    done = run(chip, extra, folder, dump=dump)
    assert done.returncode == 0, f"the kernel itself fails: {done.stderr}"
    return done, dump.read_text()


def mutate(chip, change, folder, extra=" debug=1"):
    mutant = folder / "mutant.ptx"
    mutant.write_text(change(run_unchanged(chip, extra, folder)[1]))
    return run(chip, extra, folder, mutant=mutant)


ARRIVAL = {
    # What hands a stage of inputs back to the load warp.
    "sm_90a": r"^.*mbarrier\.arrive\.shared::cta[^;]*;\n",
    "sm_100a": r"^.*tcgen05\.commit[^;]*;\n",
    "sm_100a pair": r"^.*tcgen05\.commit[^;]*;\n",
}


def test_unchanged_kernels_say_nothing(folder):
    for chip in CHIPS:
        for extra in (" debug=1", " split_k=4 split_order=serial debug=1"):
            done, _ = run_unchanged(chip, extra, folder)
            assert "gave up" not in done.stderr, done.stderr


def test_a_lost_release_is_reported_by_all_who_wait(folder):
    for chip in CHIPS:
        done = mutate(chip, lambda ptx: drop(ptx, ARRIVAL[chip], 0), folder)
        assert done.returncode == 1, done.stdout
        report = done.stderr[done.stderr.index("the kernel gave up:"):]
        assert re.search(r"^CTA \d on multiprocessor \d, warp \d, role load, tile at row \d+ "
                         r"column \d+: waited in vain until stage 0 of .* was empty, parity 0$",
                         report, re.M), f"{chip}: {report}"
        assert re.search(r"role mma, .* was full", report), f"{chip}: {report}"


def test_a_second_accumulator_that_never_comes_names_its_tile(folder):
    done = mutate("sm_100a", lambda ptx: drop(ptx, ARRIVAL["sm_100a"], 1), folder)
    report = done.stderr[done.stderr.index("the kernel gave up:"):]
    assert re.search(r"role epilogue, tile at row \d+ column \d+: waited in vain until stage 0 "
                     r"of accumulators was full", report), report


def test_a_part_of_k_that_is_not_handed_on_names_tile_and_part(folder):
    store_partial = r"^.*red\.release\.gpu\.global\.add\.u32[^;]*;\n"
    for chip in CHIPS:
        for order in ("serial", "unordered"):
            done = mutate(chip, lambda ptx: drop(ptx, store_partial, 0), folder,
                          extra=f" split_k=4 split_order={order} debug=1")
            assert done.returncode == 1, done.stdout
            report = done.stderr[done.stderr.index("the kernel gave up:"):]
            found = re.findall(r"role (?:epilogue|mma), tile at row \d+ column \d+, part (\d) "
                               r"of K: waited in vain for (\d) parts of the tile's sum, found 0$",
                               report, re.M)
            right = {("1", "1"), ("3", "3"), ("2", "2" if order == "serial" else "1")}
            assert found and right.issuperset(found), f"{chip} {order}: {report}"


def test_a_part_of_k_that_is_not_stored_for_the_cluster_is_reported(folder):
    stored = r"^.*mbarrier\.arrive\.relaxed\.cluster[^;]*;\n"
    extra = " split_k=4 split_order=cluster debug=1"
    assert "gave up" not in run_unchanged("sm_90a", extra, folder)[0].stderr
    done = mutate("sm_90a", lambda ptx: drop(ptx, stored, 0), folder, extra=extra)
    assert done.returncode == 1, done.stdout
    report = done.stderr[done.stderr.index("the kernel gave up:"):]
    assert re.search(r"role (?:epilogue|mma), tile at row \d+ column \d+(?:, part \d of K)?: waited "
                     r"in vain until stage 0 of sums of the cluster's parts of K was full, parity 0$",
                     report, re.M), report


def test_without_debug_the_emulator_has_to_notice(folder):
    for chip in CHIPS:
        done = mutate(chip, lambda ptx: drop(ptx, ARRIVAL[chip], 0), folder, extra="")
        assert done.returncode == 1 and "gave up" not in done.stderr, done.stderr


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="jit_gemm_debug_") as holder:
        sys.exit(run_tests([(name, functools.partial(function, pathlib.Path(holder)))
                            for name, function in in_turn(named_tests(globals()))]))
