# SPDX-License-Identifier: MIT
"""Draws lines of `jit-gemm run` for sm_90a, by a seed each: problems, configs of every kind and what is
given beside them. What the library refuses is for its callers to count."""
import random

from group_draws import draw_own_sizes, draw_place, draw_problem as draw_groups
from pair_draws import (EPILOGUES, EPILOGUE_WEIGHTS, LEAST_ALIGNMENT, draw_k, draw_size)
from scaled_pair_draws import D_TYPES, D_WEIGHTS, FLOAT_SCALES, FLOAT_TYPES

MOST_PRODUCTS = 1 << 30  # M * N * K * batch: a reference kernel on a GPU does them in a moment
TILES = [(128, 256), (256, 128), (128, 192), (128, 128), (64, 256), (64, 128), (128, 224), (128, 160),
         (128, 96), (128, 112), (128, 144), (128, 176), (128, 208), (64, 224), (64, 192), (64, 160)]
IN_TURN = [(128, 192), (128, 128), (64, 256), (128, 176), (128, 160)]
TRANSPOSED = [(128, 16), (128, 32), (128, 64), (64, 32), (64, 64), (64, 96), (64, 128), (256, 16),
              (256, 32), (256, 64), (64, 160), (64, 192), (128, 160), (128, 192)]
