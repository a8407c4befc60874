# SPDX-License-Identifier: MIT
"""Kernels with groups in which test_group_faults.py plants its faults: words of `run`, by what a group is."""

SKEWED = "0,130,1,75,300,127,0"  # a store tile lacks one row
MANY = ",".join(["1", "33", "0", "7", "0"] * 7)  # of 35 groups: more than a warp counts at once
VECTORS = ["--epilogue", "d = acc * u + bias + M;", "--operand", "u:column_vector:f32",
           "--operand", "bias:row_vector:bf16"]
SCALED = ["m=640", "n=256", "k=256", "a=mxfp8", "d=mxfp8", "groups=7", "--group-sizes", SKEWED,
          "--arch", "sm_100a", "--config", "mma=128x128 cluster=1x1"]
# Rows of all groups stacked, or a matrix with as many rows for each.
ROWS = {
    "scales in bands": SCALED,
    "padded scales": [*SCALED, "scale_rows=per_group_padded"],
    "fragments, pairs of CTAs": ["m=640", "n=200", "k=128", "a=bf16", "groups=7", *VECTORS, "--group-sizes",
                                 SKEWED, "--arch", "sm_90a", "--config", "tile=128x128 cluster=2x1"],
    # Of 18 tiles 2 have the last round of 4 multiprocessors.
    "halves of the last round": ["m=640", "n=256", "k=64", "a=bf16", "groups=7", "--group-sizes", "1,130,1,75,300,0,127",
                                 "--arch", "sm_90a", "--config", "tile=128x128 cluster=1x1"],
    "launch control, transposed": [
        "m=300", "n=256", "k=64", "a=bf16", "groups=35", *VECTORS, "--group-sizes", MANY, "--arch", "sm_100a",
        "--config", "mma=128x32 cluster=1x2 swap_ab=1 scheduler=clc raster_group=4"],
    "a scan of three rounds": ["m=482", "n=64", "k=64", "a=bf16", "groups=601", "--group-sizes",
                               "1,0,0,3,0," * 120 + "2", "--arch", "sm_90a", "--config", "tile=64x32 swap_ab=1"],
    "counts, vectors": ["m=320", "n=136", "k=64", "a=bf16", "c=bf16", "groups=7", "group_by=counts", "--group-sizes",
                        SKEWED, "--arch", "sm_100a", "--config", "mma=128x64 cluster=2x1 scheduler=static"],
    "counts, fragments": ["m=320", "n=256", "k=64", "a=bf16", "groups=7", "group_by=counts", "--group-sizes",
                          SKEWED, "--arch", "sm_90a", "--config", "tile=64x128 cluster=1x2"],
    "bands of columns": ["m=129", "n=2056", "k=64", "a=bf16", "groups=2", "--group-sizes", "0,129",
                         "--arch", "sm_90a", "--config", "tile=64x128 cluster=2x1"],
}

# Rows name their groups, in blocks.
BLOCKS = {
    "blocks of rows, in halves": ["m=1100", "n=200", "k=128", "a=bf16", "groups=5", "group_by=rows",
                                  *VECTORS, "--group-sizes", "0,130,1,300,70", "--arch", "sm_90a",
                                  "--config", "tile=64x128 cluster=1x2"],
    "blocks of rows, transposed": ["m=840", "n=272", "k=64", "a=bf16", "groups=3", "group_by=rows",
                                   *VECTORS, "--group-sizes", "160,200,70", "--arch", "sm_100a", "--config",
                                   "mma=128x32 cluster=2x2 swap_ab=1 scheduler=clc"],
    # More blocks than a warp asks for at once, whose list stays as it is.
    "many blocks of rows": [f"m={300 * 128}", "n=8", "k=64", "a=bf16", "groups=4", "group_by=rows",
                            "--group-sizes", "1280,1000,0,1400", "--block-order", "sorted", "--arch", "sm_90a",
                            "--config", "tile=128x128 cluster=1x1"],
}

# Rows of no group are made 0.
RESTS = {
    "rows of none, offsets": ["m=640", "n=204", "k=64", "a=bf16", "groups=7", "group_rest=zero",
                              "--group-sizes", "0,130,1,75,200,127,0", "--arch", "sm_90a",
                              "--config", "tile=128x128 cluster=2x1"],
    "rows of none, counts": ["m=320", "n=136", "k=64", "a=bf16", "c=bf16", "groups=7", "group_by=counts",
                             "group_rest=zero", "--group-sizes", SKEWED, "--arch", "sm_100a",
                             "--config", "mma=128x64 cluster=2x1 scheduler=clc"],
    "rows of none, blocks": ["m=1100", "n=200", "k=64", "a=bf16", "groups=5", "group_by=rows",
                             "group_rest=zero", "--group-sizes", "0,130,1,300,70", "--arch", "sm_100a",
                             "--config", "mma=128x32 cluster=2x2 swap_ab=1 scheduler=clc"],
    "rows of none, scales of D": ["m=320", "n=328", "k=64", "a=bf16", "d=nvfp4", "d_scale_layout=8x4", "groups=7",
                                  "group_by=counts", "group_rest=zero", "--group-sizes", SKEWED, "--arch", "sm_90a"],
}

