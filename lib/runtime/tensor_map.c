/* SPDX-License-Identifier: MIT */
#include "runtime/tensor_map.h"

#include <stdio.h>
#include <string.h>

#include "plan/scale.h"

_Static_assert(sizeof(CUtensorMap) == sizeof(struct jg_tensor_map),
               "a tensor map is 128 bytes on both sides");

/* A stride that the hardware takes, of a dimension that has none. */
#define JG_ANY_STRIDE_BYTES 128

static CUtensorMapDataType type_of_map(jit_gemm_dtype dtype)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_BF16:
        return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case JIT_GEMM_DTYPE_F16:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case JIT_GEMM_DTYPE_TF32: /* rounded to nearest on its way into shared memory, where
                               * the tensor core would cut off: less error, and no drift */
        return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    case JIT_GEMM_DTYPE_E4M3:
    case JIT_GEMM_DTYPE_E5M2:
    case JIT_GEMM_DTYPE_S8:
    case JIT_GEMM_DTYPE_UE8M0:
    case JIT_GEMM_DTYPE_UE4M3:
        return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case JIT_GEMM_DTYPE_E2M1: /* two in a byte of shared memory too */
        return CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
    case JIT_GEMM_DTYPE_S32:
        return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case JIT_GEMM_DTYPE_F32:
    case JIT_GEMM_DTYPE_NONE:
        break;
    }
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

static jit_gemm_dtype dtype_of_operand(const struct jg_kernel *kernel,
                                       enum jg_map_index operand)
{
    switch (operand) {
    case JG_MAP_A:
        return kernel->choice.product.a.dtype;
    case JG_MAP_B:
        return kernel->choice.product.b.dtype;
    case JG_MAP_C:
        return kernel->problem.c.dtype;
    case JG_MAP_D:
        return kernel->problem.d.dtype;
    case JG_MAP_A_SCALE:
    case JG_MAP_B_SCALE:
        return JIT_GEMM_DTYPE_S32; /* words of four scales */
    default:
        return kernel->operands[operand - JG_MAP_OPERANDS].dtype;
    }
}

/* Is it the input whose elements get a byte each in shared memory? */
static bool is_spread(const struct jg_kernel *kernel, enum jg_map_index operand)
{
    const struct jg_product *product = &kernel->choice.product;
    return (operand == JG_MAP_A && jg_is_spread(&product->a, &product->b)) ||
           (operand == JG_MAP_B && jg_is_spread(&product->b, &product->a));
}

/* What a map is of, and how many rows its box has if fewer than the matrix's. */
struct map_use {
    enum jg_map_index operand;
    int rows; /* 0: all */
};

/* Those of tails follow the operands': two of A, two of B. */
static struct map_use use_of_map(const struct jg_kernel *kernel, int index)
{
    const int tail = index - JG_MAP_OPERANDS - (int)kernel->operand_count;
    if (tail < 0) {
        return (struct map_use){(enum jg_map_index)index, 0};
    }
    return (struct map_use){tail < JG_TAIL_BOXES ? JG_MAP_A : JG_MAP_B,
                            tail % JG_TAIL_BOXES == 0 ? JG_TAIL_ROWS : 1};
}

/* Of C and the epilogue's operands. */
static bool is_written(const struct jg_kernel *kernel, enum jg_map_index operand)
{
    return operand >= JG_MAP_OPERANDS &&
           kernel->operands[operand - JG_MAP_OPERANDS].role != JIT_GEMM_OPERAND_INPUT;
}

bool jg_maps_operand(const struct jg_kernel *kernel, const struct jg_operand *operand)
{
    return operand->role == JIT_GEMM_OPERAND_INPUT ||
           kernel->choice.derived.output.writes_boxes;
}

