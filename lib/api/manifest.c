/* SPDX-License-Identifier: MIT */
#include "api/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "base/alloc.h"
#include "base/error.h"
#include "plan/text.h"

static const char first_line[] = "jit_gemm manifest 1";

/* --------------------------------------------------------------------------- printing */

static void print_epilogue(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    jg_str_printf(out, "epilogue %s\n", epilogue->name);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        jg_str_printf(out, "operand %s %s %s%s\n", operand->name,
                      jg_operand_kind_name(operand->kind), jg_dtype_name(operand->dtype),
                      operand->role == JIT_GEMM_OPERAND_OUTPUT ? " out" : "");
    }
    jg_str_printf(out, "source %zu %u %s\n", epilogue->source_size, epilogue->first_line,
                  epilogue->source_name);
    jg_str_add(out, epilogue->source, epilogue->source_size);
    jg_str_puts(out, "\nend\n");
}

void jg_manifest_print(struct jg_record *record, struct jg_registry *epilogues,
                       struct jg_str *out)
{
    jg_str_printf(out, "%s\n", first_line);
    const struct jg_epilogue *epilogue = NULL;
    for (size_t i = 0; (epilogue = jg_registry_at(epilogues, i)) != NULL; i++) {
        char word[JIT_GEMM_NAME_SIZE + 16];
        snprintf(word, sizeof(word), "epilogue=%s", epilogue->name);
        if (jg_record_has_word(record, word)) {
            print_epilogue(epilogue, out);
        }
    }
    jg_record_print(record, out);
}

static jit_gemm_status fail_write(const char *path, const char *verb)
{
    const int code = errno;
    return jg_fail_system(JIT_GEMM_ERR_IO, "path",
                          "name a file in a folder that can be written",
                          "'%s' cannot be %s: %s", path, verb, strerror(code));
}

static bool write_whole(int file, const struct jg_str *text)
{
    size_t written = 0;
    while (written < text->size) {
        const ssize_t count = write(file, text->data + written, text->size - written);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count == 0) {
            errno = ENOSPC;
        }
        if (count <= 0) {
            return false;
        }
        written += (size_t)count;
    }
    return fsync(file) == 0;
}

/* A reader sees the old file or the whole new one. */
static jit_gemm_status replace_file(const char *path, const struct jg_str *text)
{
    static atomic_uint number; /* two threads may write the same path */
    struct jg_str temporary = {0};
    jg_str_printf(&temporary, "%s.%ld.%u.tmp", path, (long)getpid(),
                  atomic_fetch_add(&number, 1));
    JG_TRY(jg_str_status(&temporary));
    jit_gemm_status status = JIT_GEMM_OK;
    const int file =
        open(temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0) {
        status = fail_write(temporary.data, "created");
        jg_str_free(&temporary);
        return status;
    }
    if (!write_whole(file, text)) {
        status = fail_write(temporary.data, "written");
        close(file);
    } else if (close(file) != 0) {
        status = fail_write(temporary.data, "written");
    } else if (rename(temporary.data, path) != 0) {
        status = fail_write(path, "replaced");
    }
    if (status != JIT_GEMM_OK) {
        (void)unlink(temporary.data);
    }
    jg_str_free(&temporary);
    return status;
}

jit_gemm_status jit_gemm_context_write_manifest(jit_gemm_context *context, const char *path)
{
    JG_TRY(jg_check_pointer(context, "context"));
    JG_TRY(jg_check_pointer(path, "path"));
    struct jg_str text = {0};
    jg_manifest_print(context->asked, context->epilogues, &text);
    jit_gemm_status status = jg_str_status(&text);
    if (status == JIT_GEMM_OK) {
        status = replace_file(path, &text);
    }
    jg_str_free(&text);
    return status;
}

/* ---------------------------------------------------------------------------- reading */

struct reader {
    const char *text;
    size_t size, offset;
    size_t line; /* of the line that was read last, from 1 */
    const char *start;
    size_t length; /* of that line, without its end */
};

/* An epilogue on its way in: the public struct, and what it points to. */
struct epilogue_draft {
    jit_gemm_epilogue epilogue;
    char name[JIT_GEMM_NAME_SIZE];
    char operand_names[JIT_GEMM_MAX_OPERANDS][JIT_GEMM_NAME_SIZE];
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS];
    char *source_name;
};

static jit_gemm_status fail_at_line(const struct reader *reader, jit_gemm_status status,
                                    const char *hint, const char *text)
{
    char where[48];
    snprintf(where, sizeof(where), "manifest line %zu", reader->line);
    return jg_fail(status, where, hint, "%s", text);
}

/* Puts the line before an error that a lower floor reported. */
static jit_gemm_status forward_at_line(const struct reader *reader, jit_gemm_status status)
{
    if (status == JIT_GEMM_OK || status == JIT_GEMM_ERR_COMPILE ||
        status == JIT_GEMM_ERR_NO_MEMORY) {
        return status;
    }
    return fail_at_line(reader, status, "", jg_error_text());
}

