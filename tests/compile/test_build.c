/* SPDX-License-Identifier: MIT */
/* The build step with the dummy compiler: cache flows, policies, damage, dumps. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "compile/build.h"
#include "compile/code.h"
#include "compile/stored.h"
#include "compiler_dummy.h"
#include "unit_maker.h"

struct bench {
    char folder[64];
    struct unit unit;
    struct jg_str lines; /* of the log */
    struct jg_log *log;
    struct jg_compiler *dummy; /* owned by the toolchain */
    struct jg_build_counts counts;
    struct jg_builder builder;
};

static void collect_line(void *user, jit_gemm_severity severity, const char *text)
{
    jg_str_printf(user, "%d %s\n", (int)severity, text);
}

static jg_cache *open_cache(const char *folder)
{
    const jg_cache_options options = {.folder = folder, .no_sync = 1};
    jg_cache *cache = NULL;
    char reason[256] = "";
    cr_assert_eq(jg_cache_open(&options, &cache, reason, sizeof(reason)), JG_CACHE_OK, "%s",
                 reason);
    return cache;
}

static void set_up(struct bench *bench)
{
    *bench = (struct bench){0};
    unit_make_folder(bench->folder);
    bench->unit = unit_make_snippet("d = acc + bias;", "my.cu", 5);
    bench->log = jg_log_create(collect_line, &bench->lines, JIT_GEMM_SEVERITY_DEBUG, NULL);
    cr_assert_eq(jg_compiler_dummy_create(0, &bench->dummy), JIT_GEMM_OK);
    bench->builder.log = bench->log;
    bench->builder.cache = open_cache(bench->folder);
    cr_assert_eq(jg_toolchain_create_with(bench->dummy, &bench->builder.toolchain),
                 JIT_GEMM_OK);
}

static void tear_down(struct bench *bench)
{
    jg_cache_close(bench->builder.cache);
    jg_toolchain_destroy(bench->builder.toolchain);
    jg_log_destroy(bench->log);
    jg_str_free(&bench->lines);
    unit_free(&bench->unit);
    unit_remove_folder(bench->folder);
}

static jit_gemm_status build(struct bench *bench, struct jg_binary *ret_binary)
{
    const struct unit *unit = &bench->unit;
    const struct jg_build_unit wanted = {&unit->source, unit->arch, unit->epilogue,
                                         jg_str_text(&unit->problem_text)};
    return jg_build(&bench->builder, &wanted, ret_binary, &bench->counts);
}

static struct jg_binary build_well(struct bench *bench)
{
    struct jg_binary binary = {0};
    cr_assert_eq(build(bench, &binary), JIT_GEMM_OK, "%s", jg_error_text());
    return binary;
}

static void use_toolchain(struct bench *bench, struct jg_compiler *compiler)
{
    jg_toolchain_destroy(bench->builder.toolchain);
    cr_assert_eq(jg_toolchain_create_with(compiler, &bench->builder.toolchain),
                 JIT_GEMM_OK);
}

