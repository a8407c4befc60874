/* SPDX-License-Identifier: MIT */
/**
 * @file launch.h
 * @brief The kernel of a problem, what is known of it, and what one launch gives to it. No
 * functions.
 */
#ifndef JIT_GEMM_LAUNCH_H
#define JIT_GEMM_LAUNCH_H

#include "jit_gemm/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jit_gemm jit_gemm;                   /**< Opaque: one loaded kernel. */
typedef struct jit_gemm_artifact jit_gemm_artifact; /**< Opaque: bytes made by a build. */

/** Batch stride that says: every batch index uses the same data. Only for inputs. */
#define JIT_GEMM_STRIDE_BROADCAST ((int64_t)-1)

/** A dynamic size of none: 0 would also be what a forgotten size is, and is refused. */
#define JIT_GEMM_SIZE_EMPTY ((int64_t)-1)

/**
 * The run-time side of one matrix, vector or scalar. Frozen: used in arrays. A scalar that
 * is written (a reduction) has a pointer, and a batch stride of at least 1.
 *
 * `ld` and `batch_stride` count elements; those of e2m1 are even. A field that the argument
 * has no use for must be zero: `ld` of vectors and scalars (scales of blocks of f32 have
 * one), `value` of what is no scalar operand, `batch_stride` of a scalar given by value.
 * All of an argument must be zero if the problem has no such matrix or scale. `reserved`
 * must be zero in every argument of every launch, also where the launch reads nothing of
 * it.
 */
typedef struct jit_gemm_arg {
    uint64_t pointer;     /**< Device address, borrowed until the kernel has ended; 0 lets a
                             scalar operand take `value`. */
    int64_t ld;           /**< Elements between stored rows; 0 means packed. */
    int64_t batch_stride; /**< Elements between batches; 0 means packed; or BROADCAST. */
    float value;          /**< A scalar given by value, unused if there is a pointer. */
    uint32_t reserved;    /**< Must be zero. */
} jit_gemm_arg;

