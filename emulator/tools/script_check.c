/* SPDX-License-Identifier: MIT */
/* `check`: comparisons that a launch file asks for. */
#include <stdio.h>
#include <string.h>

#include "tools/words.h"

/* "A:mk": buffer and order; the last letter is the contiguous dimension. */
static bool parse_matrix(struct emu_words *words, const char *value, const char *letters,
                         struct emu_script_matrix *ret_matrix)
{
    char name[32] = "";
    const char *colon = strchr(value, ':');
    char swapped[3] = {letters[1], letters[0], 0};
    if (colon == NULL || colon - value > 31) {
        return emu_words_fail(words, "`%s` is not like A:%s", value, letters);
    }
    snprintf(name, sizeof(name), "%.*s", (int)(colon - value), value);
    ret_matrix->buffer = emu_script_find_buffer(words->script, name);
    if (ret_matrix->buffer == EMU_SCRIPT_NONE) {
        return emu_words_fail(words, "there is no buffer `%s` above", name);
    }
    ret_matrix->first_inner = strcmp(colon + 1, swapped) == 0;
    return ret_matrix->first_inner || strcmp(colon + 1, letters) == 0 ||
           emu_words_fail(words, "the order `%s` is neither %s nor %s", colon + 1, letters,
                          swapped);
}

static bool parse_scale(struct emu_words *words, const char *value,
                        struct emu_script_scale *ret_scale)
{
    ret_scale->buffer = emu_script_find_buffer(words->script, value);
    return ret_scale->buffer != EMU_SCRIPT_NONE ||
           emu_parse_real(value, &ret_scale->value) ||
           emu_words_fail(words, "`%s` is neither a number nor a buffer", value);
}

static bool parse_size(struct emu_words *words, const char *value, uint64_t *ret_size)
{
    return (emu_parse_number(value, ret_size) && *ret_size > 0 &&
            *ret_size <= UINT32_MAX) ||
           emu_words_fail(words, "`%s` is not a size", value);
}

static bool parse_number(struct emu_words *words, const char *value, double *ret_real)
{
    return emu_parse_real(value, ret_real) ||
           emu_words_fail(words, "`%s` is not a number", value);
}

static bool parse_pair(struct emu_words *words, struct emu_script_action *gemm,
                       const char *key, const char *value)
{
    struct {
        const char *key;
        struct emu_script_matrix *matrix;
        const char *letters;
    } matrices[] = {{"d", &gemm->d, "mn"},
                    {"a", &gemm->a, "mk"},
                    {"b", &gemm->b, "nk"},
                    {"c", &gemm->c, "mn"}};
    struct {
        const char *key;
        uint64_t *size;
    } sizes[] = {{"m", &gemm->m},         {"n", &gemm->n},         {"k", &gemm->k},
                 {"ldd", &gemm->d.pitch}, {"lda", &gemm->a.pitch}, {"ldb", &gemm->b.pitch},
                 {"ldc", &gemm->c.pitch}};
    struct {
        const char *key;
        double *number;
    } numbers[] = {{"alpha", &gemm->alpha},
                   {"beta", &gemm->beta},
                   {"relative", &gemm->relative},
                   {"absolute", &gemm->absolute}};
    for (size_t i = 0; i < sizeof(matrices) / sizeof(matrices[0]); i++) {
        if (strcmp(matrices[i].key, key) == 0) {
            return parse_matrix(words, value, matrices[i].letters, matrices[i].matrix);
        }
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (strcmp(sizes[i].key, key) == 0) {
            return parse_size(words, value, sizes[i].size);
        }
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(numbers[i].key, key) == 0) {
            return parse_number(words, value, numbers[i].number);
        }
    }
    if (strcmp(key, "scale_a") == 0) {
        return parse_scale(words, value, &gemm->scale_a);
    }
    if (strcmp(key, "scale_b") == 0) {
        return parse_scale(words, value, &gemm->scale_b);
    }
    return emu_words_fail(words, "check gemm has no `%s`", key);
}

/* Fills the packed pitch in, and checks that the matrix lies in its buffer. */
static bool resolve_matrix(struct emu_words *words, struct emu_script_matrix *matrix,
                           uint64_t first, uint64_t second, const char *name)
{
    if (matrix->buffer == EMU_SCRIPT_NONE) {
        return true;
    }
    const struct emu_script_buffer *buffer = &words->script->buffers[matrix->buffer];
    uint64_t inner = matrix->first_inner ? first : second;
    uint64_t outer = matrix->first_inner ? second : first;
    matrix->pitch = matrix->pitch == 0 ? inner : matrix->pitch;
    uint64_t last = (outer - 1) * matrix->pitch + inner;
    return (matrix->pitch >= inner && last <= buffer->count) ||
           emu_words_fail(words,
                          "%s: %llu elements of `%s` are not enough or ld is too small",
                          name, (unsigned long long)buffer->count, buffer->name);
}

static bool parse_gemm(struct emu_words *words, struct emu_script_action *gemm)
{
    gemm->alpha = 1;
    gemm->scale_a = gemm->scale_b =
        (struct emu_script_scale){.buffer = EMU_SCRIPT_NONE, .value = 1};
    gemm->d.buffer = gemm->a.buffer = gemm->b.buffer = gemm->c.buffer = EMU_SCRIPT_NONE;
    while (emu_words_left(words)) {
        const char *word = words->words[words->at++];
        const char *equals = strchr(word, '=');
        if (equals == NULL) {
            return emu_words_fail(words, "`%s` is not of the form key=value", word);
        }
        char *key = emu_strndup(word, (size_t)(equals - word));
        bool good = parse_pair(words, gemm, key, equals + 1);
        emu_free(key);
        if (!good) {
            return false;
        }
    }
    if (gemm->d.buffer == EMU_SCRIPT_NONE || gemm->a.buffer == EMU_SCRIPT_NONE ||
        gemm->b.buffer == EMU_SCRIPT_NONE || gemm->m == 0 || gemm->n == 0 || gemm->k == 0) {
        return emu_words_fail(words, "check gemm needs d, a, b, m, n, k");
    }
    if (gemm->beta != 0 && gemm->c.buffer == EMU_SCRIPT_NONE) {
        return emu_words_fail(words, "check gemm: beta without c");
    }
    return resolve_matrix(words, &gemm->d, gemm->m, gemm->n, "d") &&
           resolve_matrix(words, &gemm->a, gemm->m, gemm->k, "a") &&
           resolve_matrix(words, &gemm->b, gemm->n, gemm->k, "b") &&
           resolve_matrix(words, &gemm->c, gemm->m, gemm->n, "c");
}

bool emu_parse_check(struct emu_words *words)
{
    static const char *const names[] = {"gemm", "equal", NULL};
    struct emu_script *script = words->script;
    unsigned index = 0;
    if (!emu_words_choice(words, "the check", names, &index)) {
        return false;
    }
    EMU_GROW(script->actions, script->action_count);
    struct emu_script_action *action = &script->actions[script->action_count++];
    *action = (struct emu_script_action){
        .kind = index == 0 ? EMU_ACTION_GEMM : EMU_ACTION_EQUAL, .line = words->line};
    if (index == 0) {
        return parse_gemm(words, action);
    }
    if (!emu_words_buffer(words, &action->buffer) ||
        !emu_words_buffer(words, &action->other)) {
        return false;
    }
    return script->buffers[action->buffer].bytes == script->buffers[action->other].bytes ||
           emu_words_fail(words, "the buffers differ in size");
}
