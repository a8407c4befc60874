/* SPDX-License-Identifier: MIT */
#include "api/manifest_lines.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/epilogue.h"
#include "plan/text.h"

jit_gemm_status jg_manifest_fail(const struct jg_lines *reader, jit_gemm_status status,
                                 const char *hint, const char *text)
{
    char where[JIT_GEMM_NAME_SIZE + 64];
    if (reader->block != NULL) {
        snprintf(where, sizeof(where), "manifest line %zu, epilogue '%s'", reader->line,
                 reader->block);
    } else {
        snprintf(where, sizeof(where), "manifest line %zu", reader->line);
    }
    return jg_fail(status, where, hint, "%s", text);
}

jit_gemm_status jg_manifest_forward(const struct jg_lines *reader, jit_gemm_status status)
{
    if (status == JIT_GEMM_OK || status == JIT_GEMM_ERR_COMPILE ||
        status == JIT_GEMM_ERR_NO_MEMORY) {
        return status;
    }
    return jg_manifest_fail(reader, status, "", jg_error_text());
}

bool jg_manifest_take(const struct jg_lines *reader, const char *keyword,
                      const char **ret_rest, size_t *ret_size)
{
    const size_t size = strlen(keyword);
    if (reader->length <= size || memcmp(reader->start, keyword, size) != 0 ||
        (reader->start[size] != ' ' && reader->start[size] != '\t')) {
        return false;
    }
    struct jg_lines rest = {.start = reader->start + size, .length = reader->length - size};
    jg_line_trim(&rest);
    *ret_rest = rest.start;
    *ret_size = rest.length;
    return true;
}

/* Does the line say where a text of the user's stands? A file's name may have a '#'. */
static bool has_file_name(const struct jg_lines *reader)
{
    const char *rest = NULL;
    size_t size = 0;
    return jg_manifest_take(reader, "source", &rest, &size) ||
           jg_manifest_take(reader, "code", &rest, &size);
}

bool jg_manifest_next(struct jg_lines *reader)
{
    while (jg_lines_next(reader)) {
        jg_line_trim(reader);
        if (jg_line_is_skipped(reader)) {
            continue;
        }
        if (!has_file_name(reader)) {
            jg_line_cut_comment(reader);
        }
        return true;
    }
    return false;
}

static size_t first_word_size(const struct jg_lines *reader)
{
    size_t size = 0;
    while (size < reader->length && reader->start[size] != ' ' &&
           reader->start[size] != '\t') {
        size++;
    }
    return size;
}

static const char *const item_words[] = {"epilogue", "problem", "pack",
                                         "combine",  "arch",    "plan_for"};
static const char *const draft_words[] = {"operand", "snippet", "source", "code", "end"};
enum {
    ITEM_WORDS = sizeof(item_words) / sizeof(item_words[0]),
    DRAFT_WORDS = sizeof(draft_words) / sizeof(draft_words[0])
};

static bool begins_with_one_of(const struct jg_lines *reader, const char *const *words,
                               size_t count)
{
    const size_t size = first_word_size(reader);
    for (size_t i = 0; i < count; i++) {
        if (jg_word_is(reader->start, size, words[i])) {
            return true;
        }
    }
    return false;
}

/* The item does not begin with one of these words. */
static jit_gemm_status fail_unknown_item(const struct jg_lines *reader, const char *what,
                                         const char *const *words, size_t count)
{
    const size_t size = first_word_size(reader);
    struct jg_nearest nearest = jg_nearest_begin(reader->start, size);
    struct jg_key_list list = {"begin the line with"};
    for (size_t i = 0; i < count; i++) {
        jg_key_list_add(&list, words[i]);
        jg_nearest_try(&nearest, words[i], strlen(words[i]));
    }
    jg_key_list_ask(&list, &nearest);
    char text[160];
    snprintf(text, sizeof(text), "%s %s", jg_quote(reader->start, size).text, what);
    return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, list.text, text);
}

jit_gemm_status jg_manifest_fail_in_epilogue(const struct jg_lines *reader)
{
    static const char block[] = "write: snippet, its lines, end";
    char text[160];
    const struct jg_quoted word = jg_quote(reader->start, first_word_size(reader));
    if (jg_line_is(reader, "end")) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, block,
                                "the epilogue ends without a snippet");
    }
    if (begins_with_one_of(reader, item_words, ITEM_WORDS)) {
        snprintf(text, sizeof(text), "%s stands inside of an epilogue", word.text);
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, block, text);
    }
    if (begins_with_one_of(reader, draft_words, DRAFT_WORDS)) {
        const bool is_snippet =
            jg_word_is(reader->start, first_word_size(reader), "snippet");
        snprintf(text, sizeof(text), "something stands behind %s, or is missing there",
                 word.text);
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT,
                                is_snippet ? "begin the text in the next line" : block,
                                text);
    }
    return fail_unknown_item(reader, "begins no line of an epilogue", draft_words,
                             DRAFT_WORDS - 1);
}

jit_gemm_status jg_manifest_fail_item(const struct jg_lines *reader)
{
    char text[160];
    const struct jg_quoted word = jg_quote(reader->start, first_word_size(reader));
    if (begins_with_one_of(reader, draft_words, DRAFT_WORDS)) {
        snprintf(text, sizeof(text), "%s stands outside of an epilogue", word.text);
        return jg_manifest_fail(
            reader, JIT_GEMM_ERR_ARGUMENT,
            "write: epilogue NAME, its operands, snippet, its lines, end", text);
    }
    if (begins_with_one_of(reader, item_words, ITEM_WORDS)) {
        snprintf(text, sizeof(text), "nothing stands behind %s", word.text);
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT,
                                "say which, in the same line", text);
    }
    return fail_unknown_item(reader, "begins no line of a manifest", item_words,
                             ITEM_WORDS);
}