/** The arguments of one launch. Host memory is read during the call only. */
typedef struct jit_gemm_args {
    size_t struct_size; /**< sizeof(jit_gemm_args), set by the caller. */
    jit_gemm_arg a;     /**< A. With ::JIT_GEMM_GROUP_BY_POINTERS `pointer` of A, B, C and D
                           is that of an array in device memory, one uint64_t per group: the
                           device address of the group's matrix, as aligned as the problem
                           promises. All have this `ld`, unless there is an array of them
                           (`a_lds`); there is no `batch_stride`. Arrays and matrices are
                           borrowed until the kernel has ended, which reads the arrays when
                           it runs. Of a group without rows nothing is read. */
    jit_gemm_arg b;     /**< B. */
    jit_gemm_arg c;     /**< C. Its pointer may be 0 if beta is 0 on the host: C is not read
                           then, and its `ld` and `batch_stride` are not looked at. With a
                           pointer they are checked, whatever beta is. */
    jit_gemm_arg d;     /**< D; it has no BROADCAST. Without an index of its rows it may be
                           the memory of C, or of a matrix operand that is read, with the
                           same type, `ld` and `batch_stride`; no other overlap. */
    jit_gemm_arg a_scale; /**< Scales of A: one f32, or M of them; or those of R = M /
                             block_mn rows of KB = K / block_k blocks, both rounded up.
                             Of f32, in layout row, `ld` counts from one row to the next (0:
                             KB), in column from one block of K to the next (0: R rounded up
                             to 4); scales of one byte have no `ld`. Not read where K is 0.
                             In 128x4, of groups by offsets, in bands; with groups along K
                             each group's begin at a block of their own, and KB is
                             greater: docs/grouped.md. */
    jit_gemm_arg b_scale; /**< Scales of B: the same, with N for M. */
    const jit_gemm_arg *operands; /**< One entry per operand, in declared order. */
    size_t operand_count;         /**< Entries of `operands`; must match the epilogue. */
    int64_t m; /**< Dynamic M: the size of this launch, or ::JIT_GEMM_SIZE_EMPTY. Exact M:
                  0, or the compiled size. */
    int64_t n; /**< As `m`, for N. */
    int64_t k; /**< As `m`, for K. */
    int64_t batch;      /**< As `m`, for the batch count. */
    const float *alpha; /**< Host address of alpha, read during the call; NULL means 1. */
    const float
        *beta; /**< Host address of beta, read during the call; NULL means 1 (with a C). */
    uint64_t alpha_device; /**< Device address of a float alpha; used instead of `alpha` if
                              not 0. */
    uint64_t beta_device;  /**< As `alpha_device`, for `beta`. */
    /** Device address of memory that the kernel may write, a multiple of 128; needed if the
     * info's `workspace_bytes` is not 0, and unused otherwise. Its bytes must be zero
     * before the first launch that gets it. Every launch leaves it fit for the next one of
     * the same stream, of any kernel. Launches that may run at the same time need one each:
     * of those that meet in one, most end in the trap below, but nothing promises that. A
     * kernel that finds something else in a word that it counts in traps: the launch fails
     * as the driver has it, CUDA_ERROR_LAUNCH_FAILED when the stream is waited for, and
     * debug=1 in the config says what was there. */
    uint64_t workspace;
    uint64_t workspace_bytes; /**< Bytes of `workspace`; 0 means the info's
                                 `workspace_bytes`. A launch of dynamic sizes beyond the
                                 planned ones may need more, and says how many. */
    jit_gemm_arg d_scale; /**< Scales of D, written: R = M rows of KB = ceil(D's columns /
                             block_k) of them. A batch takes R * KB elements in layout row,
                             KB * (R rounded up to 4) in column, ceil(R / 128) * ceil(KB /
                             4) * 512 in 128x4, ceil(R / 8) * ceil(KB / 4) * 32 in 8x4,
                             ceil(KB / 4) * (R rounded up to 4) * 4 in mn_k4; its stride
                             is that if it is 0. It has no `ld`. docs/scales.md says what
                             lies where. */
    uint64_t group_sizes; /**< Device address of an int32_t per group, or with
                             ::JIT_GEMM_GROUP_BY_ROWS per row, which the kernel reads when
                             it runs: what the problem's `group_by` says. Sizes and offsets
                             below 0 or above M (or K) count as 0 or M, and a group that
                             ends before it begins is empty. Must be 0 without groups;
                             with ::JIT_GEMM_GROUP_BY_POINTERS 0 gives each M rows. */
    jit_gemm_arg
        d_rows; /**< With ::JIT_GEMM_ROWS_INDEXED in the problem's `d_rows`: for each
                   row of the product the row of D, an int32_t, which the kernel
                   reads when it runs; M of them, of a batch and of groups by counts
                   M for each (a stride of 0: one after the other). Below 0, or not
                   below D's rows: the row is dropped. D has no batch stride then,
                   and overlaps nothing that is read. All zero without. */
    int64_t d_row_count; /**< With an index, the rows that D has, up to 2^31 - 1; 0: as many
                            as the index has entries. Must be 0 without. */
    jit_gemm_arg
        a_rows; /**< With ::JIT_GEMM_ROWS_INDEXED in the problem's `a_rows`: the same
                   for rows of A. Below 0, or not below A's rows: zeros are read in
                   that row's place. A has no batch stride then, nor have scales of
                   its rows, of which there are as many. All zero without. */
    int64_t a_row_count; /**< With an index, the rows that A has, up to 2^31 - 1; 0: as many
                            as the index has entries. Must be 0 without. */
    uint64_t a_lds; /**< With ::JIT_GEMM_GROUP_BY_POINTERS, device address of an int64_t per
                       group, the `ld` of its A in elements, which the kernel reads when it
                       runs and does not check; `ld` must be 0 then. 0: all have `ld`. Must
                       be 0 without. */
    uint64_t b_lds; /**< The same of B. */
    uint64_t c_lds; /**< The same of C. */
    uint64_t d_lds; /**< The same of D. */
    uint64_t group_ns; /**< With ::JIT_GEMM_GROUP_BY_POINTERS and a dynamic N, device
                          address of an int32_t per group, its N, which the kernel reads
                          when it runs: below 0 it counts as 0, above `n` as `n`. Nothing is
                          read or written beyond a group's columns. 0: all have `n`; must be
                          0 without. Not with reductions, pairs of columns, computed scales
                          of D or scales of blocks. */
    uint64_t group_ks; /**< The same of K, where that is dynamic; a group without any gets
                          epilogue(beta * C). Not with scales of blocks. */
    const int32_t
        *host_group_sizes;   /**< Host address of the numbers of the groups, where the host
                                knows them: what `group_sizes` would have, read during the
                                call. They go with the launch, `group_sizes` is not read and
                                may be 0, and the grid has no more than these groups take. A
                                captured launch keeps them. Unlike those on the device they
                                are checked: none below 0 or above M (or K), offsets that do
                                not fall. NULL: only the device knows them; must be NULL
                                without groups, with ::JIT_GEMM_GROUP_BY_ROWS, and where the
                                info's `host_groups` is 0. */
    size_t host_group_count; /**< Entries of `host_group_sizes`: as many as groups; 0
                                without. */
} jit_gemm_args;

