/* SPDX-License-Identifier: MIT */
/* Matrix descriptors: fields, and where each element lies. */
#include "tensor/descriptor.h"

#include <criterion/criterion.h>
#include <string.h>

#include "test_tensor_support.h"

Test(emu_tensor_descriptor, reads_the_descriptors_that_known_good_code_builds)
{
    static const struct {
        uint64_t bits;
        uint32_t leading, stride;
        enum emu_swizzle swizzle;
    } cases[] = {
        /* bf16, K-major: 128x64, 128x32, 128x16, and 128x16 without swizzle */
        {0x4000404000010000, 16, 1024, EMU_SWIZZLE_128},
        {0x8000402000010000, 16, 512, EMU_SWIZZLE_64},
        {0xC000401000010000, 16, 256, EMU_SWIZZLE_32},
        {0x0000400800800000, 2048, 128, EMU_SWIZZLE_NONE},
        /* 4 bits, K-major, 256 to a row; scale factors, with and without a first stride */
        {0x4000404000000000, 0, 1024, EMU_SWIZZLE_128},
        {0x0000400800010000, 16, 128, EMU_SWIZZLE_NONE},
        {0x0000400800000000, 0, 128, EMU_SWIZZLE_NONE},
        /* bf16 128x16, MN-major */
        {0x4000408000400000, 1024, 2048, EMU_SWIZZLE_128},
        {0x8000408000200000, 512, 2048, EMU_SWIZZLE_64},
        {0xC000408000100000, 256, 2048, EMU_SWIZZLE_32},
        /* tf32, MN-major: 128x32 in the two orders of its parts, and 64x32 */
        {0x2000408000200000, 512, 2048, EMU_SWIZZLE_128_ATOM_32},
        {0x2000402001000000, 4096, 512, EMU_SWIZZLE_128_ATOM_32},
        {0x2000404000200000, 512, 1024, EMU_SWIZZLE_128_ATOM_32},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct emu_matrix matrix;
        struct emu_error error = {0};
        cr_assert(emu_matrix_decode_sm100(cases[i].bits | 0x123, &matrix, &error), "%s",
                  error.text);
        cr_expect_eq(matrix.start, 0x1230);
        cr_expect_eq(matrix.leading, cases[i].leading, "case %zu", i);
        cr_expect_eq(matrix.stride, cases[i].stride, "case %zu", i);
        cr_expect_eq(matrix.swizzle, cases[i].swizzle, "case %zu", i);
    }
}

Test(emu_tensor_descriptor, sm90_has_its_own_swizzle_field_and_no_version)
{
    struct emu_matrix matrix;
    struct emu_error error = {0};
    cr_assert(emu_matrix_decode_sm90(0x4000004000010040, &matrix, &error), "%s",
              error.text);
    cr_expect_eq(matrix.start, 0x400);
    cr_expect_eq(matrix.stride, 1024);
    cr_expect_eq(matrix.swizzle, EMU_SWIZZLE_128);
    cr_assert(emu_matrix_decode_sm90(0x8000002000010040, &matrix, &error));
    cr_expect_eq(matrix.swizzle, EMU_SWIZZLE_64);
    cr_assert(emu_matrix_decode_sm90(0xC000001000010040, &matrix, &error));
    cr_expect_eq(matrix.swizzle, EMU_SWIZZLE_32);
}

