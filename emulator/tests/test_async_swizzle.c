/* SPDX-License-Identifier: MIT */
/*
 * Every swizzle, against the tables of the PTX ISA: which 16-byte chunk of a line of 128
 * bytes stands at which place, by the number of the line.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "async/tensor_map.h"
#include "test_async_support.h"

#define ROWS  32u
#define BYTES (ROWS * 128u)

struct table {
    unsigned lines; /* after which it repeats */
    uint8_t chunks[8][8];
    bool flip; /* the 8-byte halves of chunks change places in odd lines */
};

static const struct table tables[EMU_SWIZZLE_COUNT] = {
    [EMU_SWIZZLE_NONE] = {1, {{0, 1, 2, 3, 4, 5, 6, 7}}, false},
    [EMU_SWIZZLE_32B] = {2, {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}}, false},
    [EMU_SWIZZLE_64B] = {4,
                         {{0, 1, 2, 3, 4, 5, 6, 7},
                          {1, 0, 3, 2, 5, 4, 7, 6},
                          {2, 3, 0, 1, 6, 7, 4, 5},
                          {3, 2, 1, 0, 7, 6, 5, 4}},
                         false},
    [EMU_SWIZZLE_128B] = {8,
                          {{0, 1, 2, 3, 4, 5, 6, 7},
                           {1, 0, 3, 2, 5, 4, 7, 6},
                           {2, 3, 0, 1, 6, 7, 4, 5},
                           {3, 2, 1, 0, 7, 6, 5, 4},
                           {4, 5, 6, 7, 0, 1, 2, 3},
                           {5, 4, 7, 6, 1, 0, 3, 2},
                           {6, 7, 4, 5, 2, 3, 0, 1},
                           {7, 6, 5, 4, 3, 2, 1, 0}},
                          false},
    [EMU_SWIZZLE_128B_ATOM_32B] = {4,
                                   {{0, 1, 2, 3, 4, 5, 6, 7},
                                    {2, 3, 0, 1, 6, 7, 4, 5},
                                    {4, 5, 6, 7, 0, 1, 2, 3},
                                    {6, 7, 4, 5, 2, 3, 0, 1}},
                                   false},
    [EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B] = {4,
                                           {{0, 1, 2, 3, 4, 5, 6, 7},
                                            {2, 3, 0, 1, 6, 7, 4, 5},
                                            {4, 5, 6, 7, 0, 1, 2, 3},
                                            {6, 7, 4, 5, 2, 3, 0, 1}},
                                           true},
    [EMU_SWIZZLE_128B_ATOM_64B] = {2,
                                   {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}},
                                   false},
    [EMU_SWIZZLE_96B] = {2, {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}}, false},
};

/* The place in a dense image of what lies at shared address `at`. */
static uint32_t find_source(const struct table *table, uint32_t at)
{
    uint32_t line = at / 128;
    uint32_t chunk = table->chunks[line % table->lines][at % 128 / 16];
    uint32_t inside = at % 16;
    if (table->flip && line % 2 == 1) {
        inside = (inside + 8) % 16;
    }
    return line * 128 + chunk * 16 + inside;
}

/* Words that tell every place apart. */
static void fill(uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        words[i] = (uint32_t)i * 2654435761u;
    }
}

/* A map of rows of `row` bytes; the 96-byte swizzle cannot be encoded by the host. */
static void param_map(struct harness *h, uint64_t base, unsigned swizzle, uint32_t row)
{
    _Alignas(64) unsigned char bytes[EMU_MAP_BYTES];
    struct emu_tensor_map map = {.type = EMU_MAP_U8,
                                 .rank = 2,
                                 .base = base,
                                 .dim = {row, ROWS, 1, 1, 1},
                                 .stride_bytes = {128},
                                 .box = {row, ROWS, 1, 1, 1},
                                 .element_stride = {1, 1, 1, 1, 1},
                                 .swizzle_mode = 4};
    if (swizzle != EMU_SWIZZLE_96B) {
        const struct async_map plain = {.rank = 2,
                                        .base = base,
                                        .dims = {row, ROWS},
                                        .strides = {128},
                                        .box = {row, ROWS},
                                        .swizzle = swizzle};
        async_param_map(h, &plain);
        return;
    }
    emu_tensor_map_pack(&map, bytes);
    harness_param_bytes(h, bytes, sizeof(bytes), 64);
}

