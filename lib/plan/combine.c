/* SPDX-License-Identifier: MIT */
#include "plan/combine.h"

#include "base/error.h"
#include "plan/dtype.h"
#include "plan/text.h"

static bool is_type(jit_gemm_dtype dtype)
{
    return dtype == JIT_GEMM_DTYPE_BF16 || dtype == JIT_GEMM_DTYPE_F16 ||
           dtype == JIT_GEMM_DTYPE_F32;
}

static jit_gemm_status check_type(const char *field, jit_gemm_dtype dtype)
{
    if (!is_type(dtype)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                       "give JIT_GEMM_DTYPE_BF16, F16 or F32",
                       "there is no kernel that adds up rows of type %d", (int)dtype);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_combine_check(const struct jg_combine *combine)
{
    JG_TRY(check_type("rows", combine->rows));
    JG_TRY(check_type("d", combine->d));
    if (combine->chosen < 1 || combine->chosen > JG_COMBINE_MOST) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "chosen",
                       "give the rows that make one, 1 to 64", "must be 1 to %d, is %u",
                       JG_COMBINE_MOST, combine->chosen);
    }
    return JIT_GEMM_OK;
}

void jg_combine_text(const struct jg_combine *combine, struct jg_str *out)
{
    jg_str_printf(out, "combine rows=%s d=%s chosen=%u", jg_dtype_name(combine->rows),
                  jg_dtype_name(combine->d), combine->chosen);
}

/* Reads one `key=value`; false if that is none of a combine. */
static bool parse_word(const struct jg_word *word, struct jg_combine *combine)
{
    int64_t chosen = 0;
    if (word->value == NULL) {
        return false;
    }
    if (jg_word_is(word->key, word->key_size, "rows")) {
        return jg_dtype_parse(word->value, word->value_size, &combine->rows);
    }
    if (jg_word_is(word->key, word->key_size, "d")) {
        return jg_dtype_parse(word->value, word->value_size, &combine->d);
    }
    if (!jg_word_is(word->key, word->key_size, "chosen") ||
        !jg_number_parse(word->value, word->value_size, 1, JG_COMBINE_MOST, &chosen)) {
        return false;
    }
    combine->chosen = (uint32_t)chosen;
    return true;
}

jit_gemm_status jg_combine_parse(const char *text, struct jg_combine *ret_combine)
{
    static const char hint[] = "write: combine rows=bf16 d=bf16 chosen=8";
    struct jg_combine combine = {0};
    struct jg_word word;
    size_t offset = 0;
    while (jg_word_next(text, &offset, &word)) {
        if (!parse_word(&word, &combine)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "combine", hint,
                           "%s is nothing of a combine",
                           jg_quote(word.key, jg_word_size(&word)).text);
        }
    }
    if (!is_type(combine.rows) || !is_type(combine.d) || combine.chosen == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "combine", hint,
                       "says not which types rows and D have, of bf16, f16 and f32, and "
                       "how many rows make one");
    }
    *ret_combine = combine;
    return JIT_GEMM_OK;
}
