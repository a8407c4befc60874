/* SPDX-License-Identifier: MIT */
/* Log lines that a variable asks for. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

enum { PATH_SIZE = 64, TEXT_SIZE = 4096 };

static void make_folder(char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "/tmp/jit_gemm_log_XXXXXX");
    cr_assert_not_null(mkdtemp(path));
}

static size_t read_text(const char *path, char text[TEXT_SIZE])
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    const size_t size = fread(text, 1, TEXT_SIZE - 1, file);
    text[size] = '\0';
    fclose(file);
    return size;
}

static void count_line(void *user, jit_gemm_severity severity, const char *text)
{
    (void)severity;
    (void)text;
    (*(int *)user)++;
}

Test(log_file, lines_of_a_level_are_appended_whole_beside_the_callback)
{
    char folder[PATH_SIZE], path[PATH_SIZE + 8], value[PATH_SIZE + 16], text[TEXT_SIZE];
    char long_line[2000];
    make_folder(folder);
    snprintf(path, sizeof(path), "%s/log", folder);
    snprintf(value, sizeof(value), "info:%s", path);
    memset(long_line, 'x', sizeof(long_line) - 1);
    long_line[sizeof(long_line) - 1] = '\0';
    int lines = 0;
    for (int i = 0; i < 2; i++) {
        struct jg_log_file file;
        cr_assert_eq(jg_log_file_open(value, "VARIABLE", &file), JIT_GEMM_OK);
        struct jg_log *log =
            jg_log_create(count_line, &lines, JIT_GEMM_SEVERITY_ERROR, &file);

        jg_log_line(log, JIT_GEMM_SEVERITY_INFO, "one\ntwo of %d", i);
        jg_log_line(log, JIT_GEMM_SEVERITY_DEBUG, "not asked for");
        jg_log_line(log, JIT_GEMM_SEVERITY_ERROR, "%s", i > 0 ? long_line : "short");
        jg_log_destroy(log);
    }

    const size_t size = read_text(path, text);

    cr_expect_eq(lines, 2, "the callback has its own level");
    cr_expect_eq(strncmp(text,
                         "jit_gemm: info: one\njit_gemm: info: two of 0\n"
                         "jit_gemm: error: short\njit_gemm: info: one\n",
                         80),
                 0, "%s", text);
    cr_expect(text[size - 1] == '\n' && strstr(text, "xxx") != NULL);
    cr_expect_null(strstr(text, "not asked"));
    struct stat facts;
    cr_assert_eq(stat(path, &facts), 0);
    cr_expect_eq(facts.st_mode & 0777, 0600);
    unlink(path);
    rmdir(folder);
}

Test(log_file, what_is_no_level_or_no_file_is_an_error_of_one_line)
{
    char folder[PATH_SIZE], pipe_path[PATH_SIZE + 8], value[PATH_SIZE + 16];
    make_folder(folder);
    snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", folder);
    cr_assert_eq(mkfifo(pipe_path, 0600), 0);
    snprintf(value, sizeof(value), "debug:%s", pipe_path);
    const struct {
        const char *value, *error;
    } rows[] = {
        {"warn", "VARIABLE: there is no level 'warn'; did you mean warning?"},
        {"verbose", "VARIABLE: there is no level 'verbose'; give error, warning"},
        {":x", "VARIABLE: there is no level ''"},
        {"a\033[31m\n%s", "VARIABLE: there is no level 'a?[31m?%s'"},
        {"info:", "VARIABLE: the file cannot be opened: No such file"},
        {"info:/", "VARIABLE: the file cannot be opened: Is a directory"},
        {value, "VARIABLE: the file cannot be opened"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_log_file file = {.file = 77};

        cr_expect_eq(jg_log_file_open(rows[i].value, "VARIABLE", &file),
                     JIT_GEMM_ERR_ARGUMENT);
        const char *error = jg_error_text();

        cr_expect(strncmp(error, rows[i].error, strlen(rows[i].error)) == 0, "%s", error);
        cr_expect(strchr(error, '\n') == NULL && strlen(error) < 200);
        cr_expect_eq(file.file, 77, "untouched");
    }
    const int reader = open(pipe_path, O_RDONLY | O_NONBLOCK);
    struct jg_log_file file;
    cr_expect_eq(jg_log_file_open(value, "VARIABLE", &file), JIT_GEMM_ERR_ARGUMENT,
                 "a pipe, also one that is read");
    close(reader);
    unlink(pipe_path);
    rmdir(folder);
}

Test(log_file, nothing_that_goes_wrong_with_writing_is_seen)
{
    struct jg_log_file file;
    cr_assert_eq(jg_log_file_open("debug:/dev/full", "VARIABLE", &file), JIT_GEMM_OK);
    struct jg_log *log = jg_log_create(NULL, NULL, JIT_GEMM_SEVERITY_ERROR, &file);
    errno = 0;

    jg_log_line(log, JIT_GEMM_SEVERITY_ERROR, "lost");

    cr_expect_eq(errno, 0);
    jg_log_destroy(log);
    cr_assert_eq(jg_log_file_open(NULL, "VARIABLE", &file), JIT_GEMM_OK);
    cr_expect_lt(file.file, 0);
}

static void log_to(const char *value)
{
    struct jg_log_file file;
    cr_assert_eq(jg_log_file_open(value, "VARIABLE", &file), JIT_GEMM_OK);
    struct jg_log *log = jg_log_create(NULL, NULL, JIT_GEMM_SEVERITY_ERROR, &file);
    jg_log_line(log, JIT_GEMM_SEVERITY_ERROR, "a line that does not fit");
    jg_log_destroy(log);
}

/* Either signal would end the program. */
Test(log_file, a_full_file_and_a_pipe_that_nobody_reads_send_no_signal)
{
    char folder[PATH_SIZE], path[PATH_SIZE + 8], value[PATH_SIZE + 16];
    make_folder(folder);
    snprintf(path, sizeof(path), "%s/log", folder);
    snprintf(value, sizeof(value), "info:%s", path);
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    const int error = dup(STDERR_FILENO);
    const struct rlimit small = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    const struct rlimit large = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);

    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    log_to(value);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &large), 0);
    cr_assert_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[0]);
    log_to("info");
    cr_assert_eq(dup2(error, STDERR_FILENO), STDERR_FILENO);

    sigset_t pending;
    cr_assert_eq(sigpending(&pending), 0);
    cr_expect_eq(sigismember(&pending, SIGXFSZ) + sigismember(&pending, SIGPIPE), 0);
    close(ends[1]);
    close(error);
    unlink(path);
    rmdir(folder);
}