Test(build, miss_compiles_and_the_next_build_hits)
{
    struct bench bench;
    set_up(&bench);

    struct jg_binary first = build_well(&bench);
    struct jg_binary second = build_well(&bench);

    cr_expect_eq(first.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect(first.is_on_disk && second.is_on_disk);
    cr_expect_eq(jg_compiler_dummy_calls(bench.dummy), 1);
    cr_expect_str_eq(first.key, second.key);
    cr_expect_eq(strlen(first.key), 32);
    cr_expect_eq(first.code.size, second.code.size);
    cr_expect_arr_eq(first.code.data, second.code.data, first.code.size);
    cr_expect_eq(second.registers, 168);
    cr_expect_eq(second.compile_ms, 0.0);
    cr_expect_eq(bench.counts.compiles, 1);
    cr_expect_eq(bench.counts.disk_hits, 1);
    cr_expect_eq(bench.counts.cache_rejects, 0);
    jg_binary_free(&first);
    jg_binary_free(&second);
    tear_down(&bench);
}

Test(build, another_handle_on_the_folder_hits_too)
{
    struct bench bench;
    set_up(&bench);
    struct jg_binary first = build_well(&bench);
    jg_cache_close(bench.builder.cache);
    bench.builder.cache = open_cache(bench.folder);

    struct jg_binary second = build_well(&bench);

    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    jg_binary_free(&first);
    jg_binary_free(&second);
    tear_down(&bench);
}

static void *build_on_a_thread(void *user)
{
    struct jg_binary binary = {0};
    struct bench *bench = user;
    const jit_gemm_status status = build(bench, &binary);
    jg_binary_free(&binary);
    return status == JIT_GEMM_OK ? bench : NULL;
}

/* The thread that compiles does not exist there: nobody would ever be done. Without a
 * folder: there it waits for its parent as for any other process, which ends. */
Test(build, child_of_a_fork_does_not_wait_for_a_compile_of_its_parent, .timeout = 60)
{
    struct bench bench;
    set_up(&bench);
    pthread_t thread;
    void *result = NULL;
    jg_compiler_dummy_hold(bench.dummy, true);
    cr_assert_eq(pthread_create(&thread, NULL, build_on_a_thread, &bench), 0);
    while (jg_compiler_dummy_held(bench.dummy) == 0) {
        sched_yield();
    }

    const pid_t child = fork();
    if (child == 0) {
        alarm(30); /* where it waits all the same, it is not left behind */
        jg_compiler_dummy_hold(bench.dummy, false);
        bench.builder.cache = NULL;
        _exit(build_on_a_thread(&bench) != NULL ? 0 : 1);
    }
    int exit_status = -1;
    cr_assert_eq(waitpid(child, &exit_status, 0), child);
    jg_compiler_dummy_hold(bench.dummy, false);
    pthread_join(thread, &result);

    cr_expect_eq(exit_status, 0);
    cr_expect_not_null(result);
    tear_down(&bench);
}

/* Device sources of another version are another digest. Whoever goes back to the old
 * version, and forth again, finds the kernels of both. */
Test(build, kernels_of_two_versions_live_side_by_side)
{
    static const struct {
        bool is_other;
        jit_gemm_origin origin;
    } steps[] = {{false, JIT_GEMM_ORIGIN_COMPILED},
                 {true, JIT_GEMM_ORIGIN_COMPILED},
                 {false, JIT_GEMM_ORIGIN_DISK},
                 {true, JIT_GEMM_ORIGIN_DISK}};
    struct bench bench;
    set_up(&bench);
    const unsigned char own = bench.unit.source.headers.bytes[0];

    for (int i = 0; i < 4; i++) {
        bench.unit.source.headers.bytes[0] =
            steps[i].is_other ? (unsigned char)(own ^ 1) : own;
        struct jg_binary binary = build_well(&bench);
        cr_expect_eq(binary.origin, steps[i].origin, "step %d", i);
        jg_binary_free(&binary);
    }

    tear_down(&bench);
}

Test(build, without_cache_everything_compiles)
{
    struct bench bench;
    set_up(&bench);
    jg_cache_close(bench.builder.cache);
    bench.builder.cache = NULL;

    struct jg_binary first = build_well(&bench);
    struct jg_binary second = build_well(&bench);

    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect(!first.is_on_disk && !second.is_on_disk);
    cr_expect_eq(bench.counts.compiles, 2);
    cr_expect_eq(bench.counts.cache_store_errors, 0);
    cr_expect_null(strstr(jg_str_text(&bench.lines), "kept"));
    jg_binary_free(&first);
    jg_binary_free(&second);
    tear_down(&bench);
}

Test(build, forbidden_miss_names_problem_and_remedy)
{
    struct bench bench;
    set_up(&bench);
    bench.builder.policy = JIT_GEMM_POLICY_FORBID;
    struct jg_binary binary = {0};

    const jit_gemm_status status = build(&bench, &binary);

    cr_expect_eq(status, JIT_GEMM_ERR_NOT_CACHED);
    cr_expect_not_null(strstr(jg_error_text(), jg_str_text(&bench.unit.problem_text)), "%s",
                       jg_error_text());
    cr_expect_not_null(strstr(jg_error_text(), "jit-gemm prewarm"), "%s", jg_error_text());
    cr_expect_not_null(strstr(jg_error_text(), "--arch sm_90a"), "%s", jg_error_text());
    cr_expect_not_null(strstr(jg_error_text(), bench.folder), "%s", jg_error_text());
    cr_expect_eq(bench.counts.forbidden_misses, 1);
    cr_expect_eq(jg_compiler_dummy_calls(bench.dummy), 0);
    cr_expect_null(binary.code.data);
    tear_down(&bench);
}

Test(build, forbidden_hit_is_fine)
{
    struct bench bench;
    set_up(&bench);
    struct jg_binary first = build_well(&bench);
    bench.builder.policy = JIT_GEMM_POLICY_FORBID;

    struct jg_binary second = build_well(&bench);

    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    jg_binary_free(&first);
    jg_binary_free(&second);
    tear_down(&bench);
}

Test(build, warned_miss_compiles_and_says_so)
{
    struct bench bench;
    set_up(&bench);
    bench.builder.policy = JIT_GEMM_POLICY_WARN;

    struct jg_binary first = build_well(&bench);

    cr_expect_not_null(strstr(jg_str_text(&bench.lines), "1 compiling "));
    cr_expect_not_null(strstr(jg_str_text(&bench.lines), "jit-gemm prewarm"));
    cr_expect_eq(first.origin, JIT_GEMM_ORIGIN_COMPILED);
    jg_binary_free(&first);
    tear_down(&bench);
}

Test(build, without_compiler_a_known_signature_finds_the_kernel)
{
    struct bench bench;
    set_up(&bench);
    struct jg_binary first = build_well(&bench);
    use_toolchain(&bench, NULL);

    struct jg_binary second = build_well(&bench);

    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_str_eq(first.key, second.key);
    jg_binary_free(&first);
    jg_binary_free(&second);
    tear_down(&bench);
}

Test(build, without_compiler_a_miss_is_no_compiler)
{
    struct bench bench;
    set_up(&bench);
    use_toolchain(&bench, NULL);
    struct jg_binary binary = {0};

    cr_expect_eq(build(&bench, &binary), JIT_GEMM_ERR_NO_COMPILER);
    cr_expect_eq(jg_error_status(), JIT_GEMM_ERR_NO_COMPILER);

    bench.builder.policy = JIT_GEMM_POLICY_FORBID;
    cr_expect_eq(build(&bench, &binary), JIT_GEMM_ERR_NOT_CACHED);
    tear_down(&bench);
}

Test(build, other_compiler_does_not_use_the_entry)
{
    struct bench bench;
    set_up(&bench);
    struct jg_binary first = build_well(&bench);
    struct jg_compiler *other = NULL;
    cr_assert_eq(jg_compiler_dummy_create(0, &other), JIT_GEMM_OK);
    other->signature = "dummy 2";
    use_toolchain(&bench, other);

    struct jg_binary second = build_well(&bench);

    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_str_neq(first.key, second.key);
    jg_binary_free(&first);
    jg_binary_free(&second);
    tear_down(&bench);
}

/* Changes the last byte of every entry that holds a kernel. */
static int damage_entries(const char *folder)
{
    int damaged = 0;
    DIR *directory = opendir(folder);
    cr_assert_not_null(directory);
    for (struct dirent *row; (row = readdir(directory)) != NULL;) {
        if (row->d_name[0] == '.') {
            continue;
        }
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, row->d_name);
        struct stat facts;
        cr_assert_eq(stat(path, &facts), 0);
        if (S_ISDIR(facts.st_mode)) {
            damaged += damage_entries(path);
        } else if (facts.st_size > 1000) {
            FILE *file = fopen(path, "r+b");
            cr_assert_not_null(file);
            cr_assert_eq(fseek(file, -1, SEEK_END), 0);
            const int byte = fgetc(file);
            cr_assert_eq(fseek(file, -1, SEEK_END), 0);
            fputc(byte ^ 0xff, file);
            fclose(file);
            damaged++;
        }
    }
    closedir(directory);
    return damaged;
}

