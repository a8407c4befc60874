/* SPDX-License-Identifier: MIT */
/* Capsules: when one is left, what is in it, and what a replay makes of it. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/capsule.h"
#include "api_fixture.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "jit_gemm/capsule.h"

#define HOME      "/srv/jane doe"
#define FILE_NAME "/srv/jane doe/secret/my_epilogue.cu"

static const char *const names[] = {"capsule.txt", "problem.manifest", "unit.cu", "log.txt",
                                    "error.txt"};
enum { NAME_COUNT = sizeof(names) / sizeof(names[0]) };

struct bench {
    struct api_fixture fixture;
    char capsules[96]; /* in the fixture's folder; not made yet */
};

static void set_up(struct bench *bench)
{
    setenv("HOME", HOME, 1);
    jit_gemm_context_options options = api_fixture_options(&bench->fixture);
    snprintf(bench->capsules, sizeof(bench->capsules), "%s/capsules",
             bench->fixture.folder);
    options.capsule_dir = bench->capsules;
    api_fixture_open_with(&bench->fixture, &options, 0);
}

static jit_gemm_status create(jit_gemm_context *context, const char *name,
                              const char *source, const char *file, const char *text)
{
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = name,
                                        .source = source,
                                        .source_name = file,
                                        .first_line = 5};
    char whole[256];
    cr_assert_eq(jit_gemm_epilogue_register(context, &epilogue), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    snprintf(whole, sizeof(whole), "%s epilogue=%s", text, name);
    const jit_gemm_problem problem = api_problem(whole);
    jit_gemm *gemm = NULL;
    const jit_gemm_status status = jit_gemm_create(context, &problem, &gemm);
    jit_gemm_destroy(&gemm);
    return status;
}

static const char broken[] = "float DUMMY_BROKEN = acc;\nd = DUMMY_BROKEN;";

static jit_gemm_status break_down(struct bench *bench)
{
    return create(bench->fixture.context, "shown_name", broken, FILE_NAME,
                  "512x512x512 bf16");
}

/* Entries of a folder, but for "." and ".."; the last one's path is given. */
static int list(const char *folder, char *ret_path, size_t size)
{
    int count = 0;
    DIR *all = opendir(folder);
    for (struct dirent *entry = all != NULL ? readdir(all) : NULL; entry != NULL;
         entry = readdir(all)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            count++;
            if (ret_path != NULL) {
                snprintf(ret_path, size, "%s/%s", folder, entry->d_name);
            }
        }
    }
    if (all != NULL) {
        closedir(all);
    }
    return count;
}

static struct jg_str read_in(const char *folder, const char *name)
{
    char path[512];
    struct jg_str text = {0};
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert_eq(jg_file_read(path, 1 << 22, &text), JIT_GEMM_OK, "%s", jg_error_text());
    return text;
}

static void write_in(const char *folder, const char *name, const char *bytes, size_t size)
{
    char path[512];
    struct jg_str text = {0};
    jg_str_add(&text, bytes, size);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert_eq(jg_file_replace(path, &text), JIT_GEMM_OK, "%s", jg_error_text());
    jg_str_free(&text);
}

static void expect_has(const char *folder, const char *name, const char *text)
{
    struct jg_str file = read_in(folder, name);
    cr_expect_not_null(strstr(jg_str_text(&file), text), "'%s' is not in %s:\n%s", text,
                       name, jg_str_text(&file));
    jg_str_free(&file);
}

/* Replaces the first `from` of a file of a capsule. */
static void edit(const char *folder, const char *name, const char *from, const char *to)
{
    struct jg_str old = read_in(folder, name);
    struct jg_str text = {0};
    const char *at = strstr(jg_str_text(&old), from);
    cr_assert_not_null(at, "'%s' is not in %s", from, name);
    jg_str_add(&text, old.data, (size_t)(at - old.data));
    jg_str_printf(&text, "%s%s", to, at + strlen(from));
    write_in(folder, name, text.data, text.size);
    jg_str_free(&text);
    jg_str_free(&old);
}

