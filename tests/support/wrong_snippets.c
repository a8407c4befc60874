/* SPDX-License-Identifier: MIT */
#include "wrong_snippets.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "epilogue_maker.h"

enum { FIELD_COUNT = 6, LINE_MAX_BYTES = 2048, TEXT_MAX_BYTES = 2 << 20 };

static const char separator[] = " :: ";

/* ---------------------------------------------------------------------------- reading */

/* Splits the line at its separators; the last field may be empty. */
static void split_line(char *line, uint32_t row, char *ret_fields[FIELD_COUNT])
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        ret_fields[i] = line;
        char *end = strstr(line, separator);
        cr_assert(i == FIELD_COUNT - 1 || end != NULL, "row %u has too few fields", row);
        if (end != NULL) {
            *end = '\0';
            line = end + strlen(separator);
        }
    }
}

/* One escape behind its backslash; returns where the text goes on. */
static const char *read_escape(const char *at, uint32_t row, struct wrong_snippet *out)
{
    static const char letters[] = "nrt0\\";
    static const char bytes[] = "\n\r\t\0\\";
    const char *letter = *at != '\0' ? strchr(letters, *at) : NULL;
    if (letter != NULL) {
        out->text[out->size++] = bytes[letter - letters];
        return at + 1;
    }
    unsigned value = 0;
    if (sscanf(at, "x%2x", &value) == 1) {
        out->text[out->size++] = (char)value;
        return at + 3;
    }
    int used = 0; /* \{1000*text} */
    char part[64];
    cr_assert(sscanf(at, "{%u*%63[^}]}%n", &value, part, &used) == 2 && used > 0,
              "row %u has an unknown escape", row);
    cr_assert_lt(out->size + value * strlen(part), TEXT_MAX_BYTES);
    for (unsigned i = 0; i < value; i++) {
        memcpy(out->text + out->size, part, strlen(part));
        out->size += strlen(part);
    }
    return at + used;
}

static void read_text(const char *at, struct wrong_snippet *out)
{
    out->size = 0;
    while (*at != '\0') {
        if (*at == '\\') {
            at = read_escape(at + 1, out->row, out);
        } else {
            out->text[out->size++] = *at++;
        }
    }
    out->text[out->size] = '\0';
}

static enum wrong_kind read_kind(const char *text, uint32_t row)
{
    static const char *const names[] = {[WRONG_BY_CHECKER] = "checker",
                                        [WRONG_BY_COMPILER] = "compiler",
                                        [WRONG_ARGUMENT] = "argument"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            return (enum wrong_kind)i;
        }
    }
    cr_assert_fail("row %u: who refuses it?", row);
    return WRONG_ARGUMENT;
}

static void read_row(char *line, struct wrong_snippet *out)
{
    char *fields[FIELD_COUNT];
    split_line(line, out->row, fields);
    out->kind = read_kind(fields[0], out->row);
    out->line = out->column = 0;
    cr_assert(out->kind == WRONG_ARGUMENT ||
                  sscanf(fields[1], "%u:%u", &out->line, &out->column) == 2,
              "row %u has no place", out->row);
    out->line += WRONG_FIRST_LINE - 1;
    read_text(fields[3], out);
    if (strcmp(fields[2], ".") == 0) {
        epilogue_list_operands(out->text, out->operands, sizeof(out->operands));
    } else {
        snprintf(out->operands, sizeof(out->operands), "%s",
                 strcmp(fields[2], "-") == 0 ? "" : fields[2]);
    }
    snprintf(out->words, sizeof(out->words), "%s", fields[4]);
    snprintf(out->hint, sizeof(out->hint), "%s", fields[5]);
    cr_assert(out->words[0] != '\0' && out->hint[0] != '\0', "row %u lacks words or a hint",
              out->row);
}

int wrong_snippets_walk(enum wrong_kind kind, wrong_snippet_fn visit, void *user)
{
    FILE *file = fopen(JG_WRONG_SNIPPETS, "r");
    cr_assert_not_null(file, "%s", JG_WRONG_SNIPPETS);
    struct wrong_snippet row = {.row = 0};
    row.text = malloc(TEXT_MAX_BYTES);
    cr_assert_not_null(row.text);
    char line[LINE_MAX_BYTES];
    int count = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        row.row++;
        const size_t size = strcspn(line, "\n");
        cr_assert_eq(line[size], '\n', "row %u is too long", row.row);
        line[size] = '\0';
        if (size == 0 || line[0] == '#') {
            continue;
        }
        read_row(line, &row);
        if (row.kind == kind) {
            visit(user, &row);
            count++;
        }
    }
    free(row.text);
    fclose(file);
    return count;
}

/* ------------------------------------------------------------------------ expectations */

jit_gemm_status wrong_snippet_make(const struct wrong_snippet *row,
                                   struct jg_epilogue **ret_epilogue)
{
    const struct epilogue_request request = {.snippet = row->text,
                                             .snippet_size = row->size,
                                             .operands = row->operands,
                                             .source_name = WRONG_SOURCE_NAME,
                                             .first_line = WRONG_FIRST_LINE};
    return epilogue_make(&request, ret_epilogue);
}

static void expect_place(const struct wrong_snippet *row, const jit_gemm_diagnostic *found)
{
    cr_expect_eq(found->origin, JIT_GEMM_DIAGNOSTIC_SNIPPET, "row %u", row->row);
    cr_expect_str_eq(found->where, WRONG_SOURCE_NAME, "row %u", row->row);
    cr_expect(found->line == row->line && found->column == row->column,
              "row %u: %.60s\n  want %u:%u %s\n   got %u:%u %s", row->row, row->text,
              row->line - WRONG_FIRST_LINE + 1, row->column, row->words,
              found->line - WRONG_FIRST_LINE + 1, found->column, found->text);
    char place[32];
    snprintf(place, sizeof(place), "%u:%u: error: ", found->line, found->column);
    cr_expect_eq(strncmp(jg_error_text(), place, strlen(place)), 0, "row %u: %s", row->row,
                 jg_error_text());
}

void wrong_snippet_expect(const struct wrong_snippet *row)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    const jit_gemm_diagnostic *found = NULL;
    for (size_t i = 0; i < jg_diagnostics_count(diagnostics) && found == NULL; i++) {
        const jit_gemm_diagnostic *item = jg_diagnostics_at(diagnostics, i);
        found = item->severity == JIT_GEMM_SEVERITY_ERROR ? item : NULL;
    }
    cr_assert_not_null(found, "row %u", row->row);
    if (row->kind != WRONG_ARGUMENT) {
        expect_place(row, found);
    }
    cr_expect_not_null(strstr(found->text, row->words),
                       "row %u: %.60s\n  want words %s\n   got %s", row->row, row->text,
                       row->words, found->text);
    cr_expect_not_null(strstr(found->hint, row->hint),
                       "row %u: %.60s\n  want hint %s\n   got %s", row->row, row->text,
                       row->hint, found->hint);
    cr_expect_null(strstr(found->text, "jg::"), "row %u: %s", row->row, found->text);
    jg_diagnostics_destroy(&diagnostics);
}