static struct jg_box box_of_operand(const struct jg_kernel *kernel,
                                    enum jg_map_index operand)
{
    const struct jg_derived *derived = &kernel->choice.derived;
    switch (operand) {
    case JG_MAP_A:
        return derived->a_box;
    case JG_MAP_B:
        return derived->b_box;
    case JG_MAP_D:
        return derived->d_box;
    case JG_MAP_A_SCALE:
        return derived->a_scale_box;
    case JG_MAP_B_SCALE:
        return derived->b_scale_box;
    default:
        return is_written(kernel, operand) ? derived->d_box : derived->matrix_box;
    }
}

/* As the kernel reads them (kernel_src/jg/tile/tile_swizzle.cuh). */
static CUtensorMapSwizzle swizzle_of_box(const struct jg_box *box)
{
    return box->atom == 0          ? CU_TENSOR_MAP_SWIZZLE_NONE
           : box->atom == 32       ? CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B
           : box->row_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
           : box->row_bytes == 64  ? CU_TENSOR_MAP_SWIZZLE_64B
                                   : CU_TENSOR_MAP_SWIZZLE_32B;
}

static jit_gemm_status fail_encode(const struct jg_kernel *kernel, CUresult result,
                                   enum jg_map_index operand, const struct jg_map_key *key)
{
    const char a = kernel->choice.product.a.letter;
    const char b = kernel->choice.product.b.letter;
    const char letters[JG_MAP_OPERANDS] = {a, b, 'c', 'd', a, b};
    const bool is_scale = operand == JG_MAP_A_SCALE || operand == JG_MAP_B_SCALE;
    char name[64];
    if (operand < JG_MAP_OPERANDS) {
        snprintf(name, sizeof(name), "args.%c%s", letters[operand],
                 is_scale ? "_scale" : "");
    } else {
        snprintf(name, sizeof(name), "args.operands[%d]", (int)operand - JG_MAP_OPERANDS);
    }
    char subject[256];
    snprintf(subject, sizeof(subject),
             "%s: tensor map of %u x %u x %u elements at 0x%llx with strides %lld and %lld",
             name, key->batch, key->outer, key->inner, (unsigned long long)key->pointer,
             (long long)key->ld, (long long)key->batch_stride);
    return jg_driver_fail(kernel->device->driver, JIT_GEMM_ERR_UNSUPPORTED, result, subject,
                          "see the limits of pointers and strides in the manual");
}

enum { MAX_DIMS = 4, SCALE_PIECE_WORDS = JG_SCALE_PIECE_BYTES / 4 };

/* What the driver is told of a matrix, innermost dimension first; strides of all but that.
 */
struct map_shape {
    cuuint32_t dims;
    cuuint64_t sizes[MAX_DIMS];
    cuuint64_t strides_bytes[MAX_DIMS - 1];
};

/* Rows by columns by batches. A contiguous or outer size of 0 (K = 0) is encoded as 1: the
 * kernel then loads nothing. */
static struct map_shape shape_matrix(const struct jg_map_key *key, jit_gemm_dtype dtype)
{
    /* A packed matrix without columns has a stride of 0, which the hardware refuses; so is
     * any stride of a dimension that is 1. */
    const uint64_t row_bytes =
        key->ld > 0 ? (uint64_t)jg_bytes_of(dtype, key->ld) : JG_ANY_STRIDE_BYTES;
    const uint64_t batch_bytes = key->batch > 1 && key->batch_stride > 0
                                     ? (uint64_t)jg_bytes_of(dtype, key->batch_stride)
                                     : row_bytes;
    return (struct map_shape){.dims = 3,
                              .sizes = {key->inner > 0 ? key->inner : 1,
                                        key->outer > 0 ? key->outer : 1, key->batch},
                              .strides_bytes = {row_bytes, batch_bytes}};
}

/* The same of the problem's B where its columns come in pairs: which of the two is a
 * dimension of its own, before the batches (jg/tile/input_operand.cuh). */