/* Rows that are narrower than their swizzle lie as far apart as the widest ones. */
static uint32_t pitch_of(unsigned swizzle, uint32_t row)
{
    static const uint32_t widest[EMU_SWIZZLE_COUNT] = {
        [EMU_SWIZZLE_32B] = 32,
        [EMU_SWIZZLE_64B] = 64,
        [EMU_SWIZZLE_96B] = 96,
        [EMU_SWIZZLE_128B] = 128,
        [EMU_SWIZZLE_128B_ATOM_32B] = 128,
        [EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B] = 128,
        [EMU_SWIZZLE_128B_ATOM_64B] = 128,
    };
    return swizzle == EMU_SWIZZLE_NONE ? row : widest[swizzle];
}

static void expect_load(unsigned swizzle, uint32_t row, uint32_t offset, const char *ptx)
{
    struct harness h;
    static uint32_t words[BYTES / 4];
    static uint8_t found[1536 * 4];
    const uint32_t pitch = pitch_of(swizzle, row);
    uint32_t count = 0;
    fill(words, BYTES / 4);
    uint64_t out = async_open(&h, ptx, sizeof(found));
    uint64_t in = harness_buffer(&h, "in", BYTES, words);
    h.settings.definedness = false;
    param_map(&h, in, swizzle, row);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    harness_read(&h, out, found, sizeof(found));
    /* Dynamic shared memory begins at a multiple of 1024, so addresses are offsets. */
    for (uint32_t at = 0; at < sizeof(found); at++) {
        uint32_t source = find_source(&tables[swizzle], at) - offset;
        if (source < ROWS * pitch && source % pitch < row) {
            uint8_t expected =
                ((const uint8_t *)words)[source / pitch * 128 + source % pitch];
            cr_assert_eq(found[at], expected, "swizzle %u, row of %u: byte %u", swizzle,
                         row, at);
            count++;
        }
    }
    cr_expect_eq(count, ROWS * row);
    harness_close(&h);
}

/* Loads the whole tensor to %r1 + 1024 + offset, and dumps 6 KiB from %r1 + 1024. */
#define LOAD_ROWS(row, offset)                                                            \
    KERNEL_MAP("mov.u32 %r2, 32*" #row ";\n" INIT(                                        \
        0,                                                                                \
        1) "@!%p0 bra END;\n"                                                             \
           "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r2;\n"                        \
           "add.u32 %r3, %r1, 1024+" #offset ";\n"                                        \
           "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes " \
           "[%r3], [%rd1, {0, 0}], [%r1];\n" WAIT("W", 0, 0)                              \
                   DUMP("D", 1024, 1536) "END:\n")

Test(async_swizzle, loads_follow_the_tables)
{
    expect_load(EMU_SWIZZLE_NONE, 128, 0, LOAD_ROWS(128, 0));
    expect_load(EMU_SWIZZLE_32B, 32, 0, LOAD_ROWS(32, 0));
    expect_load(EMU_SWIZZLE_32B, 16, 0, LOAD_ROWS(16, 0));
    expect_load(EMU_SWIZZLE_64B, 64, 0, LOAD_ROWS(64, 0));
    expect_load(EMU_SWIZZLE_64B, 48, 0, LOAD_ROWS(48, 0));
    expect_load(EMU_SWIZZLE_96B, 96, 0, LOAD_ROWS(96, 0));
    expect_load(EMU_SWIZZLE_128B, 128, 0, LOAD_ROWS(128, 0));
    expect_load(EMU_SWIZZLE_128B, 64, 0, LOAD_ROWS(64, 0));
    expect_load(EMU_SWIZZLE_128B, 80, 0, LOAD_ROWS(80, 0));
    expect_load(EMU_SWIZZLE_128B_ATOM_32B, 128, 0, LOAD_ROWS(128, 0));
    expect_load(EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B, 128, 0, LOAD_ROWS(128, 0));
    expect_load(EMU_SWIZZLE_128B_ATOM_64B, 128, 0, LOAD_ROWS(128, 0));
}

