/* SPDX-License-Identifier: MIT */
#include "exec/coverage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

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

/* "jg/ptx/tma.cuh:33", or a line of the PTX where the source is not known. */
static void add_place(struct emu_text *text, const struct emu_program *program,
                      const struct ptx_location *location)
{
    const struct ptx_module *module = program->module;
    if (location->line == 0) {
        emu_text_add(text, "%s, ptx line %u", program->function->name, location->ptx_line);
    } else if (location->file < module->file_count &&
               module->files[location->file] != NULL) {
        emu_text_add(text, "%s:%u", module->files[location->file], location->line);
    } else {
        emu_text_add(text, "file %u:%u", location->file, location->line);
    }
}

static void add_program(struct lines *lines, const struct emu_program *program,
                        const uint8_t *covered)
{
    for (uint32_t i = 0; i < program->insn_count; i++) {
        const struct ptx_insn *source = program->insns[i].source;
        const char *what = source->opcode;
        for (const struct ptx_location *at = &source->location; at != NULL;
             at = at->inlined_at) {
            struct emu_text text = {0};
            emu_text_add(&text, "%c\t%s\t", covered[i] != 0 ? '1' : '0', what);
            add_place(&text, program, at);
            add_line(lines, text.text);
            what = "inlined";
        }
    }
}

static bool write_lines(const char *path, const struct lines *lines)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    const char *last = NULL;
    for (size_t i = 0; i < lines->count; i++) {
        if (last == NULL || strcmp(last + 1, lines->at[i] + 1) != 0) {
            fprintf(file, "%s\n", lines->at[i]);
            last = lines->at[i];
        }
    }
    bool good = ferror(file) == 0;
    return fclose(file) == 0 && good;
}

/* Opens and locks the file that has that name now: whoever held the lock before may have
 * put another one in its place. */
static FILE *open_locked(const char *path)
{
    for (;;) {
        FILE *file = fopen(path, "a+");
        struct stat opened;
        struct stat named;
        if (file == NULL) {
            return NULL;
        }
        if (flock(fileno(file), LOCK_EX) != 0 || fstat(fileno(file), &opened) != 0) {
            fclose(file);
            return NULL;
        }
        if (stat(path, &named) == 0 && named.st_dev == opened.st_dev &&
            named.st_ino == opened.st_ino) {
            return file;
        }
        fclose(file);
    }
}

bool emu_coverage_merge(const char *path, const struct emu_program *program,
                        const uint8_t *covered, struct emu_error *error)
{
    FILE *file = open_locked(path);
    if (file == NULL) {
        return emu_fail(error, "coverage: %s cannot be opened: %s", path, strerror(errno));
    }
    struct lines lines = {0};
    struct emu_text other = {0};
    emu_text_add(&other, "%s.new", path);
    rewind(file);
    read_lines(file, &lines);
    add_program(&lines, program, covered);
    if (lines.count > 0) {
        qsort(lines.at, lines.count, sizeof(*lines.at), compare);
    }
    bool good =
        (write_lines(other.text, &lines) && rename(other.text, path) == 0) ||
        emu_fail(error, "coverage: %s cannot be written: %s", path, strerror(errno));
    fclose(file); /* unlocks */
    for (size_t i = 0; i < lines.count; i++) {
        emu_free(lines.at[i]);
    }
    emu_free(lines.at);
    emu_text_free(&other);
    return good;
}