Test(build, damaged_entry_is_refused_counted_and_mended)
{
    struct bench bench;
    set_up(&bench);
    struct jg_binary first = build_well(&bench);
    cr_assert_eq(damage_entries(bench.folder), 1);

    struct jg_binary second = build_well(&bench);
    struct jg_binary third = build_well(&bench);

    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect(second.is_on_disk);
    cr_expect_eq(third.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(bench.counts.cache_rejects, 1);
    cr_expect_not_null(strstr(jg_str_text(&bench.lines), "1 cache entry of"), "%s",
                       jg_str_text(&bench.lines));
    jg_binary_free(&first);
    jg_binary_free(&second);
    jg_binary_free(&third);
    tear_down(&bench);
}

static void put_payload(struct bench *bench, const struct jg_key *key, const char *payload,
                        size_t size)
{
    jg_cache_key cache_key = {.material = key->material.data,
                              .material_size = key->material.size};
    memcpy(cache_key.name.bytes, key->hash.bytes, sizeof(cache_key.name.bytes));
    const jg_cache_value value = {.payload = payload, .payload_size = size};
    cr_assert_eq(jg_cache_put(bench->builder.cache, &cache_key, &value, NULL, 0),
                 JG_CACHE_OK);
}

Test(build, good_entry_with_foreign_payload_is_refused)
{
    struct bench bench;
    set_up(&bench);
    struct jg_key key;
    cr_assert_eq(jg_key_make(&bench.unit.source, "dummy 1", "sm_90a", JG_CODE_CUBIN, &key),
                 JIT_GEMM_OK);
    put_payload(&bench, &key, "no ELF file", 11);

    struct jg_binary binary = build_well(&bench);

    cr_expect_eq(binary.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(bench.counts.cache_rejects, 1);
    cr_expect_null(jg_code_check(JG_CODE_CUBIN, binary.code.data, binary.code.size,
                                 bench.unit.source.entry));
    cr_expect(binary.is_on_disk);
    struct jg_binary next = build_well(&bench);
    cr_expect_eq(next.origin, JIT_GEMM_ORIGIN_DISK);
    jg_binary_free(&next);
    jg_key_free(&key);
    jg_binary_free(&binary);
    tear_down(&bench);
}

Test(build, folder_that_was_removed_is_made_again_for_the_next_kernel)
{
    struct bench bench;
    set_up(&bench);
    unit_remove_folder(bench.folder);

    struct jg_binary first = build_well(&bench);
    struct jg_binary second = build_well(&bench);

    cr_expect(first.is_on_disk);
    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(bench.counts.cache_store_errors, 0);
    jg_binary_free(&first);
    jg_binary_free(&second);
    tear_down(&bench);
}

Test(build, folder_that_vanished_costs_a_count_not_the_build)
{
    struct bench bench;
    set_up(&bench);
    unit_remove_folder(bench.folder);
    FILE *file = fopen(bench.folder, "w"); /* nothing can be made below a file */
    cr_assert_not_null(file);
    fclose(file);

    struct jg_binary binary = build_well(&bench);

    cr_expect_eq(binary.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect(!binary.is_on_disk);
    cr_expect_eq(bench.counts.cache_store_errors, 1);
    cr_expect_not_null(strstr(jg_str_text(&bench.lines), "could not be kept"), "%s",
                       jg_str_text(&bench.lines));
    jg_binary_free(&binary);
    tear_down(&bench);
}

Test(build, refused_snippet_reports_the_users_line)
{
    struct bench bench;
    set_up(&bench);
    unit_free(&bench.unit);
    bench.unit = unit_make_snippet("d = DUMMY_ERROR;", "my.cu", 5);
    struct jg_binary binary = {0};

    const jit_gemm_status status = build(&bench, &binary);

    cr_expect_eq(status, JIT_GEMM_ERR_COMPILE);
    cr_expect_eq(strncmp(jg_error_text(), "5:1: error: ", 12), 0, "%s", jg_error_text());
    cr_expect_eq(bench.counts.compile_failures, 1);
    cr_expect_eq(bench.counts.compiles, 0);
    tear_down(&bench);
}

static bool has_dump(const char *folder, const char *stem, const char *suffix)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.%s", folder, stem, suffix);
    struct stat facts;
    return stat(path, &facts) == 0 && facts.st_size > 0;
}

Test(build, dumps_replace_a_planted_link_and_do_not_follow_it)
{
    struct bench bench;
    set_up(&bench);
    char dump[64], victim[96], planted[256];
    unit_make_folder(dump);
    bench.builder.dump_dir = dump;
    struct jg_binary first = build_well(&bench);
    snprintf(victim, sizeof(victim), "%s/victim", dump);
    snprintf(planted, sizeof(planted), "%s/%s-%.8s.cu", dump, bench.unit.source.entry,
             first.key);
    cr_assert_eq(unlink(planted), 0);
    cr_assert_eq(symlink(victim, planted), 0);

    struct jg_binary second = build_well(&bench);

    struct stat facts;
    cr_expect_neq(stat(victim, &facts), 0);
    cr_assert_eq(lstat(planted, &facts), 0);
    cr_expect(S_ISREG(facts.st_mode));
    jg_binary_free(&first);
    jg_binary_free(&second);
    unit_remove_folder(dump);
    tear_down(&bench);
}

Test(build, dump_folder_receives_the_four_files)
{
    struct bench bench;
    set_up(&bench);
    char dump[64];
    unit_make_folder(dump);
    bench.builder.dump_dir = dump;

    struct jg_binary binary = build_well(&bench);

    char stem[128];
    snprintf(stem, sizeof(stem), "%s-%.8s", bench.unit.source.entry, binary.key);
    cr_expect(has_dump(dump, stem, "cu"));
    cr_expect(has_dump(dump, stem, "ptx"));
    cr_expect(has_dump(dump, stem, "cubin"));
    cr_expect(has_dump(dump, stem, "log"));
    jg_binary_free(&binary);
    unit_remove_folder(dump);
    tear_down(&bench);
}

Test(build, dump_of_a_refusal_keeps_the_error)
{
    struct bench bench;
    set_up(&bench);
    unit_free(&bench.unit);
    bench.unit = unit_make_snippet("d = DUMMY_ERROR;", "my.cu", 5);
    char dump[64];
    unit_make_folder(dump);
    bench.builder.dump_dir = dump;
    struct jg_binary binary = {0};

    cr_expect_eq(build(&bench, &binary), JIT_GEMM_ERR_COMPILE);

    cr_expect_eq(strncmp(jg_error_text(), "5:1: error: ", 12), 0, "%s", jg_error_text());
    jit_gemm_diagnostics *diagnostics = NULL;
    cr_expect_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    cr_expect_not_null(strstr(jg_diagnostics_log(diagnostics), "DUMMY_ERROR"));
    jg_diagnostics_destroy(&diagnostics);
    unit_remove_folder(dump);
    tear_down(&bench);
}

Test(build, dump_folder_that_is_absent_is_a_warning)
{
    struct bench bench;
    set_up(&bench);
    bench.builder.dump_dir = "/nonexistent/folder";

    struct jg_binary binary = build_well(&bench);

    cr_expect_not_null(strstr(jg_str_text(&bench.lines), "1 JIT_GEMM_DUMP_DIR: /nonex"));
    jg_binary_free(&binary);
    tear_down(&bench);
}

/* ------------------------------------------------------------------------------- PTX */

Test(build, ptx_and_machine_code_of_one_unit_live_side_by_side)
{
    struct bench bench;
    set_up(&bench);
    struct jg_binary machine = build_well(&bench);
    bench.builder.code_kind = JG_CODE_PTX;

    struct jg_binary first = build_well(&bench);
    struct jg_binary second = build_well(&bench);

    cr_expect_eq(first.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_str_neq(first.key, machine.key);
    cr_expect_str_eq(first.key, second.key);
    cr_expect_eq(memcmp(first.code.data, "// dummy PTX\n", 13), 0);
    cr_expect_str_eq(first.code.data, second.code.data);
    cr_expect_eq(second.code.size, strlen(second.code.data));
    cr_expect_eq(first.registers, 0, "nothing was assembled");
    bench.builder.code_kind = JG_CODE_CUBIN;
    struct jg_binary again = build_well(&bench);
    cr_expect_eq(again.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_str_eq(again.key, machine.key);
    cr_expect_eq(memcmp(again.code.data, "\177ELF", 4), 0);
    jg_binary_free(&machine);
    jg_binary_free(&first);
    jg_binary_free(&second);
    jg_binary_free(&again);
    tear_down(&bench);
}

Test(build, forbidden_ptx_names_the_prewarm_that_makes_it)
{
    struct bench bench;
    set_up(&bench);
    struct jg_binary machine = build_well(&bench);
    bench.builder.code_kind = JG_CODE_PTX;
    bench.builder.policy = JIT_GEMM_POLICY_FORBID;
    struct jg_binary binary = {0};

    cr_expect_eq(build(&bench, &binary), JIT_GEMM_ERR_NOT_CACHED);

    cr_expect_not_null(strstr(jg_error_text(), "--arch sm_90a --device emulator"), "%s",
                       jg_error_text());
    jg_binary_free(&machine);
    tear_down(&bench);
}

Test(build, entry_with_another_form_of_code_is_refused)
{
    struct bench bench;
    set_up(&bench);
    bench.builder.code_kind = JG_CODE_PTX;
    struct jg_key key;
    cr_assert_eq(jg_key_make(&bench.unit.source, "dummy 1", "sm_90a", JG_CODE_PTX, &key),
                 JIT_GEMM_OK);
    put_payload(&bench, &key, "\177ELF\0", 5);

    struct jg_binary binary = build_well(&bench);

    cr_expect_eq(binary.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(bench.counts.cache_rejects, 1);
    cr_expect_not_null(strstr(jg_str_text(&bench.lines), "damaged: it is not text"), "%s",
                       jg_str_text(&bench.lines));
    jg_key_free(&key);
    jg_binary_free(&binary);
    tear_down(&bench);
}

Test(build, dump_of_ptx_is_the_same_from_compiler_and_disk)
{
    struct bench bench;
    set_up(&bench);
    char dump[64];
    char stem[128];
    bench.builder.code_kind = JG_CODE_PTX;
    for (int i = 0; i < 2; i++) {
        unit_make_folder(dump);
        bench.builder.dump_dir = dump;

        struct jg_binary binary = build_well(&bench);

        snprintf(stem, sizeof(stem), "%s-%.8s", bench.unit.source.entry, binary.key);
        cr_expect(has_dump(dump, stem, "cu"));
        cr_expect(has_dump(dump, stem, "ptx"), "build %d", i);
        cr_expect(!has_dump(dump, stem, "cubin"));
        jg_binary_free(&binary);
        unit_remove_folder(dump);
    }
    tear_down(&bench);
}

static int find_kernel_metadata(void *user, const jg_cache_entry *entry)
{
    char kind[16] = "";
    cr_expect(
        jg_metadata_get(entry->metadata, entry->metadata_size, "kind", kind, sizeof(kind)));
    if (strcmp(kind, "toolchain") != 0) {
        jg_str_add(user, entry->metadata, entry->metadata_size);
    }
    return 0;
}

Test(build, metadata_says_what_the_entry_is)
{
    struct bench bench;
    set_up(&bench);
    struct jg_binary binary = build_well(&bench);
    struct jg_str metadata = {0};

    cr_assert_eq(jg_cache_walk(bench.builder.cache, 1, find_kernel_metadata, &metadata),
                 JG_CACHE_OK);

    char value[256] = "";
    cr_expect(
        jg_metadata_get(metadata.data, metadata.size, "problem", value, sizeof(value)));
    cr_expect_str_eq(value, jg_str_text(&bench.unit.problem_text));
    cr_expect(jg_metadata_get(metadata.data, metadata.size, "arch", value, sizeof(value)));
    cr_expect_str_eq(value, "sm_90a");
    cr_expect(jg_metadata_get(metadata.data, metadata.size, "entry", value, sizeof(value)));
    cr_expect_str_eq(value, bench.unit.source.entry);
    cr_expect(
        jg_metadata_get(metadata.data, metadata.size, "compiler", value, sizeof(value)));
    cr_expect_str_eq(value, "dummy 1");
    cr_expect(!jg_metadata_get(metadata.data, metadata.size, "rob", value, sizeof(value)));
    cr_expect(jg_metadata_get(metadata.data, metadata.size, "kind", value, sizeof(value)));
    cr_expect_str_eq(value, "cubin");
    cr_expect(
        jg_metadata_get(metadata.data, metadata.size, "registers", value, sizeof(value)));
    cr_expect_str_eq(value, "168");
    jg_str_free(&metadata);
    jg_binary_free(&binary);
    tear_down(&bench);
}

Test(build, metadata_of_ptx_claims_no_registers)
{
    struct bench bench;
    set_up(&bench);
    bench.builder.code_kind = JG_CODE_PTX;
    struct jg_binary binary = build_well(&bench);
    struct jg_str metadata = {0};

    cr_assert_eq(jg_cache_walk(bench.builder.cache, 1, find_kernel_metadata, &metadata),
                 JG_CACHE_OK);

    char value[256] = "";
    cr_expect(jg_metadata_get(metadata.data, metadata.size, "kind", value, sizeof(value)));
    cr_expect_str_eq(value, "ptx");
    cr_expect(
        !jg_metadata_get(metadata.data, metadata.size, "registers", value, sizeof(value)));
    cr_expect(
        jg_metadata_get(metadata.data, metadata.size, "compiler", value, sizeof(value)));
    jg_str_free(&metadata);
    jg_binary_free(&binary);
    tear_down(&bench);
}

Test(build, metadata_reader_survives_anything)
{
    char value[4] = "old";

    cr_expect(!jg_metadata_get(NULL, 0, "arch", value, sizeof(value)));
    cr_expect(!jg_metadata_get("arch=sm", 7, "arch", value, sizeof(value)));
    cr_expect(!jg_metadata_get("arch\n\n=\n", 8, "arch", value, sizeof(value)));
    cr_expect_str_eq(value, "old");
    cr_expect(jg_metadata_get("a=\narch=sm_90a\n", 15, "arch", value, sizeof(value)));
    cr_expect_str_eq(value, "sm_");
}

Test(build, every_failing_allocation_is_no_memory_or_a_kernel)
{
    struct bench bench;
    set_up(&bench);
    bench.builder.log = NULL;
    int failures = 0;
    bool is_finished = false;
    for (long number = 1; !is_finished && number < 2000; number++) {
        struct jg_binary binary = {0};
        const long before = jg_alloc_count();
        jg_alloc_fail_at(number, 0);
        const jit_gemm_status status = build(&bench, &binary);
        is_finished = jg_alloc_count() - before < number;
        jg_alloc_fail_at(0, 0);
        if (status != JIT_GEMM_OK) {
            failures++;
            cr_expect_eq(status, JIT_GEMM_ERR_NO_MEMORY, "%ld: %s", number,
                         jg_error_text());
            cr_expect_eq(jg_error_status(), status);
        }
        jg_binary_free(&binary);
    }
    cr_expect(is_finished);
    cr_expect_geq(failures, 3);
    tear_down(&bench);
}
