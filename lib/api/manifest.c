/* SPDX-License-Identifier: MIT */
#include "api/manifest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/context.h"
#include "api/manifest_lines.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "plan/named_epilogue.h"
#include "plan/operand_text.h"
#include "plan/planned_device.h"
#include "plan/text.h"

static const char first_line[] = "jit_gemm manifest 1";

/* --------------------------------------------------------------------------- printing */

static void print_epilogue(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    jg_str_printf(out, "epilogue %s\n", epilogue->name);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        const bool has_role = operand->role != JIT_GEMM_OPERAND_INPUT;
        jg_str_printf(out, "operand %s %s %s%s%s\n", operand->name,
                      jg_operand_kind_name(operand->kind), jg_dtype_name(operand->dtype),
                      has_role ? " " : "",
                      has_role ? jg_operand_role_name(operand->role) : "");
    }
    if (jg_epilogue_is_compiled(epilogue)) {
        const struct jg_compiled *compiled = &epilogue->compiled;
        jg_str_printf(out, "code %s %zu %s %s\n",
                      compiled->kind == JIT_GEMM_CODE_PTX ? "ptx" : "ltoir",
                      compiled->code_size, compiled->symbol, epilogue->source_name);
        jg_base64_print(compiled->code, compiled->code_size, out);
        jg_str_puts(out, "end\n");
        return;
    }
    jg_str_printf(out, "source %zu %u %s\n", epilogue->source_size, epilogue->first_line,
                  epilogue->source_name);
    jg_str_add(out, epilogue->source, epilogue->source_size);
    jg_str_puts(out, "\nend\n");
}

void jg_manifest_print(const struct jg_device_facts *device, struct jg_record *record,
                       struct jg_registry *epilogues, struct jg_str *out)
{
    jg_str_printf(out, "%s\n", first_line);
    if (device != NULL) {
        jg_str_puts(out, "plan_for ");
        jg_planned_device_print(device, out);
        jg_str_printf(out, " # %s\n", device->name);
    }
    const struct jg_epilogue *epilogue = NULL;
    for (size_t i = 0; (epilogue = jg_registry_at(epilogues, i)) != NULL; i++) {
        if (jg_record_has_epilogue(record, epilogue->name)) {
            print_epilogue(epilogue, out);
        }
    }
    jg_record_print(record, out);
}

void jg_manifest_print_one(const struct jg_epilogue *epilogue, const char *line,
                           struct jg_str *out)
{
    jg_str_printf(out, "%s\n", first_line);
    if (epilogue != NULL) {
        print_epilogue(epilogue, out);
    }
    jg_str_printf(out, "%s\n", line);
}

jit_gemm_status jit_gemm_context_write_manifest(jit_gemm_context *context, const char *path)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(path, "path"));
    struct jg_str text = {0};
    const bool is_known = context->device != NULL || context->plans_for;
    jg_manifest_print(is_known ? &context->facts : NULL, context->asked, context->epilogues,
                      &text);
    const jit_gemm_status status = jg_file_replace(path, &text);
    jg_str_free(&text);
    return status;
}

/* ---------------------------------------------------------------------------- reading */

/* An epilogue on its way in: the public struct, and what it points to. */
struct epilogue_draft {
    jit_gemm_epilogue epilogue;
    char name[JIT_GEMM_NAME_SIZE];
    char operand_names[JIT_GEMM_MAX_OPERANDS][JIT_GEMM_NAME_SIZE];
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS];
    char *source_name;
    size_t source_line; /* of the manifest */
    char *symbol;
    struct jg_str code;
};

static bool copy_piece(char *target, const char *piece, size_t size)
{
    if (size == 0 || size >= JIT_GEMM_NAME_SIZE || memchr(piece, '\0', size) != NULL) {
        return false;
    }
    memcpy(target, piece, size);
    target[size] = '\0';
    return true;
}