Test(emu_tensor_descriptor, what_is_not_legal_is_named)
{
    static const struct {
        bool sm100;
        uint64_t bits;
        const char *part;
    } cases[] = {
        {true, 0x4000004000010000, "bits 46-48"},  /* no version */
        {false, 0x4000404000010000, "bits 46-48"}, /* a version */
        {true, 0x4002404000010000, "base offset"},
        {true, 0x4010404000010000, "bit 52"},
        {true, 0x4020404000010000, "bits 53-60"},
        {true, 0x6000404000010000, "swizzle mode"},
        {true, 0x4000404000014000, "bits 14-15"},
        {true, 0x4000404040010000, "bits 30-31"},
        {false, 0x4010004000010000, "bits 52-61"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct emu_matrix matrix;
        struct emu_error error = {0};
        cr_expect_not(cases[i].sm100
                          ? emu_matrix_decode_sm100(cases[i].bits, &matrix, &error)
                          : emu_matrix_decode_sm90(cases[i].bits, &matrix, &error));
        cr_expect_not_null(strstr(error.text, cases[i].part), "%s: %s", cases[i].part,
                           error.text);
    }
}

/* Every element must be found in an image that was laid out another way. */
static void expect_found(enum emu_format format, bool packed, enum emu_packing packing,
                         unsigned swizzle, bool mn_major, unsigned skip)
{
    static struct tile_image image;
    static uint8_t bytes[64 * 1024];
    memset(&image, 0, sizeof(image));
    memset(bytes, 0xFF, sizeof(bytes));
    image.format = format;
    image.packed = packed;
    image.layout = (struct tile_layout){.swizzle = swizzle, .mn_major = mn_major};
    image.rows = 96;
    image.k = 2 * emu_packing_elements(packing);
    image.skip = skip;
    fill_tile(&image, 7);
    put_tile(&image, bytes);
    struct emu_error error = {0};
    struct emu_tile tile = {
        .packing = packing, .mn_major = mn_major, .rows = image.rows, .k = image.k};
    cr_assert(emu_matrix_decode_sm100(make_descriptor_sm100(&image, 0x8000), &tile.matrix,
                                      &error),
              "%s", error.text);
    cr_assert(emu_tile_check(&tile, &error), "%s", error.text);
    unsigned elements = emu_packing_elements(packing);
    for (unsigned row = 0; row < image.rows; row++) {
        for (unsigned k = 0; k < image.k; k++) {
            uint32_t cells[32];
            emu_packing_unpack(packing, bytes + emu_tile_address(&tile, row, k) - 0x8000,
                               cells, 1);
            uint32_t bits = cells[(mn_major ? row : k) % elements];
            double value =
                format == EMU_S8 ? (double)(int8_t)bits : emu_decode(format, bits);
            cr_assert_eq(value, image.values[row * image.k + k],
                         "format %d, swizzle %u, %s: row %u, k %u: %g", format, swizzle,
                         mn_major ? "MN" : "K", row, k, value);
        }
    }
}

Test(emu_tensor_descriptor, k_major_elements_are_where_copies_put_them)
{
    static const struct {
        enum emu_format format;
        bool packed;
        enum emu_packing packing;
    } types[] = {{EMU_TF32, false, EMU_PACK_32},       {EMU_BF16, false, EMU_PACK_16},
                 {EMU_E4M3, false, EMU_PACK_8},        {EMU_E2M3, false, EMU_PACK_6_PADDED},
                 {EMU_E2M1, false, EMU_PACK_4_PADDED}, {EMU_E2M1, true, EMU_PACK_4}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        expect_found(types[i].format, types[i].packed, types[i].packing, 0, false, 0);
        expect_found(types[i].format, types[i].packed, types[i].packing, 32, false, 0);
        expect_found(types[i].format, types[i].packed, types[i].packing, 64, false, 0);
        expect_found(types[i].format, types[i].packed, types[i].packing, 128, false, 0);
    }
}

Test(emu_tensor_descriptor, a_k_step_inside_the_pattern_moves_only_the_start)
{
    expect_found(EMU_BF16, false, EMU_PACK_16, 64, false, 32);
    for (unsigned skip = 32; skip < 128; skip += 32) {
        expect_found(EMU_BF16, false, EMU_PACK_16, 128, false, skip);
    }
    expect_found(EMU_BF16, false, EMU_PACK_16, 0, false, 32);
}

Test(emu_tensor_descriptor, mn_major_elements_are_where_copies_put_them)
{
    static const unsigned swizzles[] = {0, 32, 64, 128};
    for (size_t i = 0; i < 4; i++) {
        expect_found(EMU_BF16, false, EMU_PACK_16, swizzles[i], true, 0);
        expect_found(EMU_S8, false, EMU_PACK_8, swizzles[i], true, 0);
    }
    expect_found(EMU_TF32, false, EMU_PACK_32, 132, true, 0);
}

Test(emu_tensor_descriptor, only_some_types_may_be_mn_major)
{
    struct emu_error error = {0};
    struct emu_tile tile = {.mn_major = true, .packing = EMU_PACK_32};
    tile.matrix.swizzle = EMU_SWIZZLE_128;
    cr_expect_not(emu_tile_check(&tile, &error));
    tile.packing = EMU_PACK_4;
    cr_expect_not(emu_tile_check(&tile, &error));
    tile.packing = EMU_PACK_16;
    cr_expect(emu_tile_check(&tile, &error));
    tile.matrix.swizzle = EMU_SWIZZLE_128_ATOM_32;
    cr_expect_not(emu_tile_check(&tile, &error));
    tile.mn_major = false;
    cr_expect_not(emu_tile_check(&tile, &error),
                  "K-major in 32-byte units is not supported");
}
