/* SPDX-License-Identifier: MIT */
/* Read-only cache roots of a context: who fills a folder, who reads it, and what is left.
 */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api_fixture.h"

static const char *const text = "512x512x512 bf16";

static struct api_fixture fixture; /* its folder is the one that can be written */
static char roots[3][96];          /* folders below a temporary one */
static char holder[64];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static void open_context(jit_gemm_context_options *options)
{
    api_fixture_open_with(&fixture, options, 0);
}

static jit_gemm_context_options options_with(const char *const *list, size_t count)
{
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.cache_roots = list;
    options.cache_root_count = count;
    return options;
}

/* What a rank that may write does: compiles into a folder. */
static void fill_folder(const char *folder)
{
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.cache_dir = folder;
    open_context(&options);
    cr_assert_eq(api_info_of(&fixture, text).origin, JIT_GEMM_ORIGIN_COMPILED);
    api_fixture_close(&fixture);
}

static void make_roots(void)
{
    unsetenv("JIT_GEMM_CACHE_ROOTS");
    snprintf(holder, sizeof(holder), "/tmp/jit_gemm_roots_XXXXXX");
    cr_assert_not_null(mkdtemp(holder));
    for (int i = 0; i < 3; i++) {
        snprintf(roots[i], sizeof(roots[i]), "%s/root%d", holder, i);
    }
}