static jit_gemm_status read_operand(const struct jg_lines *reader, const char *rest,
                                    size_t size, struct epilogue_draft *draft)
{
    const uint32_t index = draft->epilogue.operand_count;
    if (index >= JIT_GEMM_MAX_OPERANDS) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT,
                                "an epilogue has at most 16 operands", "too many operands");
    }
    JG_TRY(jg_manifest_forward(reader, jg_operand_parse(rest, size, ' ',
                                                        draft->operand_names[index],
                                                        &draft->operands[index])));
    draft->epilogue.operand_count++;
    return JIT_GEMM_OK;
}

/* The source line, the bytes after it, and the line "end". */
static jit_gemm_status read_source(struct jg_lines *reader, const char *rest, size_t size,
                                   struct epilogue_draft *draft)
{
    static const char hint[] = "write: source BYTES FIRST_LINE SOURCE_NAME";
    int64_t bytes = 0;
    int64_t line = 0;
    const char *piece = NULL;
    size_t length = jg_line_take_piece(&rest, &size, &piece);
    if (!jg_number_parse(piece, length, 1, INT32_MAX, &bytes)) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                                "the number of bytes is missing or out of range");
    }
    length = jg_line_take_piece(&rest, &size, &piece);
    if (!jg_number_parse(piece, length, 1, INT32_MAX, &line)) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                                "the first line is missing or out of range");
    }
    if (size == 0 || memchr(rest, '\0', size) != NULL) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                                "the source name is missing or has a zero byte");
    }
    if ((size_t)bytes >= reader->size - reader->offset ||
        reader->text[reader->offset + (size_t)bytes] != '\n') {
        return jg_manifest_fail(
            reader, JIT_GEMM_ERR_ARGUMENT,
            "count the bytes of the snippet, without the line feed after it",
            "the source does not end after that many bytes");
    }
    draft->source_name = jg_copy_text(rest, size);
    if (draft->source_name == NULL) {
        return jg_fail_memory();
    }
    draft->epilogue.source_name = draft->source_name;
    draft->epilogue.first_line = (uint32_t)line;
    draft->source_line = reader->line + 1;
    draft->epilogue.source = reader->text + reader->offset;
    draft->epilogue.source_size = (size_t)bytes;
    for (size_t i = 0; i <= (size_t)bytes; i++) {
        reader->line += reader->text[reader->offset + i] == '\n';
    }
    reader->offset += (size_t)bytes + 1;
    if (!jg_lines_next(reader) || !jg_line_is(reader, "end")) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, "write: end",
                                "the epilogue does not end after its source");
    }
    return JIT_GEMM_OK;
}

/* The lines up to one that is "end": written by hand, without a number of bytes. */
static jit_gemm_status read_snippet(struct jg_lines *reader, struct epilogue_draft *draft)
{
    const size_t begin = reader->offset;
    draft->source_line = reader->line + 1;
    while (jg_lines_next(reader)) {
        const size_t size = (size_t)(reader->start - (reader->text + begin));
        jg_line_trim(reader);
        if (!jg_line_is(reader, "end")) {
            continue;
        }
        if (size <= 1) {
            return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, "write: d = acc;",
                                    "the snippet is empty");
        }
        draft->epilogue.source = reader->text + begin;
        draft->epilogue.source_size = size - 1; /* less its last line end */
        if (size >= 2 && reader->text[begin + size - 2] == '\r') {
            draft->epilogue.source_size--;
        }
        return JIT_GEMM_OK;
    }
    return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT,
                            "write a line with the word end behind the snippet",
                            "the manifest ends inside a snippet");
}

/* "ptx" or "ltoir" */
static bool parse_code_kind(const char *piece, size_t size, jit_gemm_code_kind *ret_kind)
{
    const bool is_ptx = jg_word_is(piece, size, "ptx");
    *ret_kind = is_ptx ? JIT_GEMM_CODE_PTX : JIT_GEMM_CODE_LTOIR;
    return is_ptx || jg_word_is(piece, size, "ltoir");
}

