/* SPDX-License-Identifier: MIT */
/* Launch files: lines, and the statements that are one line of numbers. */
#include "tools/script.h"

#include <string.h>

#include "tools/words.h"

static bool parse_device(struct emu_words *words)
{
    static const char *const names[] = {"sm_100a", "sm_90a", NULL};
    unsigned index = 0;
    bool good = emu_words_choice(words, "the device", names, &index);
    words->script->ordinal = (int)index;
    return good;
}

static bool parse_entry(struct emu_words *words)
{
    const char *name = NULL;
    if (!emu_words_next(words, "the kernel's name", &name)) {
        return false;
    }
    emu_free(words->script->entry);
    words->script->entry = emu_strdup(name);
    return true;
}

/* Up to three numbers; those that lack are 1. The driver says what is too large. */
static bool parse_shape(struct emu_words *words, uint32_t ret_shape[3])
{
    uint64_t value = 0;
    for (int i = 0; i < 3; i++) {
        ret_shape[i] = 1;
        if (i == 0 || emu_words_left(words)) {
            if (!emu_words_number(words, "the dimension", 1, UINT32_MAX, &value)) {
                return false;
            }
            ret_shape[i] = (uint32_t)value;
        }
    }
    return true;
}

static bool parse_grid(struct emu_words *words)
{
    return parse_shape(words, words->script->grid);
}

static bool parse_block(struct emu_words *words)
{
    return parse_shape(words, words->script->block);
}

static bool parse_cluster(struct emu_words *words)
{
    return parse_shape(words, words->script->cluster);
}

static bool parse_shared(struct emu_words *words)
{
    uint64_t bytes = 0;
    bool good = emu_words_number(words, "the size", 0, UINT32_MAX, &bytes);
    words->script->shared_bytes = (uint32_t)bytes;
    return good;
}

static bool parse_launch(struct emu_words *words)
{
    static const char *const names[] = {"cooperative", "programmatic", NULL};
    unsigned index = 0;
    bool good = emu_words_choice(words, "the kind of launch", names, &index);
    if (good && index == 0) {
        words->script->cooperative = true;
    } else if (good) {
        words->script->programmatic = true;
    }
    return good;
}

static struct emu_script_action *add_action(struct emu_words *words,
                                            enum emu_action_kind kind)
{
    struct emu_script *script = words->script;
    EMU_GROW(script->actions, script->action_count);
    struct emu_script_action *action = &script->actions[script->action_count++];
    *action = (struct emu_script_action){.kind = kind, .line = words->line};
    return action;
}

static bool parse_print(struct emu_words *words)
{
    struct emu_script_action *action = add_action(words, EMU_ACTION_PRINT);
    action->count = 16;
    return emu_words_buffer(words, &action->buffer) &&
           (!emu_words_left(words) ||
            emu_words_number(words, "the count", 1, UINT32_MAX, &action->count));
}

static bool parse_dump(struct emu_words *words)
{
    const char *path = NULL;
    struct emu_script_action *action = add_action(words, EMU_ACTION_DUMP);
    if (!emu_words_buffer(words, &action->buffer) ||
        !emu_words_next(words, "the path", &path)) {
        return false;
    }
    action->path = emu_strdup(path);
    return true;
}

static bool parse_expect(struct emu_words *words)
{
    static const char *const names[] = {"clean", "finding", "result", NULL};
    struct emu_script *script = words->script;
    const char *word = NULL;
    unsigned index = 0;
    if (!emu_words_choice(words, "what is expected", names, &index)) {
        return false;
    }
    if (index == 0) {
        script->expect_clean = true;
        return true;
    }
    if (!emu_words_next(words, index == 1 ? "the finding" : "the result", &word)) {
        return false;
    }
    if (index == 1) {
        EMU_GROW(script->findings, script->finding_count);
        script->findings[script->finding_count++] = emu_strdup(word);
    } else {
        emu_free(script->result);
        script->result = emu_strdup(word);
    }
    return true;
}

