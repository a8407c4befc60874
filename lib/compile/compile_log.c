/* SPDX-License-Identifier: MIT */
/*
 * NVRTC's messages look like this; the echoed line always stands two columns to the right,
 * tabs and all, and the caret's offset counts bytes:
 *
 *     my_epilogues.cu(10): error: identifier "bia" is undefined
 *       d = acc + bia;
 *                 ^
 *               detected during instantiation of ...
 */
#include "compile/compile_log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compile/snippet_hint.h"
#include "source/epilogue_frame.h"

enum { ECHO_INDENT = 2 };

/* One message: views into the log. */
struct message {
    const char *name; /* the file as the compiler shows it */
    size_t name_size;
    uint32_t line;   /* 0: none */
    uint32_t column; /* 0: unknown */
    bool is_error;   /* else a warning */
    const char *text;
    size_t text_size;
};

struct line_view {
    const char *begin;
    size_t size;
};

static bool next_line(const char **at, struct line_view *ret_line)
{
    if (**at == '\0') {
        return false;
    }
    const char *end = strchr(*at, '\n');
    const size_t size = end != NULL ? (size_t)(end - *at) : strlen(*at);
    *ret_line = (struct line_view){*at, size};
    *at += size + (end != NULL ? 1 : 0);
    return true;
}

static bool has_prefix(const char *text, size_t size, const char *prefix)
{
    const size_t prefix_size = strlen(prefix);
    return size >= prefix_size && memcmp(text, prefix, prefix_size) == 0;
}

static const char *find_in_line(const struct line_view *line, const char *needle)
{
    return memmem(line->begin, line->size, needle, strlen(needle));
}

/* Reads "error: ", "error #20-D: " and so on at `at`; returns its size, 0 if it is none. */
static size_t read_severity(const char *at, size_t size, bool *ret_is_error)
{
    static const struct {
        const char *word;
        bool is_error;
    } rows[] = {{"error", true}, {"catastrophic error", true}, {"warning", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!has_prefix(at, size, rows[i].word)) {
            continue;
        }
        size_t used = strlen(rows[i].word);
        if (has_prefix(at + used, size - used, " #")) {
            const char *colon = memchr(at + used, ':', size - used);
            used = colon != NULL ? (size_t)(colon - at) : size;
        }
        if (has_prefix(at + used, size - used, ": ")) {
            *ret_is_error = rows[i].is_error;
            return used + 2;
        }
    }
    return 0;
}

/* "name(12): error: text". The name may itself hold parentheses and colons: the last place
 * that fits counts. */
static bool read_located_message(const struct line_view *line, struct message *ret_message)
{
    const char *end = line->begin + line->size;
    bool is_found = false;
    for (const char *close = line->begin; close < end; close++) {
        if (!has_prefix(close, (size_t)(end - close), "): ")) {
            continue;
        }
        const char *digits = close;
        while (digits > line->begin && isdigit((unsigned char)digits[-1])) {
            digits--;
        }
        if (digits == close || digits == line->begin || digits[-1] != '(') {
            continue;
        }
        bool is_error = false;
        const char *severity = close + 3;
        const size_t used = read_severity(severity, (size_t)(end - severity), &is_error);
        if (used == 0) {
            continue;
        }
        *ret_message = (struct message){
            .name = line->begin,
            .name_size = (size_t)(digits - 1 - line->begin),
            .line = (uint32_t)strtoul(digits, NULL, 10),
            .is_error = is_error,
            .text = severity + used,
            .text_size = (size_t)(end - severity) - used,
        };
        is_found = true;
    }
    return is_found;
}

