/* SPDX-License-Identifier: MIT */
/*
 * Tiled TMA copies: the image of a box in shared memory for each swizzle, type, edge and
 * rank, its stores and reductions, and multicast. That phase 0 completes shows the number
 * of bytes that a load reports: it is the last word of an output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "elements.h"
#include "kernel.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define GUARD_BYTES  128

#define U8       CU_TENSOR_MAP_DATA_TYPE_UINT8
#define U16      CU_TENSOR_MAP_DATA_TYPE_UINT16
#define U32      CU_TENSOR_MAP_DATA_TYPE_UINT32
#define S32      CU_TENSOR_MAP_DATA_TYPE_INT32
#define U64      CU_TENSOR_MAP_DATA_TYPE_UINT64
#define S64      CU_TENSOR_MAP_DATA_TYPE_INT64
#define F16      CU_TENSOR_MAP_DATA_TYPE_FLOAT16
#define F32      CU_TENSOR_MAP_DATA_TYPE_FLOAT32
#define F64      CU_TENSOR_MAP_DATA_TYPE_FLOAT64
#define BF16     CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
#define F32_FTZ  CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ
#define TF32     CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
#define TF32_FTZ CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ

static const struct type {
    const char *name;
    unsigned type, bytes;
    enum gold_format_id format; /* of its values; of 64-bit types and u16: of their parts */
} types[] = {
    [U8] = {"u8", U8, 1, GOLD_FORMAT_U8},
    [U16] = {"u16", U16, 2, GOLD_FORMAT_U8},
    [U32] = {"u32", U32, 4, GOLD_FORMAT_S32},
    [S32] = {"s32", S32, 4, GOLD_FORMAT_S32},
    [U64] = {"u64", U64, 8, GOLD_FORMAT_S32},
    [S64] = {"s64", S64, 8, GOLD_FORMAT_S32},
    [F16] = {"f16", F16, 2, GOLD_FORMAT_F16},
    [F32] = {"f32", F32, 4, GOLD_FORMAT_F32},
    [F64] = {"f64", F64, 8, GOLD_FORMAT_S32},
    [BF16] = {"bf16", BF16, 2, GOLD_FORMAT_BF16},
    [F32_FTZ] = {"f32_ftz", F32_FTZ, 4, GOLD_FORMAT_F32},
    [TF32] = {"tf32", TF32, 4, GOLD_FORMAT_F32},
    [TF32_FTZ] = {"tf32_ftz", TF32_FTZ, 4, GOLD_FORMAT_F32},
};

/* dims of a dense tensor; `pad` bytes are added to the rows. strides 0 stand for 1. A box
 * must begin at a multiple of 16 bytes in dimension 0, before the tensor too: an H200 stops
 * with an illegal instruction otherwise. */
struct box {
    const char *name;
    unsigned type, swizzle, fill, rank;
    unsigned dims[5], box[5], strides[5];
    int at[5];
    unsigned offset; /* of the image in shared memory */
    unsigned pad;
};

