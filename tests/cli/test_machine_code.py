# SPDX-License-Identifier: MIT
"""Looks at the machine code of every config that the library would choose.

Usage: test_machine_code.py JIT_GEMM SOURCE_ROOT

For each chip, some candidates of `plan` are compiled for each row of PROBLEMS. Nothing may be
spilled or left in local memory, registers stay within the launch bound, the instructions that the
kernel is about are there, and the loops of the roles stay short. Without nvdisasm the numbers of
the ELF file are still checked, and the rest is skipped. Prints TAP.
"""
import concurrent.futures
import functools
import json
import os
import re
import sys

from cli_harness import Folder, Skip, expect, expect_exit, need_compiler, run_tests, tool
from strides import in_turn, share, stride

SIZE = "4096x4096x4096"
FRAGMENTS, VECTORS = "fragments", "vectors"
# Words of the problem, and which way out it takes (jg/epilogue/epilogue_for.cuh).
PROBLEMS = [
    (["bf16"], FRAGMENTS),
    (["f16", "layout=tn", "d=f32"], FRAGMENTS),
    (["e4m3"], VECTORS),
    (["bf16", "c=bf16", "--epilogue", "d = gelu(acc + bias) + r;", "--operand",
      "bias:row_vector:bf16", "--operand", "r:matrix:bf16"], VECTORS),
    (["bf16", "c=f32", "output_align=2"], VECTORS),
    (["bf16", "d_layout=column", "--epilogue", "d = silu(acc0) * acc1;"], FRAGMENTS),
    (["bf16", "d=e4m3", "d_scale=1x128", "--epilogue", "d = silu(acc0) * acc1;"], VECTORS),
    (["bf16", "d=nvfp4"], VECTORS),
    (["e4m3", "d=bf16", "a_scale=1x128", "b_scale=128x128"], FRAGMENTS),
    (["e4m3", "d=bf16", "a_scale=1x128", "b_scale=1x128", "dynamic=m,n,k"], VECTORS),
    (["bf16", "groups=8", "--epilogue", "d = gelu(acc);"], FRAGMENTS),
]
# The same of sm_100a only, whose tensor core multiplies by scales.
SCALED_PROBLEMS = [
    (["mxfp8", "d=mxfp8"], VECTORS),
    (["mxfp4", "d=bf16", "dynamic=m,n,k"], VECTORS),
    (["nvfp4", "d=bf16", "pair=halves", "--epilogue", "d = silu(acc0) * acc1;"], FRAGMENTS),
    (["nvfp4", "d=bf16", "a_rows=indexed", "dynamic=m,n,k"], VECTORS)]
OF_ROWS = ["e4m3", "d=bf16", "a_scale=1x128", "b_scale=1x128"]
# Accumulators and vectors, scales by rows, six blocks of K, or 16 parts at once: few registers are left. A dynamic K serialised products.
FULL = {"tile=128x192 pingpong=1 cluster=2x1": [
            ["bf16", "d=mxfp8"], ["bf16", "d=mxfp8", "epilogue=bias_residual", "dynamic=m,n,k"]], "row_boxes=1": [["e4m3", "a_scale=1x128", "b_scale=128x128", "a_rows=indexed", "dynamic=m,n,k"]],
        "tile=128x256": [["bf16", "groups=8", "dynamic=k"], ["bf16", "groups=8", "group_by=counts", "dynamic=m,n,k"]],
        "tile=128x256 cluster=2x1 split_k=16 split_order=parallel": [["bf16", "c=f32", "d=f32", "dynamic=m,n,k"]],
        "tile=128x112": [[*OF_ROWS, "groups=8"], [*OF_ROWS, "dynamic=n,k"], ["4096x4096x768", "e4m3", "d=bf16", "a_scale=1x128", "b_scale=128x128"]],
        "tile=128x96": [[*OF_ROWS, "groups=8", "group_by=counts", "dynamic=n,k"]], "tile=128x112 cluster=1x2": [OF_ROWS], **dict.fromkeys(("tile=128x128", "tile=64x64 k_turns=1"), [[*OF_ROWS, "dynamic=m,n,k"]])}