/* The lines of base64 and the line "end". */
static jit_gemm_status read_code_lines(struct jg_lines *reader, int64_t bytes,
                                       struct jg_str *code)
{
    while (jg_lines_next(reader)) {
        if (jg_line_is(reader, "end")) {
            JG_TRY(jg_str_status(code));
            return (int64_t)code->size == bytes
                       ? JIT_GEMM_OK
                       : jg_manifest_fail(
                             reader, JIT_GEMM_ERR_ARGUMENT,
                             "give the code whole, as it was written",
                             "the code has another number of bytes than it says");
        }
        if (!jg_base64_parse_line(reader->start, reader->length, code)) {
            return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT,
                                    "write the code as base64, in lines of whole groups",
                                    "the line is no base64");
        }
        if ((int64_t)code->size > bytes) {
            return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT,
                                    "write: end, after the code",
                                    "the code has more bytes than it says");
        }
    }
    return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, "write: end, after the code",
                            "the manifest ends inside an epilogue");
}

/* The code line, the code and the line "end". */
static jit_gemm_status read_code(struct jg_lines *reader, const char *rest, size_t size,
                                 struct epilogue_draft *draft)
{
    static const char hint[] = "write: code ptx|ltoir BYTES SYMBOL SOURCE_NAME";
    const char *piece = NULL;
    int64_t bytes = 0;
    size_t length = jg_line_take_piece(&rest, &size, &piece);
    if (!parse_code_kind(piece, length, &draft->epilogue.code_kind)) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                                "the kind of code is missing or unknown");
    }
    length = jg_line_take_piece(&rest, &size, &piece);
    if (!jg_number_parse(piece, length, 1, JIT_GEMM_MAX_CODE_BYTES, &bytes)) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                                "the number of bytes is missing or out of range");
    }
    length = jg_line_take_piece(&rest, &size, &piece);
    if (length == 0 || size == 0 || memchr(piece, '\0', length + 1 + size) != NULL) {
        return jg_manifest_fail(
            reader, JIT_GEMM_ERR_ARGUMENT, hint,
            "the symbol or the source name is missing, or has a zero byte");
    }
    draft->symbol = jg_copy_text(piece, length);
    draft->source_name = jg_copy_text(rest, size);
    if (draft->symbol == NULL || draft->source_name == NULL) {
        return jg_fail_memory();
    }
    JG_TRY(read_code_lines(reader, bytes, &draft->code));
    draft->epilogue.symbol = draft->symbol;
    draft->epilogue.source_name = draft->source_name;
    draft->epilogue.code = draft->code.data;
    draft->epilogue.code_size = draft->code.size;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_draft_lines(struct jg_lines *reader,
                                        struct epilogue_draft *draft)
{
    while (jg_manifest_next(reader)) {
        const char *rest = NULL;
        size_t size = 0;
        if (jg_manifest_take(reader, "operand", &rest, &size)) {
            JG_TRY(read_operand(reader, rest, size, draft));
        } else if (jg_manifest_take(reader, "source", &rest, &size)) {
            return read_source(reader, rest, size, draft);
        } else if (jg_line_is(reader, "snippet")) {
            return read_snippet(reader, draft);
        } else if (jg_manifest_take(reader, "code", &rest, &size)) {
            return read_code(reader, rest, size, draft);
        } else {
            return jg_manifest_fail_in_epilogue(reader);
        }
    }
    return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, "write: snippet, its lines, end",
                            "the manifest ends inside an epilogue");
}

/* NULL: it is not the manifest's. */
static const struct jg_manifest_snippet *find_snippet(const struct jg_manifest *manifest,
                                                      const char *epilogue)
{
    for (size_t i = 0; i < manifest->snippet_count; i++) {
        if (strcmp(manifest->snippets[i].name, epilogue) == 0) {
            return &manifest->snippets[i];
        }
    }
    return NULL;
}