static const struct box loads[] = {
    /* boxes narrower than the swizzle */
    {"narrow.128.of_64", U8, 3, 0, 2, {256, 40}, {64, 16}, {0}, {32, 3}, 0, 0},
    {"narrow.128.of_32", U16, 3, 0, 2, {256, 40}, {16, 16}, {0}, {8, 3}, 0, 0},
    {"narrow.128.of_48", U16, 3, 0, 2, {256, 40}, {24, 16}, {0}, {8, 3}, 0, 0},
    {"narrow.64.of_32", U32, 2, 0, 2, {64, 40}, {8, 16}, {0}, {4, 3}, 0, 0},
    {"narrow.32.of_16", U32, 1, 0, 2, {64, 40}, {4, 16}, {0}, {4, 3}, 0, 0},
    {"narrow.128.three_dims", BF16, 3, 0, 3, {64, 6, 5}, {32, 4, 3}, {0}, {16, 1, 3}, 0, 0},
    {"three_dims.128", BF16, 3, 0, 3, {64, 6, 5}, {64, 4, 3}, {0}, {0, 1, 1}, 0, 0},
    /* edges */
    {"edge.high", U16, 0, 0, 2, {24, 10}, {16, 8}, {0}, {16, 6}, 0, 0},
    {"edge.low", U16, 0, 0, 2, {24, 10}, {16, 8}, {0}, {-8, -2}, 0, 0},
    {"edge.bytes", U8, 0, 0, 2, {48, 10}, {32, 8}, {0}, {-16, 5}, 0, 0},
    {"edge.both", U32, 0, 0, 2, {12, 5}, {20, 8}, {0}, {-4, -1}, 0, 0},
    {"edge.outside", U32, 0, 0, 2, {12, 5}, {16, 8}, {0}, {12, 0}, 0, 0},
    {"edge.far_outside",
     U32,
     0,
     0,
     2,
     {12, 5},
     {16, 8},
     {0},
     {2000000000, -2000000000},
     0,
     0},
    {"edge.128", BF16, 3, 0, 2, {72, 10}, {64, 8}, {0}, {32, 5}, 0, 0},
    {"edge.64.low", BF16, 2, 0, 2, {72, 10}, {32, 16}, {0}, {-8, -3}, 0, 0},
    {"edge.dim_not_multiple", U16, 0, 0, 2, {19, 7}, {32, 8}, {0}, {0, 0}, 0, 10},
    /* dimension 0 ends inside of 16 bytes, and rows have a gap behind it */
    {"tail.u8", U8, 0, 0, 2, {35, 4}, {64, 4}, {0}, {0, 0}, 0, 61},
    {"tail.u32", U32, 0, 0, 2, {9, 4}, {16, 4}, {0}, {4, 0}, 0, 60},
    {"tail.128", BF16, 3, 0, 2, {35, 4}, {64, 4}, {0}, {0, 0}, 0, 58},
    {"tail.nan", F16, 0, 1, 2, {19, 4}, {48, 4}, {0}, {0, 0}, 0, 58},
    /* the fill that is NaN */
    {"nan.f16", F16, 0, 1, 2, {24, 10}, {16, 8}, {0}, {16, 6}, 0, 0},
    {"nan.bf16", BF16, 0, 1, 2, {24, 10}, {16, 8}, {0}, {16, 6}, 0, 0},
    {"nan.f32", F32, 0, 1, 2, {12, 10}, {16, 8}, {0}, {-4, 6}, 0, 0},
    {"nan.f64", F64, 0, 1, 2, {12, 10}, {16, 8}, {0}, {-2, 6}, 0, 0},
    {"nan.tf32", TF32, 0, 1, 2, {12, 10}, {16, 8}, {0}, {-4, 6}, 0, 0},
    {"nan.f32_ftz", F32_FTZ, 0, 1, 2, {12, 10}, {16, 8}, {0}, {-4, 6}, 0, 0},
    {"nan.bf16.128", BF16, 3, 1, 2, {72, 10}, {64, 8}, {0}, {32, 5}, 0, 0},
    /* element strides */
    {"stride.2", U16, 0, 0, 2, {32, 20}, {16, 8}, {1, 2}, {8, 3}, 0, 0},
    {"stride.3", U16, 0, 0, 2, {32, 20}, {16, 8}, {1, 3}, {8, 3}, 0, 0},
    {"stride.2.edge", U16, 0, 0, 2, {32, 20}, {16, 8}, {1, 2}, {24, 15}, 0, 0},
    {"stride.3.low", U16, 0, 0, 2, {32, 20}, {16, 12}, {1, 3}, {-8, -4}, 0, 0},
    {"stride.first", U16, 0, 0, 2, {32, 20}, {16, 8}, {2, 1}, {8, 3}, 0, 0},
    {"stride.third", U32, 0, 0, 3, {8, 6, 12}, {8, 3, 8}, {1, 2, 4}, {0, 1, 2}, 0, 0},
    {"stride.128", BF16, 3, 0, 2, {64, 40}, {64, 32}, {1, 2}, {0, 3}, 0, 0},
    /* ranks */
    {"rank.1", U32, 0, 0, 1, {100}, {64}, {0}, {12}, 0, 0},
    {"rank.1.edge", U32, 0, 0, 1, {100}, {64}, {0}, {52}, 0, 0},
    {"rank.1.low", U8, 0, 0, 1, {100}, {64}, {0}, {-32}, 0, 0},
    {"rank.3", U16, 0, 0, 3, {16, 6, 5}, {16, 4, 3}, {0}, {0, 1, 2}, 0, 0},
    {"rank.3.edge", U16, 0, 0, 3, {16, 6, 5}, {16, 4, 3}, {0}, {8, 4, 3}, 0, 0},
    {"rank.4", U16, 0, 0, 4, {16, 4, 3, 3}, {8, 2, 2, 2}, {0}, {8, 1, 1, 1}, 0, 0},
    {"rank.4.low", U16, 0, 0, 4, {16, 4, 3, 3}, {16, 4, 2, 2}, {0}, {-8, -1, -1, 2}, 0, 0},
    {"rank.5", U32, 0, 0, 5, {8, 3, 3, 3, 3}, {4, 2, 2, 2, 2}, {0}, {4, 1, 1, 0, 1}, 0, 0},
    {"rank.5.edge",
     U32,
     0,
     0,
     5,
     {8, 3, 3, 3, 3},
     {4, 2, 2, 2, 2},
     {0},
     {4, 2, -1, 2, 2},
     0,
     0},
    /* images that begin inside a swizzle's pattern */
    {"offset.32.128", U16, 1, 0, 2, {64, 40}, {16, 16}, {0}, {0, 0}, 128, 0},
    {"offset.64.128", U16, 2, 0, 2, {64, 40}, {32, 16}, {0}, {0, 0}, 128, 0},
    {"offset.64.384", U16, 2, 0, 2, {64, 40}, {32, 16}, {0}, {0, 0}, 384, 0},
    {"offset.128.128", U16, 3, 0, 2, {64, 40}, {64, 16}, {0}, {0, 0}, 128, 0},
    {"offset.128.640", U16, 3, 0, 2, {64, 40}, {64, 16}, {0}, {0, 0}, 640, 0},
    {"offset.none.128", U16, 0, 0, 2, {64, 40}, {64, 8}, {0}, {0, 0}, 128, 0},
    /* rows with a gap between them; many rows */
    {"pitch", U16, 0, 0, 2, {24, 10}, {24, 8}, {0}, {0, 1}, 0, 48},
    {"rows.256", U8, 0, 0, 2, {16, 300}, {16, 256}, {0}, {0, 20}, 0, 0},
};