/* "At end of source: error: text", "nvrtc: error: text", "ptxas error   : text". */
static bool read_loose_message(const struct line_view *line, struct message *ret_message)
{
    static const char *const starts[] = {"At end of source: error",
                                         "nvrtc: error",
                                         "nvrtc error",
                                         "ptxas error",
                                         "ptxas fatal",
                                         "ptxas application ptx"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (has_prefix(line->begin, line->size, starts[i])) {
            *ret_message = (struct message){.name = "compiler",
                                            .name_size = strlen("compiler"),
                                            .is_error = true,
                                            .text = line->begin,
                                            .text_size = line->size};
            return true;
        }
    }
    return false;
}

/* The column that the caret below a message shows; 0 if there is none before the next
 * message. */
static uint32_t find_caret_column(const char *at)
{
    struct line_view line;
    struct message other;
    while (next_line(&at, &line)) {
        if (line.size == 0 || read_located_message(&line, &other)) {
            return 0;
        }
        size_t blank = 0;
        while (blank < line.size &&
               (line.begin[blank] == ' ' || line.begin[blank] == '\t')) {
            blank++;
        }
        if (blank >= ECHO_INDENT && blank + 1 == line.size && line.begin[blank] == '^') {
            return (uint32_t)(blank - ECHO_INDENT) + 1;
        }
    }
    return 0;
}

/* The next error or warning. Lines that begin with a blank echo source or explain. */
static bool next_message(const char **at, struct message *ret_message)
{
    struct line_view line;
    while (next_line(at, &line)) {
        if (line.size == 0 || line.begin[0] == ' ' || line.begin[0] == '\t') {
            continue;
        }
        if (read_located_message(&line, ret_message)) {
            ret_message->column = find_caret_column(*at);
            return true;
        }
        if (read_loose_message(&line, ret_message)) {
            return true;
        }
    }
    return false;
}

/* --------------------------------------------------------------- snippet coordinates */

/* Line and column just after the last code of the snippet, comments left out. */
static void find_snippet_end(const struct jg_epilogue *epilogue, uint32_t *ret_line,
                             uint32_t *ret_column)
{
    const char *text = epilogue->source;
    uint32_t line = epilogue->first_line;
    uint32_t column = 1;
    uint32_t end_line = line;
    uint32_t end_column = 1;
    enum { CODE, LINE_COMMENT, BLOCK_COMMENT } state = CODE;
    size_t opened = 0; /* where the comment begins */
    for (size_t i = 0; i < epilogue->source_size; i++) {
        const char byte = text[i];
        const char next = text[i + 1]; /* at the end the zero byte */
        const bool closes = (state == LINE_COMMENT && byte == '\n') ||
                            (state == BLOCK_COMMENT && byte == '/' && i >= opened + 3 &&
                             text[i - 1] == '*');
        if (closes) {
            state = CODE;
        } else if (state == CODE && byte == '/' && (next == '/' || next == '*')) {
            state = next == '/' ? LINE_COMMENT : BLOCK_COMMENT;
            opened = i;
        } else if (state == CODE && strchr(" \t\r\n", byte) == NULL) {
            end_line = line;
            end_column = column + 1;
        }
        column = byte == '\n' ? 1 : column + 1;
        line += byte == '\n' ? 1 : 0;
    }
    *ret_line = end_line;
    *ret_column = end_column;
}

/* The place in the snippet's text; NULL if the coordinates are outside. */
static const char *find_place(const struct jg_epilogue *epilogue, uint32_t line,
                              uint32_t column)
{
    if (line < epilogue->first_line || column == 0) {
        return NULL;
    }
    const char *at = epilogue->source;
    for (uint32_t i = epilogue->first_line; i < line; i++) {
        at = strchr(at, '\n');
        if (at == NULL) {
            return NULL;
        }
        at++;
    }
    return strcspn(at, "\n") >= column - 1 ? at + (column - 1) : NULL;
}

