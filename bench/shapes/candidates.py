#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What to time of problems, one in a line of stdin: candidates.py TOOL COUNT WITHIN prints each problem with its first
COUNT configs by TOOL's model for an H200, at most two of a tile, those that are predicted within WITHIN (1.12) of the
first. The first line of a problem is what the model chooses."""
import json
import re
import subprocess
import sys


def plan(tool, problem):
    command = [tool, "plan", *problem.split(), "--arch", "sm_90a", "--plan-for", "h200", "--json", "--all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["plan"].splitlines() if done.returncode == 0 else []


def choose(lines, count, within):
    """Configs of the lines of a plan, the fastest first."""
    found, tiles = [], {}
    for line in lines:
        config = re.search(r"kernel=gemm tile=(\S+)[^:]*", line)
        us = re.search(r"predicted ([0-9.]+) us", line)
        if not config or not us:
            continue
        tile = config[1]
        first = found[0][1] if found else float(us[1])
        tiles[tile] = tiles.get(tile, 0) + 1
        if tiles[tile] <= 2 and float(us[1]) <= within * first and len(found) < count:
            found.append((config[0].strip(), float(us[1])))
    return [config for config, _ in found]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    for problem in sys.stdin.read().splitlines():
        for config in choose(plan(sys.argv[1], problem), int(sys.argv[2]), float(sys.argv[3])):
            print(f"{problem} config={config}")


if __name__ == "__main__":
    main()
