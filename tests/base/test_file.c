/* SPDX-License-Identifier: MIT */
/* Whole files and lines of texts. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/lines.h"

Test(lines, a_text_is_read_line_by_line)
{
    static const char text[] = "key rest of it\r\n\n# no\nlast";
    struct jg_lines lines = {.text = text, .size = strlen(text)};
    const char *rest = NULL;
    size_t size = 0;

    cr_assert(jg_lines_next(&lines));
    cr_expect(jg_line_is(&lines, "key rest of it"));
    cr_expect_not(jg_line_take_keyword(&lines, "ke", &rest, &size));
    cr_assert(jg_line_take_keyword(&lines, "key", &rest, &size));
    const char *piece = NULL;
    cr_expect_eq(jg_line_take_piece(&rest, &size, &piece), 4);
    cr_expect_eq(strncmp(piece, "rest", 4), 0);
    cr_expect_eq(size, 5);
    cr_assert(jg_lines_next(&lines));
    cr_expect(jg_line_is_skipped(&lines));
    cr_assert(jg_lines_next(&lines));
    cr_expect(jg_line_is_skipped(&lines));
    cr_assert(jg_lines_next(&lines));
    cr_expect_not(jg_line_is_skipped(&lines));
    cr_expect(jg_line_is(&lines, "last"));
    cr_expect_eq(lines.line, 4);
    cr_expect_not(jg_lines_next(&lines));
}

Test(file, what_replaced_a_file_is_read_back_and_leaves_nothing_beside_it)
{
    char folder[] = "/tmp/jg_file_XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/text", folder);
    struct jg_str first = {0};
    struct jg_str second = {0};
    struct jg_str back = {0};
    for (int i = 0; i < 3000; i++) {
        jg_str_puts(&first, "a line of the first\n");
    }
    jg_str_puts(&second, "the second\n");

    cr_assert_eq(jg_file_check(path), JIT_GEMM_OK, "%s", jg_error_text());
    cr_expect_neq(access(path, F_OK), 0, "the check leaves a file");
    cr_assert_eq(jg_file_replace(path, &first), JIT_GEMM_OK, "%s", jg_error_text());
    cr_assert_eq(jg_file_read(path, first.size, &back), JIT_GEMM_OK);
    cr_expect_eq(back.size, first.size);
    cr_expect_eq(jg_file_read(path, first.size - 1, &back), JIT_GEMM_ERR_IO);
    cr_expect_not_null(strstr(jg_error_text(), "too large"), "%s", jg_error_text());
    cr_assert_eq(jg_file_replace(path, &second), JIT_GEMM_OK);
    jg_str_free(&back);
    cr_assert_eq(jg_file_read(path, first.size, &back), JIT_GEMM_OK);
    cr_expect_str_eq(jg_str_text(&back), "the second\n");

    jg_str_free(&first);
    jg_str_free(&second);
    jg_str_free(&back);
    cr_expect_eq(unlink(path), 0);
    cr_expect_eq(rmdir(folder), 0, "something else lies there");
}

/* A process that was killed left them, in a container where this one has its number. */
Test(file, names_that_are_taken_are_no_error_and_permissions_stay)
{
    enum { TAKEN = 40 };
    char folder[] = "/tmp/jg_file_XXXXXX";
    char path[64], taken[TAKEN][96];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/text", folder);
    struct jg_str text = {0};
    jg_str_puts(&text, "a line\n");
    for (int i = 0; i < TAKEN; i++) {
        snprintf(taken[i], sizeof(taken[i]), "%s.%ld.%d.tmp", path, (long)getpid(), i);
        FILE *file = fopen(taken[i], "w");
        cr_assert(file != NULL && fclose(file) == 0);
    }

    cr_assert_eq(jg_file_replace(path, &text), JIT_GEMM_OK, "%s", jg_error_text());
    cr_assert_eq(chmod(path, 0604), 0);
    cr_assert_eq(jg_file_replace(path, &text), JIT_GEMM_OK, "%s", jg_error_text());

    struct stat found;
    cr_assert_eq(stat(path, &found), 0);
    cr_expect_eq(found.st_mode & 0777, 0604);
    jg_str_free(&text);
    for (int i = 0; i < TAKEN; i++) {
        cr_expect_eq(unlink(taken[i]), 0);
    }
    cr_expect_eq(unlink(path), 0);
    cr_expect_eq(rmdir(folder), 0, "something else lies there");
}

static int size_signals;

static void count_signal(int number)
{
    (void)number;
    size_signals++;
}

Test(file, beyond_the_limit_on_sizes_is_an_error_and_no_signal)
{
    char folder[] = "/tmp/jg_file_XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/text", folder);
    const struct rlimit small = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
    const struct rlimit large = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    struct jg_str text = {0};
    sigset_t before, after;
    jg_str_puts(&text, "more than ten bytes\n");
    signal(SIGXFSZ, count_signal);
    cr_assert_eq(sigprocmask(SIG_BLOCK, NULL, &before), 0);

    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    const jit_gemm_status status = jg_file_replace(path, &text);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &large), 0);

    cr_expect_eq(status, JIT_GEMM_ERR_IO);
    cr_expect_not_null(strstr(jg_error_text(), "File too large"), "%s", jg_error_text());
    cr_assert_eq(sigprocmask(SIG_BLOCK, NULL, &after), 0);
    cr_expect_eq(sigismember(&after, SIGXFSZ), sigismember(&before, SIGXFSZ));
    cr_expect_eq(size_signals, 0);
    cr_expect_eq(raise(SIGXFSZ), 0);
    cr_expect_eq(size_signals, 1, "the program's own handler still works");
    cr_expect_eq(rmdir(folder), 0, "something was left beside the file");
    jg_str_free(&text);
}

Test(file, what_is_no_file_is_named)
{
    struct jg_str text = {0};
    jg_str_puts(&text, "x");

    cr_expect_eq(jg_file_read("/nowhere/at/all", 10, &text), JIT_GEMM_ERR_IO);
    cr_expect_not_null(strstr(jg_error_text(), "'/nowhere/at/all' cannot be read"));
    cr_expect_eq(jg_file_read("/tmp", 10, &text), JIT_GEMM_ERR_IO);
    cr_expect_eq(jg_file_replace("/nowhere/at/all", &text), JIT_GEMM_ERR_IO);
    cr_expect_not_null(strstr(jg_error_text(), "cannot be created"));
    cr_expect_eq(jg_file_check("/nowhere/at/all"), JIT_GEMM_ERR_IO);
    cr_expect_eq(jg_file_check("/tmp"), JIT_GEMM_ERR_IO);
    cr_expect_not_null(strstr(jg_error_text(), "'/tmp' cannot be replaced"));
    /* A rename by root would put a file in its place. */
    char pipe_path[64];
    snprintf(pipe_path, sizeof(pipe_path), "/tmp/jg_file_pipe_%ld", (long)getpid());
    cr_assert_eq(mkfifo(pipe_path, 0600), 0);
    cr_expect_eq(jg_file_replace(pipe_path, &text), JIT_GEMM_ERR_IO);
    cr_expect_not_null(
        strstr(jg_error_text(), "cannot be replaced: it is no regular file"));
    struct stat found;
    cr_expect(stat(pipe_path, &found) == 0 && S_ISFIFO(found.st_mode));
    cr_expect_eq(unlink(pipe_path), 0);
    jg_str_free(&text);
}
