/* SPDX-License-Identifier: MIT */
#include "plan/scale.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "plan/dtype.h"
#include "plan/text.h"

/* The scales that there are. */
static const struct form {
    const char *name;
    jit_gemm_scale scale;
} forms[] = {
    {"none", {.kind = JIT_GEMM_SCALE_NONE}},
    {"tensor", {.kind = JIT_GEMM_SCALE_TENSOR, .dtype = JIT_GEMM_DTYPE_F32}},
    {"vector", {.kind = JIT_GEMM_SCALE_VECTOR, .dtype = JIT_GEMM_DTYPE_F32}},
    {"1x128",
     {.kind = JIT_GEMM_SCALE_BLOCK,
      .dtype = JIT_GEMM_DTYPE_F32,
      .block_mn = 1,
      .block_k = 128}},
    {"128x128",
     {.kind = JIT_GEMM_SCALE_BLOCK,
      .dtype = JIT_GEMM_DTYPE_F32,
      .block_mn = 128,
      .block_k = 128}},
    {"1x128ue8m0",
     {.kind = JIT_GEMM_SCALE_BLOCK,
      .dtype = JIT_GEMM_DTYPE_UE8M0,
      .block_mn = 1,
      .block_k = 128}},
    {"128x128ue8m0",
     {.kind = JIT_GEMM_SCALE_BLOCK,
      .dtype = JIT_GEMM_DTYPE_UE8M0,
      .block_mn = 128,
      .block_k = 128}},
    {"mx",
     {.kind = JIT_GEMM_SCALE_BLOCK,
      .dtype = JIT_GEMM_DTYPE_UE8M0,
      .block_mn = 1,
      .block_k = 32}},
    {"nv",
     {.kind = JIT_GEMM_SCALE_BLOCK,
      .dtype = JIT_GEMM_DTYPE_UE4M3,
      .block_mn = 1,
      .block_k = 16}},
};

enum { FORM_COUNT = sizeof(forms) / sizeof(forms[0]) };

/* An element type and its scales under one name. */
static const struct format {
    const char *name;
    jit_gemm_dtype dtype;
    const char *scale;
} formats[] = {
    {"mxfp8", JIT_GEMM_DTYPE_E4M3, "mx"},
    {"mxfp8e5m2", JIT_GEMM_DTYPE_E5M2, "mx"},
    {"mxfp4", JIT_GEMM_DTYPE_E2M1, "mx"},
    {"nvfp4", JIT_GEMM_DTYPE_E2M1, "nv"},
};

enum { FORMAT_COUNT = sizeof(formats) / sizeof(formats[0]) };

static const char *const layout_names[] = {[JIT_GEMM_SCALE_LAYOUT_ROW] = "row",
                                           [JIT_GEMM_SCALE_LAYOUT_COLUMN] = "column",
                                           [JIT_GEMM_SCALE_LAYOUT_128X4] = "128x4",
                                           [JIT_GEMM_SCALE_LAYOUT_8X4] = "8x4",
                                           [JIT_GEMM_SCALE_LAYOUT_MN_K4] = "mn_k4"};

enum { LAYOUT_COUNT = sizeof(layout_names) / sizeof(layout_names[0]) };

/* NULL if the fields make none; a type that is left out fits. */
static const struct form *find_form(const jit_gemm_scale *scale)
{
    for (int i = 0; i < FORM_COUNT; i++) {
        const jit_gemm_scale *form = &forms[i].scale;
        if (scale->kind == form->kind && scale->block_mn == form->block_mn &&
            scale->block_k == form->block_k &&
            (scale->dtype == form->dtype || scale->dtype == JIT_GEMM_DTYPE_NONE)) {
            return &forms[i];
        }
    }
    return NULL;
}

/* --------------------------------------------------------------------------- names */

const char *jg_scale_name(const jit_gemm_scale *scale)
{
    const struct form *form = find_form(scale);
    return form != NULL ? form->name : "unknown";
}

bool jg_scale_parse(const char *text, size_t size, jit_gemm_scale *scale)
{
    for (int i = 0; i < FORM_COUNT; i++) {
        if (jg_word_is(text, size, forms[i].name)) {
            const uint32_t layout = scale->layout;
            *scale = forms[i].scale;
            scale->layout = layout;
            return true;
        }
    }
    return false;
}

bool jg_scale_format_parse(const char *text, size_t size, jit_gemm_matrix *matrix)
{
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (jg_word_is(text, size, formats[i].name)) {
            matrix->dtype = formats[i].dtype;
            matrix->scale.layout = JIT_GEMM_SCALE_LAYOUT_128X4; /* the tensor core's */
            return jg_scale_parse(formats[i].scale, strlen(formats[i].scale),
                                  &matrix->scale);
        }
    }
    return false;
}

