/* SPDX-License-Identifier: MIT */
#include "test_tensor_support.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <string.h>

/* --------------------------------------------------------------------------- matrices */

void fill_tile(struct tile_image *tile, unsigned seed)
{
    bool is_unsigned = tile->format == EMU_U8;
    for (unsigned i = 0; i < tile->rows * tile->k; i++) {
        uint64_t mixed = emu_mix(seed, i) >> 20;
        tile->values[i] = is_unsigned ? (double)(mixed % 3) : (double)(mixed % 5) - 2.0;
    }
}

static unsigned count_bits(enum emu_format format)
{
    switch (format) {
    case EMU_F32:
    case EMU_TF32:
        return 32;
    case EMU_F16:
    case EMU_BF16:
        return 16;
    case EMU_E2M3:
    case EMU_E3M2:
        return 6;
    case EMU_E2M1:
        return 4;
    default:
        return 8;
    }
}

/* Elements in 16 bytes. */
static unsigned count_elements(const struct tile_image *tile)
{
    unsigned bits = count_bits(tile->format);
    return bits == 4 && tile->packed ? 32 : bits < 8 ? 16 : 128 / bits;
}

/* The 16-byte unit of a line of a swizzled box: line `line` of the pattern's rows. */
static unsigned swizzle_unit(unsigned swizzle, unsigned line, unsigned unit)
{
    switch (swizzle) {
    case 32:
        return unit ^ (line / 4 % 2);
    case 64:
        return unit ^ (line / 2 % 4);
    case 128:
        return unit ^ (line % 8);
    case 132:
        return unit ^ (line % 4 * 2);
    default:
        return unit;
    }
}

/* Byte of the image where the 16 bytes with element (row, k) begin. */
static uint32_t place_unit(const struct tile_image *tile, unsigned row, unsigned k)
{
    unsigned elements = count_elements(tile);
    unsigned swizzle = tile->layout.swizzle;
    unsigned line_bytes = swizzle == 132 ? 128 : swizzle;
    if (!tile->layout.mn_major) {
        unsigned unit = k / elements + tile->skip / 16;
        if (swizzle == 0) { /* columns of 16 bytes, one behind the other */
            return unit * tile->rows * 16 + row * 16;
        }
        return row * line_bytes + swizzle_unit(swizzle, row, unit) * 16;
    }
    unsigned unit = row / elements;
    if (swizzle == 0) { /* for each 16 bytes of rows, all of K */
        return unit * tile->k * 16 + k * 16;
    }
    unsigned units = line_bytes / 16; /* in a line; boxes of a line by all of K */
    return unit / units * tile->k * line_bytes + k * line_bytes +
           swizzle_unit(swizzle, k, unit % units) * 16;
}

static void put_element(const struct tile_image *tile, unsigned row, unsigned k,
                        double value, uint8_t *image)
{
    struct emu_encode nearest = {.rounding = EMU_RN, .saturate_finite = true};
    bool integer = tile->format == EMU_S8 || tile->format == EMU_U8;
    uint32_t bits = integer ? (uint32_t)(int32_t)value & 0xFFu
                            : (uint32_t)emu_encode(tile->format, value, nearest);
    unsigned width = count_bits(tile->format);
    unsigned elements = count_elements(tile);
    unsigned index = (tile->layout.mn_major ? row : k) % elements;
    uint8_t *unit = image + place_unit(tile, row, k);
    for (unsigned i = 0; i < width; i++) {
        unsigned at = index * width + i;
        uint8_t mask = (uint8_t)(1u << at % 8);
        unit[at / 8] =
            (uint8_t)((bits >> i & 1u) != 0 ? unit[at / 8] | mask : unit[at / 8] & ~mask);
    }
}

void put_tile(struct tile_image *tile, uint8_t *image)
{
    unsigned swizzle = tile->layout.swizzle;
    unsigned line_bytes = swizzle == 132 ? 128 : swizzle;
    unsigned elements = count_elements(tile);
    for (unsigned row = 0; row < tile->rows; row++) {
        for (unsigned k = 0; k < tile->k; k++) {
            put_element(tile, row, k, tile->values[row * tile->k + k], image);
        }
    }
    if (!tile->layout.mn_major) {
        tile->leading = swizzle == 0 ? tile->rows * 16u : 16;
        tile->stride = 8 * (swizzle == 0 ? 16 : line_bytes);
        tile->bytes = swizzle == 0
                          ? (tile->k / elements + tile->skip / 16) * tile->rows * 16
                          : tile->rows * line_bytes;
        return;
    }
    unsigned units = (tile->rows + elements - 1) / elements;
    if (swizzle == 0) {
        tile->leading = 8 * 16;
        tile->stride = tile->k * 16u;
        tile->bytes = units * tile->k * 16;
        return;
    }
    unsigned boxes = (units + line_bytes / 16 - 1) / (line_bytes / 16);
    tile->leading = tile->k * line_bytes;
    tile->stride = (swizzle == 132 ? 4 : 8) * line_bytes;
    tile->bytes = boxes * tile->k * line_bytes;
}

