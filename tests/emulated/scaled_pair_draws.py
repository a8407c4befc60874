# SPDX-License-Identifier: MIT
"""What test_pairs.py draws of scales of blocks: MX and NV of A and B on sm_100a, f32 scales of 1x128
and 128x128 on both chips, and scales of D that are computed."""
from pair_classes import Pair
from pair_draws import (EPILOGUES, EPILOGUE_WEIGHTS, MOST_PRODUCTS, PAIR_CLUSTERS, SINGLE_CLUSTERS,
                        draw_clusters, draw_k, draw_size)

# Types of A and of B, elements of K in 128 bytes of the narrower one, and what K is a multiple of.
POWERS = "{0}_scale={1}x128ue8m0"
LAYOUTS = ["128x4", "row", "column", "8x4", "mn_k4"]  # all but the first are packed first
LAYOUT_WEIGHTS = [12, 1, 1, 1, 1]
TENSOR_TYPES = [("mxfp8", "mxfp8", 128, 1), ("mxfp8e5m2", "mxfp8e5m2", 128, 1),
                ("mxfp8", "mxfp8e5m2", 128, 1), ("mxfp4", "mxfp4", 256, 32),
                ("nvfp4", "nvfp4", 256, 32), ("mxfp8", "mxfp4", 128, 128),
                ("mxfp4", "mxfp8e5m2", 128, 128),
                ("e4m3 " + POWERS.format("a", 1), "e4m3 " + POWERS.format("b", 1), 128, 1),
                ("e4m3 " + POWERS.format("a", 1), "e5m2 " + POWERS.format("b", 128), 128, 1),
                ("e5m2 " + POWERS.format("a", 128), "e4m3 " + POWERS.format("b", 128), 128, 1)]
