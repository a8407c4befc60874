/* SPDX-License-Identifier: MIT */
/* Capsules: when one is left, and what is in it. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capsule_bench.h"
#include "jit_gemm/scales.h"

/* ------------------------------------------------------------------- what one has in it */

Test(capsule, failing_compile_leaves_all_that_a_replay_needs)
{
    struct capsule_bench bench;
    struct stat found;
    char capsule[256] = "";
    char error[512];
    capsule_set_up(&bench);

    cr_assert_eq(capsule_break_down(&bench), JIT_GEMM_ERR_COMPILE);
    snprintf(error, sizeof(error), "%s", jit_gemm_last_error());

    cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
    cr_expect_not_null(strstr(error, "internal error"), "%s", error);
    cr_expect_not_null(strstr(capsule, "/capsule-"));
    cr_expect_eq(capsule_list(capsule, NULL, 0), CAPSULE_NAME_COUNT);
    cr_assert_eq(stat(capsule, &found), 0);
    cr_expect_eq(found.st_mode & 0777, 0700);
    cr_assert_eq(stat(bench.capsules, &found), 0);
    cr_expect_eq(found.st_mode & 0777, 0700);
    for (int i = 0; i < CAPSULE_NAME_COUNT; i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", capsule, capsule_names[i]);
        cr_assert_eq(stat(path, &found), 0, "%s", path);
        cr_expect_eq(found.st_mode & 0777, 0600, "%s", path);
    }
    capsule_expect(capsule, "capsule.txt", "\nstatus COMPILE\nlibrary ");
    capsule_expect(capsule, "capsule.txt", "\ncompiler dummy 1\n");
    capsule_expect(capsule, "capsule.txt",
                   "\narch sm_90a\nkind cubin\noptions -std=c++17 ");
    capsule_expect(capsule, "capsule.txt", strrchr(capsule, '-') + 1);
    capsule_expect(capsule, "log.txt", "shown_name(1): warning");
    capsule_expect(capsule, "log.txt", "fatal   : internal error at <path>\n");
    capsule_expect(capsule, "log.txt", "ptxas <path>, line 7;");
    capsule_expect(capsule, "error.txt", "internal error in \"<path>\"");
    capsule_expect(capsule, "unit.cu", "#line 1 \"shown_name\"");
    capsule_expect(capsule, "unit.cu", "float DUMMY_BROKEN = acc;");
    capsule_expect(capsule, "problem.manifest",
                   "\nsource 43 5 shown_name\nfloat DUMMY_BROKEN");
    cr_expect_not_null(strstr(bench.fixture.log, "jit-gemm replay "));
    api_fixture_close(&bench.fixture);
}

Test(capsule, nothing_of_the_users_paths_is_in_any_file)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    capsule_set_up(&bench);
    const char *const secrets[] = {"jane",        "doe",    "secret",
                                   "my_epilogue", "tmpxft", bench.fixture.folder};

    cr_assert_eq(capsule_break_down(&bench), JIT_GEMM_ERR_COMPILE);

    cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
    for (int i = 0; i < CAPSULE_NAME_COUNT; i++) {
        struct jg_str text = capsule_read_file(capsule, capsule_names[i]);
        for (size_t k = 0; k < sizeof(secrets) / sizeof(secrets[0]); k++) {
            cr_expect_null(strstr(jg_str_text(&text), secrets[k]), "%s has '%s':\n%s",
                           capsule_names[i], secrets[k], jg_str_text(&text));
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
    struct capsule_bench bench;
    char capsule[256] = "";
    capsule_leave(&bench, capsule, sizeof(capsule));
    struct jg_str text = capsule_read_file(capsule, "problem.manifest");
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};

    const jit_gemm_status status = jit_gemm_prewarm(
        bench.fixture.context, jg_str_text(&text), text.size, NULL, &result);

    cr_expect_eq(status, JIT_GEMM_ERR_COMPILE, "%s", jit_gemm_last_error());
    cr_expect_eq(result.total, 1);
    cr_expect(api_error_has("internal error"));
    cr_expect_eq(capsule_list(bench.capsules, NULL, 0), 1, "its unit is the same");
    jg_str_free(&text);
    api_fixture_close(&bench.fixture);
}

