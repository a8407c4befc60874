/* SPDX-License-Identifier: MIT */
#include "plan/pack.h"

#include "base/error.h"
#include "plan/dtype.h"
#include "plan/scale.h"
#include "plan/text.h"

/* Elements of one dimension: then products of two, and bytes, are in range. */
#define MOST_ELEMENTS (INT64_C(1) << 31)

jit_gemm_status jg_pack_read_scale(const jit_gemm_scale *user, jit_gemm_scale *ret_scale)
{
    if (user == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "scale", "give the scale of a matrix",
                       "is NULL");
    }
    if (user->kind != JIT_GEMM_SCALE_BLOCK) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "scale.kind", "give JIT_GEMM_SCALE_BLOCK",
                       "scales of kind %d are none of blocks", (int)user->kind);
    }
    JG_TRY(jg_scale_check('\0', user));
    jit_gemm_scale scale = *user;
    jg_scale_complete(&scale);
    JG_TRY(jg_scale_check_layout("scale.layout", &scale));
    *ret_scale = scale;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_pack_make(const jit_gemm_scale *scale, uint32_t to_layout,
                             struct jg_pack *ret_pack)
{
    jit_gemm_scale after = *scale;
    after.layout = to_layout;
    JG_TRY(jg_scale_check_layout("to_layout", &after));
    *ret_pack = (struct jg_pack){.element_bytes = (uint32_t)jg_bytes_of(scale->dtype, 1),
                                 .from = scale->layout,
                                 .to = to_layout};
    return JIT_GEMM_OK;
}

jit_gemm_status jg_pack_check_size(const char *field, int64_t size)
{
    if (size < 1 || size > MOST_ELEMENTS) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "give elements, 1 to 2^31",
                       "must be 1 to %lld, is %lld", (long long)MOST_ELEMENTS,
                       (long long)size);
    }
    return JIT_GEMM_OK;
}

uint32_t jg_pack_unit(uint32_t layout)
{
    return layout > JIT_GEMM_SCALE_LAYOUT_COLUMN ? 4 : 1;
}

void jg_pack_text(const struct jg_pack *pack, struct jg_str *out)
{
    jg_str_printf(out, "pack bytes=%u from=%s to=%s", pack->element_bytes,
                  jg_scale_layout_name(pack->from), jg_scale_layout_name(pack->to));
}

static const char pack_hint[] = "write: pack bytes=1 from=row to=128x4";

/* Reads one `key=value`; false if that is none of a pack. */
static bool parse_word(const struct jg_word *word, struct jg_pack *pack)
{
    int64_t bytes = 0;
    if (word->value == NULL) {
        return false;
    }
    if (jg_word_is(word->key, word->key_size, "bytes")) {
        if (!jg_number_parse(word->value, word->value_size, 1, 4, &bytes)) {
            return false;
        }
        pack->element_bytes = (uint32_t)bytes;
        return true;
    }
    if (jg_word_is(word->key, word->key_size, "from")) {
        return jg_scale_layout_parse(word->value, word->value_size, &pack->from);
    }
    return jg_word_is(word->key, word->key_size, "to") &&
           jg_scale_layout_parse(word->value, word->value_size, &pack->to);
}

/* Layouts of words are those of scales of one byte. */
static bool is_possible(const struct jg_pack *pack)
{
    return pack->element_bytes == 1 ||
           (pack->element_bytes == 4 && jg_pack_unit(pack->from) == 1 &&
            jg_pack_unit(pack->to) == 1);
}

jit_gemm_status jg_pack_parse(const char *text, struct jg_pack *ret_pack)
{
    struct jg_pack pack = {0};
    struct jg_word word;
    size_t offset = 0;
    while (jg_word_next(text, &offset, &word)) {
        if (!parse_word(&word, &pack)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "pack", pack_hint,
                           "%s is nothing of a pack",
                           jg_quote(word.key, jg_word_size(&word)).text);
        }
    }
    if (!is_possible(&pack)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "pack", pack_hint,
                       "there are no scales of %u bytes from %s to %s", pack.element_bytes,
                       jg_scale_layout_name(pack.from), jg_scale_layout_name(pack.to));
    }
    *ret_pack = pack;
    return JIT_GEMM_OK;
}