static const struct statement {
    const char *word;
    bool (*parse)(struct emu_words *words);
} statements[] = {
    {"device", parse_device},   {"entry", parse_entry},       {"grid", parse_grid},
    {"block", parse_block},     {"cluster", parse_cluster},   {"shared", parse_shared},
    {"launch", parse_launch},   {"buffer", emu_parse_buffer}, {"map", emu_parse_map},
    {"param", emu_parse_param}, {"at", emu_parse_at},         {"end", emu_parse_end},
    {"print", parse_print},     {"dump", parse_dump},         {"check", emu_parse_check},
    {"expect", parse_expect},
};

static bool parse_line(struct emu_words *words)
{
    const char *word = words->words[words->at++];
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        if (strcmp(statements[i].word, word) != 0) {
            continue;
        }
        bool inner = strcmp(word, "at") == 0 || strcmp(word, "end") == 0;
        if (!inner && words->open_param != EMU_SCRIPT_NONE) {
            return emu_words_fail(words, "the struct of line %u has no `end`",
                                  words->script->params[words->open_param].line);
        }
        if (inner && words->open_param == EMU_SCRIPT_NONE) {
            return emu_words_fail(words, "`%s` is not inside a `param struct`", word);
        }
        return statements[i].parse(words) && emu_words_end(words);
    }
    return emu_words_fail(words, "there is no statement `%s`", word);
}

/* Cuts a line at its spaces, in place; a comment ends it. */
static bool cut(struct emu_words *words, char *line)
{
    char *rest = NULL;
    line[strcspn(line, "#")] = 0;
    words->count = words->at = 0;
    for (char *word = strtok_r(line, " \t\r", &rest); word != NULL;
         word = strtok_r(NULL, " \t\r", &rest)) {
        if (words->count == EMU_WORDS_MOST) {
            return emu_words_fail(words, "more than %u words", EMU_WORDS_MOST);
        }
        words->words[words->count++] = word;
    }
    return true;
}

static bool check_complete(struct emu_words *words)
{
    const struct emu_script *script = words->script;
    if (words->open_param != EMU_SCRIPT_NONE) {
        return emu_words_fail(words, "the struct of line %u has no `end`",
                              script->params[words->open_param].line);
    }
    const char *missing = script->entry == NULL   ? "entry"
                          : script->grid[0] == 0  ? "grid"
                          : script->block[0] == 0 ? "block"
                                                  : NULL;
    return missing == NULL || emu_words_fail(words, "the file has no `%s`", missing);
}

bool emu_script_parse(const char *text, struct emu_script *ret_script,
                      struct emu_error *error)
{
    struct emu_words words = {
        .script = ret_script, .open_param = EMU_SCRIPT_NONE, .error = error};
    char *copy = emu_strdup(text);
    bool good = true;
    *ret_script = (struct emu_script){0};
    for (char *line = copy; good && line != NULL;) {
        char *next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = 0;
        }
        words.line++;
        good = cut(&words, line) && (words.count == 0 || parse_line(&words));
        line = next;
    }
    good = good && check_complete(&words);
    emu_free(copy);
    if (!good) {
        emu_script_free(ret_script);
    }
    return good;
}

void emu_script_free(struct emu_script *script)
{
    for (uint32_t i = 0; i < script->buffer_count; i++) {
        emu_free(script->buffers[i].path);
    }
    for (uint32_t i = 0; i < script->piece_count; i++) {
        emu_free(script->pieces[i].data);
    }
    for (uint32_t i = 0; i < script->action_count; i++) {
        emu_free(script->actions[i].path);
    }
    for (uint32_t i = 0; i < script->finding_count; i++) {
        emu_free(script->findings[i]);
    }
    emu_free(script->entry);
    emu_free(script->buffers);
    emu_free(script->maps);
    emu_free(script->params);
    emu_free(script->pieces);
    emu_free(script->actions);
    emu_free(script->findings);
    emu_free(script->result);
    *script = (struct emu_script){0};
}