static struct map_shape shape_gated(const struct jg_problem *problem,
                                    const struct jg_map_key *key)
{
    struct map_shape shape = shape_matrix(key, problem->b.dtype);
    const bool halves = problem->pair == JIT_GEMM_PAIR_HALVES;
    const uint64_t row_bytes = shape.strides_bytes[0];
    const int columns = problem->b.is_mn_major ? 0 : 1; /* their dimension */
    const uint64_t pairs = shape.sizes[columns] / 2;
    const uint64_t column_bytes =
        problem->b.is_mn_major ? (uint64_t)jg_bytes_of(problem->b.dtype, 1) : row_bytes;
    shape.dims = 4;
    shape.sizes[columns] = pairs;
    shape.sizes[3] = shape.sizes[2];
    shape.sizes[2] = 2;
    shape.strides_bytes[2] = shape.strides_bytes[1];
    shape.strides_bytes[1] = halves ? pairs * column_bytes : column_bytes;
    if (!halves) { /* a K-major B */
        shape.strides_bytes[0] = 2 * row_bytes;
    }
    return shape;
}

/* The same of scales in pieces, of words: a piece, those along K, along M or N, batches
 * (jg/sm100a/scale_tiles.cuh). */
static struct map_shape shape_pieces(const struct jg_map_key *key)
{
    const struct map_shape rows = shape_matrix(key, JIT_GEMM_DTYPE_S32);
    return (struct map_shape){.dims = 4,
                              .sizes = {SCALE_PIECE_WORDS,
                                        (rows.sizes[0] - 1) / SCALE_PIECE_WORDS + 1,
                                        rows.sizes[1], rows.sizes[2]},
                              .strides_bytes = {JG_SCALE_PIECE_BYTES, rows.strides_bytes[0],
                                                rows.strides_bytes[1]}};
}

/* Is it an input whose rows an index names, and TMA copies by themselves? */
static bool is_copied_by_rows(const struct jg_kernel *kernel, enum jg_map_index operand)
{
    const struct jg_product *product = &kernel->choice.product;
    return product->has_row_boxes && ((operand == JG_MAP_A && product->a.letter == 'a') ||
                                      (operand == JG_MAP_B && product->b.letter == 'a'));
}

static struct map_shape shape_of(const struct jg_kernel *kernel, enum jg_map_index operand,
                                 const struct jg_map_key *key)
{
    const struct jg_product *product = &kernel->choice.product;
    if (is_copied_by_rows(kernel, operand)) { /* a matrix without batches */
        struct map_shape rows = shape_matrix(key, dtype_of_operand(kernel, operand));
        rows.dims = 2;
        return rows;
    }
    const bool has_pairs = (operand == JG_MAP_A && jg_product_gate_rows(product) > 1) ||
                           (operand == JG_MAP_B && jg_product_gate_columns(product) > 1 &&
                            !jg_problem_has_neighbours(&kernel->problem));
    if (operand == JG_MAP_A_SCALE || operand == JG_MAP_B_SCALE) {
        return shape_pieces(key);
    }
    return has_pairs ? shape_gated(&kernel->problem, key)
                     : shape_matrix(key, dtype_of_operand(kernel, operand));
}

void jg_map_strides(const struct jg_kernel *kernel, enum jg_map_index map,
                    const struct jg_map_key *key, uint64_t ret_strides[JG_MAP_STRIDES])
{
    _Static_assert((int)JG_MAP_STRIDES == (int)MAX_DIMS - 1, "of the most dimensions");
    const struct map_shape shape = shape_of(kernel, map, key);
    for (int i = 0; i < JG_MAP_STRIDES; i++) {
        ret_strides[i] = shape.strides_bytes[i];
    }
}

static void *address_of(const struct jg_map_key *key)
{
    void *address = NULL;
    const uintptr_t bits = (uintptr_t)key->pointer;
    memcpy(&address, &bits, sizeof(address));
    return address;
}