static const struct box stores[] = {
    {"store.none", U16, 0, 0, 2, {64, 20}, {32, 16}, {0}, {16, 2}, 0, 0},
    {"store.32", U16, 1, 0, 2, {64, 20}, {16, 16}, {0}, {16, 2}, 0, 0},
    {"store.64", U16, 2, 0, 2, {64, 20}, {32, 16}, {0}, {16, 2}, 0, 0},
    {"store.128", U16, 3, 0, 2, {96, 20}, {64, 16}, {0}, {16, 2}, 0, 0},
    {"store.128.narrow", U16, 3, 0, 2, {96, 20}, {32, 16}, {0}, {16, 2}, 0, 0},
    {"store.128.offset", U16, 3, 0, 2, {64, 20}, {64, 16}, {0}, {0, 2}, 384, 0},
    {"store.edge", U16, 0, 0, 2, {24, 10}, {16, 8}, {0}, {16, 6}, 0, 0},
    {"store.edge.128", BF16, 3, 0, 2, {72, 10}, {64, 8}, {0}, {32, 5}, 0, 0},
    {"store.edge.not_multiple", U16, 0, 0, 2, {19, 7}, {32, 8}, {0}, {0, 0}, 0, 10},
    {"store.tail.u8", U8, 0, 0, 2, {35, 4}, {64, 4}, {0}, {0, 0}, 0, 61},
    {"store.tail.u16", U16, 0, 0, 2, {19, 4}, {48, 4}, {0}, {0, 0}, 0, 58},
    {"store.tail.u32", U32, 0, 0, 2, {9, 4}, {24, 4}, {0}, {0, 0}, 0, 60},
    {"store.tail.u64", U64, 0, 0, 2, {5, 4}, {12, 4}, {0}, {0, 0}, 0, 56},
    {"store.tail.17_bytes", U8, 0, 0, 2, {17, 4}, {64, 4}, {0}, {0, 0}, 0, 79},
    {"store.tail.box", U16, 0, 0, 2, {19, 4}, {16, 4}, {0}, {8, 0}, 0, 58},
    {"store.tail.128", BF16, 3, 0, 2, {35, 4}, {64, 4}, {0}, {0, 0}, 0, 58},
    {"store.tail.rank.3", U16, 0, 0, 3, {19, 3, 3}, {32, 2, 2}, {0}, {0, 2, 1}, 0, 58},
    {"store.64.narrow", U16, 2, 0, 2, {64, 20}, {16, 16}, {0}, {16, 2}, 0, 0},
    {"store.outside", U32, 0, 0, 2, {12, 5}, {16, 8}, {0}, {12, 0}, 0, 0},
    {"store.u8", U8, 0, 0, 2, {48, 10}, {32, 8}, {0}, {16, 1}, 0, 0},
    {"store.u64", U64, 0, 0, 2, {16, 6}, {8, 4}, {0}, {6, 1}, 0, 0},
    {"store.f32_ftz", F32_FTZ, 0, 0, 2, {16, 6}, {8, 4}, {0}, {4, 1}, 0, 0},
    {"store.tf32", TF32, 0, 0, 2, {16, 6}, {8, 4}, {0}, {4, 1}, 0, 0},
    {"store.rank.1", U32, 0, 0, 1, {100}, {64}, {0}, {52}, 0, 0},
    {"store.rank.3", U16, 0, 0, 3, {16, 6, 5}, {16, 4, 3}, {0}, {8, 4, 3}, 0, 0},
    {"store.rank.5",
     U32,
     0,
     0,
     5,
     {8, 3, 3, 3, 3},
     {4, 2, 2, 2, 2},
     {0},
     {4, 2, 1, 2, 2},
     0,
     0},
};

