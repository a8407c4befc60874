# SPDX-License-Identifier: MIT
"""The kernels that test_mutations.py changes: by name what their PTX has in it that of others
has not, the words of `jit-gemm run`, how many multiprocessors they need, what is harmless, and what
is broken in every run of the test."""

# Mutants that are no faults, by rule and place among the rule's places, with the reason.
LOAD_DRAIN = ("the load warp's drain: the commits that it waits for are those of a tile whose "
              "accumulators the epilogue has waited for before the CTA ends")
DRAIN_AND_ORDER = {
    ("wait for nothing", 1): LOAD_DRAIN,
    ("wait for nothing", 4): "that matrices wait for the first inputs is about speed"}
OWN_RESPONSE = "the scheduler's warp fences again before it asks, which covers its own reads too"
STORED_BEFORE = ("the first operand's partial results are stored before a barrier that the others "
                 "have in the step")
LAST_RUN = "columns that N lacks have the scale of the last run that it has"
OWN_RUN = "all columns of a tile have one scale of B"
USED = "registers that are read stand for the wait, and nothing is given back before the next one"
NO_COPIES = ("no copy arrives at a barrier; threads and commits come after the CTA's own "
             "synchronisation")
# Of a bar.warp.sync the machine code of ptxas 13.0 was looked at, for sm_100a, with and without it.
CONVERGES = ("lanes only converge there, before an instruction that all of them execute, and before which the machine "
             "code has them converge without it, too")
LOADED_BY_ALL = ("a load of tensor memory is of the warp as a whole, and so is the wait for it, and the machine code has "
                 "the same instructions without it")

OWN_BUFFER = "the CTA has one tile, and a buffer for each of its store tiles: nothing was stored from one before"
LEFT = "a part leaves its share to another one only where not all run at once"
SHARES = {
    ("shares: release and acquire made relaxed", 1): LEFT,
    ("shares: count one more", 1): LEFT,
    ("shares: drop the clearing of a word", 0): LEFT,
    ("shares: drop a load", 0): "alpha comes by value",
    ("shares: another lane's sum", 0): "the number of the warp, which all of its lanes have"}
LOADS_FIRST = "the first warp is the one that loads; what the others do comes after its copies"

ALONE = "a CTA without a cluster: its barrier orders the init before all who use what is initialised"
ALONE_DRAIN = "without neighbours the load warp's drain is about speed"