static jit_gemm_status replay(struct bench *bench, const char *folder, int *ret_outcome,
                              char *report, size_t size)
{
    jit_gemm_replay_outcome outcome = JIT_GEMM_REPLAY_SAME_ERROR;
    const jit_gemm_status status = jit_gemm_capsule_replay(bench->fixture.context, folder,
                                                           &outcome, report, size, NULL);
    *ret_outcome = status == JIT_GEMM_OK ? (int)outcome : -1;
    return status;
}

/* ------------------------------------------------------------------- what one has in it */

Test(capsule, failing_compile_leaves_all_that_a_replay_needs)
{
    struct bench bench;
    struct stat found;
    char capsule[256] = "";
    char error[512];
    set_up(&bench);

    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);
    snprintf(error, sizeof(error), "%s", jit_gemm_last_error());

    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);
    cr_expect_not_null(strstr(error, "internal error"), "%s", error);
    cr_expect_not_null(strstr(capsule, "/capsule-"));
    cr_expect_eq(list(capsule, NULL, 0), NAME_COUNT);
    cr_assert_eq(stat(capsule, &found), 0);
    cr_expect_eq(found.st_mode & 0777, 0700);
    cr_assert_eq(stat(bench.capsules, &found), 0);
    cr_expect_eq(found.st_mode & 0777, 0700);
    for (int i = 0; i < NAME_COUNT; i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", capsule, names[i]);
        cr_assert_eq(stat(path, &found), 0, "%s", path);
        cr_expect_eq(found.st_mode & 0777, 0600, "%s", path);
    }
    expect_has(capsule, "capsule.txt", "\nstatus COMPILE\nlibrary ");
    expect_has(capsule, "capsule.txt", "\ncompiler dummy 1\n");
    expect_has(capsule, "capsule.txt", "\narch sm_90a\nkind cubin\noptions -std=c++17 ");
    expect_has(capsule, "capsule.txt", strrchr(capsule, '-') + 1);
    expect_has(capsule, "log.txt", "shown_name(1): warning");
    expect_has(capsule, "log.txt", "fatal   : internal error at <path>\n");
    expect_has(capsule, "log.txt", "ptxas <path>, line 7;");
    expect_has(capsule, "error.txt", "internal error in \"<path>\"");
    expect_has(capsule, "unit.cu", "#line 5 \"shown_name\"");
    expect_has(capsule, "unit.cu", "float DUMMY_BROKEN = acc;");
    expect_has(capsule, "problem.manifest", "\nsource 43 5 shown_name\nfloat DUMMY_BROKEN");
    cr_expect_not_null(strstr(bench.fixture.log, "jit-gemm replay "));
    api_fixture_close(&bench.fixture);
}

Test(capsule, nothing_of_the_users_paths_is_in_any_file)
{
    struct bench bench;
    char capsule[256] = "";
    set_up(&bench);
    const char *const secrets[] = {"jane",        "doe",    "secret",
                                   "my_epilogue", "tmpxft", bench.fixture.folder};

    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);

    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);
    for (int i = 0; i < NAME_COUNT; i++) {
        struct jg_str text = read_in(capsule, names[i]);
        for (size_t k = 0; k < sizeof(secrets) / sizeof(secrets[0]); k++) {
            cr_expect_null(strstr(jg_str_text(&text), secrets[k]), "%s has '%s':\n%s",
                           names[i], secrets[k], jg_str_text(&text));
        }
        jg_str_free(&text);
    }
    api_fixture_close(&bench.fixture);
}