/* Is the message on the snippet? A complaint on the frame's end is one on the snippet's. */
static bool move_to_snippet(const struct jg_epilogue *epilogue, struct message *message)
{
    if (epilogue == NULL) {
        return false;
    }
    if (jg_source_is_snippet(epilogue, message->name, message->name_size, &message->line)) {
        return true;
    }
    if (message->name_size == strlen(JG_SOURCE_FRAME) &&
        memcmp(message->name, JG_SOURCE_FRAME, message->name_size) == 0 &&
        message->line >= JG_SOURCE_FRAME_END) {
        find_snippet_end(epilogue, &message->line, &message->column);
        return true;
    }
    return false;
}

/* Length of `"one name" (aka "` at `at`, after which the better name stands; 0 if it is not
 * there. */
static size_t measure_alias(const char *at, size_t size)
{
    static const char also[] = "\" (aka \"";
    const char *quote = size > 1 && at[0] == '"' ? memchr(at + 1, '"', size - 1) : NULL;
    if (quote == NULL || !has_prefix(quote, size - (size_t)(quote - at), also)) {
        return 0;
    }
    return (size_t)(quote - at) + strlen(also);
}

/* The message without the names of our own namespaces: `"jg::X" (aka "float")` becomes
 * `"float"`. */
static void clean_text(const struct message *message, struct jg_str *out)
{
    static const char *const noise[][2] = {{"jg::prelude::", ""},
                                           {"jg::f32", "float"},
                                           {"jg::Uniform::operator()", "uniform"}};
    const char *at = message->text;
    const char *end = at + message->text_size;
    bool is_inside_alias = false;
    while (at < end) {
        const size_t left = (size_t)(end - at);
        const size_t alias = is_inside_alias ? 0 : measure_alias(at, left);
        size_t used = alias;
        for (size_t n = 0; n < sizeof(noise) / sizeof(noise[0]) && used == 0; n++) {
            if (has_prefix(at, left, noise[n][0])) {
                jg_str_puts(out, noise[n][1]);
                used = strlen(noise[n][0]);
            }
        }
        if (alias > 0) {
            jg_str_puts(out, "\"");
            is_inside_alias = true;
        } else if (is_inside_alias && has_prefix(at, left, "\")")) {
            jg_str_puts(out, "\"");
            used = 2;
            is_inside_alias = false;
        } else if (used == 0) {
            jg_str_add(out, at, 1);
            used = 1;
        }
        at += used;
    }
    while (out->size > 0 && strchr(" :\r", out->data[out->size - 1]) != NULL) {
        out->data[--out->size] = '\0';
    }
}

static bool is_same_message(const struct message *a, const struct message *b)
{
    return a->line == b->line && a->column == b->column && a->text_size == b->text_size &&
           a->text != NULL && memcmp(a->text, b->text, a->text_size) == 0;
}

/* Adds the messages on the snippet to the record; returns the number of errors. Repetitions
 * (one for each instantiation) are left out. */
static int add_snippet_messages(const char *log, const struct jg_epilogue *epilogue)
{
    int errors = 0;
    struct message message;
    struct message last = {0};
    while (next_message(&log, &message)) {
        if (!move_to_snippet(epilogue, &message) || is_same_message(&last, &message)) {
            continue;
        }
        last = message;
        struct jg_str text = {0};
        struct jg_str hint = {0};
        clean_text(&message, &text);
        if (message.is_error) {
            jg_snippet_hint(epilogue, jg_str_text(&text),
                            find_place(epilogue, message.line, message.column), &hint);
        }
        jg_error_add(message.is_error ? JIT_GEMM_SEVERITY_ERROR : JIT_GEMM_SEVERITY_WARNING,
                     JIT_GEMM_DIAGNOSTIC_SNIPPET, message.line, message.column,
                     epilogue->source_name, jg_str_text(&text), jg_str_text(&hint));
        errors += message.is_error ? 1 : 0;
        jg_str_free(&text);
        jg_str_free(&hint);
    }
    return errors;
}

/* ------------------------------------------------------- functions that have no body */