double multiply(const struct tile_image *a, const struct tile_image *b, unsigned row,
                unsigned column)
{
    double sum = 0;
    for (unsigned k = 0; k < a->k; k++) {
        sum += a->values[row * a->k + k] * b->values[column * b->k + k];
    }
    return sum;
}

static uint64_t make_offsets(const struct tile_image *tile, uint32_t address)
{
    return (uint64_t)((address + (tile->layout.swizzle == 0
                                      ? tile->skip / 16 * tile->rows * 16
                                      : tile->skip)) >>
                      4) |
           tile->leading >> 4 << 16 | tile->stride >> 4 << 32;
}

uint64_t make_descriptor_sm90(const struct tile_image *tile, uint32_t address)
{
    unsigned swizzle = tile->layout.swizzle;
    uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return make_offsets(tile, address) | mode << 62;
}

uint64_t make_descriptor_sm100(const struct tile_image *tile, uint32_t address)
{
    unsigned swizzle = tile->layout.swizzle;
    uint64_t mode = swizzle == 132   ? 1
                    : swizzle == 128 ? 2
                    : swizzle == 64  ? 4
                    : swizzle == 32  ? 6
                                     : 0;
    return make_offsets(tile, address) | UINT64_C(1) << 46 | mode << 61;
}

/* -------------------------------------------------------------------------------- text */

void begin_kernel(struct emu_text *text, unsigned sm, unsigned threads,
                  uint32_t image_bytes)
{
    emu_text_add(text, ".version 8.8\n.target sm_%ua\n.address_size 64\n", sm);
    emu_text_add(text,
                 ".extern .shared .align 1024 .b8 smem[];\n"
                 ".shared .align 8 .b64 bar[4];\n.shared .align 4 .b32 slot;\n"
                 ".visible .entry kernel(.param .u64 image, .param .u64 out)\n{\n"
                 ".reg .pred %%p<16>;\n.reg .b16 %%h<8>;\n.reg .b32 %%r<700>;\n"
                 ".reg .b64 %%d<32>;\n"
                 "mov.u32 %%r0, %%tid.x;\nshr.u32 %%r1, %%r0, 5;\n"
                 "mov.u32 %%r2, smem;\nld.param.u64 %%d0, [image];\n"
                 "ld.param.u64 %%d1, [out];\n"
                 "mov.u32 %%r10, %%cluster_ctarank;\n"
                 "mul.wide.u32 %%d2, %%r10, %u;\nadd.s64 %%d0, %%d0, %%d2;\n"
                 "shl.b32 %%r11, %%r0, 4;\n",
                 image_bytes);
    emu_text_add(text,
                 "copy:\nsetp.ge.u32 %%p0, %%r11, %u;\n@%%p0 bra copied;\n"
                 "cvt.u64.u32 %%d2, %%r11;\nadd.s64 %%d2, %%d0, %%d2;\n"
                 "ld.global.v4.u32 {%%r12, %%r13, %%r14, %%r15}, [%%d2];\n"
                 "add.u32 %%r16, %%r2, %%r11;\n"
                 "st.shared.v4.u32 [%%r16], {%%r12, %%r13, %%r14, %%r15};\n"
                 "add.u32 %%r11, %%r11, %u;\nbra copy;\ncopied:\n"
                 "fence.proxy.async.shared::cta;\nbar.sync 0;\n",
                 image_bytes, threads * 16);
}

void end_kernel(struct emu_text *text)
{
    emu_text_add(text, "ret;\n}\n");
}

void add_descriptor(struct emu_text *text, unsigned index, uint64_t bits, uint32_t offset)
{
    emu_text_add(text,
                 "add.u32 %%r11, %%r2, %u;\nshr.u32 %%r11, %%r11, 4;\n"
                 "cvt.u64.u32 %%d%u, %%r11;\nadd.s64 %%d%u, %%d%u, 0x%llx;\n",
                 offset, index, index, index, (unsigned long long)bits);
}

