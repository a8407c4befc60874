/* SPDX-License-Identifier: MIT */
/* Rows, swizzles and packed types. */
#include "async/tensor_box.h"

#include <inttypes.h>
#include <string.h>

#define LINEAR_ROW 512u
#define LINE       128u /* a swizzle permutes bytes inside of such a line only */
#define GRANULE    8u   /* bytes that every swizzle keeps together */

/* --------------------------------------------------------------------------- geometry */

struct emu_box emu_box_linear(uint64_t address, uint32_t bytes)
{
    return (struct emu_box){.linear = true,
                            .address = address,
                            .rows = (uint32_t)emu_ceil_div(bytes, LINEAR_ROW),
                            .row_bytes = LINEAR_ROW,
                            .shared_bytes = LINEAR_ROW,
                            .pitch_bytes = LINEAR_ROW,
                            .image_bytes = bytes,
                            .data_bytes = bytes};
}

static bool check_use(const struct emu_tensor_map *map, const int64_t *coordinates,
                      unsigned count, bool four_rows, struct emu_error *error)
{
    unsigned rank = four_rows ? 2 : count;
    if (map->rank != rank) {
        return emu_fail(error, "the tensor map has rank %u, the instruction is for %u",
                        map->rank, rank);
    }
    if (map->interleave != 0) {
        return emu_fail(error, "interleaved tensor maps are not supported");
    }
    if (four_rows && map->box[1] != 1) {
        return emu_fail(error, "four rows need a box of one row; it has %u", map->box[1]);
    }
    if (emu_map_type_is_padded(map->type) && coordinates[0] % 128 != 0) {
        return emu_fail(error,
                        "coordinate 0 is %" PRId64 "; with a padded type it must be a "
                        "multiple of 128",
                        coordinates[0]);
    }
    /* Where this is not so, an H200 stops with an illegal instruction: for loads,
     * stores, reductions and prefetches, every type and swizzle, and boxes that lie wholly
     * outside of the tensor as well. */
    if (coordinates[0] * (int64_t)emu_map_type_bits(map->type) % 128 != 0) {
        return emu_fail(error,
                        "coordinate 0 is %" PRId64
                        ": with this type the box does not begin "
                        "at a multiple of 16 bytes",
                        coordinates[0]);
    }
    return true;
}

bool emu_box_tensor(const struct emu_tensor_map *map, const int64_t *coordinates,
                    unsigned count, bool four_rows, struct emu_box *ret_box,
                    struct emu_error *error)
{
    if (!check_use(map, coordinates, count, four_rows, error)) {
        return false;
    }
    *ret_box = (struct emu_box){.map = *map,
                                .four_rows = four_rows,
                                .swizzle = emu_tensor_map_swizzle(map),
                                .rows = four_rows ? 4 : 1};
    memcpy(ret_box->at, coordinates, count * sizeof(*coordinates));
    for (uint32_t i = 1; i < map->rank && !four_rows; i++) {
        ret_box->rows *= (uint32_t)emu_ceil_div(map->box[i], map->element_stride[i]);
    }
    ret_box->row_bytes = map->box[0] * emu_map_type_bits(map->type) / 8;
    ret_box->shared_bytes =
        emu_map_type_is_padded(map->type) ? map->box[0] : ret_box->row_bytes;
    /* Rows narrower than the swizzle lie as far apart as the widest ones. */
    uint32_t widest = emu_tensor_map_widest_row(map);
    ret_box->pitch_bytes = widest > 0 ? widest : ret_box->shared_bytes;
    ret_box->image_bytes =
        (ret_box->rows - 1) * ret_box->pitch_bytes + ret_box->shared_bytes;
    ret_box->data_bytes = ret_box->rows * ret_box->row_bytes;
    return true;
}

