# SPDX-License-Identifier: MIT
"""What skewed groups would take on an H200 in one way to tile them, of a dense product of as many rows: a count, no measurement.

Usage: group_rounds.py [--mhz N] [--seed N] [SHAPE ...]

66 clusters of two CTAs take every 66th entry of a list, as kernels do. Each multiplies as fast as the tensor core,
as bytes come from L2 to all at once, and as bytes come from memory: weights and rows that nobody has begun to read
within the last 45 MB are read from there, and whoever reads the same meanwhile goes no faster. Numbers are those
of docs/grouped.md: 37 bytes a clock and multiprocessor, 4.3 TB/s, the end of a tile of one warpgroup for each half.
Against what was measured with 512 rows on average (bench/results/README.md): 128x192 0.86 to 0.945 of dense for 0.83
to 0.94, of which 128x1536x4096 has 0.905 for 0.83 in a single run, 0.89 in turns and 0.91 of uniform sizes; 128x256
0.97 to 1.00 of its time for 0.99 to 1.01, but with 8x4096x14336 1.10, as rounds of halves are not counted, and
128x2048x768 1.06; tiles up to 128x256 of about the same size 0.98 to 1.05 for 1.01 to 1.12; largest first 1.00 to
1.06 for 0.985 to 1.013, so that phases of small groups are counted too dear.
"""
import argparse
import math
import random

SHAPES = {"256x4096x7168": (256, 4096, 7168), "256x7168x2048": (256, 7168, 2048), "8x28672x4096": (8, 28672, 4096),
          "8x4096x14336": (8, 4096, 14336), "128x1536x4096": (128, 1536, 4096), "128x2048x768": (128, 2048, 768)}
ROWS = 512  # of a group, on average
CLUSTERS, CTAS = 66, 132
ROW_BYTES = 128  # of a block of K: 64 elements of bf16
MOST_BYTES = 64  # that a multiprocessor draws each clock, and all of them on average:
L2_BYTES = 37 * CTAS
MEMORY_BYTES = 4.3e12  # a second
KEPT_BYTES = 45e6  # of L2
BAND = 16  # tiles of columns
END_CLK = 1250  # of a tile of 128x256 that nothing hides, by what it takes of 128x192's time; of others in proportion
END_TILE_CLK = 1024  # of a block of it


class Entry:
    """A cluster's: clocks of a block of K, bytes that come to a CTA for it, what is read (key, bytes), bytes of D."""

    def __init__(self, clocks, bytes_of_cta, reads, written):
        self.clocks, self.bytes_of_cta, self.reads, self.written = clocks, bytes_of_cta, reads, written


def draw_sizes(groups, seed):
    parts = [1 / (i + 1) for i in range(groups)]
    sizes = [int(ROWS * groups * part / sum(parts)) for part in parts]
    sizes[0] += ROWS * groups - sum(sizes)
    random.Random(seed).shuffle(sizes)
    return sizes


def list_rows(sizes, n, tile_m, tile_n):
    """Clusters of two tiles of rows; of a group's last tile, if it is the first of its cluster, two of columns."""
    entries = []
    columns, a, b = math.ceil(n / tile_n), tile_m * ROW_BYTES, tile_n * ROW_BYTES
    clocks, written = tile_m * tile_n / 32, 4 * tile_m * tile_n
    for group, rows in enumerate(sizes):
        full, rest = divmod(rows, 2 * tile_m)
        along = full + (rest > tile_m)
        for first in range(0, columns, BAND):
            band = range(first, min(columns, first + BAND))
            for m in range(along):
                entries += [Entry(clocks, a + b / 2, [(("b", group, i), b), (("a", group, m), 2 * a)], written)
                            for i in band]
            if 0 < rest <= tile_m:
                own = a // 2 if rest <= tile_m // 2 else a
                for i in band[::2]:
                    weights = [(("b", group, j), b) for j in (i, i + 1) if j < columns]
                    entries.append(Entry(clocks, own / 2 + b, [*weights, (("a", group, along), own)], written))
    return entries