static void remove_roots(void)
{
    nftw(holder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(cache_roots, .init = make_roots, .fini = remove_roots);

/* Everything that a folder holds, with sizes and times of change: one number. */
static unsigned long long footprint;

static int add_to_footprint(const char *path, const struct stat *st, int kind,
                            struct FTW *where)
{
    (void)kind;
    (void)where;
    for (const char *at = path; *at != '\0'; at++) {
        footprint = footprint * 31 + (unsigned char)*at;
    }
    footprint = footprint * 31 + (unsigned long long)st->st_size;
    footprint = footprint * 31 + (unsigned long long)st->st_mtim.tv_nsec;
    footprint = footprint * 31 + (unsigned long long)st->st_ctim.tv_nsec;
    footprint = footprint * 31 + st->st_mode;
    return 0;
}

static unsigned long long read_footprint(const char *folder)
{
    footprint = 1;
    nftw(folder, add_to_footprint, 16, FTW_PHYS);
    return footprint;
}

static char largest_path[256];
static long long largest_size;

static int keep_largest(const char *path, const struct stat *st, int kind,
                        struct FTW *where)
{
    (void)where;
    if (kind == FTW_F && st->st_size > largest_size) {
        largest_size = st->st_size;
        snprintf(largest_path, sizeof(largest_path), "%s", path);
    }
    return 0;
}

/* Changes the last byte of the kernel in a folder. */
static void damage_kernel(const char *folder)
{
    largest_size = 0;
    nftw(folder, keep_largest, 16, FTW_PHYS);
    FILE *file = fopen(largest_path, "r+b");
    cr_assert_not_null(file);
    fseek(file, -1, SEEK_END);
    const int byte = fgetc(file);
    fseek(file, -1, SEEK_END);
    fputc(byte ^ 1, file);
    fclose(file);
}

/* How many kernels a folder has. */
static int count_kernels(const char *folder)
{
    largest_size = 0;
    nftw(folder, keep_largest, 16, FTW_PHYS);
    return largest_size > 0;
}

static bool description_has(const char *words)
{
    char buffer[4096];
    (void)jit_gemm_context_describe(fixture.context, buffer, sizeof(buffer), NULL);
    return strstr(buffer, words) != NULL;
}

Test(cache_roots, hit_in_a_root_says_where_and_leaves_no_trace)
{
    const char *const list[] = {roots[0]};
    fill_folder(roots[0]);
    const unsigned long long before = read_footprint(roots[0]);
    jit_gemm_context_options options = options_with(list, 1);
    open_context(&options);

    const jit_gemm_info info = api_info_of(&fixture, text);

    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(info.cache_root, 1);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    cr_expect_eq(read_footprint(roots[0]), before, "the root has changed");
    cr_expect_eq(count_kernels(fixture.folder), 0, "it was copied to the own folder");
    const jit_gemm_stats stats = api_fixture_stats(&fixture);
    cr_expect_eq(stats.disk_hits, 1);
    cr_expect_eq(stats.root_hits, 1);
    cr_expect(description_has("cache root 1: "));
    cr_expect(description_has("/root0/v1, read-only, trusted: nobody else may write it\n"));
    api_fixture_close(&fixture);
}

Test(cache_roots, what_no_root_has_is_compiled_into_the_own_folder)
{
    const char *const list[] = {roots[0]};
    cr_assert_eq(mkdir(roots[0], 0700), 0);
    char versioned[128];
    snprintf(versioned, sizeof(versioned), "%s/v1", roots[0]);
    cr_assert_eq(mkdir(versioned, 0700), 0);
    const unsigned long long before = read_footprint(roots[0]);
    jit_gemm_context_options options = options_with(list, 1);
    open_context(&options);

    const jit_gemm_info info = api_info_of(&fixture, text);

    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(info.cache_root, 0);
    cr_expect_eq(read_footprint(roots[0]), before, "the root has changed");
    cr_expect_eq(count_kernels(fixture.folder), 1);
    api_fixture_close(&fixture);
}

Test(cache_roots, root_comes_before_the_folder_that_has_it_too)
{
    const char *const list[] = {roots[0]};
    fill_folder(roots[0]);
    api_fixture_open(&fixture);
    cr_expect_eq(api_info_of(&fixture, text).origin, JIT_GEMM_ORIGIN_COMPILED);
    const jit_gemm_status added = jit_gemm_context_add_cache_root(fixture.context, list[0]);
    cr_assert_eq(added, JIT_GEMM_OK, "%s", jit_gemm_last_error());
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm_artifact *artifact = NULL; /* a build keeps nothing in memory */
    jit_gemm_info info = {.struct_size = sizeof(info)};

    cr_assert_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_CUBIN, &artifact),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_assert_eq(jit_gemm_artifact_get_info(artifact, &info), JIT_GEMM_OK);

    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(info.cache_root, 1);
    jit_gemm_artifact_destroy(&artifact);
    api_fixture_close(&fixture);
}

Test(cache_roots, first_root_that_has_a_good_entry_gives_it)
{
    const char *const list[] = {roots[0], roots[1]};
    fill_folder(roots[0]);
    fill_folder(roots[1]);
    jit_gemm_context_options options = options_with(list, 2);
    open_context(&options);
    cr_expect_eq(api_info_of(&fixture, text).cache_root, 1);
    api_fixture_close(&fixture);

    damage_kernel(roots[0]);
    const unsigned long long before = read_footprint(roots[0]);
    options = options_with(list, 2);
    open_context(&options);
    const jit_gemm_info info = api_info_of(&fixture, text);

    cr_expect_eq(info.cache_root, 2);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    cr_expect_eq(api_fixture_stats(&fixture).cache_rejects, 1);
    cr_expect_eq(read_footprint(roots[0]), before, "the bad entry was moved");
    cr_expect_not_null(strstr(fixture.log, "refused in "), "%s", fixture.log);
    cr_expect_not_null(strstr(fixture.log, "/root0/v1: damaged: "), "%s", fixture.log);
    api_fixture_close(&fixture);
}

Test(cache_roots, root_that_cannot_be_used_is_left_out_and_said)
{
    const char *const list[] = {roots[0], roots[1], roots[2]};
    fill_folder(roots[1]);
    fill_folder(roots[2]);
    cr_assert_eq(chmod(roots[1], 0777), 0);
    jit_gemm_context_options options = options_with(list, 3);
    open_context(&options);

    const jit_gemm_info info = api_info_of(&fixture, text);

    cr_expect_eq(info.cache_root, 3, "numbers are those of the list");
    cr_expect_not_null(strstr(fixture.log, "cache root "), "%s", fixture.log);
    cr_expect_not_null(strstr(fixture.log, "/root0 is not used: "), "%s", fixture.log);
    cr_expect_not_null(strstr(fixture.log, "No such file or directory (no folder)\n"), "%s",
                       fixture.log);
    cr_expect_not_null(strstr(fixture.log,
                              "may be written by others (mode 0777): remove that right "
                              "(untrusted)\n"),
                       "%s", fixture.log);
    cr_expect(description_has("/root1, not used: "));
    cr_expect_eq(access(roots[0], F_OK), -1, "a missing root was made");
    api_fixture_close(&fixture);
}

Test(cache_roots, root_of_another_user_is_not_trusted)
{
    if (geteuid() != 0) {
        cr_skip_test("needs root, to give a folder away");
    }
    const char *const list[] = {roots[0]};
    fill_folder(roots[0]);
    cr_assert_eq(chown(roots[0], 65534, 65534), 0);
    jit_gemm_context_options options = options_with(list, 1);
    open_context(&options);

    const jit_gemm_info info = api_info_of(&fixture, text);

    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_not_null(
        strstr(fixture.log, "belongs to user 65534, neither to user 0 nor to root"), "%s",
        fixture.log);
    api_fixture_close(&fixture);
}

Test(cache_roots, added_root_must_be_usable)
{
    fill_folder(roots[1]);
    api_fixture_open(&fixture);
    jit_gemm_context *context = fixture.context;

    cr_expect_eq(jit_gemm_context_add_cache_root(NULL, roots[1]), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_context_add_cache_root(context, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_context_add_cache_root(context, "root1"), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("path: 'root1' is not an absolute path; give an absolute path"),
              "%s", jit_gemm_last_error());
    cr_expect_eq(jit_gemm_context_add_cache_root(context, roots[0]), JIT_GEMM_ERR_IO);
    cr_expect(api_error_has("/root0 cannot be used: "), "%s", jit_gemm_last_error());
    cr_expect(api_error_has("(no folder); name a folder that prewarm has filled"), "%s",
              jit_gemm_last_error());
    cr_expect_eq(jit_gemm_context_add_cache_root(context, roots[1]), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());

    cr_expect_eq(api_info_of(&fixture, text).cache_root, 1,
                 "what was refused has no number");
    api_fixture_close(&fixture);
}

Test(cache_roots, wrong_options_are_refused_by_name)
{
    const char *const relative[] = {"/tmp", "kernels"};
    const char *const missing[] = {NULL};
    jit_gemm_context *context = NULL;
    jit_gemm_context_options options = options_with(relative, 2);

    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(
        api_error_has("options.cache_roots[1]: 'kernels' is not an absolute path; give"));
    options.cache_roots = missing;
    options.cache_root_count = 1;
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.cache_roots[0]: "));
    options.cache_roots = NULL;
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.cache_roots: "));
    cr_expect_null(context);
    rmdir(fixture.folder);
}

Test(cache_roots, environment_names_roots_unless_the_options_do)
{
    const char *const none[] = {NULL};
    char value[256];
    fill_folder(roots[1]);
    snprintf(value, sizeof(value), "%s::%s:", roots[0], roots[1]);
    setenv("JIT_GEMM_CACHE_ROOTS", value, 1);
    jit_gemm_context_options options = options_with(NULL, 0);
    open_context(&options);
    cr_expect_eq(api_info_of(&fixture, text).cache_root, 2);
    api_fixture_close(&fixture);

    options = options_with(none, 0);
    open_context(&options);
    cr_expect_eq(api_info_of(&fixture, text).origin, JIT_GEMM_ORIGIN_COMPILED,
                 "the options name none");
    api_fixture_close(&fixture);

    options = options_with(NULL, 0);
    options.no_cache = 1;
    open_context(&options);
    cr_expect_eq(api_info_of(&fixture, text).origin, JIT_GEMM_ORIGIN_COMPILED,
                 "without a cache");
    api_fixture_close(&fixture);
    unsetenv("JIT_GEMM_CACHE_ROOTS");
}

Test(cache_roots, entry_that_the_driver_refuses_is_passed_over_and_stays)
{
    const char *const list[] = {roots[0]};
    fill_folder(roots[0]);
    const unsigned long long before = read_footprint(roots[0]);
    jit_gemm_context_options options = options_with(list, 1);
    open_context(&options);
    fixture.fake->failing_result = CUDA_ERROR_INVALID_IMAGE;
    fixture.fake->failing_function = "cuLibraryLoadData";
    fixture.fake->failing_times = 1;

    const jit_gemm_info first = api_info_of(&fixture, text);

    cr_expect_eq(first.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(first.cache_root, 0);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    cr_expect_eq(api_fixture_stats(&fixture).cache_rejects, 1);
    cr_expect_eq(read_footprint(roots[0]), before, "the root has changed");
    cr_expect_eq(count_kernels(fixture.folder), 1, "what was compiled is kept");
    api_fixture_close(&fixture);
}

Test(cache_roots, compilers_that_a_root_knows_are_enough_without_one)
{
    const char *const list[] = {roots[0]};
    struct jg_toolchain *none = NULL;
    fill_folder(roots[0]);
    jit_gemm_context_options options = options_with(list, 1);
    options.no_cache = 1; /* only the root is read */
    options.policy = JIT_GEMM_POLICY_FORBID;
    open_context(&options);
    cr_assert_eq(jg_toolchain_create_with(NULL, &none), JIT_GEMM_OK);
    jg_context_use_toolchain(fixture.context, none);

    const jit_gemm_info info = api_info_of(&fixture, text);

    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(info.cache_root, 1);
    api_fixture_close(&fixture);
}

Test(cache_roots, forbidden_miss_says_that_roots_were_asked)
{
    const char *const list[] = {roots[0]};
    const jit_gemm_problem problem = api_problem("256x256x256 bf16");
    jit_gemm *gemm = NULL;
    fill_folder(roots[0]);
    jit_gemm_context_options options = options_with(list, 1);
    options.policy = JIT_GEMM_POLICY_FORBID;
    open_context(&options);

    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm),
                 JIT_GEMM_ERR_NOT_CACHED);
    cr_expect(api_error_has(", nor in a read-only root; "), "%s", jit_gemm_last_error());
    api_fixture_close(&fixture);
}

Test(cache_roots, manifest_is_verified_against_a_root_alone)
{
    static const char manifest[] = "jit_gemm manifest 1\nproblem 512x512x512 bf16\n";
    const char *const list[] = {roots[0]};
    const jit_gemm_prewarm_options verify = {.struct_size = sizeof(verify),
                                             .require_cached = 1};
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    fill_folder(roots[0]);
    jit_gemm_context_options options = options_with(list, 1);
    options.no_cache = 1;
    open_context(&options);

    cr_expect_eq(
        jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), &verify, &result),
        JIT_GEMM_OK, "%s", jit_gemm_last_error());

    cr_expect_eq(result.cached, 1);
    cr_expect_eq(jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), NULL, NULL),
                 JIT_GEMM_ERR_ARGUMENT, "there is nothing to fill");
    api_fixture_close(&fixture);
}