static bool next_line(struct reader *reader)
{
    if (reader->offset >= reader->size) {
        return false;
    }
    const char *start = reader->text + reader->offset;
    const size_t left = reader->size - reader->offset;
    const char *end = memchr(start, '\n', left);
    reader->start = start;
    reader->length = end != NULL ? (size_t)(end - start) : left;
    reader->offset += end != NULL ? reader->length + 1 : left;
    reader->line++;
    if (reader->length > 0 && start[reader->length - 1] == '\r') {
        reader->length--;
    }
    return true;
}

/* Does the line begin with this word? Then its rest is given. */
static bool take_keyword(const struct reader *reader, const char *keyword,
                         const char **ret_rest, size_t *ret_size)
{
    const size_t size = strlen(keyword);
    if (reader->length <= size || memcmp(reader->start, keyword, size) != 0 ||
        reader->start[size] != ' ') {
        return false;
    }
    *ret_rest = reader->start + size + 1;
    *ret_size = reader->length - size - 1;
    return true;
}

/* The next piece of a line up to a space; empty at its end. */
static size_t take_piece(const char **rest, size_t *size, const char **ret_piece)
{
    const char *start = *rest;
    size_t length = 0;
    while (length < *size && start[length] != ' ') {
        length++;
    }
    const size_t used = length < *size ? length + 1 : length;
    *rest += used;
    *size -= used;
    *ret_piece = start;
    return length;
}

static bool copy_piece(char *target, const char *piece, size_t size)
{
    if (size == 0 || size >= JIT_GEMM_NAME_SIZE || memchr(piece, '\0', size) != NULL) {
        return false;
    }
    memcpy(target, piece, size);
    target[size] = '\0';
    return true;
}

static jit_gemm_status read_operand(const struct reader *reader, const char *rest,
                                    size_t size, struct epilogue_draft *draft)
{
    static const char hint[] = "write: operand NAME KIND DTYPE [out]";
    const uint32_t index = draft->epilogue.operand_count;
    if (index >= JIT_GEMM_MAX_OPERANDS) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT,
                            "an epilogue has at most 16 operands", "too many operands");
    }
    jit_gemm_operand *operand = &draft->operands[index];
    const char *piece = NULL;
    size_t length = take_piece(&rest, &size, &piece);
    if (!copy_piece(draft->operand_names[index], piece, length)) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                            "the operand's name is missing or too long");
    }
    operand->name = draft->operand_names[index];
    length = take_piece(&rest, &size, &piece);
    if (!jg_operand_kind_parse(piece, length, &operand->kind)) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, JG_OPERAND_KINDS,
                            "the operand's kind is missing or unknown");
    }
    length = take_piece(&rest, &size, &piece);
    if (!jg_dtype_parse(piece, length, &operand->dtype)) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, JG_OPERAND_TYPES,
                            "the operand's type is missing or unknown");
    }
    length = take_piece(&rest, &size, &piece);
    if (length == 3 && memcmp(piece, "out", 3) == 0) {
        operand->role = JIT_GEMM_OPERAND_OUTPUT;
        length = take_piece(&rest, &size, &piece);
    }
    if (length != 0 || size != 0) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                            "something follows the operand");
    }
    draft->epilogue.operand_count++;
    return JIT_GEMM_OK;
}

/* The source line, the bytes after it, and the line "end". */
static jit_gemm_status read_source(struct reader *reader, const char *rest, size_t size,
                                   struct epilogue_draft *draft)
{
    static const char hint[] = "write: source BYTES FIRST_LINE SOURCE_NAME";
    int64_t bytes = 0;
    int64_t line = 0;
    const char *piece = NULL;
    size_t length = take_piece(&rest, &size, &piece);
    if (!jg_number_parse(piece, length, 1, INT32_MAX, &bytes)) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                            "the number of bytes is missing or out of range");
    }
    length = take_piece(&rest, &size, &piece);
    if (!jg_number_parse(piece, length, 1, INT32_MAX, &line)) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                            "the first line is missing or out of range");
    }
    if (size == 0 || memchr(rest, '\0', size) != NULL) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, hint,
                            "the source name is missing or has a zero byte");
    }
    if ((size_t)bytes >= reader->size - reader->offset ||
        reader->text[reader->offset + (size_t)bytes] != '\n') {
        return fail_at_line(
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
    draft->epilogue.source = reader->text + reader->offset;
    draft->epilogue.source_size = (size_t)bytes;
    for (size_t i = 0; i <= (size_t)bytes; i++) {
        reader->line += reader->text[reader->offset + i] == '\n';
    }
    reader->offset += (size_t)bytes + 1;
    if (!next_line(reader) || reader->length != 3 || memcmp(reader->start, "end", 3) != 0) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, "write: end",
                            "the epilogue does not end after its source");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_epilogue_lines(struct reader *reader,
                                           struct epilogue_draft *draft)
{
    while (next_line(reader)) {
        const char *rest = NULL;
        size_t size = 0;
        if (take_keyword(reader, "operand", &rest, &size)) {
            JG_TRY(read_operand(reader, rest, size, draft));
        } else if (take_keyword(reader, "source", &rest, &size)) {
            return read_source(reader, rest, size, draft);
        } else {
            return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT,
                                "an epilogue has operand lines, a source line, and end",
                                "neither an operand nor a source");
        }
    }
    return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, "write: source, the snippet, end",
                        "the manifest ends inside an epilogue");
}

