/* SPDX-License-Identifier: MIT */
/**
 * @file problem.h
 * @brief What to multiply: types, layouts, scales and sizes. No functions.
 *
 * A problem has everything that is compiled into a kernel. Addresses, strides and the
 * sizes of one launch are in launch.h.
 */
#ifndef JIT_GEMM_PROBLEM_H
#define JIT_GEMM_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Size of the buffer that holds a name (epilogue, kernel), the ending zero included. */
#define JIT_GEMM_NAME_SIZE 64
/** Size of the buffer that holds a config text, the ending zero included. */
#define JIT_GEMM_CONFIG_SIZE 256

/** Element types. ::JIT_GEMM_DTYPE_NONE means "absent" (for C) or "default". */
typedef enum jit_gemm_dtype {
    JIT_GEMM_DTYPE_NONE = 0,  /**< Absent. */
    JIT_GEMM_DTYPE_BF16 = 1,  /**< bfloat16, 2 bytes. */
    JIT_GEMM_DTYPE_F16 = 2,   /**< IEEE binary16, 2 bytes. */
    JIT_GEMM_DTYPE_F32 = 3,   /**< IEEE binary32, 4 bytes. Not for A and B: see TF32. */
    JIT_GEMM_DTYPE_TF32 = 4,  /**< IEEE binary32 in memory, 4 bytes; multiplied as tf32. */
    JIT_GEMM_DTYPE_E4M3 = 5,  /**< 8-bit float without infinity, up to 448. */
    JIT_GEMM_DTYPE_E5M2 = 6,  /**< 8-bit float, up to 57344. */
    JIT_GEMM_DTYPE_S8 = 7,    /**< Signed integer, 1 byte. */
    JIT_GEMM_DTYPE_S32 = 8,   /**< Signed integer, 4 bytes. For C and D where A is s8. */
    JIT_GEMM_DTYPE_UE8M0 = 9, /**< A power of two from 2^-127 to 2^127, or NaN, 1 byte: the
                                 exponent plus 127, 255 is NaN. Only for scales. */
    JIT_GEMM_DTYPE_E2M1 = 10, /**< 4-bit float: 0, 0.5, 1, 1.5, 2, 3, 4, 6, and the same
                                 below zero. Two in a byte, the even column in its lower
                                 half. Only with scales of 1x32 or 1x16 blocks. */
    JIT_GEMM_DTYPE_UE4M3 = 11 /**< The values of e4m3 without a sign, 1 byte. Only for
                                 scales. */
} jit_gemm_dtype;

/** Which dimension of a matrix runs fastest in memory. A and B are named by K, C and D by
 * rows and columns; the values are the same. */
typedef enum jit_gemm_layout {
    /** K runs fastest. A is stored M x K, B is stored N x K. Letter: A `n`, B `t`. */
    JIT_GEMM_LAYOUT_K_MAJOR = 0,
    /** M or N runs fastest. A is stored K x M, B is stored K x N. Letter: A `t`, B `n`. */
    JIT_GEMM_LAYOUT_MN_MAJOR = 1,
    /** Rows lie one after the other. C and D are stored M x N. */
    JIT_GEMM_LAYOUT_ROW_MAJOR = 0,
    /** Columns lie one after the other. C and D are stored N x M. */
    JIT_GEMM_LAYOUT_COLUMN_MAJOR = 1
} jit_gemm_layout;

/** How many scales a matrix has. */
typedef enum jit_gemm_scale_kind {
    JIT_GEMM_SCALE_NONE = 0,   /**< None. */
    JIT_GEMM_SCALE_TENSOR = 1, /**< One. */
    JIT_GEMM_SCALE_VECTOR = 2, /**< One per row of A, or one per column of B. */
    JIT_GEMM_SCALE_BLOCK = 3   /**< One per block of `block_mn` x `block_k` elements. */
} jit_gemm_scale_kind;