DEPTH_WORDS = ["k=500", "groups=6", "group_by=k_offsets", "--group-sizes", "0,63,8,130,1,200"]
# Groups divide K.
DEPTHS = {
    "along K, shared tiles": ["m=264", "n=256", "a=bf16", "d=f32", "layout=tn", *DEPTH_WORDS,
                              "--arch", "sm_90a", "--config", "tile=128x128 cluster=2x1"],
    "along K, pairs of CTAs": ["m=256", "n=264", "a=bf16", "d=f32", "layout=tn", *DEPTH_WORDS, "--arch", "sm_100a",
                               "--config", "mma=256x128 cta_group=2 cluster=2x2"],
    "along K, by threads": ["m=64", "n=72", "a=bf16", "d=f32", "layout=nt", "input_align=2", *DEPTH_WORDS,
                            "--arch", "sm_90a"],
    "along K, scales of blocks": ["m=136", "n=136", "a=e4m3", "d=f32", "layout=tn", "a_scale=1x128",
                                  "b_scale=128x128", *DEPTH_WORDS, "--arch", "sm_100a"],
    "along K, scales of the tensor core": [
        "m=136", "n=264", "k=512", "nvfp4", "d=f32", "groups=6", "group_by=k_offsets", "--group-sizes",
        "0,96,32,0,320,32", "--arch", "sm_100a", "--config", "mma=128x64 cluster=1x1"],
    "along K, pairs with scales": ["m=256", "n=256", "a=mxfp8", "d=f32", "layout=tn", *DEPTH_WORDS, "--arch", "sm_100a",
                                   "--config", "mma=256x256 cta_group=2 cluster=2x1"],
    # K of no group is NaN, before which the last group ends without any.
    "along K, K-major with scales": [
        "m=136", "n=144", "k=512", "a=mxfp8", "d=f32", "groups=6", "group_by=k_offsets", "--group-sizes",
        "0,96,32,0,320,0", "--arch", "sm_100a", "--config", "mma=128x64 cluster=1x1"],
}

POINTER_WORDS = ["groups=5", "group_by=pointers", "--group-sizes", "1,130,0,75,300"]
# Groups have matrices of their own.
POINTERS = {
    "pointers, C": ["m=300", "n=200", "k=128", "a=bf16", "c=bf16", *POINTER_WORDS, *VECTORS, "--arch", "sm_90a",
                    "--config", "tile=128x128"],
    "pointers, transposed": [
        "m=300", "n=136", "k=200", "a=bf16", "d=f32", *POINTER_WORDS, "--arch", "sm_100a", "--config", "mma=128x32 swap_ab=1"],
    "pointers, scales of D": ["m=300", "n=256", "k=128", "a=e4m3", "d=e4m3", "d_scale=1x128", *POINTER_WORDS,
                              "--arch", "sm_90a", "--config", "tile=128x128"],
}

REDUCED_WORDS = ["--epilogue", "d = acc; s = acc; g = acc; m = abs(acc);", "--operand", "s:column_vector:f32:sum",
                 "--operand", "g:row_vector:f32:sum", "--operand", "m:scalar:f32:max"]
REDUCED_ROWS = ["n=264", "k=64", "a=bf16", "groups=7", "--group-sizes", SKEWED, *REDUCED_WORDS]
# Reductions over groups.
REDUCED = {
    "reduced, offsets": ["m=640", *REDUCED_ROWS, "--arch", "sm_90a", "--config", "tile=64x128 cluster=2x1"],
    "reduced, transposed": ["m=300", *REDUCED_ROWS, "group_by=counts", "--arch", "sm_100a", "--config",
                            "mma=128x32 cluster=1x2 swap_ab=1 scheduler=clc raster_group=4"],
}

# Blocks of a group lie apart, and the last one of all, which is short, is not the last group's.
SORTED_WORDS = ["groups=5", "group_by=rows", "--group-sizes", "0,130,1,300,70", *REDUCED_WORDS]
SORTED = {
    "reduced, blocks of rows": ["m=804", "n=264", "k=64", "a=bf16", "groups=5", "group_by=rows", "--group-sizes",
                                "0,130,1,264,20", *REDUCED_WORDS, "--arch", "sm_90a", "--config",
                                "tile=64x128 cluster=1x2"],
    "reduced, blocks, transposed": ["m=1000", "n=264", "k=64", "a=bf16", "group_rest=zero", *SORTED_WORDS, "--arch",
                                    "sm_100a", "--config", "mma=128x32 cluster=2x2 swap_ab=1 scheduler=clc"],
    # More groups than a warp adds up at once, and more blocks than it asks for at once.
    "reduced, many blocks": [f"m={300 * 128}", "n=8", "k=64", "a=bf16", "groups=40", "group_by=rows", *REDUCED_WORDS,
                             "--group-sizes", ",".join(["600", "0", "130", "1"] * 10), "--arch", "sm_90a",
                             "--config", "tile=128x128 cluster=1x1"],
}