/* What cp.reduce can do with each type. */
static const struct {
    const char *operation;
    unsigned type;
} reductions[] = {
    {"add", U32},  {"add", S32}, {"add", U64},  {"add", F32},  {"add", F16},
    {"add", BF16}, {"min", U32}, {"max", U32},  {"min", S32},  {"max", S32},
    {"min", F16},  {"max", F16}, {"min", BF16}, {"max", BF16}, {"inc", U32},
    {"dec", U32},  {"and", U32}, {"or", U32},   {"xor", U32},
};

/* Reductions whose dimension 0 ends inside of 16 bytes. */
static const struct {
    const char *operation;
    struct box box;
} tails[] = {
    {"add", {"reduce.tail.u32", U32, 0, 0, 2, {9, 4}, {24, 4}, {0}, {0, 0}, 0, 60}},
    {"add", {"reduce.tail.f32", F32, 0, 0, 2, {9, 4}, {24, 4}, {0}, {0, 0}, 0, 60}},
    {"add", {"reduce.tail.f16", F16, 0, 0, 2, {19, 4}, {48, 4}, {0}, {0, 0}, 0, 58}},
    {"max", {"reduce.tail.s32", S32, 0, 0, 2, {9, 4}, {24, 4}, {0}, {0, 0}, 0, 60}},
    {"add", {"reduce.tail.bf16", BF16, 3, 0, 2, {35, 4}, {64, 4}, {0}, {0, 0}, 0, 58}},
};

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned box_stride(const struct box *box, unsigned dim)
{
    return dim == 0 || box->strides[dim] == 0 ? 1 : box->strides[dim];
}