/** How the scales of blocks lie in memory. Scale (r, kb) is that of block `kb` along K of
 * block row `r`; there are `blocks` of them along K. docs/scales.md has the formulas. */
typedef enum jit_gemm_scale_layout {
    /** At index r * blocks + kb. */
    JIT_GEMM_SCALE_LAYOUT_ROW = 0,
    /** At index kb * ld + r, where ld is the number of block rows rounded up to 4. */
    JIT_GEMM_SCALE_LAYOUT_COLUMN = 1,
    /** In pieces of 128 block rows by 4 blocks, 512 bytes each, as Blackwell's tensor core
     * takes scales of one byte, one for each row. Others of A and B a launch packs into its
     * workspace first (docs/scales.md). */
    JIT_GEMM_SCALE_LAYOUT_128X4 = 2,
    /** In pieces of 8 block rows by 4 blocks, 32 bytes each. */
    JIT_GEMM_SCALE_LAYOUT_8X4 = 3,
    /** Words of 4 blocks, those of a row of words one after the other: byte
     * (kb / 4 * ld + r) * 4 + kb % 4, where ld is the number of block rows rounded up to 4.
     */
    JIT_GEMM_SCALE_LAYOUT_MN_K4 = 4
} jit_gemm_scale_layout;

/**
 * What the values of a matrix are multiplied by: an element's value is what is stored,
 * times its scale. Frozen: embedded by value.
 *
 * Blocks have `block_mn` rows of A or columns of B and `block_k` elements along K. D is the
 * A of the next product: its blocks have `block_mn` rows and `block_k` columns, those of a
 * column-major D `block_mn` columns and `block_k` rows, as if it were its transpose. There
 * are blocks of 1x128 and 128x128 with scales of f32 or ue8m0, of 1x32 with scales of
 * ue8m0, the MX format, and of 1x16 with scales of ue4m3, the NV format; the last ones
 * along a dimension may have fewer elements. All fields but `kind` and `dtype` must be zero
 * for other kinds.
 */
typedef struct jit_gemm_scale {
    jit_gemm_scale_kind kind; /**< How many scales there are. */
    jit_gemm_dtype dtype;     /**< Element type: f32, of 1x32 blocks ue8m0, of 1x16 blocks
                                 ue4m3; zero means it. Of blocks of 128 along K also
                                 ue8m0. */
    uint32_t block_mn;        /**< Rows of A or D, or columns of B, of a block. */
    uint32_t block_k;         /**< Elements along K, or columns of D, of a block. */
    uint32_t layout;          /**< Of blocks: a ::jit_gemm_scale_layout. */
    uint32_t reserved;        /**< Must be zero. */
} jit_gemm_scale;

/**
 * One matrix of a problem. Frozen: embedded by value.
 *
 * `alignment` promises the bytes that the matrix's address, its rows and its batches are
 * multiples of: 1, 2, 4 or 8, and zero means 16. Less is slower. The lesser of A's and B's
 * holds for both. The lesser of C's and D's holds for C, D, operands and scales. An
 * element's own bytes count where they are more.
 */
typedef struct jit_gemm_matrix {
    jit_gemm_dtype dtype;   /**< Element type. */
    jit_gemm_layout layout; /**< Which dimension runs fastest. */
    uint32_t alignment;     /**< Bytes, as above; of C only where there is a C. */
    uint32_t reserved;      /**< Must be zero. */
    jit_gemm_scale scale;   /**< Must be zero in C. */
} jit_gemm_matrix;

/** Which two columns of B make a column of D, where the epilogue is a gated one: its
 * snippet names `acc0` and `acc1`. */
typedef enum jit_gemm_pair {
    JIT_GEMM_PAIR_INTERLEAVED = 0, /**< Column j of D: columns 2 * j and 2 * j + 1 of B. */
    JIT_GEMM_PAIR_HALVES = 1 /**< Column j of D: columns j and j + N / 2 of B, as where the
                                weights of a gate and of what it scales are stacked. */
} jit_gemm_pair;

