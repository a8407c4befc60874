# SPDX-License-Identifier: MIT
"""What a pair of a problem and a config exercises: each class has to occur in test_pairs.py."""
import math
import re
import shlex


def ceil_div(a, b):
    return -(-a // b)


class Pair:
    """A drawn problem and config. The sizes are those of the launch; `block` is the number of
    elements of K in 128 bytes. read_plan adds what the library made of it."""

    def __init__(self, words, launch, m, n, k, batch, block, cluster, epilogue):
        self.words, self.launch = words, launch
        self.m, self.n, self.k, self.batch, self.block = m, n, k, batch, block
        self.cluster, self.epilogue = cluster, epilogue
        self.text = shlex.join([*words, *launch])
        self.has_outputs = self.has_scales_of_d or any(
            word.endswith((":out", ":sum", ":max")) for word in words)
        self.config = {}

    def read_plan(self, plan):
        """Takes the whole config, with the keys that were chosen, from what `plan` printed."""
        line = re.search(r"^chosen: ([^:]*):", plan, re.MULTILINE)[1]
        self.config = dict(word.split("=") for word in line.split())

    def has(self, word):
        return word in self.words

    def value(self, name):
        """Of a key of the problem; None where it has the usual value."""
        return next((word.split("=")[1] for word in self.words if word.startswith(name + "=")), None)

    def number(self, key, usual=1):
        return int(self.config.get(key, usual))

    @property
    def products(self):
        """Multiplications of a launch."""
        return self.m * self.n * self.k * self.batch

    @property
    def chip(self):
        return self.words[self.words.index("--arch") + 1] if "--arch" in self.words else "sm_100a"

    @property
    def scaled_by_tensor_core(self):
        return self.value("a").startswith(("mx", "nv")) or any(
            word.startswith("a_scale=") and word.endswith("ue8m0") for word in self.words)

    @property
    def has_float_scales(self):
        return any(name in ("a_scale", "b_scale") and value in ("1x128", "128x128")
                   for name, _, value in (word.partition("=") for word in self.words))

    @property
    def has_block_scales(self):
        return self.scaled_by_tensor_core or self.has_float_scales

    @property
    def has_scales_of_d(self):
        return self.value("d").startswith(("mx", "nv")) or self.value("d_scale") is not None

    @property
    def is_gated(self):
        return self.epilogue in (6, 7)

    @property
    def adds_in_any_order(self):
        return self.config.get("split_order") == "unordered"

    @property
    def sms(self):
        """Multiprocessors to run on: two clusters fit, or four small ones."""
        return max(4, 2 * math.prod(self.cluster))

    @property
    def tile(self):
        """Rows of A and columns of B of one multiplication, or of both that make an accumulator each:
        of a CTA, or of a pair."""
        if "tile" in self.config:
            return tuple(map(int, self.config["tile"].split("x")[:2]))
        m, n = map(int, self.config["mma"].split("x"))
        if self.number("swap_ab", 0):
            return n, 2 * m if self.is_gated else m
        return m, n

    @property
    def tiles(self):
        """Of D, along M and along N."""
        return ceil_div(self.m, self.tile[0]), ceil_div(self.n, self.tile[1])

    @property
    def cluster_tiles(self):
        """Tiles of a cluster, along M and along N."""
        own_m, own_n = self.cluster
        own_m //= self.number("cta_group")
        return (own_n, own_m) if self.number("swap_ab", 0) else (own_m, own_n)

    @property
    def work(self):
        """Of how many clusters there is work, and how many run at once."""
        clusters = math.prod(map(ceil_div, self.tiles, self.cluster_tiles)) * self.batch
        return (clusters + self.split_clusters(clusters) * (self.number("split_k") - 1),
                self.sms // math.prod(self.cluster))

    def split_clusters(self, clusters):
        """Cluster tiles, of so many, that have parts of K."""
        tail = self.number("split_tail", 0)
        return clusters % tail if tail else clusters

    @property
    def has_tail(self):
        """Do some tiles have parts of K, and some all of it?"""
        clusters = math.prod(map(ceil_div, self.tiles, self.cluster_tiles)) * self.batch
        return self.number("split_k") > 1 and 0 < self.split_clusters(clusters) < clusters

    @property
    def stages_of_k(self):
        """Of what one CTA adds up; the last one may be shorter."""
        parts = 1 if self.has_tail else self.number("split_k")
        return ceil_div(ceil_div(ceil_div(self.k, self.block), parts), self.number("k_group"))


TYPES = [("bf16", "bf16"), ("f16", "f16"), ("tf32", "tf32"), ("e4m3", "e4m3"), ("e4m3", "e5m2"),
         ("s8", "s8")]
SCALED_TYPES = [("mxfp8", "mxfp8"), ("mxfp8e5m2", "mxfp8e5m2"), ("mxfp4", "mxfp4"), ("nvfp4", "nvfp4"),
                ("mxfp8", "mxfp4"), ("mxfp4", "mxfp8e5m2")]

# By name: whether a pair is of the class.
CLASSES = {
    **{f"A of {a}, B of {b}": lambda p, a=a, b=b: p.has("a=" + a) and p.has("b=" + b)
       for a, b in TYPES + SCALED_TYPES},
    **{f"D of {d}": lambda p, d=d: p.has("d=" + d)
       for d in ("bf16", "f16", "f32", "e4m3", "e5m2", "s32")},
    **{f"layout {layout}": lambda p, layout=layout: p.has("layout=" + layout)
       for layout in ("nt", "nn", "tn", "tt")},
    "column-major D": lambda p: p.has("d_layout=column"),
    "inputs loaded by threads": lambda p: p.config.get("repack") == "none",
    "inputs copied first": lambda p: p.config.get("repack") == "ab",
    "inputs copied first, K in parts": lambda p:
        p.config.get("repack") == "ab" and p.number("split_k") > 1,
    "inputs copied first, in clusters": lambda p: p.config.get("repack") == "ab" and p.cluster != (1, 1),
    "M = 1": lambda p: p.m == 1,
    "N = 1": lambda p: p.n == 1,
    "K = 1": lambda p: p.k == 1,
    "the last tile along M is cut": lambda p: p.m > p.tile[0] and p.m % p.tile[0] != 0,
    "the last tile along N is cut": lambda p: p.n > p.tile[1] and p.n % p.tile[1] != 0,
    "the last block of K is cut": lambda p: p.k > p.block and p.k % p.block != 0,
    "no size is cut": lambda p: not (p.m % p.tile[0] or p.n % p.tile[1] or p.k % p.block),
    "K shorter than a stage": lambda p: p.k < p.block * p.number("k_group"),
    "K longer than the ring and two stages": lambda p: p.stages_of_k > p.number("stages") + 2,
    "more work than clusters run at once": lambda p: p.work[0] > p.work[1],
    "static shares of several tiles": lambda p:
        p.config.get("scheduler") == "static" and p.work[0] > p.work[1],
    "tiles by launch control": lambda p: p.config.get("scheduler") == "clc" and p.work[0] > p.work[1],
    "an odd number of tiles": lambda p: math.prod(p.tiles) > 1 and math.prod(p.tiles) % 2 == 1,
    "tiles of a cluster beyond the edge": lambda p:
        any(count % own for count, own in zip(p.tiles, p.cluster_tiles)),
    "batch": lambda p: p.batch > 1,
    "sizes of the launch": lambda p: p.has("dynamic=m,n,k"),
    "C and beta": lambda p: "--beta" in p.launch,
    "C of another type than D": lambda p:
        p.value("c") is not None and p.value("c") != p.value("d"),
    "scales": lambda p: any(word.endswith(("_scale=tensor", "_scale=vector")) for word in p.words),
    "no epilogue": lambda p: p.epilogue == 0,
    "epilogue: a scalar": lambda p: p.epilogue == 1,
    "epilogue: a row and a column vector": lambda p: p.epilogue == 2,
    "epilogue: a matrix": lambda p: p.epilogue == 3,
    "epilogue: a second output": lambda p: p.epilogue == 4,
    "epilogue: reductions": lambda p: p.epilogue == 5,
    "epilogue: gated pair": lambda p: p.is_gated,
    "gated pair along M": lambda p: p.is_gated and p.number("swap_ab", 0) == 1,
    "gated pair of neighbours in an MN-major B": lambda p:
        p.is_gated and not p.has("pair=halves") and (p.has("layout=nn") or p.has("layout=tn")),
    "gated pair loaded by threads": lambda p: p.is_gated and p.config.get("repack") == "none",
    "gated pair of inputs copied first": lambda p: p.is_gated and p.config.get("repack") == "ab",
    "gated pair, column-major D": lambda p: p.is_gated and p.has("d_layout=column"),
    **{f"scheduler {name}": lambda p, name=name: p.config.get("scheduler") == name
       for name in ("single", "static", "clc")},
    "one CTA multiplies": lambda p: p.number("cta_group") == 1,
    "a pair multiplies": lambda p: p.number("cta_group") == 2,
    "MMA of 64 rows": lambda p: p.config.get("mma", "").startswith("64x"),
    "no cluster": lambda p: p.cluster == (1, 1),
    "clusters along M and N": lambda p: min(p.cluster) > 1,
    "clusters of 16": lambda p: math.prod(p.cluster) == 16,
    "transposed product": lambda p: p.number("swap_ab", 0) == 1,
    "K in parts": lambda p: p.number("split_k") > 1,
    "K in parts beyond whole waves": lambda p: p.has_tail,
    "parts added as they come": lambda p: p.adds_in_any_order,
    "several blocks of K a stage": lambda p: p.number("k_group") > 1,
    "one accumulator": lambda p: p.number("acc_stages") == 1,
    "two accumulators": lambda p: p.number("acc_stages") == 2,
    "eight warps write": lambda p: p.number("epilogue_warps", 4) == 8,
    "raster along M": lambda p: p.config.get("raster") == "m",
    **{f"f32 scales of blocks on {chip}": lambda p, chip=chip: p.has_float_scales and p.chip == chip
       for chip in ("sm_90a", "sm_100a")},
    **{f"{name}_scale={kind}": lambda p, name=name, kind=kind: p.has(f"{name}_scale={kind}")
       for name in "ab" for kind in ("1x128", "128x128", "1x128ue8m0", "128x128ue8m0")},
    **{f"{name}_scale_layout={layout}, packed first": lambda p, name=name, layout=layout:
       p.scaled_by_tensor_core and p.has(f"{name}_scale_layout={layout}")
       for name in "ab" for layout in ("row", "column", "8x4", "mn_k4")},
    **{f"scales of blocks, {name}": lambda p, test=test: p.has_block_scales and test(p)
       for name, test in {
           "the last block of 32 is cut": lambda p: p.k % 32 != 0,
           "the last block of 128 is cut": lambda p: p.k % 128 != 0,
           "the last tile along M is cut": lambda p: p.m > p.tile[0] and p.m % p.tile[0] != 0,
           "the last tile along N is cut": lambda p: p.n > p.tile[1] and p.n % p.tile[1] != 0,
           "M = 1": lambda p: p.m == 1,
           "N = 1": lambda p: p.n == 1,
           "K longer than the ring and two stages": lambda p: p.stages_of_k > p.number("stages") + 2,
           "batch": lambda p: p.batch > 1,
           "sizes of the launch": lambda p: p.has("dynamic=m,n,k"),
           "a pair multiplies": lambda p: p.number("cta_group") == 2,
           "transposed product": lambda p: p.number("swap_ab", 0) == 1,
           "K in parts": lambda p: p.number("split_k") > 1,
           "gated pair": lambda p: p.is_gated,
           "gated halves": lambda p: p.has("pair=halves"),
           "scales of D": lambda p: p.has_scales_of_d}.items()},
    "tiles that begin inside of a piece of scales": lambda p:
        p.scaled_by_tensor_core and p.tile[1] % 128 != 0 and p.tiles[1] > 1,
    "D of mxfp8": lambda p: p.value("d") == "mxfp8",
    "D of nvfp4": lambda p: p.value("d") == "nvfp4",
    "D of e4m3 in blocks of 128": lambda p: p.value("d_scale") in ("1x128", "128x128"),
    "D in squares of 128": lambda p: (p.value("d_scale") or "").startswith("128x128"),
    "column-major D with scales": lambda p: p.has_scales_of_d and p.has("d_layout=column"),
    "transposed product beside scales of D": lambda p: p.has_scales_of_d and p.number("swap_ab", 0) == 1,
    "D of powers of two in blocks of 128": lambda p:
        p.value("d_scale") in ("1x128ue8m0", "128x128ue8m0"),
    "groups of tiles": lambda p: p.number("raster_group") > 1,
}


def classes_of(pair):
    return [name for name, test in CLASSES.items() if test(pair)]