static unsigned image_bytes(const struct box *box)
{
    unsigned bytes = types[box->type].bytes, i;

    for (i = 0; i < box->rank; i++) {
        bytes *= (box->box[i] + box_stride(box, i) - 1) / box_stride(box, i);
    }
    return bytes;
}

/* Room for the image even if a row of the box took a whole row of the swizzle's pattern. */
static unsigned region_bytes(const struct box *box)
{
    unsigned bytes = image_bytes(box), inner = box->box[0] * types[box->type].bytes;
    unsigned width = 16u << box->swizzle;

    if (box->swizzle != 0 && inner < width) {
        bytes = bytes / inner * width;
    }
    return box->offset + bytes + GUARD_BYTES;
}

static unsigned row_bytes(const struct box *box)
{
    return box->dims[0] * types[box->type].bytes + box->pad;
}

static unsigned tensor_bytes(const struct box *box)
{
    unsigned bytes = row_bytes(box), i;

    for (i = 1; i < box->rank; i++) {
        bytes *= box->dims[i];
    }
    return (bytes + 3) / 4 * 4;
}

static struct gold_map map_of(const struct box *box, bool on_output)
{
    struct gold_map map = {0};
    uint64_t stride = row_bytes(box);

    map.type = box->type;
    map.rank = box->rank;
    map.swizzle = box->swizzle;
    map.fill = box->fill;
    map.on_output = on_output;
    for (unsigned i = 0; i < box->rank; i++) {
        map.dims[i] = box->dims[i];
        map.box[i] = box->box[i];
        map.element_strides[i] = box->strides[i] == 0 ? 1 : box->strides[i];
        if (i + 1 < box->rank) {
            map.strides[i] = stride;
            stride *= box->dims[i + 1];
        }
    }
    return map;
}

static void *draw_values(const char *seed, unsigned type, unsigned bytes)
{
    return gold_values_draw(seed, &gold_formats[types[type].format], bytes);
}

/* "{%r0, %r1}" of the coordinates, after the moves that set them. */
static void add_coordinates(struct gold_text *moves, struct gold_text *list,
                            const struct box *box)
{
    for (unsigned i = 0; i < box->rank; i++) {
        gold_text_add(moves, "    mov.b32 %%r%u, %d;\n", i, box->at[i]);
        gold_text_add(list, "%s%%r%u", i == 0 ? "{" : ", ", i);
    }
    gold_text_add(list, "}");
}

static void run_case(struct gold_run *run, const char *name, const struct box *box,
                     struct gold_kernel *kernel, struct gold_case *one)
{
    one->name = name;
    one->ptx = kernel->ptx.text;
    one->grid = one->cluster == 0 ? 1 : one->cluster;
    one->cluster = one->grid;
    one->block = GOLD_THREADS;
    one->map_count = 1;
    one->maps[0] = map_of(box, one->maps[0].on_output);
    one->item_bytes = one->part_bytes = 4;
    one->full_items = least(16, one->items);
    one->block_items = 32;
    gold_case_run(run, one);
    free(kernel->ptx.text);
}