/** What stands in the place of a batch: matrices of one size each, or groups, whose rows or
 * parts of K are known on the device only, when a launch runs
 * (::jit_gemm_args.group_sizes). Each group of rows has a B of its own, each group a value
 * of its own of every scalar and row vector.
 * docs/grouped.md has pictures. */
typedef enum jit_gemm_group_by {
    JIT_GEMM_GROUP_NONE = 0, /**< A batch. */
    /** A, C, D, matrix operands, column vectors and scales of rows are stacked: they have M
     * rows, those of all groups one after the other. The number of a group is the row at
     * which it ends; it begins where the one before it ends, the first one at 0. */
    JIT_GEMM_GROUP_BY_OFFSETS = 1,
    /** All matrices lie as those of a batch, with M rows each. The number of a group is how
     * many rows of them, the first ones, it has. */
    JIT_GEMM_GROUP_BY_COUNTS = 2,
    /** A, C, D, matrix operands, column vectors and scales of rows are stacked, M rows in
     * blocks of 128, the last one shorter if M is. A number for each row is the index of
     * its group; only that of a block's first row is read, and is the whole block's. The
     * index of a block of none is no group's, such as -1. */
    JIT_GEMM_GROUP_BY_ROWS = 3,
    /** Groups divide K, as the gradients of weights do: A and B lie one after the other
     * along K, which counts that of all groups; each group has a C and a D of M x N, as a
     * batch has. The number of a group is the element of K at which it ends; it begins
     * where the one before it ends, the first one at 0. The sum of an empty group is 0. A
     * and B are MN-major, or have `alignment` of one element; or they have scales that the
     * tensor core multiplies by, and groups end at multiples of 32, with e2m1 beside 8-bit
     * floats of 128: a number between counts as the multiple below it, unless it is K. */
    JIT_GEMM_GROUP_BY_K_OFFSETS = 4,
    /** Each group has an A, B, C and D of its own, anywhere: their addresses, and if need
     * be their leading dimensions, are in arrays in device memory (::jit_gemm_args.a). M is
     * the most rows that a group may have, and its number how many it has; of dynamic N
     * and K too (::jit_gemm_args.group_ns, group_ks). All else lies as those of a batch,
     * with M rows each. */
    JIT_GEMM_GROUP_BY_POINTERS = 5
} jit_gemm_group_by;

/** With groups of rows, what becomes of rows of D that belong to no group: with offsets
 * those from the last number on, with counts those of each group's D from its number on,
 * with rows the blocks whose index is no group's. */
typedef enum jit_gemm_group_rest {
    JIT_GEMM_GROUP_REST_UNTOUCHED = 0, /**< They are not written. */
    /** The launch makes them 0, whatever the snippet says, without reading anything for
     * them: of D, not of matrices that the epilogue writes besides. With offsets that fall
     * somewhere, rows from the last number on may be a group's too: then they hold either.
     */
    JIT_GEMM_GROUP_REST_ZERO = 1
} jit_gemm_group_rest;

/** With groups by offsets and scales of blocks in the layout 128x4, whose pieces have 128
 * rows of one group: at which row of the scales a group's begin, which has `begin` rows of
 * others before it. */
typedef enum jit_gemm_scale_rows {
    /** (begin / 128 + the group's number) * 128: follows from its own begin. */
    JIT_GEMM_SCALE_ROWS_STACKED = 0,
    /** Where those of the group before end, rounded up to 128: as if each group's rows were
     * a matrix, one after the other without gaps, as PyTorch's scaled_grouped_mm has them.
     */
    JIT_GEMM_SCALE_ROWS_PER_GROUP_PADDED = 1
} jit_gemm_scale_rows;

/** Entries of jit_gemm_problem.typical_sizes. */
#define JIT_GEMM_SIZE_RUNS 16

/** Groups and how many rows they have: in order of size these go evenly from the least to
 * the most. Frozen: embedded by value. */
