/* SPDX-License-Identifier: MIT */
/* One tcgen05.mma after another on tiles of small integers, in one CTA or a pair. */
#ifndef EMU_TESTS_TEST_TENSOR_MMA_H
#define EMU_TESTS_TEST_TENSOR_MMA_H

#include "test_tensor_support.h"

#define MMA_IMAGE_BYTES (160u * 1024u)

struct mma_case {
    const char *kind; /* "f16", ... */
    unsigned cta_group, m, n, k;
    enum emu_format a, b;
    uint32_t descriptor; /* but for m and n */
    enum emu_format d;   /* EMU_F32, EMU_F16, EMU_S8 for s32 */
    struct tile_layout a_layout, b_layout;
    bool packed;          /* FP4, two to the byte */
    const char *tail;     /* behind enable-input-d, e.g. ", 2" */
    const char *disabled; /* of the second instruction, e.g. "{0, 0, 0, 1}, " */
    bool half_lanes;      /* read by 16x256b: [thread][register] */
    enum emu_async_mode async;
    enum emu_numbers numbers;
};
/* 128-byte swizzle, K-major, f32 result. */
struct mma_case make_mma(const char *kind, unsigned cta_group, unsigned m, unsigned n,
                         enum emu_format a, enum emu_format b, uint32_t descriptor);

/* The operands of the two instructions: [instruction][rank]. */
extern struct tile_image mma_a[2][2], mma_b[2][2];

/*
 * Runs D = A0 · B0, then D += A1 · B1, and reads `columns` columns of all lanes of each CTA
 * to `cells`: [rank * 128 + lane][column]. Fails the test when the kernel fails.
 */
void run_mma(const struct mma_case *c, unsigned columns, uint32_t *cells);
/* What row and column of D must hold after the first (count 1) or both. */
double expect_d(const struct mma_case *c, unsigned row, unsigned column, unsigned count);
double read_d(const struct mma_case *c, uint32_t cell);

#endif
