/* SPDX-License-Identifier: MIT */
#include "run_pointers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "jit_gemm/device.h"

enum {
    TMA_BYTES = 16,    /* what matrices are aligned to unless less is promised, */
    SPREAD_BYTES = 32, /* and those of 4 bits, which may be spread to bytes */
    PADS = 3,          /* ways in which rows lie further apart than packed */
    NO_ADDRESS = 0x10
};

/* A group's part of a matrix of a batch: rows and columns as stored. */
struct extent {
    int64_t rows, columns;
};

static int64_t own_size(const struct run_groups *groups, enum run_size size, int64_t group,
                        int64_t all)
{
    switch (size) {
    case RUN_SIZE_M:
        return groups->numbers[group];
    case RUN_SIZE_N:
        return run_groups_columns(groups, group, all);
    case RUN_SIZE_K:
        return run_groups_depth(groups, group, all).end;
    }
    return all;
}

static struct extent extent_of(const struct run_groups *groups,
                               const struct element_view *view, struct run_part part,
                               int64_t group)
{
    const struct extent own = {own_size(groups, part.rows, group, view->rows),
                               own_size(groups, part.columns, group, view->columns)};
    const bool has_none = groups->numbers[group] == 0 || own.rows == 0 ||
                          own.columns == 0 || run_groups_columns(groups, group, 1) == 0;

    return has_none ? (struct extent){0, 0} : own;
}

/* Where everybody's matrix begins and how its rows lie: the last group's comes first, and
 * none at a distance that follows from the one before. Elements of the room. */
static int64_t place_matrices(const struct run_groups *groups,
                              const struct element_view *view, struct run_part part,
                              bool one_ld, uint64_t promised, struct run_pointers *pointers)
{
    const uint64_t narrow = run_matrix_alignment(view->dtype, promised);
    const uint64_t usual = view->dtype == JIT_GEMM_DTYPE_E2M1 ? SPREAD_BYTES : TMA_BYTES;
    const uint64_t alignment = narrow > 0 ? narrow : usual;
    const int64_t unit = element_count(view->dtype, alignment);
    int64_t end = unit;

    pointers->ld = element_padded_ld(view->dtype, view->columns, alignment) + unit;
    for (int64_t group = groups->count - 1; group >= 0; group--) {
        const struct extent own = extent_of(groups, view, part, group);
        const int64_t padded = element_padded_ld(view->dtype, own.columns, alignment);
        pointers->group_lds[group] = one_ld ? pointers->ld : padded + unit * (group % PADS);
        pointers->begins[group] = own.rows > 0 ? end : -1;
        end += own.rows * pointers->group_lds[group] + unit * (1 + group % PADS);
    }
    return end;
}

/* Where a row of a group's begins, in bytes of the room and of a batch. */
static size_t place_in_room(const struct run_pointers *pointers, jit_gemm_dtype dtype,
                            int64_t group, int64_t row)
{
    return element_bytes(
        dtype, (size_t)(pointers->begins[group] + row * pointers->group_lds[group]));
}

static size_t place_in_batch(const struct element_view *view, int64_t group, int64_t row)
{
    return element_bytes(view->dtype,
                         (size_t)(group * view->batch_stride + row * view->ld));
}

static void fill_room(const struct run_groups *groups, const struct element_view *view,
                      struct run_part part, const struct run_pointers *pointers,
                      const char *data, char *room)
{
    for (int64_t group = 0; group < groups->count; group++) {
        const struct extent own = extent_of(groups, view, part, group);
        for (int64_t row = 0; row < own.rows; row++) {
            memcpy(room + place_in_room(pointers, view->dtype, group, row),
                   data + place_in_batch(view, group, row),
                   element_bytes(view->dtype, (size_t)own.columns));
        }
    }
}

static int create_room(jit_gemm_context *context, const struct run_groups *groups,
                       const struct element_view *view, struct run_part part,
                       const char *data, int64_t elements, uint64_t promised,
                       struct run_pointers *pointers)
{
    const struct element_view own = {view->dtype, 1, 1, elements, elements, elements};
    char *bytes = cli_alloc(element_view_bytes(&own));

    element_fill_poison(&own, bytes);
    if (data != NULL) {
        fill_room(groups, view, part, pointers, data, bytes);
    }
    const int code = run_matrix_create(context, &own, bytes, promised, &pointers->room);
    free(bytes);
    return code;
}

/* Words of 8 bytes for the device. */
static int create_words(jit_gemm_context *context, const void *words, int64_t count,
                        struct run_matrix *ret_matrix)
{
    const struct element_view view = {JIT_GEMM_DTYPE_S32, 1,         1,
                                      2 * count,          2 * count, 2 * count};

