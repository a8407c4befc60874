# SPDX-License-Identifier: MIT
"""What test_pairs.py draws: a problem, a config of sm_100a, and what `jit-gemm run` is given."""
from pair_classes import Pair

MOST_PRODUCTS = 24 << 20  # M * N * K * batch

# Type of A, of B, elements of K in 128 bytes, and types of D.
TYPES = [("bf16", "bf16", 64, ["bf16", "f32", "f16", "e4m3"]), ("f16", "f16", 64, ["f16", "f32"]),
         ("tf32", "tf32", 32, ["f32", "bf16"]), ("e4m3", "e4m3", 128, ["bf16", "e4m3", "f32"]),
         ("e4m3", "e5m2", 128, ["f16", "e5m2"]), ("s8", "s8", 128, ["s32", "bf16"])]
TYPE_WEIGHTS = [6, 2, 2, 2, 1, 2]
LEAST_ALIGNMENT = {"e4m3": 1, "e5m2": 1, "bf16": 2, "f16": 2, "f32": 4, "s32": 4}
SINGLE_CLUSTERS = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (4, 4)]
PAIR_CLUSTERS = [(2, 1), (4, 1), (2, 2), (4, 2), (2, 4), (4, 4)]
CLUSTER_WEIGHTS = [8, 4, 4, 3, 2, 2, 1, 1]
EPILOGUES = [
    [],
    ["--epilogue", "d = relu(acc * s);", "--operand", "s:scalar:f32"],
    ["--epilogue", "d = gelu(acc + bias) * u;", "--operand", "bias:row_vector:bf16",
     "--operand", "u:column_vector:f32"],
    ["--epilogue", "d = acc + r;", "--operand", "r:matrix:bf16"],
    ["--epilogue", "aux = acc; d = tanh(acc * u + x);", "--operand", "u:row_vector:f32",
     "--operand", "x:matrix:f32", "--operand", "aux:matrix:f32:out"],
    ["--epilogue", "d = s = acc; b = acc * acc; m = abs(acc);", "--operand", "s:column_vector:f32:sum",
     "--operand", "b:row_vector:f32:sum", "--operand", "m:scalar:f32:max"],
    ["--epilogue", "d = silu(acc0) * acc1;"],
    ["--epilogue", "d = gelu(acc0 + b0) * acc1 + b1;", "--operand", "b:pair_vector:bf16"],
]
EPILOGUE_WEIGHTS = [8, 2, 2, 2, 1, 2, 3, 2]


def draw_shape(draw):
    """(M, N, cta_group) of an MMA."""
    if draw.random() < 0.5:
        return draw.choice([128, 256, 256]), draw.choice([32, 64, 96, 128, 192, 256]), 2
    return draw.choice([64, 128, 128]), draw.choice([16, 32, 48, 64, 128, 192, 256]), 1


def draw_size(draw, tile):
    """A size around the borders of tiles."""
    return draw.choice([1, draw.randint(2, 40), tile - 1 if tile > 1 else 1, tile, tile + 1,
                        2 * tile + draw.randint(0, 9), 3 * tile, draw.randint(1, 3 * tile)])


def draw_k(draw, block, stages):
    return draw.choice([1, draw.randint(2, block - 1), block, 2 * block + draw.randint(1, block),
                        (stages + 2) * block + draw.randint(1, block - 1),
                        draw.randint(1, 8 * block)])


def draw_clusters(draw, clusters):
    return draw.choices(clusters, CLUSTER_WEIGHTS[:len(clusters)])[0]


