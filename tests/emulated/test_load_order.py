#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A CTA of sm_100a asks for its first inputs before its first C and matrix operands.

Usage: test_load_order.py JIT_GEMM MUTATING_DRIVER

The kernels are the project's own with a delay before each stage of A and B, so that a trace of
their roles shows what waits for what; and with the arrival left out that says that the first inputs
were sent. Prints TAP.
"""
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import Runner  # noqa: E402
from strides import in_turn, stride  # noqa: E402
from tap import named_tests, run_tests  # noqa: E402

TOOL, DRIVER = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
FUSED = ["--epilogue", "d = max(acc + bias, 0.0f) + r;", "--operand", "bias:row_vector:bf16",
         "--operand", "r:matrix:bf16"]
# A stage is sent by copies, or filled by threads that fence before they hand it on.
COPY, FILLED = r"^.*cp\.async\.bulk\.tensor[^;]*global[^;]*mbarrier", r"^.*fence\.proxy\.async"
ROWS = {
    # name: words of the problem, config, what a stage of A and B begins or ends with, how often
    # that is there before the first matrix: twice a stage, or once
    "K is longer than the ring":
        (["512x256x640", "bf16", *FUSED], "mma=128x128 cluster=1x1 scheduler=static stages=4", COPY, 8),
    "the ring is longer than K":
        (["512x256x128", "bf16", *FUSED], "mma=128x128 cluster=1x1 scheduler=single stages=4", COPY, 4),
    "pairs by launch control with a C":
        (["1024x256x640", "bf16", "c=bf16"], "mma=256x128 cluster=2x1 scheduler=clc stages=3", COPY, 6),
    "groups of K of which the last is short":
        (["512x256x320", "bf16", *FUSED], "mma=128x64 cluster=1x1 k_group=2 stages=2", COPY, 8),
    "parts of K":
        (["256x256x640", "bf16", *FUSED], "mma=128x128 cluster=1x1 split_k=2 stages=3", COPY, 6),
    "loads by threads":
        (["512x256x640", "bf16", "input_align=2", *FUSED], "mma=128x64 stages=3", FILLED, 3),
}
MODES = ["async=latest,schedule=fair", "async=random,schedule=random,seed=3",
         "async=reorder,schedule=deep", "async=eager,schedule=starve,seed=5"]
DELAY = 20000  # of the emulator's clock; all else before the first matrix takes less


def tool(command, row, extra, folder, mutant=None, dump=None, mode=MODES[0]):
    words, config = ROWS[row][:2]
    paths = {name: path for name, path in (("MUTANT", mutant), ("MUTANT_DUMP", dump)) if path}
    return Runner(TOOL, DRIVER, folder).run(
        [command, *words, "--arch", "sm_100a", "--config", config + extra[0], *extra[1:]],
        f"sms=4,show=none,{mode}", MUTANT_OF="tcgen05.mma", **paths)


def mutate(command, row, extra, folder, change, mode=MODES[0]):
    dump, mutant = folder / "kernel.ptx", folder / "mutant.ptx"
    if not dump.exists():
        done = tool(command, row, extra, folder, dump=dump)
        assert done.returncode == 0, f"{row}: the kernel itself fails: {done.stderr}"
    mutant.write_text(change(dump.read_text()))
    return tool(command, row, extra, folder, mutant=mutant, mode=mode)


def delayed(ptx, pattern):
    """The kernel with a delay before each statement that the pattern finds."""
    delay = ("{{\n.reg .u64 begin_{0}, now_{0};\n.reg .pred early_{0};\n"
             "mov.u64 begin_{0}, %globaltimer;\nlater_{0}:\nmov.u64 now_{0}, %globaltimer;\n"
             "sub.u64 now_{0}, now_{0}, begin_{0};\nsetp.lt.u64 early_{0}, now_{0}, {1};\n"
             "@early_{0} bra later_{0};\n}}\n")
    places = [match.start() for match in re.finditer(pattern, ptx, re.M)]
    assert places, f"no {pattern}"
    for number, place in reversed(list(enumerate(places))):
        ptx = ptx[:place] + delay.format(number, DELAY) + ptx[place:]
    return ptx


def first_begin(events, cta, role):
    return min(event["ts"] for event in events if event["pid"] == cta and event["cat"] == role)


def test_epilogue_loads_begin_when_the_first_inputs_were_sent():
    for number, (row, (_, _, pattern, count)) in enumerate(ROWS.items()):
        others = MODES[1:]
        every = stride(len(others))
        with tempfile.TemporaryDirectory(prefix="jit_gemm_order_") as holder:
            folder = pathlib.Path(holder)
            path = folder / "timeline.json"
            for mode in (MODES[0], *others[number % every::every]):
                done = mutate("trace", row, ["", "-o", str(path), "--ctas", "64"], folder,
                              lambda ptx: delayed(ptx, pattern), mode)
                assert done.returncode == 0, f"{row}, {mode}: {done.stderr}"
                events = [event for event in json.loads(path.read_text())["traceEvents"]
                          if event["ph"] == "X"]
                ctas = {event["pid"] for event in events if event["cat"] == "epilogue load"}
                assert ctas, f"{row}: no epilogue load"
                for cta in ctas:
                    waited = (first_begin(events, cta, "epilogue load") -
                              first_begin(events, cta, "load")) * 1000
                    assert waited >= count * DELAY, f"{row}, {mode}: CTA {cta}: {waited}"
                    if mode == MODES[0]:  # nor for more than those
                        assert waited < (count + 1) * DELAY, f"{row}: CTA {cta}: {waited}"


def arrivals(ptx):
    return list(re.finditer(r"^.*mbarrier\.arrive\.shared::cta\.b64[^;]*;\n", ptx, re.M))


def test_a_lost_arrival_is_reported():
    for row in ("K is longer than the ring", "loads by threads"):
        with tempfile.TemporaryDirectory(prefix="jit_gemm_order_") as holder:
            folder = pathlib.Path(holder)
            reports = []

            def drop(ptx, place):
                match = arrivals(ptx)[place]
                return ptx[:match.start()] + ptx[match.end():]

            place = 0
            while place == 0 or place < len(arrivals((folder / "kernel.ptx").read_text())):
                done = mutate("run", row, [" debug=1"], folder,
                              lambda ptx, place=place: drop(ptx, place))
                assert done.returncode == 1, f"{row}: nobody missed arrival {place}"
                reports.append(done.stderr)
                place += 1
            found = [report for report in reports if re.search(
                r"role epilogue load, tile at row \d+ column \d+: waited in vain until stage 0 of the "
                r"sign that the first inputs were sent was full, parity 0$", report, re.M)]
            assert len(found) == 1, f"{row}: {len(found)} of {place} name it: {reports}"


if __name__ == "__main__":
    sys.exit(run_tests(in_turn(named_tests(globals()))))