Test(capsule, texts_are_cleaned_by_rules)
{
    static const struct {
        const char *file, *text, *clean;
    } rows[] = {
        {"my.cu", "my.cu(3): error, in \"my.cu\"", "e(3): error, in \"e\""},
        {"my.cu", "amy.cu my.cux ./my.cu", "amy.cu my.cux ./e"},
        {"error", "error(3): error: x", "e(3): error: x"},
        {"e", "e(3): e", "e(3): e"},
        {"dir/my file", "dir/my file(3)", "e(3)"},
        {"my.cu", "at /a/b.c:7 and '/c' (/d/e)", "at <path>:7 and '<path>' (<path>)"},
        {"my.cu", "a/b // c /* d */ a / b", "a/b // c /* d */ a / b"},
        {"my.cu", "/with blank/x/y and more", "<path> and more"},
        {"my.cu", "/\xc3\xa4/b", "<path>"},
        {"my.cu", "", ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_str clean = {0};
        char file[64];
        snprintf(file, sizeof(file), "%s", rows[i].file);
        const struct jg_epilogue epilogue = {.name = "e", .source_name = file};
        const struct jg_capsule_private hidden = {.epilogue = &epilogue,
                                                  .paths = {NULL, "/with blank"}};
        jg_capsule_clean(&hidden, rows[i].text, &clean);

        cr_expect_str_eq(jg_str_text(&clean), rows[i].clean);
        jg_str_free(&clean);
    }
}

Test(capsule, manifest_is_one_that_prewarm_reads)
{
    struct bench bench;
    char capsule[256] = "";
    set_up(&bench);
    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);
    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);
    struct jg_str text = read_in(capsule, "problem.manifest");
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};

    const jit_gemm_status status = jit_gemm_prewarm(
        bench.fixture.context, jg_str_text(&text), text.size, NULL, &result);

    cr_expect_eq(status, JIT_GEMM_ERR_COMPILE, "%s", jit_gemm_last_error());
    cr_expect_eq(result.total, 1);
    cr_expect(api_error_has("internal error"));
    cr_expect_eq(list(bench.capsules, NULL, 0), 2, "its unit has another file name");
    jg_str_free(&text);
    api_fixture_close(&bench.fixture);
}

Test(capsule, refused_code_leaves_one_too_and_its_log)
{
    struct bench bench;
    char capsule[256] = "";
    int outcome;
    set_up(&bench);

    cr_assert_eq(create(bench.fixture.context, "e", "float DUMMY_NO_CODE = acc; d = acc;",
                        NULL, "512x512x512 bf16"),
                 JIT_GEMM_ERR_INTERNAL);

    cr_expect(api_error_has("cannot be used"));
    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);
    expect_has(capsule, "capsule.txt", "\nstatus INTERNAL\n");
    expect_has(capsule, "log.txt", "dummy log\n");
    cr_assert_eq(replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR);
    api_fixture_close(&bench.fixture);
}

/* ------------------------------------------------------------------------ when none is */

Test(capsule, error_in_a_snippet_leaves_none)
{
    struct bench bench;
    set_up(&bench);

    cr_expect_eq(
        create(bench.fixture.context, "e", "d = DUMMY_ERROR;", NULL, "512x512x512 bf16"),
        JIT_GEMM_ERR_COMPILE);

    cr_expect_eq(access(bench.capsules, F_OK), -1);
    api_fixture_close(&bench.fixture);
}

Test(capsule, success_makes_no_folder_and_allocates_as_without)
{
    long counts[3]; /* the first one warms up */
    for (int i = 0; i < 3; i++) {
        struct api_fixture fixture;
        jit_gemm_context_options options = api_fixture_options(&fixture);
        char capsules[96];
        snprintf(capsules, sizeof(capsules), "%s/capsules", fixture.folder);
        options.capsule_dir = i == 2 ? capsules : NULL;
        api_fixture_open_with(&fixture, &options, 0);
        const jit_gemm_problem problem = api_problem("512x512x512 bf16");
        jit_gemm *gemm = NULL;
        const long before = jg_alloc_count();

        cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);

        counts[i] = jg_alloc_count() - before;
        cr_expect_eq(access(capsules, F_OK), -1);
        jit_gemm_destroy(&gemm);
        api_fixture_close(&fixture);
    }
    cr_expect_eq(counts[1], counts[2], "%ld and %ld", counts[1], counts[2]);
}