typedef struct jit_gemm_size_run {
    int64_t groups; /**< How many groups. An entry without any ends the list, and all after
                       it are zero. */
    uint32_t least; /**< Rows of the smallest; may be 0. */
    uint32_t most;  /**< Rows of the largest; `least` where all have as many. */
} jit_gemm_size_run;

/** Which row of a matrix in memory is a row of the product's. */
typedef enum jit_gemm_rows {
    JIT_GEMM_ROWS_IN_ORDER = 0, /**< Row i of the matrix: the same one. */
    /** An index in device memory names it, an int32_t for each row of the product, which
     * the kernel reads when it runs (::jit_gemm_args.d_rows and `a_rows`). The matrix
     * is one for all batches or groups, and has rows of its own number
     * (::jit_gemm_args.d_row_count and `a_row_count`). */
    JIT_GEMM_ROWS_INDEXED = 1
} jit_gemm_rows;
/** What the bits of D do not depend on. */
typedef enum jit_gemm_invariance {
    JIT_GEMM_INVARIANT_NONE = 0, /**< Equal launches of one kernel give equal bits. */
    /** Besides: the bits of a row of D, and of what the epilogue writes for it, follow from
     * that row of A, C and the operands, from B, alpha, beta and scales, and from the
     * problem without M and the batch. They do not depend on M, on where the row lies, on
     * the batch or group or its index, on which other rows there are, on the chosen config,
     * nor on the device, of one architecture and one compiler. Refused is what cannot be
     * so: parts of K, sums of a row by the epilogue, compiled functions, and snippets that
     * name `row`, `batch`, `M` or `uniform`. docs/invariance.md says why it holds. */
    JIT_GEMM_INVARIANT_M = 1
} jit_gemm_invariance;

/** Where products of 8-bit floats are added up. */
typedef enum jit_gemm_accumulate {
    /** On sm_90a, whose tensor core keeps 13 fraction bits of such sums, in f32 registers
     * after each 128 of K: about 1e-4 of the result's norm is lost, whatever K is. */
    JIT_GEMM_ACCUMULATE_EXACT = 0,
    /** In the tensor core alone, as fast accumulation elsewhere: faster on sm_90a, and of
     * the result's norm about 1e-3 is lost with K = 4096, 3e-3 with 16384. On chips whose
     * tensor core keeps more there is nothing to save, and the kernel is that of EXACT. */
    JIT_GEMM_ACCUMULATE_FAST = 1
} jit_gemm_accumulate;

/** Which of A and B nobody writes while launches of the kernel are in a stream. */
typedef enum jit_gemm_weights {
    JIT_GEMM_WEIGHTS_NONE =
        0,                  /**< Neither: both are read when the kernel before has ended. */
    JIT_GEMM_WEIGHTS_A = 1, /**< A may be read while the kernel before still runs. */
    /** B may be, as weights that were there before the first launch: what the kernel before
     * in the stream writes is never read as B. A kernel that begins beside it
     * (`pdl=1`) has its first stages of B when that ends. Who changes weights puts
     * something between both that is no dependent launch: any kernel or copy of the
     * caller's, an event that is waited for, or a synchronisation. */
    JIT_GEMM_WEIGHTS_B = 2
} jit_gemm_weights;

/** Whether a size is compiled into the kernel. */
typedef enum jit_gemm_dim_mode {
    JIT_GEMM_DIM_EXACT = 0,  /**< Compiled in: one kernel per size. */
    JIT_GEMM_DIM_DYNAMIC = 1 /**< An argument; `size` is the typical one to plan for. */
} jit_gemm_dim_mode;

/** One dimension of a problem. Frozen: embedded by value. */
typedef struct jit_gemm_dim {
    int64_t size;     /**< Elements, 1 to 2^31 - 1; dynamic: 0 if it is unknown. */
    int32_t mode;     /**< A ::jit_gemm_dim_mode. */
    int32_t reserved; /**< Must be zero. */
} jit_gemm_dim;