void jg_scale_format_nearest(struct jg_nearest *nearest)
{
    static const char *const other_names[][2] = {
        {"mxfp8e4m3", "mxfp8"},    {"mxf8", "mxfp8"},
        {"mxfloat8", "mxfp8"},     {"mxf8e5m2", "mxfp8e5m2"},
        {"mxf4", "mxfp4"},         {"mxfloat4", "mxfp4"},
        {"nvf4", "nvfp4"},         {"fp4", "nvfp4"},
        {"f4", "nvfp4"},           {"float4", "nvfp4"},
        {"e2m1fn", "nvfp4"},       {"float4e2m1", "nvfp4"},
        {"float4e2m1fn", "nvfp4"}, {"float4e2m1fnx2", "nvfp4"},
        {"fp4e2m1", "nvfp4"}};
    for (int i = 0; i < FORMAT_COUNT; i++) {
        jg_nearest_try(nearest, formats[i].name, strlen(formats[i].name));
        jg_nearest_other(nearest, formats[i].name, formats[i].name); /* nv_fp4 */
    }
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++) {
        jg_nearest_other(nearest, other_names[i][0], other_names[i][1]);
    }
}

void jg_scale_nearest(struct jg_nearest *nearest)
{
    static const char *const other_names[][2] = {{"tensorwise", "tensor"},
                                                 {"pertensor", "tensor"},
                                                 {"scalar32f", "tensor"},
                                                 {"rowwise", "vector"},
                                                 {"perrow", "vector"},
                                                 {"pertoken", "vector"},
                                                 {"perchannel", "vector"},
                                                 {"outervec32f", "vector"},
                                                 {"blockwise1x128", "1x128"},
                                                 {"vec12832f", "1x128"},
                                                 {"blockwise", "128x128"},
                                                 {"blockwise128x128", "128x128"},
                                                 {"blk128x12832f", "128x128"},
                                                 {"vec128ue8m0", "1x128ue8m0"},
                                                 {"1x32", "mx"},
                                                 {"blockwise1x32", "mx"},
                                                 {"vec32ue8m0", "mx"},
                                                 {"mxfp8", "mx"},
                                                 {"mxfp4", "mx"},
                                                 {"1x16", "nv"},
                                                 {"blockwise1x16", "nv"},
                                                 {"vec16ue4m3", "nv"},
                                                 {"nvfp4", "nv"}};
    for (int i = 0; i < FORM_COUNT; i++) {
        jg_nearest_try(nearest, forms[i].name, strlen(forms[i].name));
    }
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++) {
        jg_nearest_other(nearest, other_names[i][0], other_names[i][1]);
    }
}

void jg_scale_layout_nearest(struct jg_nearest *nearest)
{
    static const char *const other_names[][2] = {
        {"swizzled", "128x4"}, {"swizzle", "128x4"},      {"swizzle3244", "128x4"},
        {"blocked", "128x4"},  {"layout128x4", "128x4"},  {"layout8x4", "8x4"},
        {"noswizzle", "row"},  {"layoutlinear", "row"},   {"rowmajor", "row"},
        {"kmajor", "row"},     {"columnmajor", "column"}, {"colmajor", "column"},
        {"mnmajor", "column"}, {"deepgemm", "mn_k4"},     {"mnk4ue8m0", "mn_k4"}};
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        jg_nearest_try(nearest, layout_names[i], strlen(layout_names[i]));
    }
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++) {
        jg_nearest_other(nearest, other_names[i][0], other_names[i][1]);
    }
}

const char *jg_scale_layout_name(uint32_t layout)
{
    return layout < LAYOUT_COUNT ? layout_names[layout] : "unknown";
}

bool jg_scale_layout_parse(const char *text, size_t size, uint32_t *ret_layout)
{
    if (jg_word_is(text, size, "linear")) { /* as quantisers call it */
        *ret_layout = JIT_GEMM_SCALE_LAYOUT_ROW;
        return true;
    }
    for (uint32_t i = 0; i < LAYOUT_COUNT; i++) {
        if (jg_word_is(text, size, layout_names[i])) {
            *ret_layout = i;
            return true;
        }
    }
    return false;
}

/* -------------------------------------------------------------------------- checks */

/* Name of a field, for messages: "problem.a.scale.kind", or "scale.kind" of no problem. */
struct field_name {
    char text[40];
};

static struct field_name field_of(char letter, const char *member)
{
    struct field_name name;
    if (letter == '\0') {
        snprintf(name.text, sizeof(name.text), "scale.%s", member);
    } else {
        snprintf(name.text, sizeof(name.text), "problem.%c.scale.%s", letter, member);
    }
    return name;
}