Test(capsule, relative_folder_is_refused_by_option_and_by_variable)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    jit_gemm_context *context = NULL;

    options.capsule_dir = "here";
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.capsule_dir: 'here' is not an absolute path"));
    options.capsule_dir = NULL;
    setenv("JIT_GEMM_CAPSULES", "there", 1);
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("JIT_GEMM_CAPSULES: 'there' is not an absolute path"));
    options.capsule_dir = "/option/wins";
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_OK);

    jit_gemm_context_destroy(&context);
    api_fixture_close(&fixture);
}

/* --------------------------------------------------------------------------- the folder */

static void expect_not_left(struct bench *bench, const char *folder, const char *reason)
{
    cr_expect_eq(break_down(bench), JIT_GEMM_ERR_COMPILE, "%s", jit_gemm_last_error());
    cr_expect(api_error_has("internal error"));
    cr_expect_not_null(strstr(bench->fixture.log, "1 no capsule was left of "), "%s",
                       bench->fixture.log);
    cr_expect_not_null(strstr(bench->fixture.log, reason), "%s is not in\n%s", reason,
                       bench->fixture.log);
    cr_expect_eq(list(folder, NULL, 0), 0, "something was left behind");
}

Test(capsule, folder_that_others_may_write_is_not_used)
{
    struct bench bench;
    set_up(&bench);
    cr_assert_eq(mkdir(bench.capsules, 0700), 0);
    cr_assert_eq(chmod(bench.capsules, 0770), 0);

    expect_not_left(&bench, bench.capsules, "others may write in it");

    api_fixture_close(&bench.fixture);
}

Test(capsule, folder_of_another_user_is_not_used)
{
    struct bench bench;
    set_up(&bench);
    if (geteuid() != 0) {
        cr_skip_test("only root can give a folder away");
    }
    cr_assert_eq(mkdir(bench.capsules, 0700), 0);
    cr_assert_eq(chown(bench.capsules, 12345, 12345), 0);

    expect_not_left(&bench, bench.capsules, "belongs to another user");

    api_fixture_close(&bench.fixture);
}

Test(capsule, link_to_a_folder_is_not_followed)
{
    struct bench bench;
    char target[128];
    set_up(&bench);
    snprintf(target, sizeof(target), "%s/target", bench.fixture.folder);
    cr_assert_eq(mkdir(target, 0700), 0);
    cr_assert_eq(symlink(target, bench.capsules), 0);

    expect_not_left(&bench, target, bench.capsules);

    api_fixture_close(&bench.fixture);
}

Test(capsule, folder_that_cannot_be_made_is_a_line_of_the_log)
{
    struct bench bench;
    set_up(&bench);
    write_in(bench.fixture.folder, "capsules", "x", 1);

    expect_not_left(&bench, "/none", "Not a directory");

    api_fixture_close(&bench.fixture);
}

Test(capsule, full_disk_leaves_nothing_behind)
{
    struct bench bench;
    const struct rlimit small = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
    const struct rlimit large = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    set_up(&bench);
    signal(SIGXFSZ, SIG_IGN);

    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    expect_not_left(&bench, bench.capsules, "File too large");

    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &large), 0);
    api_fixture_close(&bench.fixture);
}

Test(capsule, second_failure_of_a_kernel_keeps_the_first_capsule)
{
    struct bench bench;
    char capsule[256] = "";
    set_up(&bench);
    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);
    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);
    write_in(capsule, "log.txt", "kept", 4);

    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);

    cr_expect_eq(list(bench.capsules, NULL, 0), 1);
    expect_has(capsule, "log.txt", "kept");
    api_fixture_close(&bench.fixture);
}