    return run_matrix_create(context, &view, words, sizeof(uint64_t), ret_matrix);
}

static int create_addresses(jit_gemm_context *context, int64_t count,
                            struct run_pointers *pointers)
{
    uint64_t *addresses = cli_alloc((size_t)count * sizeof(*addresses));

    for (int64_t group = 0; group < count; group++) {
        const int64_t begin = pointers->begins[group];
        addresses[group] =
            begin < 0 ? NO_ADDRESS
                      : pointers->room.address +
                            element_bytes(pointers->room.view.dtype, (size_t)begin);
    }
    const int code = create_words(context, addresses, count, &pointers->addresses);
    free(addresses);
    return code;
}

int run_pointers_create(jit_gemm_context *context, const struct run_groups *groups,
                        const struct element_view *view, struct run_part part, bool one_ld,
                        const void *data, uint64_t promised,
                        struct run_pointers *ret_pointers)
{
    const size_t bytes = (size_t)groups->count * sizeof(int64_t);
    *ret_pointers =
        (struct run_pointers){.begins = cli_alloc(bytes), .group_lds = cli_alloc(bytes)};
    const int64_t elements =
        place_matrices(groups, view, part, one_ld, promised, ret_pointers);
    int code =
        create_room(context, groups, view, part, data, elements, promised, ret_pointers);

    if (code == CLI_OK) {
        code = create_addresses(context, groups->count, ret_pointers);
    }
    if (code == CLI_OK && !one_ld) {
        code = create_words(context, ret_pointers->group_lds, groups->count,
                            &ret_pointers->lds);
    }
    return code;
}

void run_pointers_free(jit_gemm_context *context, struct run_pointers *pointers)
{
    run_matrix_free(context, &pointers->room);
    run_matrix_free(context, &pointers->addresses);
    run_matrix_free(context, &pointers->lds);
    free(pointers->begins);
    free(pointers->group_lds);
    *pointers = (struct run_pointers){0};
}

jit_gemm_arg run_pointers_argument(const struct run_pointers *pointers)
{
    return (jit_gemm_arg){.pointer = pointers->addresses.address,
                          .ld = pointers->lds.base != 0 ? 0 : pointers->ld};
}

/* Takes the groups' rows out of the room, to where they lie in a batch; poison is left. */
static void take_rows(const struct run_groups *groups, const struct element_view *view,
                      const struct run_pointers *pointers, char *room, char *data)
{
    for (int64_t group = 0; group < groups->count; group++) {
        const struct extent own =
            extent_of(groups, view, (struct run_part){RUN_SIZE_M, RUN_SIZE_N}, group);
        const size_t bytes = element_bytes(view->dtype, (size_t)own.columns);
        for (int64_t row = 0; row < own.rows; row++) {
            char *from = room + place_in_room(pointers, view->dtype, group, row);
            memcpy(data + place_in_batch(view, group, row), from, bytes);
            memset(from, element_poison_byte(view->dtype), bytes);
        }
    }
}

/* Is all that is left poison? */
static bool rest_is_untouched(const char *name, const struct element_view *room,
                              const char *bytes)
{
    for (int64_t at = 0; at < room->columns; at++) {
        if (!element_is_poison(room->dtype, bytes, (size_t)at)) {
            cli_error("%s: element %" PRId64 " of the memory that groups' matrices are "
                      "spread over belongs to none and was written",
                      name, at);
            return false;
        }
    }
    return true;
}

int run_pointers_collect(jit_gemm_context *context, const struct run_groups *groups,
                         const char *name, const struct run_pointers *pointers,
                         const struct run_matrix *target, bool *is_wrong)
{
    const struct element_view *view = &target->view;
    char *room = run_matrix_download(context, &pointers->room);
    if (room == NULL) {
        return CLI_FAILED;
    }
    char *data = cli_alloc(element_view_bytes(view));
    element_fill_poison(view, data);
    take_rows(groups, view, pointers, room, data);
    *is_wrong |= !rest_is_untouched(name, &pointers->room.view, room);
    const jit_gemm_status status =
        jit_gemm_device_upload(context, target->address, data, element_view_bytes(view));
    free(room);
    free(data);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
}

int run_pointers_check_guards(jit_gemm_context *context, const char *name,
                              const struct run_pointers *pointers)
{
    const int of_room = run_matrix_check_guards(context, name, &pointers->room);
    const int of_addresses = run_matrix_check_guards(context, name, &pointers->addresses);
    const int of_lds = run_matrix_check_guards(context, name, &pointers->lds);

    return of_room != CLI_OK ? of_room : of_addresses != CLI_OK ? of_addresses : of_lds;
}
