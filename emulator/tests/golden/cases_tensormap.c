/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps that a kernel changes: a copy in shared memory is edited, published to global
 * memory, and used by a load. What differs from the unchanged map shows in the image.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "elements.h"
#include "kernel.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define DATA_AT      256 /* of the tensor in the input; the published map is at 0 */
#define IMAGE_AT     1024
#define COLUMNS      64
#define ROWS         32
#define IMAGE_BYTES  2048

/* The map says: f32, 64 columns of 32 rows, box 32 x 8, no swizzle, at column 40, row 4. */
static const struct {
    const char *name;
    unsigned bytes; /* that the load brings */
    const char *ptx;
} changes[] = {
#define REPLACE(field, width) \
    "tensormap.replace.tile." field ".shared::cta.b1024." width " [%sm], "
    {"unchanged", 1024, ""},
    {"address", 1024, "add.u64 %d0, %in, 512; " REPLACE("global_address", "b64") "%d0;"},
    {"columns", 1024, REPLACE("global_dim", "b32") "0, 45;"},
    {"rows", 1024, REPLACE("global_dim", "b32") "1, 7;"},
    {"stride", 1024, "mov.b64 %d0, 512; " REPLACE("global_stride", "b64") "0, %d0;"},
    {"box", 512, REPLACE("box_dim", "b32") "1, 4;"},
    {"element_stride", 512, REPLACE("element_stride", "b32") "1, 2;"},
    {"swizzle.128", 1024, REPLACE("swizzle_mode", "b32") "3;"},
    {"fill", 1024, REPLACE("global_dim", "b32") "0, 45; " REPLACE("fill_mode", "b32") "1;"},
    {"type.tf32", 1024, REPLACE("elemtype", "b32") "11;"},
    {"type.f32_ftz", 1024, REPLACE("elemtype", "b32") "8;"},
    {"several", 1024,
     "add.u64 %d0, %in, 1280; " REPLACE("global_address", "b64") "%d0; " REPLACE(
         "global_dim",
         "b32") "1, 10; " REPLACE("global_dim",
                                  "b32") "0, 50; "
                                         "mov.b64 %d0, 384; " REPLACE(
                                             "global_stride",
                                             "b64") "0, %d0; " REPLACE("swizzle_mode",
                                                                       "b32") "3;"},
#undef REPLACE
};

static void build_kernel(struct gold_kernel *kernel, unsigned bytes, const char *change)
{
    gold_kernel_begin(kernel, 1, "");
    gold_kernel_fill(kernel, IMAGE_AT, IMAGE_BYTES);
    gold_kernel_ready(kernel, false);
    /* Warp 0: a word per lane of the map that came as a parameter. */
    gold_text_add(&kernel->ptx,
                  "    setp.ge.u32 %%p0, %%lane, 32;\n    @%%p0 bra MEET;\n"
                  "    mad.wide.u32 %%d0, %%lane, 4, %%map0;\n    ld.u32 %%r0, [%%d0];\n"
                  "    mad.lo.u32 %%r1, %%lane, 4, %%sm;\n    st.shared.u32 [%%r1], %%r0;\n"
                  "    bar.warp.sync -1;\n");
    gold_kernel_one(kernel, "    %s\n", change);
    gold_text_add(
        &kernel->ptx,
        "    cvta.to.global.u64 %%d1, %%in;\n"
        "    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release"
        ".gpu.sync.aligned [%%d1], [%%sm], 128;\n");
    gold_kernel_one(
        kernel,
        "    fence.proxy.tensormap::generic.acquire.gpu [%%in], 128;\n"
        "    mov.b32 %%r2, 40;\n    mov.b32 %%r3, 4;\n"
        "    add.u32 %%r4, %%sm, %d;\n"
        "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%bar], %u;\n"
        "    cp.async.bulk.tensor.2d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes [%%r4], [%%in, {%%r2, %%r3}], [%%bar];\n",
        IMAGE_AT, bytes);
    gold_text_add(&kernel->ptx, "MEET:\n    bar.sync 0;\n");
    gold_kernel_wait(kernel, IMAGE_BYTES, 0);
    gold_kernel_write(kernel, IMAGE_AT, 0, IMAGE_BYTES, 0);
    gold_kernel_end(kernel, false);
}

void gold_tensormap_cases(struct gold_run *run)
{
    /* Room for a wider stride than the map's own. */
    size_t tensor_bytes = (size_t)2 * COLUMNS * ROWS * 4;
    uint8_t *input = gold_alloc(DATA_AT + tensor_bytes);
    void *values =
        gold_values_draw("tensormap", &gold_formats[GOLD_FORMAT_F32], tensor_bytes);

    memcpy(input + DATA_AT, values, tensor_bytes);
    for (size_t i = 0; i < COUNT(changes); i++) {
        struct gold_kernel kernel = {{0}, 0};
        struct gold_case one;

        build_kernel(&kernel, changes[i].bytes, changes[i].ptx);
        memset(&one, 0, sizeof(one));
        one.name = changes[i].name;
        one.ptx = kernel.ptx.text;
        one.grid = one.cluster = 1;
        one.block = GOLD_THREADS;
        one.shared_bytes = IMAGE_AT + IMAGE_BYTES;
        one.input = input;
        one.input_bytes = DATA_AT + tensor_bytes;
        one.items = IMAGE_BYTES / 4 + 1;
        one.item_bytes = one.part_bytes = 4;
        one.full_items = 16;
        one.block_items = 32;
        one.map_count = 1;
        one.maps[0] = (struct gold_map){.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                        .rank = 2,
                                        .offset = DATA_AT,
                                        .dims = {COLUMNS, ROWS},
                                        .strides = {COLUMNS * 4u},
                                        .box = {32, 8},
                                        .element_strides = {1, 1}};
        gold_case_run(run, &one);
        free(kernel.ptx.text);
    }
    free(values);
    free(input);
}
