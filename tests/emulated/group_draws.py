# SPDX-License-Identifier: MIT
"""What test_groups.py draws: problems with groups, configs, and numbers of rows or of K of each group."""
LISTS = 3  # of sizes for each problem
TYPES = [("bf16", ["bf16", "f32", "e4m3"], 64), ("f16", ["f16"], 64), ("tf32", ["f32"], 32),
         ("e4m3", ["bf16", "f16"], 128), ("s8", ["s32", "bf16"], 128)]
TYPE_WEIGHTS = [6, 2, 1, 3, 1]
EPILOGUES = [
    [],
    ["--epilogue", "d = relu(acc * s) + row;", "--operand", "s:scalar:bf16"],
    ["--epilogue", "d = gelu(acc + bias) * u + batch;", "--operand", "bias:row_vector:bf16",
     "--operand", "u:column_vector:f32"],
    ["--epilogue", "d = acc + r;", "--operand", "r:matrix:bf16"],
    ["--epilogue", "aux = acc; d = tanh(acc * u + x) + M;", "--operand", "u:row_vector:f32",
     "--operand", "x:matrix:f32", "--operand", "aux:matrix:f32:out"],
    ["--epilogue", "d = silu(acc0) * acc1;"],
    ["--epilogue", "d = gelu(acc0 + b0) * acc1 + b1;", "--operand", "b:pair_vector:bf16"],
    ["--epilogue", "d = acc + b; s = acc * acc; g = acc; m = abs(acc);", "--operand", "b:row_vector:bf16",
     "--operand", "s:column_vector:f32:sum", "--operand", "g:row_vector:f32:sum", "--operand",
     "m:scalar:f32:max"],
    ["--epilogue", "d = relu(acc); s = acc + u; t = acc;", "--operand", "u:column_vector:f32", "--operand",
     "s:column_vector:bf16:max", "--operand", "t:1x32:f32:max"],
    ["--epilogue", "d = silu(acc0) * acc1; g = d; m = d;", "--operand", "g:row_vector:f32:sum",
     "--operand", "m:scalar:f32:min"],
]
EPILOGUE_WEIGHTS = [8, 2, 3, 2, 1, 3, 1, 3, 2, 1]
SCALED = ["mxfp8", "mxfp8e5m2", "mxfp4", "nvfp4"]  # of sm_100a
TILES = {"sm_90a": ["tile=128x128", "tile=64x128", "tile=128x256", "tile=256x128", "tile=64x256"],
         "sm_100a": ["mma=128x64", "mma=128x128", "mma=64x96", "mma=256x128 cta_group=2",
                     "mma=128x32 cta_group=2", "mma=128x16 swap_ab=1", "mma=128x32 swap_ab=1",
                     "mma=256x32 cta_group=2 swap_ab=1", "mma=256x128 cta_group=2 swap_ab=1"]}
CLUSTERS = {"sm_90a": ["1x1", "2x1", "1x2"], "sm_100a": ["1x1", "2x1", "1x2", "2x2", "4x1"]}
TILE_ROWS = 128
MOST_OUTPUTS = 256 << 10  # elements of D
BLOCK_ROWS = 128  # of a group where rows name theirs


def draw_sizes(draw, count):
    """Rows of each group: about the borders of tiles, or skewed, some of them empty."""
    if draw.random() < 0.15:
        sizes = [0] * count
        sizes[draw.randrange(count)] = draw.choice([0, 1, 130, 300])
        return sizes
    some = [0, 0, 1, 7, TILE_ROWS - 1, TILE_ROWS, TILE_ROWS + 1, 17, 33, 260]
    return [draw.choice(some) for _ in range(count)]


def draw_depths(draw, arch):
    """Words of a problem with groups along K, lists of sizes, form."""
    step, a, outputs = draw.choice(
        [(64, "bf16", ["bf16", "f32"]), (64, "f16", ["f16"]), (128, "e4m3", ["bf16"])] +
        [(32, "tf32", ["f32"]), (128, "s8", ["s32"])] *
        (arch == "sm_100a"))
    if arch == "sm_100a" and draw.random() < 0.3:
        return draw_scaled_depths(draw)
    groups = draw.choice([1, 2, 3, 5, 9, 33])
    some = [0, 0, 1, 7, 8, 9, step - 1, step, step + 1, 3 * step - 16, 4 * step + 3]
    lists = [[draw.choice(some) for _ in range(groups)] for _ in range(LISTS)]
    k = max(1, *map(sum, lists)) + draw.choice([0, 0, 1, 77])
    align = draw.random()
    by_threads = align < 0.2 and a != "tf32" or a == "e4m3" and arch == "sm_90a"
    layout = (draw.choice(["nt", "nn", "tt", "tn"] if a != "e4m3" or arch != "sm_90a" else ["nt"]) +
              f" input_align={1 if step == 128 else 2}" if by_threads else "tn")
    m, n = draw.choice([16, 64, 200, 264, 384]), draw.choice([64, 128, 136, 264])
    m = fewer(m, n * groups)
    n = fewer(n, m * groups)
    words = [f"m={m}", f"n={n}", f"k={k}", f"a={a}", f"d={draw.choice(outputs)}", f"groups={groups}",
             "group_by=k_offsets", *f"layout={layout}".split()]
    if draw.random() < 0.4:
        words.append("dynamic=" + draw.choice(["k", "m,k", "m,n,k"]))
    if draw.random() < 0.4:
        words.append("c=f32")
        words.append("d_layout=" + draw.choice(["row", "column"]))
    if a == "e4m3" and draw.random() < 0.6:
        words += draw.choice(["a_scale=1x128 b_scale=128x128", "a_scale=1x128 b_scale=1x128",
                              "a_scale=128x128 a_scale_layout=column", "b_scale=1x128"]).split()
    return words, lists, "k_offsets"


