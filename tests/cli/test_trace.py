# SPDX-License-Identifier: MIT
"""What `jit-gemm trace` records on the emulator, and what it draws. Prints TAP.

Usage: test_trace.py JIT_GEMM SOURCE_ROOT EMULATOR
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

from cli_harness import (Folder, emulator_by_name, expect, expect_exit, named_tests, need_compiler,
                         run_tests, tool)

EMULATOR = pathlib.Path(sys.argv[3]).resolve()
ROWS = [
    # problem, config, roles, tiles; as many multiprocessors as make several tiles per CTA
    (["512x384x320", "bf16", "--arch", "sm_100a"], "mma=128x128 cluster=1x1 stages=3",
     {"load", "mma", "epilogue"}, 12),
    (["1024x256x320", "bf16", "--arch", "sm_100a", "--epilogue", "d = acc + r;", "--operand",
      "r:matrix:bf16"], "mma=256x128 cluster=2x1 stages=3",
     {"load", "mma", "epilogue load", "epilogue"}, 16),
    (["512x384x320", "bf16", "--arch", "sm_90a"], "tile=128x128 stages=3",
     {"load", "mma", "mma 1", "epilogue", "epilogue 1"}, 12),
]


def trace(words, config, path, *more):
    done = tool("trace", *words, "--config", config, "--device", "emulator", "-o", path, *more,
                variables=emulator_by_name(EMULATOR, "sms=4,async=latest,show=errors"))
    expect_exit(done, 0)
    expect("emulated: steps, no times" in done.stderr, "it does not say what the times are", done)
    return done


def load_events(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    expect(document["otherData"]["emulated"] is True, "not said in the file")
    return [event for event in document["traceEvents"] if event["ph"] == "X"]


def test_every_role_of_every_tile_is_there():
    need_compiler()
    for words, config, roles, tiles in ROWS:
        with Folder() as folder:
            path = folder.path / "timeline.json"
            trace(words, config, path, "--ctas", "64")
            events = load_events(path)
            expect(roles <= {event["cat"] for event in events}, f"{words}: roles")
            for role in ("load", "epilogue"):
                seen = sorted((event["args"]["row"], event["args"]["col"])
                              for event in events if event["cat"] == role)
                expect(len(seen) == tiles and len(set(seen)) == tiles, f"{words}: {role} {seen}")


def test_a_tile_is_loaded_before_it_ends_in_the_epilogue():
    need_compiler()
    for words, config, _, _ in ROWS:
        with Folder() as folder:
            path = folder.path / "timeline.json"
            trace(words, config, path, "--ctas", "64")
            events = load_events(path)
            begins = {}
            for event in events:
                tile = (event["pid"], event["args"]["row"], event["args"]["col"])
                begins.setdefault(tile, {})[event["cat"]] = event
            for tile, roles in begins.items():
                load, out = roles["load"], roles["epilogue"]
                expect(load["ts"] < out["ts"] + out["dur"], f"{words}: tile {tile}")
                if "mma" in roles:
                    expect(load["ts"] <= roles["mma"]["ts"] + roles["mma"]["dur"] and
                           roles["mma"]["ts"] < out["ts"] + out["dur"], f"{words}: {tile}")
            tracks = {}
            for event in events:
                tracks.setdefault((event["pid"], event["tid"]), []).append(event)
            for track in tracks.values():
                for before, after in zip(track, track[1:]):
                    expect(before["ts"] + before["dur"] <= after["ts"], "bars overlap")


def test_a_bar_begins_where_its_wait_ends():
    """With one block of K, and copies that come as late as they may, a multiplication that has all it
    needs takes as many steps for each tile. With its wait it would take some times more."""
    need_compiler()
    words, config, _, tiles = ROWS[1]
    with Folder() as folder:
        path = folder.path / "timeline.json"
        trace([word.replace("x320", "x64") for word in words], config, path, "--ctas", "64")
        events = load_events(path)
        lengths = sorted(event["dur"] for event in events if event["cat"] == "mma")
        expect(len(lengths) == tiles // 2, f"one for each pair: {lengths}")
        expect(lengths[-1] < 3 * lengths[0], f"some have waited: {lengths}")
        ends = {(event["pid"], event["args"]["row"], event["args"]["col"]): event["ts"] + event["dur"]
                for event in events if event["cat"] == "load"}
        for event in events:
            if event["cat"] == "mma":
                tile = (event["pid"], event["args"]["row"], event["args"]["col"])
                expect(event["ts"] >= ends[tile], f"tile {tile} was not there yet")


def test_bounds_leave_out_what_does_not_fit():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "timeline.json"
        words, config, _, _ = ROWS[2]
        trace(words, config, path, "--ctas", "2", "--events", "2")
        events = load_events(path)
        expect({event["pid"] for event in events} == {0, 1}, "other CTAs")
        expect(len([event for event in events
                    if event["cat"] == "load" and event["pid"] == 0]) == 2, "other tiles")


def test_the_picture_has_a_row_for_each_role():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "timeline.svg"
        words, config, roles, tiles = ROWS[0]
        trace(words, config, path, "--ctas", "64")
        root = xml.etree.ElementTree.fromstring(path.read_text(encoding="utf-8"))
        name = "{http://www.w3.org/2000/svg}"
        texts = [text.text for text in root.iter(name + "text")]
        for role in roles:
            expect(f"CTA 0 {role}" in texts, f"no row for {role}: {texts}")
        expect(any("emulated" in (text or "") for text in texts), "emulation is not said")
        bars = [rect for rect in root.iter(name + "rect") if rect.find(name + "title") is not None]
        legend = {text.text for text in root.iter(name + "text") if text.get("class") == "legend"}
        rows = {text.split()[2] for text in texts if re.match(r"CTA [0-9]+ ", text or "")}
        expect(legend == rows and rows >= roles, f"legend: {legend}, rows: {rows}")
        expect(any(re.fullmatch(r"[0-9]+ steps", text or "") for text in texts), "no unit at the axis")
        expect(all(bar.find(name + "title").text.endswith(" steps") for bar in bars), "no unit of a bar")
        epilogues = [bar for bar in bars if bar.find(name + "title").text.startswith("epilogue")]
        expect(len(epilogues) == tiles, f"{len(epilogues)} bars of the epilogue")
        width = float(root.get("width"))
        expect(all(0 <= float(bar.get("x")) and
                   float(bar.get("x")) + float(bar.get("width")) <= width for bar in bars),
               "a bar lies outside of the picture")
        expect(not re.search(r"[<>&]", root.find(name + "text").text or ""), "not escaped")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
