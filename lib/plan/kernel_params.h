/* SPDX-License-Identifier: MIT */
/*
 * The one parameter of every kernel, as the device sees it (jg/common/kernel_params.cuh has
 * the same struct; the source unit carries these sizes and the device asserts them).
 */
#ifndef JG_PLAN_KERNEL_PARAMS_H
#define JG_PLAN_KERNEL_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "jit_gemm/epilogue.h"

struct jg_tensor_map {
    _Alignas(128) unsigned char bytes[128]; /* an opaque CUtensorMap */
};

/* A matrix, a vector or a scalar of a launch. Of a reduction, ld is the byte of the
 * workspace at which its partial results begin, and batch_step its first counter there. */
struct jg_matrix_param {
    uint64_t pointer;     /* device address; 0: a scalar by value, or absent */
    int64_t ld;           /* elements */
    int64_t batch_stride; /* elements; 0 broadcasts */
    float value;          /* of a scalar, used if pointer is 0 */
    uint32_t batch_step;  /* of its tensor map: 1, or 0 if it is broadcast over batches */
};

/* alpha or beta. */
struct jg_scalar_param {
    uint64_t pointer; /* device address of a float, or 0 */
    float value;      /* used if pointer is 0 */
    uint32_t reserved;
};

/* Maps of a launch: first those of the product's matrices, then one for each operand. */
enum jg_map_index {
    JG_MAP_A,
    JG_MAP_B,
    JG_MAP_C,
    JG_MAP_D,
    JG_MAP_A_SCALE, /* scales that the tensor core multiplies by */
    JG_MAP_B_SCALE,
    JG_MAP_OPERANDS, /* plus the operand's index */
    JG_MAP_COUNT = JG_MAP_OPERANDS + JIT_GEMM_MAX_OPERANDS
};

struct jg_kernel_params {
    struct jg_tensor_map maps[JG_MAP_OPERANDS];
    struct jg_matrix_param a, b, c, d, a_scale, b_scale,
        d_scale; /* a, b: as the kernel takes them */
    struct jg_scalar_param alpha, beta;
    uint32_t m, n, k, batch;               /* sizes of this launch, exact ones included */
    uint64_t workspace;                    /* device address; of kernels that need one */
    uint64_t group_sizes;                  /* device address; of kernels that have groups */
    struct jg_matrix_param d_rows, a_rows; /* int32, where an index names D's rows, A's */
    uint32_t d_row_count, a_row_count;     /* then of how many */
    uint64_t group_ns, group_ks; /* as group_sizes, of N and of K; 0: all have n, k */
    uint64_t reserved;
    struct jg_matrix_param operands[JIT_GEMM_MAX_OPERANDS];
    /* Maps of operands follow the last of those that the kernel has, those of tails follow
     * them (jg_kernel_params_map), and the numbers of groups these
     * (jg_kernel_params_numbers). */
    struct jg_tensor_map room[JIT_GEMM_MAX_OPERANDS + 3];
};
_Static_assert(offsetof(struct jg_kernel_params, operands) == 1152,
               "as jg/common/kernel_params.cuh has it");
_Static_assert(sizeof(struct jg_kernel_params) == 4096, "all that a launch takes");

/* What `group_sizes` says where the numbers are among the parameters: no address of an
 * int32. */
#define JG_NUMBERS_IN_PARAMS UINT64_C(1)

/*
 * Maps of a kernel of groups along K: of A, then of B, with boxes of fewer rows of K, with
 * which a group's last block ends (jg/tile/tile_loader.cuh). They lie behind those of the
 * operands, and leave room for fewer.
 */
enum {
    JG_TAIL_BOXES = 2,
    JG_TAIL_MAPS = 2 * JG_TAIL_BOXES,
    JG_TAIL_ROWS = 8,      /* of the first box; the other has one */
    JG_TAIL_OPERANDS = 14, /* most of them beside these maps */
    JG_MOST_MAPS = JG_MAP_COUNT + JG_TAIL_MAPS
};

/* Where the maps of operands begin in the device's struct with this many operands. */
static inline size_t jg_kernel_params_maps_offset(uint32_t operand_count)
{
    const size_t end = offsetof(struct jg_kernel_params, operands) +
                       sizeof(struct jg_matrix_param) * operand_count;
    return (end + sizeof(struct jg_tensor_map) - 1) / sizeof(struct jg_tensor_map) *
           sizeof(struct jg_tensor_map);
}

/* Where the numbers of groups begin in the device's struct. */
static inline size_t jg_kernel_params_numbers_offset(uint32_t operand_count,
                                                     uint32_t tail_maps)
{
    return jg_kernel_params_maps_offset(operand_count) +
           sizeof(struct jg_tensor_map) * (operand_count + tail_maps);
}

/* Bytes of the device's struct with this many operands, maps of tails and numbers. */
static inline size_t jg_kernel_params_bytes(uint32_t operand_count, uint32_t tail_maps,
                                            uint32_t numbers)
{
    const size_t end = jg_kernel_params_numbers_offset(operand_count, tail_maps) +
                       sizeof(int32_t) * numbers;
    return (end + sizeof(struct jg_tensor_map) - 1) / sizeof(struct jg_tensor_map) *
           sizeof(struct jg_tensor_map);
}

static inline int32_t *jg_kernel_params_numbers(struct jg_kernel_params *params,
                                                uint32_t operand_count, uint32_t tail_maps)
{
    unsigned char *begin = (unsigned char *)params;
    return (int32_t *)(void *)(begin +
                               jg_kernel_params_numbers_offset(operand_count, tail_maps));
}

/* Where map `index` lies, for a kernel with this many operands. Those of tails follow the
 * operands'. */
static inline struct jg_tensor_map *jg_kernel_params_map(struct jg_kernel_params *params,
                                                         uint32_t operand_count, int index)
{
    if (index < JG_MAP_OPERANDS) {
        return &params->maps[index];
    }
    unsigned char *begin =
        (unsigned char *)params + jg_kernel_params_maps_offset(operand_count);
    return (struct jg_tensor_map *)(void *)begin + (index - JG_MAP_OPERANDS);
}

#endif