def list_even(sizes, n, weights, most, multiple):
    """Weights by rows, as many tiles of a group as full ones would be, of about the same rows; clusters of two of
    weights."""
    entries = []
    columns = math.ceil(n / (2 * weights))
    for group, rows in enumerate(sizes):
        tiles = math.ceil(rows / most)
        shares = math.ceil(rows / multiple)
        ends = [min(rows, shares * (i + 1) // tiles * multiple) for i in range(tiles)]
        own = [max(math.ceil((end - begin) / 32) * 32, most // 2) for begin, end in zip([0, *ends], ends)]
        for first in range(0, columns, BAND // 2):
            for m, tile in enumerate(own):
                for i in range(first, min(columns, first + BAND // 2)):
                    reads = [(("b", group, j), weights * ROW_BYTES) for j in (2 * i, 2 * i + 1) if j * weights < n]
                    reads.append((("a", group, m), tile * ROW_BYTES))
                    entries.append(Entry(weights * tile / 32, weights * ROW_BYTES + tile * ROW_BYTES / 2, reads,
                                         4 * weights * tile))
    return entries


def spread(entries, sizes, most=200):
    """Those of groups of up to so many rows evenly among the others."""
    few = [entry for entry in entries if sizes[entry.reads[0][0][1]] <= most]
    many = [entry for entry in entries if sizes[entry.reads[0][0][1]] > most]
    places = [((i + 0.5) / len(part), entry) for part in (few, many) for i, entry in enumerate(part)]
    return [entry for _, entry in sorted(places, key=lambda place: place[0])]


def limit(rates, bytes_of, most):
    """Blocks a clock that each of these may have at most, so that their bytes are no more."""
    weight, left = sum(bytes_of(i) for i in rates), most
    if sum(bytes_of(i) * rate for i, rate in rates.items()) <= most:
        return math.inf
    for i in sorted(rates, key=rates.get):
        if rates[i] * weight > left:
            break
        left -= rates[i] * bytes_of(i)
        weight -= bytes_of(i)
    return left / weight


class Launch:
    def __init__(self, entries, blocks, end, mhz, has_limits):
        self.entries, self.blocks, self.end = entries, blocks, end
        self.memory = MEMORY_BYTES / (mhz * 1e6) if has_limits else math.inf
        self.l2 = L2_BYTES if has_limits else math.inf
        self.read_bytes = 0.0
        self.begun, self.reader = {}, {}  # of what is read: bytes read by then, and the cluster that does
        self.running = {}  # cluster: entry, blocks left, bytes of a block from memory, clusters that it waits for
        self.places = list(range(CLUSTERS))

    def begin(self, cluster):
        place = self.places[cluster]
        self.running.pop(cluster, None)
        if place >= len(self.entries):
            return
        self.places[cluster] += CLUSTERS
        entry, own, others = self.entries[place], 0, set()
        for key, size in entry.reads:
            if key in self.begun and self.read_bytes - self.begun[key] < KEPT_BYTES:
                others.add(self.reader[key])
            else:
                self.reader[key] = (cluster, place)
                own += size
            self.begun[key] = self.read_bytes
        left = self.blocks + self.end / END_TILE_CLK
        self.running[cluster] = [entry, left, own, [c for c, p in others if p == self.places[c] - CLUSTERS]]

    def rates(self):
        running = self.running
        rates = {i: min(1 / entry.clocks, MOST_BYTES / entry.bytes_of_cta)
                 for i, (entry, *_) in running.items()}
        most = limit(rates, lambda i: 2 * running[i][0].bytes_of_cta, self.l2)
        rates = {i: min(rate, most) for i, rate in rates.items()}
        written = sum(running[i][0].written / self.blocks * rate for i, rate in rates.items())
        misses = {i: rate for i, rate in rates.items() if running[i][2] > 0}
        most = limit(misses, lambda i: running[i][2], self.memory - written)
        rates.update({i: min(rate, most) for i, rate in misses.items()})
        for i in rates:
            for other in running[i][3]:
                if other in running and running[other][1] >= running[i][1] - 1:
                    rates[i] = min(rates[i], rates[other])
        return rates

    def run(self):
        """Clocks."""
        clocks = 0.0
        for cluster in range(CLUSTERS):
            self.begin(cluster)
        while self.running:
            rates = self.rates()
            step = min(self.running[i][1] / rate for i, rate in rates.items())
            clocks += step
            for i, rate in rates.items():
                entry, _, own, _ = self.running[i]
                self.read_bytes += (own + entry.written / self.blocks) * rate * step
                self.running[i][1] -= rate * step
            for i in rates:
                if self.running[i][1] <= 1e-6:
                    self.begin(i)
        return clocks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mhz", type=float, default=1575, help="of the power limit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", choices=[*SHAPES, []])
    args = parser.parse_args()
    for name in args.shapes or SHAPES:
        groups, n, k = SHAPES[name]
        sizes = draw_sizes(groups, args.seed)

        def run(entries, end=0, has_limits=True):
            return Launch(entries, k // 64, end, args.mhz, has_limits).run()

        all_rows = [sum(sizes)]
        dense = min(run(list_rows(all_rows, n, 128, 192)), run(list_rows(all_rows, n, 128, 256), END_CLK))
        rows = list_rows(sizes, n, 128, 192)
        ways = {"128x192": run(rows), "no limits": run(rows, has_limits=False),
                "spread": run(spread(rows, sizes)),
                "largest first": run(list_rows(sorted(sizes, reverse=True), n, 128, 192)),
                "128x256": run(list_rows(sizes, n, 128, 256), END_CLK),
                "its end free": run(list_rows(sizes, n, 128, 256)),
                "even 128x256": run(list_even(sizes, n, 128, 256, 64), END_CLK),
                "even 256x192": run(list_even(sizes, n, 256, 192, 16), END_CLK)}
        print(f"{name:14} of dense: " + ", ".join(f"{way} {dense / clocks:.3f}" for way, clocks in ways.items()),
              flush=True)


if __name__ == "__main__":
    main()