/* A name as the snippet has it: "_Z3fooff" becomes "foo". */
static struct line_view demangle(const char *name, size_t size)
{
    char *end = NULL;
    if (has_prefix(name, size, "_Z") && size > 2 && isdigit((unsigned char)name[2])) {
        const unsigned long length = strtoul(name + 2, &end, 10);
        if (length <= size - (size_t)(end - name)) {
            return (struct line_view){end, length};
        }
    }
    return (struct line_view){name, size};
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Where the word first stands in the snippet, comments included; false if nowhere. */
static bool find_word(const struct jg_epilogue *epilogue, const struct line_view *word,
                      uint32_t *ret_line, uint32_t *ret_column)
{
    uint32_t line = epilogue->first_line;
    uint32_t column = 1;
    for (size_t i = 0; word->size > 0 && i + word->size <= epilogue->source_size; i++) {
        const char *at = epilogue->source + i;
        if (memcmp(at, word->begin, word->size) == 0 && !is_name_byte(at[word->size]) &&
            (i == 0 || !is_name_byte(at[-1]))) {
            *ret_line = line;
            *ret_column = column;
            return true;
        }
        column = *at == '\n' ? 1 : column + 1;
        line += *at == '\n' ? 1 : 0;
    }
    return false;
}

/* Reports a function without a body, in a new record if that is wanted; false if its name
 * does not stand in the snippet. */
static bool add_bodiless(const struct jg_epilogue *epilogue, const char *mangled,
                         size_t size, bool begins_record)
{
    const struct line_view name = demangle(mangled, size);
    uint32_t line = 0;
    uint32_t column = 0;
    if (!find_word(epilogue, &name, &line, &column)) {
        return false;
    }
    struct jg_str text = {0};
    jg_str_printf(&text, "'%.*s' is a function that is declared and has no body",
                  (int)name.size, name.begin);
    if (begins_record) {
        jg_error_begin(JIT_GEMM_ERR_COMPILE);
    }
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SNIPPET, line, column,
                 epilogue->source_name, jg_str_text(&text),
                 "write the formula where it is used, or call a function of the prelude");
    jg_str_free(&text);
    return true;
}

/* "ptxas fatal   : Unresolved extern function '_Z1ff'" */
static int add_unresolved_functions(const char *log, const struct jg_epilogue *epilogue)
{
    static const char words[] = "Unresolved extern function '";
    int errors = 0;
    struct line_view line;
    while (epilogue != NULL && next_line(&log, &line)) {
        const char *at = find_in_line(&line, words);
        const char *name = at != NULL ? at + strlen(words) : NULL;
        const char *end = name != NULL
                              ? memchr(name, '\'', (size_t)(line.begin + line.size - name))
                              : NULL;
        if (end != NULL) {
            errors += add_bodiless(epilogue, name, (size_t)(end - name), false) ? 1 : 0;
        }
    }
    return errors;
}

jit_gemm_status jg_compile_log_check_ptx(const char *ptx,
                                         const struct jg_epilogue *epilogue)
{
    static const char words[] = ".extern .func ";
    /* Of the driver: a call of them is complete. */
    static const char *const provided[] = {"vprintf", "malloc", "free", "__assertfail"};
    const char *at = ptx;
    while (epilogue != NULL && (at = strstr(at, words)) != NULL) {
        at += strlen(words);
        at += strspn(at, " ");
        if (*at == '(') {
            at += strcspn(at, ")");
            at += strspn(at, ") ");
        }
        const size_t size = strcspn(at, "( \n");
        bool is_provided = false;
        for (size_t i = 0; i < sizeof(provided) / sizeof(provided[0]); i++) {
            is_provided |=
                strlen(provided[i]) == size && memcmp(at, provided[i], size) == 0;
        }
        if (!is_provided && add_bodiless(epilogue, at, size, true)) {
            return JIT_GEMM_ERR_COMPILE;
        }
    }
    return JIT_GEMM_OK;
}