/* Adds the offset of row `row` to *io_address; false when it lies outside of the tensor. */
static bool find_row(const struct emu_box *box, uint32_t row, uint64_t *io_address)
{
    const struct emu_tensor_map *map = &box->map;
    bool inside = true;
    for (uint32_t i = 1; i < map->rank; i++) {
        int64_t at = 0;
        if (box->four_rows) {
            at = box->at[1 + row];
        } else {
            uint32_t count = (uint32_t)emu_ceil_div(map->box[i], map->element_stride[i]);
            at = box->at[i] + (int64_t)(row % count) * map->element_stride[i];
            row /= count;
        }
        inside &= at >= 0 && (uint64_t)at < map->dim[i];
        *io_address += (uint64_t)at * map->stride_bytes[i - 1];
    }
    return inside;
}

struct emu_box_row emu_box_row(const struct emu_box *box, uint32_t row)
{
    struct emu_box_row result = {0};
    if (box->linear) {
        uint32_t left = box->image_bytes - row * LINEAR_ROW;
        result.address = box->address + (uint64_t)row * LINEAR_ROW;
        result.to = left < LINEAR_ROW ? left : LINEAR_ROW;
        return result;
    }
    const struct emu_tensor_map *map = &box->map;
    result.address = map->base;
    if (!find_row(box, row, &result.address)) {
        return result;
    }
    /* Elements [first, last) of the row. */
    int64_t first = box->at[0] < 0 ? -box->at[0] : 0;
    int64_t last = (int64_t)map->dim[0] - box->at[0];
    last = last < map->box[0] ? last : map->box[0];
    if (first >= last) {
        return result;
    }
    int64_t bits = emu_map_type_bits(map->type);
    result.from = (uint32_t)(first * bits / 8);
    result.to = (uint32_t)(last * bits / 8);
    result.address += (uint64_t)((box->at[0] + first) * bits / 8);
    return result;
}

struct emu_box_row emu_box_stored_row(const struct emu_box *box, uint32_t row)
{
    struct emu_box_row result = emu_box_row(box, row);
    if (!box->linear) {
        result.to = (uint32_t)emu_align_up(result.to, 16);
    }
    return result;
}

uint32_t emu_box_middle(const struct emu_box *box)
{
    uint32_t row = box->rows / 2;
    while (row > 0 && row * box->pitch_bytes % LINE != 0) {
        row--;
    }
    return row;
}

/* ------------------------------------------------------------------------ packed types */

/* Groups of 16 elements: how many bytes they take in global memory, of 16 in shared. */
static uint32_t group_bytes(const struct emu_box *box)
{
    return box->map.type == EMU_MAP_U4_ALIGN16 ? 8 : 12;
}

void emu_box_expand(const struct emu_box *box, const uint8_t *from,
                    const uint8_t *from_defined, uint8_t *to, uint8_t *to_defined)
{
    if (box->linear || !emu_map_type_is_padded(box->map.type)) {
        memcpy(to, from, box->row_bytes);
        memcpy(to_defined, from_defined, box->row_bytes);
        return;
    }
    size_t bytes = group_bytes(box);
    memset(to, 0, box->shared_bytes);
    memset(to_defined, EMU_UNDEFINED, box->shared_bytes);
    for (size_t i = 0; i < box->shared_bytes / 16; i++) {
        memcpy(to + 16 * i, from + bytes * i, bytes);
        memcpy(to_defined + 16 * i, from_defined + bytes * i, bytes);
    }
}

/* From shared memory, 6-bit elements come one in a byte: four of them make 3 bytes. */
void emu_box_pack(const struct emu_box *box, const uint8_t *from,
                  const uint8_t *from_defined, uint8_t *to, uint8_t *to_defined)
{
    if (box->linear || box->map.type != EMU_MAP_U6_ALIGN16) {
        memcpy(to, from, box->row_bytes);
        memcpy(to_defined, from_defined, box->row_bytes);
        return;
    }
    for (uint32_t i = 0; i < box->shared_bytes / 4; i++) {
        uint32_t bits = 0;
        bool defined = true;
        for (uint32_t j = 0; j < 4; j++) {
            bits |= (from[4 * i + j] & 0x3Fu) << (6 * j);
            defined &= from_defined[4 * i + j] == EMU_DEFINED;
        }
        for (uint32_t j = 0; j < 3; j++) {
            to[3 * i + j] = (uint8_t)(bits >> (8 * j));
            to_defined[3 * i + j] = defined ? EMU_DEFINED : EMU_UNDEFINED;
        }
    }
}