SCALED_TRANSPOSED = TRANSPOSED + [(128, 96), (128, 112), (256, 48), (128, 128), (256, 128)]
BY_BLOCKS_IN_TURN = [(64, 32), (64, 64), (64, 96), (64, 128), (64, 160)]
GATED = [(256, 128), (128, 256), (128, 128)]
GATED_TRANSPOSED = [(256, 16), (256, 32), (256, 64), (256, 48), (128, 32), (128, 64)]
CLUSTERS, CLUSTER_WEIGHTS = [(1, 1), (2, 1), (1, 2)], [4, 2, 2]
PART_CLUSTERS = [(1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (4, 2)]
# Type of A, of B, elements of K in 128 bytes, types of D.
TYPES = [("bf16", "bf16", 64, ["bf16", "bf16", "f32", "f16", "e4m3"]), ("f16", "f16", 64, ["f16", "f32"]),
         ("tf32", "tf32", 32, ["f32", "bf16"]), ("e4m3", "e4m3", 128, ["bf16", "e4m3", "f32"]),
         ("e4m3", "e5m2", 128, ["f16", "e5m2"]), ("e5m2", "e4m3", 128, ["bf16"]),
         ("s8", "s8", 128, ["s32", "bf16"])]
TYPE_WEIGHTS = [6, 3, 2, 3, 1, 1, 2]
MORE_EPILOGUES = EPILOGUES + [
    ["--epilogue", "d = acc + r; q = gelu(acc);", "--operand", "r:matrix:f32", "--operand", "q:1x32:f32:max"],
    ["--epilogue", "d = relu(acc + b); m = abs(acc);", "--operand", "b:row_vector:f32", "--operand",
     "m:scalar:f32:max"],
    ["--epilogue", "d = gelu(acc) * r + x;", "--operand", "r:matrix:bf16", "--operand", "x:matrix:f16"],
]
NAMED = ["bias_gelu", "bias_gelu_aux", "residual", "bias_residual", "drelu_bias_gradient", "silu", "quantise",
         "dgelu_tanh_bias_gradient", "bias_dropout_residual", "bias_gradient", "relu_aux", "swiglu", "geglu_tanh"]
MORE_EPILOGUES += [["epilogue=" + name] for name in NAMED]
MORE_WEIGHTS = EPILOGUE_WEIGHTS + [1, 1, 1] + [0.5] * len(NAMED)


def some(draw, chance, words):
    """One of `words` by a chance."""
    return [draw.choice(words)] if words and draw.random() < chance else []


def is_gated(words):
    return any("acc0" in word or "glu" in word for word in words)


def draw_place_of_d(draw, words, epilogue):
    """What writes D over a matrix that it reads."""
    if "epilogue=residual" in epilogue or "epilogue=bias_residual" in epilogue:
        return ["--in-place", "residual"] if draw.random() < 0.5 else []
    takes = "d=bf16" in words and any(word.startswith("r:matrix:bf16") for word in epilogue)
    return ["--in-place", "r"] if takes and draw.random() < 0.4 else []


def draw_parts(draw, config):
    """(words of parts of K, the cluster, how many parts)."""
    order = draw.choice(["serial", "unordered", "cluster", "parallel", "tail", "clusters"])
    cluster = draw.choices(CLUSTERS, CLUSTER_WEIGHTS)[0]
    parts = draw.choice([2, 2, 3, 4, 5, 8])
    if order == "tail":
        config += [f"split_k={parts}", f"split_tail={draw.choice([2, 3, 5, 8, 30, 66, 132])}"]
    elif order == "clusters":
        each = draw.choice([2, 3, 4])
        parts = each * draw.choice([2, 3])
        cluster = (1, 1)
        config += [f"split_k={parts}", "split_order=cluster", f"cluster_k={each}"]
    else:
        if order in ("cluster", "parallel"):
            cluster = draw.choice(PART_CLUSTERS)
        if order == "cluster":
            parts = min(parts, 16 // (cluster[0] * cluster[1]))
        config += [f"split_k={parts}", f"split_order={order}"]
    return cluster, parts


def draw_tile(draw, kind):
    """(tile, its words) of a product: as it is, transposed, of warpgroups in turn, or K in turn."""
    tiles = {"plain": TILES, "turn": IN_TURN, "transposed": TRANSPOSED, "scaled": SCALED_TRANSPOSED,
             "k_turn": BY_BLOCKS_IN_TURN, "gated": GATED, "gated_transposed": GATED_TRANSPOSED}[kind]
    tile = draw.choice(tiles)
    words = [f"tile={tile[0]}x{tile[1]}"]
    return tile, words + {"turn": ["pingpong=1"], "k_turn": ["k_turns=1"]}.get(kind, [])


def draw_config(draw, kind, transposed, by_columns):
    """(words, rows and columns of D of a tile, stages, parts)."""
    tile, config = draw_tile(draw, kind)
    cluster, parts = draw.choices(CLUSTERS, CLUSTER_WEIGHTS)[0], 1
    if kind != "turn" and draw.random() < 0.35:
        cluster, parts = draw_parts(draw, config)
    if cluster != (1, 1) or draw.random() < 0.5:
        config.append(f"cluster={cluster[0]}x{cluster[1]}")
    stages = draw.choice([2, 3, 4, 5] if kind != "k_turn" else [2, 4, 6])
    config += some(draw, 0.5, [f"stages={stages}"])
    config += some(draw, 0.3, ["raster=m", "raster=n"]) + some(draw, 0.3, [f"raster_group={n}" for n in (1, 2, 4)])
    config += some(draw, 0.2, ["out_stages=1", "out_stages=2"]) + some(draw, 0.1, ["pdl=0"])
    config += some(draw, 0.04, ["debug=1"]) + some(draw, 0.06, ["resident=2"])
    if (transposed and kind not in ("plain", "turn", "gated")) or draw.random() < 0.3:
        config.append(f"swap_ab={int(transposed != by_columns)}")
    return config, (tile[1], tile[0]) if transposed else tile, stages, parts


def draw_kind(draw, transposed, gated, scaled):
    if gated:
        return "gated_transposed" if transposed else "gated"
    if scaled:
        return draw.choice(["scaled", "k_turn"] if transposed else ["plain", "plain", "k_turn"])
    return "transposed" if transposed else draw.choices(["plain", "turn"], [4, 1])[0]


def draw_sizes(draw, tile, block, stages, parts, steps, most):
    """M, N, K, batch; a few of them with many tiles, so that CTAs have several."""
    while True:
        batch = draw.choices([1, 2, 3], [8, 1, 1])[0]
        m, n = draw_size(draw, tile[0]), draw_size(draw, tile[1])
        if draw.random() < 0.25:
            m, n = draw.choice([(m * draw.randint(4, 16), n * draw.randint(4, 16)), (m, n * 40), (m * 40, n)])
        k = draw_k(draw, block, stages)
        if draw.random() < 0.15:
            k *= draw.randint(2, 8)
        k = max(k, block * (parts - 1) + 1)
        m, n, k = (size + -size % step for size, step in zip((m, n, k), steps))
        if m * n * k * batch <= most and m * n * batch <= most >> 8:
            return m, n, k, batch


def size_words(draw, m, n, k, batch):
    """(of the problem, of the launch): other sizes than those planned for, now and then."""
    words = [f"batch={batch}"] if batch > 1 else []
    if draw.random() < 0.2:
        planned = draw.choice([64, 1024, 3000])
        return ([f"m={planned}", f"n={planned}", f"k={planned}", *words, "dynamic=m,n,k"],
                ["--m", str(m), "--n", str(n), "--k", str(k)])
    return [f"m={m}", f"n={n}", f"k={k}", *words], []


def draw_c(draw, words, launch, d, is_integer):
    """C, and D over it."""
    kind = draw.choice([d, "s32" if is_integer else "f32"])
    words.append("c=" + kind)
    launch += ["--beta", draw.choice(["2", "-0.5", "1"])]
    if kind == d and draw.random() < 0.4:
        launch += ["--in-place", "C"]


def draw_dense(draw, most):
    """A product without scales of blocks."""
    a, b, block, d_types = draw.choices(TYPES, TYPE_WEIGHTS)[0]
    epilogue = draw.choices(MORE_EPILOGUES, MORE_WEIGHTS)[0]
    gated = is_gated(epilogue)
    by_columns, transposed = draw.random() < 0.15, draw.random() < 0.4
    kind = draw_kind(draw, transposed, gated, False)
    config, tile, stages, parts = draw_config(draw, kind, transposed, by_columns)
    is_short = block == 64 or draw.random() < 0.05  # others are multiplied from K-major layouts only
    layout = draw.choices(["nt", "nn", "tn", "tt"], [4, 2, 2, 2])[0] if is_short else "nt"
    halves = gated and draw.random() < 0.5
    step_n = 32 if halves and layout in ("nn", "tn") else 2 if gated else 1
    m, n, k, batch = draw_sizes(draw, tile, block, stages, parts, (1, step_n, 1), most)
    d = draw.choice(d_types)
    sizes, launch = size_words(draw, m, n, k, batch)
    words = [*sizes, f"a={a}", f"b={b}", f"d={d}", "layout=" + layout]
    words += ["d_layout=column"] * by_columns + ["pair=halves"] * halves
    if draw.random() < 0.2:
        element = 128 // block
        words.append(f"input_align={draw.choice([size for size in (1, 2, 4, 8) if size >= element])}")
        config += some(draw, 0.8, ["repack=ab", "repack=none", "repack=a", "repack=b"])
    if draw.random() < 0.15:
        words.append(f"output_align={draw.choice([s for s in (1, 2, 4, 8) if s >= LEAST_ALIGNMENT[d]])}")
    if not gated and draw.random() < 0.25:
        draw_c(draw, words, launch, d, a == "s8")
    words += some(draw, 0.2, ["a_scale=tensor", "b_scale=vector", "a_scale=vector", "a_scale=tensor"])
    words += some(draw, 0.1, ["weights=a", "weights=b"]) + some(draw, 0.06, ["invariant=m"])
    if a.startswith("e"):
        words += some(draw, 0.3, ["accumulate=fast"])
    return words, config, launch, epilogue


def draw_scaled(draw, most):
    """Scales of blocks of A and B, or computed ones of D, or both."""
    a, b = draw.choice(FLOAT_TYPES)
    scales = draw.choice([*FLOAT_SCALES, ("1x128", "1x128"), ("1x128", "128x128")])
    d = draw.choices(D_TYPES, [9, 3, 2, *D_WEIGHTS[3:]])[0]
    is_quantised = "mx" in d or "nv" in d or "_scale" in d
    epilogue = draw.choices(MORE_EPILOGUES, [20, *MORE_WEIGHTS[1:]])[0]
    gated = is_gated(epilogue)
    by_columns, transposed = draw.random() < 0.1, draw.random() < 0.5
    kind = draw_kind(draw, transposed, gated, True)
    if "d_scale=128x128" in d:
        kind, transposed = "plain", False
    config, tile, stages, parts = draw_config(draw, kind, transposed, by_columns)
    if "d_scale=128x128" in d:
        config[0], tile = "tile=128x128", (128, 128)
    halves = gated and draw.random() < 0.5
    step_n = 256 if halves and "128x128" in scales else 4 if gated else 2 if "fp4" in d else 1
    steps = (2 if by_columns and "fp4" in d else 1, step_n, 1)
    m, n, k, batch = draw_sizes(draw, tile, 128, stages, parts, steps, most)
    sizes, launch = size_words(draw, m, n, k, batch)
    words = [*sizes, f"a={a}", f"b={b}", *f"d={d}".split()]
    if draw.random() < 0.85:
        for name, scale in zip("ab", scales):
            if scale is not None:
                words += [f"{name}_scale={scale}", f"{name}_scale_layout={draw.choice(['row', 'column'])}"]
    words += ["d_layout=column"] * by_columns + ["pair=halves"] * halves
    if not gated and not is_quantised and draw.random() < 0.25:
        draw_c(draw, words, launch, d, False)
    words += some(draw, 0.05, ["invariant=m"]) + some(draw, 0.1, ["output_align=4", "weights=b"])
    return words, config, launch, epilogue


def number_of(words, key):
    return next(int(word[len(key) + 1:]) for word in words if word.startswith(key + "="))


def grow(draw, words, sizes, most):
    """(words, sizes) with more rows and columns, so that CTAs have several tiles."""
    by_k, apart = "group_by=k_offsets" in words, "group_by=counts" in words or "group_by=pointers" in words
    m, n, groups = (number_of(words, key) for key in ("m", "n", "groups"))
    times_m, times_n = draw.choice([1, 1, 2, 3, 8]), draw.choice([1, 1, 2, 5, 16])
    if m * times_m * n * times_n * (groups if apart or by_k else 1) > most >> 8:
        return words, sizes
    grown = [f"m={m * times_m}" if word == f"m={m}" else f"n={n * times_n}" if word == f"n={n}" else word
             for word in words]
    return grown, sizes if by_k else [size * times_m for size in sizes]


def replace_config(draw, words):
    """The same with a config of any kind, or with none."""
    words = list(words)
    if "--config" in words:
        at = words.index("--config")
        del words[at:at + 2]
    if draw.random() < 0.4:
        return words
    gated, scaled = is_gated(words), any("128" in word for word in words if "_scale=" in word)
    transposed = draw.random() < 0.5
    kind = draw_kind(draw, transposed, gated, scaled)
    config, *_ = draw_config(draw, kind, transposed, False)
    left_out = ("split_", "cluster_k", "cluster=2x2", "cluster=4")  # parts of K have these clusters
    config = [word for word in config if not word.startswith(left_out)]
    config += some(draw, 0.3, ["group_maps=1"] if "group_by=pointers" in words else ["row_boxes=0", "row_boxes=1"]
                   if "a_rows=indexed" in words else [])
    return [*words, "--config", " ".join(config)]


def draw_group_line(draw, most):
    """Groups in every form, with one of their lists of sizes."""
    words, lists, _ = draw_groups(draw, "sm_90a")
    words, sizes = grow(draw, words, draw.choice(lists), most)
    if draw.random() < 0.6:
        words = replace_config(draw, words)
    line = [*words, "--group-sizes", ",".join(map(str, sizes)), *draw_place(draw, words),
            *draw_own_sizes(draw, words, len(sizes))]
    takes_plan = "group_by=k_offsets" not in words
    return line + (["--plan-sizes"] if takes_plan and draw.random() < 0.2 else [])


def draw_line(seed, most=MOST_PRODUCTS):
    """The words of a line. `most`: M * N * K * batch."""
    draw = random.Random(f"line {seed}")
    kind = draw.random()
    if kind < 0.3:
        return draw_group_line(draw, most)
    words, config, launch, epilogue = (draw_scaled if kind < 0.55 else draw_dense)(draw, most)
    if draw.random() < 0.15:
        words.append("workspace=64m")
    if draw.random() < 0.9:
        words += ["--config", " ".join(config)]
    if "--in-place" not in launch:
        launch += draw_place_of_d(draw, words, epilogue)
    return words + epilogue + launch