Test(log_file, a_number_that_another_file_has_is_left_alone)
{
    char folder[PATH_SIZE], path[PATH_SIZE + 8], other[PATH_SIZE + 8], text[TEXT_SIZE];
    make_folder(folder);
    snprintf(path, sizeof(path), "%s/log", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    char *before = getcwd(NULL, 0);
    cr_assert_eq(chdir(folder), 0);
    struct jg_log_file file;
    cr_assert_eq(jg_log_file_open("info:log", "VARIABLE", &file), JIT_GEMM_OK);
    cr_assert_eq(chdir(before), 0);
    const int number = file.file;
    close(number);
    cr_assert_eq(open(other, O_RDWR | O_CREAT, 0600), number, "another file's now");

    struct jg_log *log = jg_log_create(NULL, NULL, JIT_GEMM_SEVERITY_ERROR, &file);
    jg_log_line(log, JIT_GEMM_SEVERITY_INFO, "one");
    jg_log_line(log, JIT_GEMM_SEVERITY_INFO, "two");
    jg_log_destroy(log);

    struct stat facts;
    cr_assert_eq(fstat(number, &facts), 0, "it is still open");
    cr_expect_eq(facts.st_size, 0, "and nothing is in it");
    read_text(path, text);
    cr_expect_str_eq(text, "jit_gemm: info: one\njit_gemm: info: two\n");
    close(number);
    unlink(path);
    unlink(other);
    rmdir(folder);
    free(before);
}
