/* SPDX-License-Identifier: MIT */
/* The rules of tensor maps, and their packing. */
#include <criterion/criterion.h>
#include <string.h>

#include "async/tensor_map.h"

/* A legal map: bf16, 3-D, 128-byte swizzle. */
struct arguments {
    unsigned type, rank;
    uint64_t base;
    uint64_t dims[5], strides[4];
    uint32_t box[5], element_strides[5];
    unsigned interleave, swizzle, promotion, fill;
};

static struct arguments legal(void)
{
    return (struct arguments){.type = EMU_MAP_BF16,
                              .rank = 3,
                              .base = 0x10000,
                              .dims = {100, 50, 7},
                              .strides = {256, 256 * 50},
                              .box = {64, 128, 1},
                              .element_strides = {1, 1, 1},
                              .swizzle = EMU_SWIZZLE_128B};
}

static bool encode(const struct arguments *a, void *map, struct emu_error *error)
{
    *error = (struct emu_error){0};
    return emu_tensor_map_encode(map, a->type, a->rank, a->base, a->dims, a->strides,
                                 a->box, a->element_strides, a->interleave, a->swizzle,
                                 a->promotion, a->fill, error);
}

static void expect_refusal(const struct arguments *a, const char *words)
{
    _Alignas(64) unsigned char map[EMU_MAP_BYTES];
    struct emu_error error;
    cr_expect_not(encode(a, map, &error), "accepted, but: %s", words);
    cr_expect_not_null(strstr(error.text, words), "`%s` is not in: %s", words, error.text);
}

static void expect_legal(const struct arguments *a)
{
    _Alignas(64) unsigned char map[EMU_MAP_BYTES];
    struct emu_error error;
    cr_expect(encode(a, map, &error), "%s", error.text);
}

#define REFUSED(words, ...)           \
    do {                              \
        struct arguments a = legal(); \
        __VA_ARGS__;                  \
        expect_refusal(&a, words);    \
    } while (0)
#define LEGAL(...)                    \
    do {                              \
        struct arguments a = legal(); \
        __VA_ARGS__;                  \
        expect_legal(&a);             \
    } while (0)

Test(async_tensor_map, what_is_packed_is_unpacked)
{
    _Alignas(64) unsigned char map[EMU_MAP_BYTES];
    struct emu_error error;
    struct emu_tensor_map found;
    struct arguments a = legal();
    a.rank = 5;
    a.dims[0] = UINT64_C(1) << 32;
    a.dims[3] = 3;
    a.dims[4] = 4;
    a.strides[2] = (UINT64_C(1) << 40) - 16;
    a.strides[3] = 32;
    a.box[1] = 256;
    a.box[3] = a.box[4] = 2;
    a.element_strides[1] = 8;
    a.element_strides[3] = a.element_strides[4] = 1;
    a.promotion = 3;
    a.fill = 1;
    cr_assert(encode(&a, map, &error), "%s", error.text);
    cr_assert(emu_tensor_map_unpack(map, &found, &error), "%s", error.text);
    cr_expect_eq(found.type, EMU_MAP_BF16);
    cr_expect_eq(found.rank, 5);
    cr_expect_eq(found.base, 0x10000);
    cr_expect_eq(found.dim[0], UINT64_C(1) << 32);
    cr_expect_eq(found.dim[4], 4);
    cr_expect_eq(found.stride_bytes[2], (UINT64_C(1) << 40) - 16);
    cr_expect_eq(found.box[1], 256);
    cr_expect_eq(found.element_stride[1], 8);
    cr_expect_eq(emu_tensor_map_swizzle(&found), EMU_SWIZZLE_128B);
    cr_expect_eq(found.l2_promotion, 3);
    cr_expect(found.fill_nan);
}

Test(async_tensor_map, bit_21_of_word_1_is_zero)
{
    _Alignas(64) uint64_t map[16];
    struct emu_error error;
    struct arguments a = legal();
    a.promotion = 3;
    a.swizzle = EMU_SWIZZLE_128B_ATOM_64B;
    cr_assert(encode(&a, map, &error));
    cr_expect_eq(map[1] >> 21 & 1, 0);
}

Test(async_tensor_map, changed_bytes_are_noticed)
{
    _Alignas(64) unsigned char map[EMU_MAP_BYTES];
    struct emu_error error;
    struct emu_tensor_map found;
    struct arguments a = legal();
    cr_assert(encode(&a, map, &error));
    map[40] ^= 1;
    cr_expect_not(emu_tensor_map_unpack(map, &found, &error));
    cr_expect_not_null(strstr(error.text, "corrupt"));
    memset(map, 0, sizeof(map));
    error = (struct emu_error){0};
    cr_expect_not(emu_tensor_map_unpack(map, &found, &error));
    cr_expect_not_null(strstr(error.text, "no tensor map"));
}