Test(async_swizzle, pattern_belongs_to_the_address_and_not_to_the_box)
{
    expect_load(EMU_SWIZZLE_128B, 128, 128, LOAD_ROWS(128, 128));
    expect_load(EMU_SWIZZLE_128B, 128, 896, LOAD_ROWS(128, 896));
    expect_load(EMU_SWIZZLE_64B, 64, 384, LOAD_ROWS(64, 384));
}

Test(async_swizzle, box_off_the_pattern_gets_advice)
{
    struct harness h;
    async_open(&h, LOAD_ROWS(128, 128), 1536 * 4);
    static uint32_t words[BYTES / 4];
    h.settings.definedness = false;
    param_map(&h, harness_buffer(&h, "in", BYTES, words), EMU_SWIZZLE_128B, 128);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    cr_expect_eq(harness_found(&h, EMU_FINDING_DESCRIPTOR), 1);
    harness_close(&h);
}

/* ------------------------------------------------------------------------------- stores */

/* Shared word i is i * 2654435761; stored to the tensor from %r1 + 1024. */
static const char store_ptx[] = KERNEL_MAP(
    "mov.u32 %r2, %r0;\nL:\nmul.lo.u32 %r3, %r2, 2654435761;\nshl.b32 %r4, %r2, 2;\n"
    "add.u32 %r4, %r4, %r1;\nst.shared.u32 [%r4+1024], %r3;\nadd.u32 %r2, %r2, 128;\n"
    "setp.lt.u32 %p1, %r2, 1024;\n@%p1 bra L;\n"
    "fence.proxy.async.shared::cta;\nbar.sync 0;\n@!%p0 bra END;\n"
    "add.u32 %r3, %r1, 1024;\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {0, 0}], [%r3];\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:\n");

static void expect_store(unsigned swizzle, uint32_t row)
{
    struct harness h;
    static uint32_t words[BYTES / 4];
    static uint8_t found[BYTES];
    fill(words, BYTES / 4);
    async_open(&h, store_ptx, 4);
    uint64_t tensor = harness_buffer(&h, "tensor", BYTES, found);
    param_map(&h, tensor, swizzle, row);
    cr_expect(harness_run(&h, 1, 128), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, tensor, found, BYTES);
    const uint32_t pitch = pitch_of(swizzle, row);
    for (uint32_t at = 0; at < ROWS * pitch; at++) {
        uint32_t source = find_source(&tables[swizzle], at);
        if (source % pitch < row) {
            cr_assert_eq(found[source / pitch * 128 + source % pitch],
                         ((const uint8_t *)words)[at], "swizzle %u, row of %u: byte %u",
                         swizzle, row, at);
        }
    }
    harness_close(&h);
}

Test(async_swizzle, stores_follow_the_tables)
{
    expect_store(EMU_SWIZZLE_NONE, 128);
    expect_store(EMU_SWIZZLE_32B, 32);
    expect_store(EMU_SWIZZLE_64B, 64);
    expect_store(EMU_SWIZZLE_96B, 96);
    expect_store(EMU_SWIZZLE_128B, 128);
    expect_store(EMU_SWIZZLE_128B, 64);
    expect_store(EMU_SWIZZLE_128B_ATOM_32B, 128);
    expect_store(EMU_SWIZZLE_128B_ATOM_64B, 128);
}

Test(async_swizzle, store_with_8_byte_flip_is_refused)
{
    struct harness h;
    async_open(&h, store_ptx, 4);
    param_map(&h, harness_buffer(&h, "tensor", BYTES, NULL),
              EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B, 128);
    cr_expect_not(harness_run(&h, 1, 128));
    async_expect_error(&h, EMU_FINDING_DESCRIPTOR, "loads only");
    harness_close(&h);
}