Test(capsule, refused_code_leaves_one_too_and_its_log)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome;
    capsule_set_up(&bench);

    cr_assert_eq(capsule_create(bench.fixture.context, "e",
                                "float DUMMY_NO_CODE = acc; d = acc;", NULL,
                                "512x512x512 bf16"),
                 JIT_GEMM_ERR_INTERNAL);

    cr_expect(api_error_has("cannot be used"));
    cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
    capsule_expect(capsule, "capsule.txt", "\nstatus INTERNAL\n");
    capsule_expect(capsule, "log.txt", "dummy log\n");
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR);
    api_fixture_close(&bench.fixture);
}

/* Of the last compile that broke. */
static bool asked_lineinfo, asked_rounds_apart;

/* A compiler whose every compile breaks. */
static jit_gemm_status break_always(struct jg_compiler *compiler,
                                    const struct jg_compile_request *request,
                                    struct jg_compile_result *ret_result)
{
    (void)compiler;
    (void)ret_result;
    asked_lineinfo = request->has_lineinfo;
    asked_rounds_apart = request->rounds_apart;
    return jg_fail_system(JIT_GEMM_ERR_INTERNAL, "compiler", "", "it breaks");
}

static void destroy_nothing(struct jg_compiler *compiler)
{
    (void)compiler;
}

static void use_breaking_compiler(struct capsule_bench *bench)
{
    static struct jg_compiler breaking = {.signature = "breaking 1",
                                          .path = "",
                                          .compile = break_always,
                                          .destroy = destroy_nothing};
    struct jg_toolchain *toolchain = NULL;
    cr_assert_eq(jg_toolchain_create_with(&breaking, &toolchain), JIT_GEMM_OK);
    jg_context_use_toolchain(bench->fixture.context, toolchain);
}

Test(capsule, kernels_with_a_named_epilogue_and_with_none_have_theirs)
{
    static const char *const texts[] = {"512x512x512 bf16",
                                        "512x512x512 bf16 epilogue=gelu"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct capsule_bench bench;
        char capsule[256] = "";
        char line[300];
        int outcome;
        capsule_set_up(&bench);
        use_breaking_compiler(&bench);
        const jit_gemm_problem problem = api_problem(texts[i]);
        jit_gemm *gemm = NULL;

        cr_expect_eq(jit_gemm_create(bench.fixture.context, &problem, &gemm),
                     JIT_GEMM_ERR_INTERNAL);

        cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
        snprintf(line, sizeof(line), "jit_gemm manifest 1\nproblem m=512 n=512 k=512 ");
        struct jg_str manifest = capsule_read_file(capsule, "problem.manifest");
        cr_expect_eq(strncmp(jg_str_text(&manifest), line, strlen(line)), 0, "%s",
                     jg_str_text(&manifest));
        jg_str_free(&manifest);
        cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR);
        api_fixture_close(&bench.fixture);
    }
}