def draw_layouts(draw):
    """Of scales of a byte, which a kernel before the product's packs but for one."""
    return [f"{name}_scale_layout={draw.choice(['row', 'column', '8x4', 'mn_k4', '128x4'])}"
            for name in "ab" if draw.random() < 0.5]


def draw_scaled_depths(draw):
    """The same with scales that the tensor core multiplies by: K-major, groups end at multiples."""
    types = draw.choice(["a=mxfp8", "a=mxfp8e5m2 b=mxfp8", "mxfp4", "nvfp4", "a=mxfp8 b=mxfp4",
                         "a=e4m3 a_scale=1x128ue8m0 a_scale_layout=128x4 b_scale=1x128ue8m0 b_scale_layout=128x4"])
    layout = draw.choice(["nt", "nn", "tt", "tn", "tn"] if "fp4" not in types else ["nt"])
    step = 1 if layout == "tn" else 128 if "b=mxfp4" in types else 32
    groups = draw.choice([1, 2, 3, 5, 9])
    some = [0, 0, 1, 31, 32, 33, 64, 96, 127, 128, 160, 257, 512, 544]
    lists = [[-(-draw.choice(some) // step) * step for _ in range(groups)] for _ in range(LISTS)]
    k = max(step, *map(sum, lists)) + draw.choice([0, 0, 32, 128])
    k = -(-k // (128 if "b=mxfp4" in types else 32 if "fp4" in types else 16)) * (
        128 if "b=mxfp4" in types else 32 if "fp4" in types else 16)
    m, n = draw.choice([16, 128, 208, 272]), draw.choice([64, 128, 144, 256])
    n = fewer(n, m * groups)
    words = [f"m={m}", f"n={n}", f"k={k}", *types.split(), f"d={draw.choice(['bf16', 'f32'])}",
             f"groups={groups}", "group_by=k_offsets", f"layout={layout}"]
    if "scale=" not in types:
        words += draw_layouts(draw)
    if draw.random() < 0.4:
        words.append("dynamic=" + draw.choice(["k", "m,k", "m,n,k"]))
    if draw.random() < 0.3:
        words.append("c=f32")
    return words, lists, "k_offsets"


def few(draw, sizes):
    """The same, with rows in 9 blocks at most."""
    left, kept = 9, []
    for size in sizes:
        blocks = -(-size // BLOCK_ROWS)
        kept.append(size if blocks <= left and (len(sizes) < 9 or draw.random() < 0.3) else 0)
        left -= -(-kept[-1] // BLOCK_ROWS)
    return kept


def count_rows(form, sizes):
    """Rows that a launch needs."""
    if form == "rows":
        return sum(-(-size // BLOCK_ROWS) * BLOCK_ROWS for size in sizes)
    return sum(sizes) if form == "offsets" else max(sizes)


def fewer(size, others):
    """`size`, or 64 where elements of D would be more than MOST_OUTPUTS: an epilogue is interpreted
    for each of them."""
    return size if size * others <= MOST_OUTPUTS else min(size, 64)


def draw_problem(draw, arch):
    """(words of the problem and config, lists of sizes, form)."""
    words, lists, form = (draw_depths if draw.random() < 0.3 else draw_rows)(draw, arch)
    return [*words, *draw_rest(draw, arch, form, any(f"a={a}" in words for a in SCALED))], lists, form


def draw_rest(draw, arch, form, is_scaled):
    """A config and an epilogue. By pointers threads load, or maps of each group, which the tensor core's scales need."""
    has_maps = form == "pointers" and (is_scaled or draw.random() < 0.6)
    by_threads = form == "pointers" and not has_maps
    config = [draw.choice(TILES[arch])] if draw.random() < 0.7 else []
    if by_threads:
        config = [words for words in config if "cta_group=2" not in words]
    if draw.random() < 0.5:
        config.append("cluster=" + (draw.choice(CLUSTERS[arch]) if not by_threads else "1x1"))
    if arch == "sm_100a" and draw.random() < 0.5:
        config.append("scheduler=" + (draw.choice(["static", "clc"]) if not by_threads else "static"))
    if draw.random() < 0.3:
        config.append("stages=3" if by_threads else "stages=2")
    if has_maps:
        config.append("group_maps=1")
    epilogue = draw.choices(EPILOGUES, EPILOGUE_WEIGHTS)[0]
    return [*epilogue, *(["--config", " ".join(config)] if config else [])]


def draw_rows(draw, arch):
    """Words of a problem with groups of rows, lists of sizes, form."""
    a, outputs, step = draw.choices(TYPES, TYPE_WEIGHTS)[0]
    if arch == "sm_100a" and draw.random() < 0.3:
        a, outputs, step = draw.choice(SCALED), ["bf16", "f32"], 128
    form = draw.choice(["offsets", "offsets", "counts", "rows", "rows", "pointers", "pointers"])
    groups = draw.choice([1, 2, 3, 5, 8, 31, 32, 33])
    lists = [draw_sizes(draw, groups) for _ in range(LISTS)]
    if groups > 30:
        lists = [[min(size, 40) for size in sizes] for sizes in lists]
    if form == "rows":
        lists = [few(draw, sizes) for sizes in lists]
    rows = max(1, *(count_rows(form, sizes) for sizes in lists))
    rows += draw.choice([0, 0, 1, 77] if form != "rows" else [0, 0, 20, 77, 300])
    n = fewer(draw.choice([64, 128, 192, 256, 264, 384]), rows * (groups if form in ("counts", "pointers") else 1))
    k = draw.choice([step, 2 * step, 3 * step + 16, 5 * step])
    words = [f"m={rows}", f"n={n}", f"k={k}", f"a={a}", f"d={draw.choice(outputs)}",
             f"groups={groups}", f"group_by={form}",
             f"layout={draw.choice(['nt', 'nt', 'nn', *(['tn', 'tt'] if form in ('rows', 'pointers') else [])])}"]
    if draw.random() < 0.3:
        words.append("dynamic=" + draw.choice(["m", "m,k", "m,n,k"]))
        if "k" in words[-1] and a in ("mxfp4", "nvfp4"):  # a launch of another K is refused, no plan
            words[2] = f"k={k // 32 * 32}"
    if draw.random() < 0.15:
        words.append("input_align=" + draw.choice(["4", "8"]))
    if draw.random() < 0.15:
        words.append("output_align=4")
    if draw.random() < 0.3:
        words.append("c=bf16")
    if a == "e4m3" and draw.random() < 0.6:
        words += draw.choice(["a_scale=1x128 b_scale=128x128", "a_scale=vector b_scale=vector",
                              "a_scale=tensor b_scale=tensor",
                              *(["a_scale=128x128 b_scale=1x128"] if form in ("rows", "pointers") else [])]).split()
    if a in SCALED and form != "pointers":
        words += draw_layouts(draw)
    rest = draw.random() if form != "pointers" else 1
    if rest < 0.3:
        words.append("group_rest=zero")
    elif rest < 0.5:
        words.append("d_rows=indexed")
    elif rest < 0.6:
        words += ["a_rows=indexed", *(["d_rows=indexed"] if draw.random() < 0.5 else [])]
    if draw.random() < 0.15:
        words = [word for word in words if not word.startswith("d=")]
        words.append(draw.choice(["d=e4m3 d_scale=1x128", "d=mxfp8", "d=nvfp4",
                                  "d=e5m2 d_scale=1x128 d_scale_layout=column"]))
        words[-1:] = words[-1].split()
    has_bands = a in SCALED and not any(word.startswith("a_scale_layout=") and "128x4" not in word for word in words)
    if form == "offsets" and draw.random() < 0.5 and (has_bands or "d=mxfp8" in words or "d=nvfp4" in words):
        words.append("scale_rows=per_group_padded")
    return words, lists, form


def draw_own_sizes(draw, words, count):
    """Options with an N or a K of each group, where a launch of the problem takes them."""
    dynamic = "".join(word for word in words if word.startswith("dynamic="))
    if "group_by=pointers" not in words or draw.random() < 0.3 or any(
            part in word for word in words for part in ("1x128", "128x128", *SCALED)):
        return []
    takes_n = not any(part in word for word in words for part in ("acc1", ":sum", ":max", ":min"))
    options = []
    for key, takes in (("n", takes_n), ("k", True)):
        most = next(int(word[2:]) for word in words if word.startswith(key + "="))
        some = [0, 1, 7, 16, 33, 64, 65, 128, 129, most]
        if takes and key in dynamic[len("dynamic="):].split(","):
            options += [f"--group-{key}s", ",".join(str(min(draw.choice(some), most)) for _ in range(count))]
    return options


def draw_place(draw, words):
    """Do the numbers come from the host? Not where a kernel reads them on the device anyhow. Where rows have
    numbers, the order of their blocks."""
    if "group_by=rows" in words:
        return ["--block-order", draw.choice(["turns", "sorted", "drawn"])]
    packs = "group_by=offsets" in words and "a_rows=indexed" not in words and any(
        word.startswith("a_scale_layout=") and "128x4" not in word for word in words)
    takes = not any("group_maps=1" in word for word in words)
    wants = draw.random() < 0.4 if takes else False
    return ["--host-sizes"] if wants and not packs else []