static jit_gemm_status read_epilogue(struct reader *reader, const char *rest, size_t size,
                                     struct jg_log *log, struct jg_manifest *manifest)
{
    struct epilogue_draft *draft = jg_alloc(sizeof(*draft));
    if (draft == NULL) {
        return jg_fail_memory();
    }
    const size_t line = reader->line;
    draft->epilogue.struct_size = sizeof(draft->epilogue);
    draft->epilogue.name = draft->name;
    draft->epilogue.operands = draft->operands;
    jit_gemm_status status = JIT_GEMM_OK;
    if (!copy_piece(draft->name, rest, size)) {
        status = fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, "write: epilogue NAME",
                              "the epilogue's name is missing or too long");
    }
    if (status == JIT_GEMM_OK) {
        status = read_epilogue_lines(reader, draft);
    }
    if (status == JIT_GEMM_OK) {
        const struct reader at_start = {.line = line};
        status = forward_at_line(
            &at_start, jg_registry_add(manifest->epilogues, log, &draft->epilogue));
    }
    jg_free(draft->source_name);
    jg_free(draft);
    return status;
}

static jit_gemm_status read_problem(const struct reader *reader, const char *rest,
                                    size_t size, struct jg_manifest *manifest)
{
    if (memchr(rest, '\0', size) != NULL) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, "write plain text",
                            "the line has a zero byte");
    }
    if (manifest->problem_count == manifest->problem_capacity) {
        const size_t capacity =
            manifest->problem_capacity > 0 ? manifest->problem_capacity * 2 : 16;
        jit_gemm_problem *problems =
            jg_realloc(manifest->problems, capacity * sizeof(jit_gemm_problem));
        if (problems == NULL) {
            return jg_fail_memory();
        }
        manifest->problems = problems;
        manifest->problem_capacity = capacity;
    }
    char *text = jg_copy_text(rest, size);
    if (text == NULL) {
        return jg_fail_memory();
    }
    jit_gemm_problem *problem = &manifest->problems[manifest->problem_count];
    struct jg_problem canonical;
    jit_gemm_status status = jg_problem_parse(text, problem);
    if (status == JIT_GEMM_OK) {
        status = jg_problem_normalize(problem, jg_registry_find, manifest->epilogues,
                                      &canonical);
    }
    jg_free(text);
    JG_TRY(forward_at_line(reader, status));
    manifest->problem_count++;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_first_line(struct reader *reader)
{
    static const char prefix[] = "jit_gemm manifest ";
    const size_t prefix_size = sizeof(prefix) - 1;
    if (!next_line(reader) || reader->length < prefix_size ||
        memcmp(reader->start, prefix, prefix_size) != 0) {
        reader->line = 1;
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT,
                            "pass the text that jit_gemm_context_write_manifest wrote",
                            "this is no manifest: it does not begin with "
                            "'jit_gemm manifest 1'");
    }
    if (reader->length != sizeof(first_line) - 1 ||
        memcmp(reader->start, first_line, reader->length) != 0) {
        return fail_at_line(reader, JIT_GEMM_ERR_VERSION,
                            "write it again with this version of the library",
                            "a manifest of another format; this library reads format 1");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_items(struct reader *reader, struct jg_log *log,
                                  struct jg_manifest *manifest)
{
    JG_TRY(read_first_line(reader));
    while (next_line(reader)) {
        const char *rest = NULL;
        size_t size = 0;
        if (reader->length == 0 || reader->start[0] == '#') {
            continue;
        }
        if (take_keyword(reader, "epilogue", &rest, &size)) {
            JG_TRY(read_epilogue(reader, rest, size, log, manifest));
        } else if (take_keyword(reader, "problem", &rest, &size)) {
            JG_TRY(read_problem(reader, rest, size, manifest));
        } else {
            return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT,
                                "begin the line with epilogue, problem or #",
                                "unknown kind of line");
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
    struct reader reader = {.text = text, .size = size};
    const jit_gemm_status status = read_items(&reader, log, &manifest);
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
    jg_free(manifest->problems);
    *manifest = (struct jg_manifest){0};
}