/* UNSUPPORTED if the driver refuses it. */
static jit_gemm_status encode_map(const struct jg_kernel *kernel, int index,
                                  const struct jg_map_key *key,
                                  struct jg_tensor_map *ret_map)
{
    const struct map_use use = use_of_map(kernel, index);
    const enum jg_map_index operand = use.operand;
    const jit_gemm_dtype dtype = dtype_of_operand(kernel, operand);
    const bool is_scale = operand == JG_MAP_A_SCALE || operand == JG_MAP_B_SCALE;
    struct map_shape shape = shape_of(kernel, operand, key);
    struct jg_box box = box_of_operand(kernel, operand);
    if (use.rows > 0) {
        box.rows = use.rows;
    }
    const bool spreads = is_spread(kernel, operand);
    const int element_bits = spreads ? 8 : jg_dtype_bits(dtype);
    const cuuint32_t pieces = (cuuint32_t)box.row_bytes / JG_SCALE_PIECE_BYTES;
    const cuuint32_t matrix_dims[MAX_DIMS] = {8 * (cuuint32_t)box.row_bytes /
                                                  (cuuint32_t)element_bits,
                                              (cuuint32_t)box.rows, 1, 1};
    const cuuint32_t scale_dims[MAX_DIMS] = {SCALE_PIECE_WORDS, pieces,
                                             (cuuint32_t)box.rows, 1};
    const cuuint32_t *box_dims = is_scale ? scale_dims : matrix_dims;
    const cuuint32_t element_strides[MAX_DIMS] = {1, 1, 1, 1};
    if (key->inner == 0 && jg_dtype_bits(dtype) < 8) { /* 1 is no whole byte */
        shape.sizes[0] = box_dims[0];
    }
    CUtensorMap map;
    CUcontext previous = NULL;
    CUresult result = CUDA_SUCCESS;
    do { /* the driver asks for a context, of which it uses nothing */
        result = kernel->device->driver->tensor_map_encode_tiled(
            &map, spreads ? CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B : type_of_map(dtype),
            shape.dims, address_of(key), shape.sizes, shape.strides_bytes, box_dims,
            element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of_box(&box),
            CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    } while (result == CUDA_ERROR_INVALID_CONTEXT &&
             jg_device_adopt(kernel->device, &previous));
    jg_device_leave(kernel->device, previous);
    if (result != CUDA_SUCCESS) {
        return fail_encode(kernel, result, operand, key);
    }
    memcpy(ret_map->bytes, &map, sizeof(ret_map->bytes));
    return JIT_GEMM_OK;
}

static uint32_t count_maps(const struct jg_kernel *kernel)
{
    return JG_MAP_OPERANDS + kernel->operand_count +
           (uint32_t)kernel->choice.derived.tail_maps;
}

uint32_t jg_most_maps(const struct jg_problem *problem)
{
    const uint32_t operands =
        problem->epilogue != NULL ? problem->epilogue->operand_count : 0;
    const bool has_tails = problem->group_by == JIT_GEMM_GROUP_BY_K_OFFSETS;
    return JG_MAP_OPERANDS + operands + (has_tails ? JG_TAIL_MAPS : 0);
}

size_t jg_map_slots_bytes(uint32_t map_count)
{
    return sizeof(struct jg_map_entry) * JG_MAP_SLOTS * JG_MAP_ENTRIES * map_count;
}

void jg_map_slots_init(struct jg_map_slots *slots, uint32_t map_count, void *entries)
{
    struct jg_map_entry *next = entries;
    for (int i = 0; i < JG_MAP_SLOTS; i++) {
        atomic_flag_clear(&slots->slots[i].busy);
        slots->slots[i].entries = next;
        next += (size_t)JG_MAP_ENTRIES * map_count;
    }
}

/* Of matrices that lie alike, wherever they are? */
static bool shapes_equal(const struct jg_map_key *a, const struct jg_map_key *b)
{
    return a->ld == b->ld && a->batch_stride == b->batch_stride && a->inner == b->inner &&
           a->outer == b->outer && a->batch == b->batch;
}

/* A map of a matrix that lies as another one does: the driver takes a quarter of the time
 * to replace its address (20 ns for 90, an H200's host). */
static jit_gemm_status move_map(const struct jg_kernel *kernel, int index,
                                const struct jg_map_key *key,
                                const struct jg_map_entry *entry,
                                struct jg_tensor_map *ret_map)
{
    CUtensorMap map;
    memcpy(&map, entry->bytes, sizeof(map));
    CUcontext previous = NULL;
    CUresult result = CUDA_SUCCESS;
    do { /* as above */
        result = kernel->device->driver->tensor_map_replace_address(&map, address_of(key));
    } while (result == CUDA_ERROR_INVALID_CONTEXT &&
             jg_device_adopt(kernel->device, &previous));
    jg_device_leave(kernel->device, previous);
    if (result != CUDA_SUCCESS) {
        return fail_encode(kernel, result, use_of_map(kernel, index).operand, key);
    }
    memcpy(ret_map->bytes, &map, sizeof(ret_map->bytes));
    return JIT_GEMM_OK;
}

static jit_gemm_status take_from_slot(struct jg_map_slot *slot,
                                      const struct jg_kernel *kernel, int index,
                                      const struct jg_map_key *key,
                                      struct jg_tensor_map *ret_map)
{
    struct jg_map_entry *entries = &slot->entries[JG_MAP_ENTRIES * (size_t)index];
    const struct jg_map_entry *alike = NULL;
    for (unsigned int i = 0; i < JG_MAP_ENTRIES; i++) {
        const struct jg_map_entry *entry = &entries[i];
        if (entry->key.pointer == 0 || !shapes_equal(&entry->key, key)) {
            continue;
        }
        if (entry->key.pointer == key->pointer) {
            memcpy(ret_map->bytes, entry->bytes, sizeof(ret_map->bytes));
            slot->next[index] = (i + 1) % JG_MAP_ENTRIES;
            return JIT_GEMM_OK;
        }
        alike = entry;
    }
    JG_TRY(alike != NULL ? move_map(kernel, index, key, alike, ret_map)
                         : encode_map(kernel, index, key, ret_map));
    struct jg_map_entry *entry = &entries[slot->next[index]];
    slot->next[index] = (slot->next[index] + 1) % JG_MAP_ENTRIES;
    entry->key = *key;
    memcpy(entry->bytes, ret_map->bytes, sizeof(entry->bytes));
    return JIT_GEMM_OK;
}

static struct jg_map_slot *try_to_take_slot(struct jg_map_slots *slots)
{
    for (int i = 0; i < JG_MAP_SLOTS; i++) {
        struct jg_map_slot *slot = &slots->slots[i];
        if (!atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire)) {
            return slot;
        }
    }
    return NULL;
}

jit_gemm_status jg_map_slots_fill(struct jg_map_slots *slots,
                                  const struct jg_kernel *kernel,
                                  const struct jg_map_key keys[JG_MAP_COUNT],
                                  struct jg_kernel_params *params)
{
    const int count = (int)count_maps(kernel);
    struct jg_map_slot *slot = try_to_take_slot(slots);
    jit_gemm_status status = JIT_GEMM_OK;
    for (int i = 0; i < count && status == JIT_GEMM_OK; i++) {
        const struct jg_map_key *key = &keys[use_of_map(kernel, i).operand];
        if (key->pointer == 0) {
            continue;
        }
        struct jg_tensor_map *map = jg_kernel_params_map(params, kernel->operand_count, i);
        status = slot != NULL ? take_from_slot(slot, kernel, i, key, map)
                              : encode_map(kernel, i, key, map);
    }
    if (slot != NULL) {
        atomic_flag_clear_explicit(&slot->busy, memory_order_release);
    }
    return status;
}
