/* SPDX-License-Identifier: MIT */
/*
 * Tests of the tensor cores: matrices of small integers, their image in shared memory, and
 * pieces of PTX. Images are laid out here as tensor copies lay them out, box by box and 16
 * bytes by 16 bytes, and so not by the formulas under test.
 */
#ifndef EMU_TESTS_TEST_TENSOR_SUPPORT_H
#define EMU_TESTS_TEST_TENSOR_SUPPORT_H

#include "harness.h"
#include "numbers/numbers.h"

#define MOST_TILE (256u * 64u)

/* How a tile lies in shared memory. `swizzle`: 0, 32, 64 or 128 bytes; 132: 128 bytes in
 * units of 32. */
struct tile_layout {
    unsigned swizzle;
    bool mn_major;
};

/* One operand: rows x k values, and where they are put. */
struct tile_image {
    enum emu_format format;
    bool packed; /* 4 bits: two to the byte, instead of padded */
    struct tile_layout layout;
    unsigned rows, k;
    unsigned skip; /* bytes of K in front of the tile, inside the swizzle pattern */
    double values[MOST_TILE];
    uint64_t leading, stride; /* for the descriptor; filled by put_tile */
    uint32_t bytes;           /* of the image; filled by put_tile */
};

/* Values -2 to 2 (0 to 2 for unsigned ones), the same for the same seed. */
void fill_tile(struct tile_image *tile, unsigned seed);
/* Writes the image, whose other bytes keep what they hold. */
void put_tile(struct tile_image *tile, uint8_t *image);

/* D[m][n] of two tiles, plus `start`. */
double multiply(const struct tile_image *a, const struct tile_image *b, unsigned row,
                unsigned column);

uint64_t make_descriptor_sm90(const struct tile_image *tile, uint32_t address);
uint64_t make_descriptor_sm100(const struct tile_image *tile, uint32_t address);

/*
 * Kernel text. It begins with `threads` threads copying `image_bytes` from its first
 * parameter to shared memory `smem` (address in %r2, 1024-byte aligned), with the fence and
 * the barrier behind it; %r0 is %tid.x, %r1 %warpid, %d1 the second parameter. Cluster
 * ranks copy images one behind the other.
 */
void begin_kernel(struct emu_text *text, unsigned sm, unsigned threads,
                  uint32_t image_bytes);
void end_kernel(struct emu_text *text);
/* %d<index> = descriptor for shared memory at smem + offset. */
void add_descriptor(struct emu_text *text, unsigned index, uint64_t bits, uint32_t offset);
/* Allocates tensor memory by warp 0 (address in %r3) and makes mbarriers bar, bar+8, bar+16
 * (each for one arrival); a barrier of all threads behind it. */
void add_tensor_setup(struct emu_text *text, unsigned cta_group, unsigned columns);
void add_tensor_teardown(struct emu_text *text, unsigned cta_group, unsigned columns);
/* Runs `code` in lane 0 of warp 0. */
void add_single(struct emu_text *text, const char *format, ...) EMU_PRINTF(2, 3);
/* Waits for the phase of bar + offset, then tcgen05.fence::after_thread_sync. */
void add_wait(struct emu_text *text, unsigned offset, unsigned parity);
/* Every thread reads `columns` columns of its lane and stores them at the second parameter,
 * row by row: lane (rank * 128 + tid), column. */
void add_dump(struct emu_text *text, unsigned columns);

/* Loads, gives it an image and an output of `words`, runs; true when nothing was found. */
bool run_kernel(struct harness *h, struct emu_text *text, const uint8_t *image,
                uint32_t image_bytes, unsigned ctas, unsigned threads, unsigned cluster,
                uint64_t *ret_out, uint32_t words);

#endif