/* `line` is that of a problem, or 0. */
static void add_located(const struct jg_manifest_snippet *snippet, size_t line,
                        const jit_gemm_diagnostic *item)
{
    struct jg_str text = {0};
    struct jg_str where = {0};
    jg_str_puts(&text, item->text);
    if (item->origin != JIT_GEMM_DIAGNOSTIC_SNIPPET && line > 0) {
        jg_str_printf(&where, "manifest line %zu%s", line,
                      item->where[0] != '\0' ? ": " : "");
    } else if (item->origin == JIT_GEMM_DIAGNOSTIC_SNIPPET && snippet != NULL &&
               item->line >= snippet->first_line) {
        jg_str_printf(&text, " (epilogue '%s', manifest line %zu)", snippet->name,
                      snippet->line + (item->line - snippet->first_line));
    }
    jg_str_puts(&where, item->where);
    const bool has_memory = !text.failed && !where.failed;
    jg_error_add(item->severity, item->origin, item->line, item->column,
                 has_memory ? jg_str_text(&where) : item->where,
                 has_memory ? jg_str_text(&text) : item->text, item->hint);
    jg_str_free(&text);
    jg_str_free(&where);
}

static void locate(const struct jg_manifest_snippet *snippet, size_t line)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    const jit_gemm_status status = jg_error_status();
    if (jg_diagnostics_take(&diagnostics) != JIT_GEMM_OK) {
        return;
    }
    jg_error_begin(status);
    for (size_t i = 0; i < jg_diagnostics_count(diagnostics); i++) {
        add_located(snippet, line, jg_diagnostics_at(diagnostics, i));
    }
    const char *log = jg_diagnostics_log(diagnostics);
    jg_error_log(log, strlen(log));
    jg_diagnostics_destroy(&diagnostics);
}

void jg_manifest_locate_error(const struct jg_manifest *manifest,
                              const struct jg_manifest_problem *problem)
{
    locate(find_snippet(manifest, problem->problem.epilogue), problem->line);
}

void jg_manifest_locate_side_error(const struct jg_manifest_side *side)
{
    locate(NULL, side->line);
}

static jit_gemm_status note_snippet(struct jg_manifest *manifest,
                                    const struct epilogue_draft *draft)
{
    if (manifest->snippet_count == manifest->snippet_capacity) {
        const size_t capacity =
            manifest->snippet_capacity > 0 ? manifest->snippet_capacity * 2 : 16;
        struct jg_manifest_snippet *snippets =
            jg_realloc(manifest->snippets, capacity * sizeof(*snippets));
        if (snippets == NULL) {
            return jg_fail_memory();
        }
        manifest->snippets = snippets;
        manifest->snippet_capacity = capacity;
    }
    struct jg_manifest_snippet *own = &manifest->snippets[manifest->snippet_count++];
    *own = (struct jg_manifest_snippet){
        .first_line = draft->epilogue.first_line > 0 ? draft->epilogue.first_line : 1,
        .line = draft->source_line};
    memcpy(own->name, draft->name, sizeof(own->name));
    return JIT_GEMM_OK;
}

/* From the epilogue's line to its end. */
static jit_gemm_status read_draft(struct jg_lines *reader, const char *rest, size_t size,
                                  struct epilogue_draft *draft)
{
    draft->epilogue.struct_size = sizeof(draft->epilogue);
    draft->epilogue.name = draft->name;
    draft->epilogue.operands = draft->operands;
    if (!copy_piece(draft->name, rest, size)) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, "write: epilogue NAME",
                                "the epilogue's name is missing or too long");
    }
    reader->block = draft->name;
    const jit_gemm_status status = read_draft_lines(reader, draft);
    reader->block = NULL;
    return status;
}

static jit_gemm_status register_draft(struct jg_lines *reader, const char *rest,
                                      size_t size, struct jg_log *log,
                                      struct epilogue_draft *draft,
                                      struct jg_manifest *manifest)
{
    const struct jg_lines at_start = {.line = reader->line, .block = draft->name};
    JG_TRY(read_draft(reader, rest, size, draft));
    JG_TRY(note_snippet(manifest, draft));
    const jit_gemm_status status = jg_manifest_forward(
        &at_start, jg_registry_add(manifest->epilogues, log, &draft->epilogue));
    if (status == JIT_GEMM_ERR_COMPILE) {
        locate(find_snippet(manifest, draft->name), 0);
    }
    return status;
}