Test(capsule, folder_takes_sixteen)
{
    struct bench bench;
    set_up(&bench);

    for (int i = 1; i <= JG_CAPSULE_MOST + 2; i++) {
        char text[64];
        snprintf(text, sizeof(text), "512x512x%d bf16", 64 * i);
        cr_assert_eq(create(bench.fixture.context, "e", broken, NULL, text),
                     JIT_GEMM_ERR_COMPILE);
        cr_expect_eq(list(bench.capsules, NULL, 0),
                     i < JG_CAPSULE_MOST ? i : JG_CAPSULE_MOST);
    }

    cr_expect_not_null(strstr(bench.fixture.log, "has 16, which is all it may have"));
    api_fixture_close(&bench.fixture);
}

/* A process that fails with so many kernels once `gate` is closed by the parent. */
static void fail_in_child(const char *capsules, int gate, int kernels)
{
    struct api_fixture fixture;
    char byte;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.capsule_dir = capsules;
    api_fixture_open_with(&fixture, &options, 0);
    while (read(gate, &byte, 1) > 0) {
    }
    bool is_right = true;
    for (int i = 1; i <= kernels; i++) {
        char text[64];
        snprintf(text, sizeof(text), "512x512x%d bf16", 64 * i);
        is_right &=
            create(fixture.context, "e", broken, NULL, text) == JIT_GEMM_ERR_COMPILE;
    }
    api_fixture_close(&fixture);
    _exit(is_right ? 0 : 1);
}

Test(capsule, processes_at_once_leave_whole_ones_and_no_more_than_sixteen)
{
    enum { PROCESSES = 4 };
    for (int kernels = 1; kernels <= 20; kernels += 19) {
        struct bench bench;
        pid_t children[PROCESSES];
        int gate[2];
        set_up(&bench);
        cr_assert_eq(pipe(gate), 0);
        for (int i = 0; i < PROCESSES; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                close(gate[1]);
                fail_in_child(bench.capsules, gate[0], kernels);
            }
        }
        close(gate[0]);
        close(gate[1]);
        for (int i = 0; i < PROCESSES; i++) {
            int code = -1;
            cr_assert_eq(waitpid(children[i], &code, 0), children[i]);
            cr_expect_eq(code, 0);
        }

        const int count = list(bench.capsules, NULL, 0);
        cr_expect(kernels == 1 ? count == 1 : count > 1 && count <= JG_CAPSULE_MOST, "%d",
                  count);
        DIR *all = opendir(bench.capsules);
        for (struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
            if (entry->d_name[0] != '.') {
                char path[512];
                struct jg_capsule capsule = {0};
                snprintf(path, sizeof(path), "%s/%s", bench.capsules, entry->d_name);
                cr_expect_null(strstr(path, ".tmp"), "%s", path);
                cr_expect_eq(jg_capsule_read(path, &capsule), JIT_GEMM_OK, "%s: %s", path,
                             jit_gemm_last_error());
                jg_capsule_free(&capsule);
            }
        }
        closedir(all);
        api_fixture_close(&bench.fixture);
    }
}