/* ---------------------------------------------------------------------------- swizzles */

/* Address bits `mask` are flipped by the bits `shift` above them; a second pair likewise.
 * All source bits are bit 7 and above, so doing it twice undoes it. */
static const struct {
    uint8_t mask, shift, mask2, shift2;
    uint16_t period;
} swizzles[EMU_SWIZZLE_COUNT] = {
    [EMU_SWIZZLE_NONE] = {0, 0, 0, 0, 16},
    [EMU_SWIZZLE_32B] = {0x10, 3, 0, 0, 256},
    [EMU_SWIZZLE_64B] = {0x30, 3, 0, 0, 512},
    [EMU_SWIZZLE_128B] = {0x70, 3, 0, 0, 1024},
    [EMU_SWIZZLE_128B_ATOM_32B] = {0x60, 2, 0, 0, 512},
    [EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B] = {0x60, 2, 0x08, 4, 512},
    [EMU_SWIZZLE_128B_ATOM_64B] = {0x40, 1, 0, 0, 256},
    [EMU_SWIZZLE_96B] = {0x10, 3, 0, 0, 256},
};

/* The address in shared memory at which the byte of a dense image lies, and back. */
static uint32_t swizzle_address(enum emu_map_swizzle swizzle, uint32_t address)
{
    return address ^ (address >> swizzles[swizzle].shift & swizzles[swizzle].mask) ^
           (address >> swizzles[swizzle].shift2 & swizzles[swizzle].mask2);
}

uint32_t emu_swizzle_period(enum emu_map_swizzle swizzle)
{
    return swizzles[swizzle].period;
}

/*
 * Walks over the runs of bytes in one line that belong to [begin, end) of the image:
 * image[k] is the byte of the image at line + k, or -1.
 */
struct line_map {
    int64_t image[LINE / GRANULE]; /* by granule */
};

static void map_line(enum emu_map_swizzle swizzle, uint32_t line, uint32_t offset,
                     uint32_t begin, uint32_t end, struct line_map *ret_map)
{
    for (uint32_t i = 0; i < LINE / GRANULE; i++) {
        int64_t at =
            (int64_t)swizzle_address(swizzle, line + i * GRANULE) - (int64_t)offset;
        ret_map->image[i] = at >= begin && at < end ? at : -1;
    }
}

/* The next run of granules from *io_first on; its length, 0 at the end. */
static uint32_t next_run(const struct line_map *map, uint32_t *io_first)
{
    uint32_t first = *io_first;
    while (first < LINE / GRANULE && map->image[first] < 0) {
        first++;
    }
    uint32_t last = first;
    while (last < LINE / GRANULE && map->image[last] >= 0) {
        last++;
    }
    *io_first = first;
    return last - first;
}

bool emu_box_write(const struct emu_actor *actor, struct emu_cta *cta, uint32_t offset,
                   const struct emu_box *box, uint32_t begin, uint32_t end,
                   const uint8_t *data, const uint8_t *defined)
{
    if (box->swizzle == EMU_SWIZZLE_NONE) {
        return emu_shared_write(actor, cta, offset + begin, end - begin, 1, data, defined);
    }
    for (uint32_t line = (offset + begin) / LINE * LINE; line < offset + end;
         line += LINE) {
        struct line_map map;
        uint8_t bytes[LINE];
        uint8_t states[LINE];
        map_line(box->swizzle, line, offset, begin, end, &map);
        uint32_t first = 0;
        for (uint32_t run = next_run(&map, &first); run > 0; run = next_run(&map, &first)) {
            for (uint32_t i = 0; i < run; i++) {
                size_t from = (size_t)(map.image[first + i] - begin);
                memcpy(bytes + (size_t)i * GRANULE, data + from, GRANULE);
                memcpy(states + (size_t)i * GRANULE, defined + from, GRANULE);
            }
            if (!emu_shared_write(actor, cta, line + first * GRANULE, run * GRANULE, 1,
                                  bytes, states)) {
                return false;
            }
            first += run;
        }
    }
    return true;
}