Test(async_tensor_map, numbers_that_do_not_exist_are_refused)
{
    LEGAL((void)0);
    REFUSED("data type 16", a.type = 16);
    REFUSED("rank 0", a.rank = 0);
    REFUSED("rank 6", a.rank = 6);
    REFUSED("interleave 3", a.interleave = 3);
    REFUSED("swizzle 7", a.swizzle = 7);
    REFUSED("L2 promotion 4", a.promotion = 4);
    REFUSED("fill 2", a.fill = 2);
    REFUSED("needs a floating-point type", a.type = EMU_MAP_U16; a.fill = 1);
}

Test(async_tensor_map, addresses_and_strides_are_aligned)
{
    REFUSED("multiple of 16", a.base = 0x10008);
    REFUSED("stride 0 is 24 bytes", a.strides[0] = 24);
    REFUSED("below 2^40", a.strides[1] = UINT64_C(1) << 40);
    LEGAL(a.strides[1] = (UINT64_C(1) << 40) - 16);
    /* A stride behind the last dimension does not count. */
    LEGAL(a.strides[2] = 1);
    REFUSED("multiple of 32", a.interleave = 2; a.swizzle = EMU_SWIZZLE_32B;
            a.base = 0x10010);
}

Test(async_tensor_map, dimensions_have_limits)
{
    REFUSED("dimension 1 is 0", a.dims[1] = 0);
    REFUSED("dimension 2 is", a.dims[2] = (UINT64_C(1) << 32) + 1);
    REFUSED("box dimension 1 is 257", a.box[1] = 257);
    REFUSED("box dimension 2 is 0", a.box[2] = 0);
    REFUSED("element stride 1 is 9", a.element_strides[1] = 9);
    REFUSED("element stride 2 is 0", a.element_strides[2] = 0);
    LEGAL(a.element_strides[0] = 0);
    REFUSED("element stride 0 is 0", a.element_strides[0] = 0; a.interleave = 1);
    REFUSED("needs 3", a.rank = 2; a.interleave = 1);
}

Test(async_tensor_map, row_of_the_box_fits_the_swizzle)
{
    REFUSED("multiple of 16 bytes", a.box[0] = 60);
    LEGAL(a.box[0] = 16; a.swizzle = EMU_SWIZZLE_32B);
    REFUSED("up to 32", a.box[0] = 24; a.swizzle = EMU_SWIZZLE_32B);
    REFUSED("up to 64", a.box[0] = 40; a.swizzle = EMU_SWIZZLE_64B);
    REFUSED("up to 128", a.box[0] = 72);
    REFUSED("up to 128", a.box[0] = 72; a.swizzle = EMU_SWIZZLE_128B_ATOM_64B);
    LEGAL(a.box[0] = 256; a.swizzle = EMU_SWIZZLE_NONE);
    REFUSED("needs the 32-byte swizzle", a.interleave = 2; a.base = 0x10000);
}

Test(async_tensor_map, padded_types_have_rules_of_their_own)
{
#define PADDED                                                                             \
    a.type = EMU_MAP_U4_ALIGN16, a.dims[0] = 256, a.strides[0] = 128, a.strides[1] = 6400, \
    a.box[0] = 128
    LEGAL(PADDED);
    REFUSED("must be 128", PADDED; a.box[0] = 64);
    REFUSED("multiple of 128", PADDED; a.dims[0] = 200);
    REFUSED("multiple of 32", PADDED; a.base = 0x10010);
    REFUSED("stride 0", PADDED; a.strides[0] = 144);
    REFUSED("padded type", PADDED; a.swizzle = EMU_SWIZZLE_64B);
    REFUSED("padded type", PADDED; a.swizzle = EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B);
    REFUSED("padded type", PADDED; a.swizzle = EMU_SWIZZLE_128B_ATOM_64B);
    LEGAL(PADDED; a.type = EMU_MAP_U6_ALIGN16; a.swizzle = EMU_SWIZZLE_128B_ATOM_64B);
    REFUSED("multiple of 2", a.type = EMU_MAP_U4_ALIGN8; a.dims[0] = 101);
}

Test(async_tensor_map, the_map_itself_is_aligned)
{
    _Alignas(64) unsigned char map[EMU_MAP_BYTES + 32];
    struct emu_error error;
    struct arguments a = legal();
    cr_expect_not(encode(&a, map + 32, &error));
    cr_expect_not(encode(&a, NULL, &error));
}