Test(capsule, lack_of_memory_keeps_the_error_and_leaves_no_half)
{
    struct bench bench;
    char capsule[256] = "";
    set_up(&bench);
    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE); /* it is registered now */
    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);
    for (int i = 0; i < NAME_COUNT; i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", capsule, names[i]);
        cr_assert_eq(unlink(path), 0);
    }
    cr_assert_eq(rmdir(capsule), 0);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16 epilogue=shown_name");
    jit_gemm *gemm = NULL;
    long number = 1;
    for (; number < 5000 && list(bench.capsules, NULL, 0) == 0; number++) {
        jg_alloc_fail_at(number, false);
        const jit_gemm_status status =
            jit_gemm_create(bench.fixture.context, &problem, &gemm);
        jg_alloc_fail_at(0, false);
        cr_assert(status == JIT_GEMM_ERR_COMPILE || status == JIT_GEMM_ERR_NO_MEMORY,
                  "allocation %ld: %d, %s", number, (int)status, jit_gemm_last_error());
        if (list(bench.capsules, capsule, sizeof(capsule)) == 1) {
            struct jg_capsule read = {0};
            cr_assert_eq(jg_capsule_read(capsule, &read), JIT_GEMM_OK, "allocation %ld",
                         number);
            jg_capsule_free(&read);
        }
    }
    cr_expect_gt(number, 20);
    cr_expect_eq(list(bench.capsules, NULL, 0), 1);
    api_fixture_close(&bench.fixture);
}

/* ------------------------------------------------------------------------------ replays */

Test(capsule, replay_tells_the_same_error_another_and_none)
{
    struct bench bench;
    char capsule[256] = "";
    char report[4096];
    int outcome;
    set_up(&bench);
    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);
    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);

    cr_assert_eq(replay(&bench, capsule, &outcome, report, sizeof(report)), JIT_GEMM_OK,
                 "%s", jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR);
    cr_expect_eq(strncmp(report,
                         "replay: same error; same library, same compiler, same device "
                         "sources\nlibrary: ",
                         77),
                 0, "%s", report);
    cr_expect_not_null(strstr(report, "\nerror: "));

    edit(capsule, "capsule.txt", "\ncompiler dummy 1\n", "\ncompiler dummy 2\n");
    edit(capsule, "error.txt", "internal error", "external error");
    cr_assert_eq(replay(&bench, capsule, &outcome, report, sizeof(report)), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_OTHER_ERROR);
    cr_expect_eq(strncmp(report, "replay: other error; same library, other compiler, ", 51),
                 0, "%s", report);
    cr_expect_not_null(strstr(report, "\nerror here: "));

    edit(capsule, "unit.cu", "DUMMY_BROKEN", "DUMMY_WHOLE_");
    edit(capsule, "unit.cu", "DUMMY_BROKEN", "DUMMY_WHOLE_");
    cr_assert_eq(replay(&bench, capsule, &outcome, report, sizeof(report)), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_COMPILES);
    cr_expect_eq(strncmp(report, "replay: compiles here; ", 23), 0, "%s", report);
    api_fixture_close(&bench.fixture);
}

Test(capsule, replay_compares_status_and_log_too)
{
    struct bench bench;
    char capsule[256] = "";
    int outcome;
    set_up(&bench);
    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);
    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);

    edit(capsule, "log.txt", "Compile time", "Compile_time");
    cr_assert_eq(replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR, "a line that is no error's");
    edit(capsule, "log.txt", "fatal   :", "fatal  !:");
    cr_assert_eq(replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_OTHER_ERROR);
    edit(capsule, "log.txt", "fatal  !:", "fatal   :");
    edit(capsule, "capsule.txt", "status COMPILE", "status INTERNAL");
    cr_assert_eq(replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_OTHER_ERROR);
    api_fixture_close(&bench.fixture);
}

Test(capsule, every_truncation_of_each_file_is_refused)
{
    struct bench bench;
    char capsule[256] = "";
    int outcome;
    set_up(&bench);
    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);
    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);
    const int calls = jg_compiler_dummy_calls(bench.fixture.compiler);

    for (int i = 0; i < NAME_COUNT; i++) {
        struct jg_str whole = read_in(capsule, names[i]);
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", capsule, names[i]);
        for (size_t size = whole.size; size-- > 0;) {
            cr_assert_eq(truncate(path, (off_t)size), 0);
            const jit_gemm_status status = replay(&bench, capsule, &outcome, NULL, 0);
            cr_assert_eq(status, JIT_GEMM_ERR_ARGUMENT, "%s with %zu bytes: %d, %s",
                         names[i], size, (int)status, jit_gemm_last_error());
            cr_assert(api_error_has(names[i]));
        }
        cr_assert_eq(unlink(path), 0);
        cr_expect_eq(replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has("is not there"));
        write_in(capsule, names[i], whole.data, whole.size);
        jg_str_free(&whole);
    }
    cr_expect_eq(jg_compiler_dummy_calls(bench.fixture.compiler), calls);
    cr_assert_eq(replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    api_fixture_close(&bench.fixture);
}

