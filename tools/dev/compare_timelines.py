#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two timelines of one problem, a GPU's and a modelled one, one below the other as a picture.

Both are files of `jit-gemm trace -o FILE.json`, of the same problem and config. The first CTAs
are drawn on one axis, and what differs is printed: when each role began and ended, as a mean
of all CTAs that were recorded.

    compare_timelines.py gpu.json modelled.json -o both.svg --ctas 2
"""
import argparse
import html
import json
import statistics
import sys

COLOURS = {"load": "#4477aa", "mma": "#228833", "epilogue": "#ccbb44"}
LEFT, WIDTH, ROW, TOP = 190, 1100, 16, 84


def read(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    return document["otherData"], events


def rows_of(events, ctas):
    """Events by CTA and track, of the first CTAs."""
    rows = {}
    for event in events:
        if event["pid"] < ctas:
            rows.setdefault((event["pid"], event["tid"], event["cat"]), []).append(event)
    return sorted(rows.items())


def draw(sides, ctas, end):
    """Lines of the picture, and its height."""
    lines, top = [], TOP
    for name, events in sides:
        lines.append(f'<text x="10" y="{top + 11}" font-size="12">{html.escape(name)}</text>')
        top += ROW + 4
        for (cta, _, role), own in rows_of(events, ctas):
            lines.append(f'<text x="{LEFT - 8}" y="{top + 10}" text-anchor="end">'
                         f"CTA {cta} {html.escape(role)}</text>")
            colour = COLOURS.get(role.split()[0], "#aa3377")
            for event in own:
                left = LEFT + WIDTH * event["ts"] / end
                width = max(0.8, WIDTH * event["dur"] / end)
                lines.append(f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="12" '
                             f'fill="{colour}" stroke="#ffffff" stroke-width="0.4"/>')
            top += ROW
        top += 10
    return lines, top


def draw_axis(end, bottom):
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if end / step <= 14)
    for i in range(int(end / step) + 1):
        x = LEFT + WIDTH * i * step / end
        yield (f'<line x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" y2="{bottom}" stroke="#dddddd"/>'
               f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{i * step} us</text>')


def picture(sides, facts, ctas):
    end = max(event["ts"] + event["dur"] for _, events in sides for event in events)
    lines, bottom = draw(sides, ctas, end)
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" '
            f'height="{bottom + 24}" font-family="sans-serif" font-size="10">',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="10" y="18" font-size="13">{html.escape(facts["problem"])}</text>',
            f'<text x="10" y="34">{html.escape(facts["config"])}</text>',
            '<text x="10" y="50">Time since the first bar of each. A bar is a role at one tile; '
            "blue: load, green: products, yellow: epilogue. Modelled times were not measured."
            "</text>"]
    return "\n".join(head + list(draw_axis(end, bottom)) + lines + ["</svg>", ""])


def means(events):
    """Of each role: when it began and ended, in the mean of its CTAs."""
    spans = {}
    for event in events:
        key = (event["cat"].split()[0], event["pid"], event["tid"])
        begin, end = spans.get(key, (event["ts"], 0))
        spans[key] = (min(begin, event["ts"]), max(end, event["ts"] + event["dur"]))
    roles = {}
    for (role, _, _), span in spans.items():
        roles.setdefault(role, []).append(span)
    return {role: tuple(statistics.mean(part) for part in zip(*own)) for role, own in roles.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", help="timeline of a GPU")
    parser.add_argument("modelled", help="timeline of trace --modelled")
    parser.add_argument("-o", dest="path", required=True, help="SVG to write")
    parser.add_argument("--ctas", type=int, default=2, help="that are drawn, of each (2)")
    arguments = parser.parse_args()
    facts, measured = read(arguments.measured)
    other, modelled = read(arguments.modelled)
    if facts["emulated"] or not other["modelled"]:
        parser.error("the first file has to be of a GPU, and the second of trace --modelled")
    if (facts["problem"], facts["config"]) != (other["problem"], other["config"]):
        parser.error("the files have different problems or configs")
    sides = [(f"{facts['device']}, measured", measured), ("modelled", modelled)]
    with open(arguments.path, "w", encoding="utf-8") as file:
        file.write(picture(sides, facts, arguments.ctas))
    ours = means(modelled)
    for role, (begin, end) in means(measured).items():
        print(f"{role}: measured {begin:.2f} to {end:.2f} us, modelled {ours[role][0]:.2f} to "
              f"{ours[role][1]:.2f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