/** The dimensions of a problem. */
typedef enum jit_gemm_dimension {
    JIT_GEMM_DIMENSION_DYNAMIC = 0, /**< The only one that is dynamic. */
    JIT_GEMM_DIMENSION_M = 1,       /**< Rows of A, C and D. */
    JIT_GEMM_DIMENSION_N = 2,       /**< Columns of B, C and D. */
    JIT_GEMM_DIMENSION_K = 3,       /**< Columns of A, rows of B. */
    JIT_GEMM_DIMENSION_BATCH = 4    /**< Number of products. */
} jit_gemm_dimension;

/** For jit_gemm_range.loss: no kernel may be predicted to be slower than another. */
#define JIT_GEMM_LOSS_NONE (-1.0)

/**
 * The sizes that a dynamic dimension takes. No kernel is the best for all of them: a few
 * kernels share them, in bands (family.h).
 *
 * Text form: `m=1..8192 loss=5%`, the loss with up to two decimals, or left out.
 */
typedef struct jit_gemm_range {
    size_t struct_size;           /**< sizeof(jit_gemm_range), set by the caller. */
    jit_gemm_dimension dimension; /**< Which one; it is dynamic in the problem. */
    int32_t reserved;             /**< Must be zero. */
    int64_t first;                /**< The least size, from 1. */
    int64_t last;                 /**< The greatest size, up to 2^31 - 1. */
    double loss; /**< What a kernel may take more than the best one at a size, as a part of
                    that: 0.05 for 5 %, which 0 means; up to 10. See
                    ::JIT_GEMM_LOSS_NONE. */
} jit_gemm_range;

/**
 * A problem: D = epilogue(alpha * op(A) * op(B) + beta * C, operands).
 *
 * A is M x K, B is K x N, C and D are M x N; there are `batch` of each, or with `group_by`
 * so many groups. With a gated
 * epilogue N is the number of B's columns, which is even, D is M x N / 2, and there is no
 * C. With scales of the tensor or vectors, the product's element (m, n) is also multiplied
 * by those of A's row m and of B's column n: the f32 factors are multiplied first, alpha *
 * (a_scale * b_scale), then the sum by the result. With scales of blocks the sum is made
 * block by block of K, in f32: sum = fma(part, a_scale * b_scale, sum), where `part` is
 * what the tensor core gives for the block; alpha multiplies the whole. A matrix may have
 * scales of blocks beside another without, but not beside one with a scale or a vector.
 *
 * `register_limit` and `no_local_memory` are a budget: they change neither the machine code
 * nor the choice. The finished kernel is compared with them, whether it was compiled, read
 * from the disk cache or is loaded already. One that needs more stays there for those who
 * allow it. A kernel of PTX has no registers yet: where the device takes PTX, as the
 * emulator, a budget is ::JIT_GEMM_ERR_UNSUPPORTED.
 */