static jit_gemm_status read_epilogue(struct jg_lines *reader, const char *rest, size_t size,
                                     struct jg_log *log, struct jg_manifest *manifest)
{
    struct epilogue_draft *draft = jg_alloc(sizeof(*draft));
    if (draft == NULL) {
        return jg_fail_memory();
    }
    const jit_gemm_status status = register_draft(reader, rest, size, log, draft, manifest);
    jg_free(draft->source_name);
    jg_free(draft->symbol);
    jg_str_free(&draft->code);
    jg_free(draft);
    return status;
}

static jit_gemm_status append_problem(struct jg_manifest *manifest,
                                      const struct jg_manifest_problem *item)
{
    if (manifest->problem_count == manifest->problem_capacity) {
        const size_t capacity =
            manifest->problem_capacity > 0 ? manifest->problem_capacity * 2 : 16;
        struct jg_manifest_problem *problems =
            jg_realloc(manifest->problems, capacity * sizeof(*problems));
        if (problems == NULL) {
            return jg_fail_memory();
        }
        manifest->problems = problems;
        manifest->problem_capacity = capacity;
    }
    manifest->problems[manifest->problem_count++] = *item;
    return JIT_GEMM_OK;
}

/* The epilogue that a problem names: one that stands before it, or the library's own. */
static jit_gemm_status check_epilogue(const struct jg_manifest *manifest, const char *name)
{
    if (name[0] == '\0' || jg_named_epilogue_find(name) != NULL ||
        jg_registry_has(manifest->epilogues, name)) {
        return JIT_GEMM_OK;
    }
    struct jg_nearest nearest = jg_nearest_begin(name, strlen(name));
    const struct jg_epilogue *epilogue = NULL;
    for (size_t i = 0; (epilogue = jg_registry_at(manifest->epilogues, i)) != NULL; i++) {
        jg_nearest_try(&nearest, epilogue->name, strlen(epilogue->name));
    }
    jg_named_epilogue_nearest(&nearest);
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.epilogue",
                   jg_near_hint(&nearest, "write its block before the problem, or take one "
                                          "that `jit-gemm epilogue list` names")
                       .text,
                   "no epilogue '%s' stands before it", name);
}

/* Takes a range out of the text. */
static jit_gemm_status parse_problem(char *text, size_t line, struct jg_manifest *manifest)
{
    struct jg_manifest_problem item = {.lines = 1, .line = line};
    jit_gemm_range range;
    struct jg_problem canonical;
    JG_TRY(jg_range_take(text, &range, &item.has_range));
    JG_TRY(jg_problem_parse(text, &item.problem));
    JG_TRY(check_epilogue(manifest, item.problem.epilogue));
    JG_TRY(jg_problem_normalize(&item.problem, jg_registry_find, manifest->epilogues,
                                &canonical));
    if (item.has_range) {
        JG_TRY(jg_range_check(&range, &canonical, &item.range));
        item.asked_range = range;
    }
    return append_problem(manifest, &item);
}

static jit_gemm_status check_plain_text(const struct jg_lines *reader, const char *rest,
                                        size_t size)
{
    return memchr(rest, '\0', size) == NULL
               ? JIT_GEMM_OK
               : jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, "write plain text",
                                  "the line has a zero byte");
}

static jit_gemm_status read_problem(const struct jg_lines *reader, const char *rest,
                                    size_t size, struct jg_manifest *manifest)
{
    JG_TRY(check_plain_text(reader, rest, size));
    const size_t equal = jg_text_index_find(&manifest->lines, rest, size);
    if (equal != JG_TEXT_INDEX_NONE) {
        manifest->problems[equal].lines++;
        return JIT_GEMM_OK;
    }
    char *text = jg_copy_text(rest, size);
    if (text == NULL || !jg_text_index_reserve(&manifest->lines)) {
        jg_free(text);
        return jg_fail_memory();
    }
    const jit_gemm_status status = parse_problem(text, reader->line, manifest);
    jg_free(text);
    JG_TRY(jg_manifest_forward(reader, status));
    jg_text_index_add(&manifest->lines, rest, size, manifest->problem_count - 1);
    return JIT_GEMM_OK;
}