/** What ::jit_gemm_build produces. */
typedef enum jit_gemm_emit {
    JIT_GEMM_EMIT_CUBIN = 0, /**< Machine code, an ELF file. */
    JIT_GEMM_EMIT_PTX = 1,   /**< PTX text. */
    JIT_GEMM_EMIT_SOURCE = 2 /**< The generated CUDA source unit. */
} jit_gemm_emit;

/** Where a kernel came from. */
typedef enum jit_gemm_origin {
    JIT_GEMM_ORIGIN_COMPILED = 0, /**< This call compiled it. */
    JIT_GEMM_ORIGIN_DISK = 1,     /**< The disk cache had it: its own folder or a root. */
    JIT_GEMM_ORIGIN_MEMORY = 2,   /**< The context had it loaded, or another thread of the
                                     process was just compiling it. */
    JIT_GEMM_ORIGIN_BUNDLE = 3    /**< A bundle among the roots had it. */
} jit_gemm_origin;

/** Bytes of `recipe` in ::jit_gemm_info. */
#define JIT_GEMM_RECIPE_SIZE 128

/** What is known of a created or built kernel. */
typedef struct jit_gemm_info {
    size_t struct_size;     /**< sizeof(jit_gemm_info), set by the caller. */
    jit_gemm_origin origin; /**< Where this handle's kernel came from. */
    uint32_t registers;   /**< Registers per thread at launch; 0 if the device takes PTX. */
    uint32_t spill_bytes; /**< Bytes of local memory per thread; 0 means no spills, or
                             that the device takes PTX. */
    uint32_t smem_bytes;  /**< Bytes of shared memory per CTA. */
    uint32_t threads;     /**< Threads per CTA. */
    uint32_t grid_ctas;   /**< CTAs of the launch at the planned size. */
    double compile_ms;    /**< Time in the compiler; 0 unless this call compiled. */
    double load_ms;       /**< Time in the driver's load; 0 if taken from memory. */
    char arch[16];        /**< Architecture of the machine code, `sm_90a`. */
    char key[33];         /**< Cache key, 32 lower-case hexadecimal digits. */
    char entry[JIT_GEMM_NAME_SIZE];    /**< Name of the kernel in profilers. */
    char config[JIT_GEMM_CONFIG_SIZE]; /**< The config in the form that `config` takes. */
    uint64_t workspace_bytes; /**< Bytes of device memory that a launch of the planned size
                                 needs as its workspace, to split K, for reductions, for
                                 copies of A and B or for packed scales; 0 means none. */
    uint32_t
        tmem_columns; /**< Columns of tensor memory per CTA; 0 where a chip has none. */
    uint32_t sum_fraction_bits; /**< Fraction bits that sums of products keep: 23 as an
                                   f32, or less where the tensor core keeps less; 52 in the
                                   reference kernel; 0: the sums are exact integers. */
    uint32_t is_gated; /**< 1 if the epilogue takes two accumulators, so that D has N / 2
                            columns; else 0. */
    uint32_t launches; /**< Kernels that a run launches: 1, or 2 where scales are packed
                          first (docs/scales.md), maps of groups are written
                          (docs/grouped.md), or A or B may have to be copied. A run
                          whose A and B TMA takes copies nothing and launches 1. */
    jit_gemm_invariance invariant;  /**< What the bits of D do not depend on, as the problem
                                       asks: with ::JIT_GEMM_INVARIANT_NONE K may be split
                                       by M, and products and sums are fused where the
                                       compiler likes to. */
    jit_gemm_accumulate accumulate; /**< How sums of 8-bit floats are made, where
                                       `sum_fraction_bits` is 13: with
                                       ::JIT_GEMM_ACCUMULATE_EXACT of 128 of K each, added
                                       up in f32, else of all K. Zero for all else. */
    char recipe[JIT_GEMM_RECIPE_SIZE]; /**< FILE:LINE of the recipe that chose the config
                                          (recipe.h), a long name without its begin; empty
                                          where none did. */
    uint32_t cache_root; /**< Number of the read-only cache root that had the kernel, from 1
                            as ::jit_gemm_context_describe lists them; 0: none had it. */
    uint32_t host_groups; /**< Groups whose numbers may come from the host
                             (::jit_gemm_args.host_group_sizes): all of the problem's, or 0
                             where the kernel does not take them. */
} jit_gemm_info;

#ifdef __cplusplus
}
#endif

#endif