static void run_load(struct gold_run *run, const char *name, const struct box *box)
{
    unsigned bytes = image_bytes(box), region = region_bytes(box);
    struct gold_text moves = {0}, list = {0};
    struct gold_kernel kernel = {{0}, 0};
    struct gold_case one;
    void *values = draw_values(name, box->type, tensor_bytes(box));

    memset(&one, 0, sizeof(one));
    add_coordinates(&moves, &list, box);
    gold_kernel_begin(&kernel, 1, "");
    gold_kernel_fill(&kernel, 0, region);
    gold_kernel_ready(&kernel, false);
    gold_kernel_one(&kernel,
                    "%s    add.u32 %%r8, %%sm, %u;\n"
                    "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%bar], %u;\n"
                    "    cp.async.bulk.tensor.%ud.shared::cluster.global.tile"
                    ".mbarrier::complete_tx::bytes [%%r8], [%%map0, %s], [%%bar];\n",
                    moves.text, box->offset, bytes, box->rank, list.text);
    gold_kernel_wait(&kernel, region, 0);
    gold_kernel_write(&kernel, 0, 0, region, 0);
    gold_kernel_end(&kernel, false);
    one.input = values;
    one.input_bytes = tensor_bytes(box);
    one.items = region / 4 + 1;
    one.shared_bytes = region;
    run_case(run, name, box, &kernel, &one);
    free(moves.text);
    free(list.text);
    free(values);
}

/* `operation`: NULL to store. */
static void run_store(struct gold_run *run, const char *name, const struct box *box,
                      const char *operation)
{
    unsigned bytes = image_bytes(box);
    struct gold_text moves = {0}, list = {0}, opcode = {0};
    struct gold_kernel kernel = {{0}, 0};
    struct gold_case one;
    void *values = draw_values(name, box->type, bytes);
    void *first =
        draw_values(operation == NULL ? "first" : operation, box->type, tensor_bytes(box));

    memset(&one, 0, sizeof(one));
    add_coordinates(&moves, &list, box);
    if (operation == NULL) {
        gold_text_add(&opcode,
                      "cp.async.bulk.tensor.%ud.global.shared::cta.tile.bulk_group",
                      box->rank);
    } else {
        gold_text_add(
            &opcode,
            "cp.reduce.async.bulk.tensor.%ud.global.shared::cta.%s.tile.bulk_group",
            box->rank, operation);
    }
    gold_kernel_begin(&kernel, 1, "");
    gold_kernel_fill(&kernel, 0, region_bytes(box));
    gold_text_add(&kernel.ptx, "    bar.sync 0;\n");
    gold_kernel_read(&kernel, 0, box->offset, bytes);
    gold_kernel_ready(&kernel, false);
    gold_kernel_one(&kernel,
                    "%s    add.u32 %%r8, %%sm, %u;\n    %s [%%map0, %s], [%%r8];\n"
                    "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n",
                    moves.text, box->offset, opcode.text, list.text);
    gold_kernel_end(&kernel, false);
    one.input = values;
    one.input_bytes = bytes;
    one.initial = first;
    one.items = tensor_bytes(box) / 4;
    one.shared_bytes = region_bytes(box);
    one.maps[0].on_output = true;
    run_case(run, name, box, &kernel, &one);
    free(moves.text);
    free(list.text);
    free(opcode.text);
    free(values);
    free(first);
}