TENSOR_WEIGHTS = [3, 2, 1, 3, 3, 2, 2, 2, 1, 1]
FLOAT_TYPES = [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3")]
FLOAT_SCALES = [("1x128", "128x128"), ("128x128", "1x128"), ("1x128", "1x128"),
                ("128x128", "128x128"), ("1x128", None), (None, "128x128")]
D_TYPES = ["bf16", "f32", "f16", "mxfp8", "nvfp4", "e4m3 d_scale=1x128", "mxfp8 d_scale_layout=row",
           "e5m2 d_scale=1x128 d_scale_layout=column", "e4m3 d_scale=1x128ue8m0 d_scale_layout=mn_k4",
           "e5m2 d_scale=1x128ue8m0 d_scale_layout=128x4", "mxfp4", "nvfp4 d_scale_layout=8x4",
           "e4m3 d_scale=128x128", "e5m2 d_scale=128x128ue8m0 d_scale_layout=mn_k4"]
D_WEIGHTS = [5, 3, 2, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]


def draw_tensor_shape(draw):
    """(M, N, cta_group) of an MMA that the tensor core scales."""
    n = draw.choice([64, 96, 128, 128, 160, 192, 224, 256])
    return draw.choice([(128, n, 1), (256, n, 2)])


def draw_promoted_shape(draw):
    """The same where sums are multiplied in registers."""
    return draw.choice([(64, 64, 1), (128, draw.choice([32, 64, 96, 128]), 1),
                        (256, draw.choice([64, 96, 128]), 2), (128, draw.choice([64, 128, 256]), 2)])


def draw_square_shape(draw, chip):
    """The same whose tiles have whole blocks of 128 rows and columns of D."""
    if chip == "sm_90a":
        return 128, 128, 1
    return draw.choice([(128, 128, 1), (256, 128, 2)])


def draw_optional(draw, optional):
    return [f"{key}={draw.choice(values)}" for key, values, chance in optional
            if draw.random() < chance]


def draw_config(draw, chip, shape):
    """(its words, rows and columns of D in a tile, the cluster, stages)"""
    m, n, group = shape
    shared = [("raster_group", [1, 2, 4], 0.3), ("raster", ["m", "n"], 0.3), ("pdl", [0], 0.1),
              ("split_k", [2, 3], 0.2)]
    if chip == "sm_90a":
        cluster = draw.choice([(1, 1), (1, 1), (2, 1), (1, 2)])
        stages = draw.choice([2, 3, 4])
        words = [f"tile={m}x{n}", f"cluster={cluster[0]}x{cluster[1]}", f"stages={stages}"]
        return words + draw_optional(draw, shared), (m, n), cluster, stages
    cluster = draw_clusters(draw, PAIR_CLUSTERS if group == 2 else SINGLE_CLUSTERS)
    stages = draw.choice([2, 2, 3, 4])
    words = [f"mma={m}x{n}", f"cta_group={group}", f"cluster={cluster[0]}x{cluster[1]}",
             f"stages={stages}"]
    words += draw_optional(draw, shared + [("acc_stages", [1, 2], 0.3), ("swap_ab", [1], 0.25),
                                           ("scheduler", ["single", "static", "clc"], 0.6)])
    return words, (n, m) if "swap_ab=1" in words else (m, n), cluster, stages


def draw_problem(draw):
    """(its chip, its words, elements of K in a block, what K is a multiple of, the shape)"""
    if draw.random() < 0.6:
        a, b, block, step = draw.choices(TENSOR_TYPES, TENSOR_WEIGHTS)[0]
        words = f"a={a} b={b}".split()
        words += [f"{name}_scale_layout={draw.choices(LAYOUTS, LAYOUT_WEIGHTS)[0]}" for name in "ab"]
        return "sm_100a", words, block, step, draw_tensor_shape(draw)
    chip = draw.choice(["sm_90a", "sm_100a"])
    words = [f"{name}={kind}" for name, kind in zip("ab", draw.choice(FLOAT_TYPES))]
    scales = draw.choice(FLOAT_SCALES)
    for name, kind in zip("ab", scales):
        if kind:
            words += [f"{name}_scale={kind}", f"{name}_scale_layout={draw.choice(['row', 'column'])}"]
    if chip == "sm_100a":
        return chip, words, 128, 1, draw_promoted_shape(draw)
    return chip, words, 128, 1, (*draw.choice([(64, 128), (128, 128), (128, 192)]), 1)


def draw_scaled_pair(draw):
    chip, words, block, step, shape = draw_problem(draw)
    by_tensor_core = any(word.startswith(("a=mx", "a=nv")) or word.endswith("ue8m0") for word in words)
    d = draw.choices(D_TYPES, D_WEIGHTS)[0]
    is_quantised = "mx" in d or "nv" in d or "_scale" in d
    epilogue = draw.choices(EPILOGUES, EPILOGUE_WEIGHTS)[0]
    gated = any("acc0" in word for word in epilogue)
    if "d_scale=128x128" in d:
        shape = draw_square_shape(draw, chip)
    halves = gated and draw.random() < 0.5
    if by_tensor_core and halves:
        shape = (shape[0], draw.choice([64, 128, 192, 256]), shape[2])
    if gated and chip == "sm_90a":
        shape = (128, 128, 1)
    config, (tile_m, tile_n), cluster, stages = draw_config(draw, chip, shape)
    if gated and not halves and by_tensor_core:  # refused of a transposed product
        if "swap_ab=1" in config:
            config.remove("swap_ab=1")
            tile_m, tile_n = tile_n, tile_m
    parts = next((int(word[8:]) for word in config if word.startswith("split_k=")), 1)
    wide = by_tensor_core or any("_scale=128x128" in word for word in words)
    by_columns = draw.random() < 0.1
    step_n = 256 if halves and wide else 4 if gated else 2 if "fp4" in d else 1
    while True:
        batch = draw.choices([1, 2, 3], [8, 1, 1])[0]
        m, n, k = draw_size(draw, tile_m), draw_size(draw, tile_n), draw_k(draw, block, stages)
        n += -n % step_n
        k = max(k, block * (parts - 1) + 1)
        k += -k % step
        if by_columns and "fp4" in d:
            m += m % 2
        if m * n * k * batch <= MOST_PRODUCTS / 2:
            break
    words += f"d={d}".split()
    launch = []
    if draw.random() < 0.2:
        words += ["m=1024", "n=1024", "k=1024", "dynamic=m,n,k"]
        launch += ["--m", str(m), "--n", str(n), "--k", str(k)]
    else:
        words += [f"m={m}", f"n={n}", f"k={k}"]
    if batch > 1:
        words.append(f"batch={batch}")
    if not gated and not is_quantised and draw.random() < 0.2:
        words.append("c=f32")
        launch += ["--beta", draw.choice(["2", "-0.5"])]
    if by_columns:
        words.append("d_layout=column")
    if chip == "sm_100a" and step == 1:  # 4-bit elements and those of sm_90a are K-major
        words.append("layout=" + draw.choices(["nt", "nn", "tn", "tt"], [5, 1, 1, 1])[0])
    if halves:
        words.append("pair=halves")
    words += ["--arch", chip, "--config", " ".join(config)]
    return Pair(words + epilogue, launch, m, n, k, batch, block, cluster,
                EPILOGUES.index(epilogue))