Test(capsule, options_are_those_of_the_compile_and_replayed)
{
    static const struct {
        const char *text, *options;
        bool has_lineinfo, rounds_apart;
    } rows[] = {
        {"512x512x512 bf16", "--ptxas-options=-v\n", false, false},
        {"512x512x512 bf16 config=lineinfo=1", "=-v -lineinfo\n", true, false},
        {"512x512x512 bf16 invariant=m", "=-v -fmad=false\n", false, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct capsule_bench bench;
        char capsule[256] = "";
        int outcome;
        capsule_set_up(&bench);
        use_breaking_compiler(&bench);
        const jit_gemm_problem problem = api_problem(rows[i].text);
        jit_gemm *gemm = NULL;

        cr_expect_eq(jit_gemm_create(bench.fixture.context, &problem, &gemm),
                     JIT_GEMM_ERR_INTERNAL, "%s", jit_gemm_last_error());

        cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
        capsule_expect(capsule, "capsule.txt", rows[i].options);
        asked_lineinfo = !rows[i].has_lineinfo;
        asked_rounds_apart = !rows[i].rounds_apart;
        cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
        cr_expect_eq(asked_lineinfo, rows[i].has_lineinfo, "%s", rows[i].text);
        cr_expect_eq(asked_rounds_apart, rows[i].rounds_apart, "%s", rows[i].text);
        api_fixture_close(&bench.fixture);
    }
}

Test(capsule, conversion_of_scales_has_its_own)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome;
    capsule_set_up(&bench);
    use_breaking_compiler(&bench);
    const jit_gemm_scale scale = {
        .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 32};
    jit_gemm_packer *packer = NULL;

    cr_expect_eq(jit_gemm_packer_create(bench.fixture.context, &scale,
                                        JIT_GEMM_SCALE_LAYOUT_128X4, &packer),
                 JIT_GEMM_ERR_INTERNAL, "%s", jit_gemm_last_error());

    cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
    capsule_expect(capsule, "problem.manifest",
                   "jit_gemm manifest 1\npack bytes=1 from=row ");
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR);
    api_fixture_close(&bench.fixture);
}

/* ------------------------------------------------------------------------ when none is */

Test(capsule, error_in_a_snippet_leaves_none)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);

    cr_expect_eq(capsule_create(bench.fixture.context, "e", "d = DUMMY_ERROR;", NULL,
                                "512x512x512 bf16"),
                 JIT_GEMM_ERR_COMPILE);

    cr_expect_eq(access(bench.capsules, F_OK), -1);
    api_fixture_close(&bench.fixture);
}

Test(capsule, success_makes_no_folder)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;

    cr_assert_eq(jit_gemm_create(bench.fixture.context, &problem, &gemm), JIT_GEMM_OK);

    cr_expect_eq(access(bench.capsules, F_OK), -1);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&bench.fixture);
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

static void expect_not_left(struct capsule_bench *bench, const char *folder,
                            const char *reason)
{
    cr_expect_eq(capsule_break_down(bench), JIT_GEMM_ERR_COMPILE, "%s",
                 jit_gemm_last_error());
    cr_expect(api_error_has("internal error"));
    cr_expect_not_null(strstr(bench->fixture.log, "1 no capsule was left of "), "%s",
                       bench->fixture.log);
    cr_expect_not_null(strstr(bench->fixture.log, reason), "%s is not in\n%s", reason,
                       bench->fixture.log);
    cr_expect_eq(capsule_list(folder, NULL, 0), 0, "something was left behind");
}

Test(capsule, folder_that_others_may_write_is_not_used)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);
    cr_assert_eq(mkdir(bench.capsules, 0700), 0);
    cr_assert_eq(chmod(bench.capsules, 0770), 0);

    expect_not_left(&bench, bench.capsules, "others may write in it");

    api_fixture_close(&bench.fixture);
}

Test(capsule, folder_of_another_user_is_not_used)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);
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
    struct capsule_bench bench;
    char target[128];
    capsule_set_up(&bench);
    snprintf(target, sizeof(target), "%s/target", bench.fixture.folder);
    cr_assert_eq(mkdir(target, 0700), 0);
    cr_assert_eq(symlink(target, bench.capsules), 0);

    expect_not_left(&bench, target, bench.capsules);

    api_fixture_close(&bench.fixture);
}

Test(capsule, folder_that_cannot_be_made_is_a_line_of_the_log)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);
    capsule_write_file(bench.fixture.folder, "capsules", "x", 1);

    expect_not_left(&bench, "/none", "Not a directory");

    api_fixture_close(&bench.fixture);
}

Test(capsule, full_disk_leaves_nothing_behind)
{
    struct capsule_bench bench;
    const struct rlimit small = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
    const struct rlimit large = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    capsule_set_up(&bench);

    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    expect_not_left(&bench, bench.capsules, "File too large");

    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &large), 0);
    api_fixture_close(&bench.fixture);
}