Test(capsule, hostile_record_is_refused_by_its_field)
{
    static const struct {
        const char *from, *to, *words;
        jit_gemm_status status;
    } rows[] = {
        {"capsule 1", "capsule 2", "reads format 1", JIT_GEMM_ERR_VERSION},
        {"jit_gemm capsule", "jit_gemm castle ", "line 1", JIT_GEMM_ERR_ARGUMENT},
        {"arch sm_90a", "arch sm_10x", "'sm_10x'", JIT_GEMM_ERR_UNSUPPORTED},
        {"kind cubin", "kind cubix", "capsule.txt: kind", JIT_GEMM_ERR_ARGUMENT},
        {"options ", "options -I/etc ", "capsule.txt: options", JIT_GEMM_ERR_ARGUMENT},
        {"options ", "options -std=c++1 ", "capsule.txt: options", JIT_GEMM_ERR_ARGUMENT},
        {"entry ", "entry x;", "capsule.txt: entry", JIT_GEMM_ERR_ARGUMENT},
        {"unit.cu ", "unit.cu -", "line 16", JIT_GEMM_ERR_ARGUMENT},
        {"unit.cu ", "unit.cu 99999999999999999999", "line 16", JIT_GEMM_ERR_ARGUMENT},
        {"unit.cu ", "unit.cx ", "line 16", JIT_GEMM_ERR_ARGUMENT},
        {"end\n", "end\nmore\n", "line 19", JIT_GEMM_ERR_ARGUMENT},
        {"driver ", "river ", "line 7", JIT_GEMM_ERR_ARGUMENT},
    };
    struct bench bench;
    char capsule[256] = "";
    int outcome;
    set_up(&bench);
    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);
    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);
    const int calls = jg_compiler_dummy_calls(bench.fixture.compiler);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        edit(capsule, "capsule.txt", rows[i].from, rows[i].to);
        cr_expect_eq(replay(&bench, capsule, &outcome, NULL, 0), rows[i].status, "%s: %s",
                     rows[i].to, jit_gemm_last_error());
        cr_expect(api_error_has(rows[i].words), "%s", rows[i].to);
        edit(capsule, "capsule.txt", rows[i].to, rows[i].from);
    }
    cr_expect_eq(jg_compiler_dummy_calls(bench.fixture.compiler), calls);
    api_fixture_close(&bench.fixture);
}

Test(capsule, files_that_are_none_are_refused)
{
    struct bench bench;
    char capsule[256] = "";
    char path[512];
    int outcome;
    set_up(&bench);
    cr_assert_eq(break_down(&bench), JIT_GEMM_ERR_COMPILE);
    cr_assert_eq(list(bench.capsules, capsule, sizeof(capsule)), 1);
    snprintf(path, sizeof(path), "%s/unit.cu", capsule);
    struct jg_str unit = read_in(capsule, "unit.cu");

    unit.data[7] = '\0';
    write_in(capsule, "unit.cu", unit.data, unit.size);
    cr_expect_eq(replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("zero byte"));
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("no plain file"));
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(symlink("/etc/passwd", path), 0);
    cr_expect_eq(replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("is a link"));
    cr_expect_eq(replay(&bench, "/none/at/all", &outcome, NULL, 0), JIT_GEMM_ERR_IO);

    jg_str_free(&unit);
    api_fixture_close(&bench.fixture);
}