bool emu_box_read(const struct emu_actor *actor, struct emu_cta *cta, uint32_t offset,
                  const struct emu_box *box, uint32_t begin, uint32_t end, uint8_t *data,
                  uint8_t *defined)
{
    if (box->swizzle == EMU_SWIZZLE_NONE) {
        return emu_shared_read(actor, cta, offset + begin, end - begin, 1, data, defined);
    }
    for (uint32_t line = (offset + begin) / LINE * LINE; line < offset + end;
         line += LINE) {
        struct line_map map;
        uint8_t bytes[LINE];
        uint8_t states[LINE];
        map_line(box->swizzle, line, offset, begin, end, &map);
        uint32_t first = 0;
        for (uint32_t run = next_run(&map, &first); run > 0; run = next_run(&map, &first)) {
            if (!emu_shared_read(actor, cta, line + first * GRANULE, run * GRANULE, 1,
                                 bytes, states)) {
                return false;
            }
            for (uint32_t i = 0; i < run; i++) {
                size_t to = (size_t)(map.image[first + i] - begin);
                memcpy(data + to, bytes + (size_t)i * GRANULE, GRANULE);
                memcpy(defined + to, states + (size_t)i * GRANULE, GRANULE);
            }
            first += run;
        }
    }
    return true;
}

/* ----------------------------------------------------------------------------- origins */

/* Of element 0 of a row, inside of the tensor or not. */
static uint64_t find_row_begin(const struct emu_box *box, uint32_t row)
{
    if (box->linear) {
        return box->address + (uint64_t)row * LINEAR_ROW;
    }
    uint64_t address = box->map.base;
    (void)find_row(box, row, &address);
    return address + (uint64_t)(box->at[0] * (int64_t)emu_map_type_bits(box->map.type) / 8);
}

static const struct emu_delivery *make_delivery(struct emu_cluster *cluster,
                                                const struct emu_box *box,
                                                const struct emu_delivery *how)
{
    struct emu_delivery delivery = *how;
    delivery.tensor = box->linear ? ~(uint64_t)how->insn->index : box->map.base;
    delivery.address = find_row_begin(box, 0);
    delivery.rank = box->linear ? 0 : box->four_rows ? EMU_MAP_RANK : box->map.rank;
    memcpy(delivery.at, box->at, sizeof(delivery.at));
    return emu_delivery_new(cluster, &delivery);
}

void emu_box_note_origins(struct emu_cta *cta, uint32_t offset, const struct emu_box *box,
                          uint32_t first, uint32_t last, const struct emu_delivery *how)
{
    const struct emu_delivery *delivery = make_delivery(cta->cluster, box, how);
    const uint32_t step = !box->linear && emu_map_type_is_padded(box->map.type)
                              ? group_bytes(box)
                              : EMU_ORIGIN_BYTES;
    for (uint32_t row = first; row < last; row++) {
        const uint32_t begin = row * box->pitch_bytes;
        const uint32_t left = box->image_bytes - begin;
        const uint32_t bytes = left < box->shared_bytes ? left : box->shared_bytes;
        const uint64_t from = find_row_begin(box, row);
        for (uint32_t at = 0; at < bytes; at += EMU_ORIGIN_BYTES) {
            *emu_origin_at(cta, swizzle_address(box->swizzle, offset + begin + at)) =
                (struct emu_origin){
                    .delivery = delivery,
                    .address = from + (uint64_t)(at / EMU_ORIGIN_BYTES) * step,
                    /* A plain run has no rows: it is one. */
                    .row = box->linear ? delivery->address : from,
                };
        }
    }
}
