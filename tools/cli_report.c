/* SPDX-License-Identifier: MIT */
/* Messages, errors and files. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "jit_gemm/debug.h"

/* Is the byte one of a character's later ones in UTF-8? They take no place of their own. */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static char *copy_shown(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *shown = cli_alloc(size);
    memcpy(shown, text, size);
    cli_hide_bytes(shown);
    return shown;
}

static void print_message(const char *kind, const char *format, va_list arguments)
{
    va_list again;

    va_copy(again, arguments);
    const int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = cli_alloc((size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, arguments);
    cli_hide_bytes(text);
    fflush(stdout);
    fprintf(stderr, "jit-gemm: %s%s%s", cli_tone(stderr, CLI_TONE_BAD), kind,
            cli_tone(stderr, CLI_TONE_END));
    const size_t first = strcspn(text, "\n"); /* more lines are command lines: whole */
    cli_print_line(stderr, text, first, strlen("jit-gemm: ") + strlen(kind), 4);
    if (text[first] != '\0') {
        fprintf(stderr, "%s\n", text + first + 1);
    }
    free(text);
}

int cli_usage_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_message("error: ", format, arguments);
    va_end(arguments);
    return CLI_USAGE;
}

int cli_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_message("error: ", format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

void cli_note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_message("", format, arguments);
    va_end(arguments);
}

static const char *severity_word(jit_gemm_severity severity)
{
    switch (severity) {
    case JIT_GEMM_SEVERITY_ERROR:
        return "error";
    case JIT_GEMM_SEVERITY_WARNING:
        return "warning";
    case JIT_GEMM_SEVERITY_INFO:
        return "info";
    case JIT_GEMM_SEVERITY_DEBUG:
        break;
    }
    return "debug";
}

static const char *severity_tone(jit_gemm_severity severity)
{
    return severity == JIT_GEMM_SEVERITY_ERROR     ? cli_tone(stderr, CLI_TONE_BAD)
           : severity == JIT_GEMM_SEVERITY_WARNING ? cli_tone(stderr, CLI_TONE_WARNING)
                                                   : cli_tone(stderr, CLI_TONE_HEAD);
}

/* Of a line that no terminal shows whole, the part around the column is printed. */
static void print_source_line(const char *text, uint32_t line, uint32_t column)
{
    enum { LONGEST = 160, BEFORE = 60 };

    for (uint32_t i = 1; i < line; i++) {
        text = strchr(text, '\n');
        if (text == NULL) {
            return;
        }
        text++;
    }
    size_t length = strcspn(text, "\r\n");
    size_t first = length > LONGEST && column > BEFORE ? column - BEFORE : 0;
    if (length == 0 || first >= length) {
        return;
    }
    while (first > 0 && is_continuation(text[first])) {
        first--;
    }
    size_t shown = length - first > LONGEST ? LONGEST : length - first;
    while (shown < length - first && is_continuation(text[first + shown])) {
        shown++;
    }
    fputs(first > 0 ? "    ..." : "    ", stderr);
    cli_write_shown(stderr, text + first, shown);
    fputs(first + shown < length ? "...\n" : "\n", stderr);
    if (column == 0 || column > length + 1) {
        return;
    }
    fputs(first > 0 ? "       " : "    ", stderr);
    for (size_t i = first; i + 1 < column; i += cli_character_size(text + i, length - i)) {
        fputc(text[i] == '\t' ? '\t' : ' ', stderr);
    }
    fputs("^\n", stderr);
}

/* Of a manifest the line that the message ends with; 0: it names none. */
static uint32_t find_line(const jit_gemm_diagnostic *item,
                          const struct cli_snippet *snippet)
{
    static const char words[] = "manifest line ";
    if (!snippet->is_manifest) {
        return item->line;
    }
    const char *at = strstr(item->text, words);
    return at != NULL ? (uint32_t)strtoul(at + strlen(words), NULL, 10) : 0;
}