typedef struct jit_gemm_problem {
    size_t struct_size; /**< sizeof(jit_gemm_problem), set by the caller. */
    jit_gemm_dim m;     /**< Rows of A, C and D. */
    jit_gemm_dim n;     /**< Columns of B, C and D. */
    jit_gemm_dim k;     /**< Columns of A, rows of B. */
    jit_gemm_dim batch; /**< Number of products; all zero means one. */
    jit_gemm_matrix a;  /**< Of bf16, f16, tf32, e4m3, e5m2 or s8, or e2m1 with scales of
                           1x32 or 1x16 blocks, K-major, K a multiple of 32. */
    jit_gemm_matrix b;  /**< Of A's type, which zero means; e4m3 and e5m2 mix, and both with
                           e2m1 where A and B have scales of 1x32 and K is a multiple of
                           128. */
    jit_gemm_matrix
        c;             /**< Of bf16, f16, f32, e4m3, e5m2, s8 or s32; dtype zero means
                          that there is no C. Its layout is D's, or zero, which means D's. */
    jit_gemm_matrix d; /**< Of the same types as C, or e2m1 with scales of 1x32 or 1x16
                          blocks; dtype zero means A's, where A is tf32 f32, where A is s8
                          s32. Matrix operands are laid out as D. */
    char epilogue[JIT_GEMM_NAME_SIZE]; /**< A registered epilogue, or one of the library's
                                            own; empty means D = acc. */
    char config[JIT_GEMM_CONFIG_SIZE]; /**< Overrides the choice; empty means choose. */
    uint64_t workspace_limit; /**< Most bytes of workspace that the choice may ask for, to
                                 split K, to copy unaligned A and B, and for maps of
                                 groups by pointers; 0: only where `config` says so, and
                                 on sm_90a K in clusters, which need none. What
                                 reductions need comes on top: it is not limited, nor what
                                 scales need that are packed first, nor maps beside scales
                                 of the tensor core, which have no other way. */
    jit_gemm_pair pair;       /**< Of a gated epilogue; must be zero without one. */
    jit_gemm_invariance invariant; /**< What the bits of D do not depend on. */
    uint32_t register_limit; /**< Most registers a thread at launch, up to 255; 0: any. It
                                is compared with ::jit_gemm_info.registers: a kernel with
                                more is ::JIT_GEMM_ERR_BUDGET. What warps of sm_90a
                                give to each other after the launch is not counted. */
    int32_t no_local_memory; /**< Not 0: a kernel with local memory, as spills need it, is
                                ::JIT_GEMM_ERR_BUDGET (::jit_gemm_info.spill_bytes). */
    jit_gemm_group_by group_by;     /**< With groups, `batch` is their number: exact, up to
                                       4096. With groups of rows D is row-major, and rows of no
                                       group are not read for D; with offsets A is K-major. By
                                       pointers threads load A and B and store D. */
    jit_gemm_group_rest group_rest; /**< Of rows of no group; must be zero without groups of
                                       rows, and where rows share a scale of D. */
    jit_gemm_rows
        d_rows; /**< Of D. With an index, D's row index[i] is row i of the product;
                   a row whose index is no row's of D, such as -1, is dropped, and
                   rows of D that no index names stay untouched. If two name the
                   same row, it becomes either, or parts of both. Scales of D that
                   are computed lie as its rows do. All else goes by the product's
                   rows: C, operands, what epilogues write besides D. D is row-major,
                   without scales that rows share; not with
                   ::JIT_GEMM_GROUP_REST_ZERO. docs/grouped.md has a picture. */
    jit_gemm_rows a_rows; /**< Of A. With an index, row i of the product is made of A's row
                             index[i]; where that is no row of A's, such as -1, of zeros.
                             Scales of A's rows and their blocks lie as A's rows do; all
                             else goes by the product's rows. A is K-major, without scales
                             that rows share; not with groups along K. */
    jit_gemm_accumulate accumulate; /**< Of A of e4m3 or e5m2 without scales of blocks;
                                       must be zero for all else. */
    jit_gemm_scale_rows scale_rows; /**< Of A's scales and D's, where they lie in 128x4;
                                       must be zero without such scales, and without groups
                                       by offsets. Those of an A whose rows an index names
                                       have no groups. */
    jit_gemm_weights weights; /**< Which of A and B is constant. A kernel need not make use
                                 of it: groups, rows by an index and what threads load or
                                 a kernel before copies are read as without it. */
    /** With groups of rows, what a launch's groups are like, to plan for: all of them, in
     * any order; zero where it is not known, and then they are taken to have about the
     * same. They decide nothing but the choice: launches may have any sizes, and the same
     * config is the same kernel. See jit_gemm_problem_set_typical_sizes. */
    jit_gemm_size_run typical_sizes[JIT_GEMM_SIZE_RUNS];
} jit_gemm_problem;

#ifdef __cplusplus
}
#endif

#endif