static const char bug_hint[] = "this is a bug of jit_gemm, not of the snippet; please "
                               "report it with the compiler's log";

static int add_generated_messages(const char *log)
{
    int errors = 0;
    struct message message;
    while (next_message(&log, &message)) {
        if (!message.is_error) {
            continue;
        }
        struct jg_str name = {0};
        struct jg_str text = {0};
        jg_str_add(&name, message.name, message.name_size);
        jg_str_add(&text, message.text, message.text_size);
        jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_GENERATED, message.line,
                     message.column, jg_str_text(&name), jg_str_text(&text), bug_hint);
        jg_str_free(&name);
        jg_str_free(&text);
        errors++;
    }
    return errors;
}

jit_gemm_status jg_compile_log_fail(const char *log, size_t size,
                                    const struct jg_epilogue *epilogue)
{
    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    if (add_snippet_messages(log, epilogue) == 0 &&
        add_unresolved_functions(log, epilogue) == 0 && add_generated_messages(log) == 0) {
        jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_GENERATED, 0, 0,
                     "compiler", "the compiler refused the unit and its log has no error",
                     bug_hint);
    }
    jg_error_log(log, size);
    return JIT_GEMM_ERR_COMPILE;
}

/* ---------------------------------------------------------------- assembler's report */

/* The number before a phrase such as " bytes spill stores"; 0 if the line has none. */
static uint32_t read_number_before(const struct line_view *line, const char *phrase)
{
    const char *at = find_in_line(line, phrase);
    if (at == NULL) {
        return 0;
    }
    const char *digits = at;
    while (digits > line->begin && isdigit((unsigned char)digits[-1])) {
        digits--;
    }
    return digits < at ? (uint32_t)strtoul(digits, NULL, 10) : 0;
}

bool jg_compile_log_usage(const char *log, const char *entry, uint32_t *ret_registers,
                          uint32_t *ret_spill_bytes)
{
    struct jg_str start = {0};
    jg_str_printf(&start, "Compiling entry function '%s'", entry);
    struct line_view line;
    bool is_inside = false;
    uint32_t registers = 0;
    uint32_t spill_bytes = 0;
    while (!start.failed && next_line(&log, &line)) {
        if (find_in_line(&line, "Compiling entry function") != NULL) {
            is_inside = find_in_line(&line, start.data) != NULL;
        } else if (is_inside) {
            /* Spilled registers live there, and so do arrays with an unknown index, which
             * the assembler does not call spills. */
            spill_bytes += read_number_before(&line, " bytes stack frame");
            const uint32_t used = read_number_before(&line, " registers");
            registers = used > registers ? used : registers;
        }
    }
    jg_str_free(&start);
    if (registers == 0) {
        return false;
    }
    *ret_registers = registers;
    *ret_spill_bytes = spill_bytes;
    return true;
}

int jg_compile_log_warn(const char *log, const struct jg_epilogue *epilogue,
                        struct jg_log *to)
{
    int notes = 0;
    struct line_view line;
    for (const char *at = log; next_line(&at, &line);) {
        if (has_prefix(line.begin, line.size, "ptxas") &&
            (find_in_line(&line, "(C75") != NULL ||
             has_prefix(line.begin, line.size, "ptxas warning"))) {
            jg_log_line(to, JIT_GEMM_SEVERITY_WARNING, "assembler: %.*s", (int)line.size,
                        line.begin);
            notes++;
        }
    }
    struct message message;
    while (next_message(&log, &message)) {
        if (!message.is_error && move_to_snippet(epilogue, &message)) {
            struct jg_str text = {0};
            clean_text(&message, &text);
            jg_log_line(to, JIT_GEMM_SEVERITY_WARNING, "%s:%u:%u: warning: %s",
                        epilogue->source_name, message.line, message.column,
                        jg_str_text(&text));
            jg_str_free(&text);
            notes++;
        }
    }
    return notes;
}