/* The place of the next one; NULL: no memory. */
static struct jg_manifest_side *reserve_side(struct jg_manifest *manifest)
{
    if (manifest->side_count == manifest->side_capacity) {
        const size_t capacity =
            manifest->side_capacity > 0 ? manifest->side_capacity * 2 : 16;
        struct jg_manifest_side *sides =
            jg_realloc(manifest->sides, capacity * sizeof(*sides));
        if (sides == NULL) {
            return NULL;
        }
        manifest->sides = sides;
        manifest->side_capacity = capacity;
    }
    return &manifest->sides[manifest->side_count];
}

static jit_gemm_status read_side(const struct jg_lines *reader, enum jg_side_kind kind,
                                 const char *rest, size_t size,
                                 struct jg_manifest *manifest)
{
    JG_TRY(check_plain_text(reader, rest, size));
    struct jg_manifest_side *side = reserve_side(manifest);
    char *text = jg_copy_text(rest, size);
    if (side == NULL || text == NULL) {
        jg_free(text);
        return jg_fail_memory();
    }
    const jit_gemm_status status = jg_side_kernel_parse(kind, text, &side->kernel);
    jg_free(text);
    JG_TRY(jg_manifest_forward(reader, status));
    side->line = reader->line;
    manifest->side_count++;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_first_line(struct jg_lines *reader)
{
    static const char prefix[] = "jit_gemm manifest ";
    const size_t prefix_size = sizeof(prefix) - 1;
    const char *oddity = jg_lines_oddity(reader);
    if (oddity != NULL) {
        reader->line = 1;
        return jg_manifest_fail(
            reader, JIT_GEMM_ERR_ARGUMENT,
            "save it as plain text, in UTF-8 without a mark and with line "
            "feeds",
            oddity);
    }
    if (!jg_lines_next(reader) || reader->length < prefix_size ||
        memcmp(reader->start, prefix, prefix_size) != 0) {
        reader->line = 1;
        return jg_manifest_fail(
            reader, JIT_GEMM_ERR_ARGUMENT,
            "put the line 'jit_gemm manifest 1' first, before comments; "
            "jit_gemm_context_write_manifest does",
            "this is no manifest: it does not begin with "
            "'jit_gemm manifest 1'");
    }
    if (reader->length != sizeof(first_line) - 1 ||
        memcmp(reader->start, first_line, reader->length) != 0) {
        return jg_manifest_fail(
            reader, JIT_GEMM_ERR_VERSION, "write it again with this version of the library",
            "a manifest of another format; this library reads format 1");
    }
    return JIT_GEMM_OK;
}

/* One architecture of a line of them. */
static jit_gemm_status read_arch(const struct jg_lines *reader, const char *name,
                                 size_t size, struct jg_manifest *manifest)
{
    struct jg_nearest nearest = jg_nearest_begin(name, size);
    struct jg_key_list list = {"architectures:"};
    const struct jg_arch *found = NULL;
    const struct jg_arch *arch = NULL;
    for (int i = 0; (arch = jg_arch_at(i)) != NULL; i++) {
        jg_key_list_add(&list, arch->name);
        found = jg_word_is(name, size, arch->name) ? arch : found;
    }
    jg_arch_nearest(&nearest);
    if (found == NULL) {
        char text[96];
        snprintf(text, sizeof(text), "this version has no kernels for %s",
                 jg_quote(name, size).text);
        jg_key_list_ask(&list, &nearest);
        return jg_manifest_fail(reader, JIT_GEMM_ERR_UNSUPPORTED, list.text, text);
    }
    for (size_t i = 0; i < manifest->arch_count; i++) {
        if (manifest->archs[i] == found) {
            return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, "name each once",
                                    "an architecture is named twice");
        }
    }
    if (manifest->arch_count == JG_MANIFEST_MOST_ARCHS) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, "name fewer",
                                "a manifest has at most 16 architectures");
    }
    manifest->archs[manifest->arch_count++] = found;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_archs(const struct jg_lines *reader, const char *rest,
                                  size_t size, struct jg_manifest *manifest)
{
    while (size > 0) {
        const char *name = NULL;
        const size_t length = jg_line_take_piece(&rest, &size, &name);
        if (length > 0) {
            JG_TRY(read_arch(reader, name, length, manifest));
        }
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_device(const struct jg_lines *reader, const char *rest,
                                   size_t size, struct jg_manifest *manifest)
{
    if (manifest->device_count == JG_MANIFEST_MOST_DEVICES) {
        return jg_manifest_fail(reader, JIT_GEMM_ERR_ARGUMENT, "name fewer",
                                "a manifest plans for at most 16 devices");
    }
    char *text = jg_copy_text(rest, size);
    if (text == NULL) {
        return jg_fail_memory();
    }
    struct jg_device_facts *device = &manifest->devices[manifest->device_count];
    const jit_gemm_status status =
        jg_manifest_forward(reader, jg_planned_device_parse(text, "plan_for", device));
    jg_free(text);
    JG_TRY(status);
    for (size_t i = 0; i < manifest->device_count; i++) {
        if (jg_arch_for_device(&manifest->devices[i]) == jg_arch_for_device(device)) {
            return jg_manifest_fail(
                reader, JIT_GEMM_ERR_ARGUMENT,
                "a manifest for each, or one of both without the lines and "
                "a prewarm with each one's --plan-for",
                "two devices of one architecture are planned for");
        }
    }
    manifest->device_count++;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_items(struct jg_lines *reader, struct jg_log *log,
                                  struct jg_manifest *manifest)
{
    JG_TRY(read_first_line(reader));
    while (jg_manifest_next(reader)) {
        const char *rest = NULL;
        size_t size = 0;
        if (jg_manifest_take(reader, "epilogue", &rest, &size)) {
            JG_TRY(read_epilogue(reader, rest, size, log, manifest));
        } else if (jg_manifest_take(reader, "problem", &rest, &size)) {
            JG_TRY(read_problem(reader, rest, size, manifest));
        } else if (jg_manifest_take(reader, "pack", &rest, &size)) {
            JG_TRY(read_side(reader, JG_SIDE_PACK, rest, size, manifest));
        } else if (jg_manifest_take(reader, "combine", &rest, &size)) {
            JG_TRY(read_side(reader, JG_SIDE_COMBINE, rest, size, manifest));
        } else if (jg_manifest_take(reader, "arch", &rest, &size)) {
            JG_TRY(read_archs(reader, rest, size, manifest));
        } else if (jg_manifest_take(reader, "plan_for", &rest, &size)) {
            JG_TRY(read_device(reader, rest, size, manifest));
        } else {
            return jg_manifest_fail_item(reader);
        }
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_manifest_parse(const char *text, size_t size, struct jg_log *log,
                                  struct jg_manifest *ret_manifest)
{
    struct jg_manifest manifest = {.epilogues = jg_registry_create()};
    if (manifest.epilogues == NULL) {
        return jg_fail_memory();
    }
    struct jg_lines reader = {.text = text, .size = size};
    const jit_gemm_status status = read_items(&reader, log, &manifest);
    jg_text_index_free(&manifest.lines);
    if (status != JIT_GEMM_OK) {
        jg_manifest_free(&manifest);
        return status;
    }
    *ret_manifest = manifest;
    return JIT_GEMM_OK;
}

void jg_manifest_free(struct jg_manifest *manifest)
{
    jg_registry_destroy(manifest->epilogues);
    jg_free(manifest->snippets);
    jg_free(manifest->problems);
    jg_free(manifest->sides);
    *manifest = (struct jg_manifest){0};
}