/* Of a scale that is not one of blocks. */
static jit_gemm_status check_no_block(char letter, const char *member, uint32_t value)
{
    if (value != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(letter, member).text,
                       "leave it zero, or give the kind JIT_GEMM_SCALE_BLOCK",
                       "must be 0, is %u: the scale is none of blocks", value);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_dtype(char letter, const jit_gemm_scale *scale)
{
    const struct field_name field = field_of(letter, "dtype");
    if (!jg_dtype_exists(scale->dtype)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field.text, "give f32, or zero",
                       "%d is no element type", (int)scale->dtype);
    }
    if (scale->kind == JIT_GEMM_SCALE_NONE && scale->dtype != JIT_GEMM_DTYPE_NONE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field.text,
                       "leave it zero, or give the scale a kind",
                       "a type of scales is given, but there is no scale");
    }
    if (find_form(scale) == NULL) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field.text, "give f32, or zero",
                       "there is no kernel for scales of type %s",
                       jg_dtype_name(scale->dtype));
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_block(char letter, const jit_gemm_scale *scale)
{
    if (find_form(scale) == NULL) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field_of(letter, "block_k").text,
                       "give blocks of 1x128 or 128x128 and f32 or ue8m0, of 1x32 and "
                       "ue8m0, or of 1x16 and ue4m3",
                       "there are no scales of blocks of %ux%u and type %s",
                       scale->block_mn, scale->block_k, jg_dtype_name(scale->dtype));
    }
    if (scale->layout >= LAYOUT_COUNT) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(letter, "layout").text,
                       "give JIT_GEMM_SCALE_LAYOUT_ROW, _COLUMN, _128X4, _8X4 or _MN_K4",
                       "must be 0 to %d, is %u", LAYOUT_COUNT - 1, scale->layout);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_plain(char letter, const jit_gemm_scale *scale)
{
    JG_TRY(check_no_block(letter, "block_mn", scale->block_mn));
    JG_TRY(check_no_block(letter, "block_k", scale->block_k));
    JG_TRY(check_no_block(letter, "layout", scale->layout));
    return check_dtype(letter, scale);
}

jit_gemm_status jg_scale_check(char letter, const jit_gemm_scale *scale)
{
    if ((unsigned)scale->kind > JIT_GEMM_SCALE_BLOCK) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(letter, "kind").text,
                       "give JIT_GEMM_SCALE_NONE, _TENSOR, _VECTOR or _BLOCK",
                       "must be 0 to 3, is %d", (int)scale->kind);
    }
    if (scale->reserved != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(letter, "reserved").text,
                       "zero the struct before filling it", "must be 0, is %u",
                       scale->reserved);
    }
    return scale->kind == JIT_GEMM_SCALE_BLOCK ? check_block(letter, scale)
                                               : check_plain(letter, scale);
}

void jg_scale_complete(jit_gemm_scale *scale)
{
    const struct form *form = find_form(scale);
    if (form != NULL) {
        scale->dtype = form->scale.dtype;
    }
}

bool jg_scale_is_square(const jit_gemm_scale *scale)
{
    return scale->kind == JIT_GEMM_SCALE_BLOCK && scale->block_mn > 1;
}

bool jg_scale_is_multiplied(const jit_gemm_scale *scale)
{
    return scale->kind == JIT_GEMM_SCALE_BLOCK && jg_dtype_bits(scale->dtype) == 8;
}

jit_gemm_scale jg_scale_pieces(const jit_gemm_scale *scale)
{
    jit_gemm_scale pieces = *scale;
    pieces.block_mn = 1;
    pieces.layout = JIT_GEMM_SCALE_LAYOUT_128X4;
    return pieces;
}

bool jg_scale_is_packed_first(const jit_gemm_scale *scale)
{
    return jg_scale_is_multiplied(scale) &&
           (scale->block_mn > 1 || scale->layout != JIT_GEMM_SCALE_LAYOUT_128X4);
}

/* Scales of one byte lie in any layout, those of f32 in rows or columns. */
static jit_gemm_status check_layout_of_type(char letter, const jit_gemm_scale *scale)
{
    return jg_dtype_bits(scale->dtype) == 8 || scale->layout <= JIT_GEMM_SCALE_LAYOUT_COLUMN
               ? JIT_GEMM_OK
               : jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field_of(letter, "layout").text,
                         "give the layout row or column",
                         "there is no kernel for scale %s of %c in layout %s, which is one "
                         "of scales of one byte",
                         jg_scale_name(scale), toupper(letter),
                         jg_scale_layout_name(scale->layout));
}