Test(capsule, second_failure_of_a_kernel_keeps_the_first_capsule)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    capsule_leave(&bench, capsule, sizeof(capsule));
    capsule_write_file(capsule, "log.txt", "kept", 4);

    cr_assert_eq(capsule_break_down(&bench), JIT_GEMM_ERR_COMPILE);

    cr_expect_eq(capsule_list(bench.capsules, NULL, 0), 1);
    capsule_expect(capsule, "log.txt", "kept");
    api_fixture_close(&bench.fixture);
}

Test(capsule, folder_takes_sixteen)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);

    for (int i = 1; i <= JG_CAPSULE_MOST + 2; i++) {
        char text[64];
        snprintf(text, sizeof(text), "512x512x%d bf16", 64 * i);
        cr_assert_eq(capsule_create(bench.fixture.context, "e", capsule_broken, NULL, text),
                     JIT_GEMM_ERR_COMPILE);
        cr_expect_eq(capsule_list(bench.capsules, NULL, 0),
                     i < JG_CAPSULE_MOST ? i : JG_CAPSULE_MOST);
    }

    cr_expect_not_null(strstr(bench.fixture.log, "has 16, which is all it may have"));
    bench.fixture.log_size = 0;
    cr_assert_eq(
        capsule_create(bench.fixture.context, "e", capsule_broken, NULL, "512x512x64 bf16"),
        JIT_GEMM_ERR_COMPILE);
    cr_expect_not_null(strstr(bench.fixture.log, " lies in a capsule: "), "it has one");
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
        is_right &= capsule_create(fixture.context, "e", capsule_broken, NULL, text) ==
                    JIT_GEMM_ERR_COMPILE;
    }
    /* There are more than a folder takes, or one that is there for all. */
    is_right &= kernels > 1 || strstr(fixture.log, "no capsule was left of ") == NULL;
    api_fixture_close(&fixture);
    _exit(is_right ? 0 : 1);
}

Test(capsule, processes_at_once_leave_whole_ones_and_no_more_than_sixteen)
{
    enum { PROCESSES = 4 };
    for (int kernels = 1; kernels <= 20; kernels += 19) {
        struct capsule_bench bench;
        pid_t children[PROCESSES];
        int gate[2];
        capsule_set_up(&bench);
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

        const int count = capsule_list(bench.capsules, NULL, 0);
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
    struct capsule_bench bench;
    char capsule[256] = "";
    capsule_set_up(&bench);
    cr_assert_eq(capsule_break_down(&bench),
                 JIT_GEMM_ERR_COMPILE); /* it is registered now */
    cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
    for (int i = 0; i < CAPSULE_NAME_COUNT; i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", capsule, capsule_names[i]);
        cr_assert_eq(unlink(path), 0);
    }
    cr_assert_eq(rmdir(capsule), 0);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16 epilogue=shown_name");
    jit_gemm *gemm = NULL;
    long number = 1;
    for (; number < 5000 && capsule_list(bench.capsules, NULL, 0) == 0; number++) {
        jg_alloc_fail_at(number, false);
        const jit_gemm_status status =
            jit_gemm_create(bench.fixture.context, &problem, &gemm);
        jg_alloc_fail_at(0, false);
        cr_assert(status == JIT_GEMM_ERR_COMPILE || status == JIT_GEMM_ERR_NO_MEMORY,
                  "allocation %ld: %d, %s", number, (int)status, jit_gemm_last_error());
        if (capsule_list(bench.capsules, capsule, sizeof(capsule)) == 1) {
            struct jg_capsule read = {0};
            cr_assert_eq(jg_capsule_read(capsule, &read), JIT_GEMM_OK, "allocation %ld",
                         number);
            jg_capsule_free(&read);
        }
    }
    cr_expect_gt(number, 20);
    cr_expect_eq(capsule_list(bench.capsules, NULL, 0), 1);
    api_fixture_close(&bench.fixture);
}