/* ---------------------------------------------------------------------------- bundles */

static const char manifest_of_two[] =
    "jit_gemm manifest 1\nproblem 512x512x512 bf16\nproblem 256x256x256 bf16\n";

/* Prewarms the fixture's context, and writes a bundle. */
static jit_gemm_status prewarm_bundle(const char *bundle,
                                      jit_gemm_prewarm_result *ret_result)
{
    const jit_gemm_prewarm_options options = {.struct_size = sizeof(options),
                                              .bundle = bundle};
    *ret_result = (jit_gemm_prewarm_result){.struct_size = sizeof(*ret_result)};
    return jit_gemm_prewarm(fixture.context, manifest_of_two, strlen(manifest_of_two),
                            &options, ret_result);
}

static void make_bundle(const char *bundle)
{
    jit_gemm_prewarm_result result;
    api_fixture_open(&fixture);
    cr_assert_eq(prewarm_bundle(bundle, &result), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_assert_eq(result.bundle_kernels, 2);
    api_fixture_close(&fixture);
}

Test(cache_roots, kernel_of_a_bundle_has_its_origin_and_needs_no_compiler)
{
    const char *const list[] = {roots[0]};
    struct jg_toolchain *none = NULL;
    make_bundle(roots[0]);
    jit_gemm_context_options options = options_with(list, 1);
    options.no_cache = 1;
    open_context(&options);
    cr_assert_eq(jg_toolchain_create_with(NULL, &none), JIT_GEMM_OK);
    jg_context_use_toolchain(fixture.context, none);

    const jit_gemm_info info = api_info_of(&fixture, text);

    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_BUNDLE);
    cr_expect_eq(info.cache_root, 1);
    cr_expect_eq(info.registers, 168, "the metadata came along");
    cr_expect_eq(api_fixture_stats(&fixture).root_hits, 1);
    cr_expect(description_has("/root0, a bundle, read-only, trusted: "));
    api_fixture_close(&fixture);
}

