/* SPDX-License-Identifier: MIT */
#include "exec/coverage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Lines of the file; the first character says whether it was executed. */
struct lines {
    char **at;
    size_t count;
};

/* Order of the text behind the flag; of two alike the executed one first. */
static int compare(const void *a, const void *b)
{
    const char *x = *(char *const *)a;
    const char *y = *(char *const *)b;
    int order = strcmp(x + 1, y + 1);
    return order != 0 ? order : y[0] - x[0];
}

static void add_line(struct lines *lines, char *text)
{
    EMU_GROW(lines->at, lines->count);
    lines->at[lines->count++] = text;
}

static void read_lines(FILE *file, struct lines *lines)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t length = 0;
    while ((length = getline(&text, &room, file)) > 0) {
        if (text[length - 1] == '\n') {
            text[--length] = 0;
        }
        if (length > 2) {
            add_line(lines, emu_strdup(text));
        }
    }
    free(text);
}

static void add_program(struct lines *lines, const struct emu_program *program,
                        const uint8_t *covered)
{
    for (uint32_t i = 0; i < program->insn_count; i++) {
        const struct ptx_insn *source = program->insns[i].source;
        struct emu_text text = {0};
        emu_text_add(&text, "%c\t%s\t", covered[i] != 0 ? '1' : '0', source->opcode);
        ptx_describe_location(program->module, &source->location, &text);
        add_line(lines, text.text);
    }
}

static bool write_lines(FILE *file, struct lines *lines)
{
    rewind(file);
    if (ftruncate(fileno(file), 0) != 0) {
        return false;
    }
    const char *last = NULL;
    for (size_t i = 0; i < lines->count; i++) {
        if (last == NULL || strcmp(last + 1, lines->at[i] + 1) != 0) {
            fprintf(file, "%s\n", lines->at[i]);
            last = lines->at[i];
        }
    }
    return fflush(file) == 0 && ferror(file) == 0;
}

bool emu_coverage_merge(const char *path, const struct emu_program *program,
                        const uint8_t *covered, struct emu_error *error)
{
    FILE *file = fopen(path, "a+");
    if (file == NULL || flock(fileno(file), LOCK_EX) != 0) {
        if (file != NULL) {
            fclose(file);
        }
        return emu_fail(error, "coverage: %s cannot be opened: %s", path, strerror(errno));
    }
    struct lines lines = {0};
    rewind(file);
    read_lines(file, &lines);
    add_program(&lines, program, covered);
    qsort(lines.at, lines.count, sizeof *lines.at, compare);
    bool good =
        write_lines(file, &lines) ||
        emu_fail(error, "coverage: %s cannot be written: %s", path, strerror(errno));
    fclose(file); /* unlocks */
    for (size_t i = 0; i < lines.count; i++) {
        emu_free(lines.at[i]);
    }
    emu_free(lines.at);
    return good;
}