def draw_config(draw):
    """(its words, rows and columns of D in a tile, the cluster, stages)"""
    m, n, group = draw_shape(draw)
    cluster = draw_clusters(draw, PAIR_CLUSTERS if group == 2 else SINGLE_CLUSTERS)
    stages = draw.choice([2, 2, 3, 4])
    words = [f"mma={m}x{n}", f"cta_group={group}", f"cluster={cluster[0]}x{cluster[1]}",
             f"stages={stages}"]
    optional = [("acc_stages", [1, 2], 0.3), ("raster", ["m", "n"], 0.3),
                ("raster_group", [1, 2, 4], 0.3), ("out_stages", [1, 2], 0.2), ("pdl", [0], 0.1),
                ("scheduler", ["single", "static", "clc"], 0.6), ("split_k", [2, 3, 4], 0.2),
                ("split_order", ["unordered"], 0.2), ("k_group", [2, 4], 0.2),
                ("swap_ab", [1], 0.25), ("split_tail", [2, 3, 5, 8], 0.3),
                ("epilogue_warps", [8], 0.2 if m == 128 * group else 0)]
    for key, values, chance in optional:
        if draw.random() < chance:
            words.append(f"{key}={draw.choice(values)}")
    if not any(word.startswith("split_k=") for word in words):
        words = [word for word in words if not word.startswith(("split_order=", "split_tail="))]
    swapped = "swap_ab=1" in words
    tile = (n, m) if swapped else (m, n)
    return words, tile, cluster, stages


def draw_pair(draw):
    a, b, block, d_types = draw.choices(TYPES, TYPE_WEIGHTS)[0]
    config, (tile_m, tile_n), cluster, stages = draw_config(draw)
    epilogue = draw.choices(EPILOGUES, EPILOGUE_WEIGHTS)[0]
    gated = any("acc0" in word for word in epilogue)
    halves = gated and draw.random() < 0.5
    layout = draw.choices(["nt", "nn", "tn", "tt"], [5, 1, 1, 1])[0]
    parts = next((int(word[8:]) for word in config if word.startswith("split_k=")), 1)
    # Columns of B that a gated problem may have: pairs, or halves that a TMA copy can begin at.
    step_n = 32 if halves and layout in ("nn", "tn") else 2 if gated else 1
    while True:
        batch = draw.choices([1, 2, 3], [8, 1, 1])[0]
        m, n, k = draw_size(draw, tile_m), draw_size(draw, tile_n), draw_k(draw, block, stages)
        n += -n % step_n
        k = max(k, block * (parts - 1) + 1)
        if m * n * k * batch <= MOST_PRODUCTS:
            break
    d = draw.choice(d_types)
    words = [f"a={a}", f"b={b}", f"d={d}"]
    launch = []
    if draw.random() < 0.2:  # other sizes than those planned for
        words += ["m=1024", "n=1024", "k=1024", "dynamic=m,n,k"]
        launch += ["--m", str(m), "--n", str(n), "--k", str(k)]
    else:
        words += [f"m={m}", f"n={n}", f"k={k}"]
    if batch > 1:
        words.append(f"batch={batch}")
    words.append("layout=" + layout)
    if draw.random() < 0.15:
        words.append("d_layout=column")
    is_loaded = cluster == (1, 1) and "scheduler=clc" not in config and draw.random() < 0.6
    is_copied = step_n != 32 and draw.random() < 0.2
    if is_loaded or is_copied:  # by threads, not by TMA; or copied first, to where TMA takes it
        element = 128 // block
        words.append(f"input_align={draw.choice([n for n in (1, 2, 4, 8) if n >= element])}")
        config.append("repack=ab" if is_copied else "repack=none")
    if draw.random() < 0.15:  # D, C and operands moved by threads
        least = LEAST_ALIGNMENT[d]
        words.append(f"output_align={draw.choice([size for size in (1, 2, 4, 8) if size >= least])}")
    if not gated and draw.random() < 0.2:
        words.append("c=" + draw.choice([d, "s32" if a == "s8" else "f32"]))
        launch += ["--beta", draw.choice(["2", "2", "-0.5"])]
    if draw.random() < 0.2:
        words.append(draw.choice(["a_scale=tensor", "b_scale=vector", "a_scale=vector b_scale=tensor"]))
    if halves:
        words.append("pair=halves")
    words += ["--config", " ".join(config)]
    return Pair(words + epilogue, launch, m, n, k, batch, block, cluster,
                EPILOGUES.index(epilogue))