static void print_diagnostic(const jit_gemm_diagnostic *item,
                             const struct cli_snippet *snippet)
{
    char *text = copy_shown(item->text), *where = copy_shown(item->where);
    if (item->origin == JIT_GEMM_DIAGNOSTIC_SNIPPET) {
        const bool has_text = snippet != NULL && snippet->text != NULL;
        const uint32_t line = has_text ? find_line(item, snippet) : 0;
        if (has_text && snippet->is_manifest && item->where[0]) {
            fprintf(stderr, "%s:", where);
        }
        fprintf(stderr, "%u:%u: %s%s:%s %s\n", item->line ? item->line : 1,
                item->column ? item->column : 1, severity_tone(item->severity),
                severity_word(item->severity), cli_tone(stderr, CLI_TONE_END), text);
        if (line > 0) {
            print_source_line(snippet->text, line, item->column);
        }
    } else {
        fprintf(stderr, "jit-gemm: %s%s:%s %s%s%s\n", severity_tone(item->severity),
                severity_word(item->severity), cli_tone(stderr, CLI_TONE_END), where,
                where[0] ? ": " : "", text);
    }
    free(text);
    free(where);
    if (item->hint[0]) {
        fprintf(stderr, "    %shint:%s ", cli_tone(stderr, CLI_TONE_HINT),
                cli_tone(stderr, CLI_TONE_END));
        cli_print_line(stderr, item->hint, strlen(item->hint), 10, 10);
    }
}

int cli_exit_code(jit_gemm_status status)
{
    return status == JIT_GEMM_OK ? CLI_OK
           : status == JIT_GEMM_ERR_ARGUMENT || status == JIT_GEMM_ERR_UNSUPPORTED
               ? CLI_USAGE
               : CLI_FAILED;
}

static bool may_compile_on;

void cli_leave_compiles(void)
{
    may_compile_on = true;
}

int cli_end(int code)
{
    if (may_compile_on) {
        fflush(NULL);
        _exit(code);
    }
    return code;
}

int cli_report(jit_gemm_status status, const struct cli_snippet *snippet, bool verbose)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    size_t count = 0;

    fflush(stdout);
    if (jit_gemm_diagnostics_take(&diagnostics) == JIT_GEMM_OK) {
        count = jit_gemm_diagnostics_count(diagnostics);
    }
    for (size_t i = 0; i < count; i++) {
        jit_gemm_diagnostic item = {.struct_size = sizeof(item)};

        if (jit_gemm_diagnostics_get(diagnostics, i, &item) == JIT_GEMM_OK) {
            print_diagnostic(&item, snippet);
        }
    }
    if (count == 0) {
        fprintf(stderr, "jit-gemm: error: %s\n", jit_gemm_status_text(status));
    }
    if (verbose && jit_gemm_diagnostics_log(diagnostics)[0]) {
        fprintf(stderr, "compiler log:\n%s\n", jit_gemm_diagnostics_log(diagnostics));
    }
    jit_gemm_diagnostics_destroy(&diagnostics);
    if (status == JIT_GEMM_ERR_COMPILE) { /* its limit of time may be why */
        cli_leave_compiles();
    }
    return cli_exit_code(status);
}

static bool is_log_muted;

void cli_log_mute(bool is_muted)
{
    is_log_muted = is_muted;
}

void cli_print_debug_report(const jit_gemm *gemm)
{
    size_t length = 0;

    if (jit_gemm_debug_report(gemm, NULL, 0, &length) != JIT_GEMM_OK || length == 0) {
        return; /* no debug build, or nothing to say */
    }
    char *text = cli_alloc(length + 1);
    if (jit_gemm_debug_report(gemm, text, length + 1, NULL) == JIT_GEMM_OK) {
        fprintf(stderr, "jit-gemm: the kernel gave up:\n%s", text);
    }
    free(text);
}

void cli_log(void *user, jit_gemm_severity severity, const char *text)
{
    if (is_log_muted || (severity == JIT_GEMM_SEVERITY_ERROR && user == NULL)) {
        return;
    }
    char *shown = copy_shown(text);
    fprintf(stderr, "jit-gemm: %s%s:%s %s\n", severity_tone(severity),
            severity_word(severity), cli_tone(stderr, CLI_TONE_END), shown);
    free(shown);
}