# Inputs that threads load: nothing may be spilled, whatever they load and how.
THREAD_LOADS = [["bf16", "input_align=2"], ["bf16", "layout=tt", "input_align=4"], ["e4m3", "input_align=1"], ["s8", "input_align=2"],
                ["tf32", "input_align=4"], ["bf16", "c=bf16", "groups=8", "group_by=pointers"], ["tf32", "groups=8", "group_by=pointers"],
                ["e4m3", "input_align=8", "groups=8", "group_by=pointers"]]
# Copied by a kernel first, of which 768 threads a multiprocessor hide what memory takes.
COPIES = [["bf16", "input_align=2"], ["e4m3", "input_align=1"], ["tf32", "input_align=4"]]
COPY_REGISTERS = 65536 // 768
# Matrices by pointers that TMA loads, by maps that a kernel writes first.
MAPPED = [["bf16", "groups=8", "group_by=pointers"], ["e4m3", "d=bf16", "groups=8", "group_by=pointers"], ["f16", "layout=tt", "groups=8", "group_by=pointers"],
          ["bf16", "groups=8", "group_by=pointers", "pair=halves", "--epilogue", "d = silu(acc0) * acc1;"]]
# Kinds of instructions that must be there, by chip; and the most instructions of one turn of the
# loop that multiplies and of one that loads, of which the kernels have about 60 (93 where C or
# operands are loaded); the compiler may unroll the loop of epilogue loads, two loads per turn.
CHIPS = {
    "sm_90a": (["mma", "tma_load", "mbarrier"], 100),
    "sm_100a": (["mma", "mma_commit", "tmem_load", "tma_load", "mbarrier"], 100),
    "sm_103a": (["mma", "mma_commit", "tmem_load", "tma_load", "mbarrier"], 100),
    "sm_100f": (["mma", "mma_commit", "tmem_load", "tma_load", "mbarrier"], 100),
}
GELU = ["--epilogue", "d = gelu(acc + bias);", "--operand", "bias:row_vector:bf16"]
GELU_R = [GELU[0], "d = gelu(acc + bias) + r;", *GELU[2:], "--operand", "r:matrix:bf16"]
# Ways out of tensor memory at mma=256x256: words, how often the loop inside of a step turns (two vectors
# of 8 columns for each thread of a warp of 32 rows), and the most instructions of a warp for 64 columns
# (docs/sm100a-budget.md).
WAYS_OUT = [
    ([], 0, 122),
    (GELU, 0, 730),
    ([GELU[0], "d = gelu_tanh(acc + bias);", *GELU[2:]], 0, 795), ([GELU[0], "d = silu(acc + bias);", *GELU[2:]], 0, 535),
    (GELU_R, 32 * 64 // 8 // 32 // 2, 1005), (["epilogue=dropout"], 32 * 64 // 8 // 32 // 2, 1180),
    (GELU_R, 0, 885, "4096x4096x512"),  # by fragments, as the tensor core waits for it
]
# Sums that leave the tensor core after each block of K (sm100a/promotion.cuh): scales of A and B, and the
# most instructions of a warp for a block of its 32 rows and 128 columns.
PROMOTED = [("1x128", "128x128", 152), ("1x128", "1x128", 232)]
# The most registers that sums times scales take on sm_90a: words, and clusters.
SCALED_TILE, SCALED_CLUSTERS = "tile=256x128", ("1x1", "1x2")
SCALED_SUMS = [
    ["a_scale=1x128", "b_scale=128x128", "a_scale_layout=column", "d=bf16"],
    ["a_scale=1x128", "b_scale=128x128", "d_scale=1x128"],
    ["a_scale=1x128", "b_scale=1x128", "d=bf16"],
]
# What an epilogue adds to the plain kernel on sm_90a, whose loops over a thread's accumulators are
# unrolled: type of D, snippet, and the most instructions for each of them (docs/epilogues-speed.md).
ADDED_TILE, ADDED_PER_THREAD = "tile=128x256", 128 * 256 // 256
ADDED = [
    ("bf16", "d = acc + bias;", 1.25),
    ("bf16", "d = gelu(acc + bias);", 9.4),
    ("f16", "d = gelu(acc + bias);", 10.4),
    ("f32", "d = gelu(acc + bias);", 11.7),
    ("bf16", "d = gelu_tanh(acc + bias);", 10.4),
    ("f32", "d = gelu_tanh(acc + bias);", 8.7),
    ("bf16", "d = silu(acc + bias);", 6.4),
    ("bf16", "d = dgelu(acc + bias);", 11.3),
    ("bf16", "d = dgelu_tanh(acc + bias);", 14.3),
]
# Random numbers that sm_90a draws while the first loads come: tiles, problems of one wave of them, and calls for a
# thread, of four words each: ten rounds of two products and two operations, of which the first and last have fewer.
DRAWN_AHEAD = [("64x128", "1024x1024x1024", 8), ("128x128", "1024x2048x1024", 16)]
INSTRUCTION_BYTES, PHILOX = 16, 8 * 4
# Tiles beside whose accumulators there are scales, with an epilogue that computes, and a gated one that
# quantises for the next layer: words, how often a turn of the loop that multiplies does, and how often it
# copies scales to tensor memory, 128 rows by 4 blocks of them at a time.
GATED = ["--epilogue", "d = silu(acc0) * acc1;"]
POWERS = ["a_scale=1x128ue8m0", "a_scale_layout=128x4", "b_scale=1x128ue8m0", "b_scale_layout=128x4"]
SCALED = [
    (["mxfp8", "d=bf16", *GELU], "mxf8f6f4.block_scale", 4, 3),
    (["e4m3", "d=bf16", *POWERS, *GELU], "mxf8f6f4.block_scale", 4, 3),
    (["mxfp8", "d=mxfp8", "pair=halves", *GATED], "mxf8f6f4.block_scale", 8, 3),
    (["nvfp4", "d=nvfp4", "pair=halves", *GATED], "mxf4nvf4.block_scale.block16", 8, 12),
    (["nvfp4", "d=nvfp4", *GATED], "mxf4nvf4.block_scale.block16", 4, 12),
]
# The same where stages take turns with cells of scales, for which accumulators leave few columns: a wait
# and a commit more.
SHARED_CELLS = [(["nvfp4", "d=bf16", *GELU], "mxf4nvf4.block_scale.block16", 4, 12, config)
                for config in ("mma=256x192 cta_group=2 stages=5 acc_stages=2", "mma=256x256 cta_group=2")]
SHARED_CELLS += [(["mxfp4", "d=bf16", *GELU], "mxf4.block_scale.block32", 4, 6, "mma=256x256 cta_group=2")]
SHARED_TURN = 18
# Instructions that a turn of the loop that multiplies takes at most: once, for each multiplication, for each
# copy of scales; and those of the loop that loads, and its copies by TMA (docs/sm100a-budget.md).
TURN, PER_MMA, PER_COPY = 60, 5, 3
# Where K of 4-bit floats may end inside of a multiplication: the question, and the release of the stage by the
# thread itself, which may have written there.
END_OF_K = 20
LOAD_TURN, LOADS = 85, 6
# The same sources as sm_100a: the rows that show both ways out.
FAMILY = ("sm_103a", "sm_100f")
FAMILY_PROBLEMS = [PROBLEMS[0], PROBLEMS[3]]


def candidates(arch, words):
    done = tool("plan", SIZE, *words, "--arch", arch, "--json")
    expect_exit(done, 0)
    found = re.findall(r"^(?:chosen: |rejected: )(kernel=gemm [a-z_0-9= ]+)"
                       r"(?:: slower|: a tie|: predicted)", json.loads(done.stdout)["plan"], re.M)
    expect(len(found) >= 5, "hardly any candidates", done)
    # More of the plain ones.
    step = stride(128 if words == PROBLEMS[0][0] and arch not in FAMILY else 768)
    # Each row of the list begins at another one.
    first = sum(map(ord, " ".join(words))) % min(step, len(found))
    return found[first::step]


def is_narrow(words, config):
    """Has the tile 8 columns of D, which are one vector?"""
    return "acc1" in " ".join(words) and re.search(r"mma=\d+x16 ", config) is not None


def check_facts(state):
    expect(state["local_bytes"] == 0, f"{state['local_bytes']} bytes of local memory")
    expect(state["registers"] <= state["allowed_registers"], "too many registers")
    if "tmem_columns" in state and state["arch"] != "sm_90a":
        expect(32 <= state["tmem_columns"] <= 512, "columns of tensor memory")


def check_code(state, arch, way_out):
    wanted, longest = CHIPS[arch]
    if arch == "sm_90a" and "a=e4m3" in state["problem"]:
        # Each block's sums are added up in registers, perhaps times a scale of each column.
        longest *= 7 if "b_scale=1x128" in state["problem"] else 4
    mix = state["mix"]
    if "a_scale_layout=128x4" in state["problem"]:
        longest += PER_COPY * mix["tmem_store"]  # of scales, before they are multiplied
        if "dynamic=" in state["problem"] and "a=mxfp8" not in state["problem"]:
            longest += END_OF_K
    wanted = wanted + (["tma_store"] if way_out == FRAGMENTS else [])
    missing = [kind for kind in wanted if mix[kind] == 0]
    expect(not missing, f"no instructions of {missing}: {mix}")
    expect(mix["local_load"] + mix["local_store"] == 0, "local memory is used")
    loops = state["loops"]
    mma = [loop for loop in loops if loop["multiplications"]]
    load = [loop for loop in loops if loop["tma_loads"]]
    # A block of K, 128 bytes, is four multiplications, and overlapping ones have a loop of four and one for the rest.
    turns = [loop["multiplications"] for loop in mma]
    expect(load and (len(mma) == 1 or turns == [16, 4]) and turns[0] % 4 == 0, f"loops: {loops}")
    expect(all(loop["instructions"] <= longest * max(1, loop["tma_loads"] // 2, loop["multiplications"] // 4)
               for loop in mma + load), f"long loops: {loops}")


def look(arch, words, config, way_out, cache):
    done = tool("inspect", *([] if words[0][0].isdigit() else [SIZE]), *words, "--arch", arch, "--config", config, "--json", cache=cache)
    expect_exit(done, 0)
    expect("Potential Performance Loss" not in done.stderr, "serialised products", done)
    state = json.loads(done.stdout)
    try:
        check_facts(state)
        if "mix" in state and way_out:
            check_code(state, arch, VECTORS if is_narrow(words, config) else way_out)
    except AssertionError as error:
        raise AssertionError(f"{config}: {error}") from error
    return "mix" in state


def make_test(arch, words, way_out=None):
    def test():
        need_compiler()
        with Folder() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            looks = [pool.submit(look, arch, words, config, way_out, folder.cache)
                     for config in candidates(arch, words)]
            with_code = [done.result() for done in looks]
        if not all(with_code):
            raise Skip("registers and local memory are right; there is no nvdisasm for the rest")
    return f"{arch} {' '.join(words)}", test


# The largest kernel that we know: everything in f32, through vectors, in parts of K.
LARGEST = ["m=8192", "n=8192", "k=1024", "a=bf16", "c=f32", "d=f32", "dynamic=m,n,k", "batch=2",
           "--epilogue", "aux = acc; d = tanh(acc * u + x) + gelu(acc + bias);", "--operand", "u:column_vector:f32",
           "--operand", "x:matrix:f32", "--operand", "bias:row_vector:f32", "--operand", "aux:matrix:f32:out",
           "--arch", "sm_100a", "--config", "mma=256x256 cta_group=2 cluster=2x1 split_k=4"]
# What the compiler's time goes with, and what no busy machine changes; docs/compile-time.md has the
# seconds. Today 30,976 bytes of machine code, 24,279 lines of PTX.
MOST_CODE_BYTES = 34000
MOST_PTX_LINES = 27000


def inspect_with_ptx(*words):
    """(state, PTX), of one compile."""
    with Folder() as folder:
        dumps = folder.path / "dumps"
        dumps.mkdir()
        done = tool("inspect", *words, "--no-cache", "--json", variables={"JIT_GEMM_DUMP_DIR": dumps})
        expect_exit(done, 0)
        ptx = [path.read_text() for path in dumps.glob("*.ptx")]
    expect(len(ptx) == 1, f"{len(ptx)} texts of PTX", done)
    return json.loads(done.stdout), ptx[0]


def test_largest_kernel_stays_small():
    need_compiler()
    state, ptx = inspect_with_ptx(*LARGEST)
    lines, code_bytes = ptx.count("\n"), state["code_bytes"]
    expect(lines <= MOST_PTX_LINES, f"{lines} lines of PTX")
    expect(code_bytes <= MOST_CODE_BYTES, f"{code_bytes} bytes of machine code")


def inspect_code(*words):
    """Facts of a kernel and counts of its instructions."""
    need_compiler()
    done = tool("inspect", *words, "--no-cache", "--json")
    expect_exit(done, 0)
    state = json.loads(done.stdout)
    check_facts(state)
    if "loops" not in state:
        raise Skip("there is no nvdisasm")
    return state


def make_way_out_test(words, turns, most, size=SIZE):
    def test():
        loops = inspect_code(size, "bf16", *words, *"--arch sm_100a --config mma=256x256".split())["loops"]
        steps = [loop for loop in loops if loop["tmem_loads"]]
        expect(len(steps) == 1, f"one loop reads tensor memory: {loops}")
        inner = [loop for loop in loops if loop["outer"] == steps[0]["address"]]
        expect(len(inner) == (turns > 0), f"loops inside of a step: {loops}")
        count = steps[0]["instructions"] + turns * sum(loop["instructions"] for loop in inner)
        expect(count <= most, f"{count} instructions for 64 columns")
    return f"way out {size} {' '.join(words)}", test


def make_promoted_test(a_scale, b_scale, most):
    def test():
        words = f"e4m3 d=bf16 a_scale={a_scale} b_scale={b_scale} --arch sm_100a".split()
        state = inspect_code(SIZE, *words, "--config", "mma=256x128 cta_group=2")
        count = max(state["loops"], key=lambda loop: loop["tmem_loads"])["instructions"]
        expect(count <= most, f"{count} instructions for a block of K")
    return f"promoted sums, scales of {a_scale} and {b_scale}", test


def make_drawn_ahead_test(tile, size, calls):
    def test():
        def count(seed):
            """Instructions before the loop that multiplies."""
            state = inspect_code(size, "bf16", "--epilogue", f"d = uniform({seed}) < 0.5f ? acc : 0.0f;", "--operand",
                                 "seed:scalar:f32", "--arch", "sm_90a", "--config", f"tile={tile}")
            (loop,) = [loop for loop in state["loops"] if loop["multiplications"]]
            return loop["address"] // INSTRUCTION_BYTES
        ahead, late = count("seed"), count("seed + 0.0f")  # which is no operand
        expect(ahead - late >= PHILOX * calls, f"{ahead} instructions before products, {late} if not ahead")
    return f"sm_90a {tile} draws before products", test


@functools.lru_cache(maxsize=None)
def count_instructions(*words):
    return inspect_code(SIZE, "bf16", *words, "--arch", "sm_90a", "--config", ADDED_TILE)["instructions"]


def make_added_test(d_type, snippet, most):
    def test():
        fused = count_instructions(f"d={d_type}", "--epilogue", snippet, "--operand", "bias:row_vector:bf16")
        each = (fused - count_instructions(f"d={d_type}")) / ADDED_PER_THREAD
        expect(each <= most, f"{each:.2f} instructions for an element")
    return f"sm_90a {d_type} {snippet}", test


def make_scaled_sums_test(words):
    def test():
        need_compiler()
        with Folder() as folder:
            for cluster in SCALED_CLUSTERS:
                look("sm_90a", ["e4m3", *words], f"{SCALED_TILE} cluster={cluster}", None, folder.cache)
    return f"{SCALED_TILE} {' '.join(words)}", test


def make_scaled_test(words, kind, multiplications, copies, config="mma=256x256 cta_group=2", turn=TURN):
    def test():
        need_compiler()
        state, ptx = inspect_with_ptx(SIZE, *words, "--arch", "sm_100a", "--config", config)
        count = ptx.count(f"tcgen05.mma.cta_group::2.kind::{kind} ")
        expect(count == multiplications == ptx.count("tcgen05.mma."), f"{count} of {kind}")
        count = ptx.count("tcgen05.cp.cta_group::2.32x128b.warpx4 ")
        expect(count == copies == ptx.count("tcgen05.cp."), f"{count} copies of scales")
        expect("barrier.cluster.arrive.relaxed" in ptx and "barrier.cluster.arrive.release" not in ptx,
               "a barrier of the cluster orders all memory, which takes a MEMBAR.ALL.GPU")
        check_facts(state)
        if "loops" not in state:
            raise Skip("there is no nvdisasm")
        expect(state["mix"]["local_load"] + state["mix"]["local_store"] == 0, f"local memory: {state}")
        expect(state["mix"]["tmem_store"] == copies, f"copies of scales: {state}")
        mma = [loop for loop in state["loops"] if loop["multiplications"]]
        load = [loop for loop in state["loops"] if loop["tma_loads"]]
        expect(len(mma) == 1 and len(load) == 1, f"loops: {mma + load}")
        expect(mma[0]["multiplications"] == multiplications and mma[0]["instructions"] <=
               turn + PER_MMA * multiplications + PER_COPY * copies, f"the loop that multiplies: {mma}")
        expect(load[0]["instructions"] <= LOAD_TURN and load[0]["tma_loads"] <= LOADS,
               f"the loop that loads: {load}")
    return f"scaled {config} {' '.join(words)}", test


def make_vectors_test(config, words):
    def test():
        need_compiler()
        with Folder() as folder:
            look("sm_90a", words, config, VECTORS, folder.cache)
    return f"sm_90a {config} {' '.join(words)}", test


def inspect_two(arch, words, config, name):
    """Of the kernel of that name, which runs first, and of the product's."""
    need_compiler()
    done = tool("inspect", SIZE, *words, "--arch", arch, "--config", config, "--no-cache", "--json")
    expect_exit(done, 0)
    kernels = {state["kernel"]: state for state in map(json.loads, done.stdout.splitlines())}
    expect(len(kernels) == 2, f"{len(kernels)} kernels", done)
    first = kernels.pop(name)
    expect(first["local_bytes"] == 0 and first["registers"] <= COPY_REGISTERS, f"the first: {first}")
    (product,) = kernels.values()
    check_facts(product)
    if "mix" not in first:
        raise Skip("there is no nvdisasm")
    expect(product["mix"]["tma_load"] > 0, f"the product: {product}")
    return first, product


def make_copy_test(arch, words):
    def test():
        copy, _ = inspect_two(arch, words, "repack=ab", "jit_gemm_repack")
        # Both aligned chunks of each of a lane's four, and one store of each.
        expect(copy["opcodes"]["LDG"] >= 8 and copy["opcodes"]["STG"] == 4, f"the copy: {copy['opcodes']}")
    return f"{arch} {' '.join(words)} copied first", test


def make_maps_test(arch, words):
    def test():
        maps, product = inspect_two(arch, words, "group_maps=1", "jit_gemm_group_maps")
        expect(product["mix"]["local_load"] + product["mix"]["local_store"] == 0, f"local memory: {product}")
        expect("LDGSTS" not in product["opcodes"], f"the product: {product}")
        # Maps of A, B and D are published, a word by each lane, and what TMA keeps of them is given up.
        expect(maps["opcodes"]["ATOMG"] == 3, f"the maps: {maps['opcodes']}")
        expect(product["opcodes"]["UTMACCTL"] >= 2, f"the product: {product['opcodes']}")
    return f"{arch} {' '.join(words)} by maps of groups", test


if __name__ == "__main__":
    sys.exit(run_tests(in_turn([("the largest kernel stays small", test_largest_kernel_stays_small)] +
                       [make_way_out_test(*row) for row in WAYS_OUT] +
                       [make_promoted_test(*row) for row in PROMOTED] +
                       [make_scaled_sums_test(words) for words in SCALED_SUMS] +
                       [make_added_test(*row) for row in ADDED] +
                       [make_drawn_ahead_test(*row) for row in DRAWN_AHEAD] +
                       [make_scaled_test(*row) for row in SCALED] +
                       [make_scaled_test(*row, TURN + SHARED_TURN) for row in SHARED_CELLS] +
                       [make_test("sm_100a", words, way_out) for words, way_out in SCALED_PROBLEMS] +
                       [make_test(arch, words, way_out) for place, arch in enumerate(CHIPS)
                        for words, way_out in share(FAMILY_PROBLEMS if arch in FAMILY else PROBLEMS, place)] +
                       [make_vectors_test(config, words) for config, rows in FULL.items() for words in rows] +
                       [make(arch, words)
                        for make, rows in ((make_test, THREAD_LOADS), (make_copy_test, COPIES), (make_maps_test, MAPPED))
                        for place, arch in enumerate(("sm_90a", "sm_100a")) for words in share(rows, place)])))