KERNELS = {
    "sm_90a plain": {
        "of": "wgmma.mma_async",
        "harmless": {("wait for nothing", 1): ALONE_DRAIN},
        "run": ["256x256x320", "bf16", "--arch", "sm_90a", "--config", "tile=64x128 stages=3"],
    },
    "sm_90a cluster, matrix operand": {
        "of": "wgmma.mma_async",
        "run": ["512x256x320", "bf16", "--arch", "sm_90a",
                "--config", "tile=128x128 cluster=2x1 stages=3",
                "--epilogue", "d = max(acc + bias, 0.0f) + r;",
                "--operand", "bias:row_vector:bf16", "--operand", "r:matrix:bf16"],
    },
    "sm_90a pingpong, matrix operand": { # twelve tiles for each CTA
        "of": "wgmma.mma_async", "sms": 2,
        "run": ["576x512x192", "bf16", "--arch", "sm_90a",
                "--config", "tile=128x128 pingpong=1 cluster=2x1 stages=2",
                "--epilogue", "d = acc + bias + r;",
                "--operand", "bias:row_vector:bf16", "--operand", "r:matrix:bf16"],
    },
    "sm_90a few rows of D, matrix operand": { # as columns, of which six stages lack eight
        "of": "wgmma.mma_async",
        "harmless": {("drop fence.mbarrier_init", 0): ALONE,
                     ("wait for nothing", 2): ALONE_DRAIN, ("wrong phase", 2): ALONE_DRAIN},
        "run": ["24x328x512", "bf16", "d=f32", "--arch", "sm_90a", "--config", "tile=64x32 stages=6",
                "--epilogue", "d = acc + r;", "--operand", "r:matrix:bf16"],
    },
    "sm_90a 8-bit floats": {
        "of": "wgmma.mma_async",
        "run": ["256x256x640", "e4m3", "d=bf16", "--arch", "sm_90a",
                "--config", "tile=128x128 cluster=2x1 stages=3"],
    },
    "sm_100a plain": {
        "of": "tcgen05.mma",
        "harmless": {("wait for nothing", 1): LOAD_DRAIN},
        "run": ["512x256x320", "bf16", "--arch", "sm_100a",
                "--config", "mma=128x64 cluster=1x1 scheduler=static stages=3"],
    },
    "sm_100a pair, matrix operand": {
        "of": "tcgen05.mma", "harmless": DRAIN_AND_ORDER,
        "run": ["1024x256x320", "bf16", "--arch", "sm_100a",
                "--config", "mma=256x128 cluster=2x1 scheduler=static stages=3",
                "--epilogue", "d = max(acc + bias, 0.0f) + r;",
                "--operand", "bias:row_vector:bf16", "--operand", "r:matrix:bf16"],
    },
    "sm_100a 64 rows": {
        "of": "tcgen05.mma", "harmless": {("wait for nothing", 1): LOAD_DRAIN},
        "run": ["256x192x320", "bf16", "--arch", "sm_100a",
                "--config", "mma=64x96 cluster=1x1 scheduler=static k_group=1 stages=3"],
    },
    "sm_100a pair of 64 rows, matrix operand": {
        "of": "tcgen05.mma", "harmless": DRAIN_AND_ORDER,
        "run": ["256x256x320", "bf16", "--arch", "sm_100a", "--config",
                "mma=128x64 cta_group=2 cluster=2x1 scheduler=static k_group=1 stages=3",
                "--epilogue", "d = max(acc + bias, 0.0f) + r;",
                "--operand", "bias:row_vector:bf16", "--operand", "r:matrix:bf16"],
    },
    "sm_100a transposed product": {
        "of": "tcgen05.mma", "harmless": {("wait for nothing", 1): LOAD_DRAIN},
        "run": ["64x512x320", "bf16", "--arch", "sm_100a",
                "--config", "mma=128x32 cluster=1x1 scheduler=static k_group=1 stages=3 swap_ab=1"],
    },
    "sm_100a transposed product, matrix operand": {
        "of": "tcgen05.mma", "harmless": DRAIN_AND_ORDER,
        "run": ["64x512x320", "bf16", "--arch", "sm_100a", "--config",
                "mma=128x32 cta_group=2 cluster=2x1 scheduler=static k_group=1 stages=3 swap_ab=1",
                "--epilogue", "d = max(acc + bias, 0.0f) + r;",
                "--operand", "bias:row_vector:bf16", "--operand", "r:matrix:bf16"],
    },
    "sm_100a groups of K": {
        "of": "tcgen05.mma",
        "harmless": {("wait for nothing", 1): LOAD_DRAIN},
        "run": ["512x256x320", "bf16", "--arch", "sm_100a",
                "--config", "mma=128x64 cluster=1x1 scheduler=static k_group=2 stages=2"],
    },
    "sm_100a launch control": {
        "of": "tcgen05.mma",
        "harmless": {
            ("drop fence.proxy.async", 0): OWN_RESPONSE,
            ("drop fence.proxy.async", 2): "the load thread announces its next tile later; that "
                                           "releases its read, and who asks waits for it and fences",
            ("wait for nothing", 4): LOAD_DRAIN,
            ("wait for nothing", 10): "the MMA thread has waited for this response before the tile "
                                      "whose accumulators the epilogue has waited for",
        },
        "run": ["512x256x200", "bf16", "--arch", "sm_100a",
                "--config", "mma=128x64 cluster=1x1 scheduler=clc stages=5"],
    },
    "sm_100a launch control, pairs in a cluster": {
        "of": "tcgen05.mma",
        "sms": 4,
        "harmless": {
            ("drop fence.proxy.async", 2): OWN_RESPONSE,
            ("wait for nothing", 1): LOAD_DRAIN,
        },
        "run": ["1536x512x200", "bf16", "--arch", "sm_100a",
                "--config", "mma=256x128 cluster=4x1 scheduler=clc stages=5"],
    },
    "sm_100a loads by threads": {
        "of": "tcgen05.mma",
        "harmless": {("drop fence.mbarrier_init", 0): NO_COPIES,
                     ("wait for nothing", 1): LOAD_DRAIN},
        "run": ["512x256x320", "bf16", "input_align=8", "--arch", "sm_100a",
                "--config", "mma=128x64 stages=3"],
    },
    "sm_100a tf32 along M and N": {
        "of": "tcgen05.mma",
        "harmless": {("wait for nothing", 1): LOAD_DRAIN},
        "run": ["256x256x140", "tf32", "layout=tn", "--arch", "sm_100a",
                "--config", "mma=128x64 cluster=1x1 scheduler=static stages=3"],
    },
    "sm_90a loads by threads": {
        "of": "wgmma.mma_async",
        "harmless": {("drop fence.mbarrier_init", 0): NO_COPIES,
                     ("wait for nothing", 1): "without neighbours the drain is about speed"},
        "run": ["256x256x320", "bf16", "input_align=8", "--arch", "sm_90a",
                "--config", "tile=64x128 stages=3"],
    },
    # As many clusters at once as there are parts of K.
    "sm_100a pair, split K": {
        "of": "tcgen05.mma",
        "sms": 6,
        "harmless": {("wait for nothing", 0): LOAD_DRAIN},
        "run": ["512x256x640", "bf16", "--arch", "sm_100a",
                "--config", "mma=256x128 cluster=2x1 stages=3 split_k=3"],
    },
    "sm_90a split K, unordered": {
        "of": "wgmma.mma_async",
        "sms": 4,
        "harmless": {("wait for nothing", 1): ALONE_DRAIN},
        "run": ["128x256x320", "bf16", "--arch", "sm_90a", "--config",
                "tile=64x128 cluster=1x1 stages=3 split_k=4 split_order=unordered"],
    },
    # Only how the CTAs of a cluster add up their parts of K; some warps have none of D. Pairs share inputs.
    "sm_90a parts of K in a cluster": {
        "of": "wgmma.mma_async",
        "sms": 6,
        "only": "parts", "harmless": {("parts: drop bar.sync", 1): OWN_BUFFER},
        "run": ["129x136x520", "bf16", "--arch", "sm_90a", "--config",
                "tile=64x128 cluster=2x1 stages=3 split_k=3 split_order=cluster"],
    },
    "sm_100a parts of K in a cluster": {
        "of": "tcgen05.mma",
        "sms": 6,
        "only": "parts", "harmless": {
            **{("parts: drop bar.warp.sync", i): CONVERGES for i in (0, 1, 6, 7)},
            ("parts: drop bar.warp.sync", 2): LOADED_BY_ALL,
            ("parts: drop bar.warp.sync", 4): OWN_BUFFER},
        "run": ["129x136x520", "bf16", "--arch", "sm_100a", "--config",
                "mma=128x64 stages=3 split_k=3 split_order=cluster"],
    },
    # More parts than lanes of a vector's piece, and clusters that add up in a workspace.
    "sm_90a parts of K in clusters": {
        "of": "wgmma.mma_async",
        "sms": 8,
        "only": "parts", "harmless": {("parts: drop bar.sync", 3): OWN_BUFFER},
        "run": ["33x40x1100", "bf16", "--arch", "sm_90a", "--config",
                "tile=64x32 stages=3 split_k=12 split_order=cluster cluster_k=4"],
    },
    # Only how parts of K meet in a workspace where each writes a share of D: lanes add up a vector
    # together, or one by itself.
    "sm_90a parts of K with a share each, many lanes": {
        "of": "wgmma.mma_async",
        "sms": 12,
        "only": "shares", "harmless": SHARES | {("shares: drop bar.warp.sync", i): CONVERGES for i in (0, 2, 3)},
        "run": ["33x40x1100", "bf16", "--arch", "sm_90a", "--config",
                "tile=64x32 swap_ab=1 stages=3 split_k=6 split_order=parallel"],
    },
    "sm_90a parts of K with a share each": {
        "of": "wgmma.mma_async",
        "sms": 12,
        "only": "shares", "harmless": SHARES | {("shares: drop bar.warp.sync", i): CONVERGES for i in (0, 3, 4)},
        "run": ["129x136x520", "bf16", "--arch", "sm_90a", "--config",
                "tile=128x128 cluster=2x1 stages=3 split_k=3 split_order=parallel"],
    },
    "sm_100a parts of K with a share each": {
        "of": "tcgen05.mma",
        "sms": 12,
        "only": "shares", "harmless": {
            **SHARES, **{("shares: drop bar.warp.sync", i): CONVERGES for i in (0, 1, 2, 3, 6)},
            ("shares: drop bar.warp.sync", 4): LOADED_BY_ALL},
        "run": ["129x136x520", "bf16", "--arch", "sm_100a", "--config",
                "mma=128x64 cluster=1x1 stages=3 split_k=3 split_order=parallel"],
    },
    "sm_100a pair, parts of K with a share each": {
        "of": "tcgen05.mma",
        "sms": 12,
        "only": "shares", "harmless": {
            **SHARES, **{("shares: drop bar.warp.sync", i): CONVERGES for i in (*range(4), *range(6, 11))},
            ("shares: drop bar.warp.sync", 4): LOADED_BY_ALL},
        "run": ["257x136x520", "bf16", "--arch", "sm_100a", "--config",
                "mma=256x128 cluster=2x1 stages=3 split_k=3 split_order=parallel"],
    },
    # Only what reductions add (the rest is that of kernels above): a team's warps above each
    # other and side by side, in two steps.
    "sm_90a reductions": {
        "of": "wgmma.mma_async",
        "only": "reductions", "harmless": {("reductions: drop bar.sync", 3): STORED_BEFORE},
        "run": ["192x256x64", "bf16", "--arch", "sm_90a", "--config", "tile=128x128 stages=2",
                "--epilogue", "d = s = b = m = acc;",
                "--operand", "s:column_vector:f32:sum", "--operand", "b:row_vector:f32:sum",
                "--operand", "m:scalar:f32:sum"],
    },
    "sm_100a reductions, transposed product": {
        "of": "tcgen05.mma",
        "only": "reductions", "harmless": {("reductions: drop bar.sync", 3): STORED_BEFORE},
        "run": ["192x256x64", "bf16", "--arch", "sm_100a", "--config",
                "mma=128x128 cluster=1x1 scheduler=static k_group=1 stages=2 swap_ab=1",
                "--epilogue", "d = s = b = m = acc;",
                "--operand", "s:column_vector:f32:sum", "--operand", "b:row_vector:f32:sum",
                "--operand", "m:scalar:f32:sum"],
    },
    # Only what orders a launch behind the one whose D it reads: as A, and as a matrix operand.
    "sm_90a back to back": {
        "of": "wgmma.mma_async",
        "sms": 4,
        "only": "back to back",
        "harmless": {("back to back: only the first warp waits", 0): LOADS_FIRST},
        "run": ["512x256x256", "bf16", "--arch", "sm_90a", "--back-to-back",
                "--config", "tile=128x128 stages=3"],
    },
    # B is loaded before the wait, A behind the second one, which is the load thread's own.
    "sm_90a back to back, weights first": {
        "of": "wgmma.mma_async",
        "sms": 4,
        "only": "back to back",
        "harmless": {("back to back: drop griddepcontrol.wait", 0): LOADS_FIRST,
                     ("back to back: only the first warp waits", 0): LOADS_FIRST,
                     ("back to back: only the last warp waits", 0): LOADS_FIRST,
                     ("back to back: only the first warp waits", 1): LOADS_FIRST},
        "run": ["32x256x256", "bf16", "weights=b", "--arch", "sm_90a", "--back-to-back",
                "--config", "tile=64x32 stages=3 resident=2 split_k=1 swap_ab=1"],
    },
    "sm_100a back to back": {
        "of": "tcgen05.mma",
        "sms": 4,
        "only": "back to back",
        "run": ["512x256x256", "bf16", "--arch", "sm_100a", "--back-to-back",
                "--config", "mma=256x128 cluster=2x1 scheduler=static stages=3"],
    },
    "sm_100a back to back, matrix operand": {
        "of": "tcgen05.mma",
        "sms": 4,
        "only": "back to back",
        "run": ["512x256x320", "bf16", "--arch", "sm_100a", "--back-to-back",
                "--config", "mma=128x64 cluster=1x1 scheduler=clc stages=5",
                "--epilogue", "d = acc + r;", "--operand", "r:matrix:bf16"],
    },
    "sm_100a back to back, loads by threads": {
        "of": "tcgen05.mma",
        "sms": 4,
        "only": "back to back",
        "run": ["512x256x256", "bf16", "input_align=8", "--lda", "256", "--arch", "sm_100a",
                "--back-to-back", "--config", "mma=128x64 stages=3"],
    },
    # Only what orders the lanes of a warp: threads load, and D goes by way of store tiles.
    "sm_100a order of lanes": {
        "of": "tcgen05.mma",
        "only": "lanes",
        "harmless": {("lanes: drop bar.warp.sync", 0): CONVERGES,
                     ("lanes: drop bar.warp.sync", 2): LOADED_BY_ALL,
                     ("lanes: drop bar.warp.sync", 5): CONVERGES},
        "always": {("lanes: drop bar.warp.sync", place) for place in (1, 4)},
        "run": ["512x256x320", "bf16", "input_align=2", "--arch", "sm_100a",
                "--config", "mma=128x64 stages=3"],
    },
    # Only what neighbours wait for. Its second wait is the load warp's drain: commits of the CTAs that
    # share its tiles arrive at a time of their own.
    "sm_100a cluster of 2x2": {
        "of": "tcgen05.mma",
        "sms": 4,
        "only": "neighbours", "always": {("neighbours: wait for nothing", 1)},
        "run": ["512x256x320", "bf16", "--arch", "sm_100a",
                "--config", "mma=128x64 cta_group=1 cluster=2x2 scheduler=static stages=3"],
    },
    # Only how sums are multiplied by scales. Rows that M lacks are so many that theirs would lie
    # beyond the guards; scales are 40 bytes apart, as the rules have it.
    "sm_90a scales of blocks": {
        "of": "wgmma.mma_async",
        "only": "scales", "harmless": {
            ("scales: places of four rows", 0): OWN_RUN,
            **{(f"scales: take those of {name}", i): OWN_RUN
               for name in ("the next row or run", "8 rows on") for i in (0, 5)}},
        "run": ["129x136x896", "e4m3", "d=bf16", "a_scale=1x128", "b_scale=128x128",
                "--arch", "sm_90a", "--config", "tile=128x128 cluster=1x1 stages=3"],
    },
    # A part without any of K has a block beyond its end, whose scales would lie beyond the guards.
    "sm_90a scales of blocks, split K": {
        "of": "wgmma.mma_async",
        "sms": 8,
        "only": "split scales",
        "run": ["129x136x128", "e4m3", "d=bf16", "a_scale=1x128", "a_scale_layout=column",
                "b_scale=128x128", "b_scale_layout=column", "dynamic=k", "--arch", "sm_90a",
                "--config", "tile=128x128 cluster=1x1 stages=3 split_k=2"],
    },
    "sm_100a scales of blocks": {
        "of": "tcgen05.mma",
        "only": "scales",
        "harmless": {
            ("scales: take those of the next row or run", 5): LAST_RUN,
            ("scales: take those of each other", 5): LAST_RUN,
            **{("scales: drop tcgen05.wait::ld", i): USED for i in range(6)}},
        "run": ["129x136x896", "e4m3", "d=bf16", "a_scale=1x128", "b_scale=128x128",
                "--arch", "sm_100a",
                "--config", "mma=128x96 cluster=1x1 scheduler=static stages=3"],
    },
    # Only what scales add of which the tensor core has those of each 32. Tiles of columns that
    # begin inside of a piece and end in the next one, and a last block of K that has one of its
    # four steps.
    "sm_100a scales of MX": {
        "of": "tcgen05.mma",
        "only": "mx",
        "run": ["130x288x416", "e4m3", "d=bf16", "a_scale=mx", "a_scale_layout=128x4",
                "b_scale=mx", "b_scale_layout=128x4", "--arch", "sm_100a",
                "--config", "mma=128x96 cluster=1x1 scheduler=static stages=3"],
    },
    # Powers of two, four of whose blocks of 128 are a piece's.
    "sm_100a powers of two": {
        "of": "tcgen05.mma",
        "only": "powers",
        "run": ["130x288x1184", "e4m3", "d=bf16", "a_scale=1x128ue8m0", "a_scale_layout=128x4",
                "b_scale=1x128ue8m0", "b_scale_layout=128x4", "--arch", "sm_100a",
                "--config", "mma=128x96 cluster=1x1 scheduler=static stages=3"],
    },
    # The same of 4-bit floats, whose stages have several pieces along K, which ends inside of an
    # instruction,
    "sm_100a scales of MXFP4": {
        "of": "tcgen05.mma",
        "only": "mx4",
        "run": ["130x288x800", "mxfp4", "d=bf16", "--arch", "sm_100a",
                "--config", "mma=128x96 cluster=1x1 scheduler=static stages=3"],
    },
    "sm_100a scales of NVFP4": {
        "of": "tcgen05.mma",
        "only": "nv",
        "run": ["130x288x864", "nvfp4", "d=bf16", "--arch", "sm_100a",
                "--config", "mma=128x96 cluster=1x1 scheduler=static stages=3"],
    },
    # where stages take turns with two cells,
    "sm_100a shared cells of scales": {
        "of": "tcgen05.mma",
        "only": "shared cells",
        "run": ["130x384x1504", "nvfp4", "d=bf16", "--arch", "sm_100a",
                "--config", "mma=128x192 cluster=1x1 scheduler=static stages=4 acc_stages=2"],
    },
    # of 4-bit floats beside 8-bit ones,
    "sm_100a 4-bit beside 8-bit floats": {
        "of": "tcgen05.mma",
        "only": "spread",
        "run": ["130x288x512", "a=mxfp8", "b=mxfp4", "d=bf16", "--arch", "sm_100a",
                "--config", "mma=128x96 cluster=1x1 scheduler=static stages=3"],
    },
    # and of pairs, each CTA of which has the scales of all columns.
    "sm_100a pair, scales of NVFP4": {
        "of": "tcgen05.mma",
        "sms": 4,
        "only": "pairs of scales",
        "run": ["300x288x864", "nvfp4", "d=bf16", "--arch", "sm_100a", "--config",
                "mma=256x96 cta_group=2 cluster=2x1 scheduler=static stages=3"],
    },
}