/* Two CTAs each load one box for both. */
static void run_multicast(struct gold_run *run, const char *name, const struct box *box,
                          unsigned mask)
{
    unsigned bytes = image_bytes(box), region = 2 * bytes + GUARD_BYTES;
    struct gold_kernel kernel = {{0}, 0};
    struct gold_case one;
    void *values = draw_values(name, box->type, tensor_bytes(box));
    unsigned sets = mask == 3 ? 2 : 1; /* boxes that each CTA receives */

    memset(&one, 0, sizeof(one));
    gold_kernel_begin(&kernel, 1, "");
    gold_kernel_fill(&kernel, 0, region);
    gold_kernel_ready(&kernel, true);
    /* CTA r loads row r * box rows, to its half; mask 1 means the other CTA only. */
    gold_kernel_one(&kernel,
                    "    mad.lo.u32 %%r8, %%rank, %u, %%sm;\n    mov.b32 %%r0, %d;\n"
                    "    mad.lo.s32 %%r1, %%rank, %u, %d;\n"
                    "    xor.b32 %%r2, %%rank, 1;\n    shl.b32 %%r2, 1, %%r2;\n"
                    "    or.b32 %%r2, %%r2, %u;\n    cvt.u16.u32 %%h, %%r2;\n"
                    "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%bar], %u;\n"
                    "    cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                    ".mbarrier::complete_tx::bytes.multicast::cluster"
                    " [%%r8], [%%map0, {%%r0, %%r1}], [%%bar], %%h;\n",
                    bytes, box->at[0], box->box[1], box->at[1], mask == 3 ? 3u : 0u,
                    sets * bytes);
    gold_kernel_wait(&kernel, region, region + 4);
    gold_kernel_write(&kernel, 0, 0, region, region + 4);
    gold_kernel_end(&kernel, true);
    one.input = values;
    one.input_bytes = tensor_bytes(box);
    one.items = 2 * (region / 4 + 1);
    one.row_items = region / 4 + 1;
    one.cluster = 2;
    one.shared_bytes = region;
    run_case(run, name, box, &kernel, &one);
    free(values);
}

void gold_tma_cases(struct gold_run *run)
{
    static const unsigned copied[] = {U8, BF16, F32, F64};
    static const unsigned widths[] = {64, 32, 64, 128};
    struct box box = {NULL, 0, 0, 0, 2, {0}, {0}, {0}, {0}, 0, 0};
    char name[64];

    for (size_t i = 0; i < 16; i++) {
        unsigned swizzle = (unsigned)i / 4, bytes = types[copied[i % 4]].bytes;

        box.type = copied[i % 4];
        box.swizzle = swizzle;
        box.dims[0] = 2 * widths[swizzle] / bytes;
        box.dims[1] = 24;
        box.box[0] = widths[swizzle] / bytes;
        box.box[1] = 16;
        box.at[0] = (int)(16 / bytes);
        box.at[1] = 5;
        snprintf(name, sizeof(name), "swizzle.%u.%s", swizzle == 0 ? 0 : widths[swizzle],
                 types[box.type].name);
        run_load(run, name, &box);
    }
    box = (struct box){NULL, 0, 0, 0, 2, {32, 12}, {16, 8}, {0}, {16, 2}, 0, 0};
    for (size_t i = 0; i < COUNT(types); i++) {
        box.type = types[i].type;
        snprintf(name, sizeof(name), "type.%s", types[i].name);
        run_load(run, name, &box);
    }
    for (size_t i = 0; i < COUNT(loads); i++) {
        run_load(run, loads[i].name, &loads[i]);
    }
    for (size_t i = 0; i < COUNT(stores); i++) {
        run_store(run, stores[i].name, &stores[i], NULL);
    }
    box = (struct box){NULL, 0, 0, 0, 2, {24, 10}, {16, 8}, {0}, {16, 4}, 0, 0};
    for (size_t i = 0; i < COUNT(reductions); i++) {
        box.type = reductions[i].type;
        snprintf(name, sizeof(name), "reduce.%s.%s", reductions[i].operation,
                 types[box.type].name);
        run_store(run, name, &box, reductions[i].operation);
    }
    for (size_t i = 0; i < COUNT(tails); i++) {
        run_store(run, tails[i].box.name, &tails[i].box, tails[i].operation);
    }
    box = (struct box){NULL, BF16, 3, 0, 2, {128, 40}, {64, 8}, {0}, {32, 3}, 0, 0};
    run_multicast(run, "multicast.both", &box, 3);
    run_multicast(run, "multicast.other", &box, 1);
    box.at[1] = 28;
    box.at[0] = 96;
    run_multicast(run, "multicast.edge", &box, 3);
}