void *cli_alloc(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);

    if (memory == NULL) {
        fprintf(stderr, "jit-gemm: error: no memory for %zu bytes\n", bytes);
        exit(CLI_FAILED);
    }
    return memory;
}

/* Of a manifest, a list or a module; /dev/zero has no end. */
#define MOST_BYTES ((size_t)64 << 20)

char *cli_read_file(const char *path, size_t *ret_size)
{
    bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "rb");
    size_t size = 0, room = 4096, part;

    if (file == NULL) {
        cli_error("%s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = cli_alloc(room);
    while (size <= MOST_BYTES &&
           (part = fread(text + size, 1, room - size - 1, file)) > 0) {
        size += part;
        if (room - size < 2) {
            char *grown = cli_alloc(room * 2);

            memcpy(grown, text, size);
            free(text);
            text = grown;
            room *= 2;
        }
    }
    text[size] = '\0';
    int failed = ferror(file);
    if (failed) {
        cli_error("%s: %s", path, strerror(errno));
    } else if (size > MOST_BYTES) {
        cli_error("%s: more than %d MiB are read of no file", path,
                  (int)(MOST_BYTES >> 20));
        failed = 1;
    }
    if (!is_input) {
        fclose(file);
    }
    if (failed) {
        free(text);
        return NULL;
    }
    *ret_size = size;
    return text;
}

static int fail_output(const char *option, const char *path, int error)
{
    return cli_error("%s: %s cannot be written: %s", option, path, strerror(error));
}

/* Why nothing can be written there, as errno says it; 0: a file can be opened or made. */
static int find_output_obstacle(const char *path)
{
    struct stat found;

    if (stat(path, &found) == 0) {
        return S_ISDIR(found.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
    }
    if (errno != ENOENT) {
        return errno;
    }
    const char *slash = strrchr(path, '/');
    const size_t size = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    char *folder = cli_alloc(size + 2); /* with the dot: also of what ends with a slash */
    memcpy(folder, path, size);
    memcpy(folder + size, ".", 2);
    const bool is_there = access(folder, W_OK | X_OK) == 0;
    const int error = is_there ? 0 : errno;
    free(folder);
    return path[0] == '\0' || (is_there && path[size] == '\0') ? ENOENT : error;
}

int cli_check_output(const char *option, const char *path)
{
    const int error =
        path == NULL || strcmp(path, "-") == 0 ? 0 : find_output_obstacle(path);

    return error == 0 ? CLI_OK : fail_output(option, path, error);
}

int cli_open_output(const char *option, const char *path, FILE **ret_file)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL) {
        return fail_output(option, path, errno);
    }
    errno = 0;
    *ret_file = file;
    return CLI_OK;
}

int cli_close_output(const char *option, const char *path, FILE *file)
{
    struct stat found = {0};
    const int before = errno;
    /* What is no whole file goes. A device, a pipe or a link is not ours to remove. */
    const bool is_file = lstat(path, &found) == 0 && S_ISREG(found.st_mode);
    int error = ferror(file) == 0 ? 0 : before != 0 ? before : EIO;

    if (fflush(file) != 0) {
        error = errno;
    }
    if (fclose(file) != 0 && error == 0) {
        error = errno;
    }
    if (error == 0) {
        return CLI_OK;
    }
    if (is_file) {
        remove(path);
    }
    return fail_output(option, path, error);
}

int cli_write_file(const char *option, const char *path, const void *data, size_t size)
{
    FILE *file = stdout;

    if (strcmp(path, "-") == 0) {
        (void)fwrite(data, 1, size, file); /* the end of the program sees whether it did */
        return CLI_OK;
    }
    if (cli_open_output(option, path, &file) != CLI_OK) {
        return CLI_FAILED;
    }
    (void)fwrite(data, 1, size, file); /* closing sees whether it did */
    return cli_close_output(option, path, file);
}
