/* SPDX-License-Identifier: MIT */
#include "gemm_rows.h"

#include <stdlib.h>

static int64_t count_rows(const struct gemm_shape *shape, jit_gemm_rows rows)
{
    return rows == JIT_GEMM_ROWS_INDEXED ? shape->m * shape->d_batches : 0;
}

size_t gemm_row_index_bytes(const struct gemm_shape *shape, jit_gemm_rows rows)
{
    return (size_t)count_rows(shape, rows) * sizeof(int32_t);
}

/* 0 to count - 1, from a state that is not 0. */
static int64_t draw(uint64_t *state, int64_t count)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (int64_t)(*state % (uint64_t)count);
}

int gemm_row_index_draw(const struct gemm_shape *shape, jit_gemm_rows rows, uint64_t seed,
                        struct gemm_row_index *index)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15ULL | 1;
    index->count = count_rows(shape, rows);
    if (index->count == 0) {
        return 0;
    }
    index->entries = malloc((size_t)index->count * sizeof(*index->entries));
    if (index->entries == NULL) {
        return -1;
    }
    for (int64_t i = 0; i < index->count; i++) {
        index->entries[i] = (int32_t)i;
    }
    for (int64_t i = index->count - 1; i > 0; i--) {
        const int64_t other = draw(&state, i + 1);
        const int32_t entry = index->entries[i];
        index->entries[i] = index->entries[other];
        index->entries[other] = entry;
    }
    return 0;
}

jit_gemm_arg gemm_row_index_argument(const struct gemm_row_index *index, uint64_t address,
                                     int64_t row)
{
    return index->count == 0
               ? (jit_gemm_arg){0}
               : (jit_gemm_arg){.pointer = address + (uint64_t)row * sizeof(int32_t)};
}

bool *gemm_row_index_move(const struct gemm_row_index *index, const bool *has_row)
{
    bool *moved = calloc((size_t)index->count, sizeof(*moved));
    for (int64_t i = 0; moved != NULL && i < index->count; i++) {
        moved[index->entries[i]] = has_row[i];
    }
    return moved;
}

void gemm_row_index_free(struct gemm_row_index *index)
{
    free(index->entries);
    *index = (struct gemm_row_index){0};
}