Test(cache_roots, bundle_is_the_same_whoever_had_the_kernels)
{
    const char *const list[] = {roots[0]};
    jit_gemm_prewarm_result result;
    struct stat first;
    struct stat second;
    make_bundle(roots[0]);
    jit_gemm_context_options options = options_with(list, 1);
    open_context(&options);

    cr_expect_eq(prewarm_bundle(roots[1], &result), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());

    cr_expect_eq(result.cached, 2, "the first bundle has them");
    cr_expect_eq(count_kernels(fixture.folder), 0);
    cr_assert(stat(roots[0], &first) == 0 && stat(roots[1], &second) == 0);
    cr_expect_eq(first.st_size, second.st_size);
    cr_expect_eq((uint64_t)first.st_size, result.bundle_bytes);
    api_fixture_close(&fixture);
}

Test(cache_roots, kernel_of_a_bundle_that_the_driver_refuses_is_passed_over)
{
    const char *const list[] = {roots[0]};
    make_bundle(roots[0]);
    jit_gemm_context_options options = options_with(list, 1);
    open_context(&options);
    fixture.fake->failing_result = CUDA_ERROR_INVALID_IMAGE;
    fixture.fake->failing_function = "cuLibraryLoadData";
    fixture.fake->failing_times = 1;

    cr_expect_eq(api_info_of(&fixture, text).origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    api_fixture_close(&fixture);
}

Test(cache_roots, bundle_that_is_cut_is_refused_or_left_out)
{
    const char *const list[] = {roots[0]};
    struct stat st;
    make_bundle(roots[0]);
    cr_assert_eq(stat(roots[0], &st), 0);
    cr_assert_eq(truncate(roots[0], st.st_size - 1), 0);
    jit_gemm_context_options options = options_with(list, 1);
    open_context(&options);

    cr_expect_eq(api_info_of(&fixture, text).origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_not_null(strstr(fixture.log, "/root0 is not used: the bundle has "), "%s",
                       fixture.log);
    cr_expect_eq(jit_gemm_context_add_cache_root(fixture.context, roots[0]),
                 JIT_GEMM_ERR_IO);
    cr_expect(
        api_error_has("copy it again (damaged); name a folder that prewarm has filled, "
                      "or a bundle"),
        "%s", jit_gemm_last_error());
    api_fixture_close(&fixture);
}

Test(cache_roots, failed_prewarm_writes_no_bundle)
{
    static const char bad[] = "jit_gemm manifest 1\nproblem 512x512x512 bf16\n"
                              "epilogue wrong\nsource 16 1 x\nd = DUMMY_ERROR;\nend\n"
                              "problem 256x256x256 bf16 epilogue=wrong\n";
    const jit_gemm_prewarm_options options = {.struct_size = sizeof(options),
                                              .bundle = roots[0]};
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    api_fixture_open(&fixture);

    const jit_gemm_status status =
        jit_gemm_prewarm(fixture.context, bad, strlen(bad), &options, &result);

    cr_expect_eq(status, JIT_GEMM_ERR_COMPILE, "%s", jit_gemm_last_error());
    cr_expect_eq(result.compiled, 1);
    cr_expect_eq(result.bundle_kernels, 0);
    cr_expect_eq(access(roots[0], F_OK), -1);
    const jit_gemm_status nowhere = prewarm_bundle("/dev/null/kernels.jgb", &result);
    cr_expect_eq(nowhere, JIT_GEMM_ERR_IO);
    cr_expect(api_error_has("options.bundle: /dev/null/kernels.jgb cannot be written: "),
              "%s", jit_gemm_last_error());
    cr_expect_eq(result.cached + result.compiled, 0,
                 "built before the place was looked at");
    api_fixture_close(&fixture);
}