jit_gemm_status jg_scale_check_kernel(char letter, const jit_gemm_scale *scale)
{
    const bool is_input = letter == 'a' || letter == 'b';
    const bool is_block = scale->kind == JIT_GEMM_SCALE_BLOCK;
    if (scale->kind == JIT_GEMM_SCALE_NONE || (is_input && !is_block)) {
        return JIT_GEMM_OK;
    }
    if (is_input || (letter == 'd' && is_block)) {
        return check_layout_of_type(letter, scale);
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field_of(letter, "kind").text,
                   letter == 'd' ? "give one of blocks, such as 1x128, or multiply in an "
                                   "epilogue"
                                 : "leave it zero, and multiply in an epilogue",
                   "there is no kernel for scale %s of %c yet", jg_scale_name(scale),
                   toupper(letter));
}

bool jg_scale_takes(const jit_gemm_scale *scale, jit_gemm_dtype dtype)
{
    if (jg_dtype_is_scaled(dtype)) {
        return jg_scale_is_multiplied(scale) && scale->block_k <= 32;
    }
    return jg_dtype_is_fp8(dtype) && scale->dtype != JIT_GEMM_DTYPE_UE4M3;
}

/* ---------------------------------------------------------------------------- sizes */

enum {
    COLUMN_STEP = 4, /* what a column of scales is rounded up to */
    PIECE_ROWS = JG_SCALE_PIECE_ROWS,
    SMALL_ROWS = 8, /* of the layout 8x4 */
    PIECE_BLOCKS = JG_SCALE_PIECE_BLOCKS
};

struct jg_scale_extent jg_scale_extent(const jit_gemm_scale *scale, int64_t mn, int64_t k)
{
    const int64_t rows = jg_ceil_div(mn, scale->block_mn);
    const int64_t blocks = jg_ceil_div(k, scale->block_k);
    switch ((jit_gemm_scale_layout)scale->layout) {
    case JIT_GEMM_SCALE_LAYOUT_ROW:
        break;
    case JIT_GEMM_SCALE_LAYOUT_COLUMN:
        return (struct jg_scale_extent){blocks, jg_align_up(rows, COLUMN_STEP)};
    case JIT_GEMM_SCALE_LAYOUT_128X4:
        return (struct jg_scale_extent){jg_ceil_div(rows, PIECE_ROWS),
                                        jg_align_up(blocks, PIECE_BLOCKS) * PIECE_ROWS};
    case JIT_GEMM_SCALE_LAYOUT_8X4:
        return (struct jg_scale_extent){jg_ceil_div(rows, SMALL_ROWS),
                                        jg_align_up(blocks, PIECE_BLOCKS) * SMALL_ROWS};
    case JIT_GEMM_SCALE_LAYOUT_MN_K4:
        return (struct jg_scale_extent){jg_ceil_div(blocks, PIECE_BLOCKS),
                                        jg_align_up(rows, COLUMN_STEP) * PIECE_BLOCKS};
    }
    return (struct jg_scale_extent){rows, blocks};
}

int64_t jg_scale_index(const jit_gemm_scale *scale, int64_t rows, int64_t blocks,
                       int64_t row, int64_t block)
{
    const int64_t words = jg_ceil_div(blocks, PIECE_BLOCKS), word = block / PIECE_BLOCKS;
    const int64_t byte = block % PIECE_BLOCKS;
    switch ((jit_gemm_scale_layout)scale->layout) {
    case JIT_GEMM_SCALE_LAYOUT_ROW:
        break;
    case JIT_GEMM_SCALE_LAYOUT_COLUMN:
        return block * jg_align_up(rows, COLUMN_STEP) + row;
    case JIT_GEMM_SCALE_LAYOUT_128X4: /* 32 rows of 4 words, of rows 32 apart */
        return (row / PIECE_ROWS * words + word) * PIECE_ROWS * PIECE_BLOCKS +
               (row % 32 * 4 + row % PIECE_ROWS / 32) * PIECE_BLOCKS + byte;
    case JIT_GEMM_SCALE_LAYOUT_8X4:
        return ((row / SMALL_ROWS * words + word) * SMALL_ROWS + row % SMALL_ROWS) *
                   PIECE_BLOCKS +
               byte;
    case JIT_GEMM_SCALE_LAYOUT_MN_K4:
        return (word * jg_align_up(rows, COLUMN_STEP) + row) * PIECE_BLOCKS + byte;
    }
    return row * blocks + block;
}

jit_gemm_status jg_scale_check_layout(const char *field, const jit_gemm_scale *scale)
{
    const bool is_byte = jg_dtype_bits(scale->dtype) == 8;
    if (scale->layout >= LAYOUT_COUNT ||
        (!is_byte && scale->layout > JIT_GEMM_SCALE_LAYOUT_COLUMN)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       is_byte ? "give a jit_gemm_scale_layout"
                               : "give JIT_GEMM_SCALE_LAYOUT_ROW or _COLUMN",
                       "%u is no layout of scales of type %s", scale->layout,
                       jg_dtype_name(scale->dtype));
    }
    return JIT_GEMM_OK;
}