void add_tensor_setup(struct emu_text *text, unsigned cta_group, unsigned columns)
{
    emu_text_add(text,
                 "setp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra allocated;\n"
                 "mov.u32 %%r11, slot;\n"
                 "tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [%%r11], %u;\n"
                 "tcgen05.relinquish_alloc_permit.cta_group::%u.sync.aligned;\n"
                 "allocated:\n"
                 "setp.ne.u32 %%p2, %%r0, 0;\n@%%p2 bra made;\n"
                 "mbarrier.init.shared::cta.b64 [bar], 1;\n"
                 "mbarrier.init.shared::cta.b64 [bar+8], 1;\n"
                 "mbarrier.init.shared::cta.b64 [bar+16], 1;\n"
                 "fence.mbarrier_init.release.cluster;\nmade:\n",
                 cta_group, columns, cta_group);
    emu_text_add(text, "bar.sync 0;\n");
    if (cta_group == 2) {
        emu_text_add(text, "barrier.cluster.arrive.aligned;\n"
                           "barrier.cluster.wait.aligned;\n");
    }
    emu_text_add(text, "ld.shared.u32 %%r3, [slot];\n");
}

void add_tensor_teardown(struct emu_text *text, unsigned cta_group, unsigned columns)
{
    emu_text_add(text, "bar.sync 0;\n");
    if (cta_group == 2) {
        emu_text_add(text, "barrier.cluster.arrive.aligned;\n"
                           "barrier.cluster.wait.aligned;\n");
    }
    emu_text_add(text,
                 "@%%p1 bra freed;\n"
                 "tcgen05.dealloc.cta_group::%u.sync.aligned.b32 %%r3, %u;\nfreed:\n",
                 cta_group, columns);
}

void add_single(struct emu_text *text, const char *format, ...)
{
    static unsigned label;
    label++;
    emu_text_add(text, "@%%p2 bra single%u;\n", label);
    va_list args;
    va_start(args, format);
    emu_text_addv(text, format, args);
    va_end(args);
    emu_text_add(text, "single%u:\n", label);
}

void add_wait(struct emu_text *text, unsigned offset, unsigned parity)
{
    static unsigned label;
    label++;
    emu_text_add(text,
                 "wait%u:\nmbarrier.try_wait.parity.shared::cta.b64 %%p3, [bar+%u], %u;\n"
                 "@!%%p3 bra wait%u;\ntcgen05.fence::after_thread_sync;\n",
                 label, offset, parity, label);
}

void add_dump(struct emu_text *text, unsigned columns)
{
    emu_text_add(text,
                 "mov.u32 %%r10, %%cluster_ctarank;\nshl.b32 %%r10, %%r10, 7;\n"
                 "add.u32 %%r10, %%r10, %%r0;\nmul.wide.u32 %%d2, %%r10, %u;\n"
                 "add.s64 %%d2, %%d2, %%d1;\n",
                 columns * 4);
    for (unsigned column = 0; column < columns; column += 8) {
        emu_text_add(text,
                     "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%%r20, %%r21, %%r22, %%r23, "
                     "%%r24, %%r25, %%r26, %%r27}, [%%r3+%u];\n"
                     "tcgen05.wait::ld.sync.aligned;\n"
                     "st.global.v4.u32 [%%d2+%u], {%%r20, %%r21, %%r22, %%r23};\n"
                     "st.global.v4.u32 [%%d2+%u], {%%r24, %%r25, %%r26, %%r27};\n",
                     column, column * 4, column * 4 + 16);
    }
}

bool run_kernel(struct harness *h, struct emu_text *text, const uint8_t *image,
                uint32_t image_bytes, unsigned ctas, unsigned threads, unsigned cluster,
                uint64_t *ret_out, uint32_t words)
{
    harness_load(h, emu_text_get(text));
    emu_text_free(text);
    h->shared_bytes = (image_bytes + 1023) / 1024 * 1024;
    harness_param_u64(h,
                      harness_buffer(h, "image", (uint64_t)image_bytes * cluster, image));
    *ret_out = harness_buffer(h, "out", (uint64_t)words * 4, NULL);
    harness_param_u64(h, *ret_out);
    return harness_run_clusters(h, ctas, threads, cluster);
}
