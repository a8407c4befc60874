/* SPDX-License-Identifier: MIT */
#include "compile/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"
#include "compile/code.h"
#include "compile/compile_log.h"
#include "compile/flight.h"
#include "compile/stored.h"
#include "cuda/ranges.h"

/* One build under way. */
struct build {
    const struct jg_builder *builder;
    const struct jg_build_unit *unit;
    struct jg_build_counts *counts;
};

/* ------------------------------------------------------------------------ the two kinds */

/* What is wrong with code of the builder's kind, or NULL. */
static const char *check_code(const struct build *build, const void *bytes, size_t size)
{
    return jg_code_check(build->builder->code_kind, bytes, size,
                         build->unit->source->entry);
}

static struct jg_str *code_of_result(const struct build *build,
                                     struct jg_compile_result *result)
{
    return build->builder->code_kind == JG_CODE_PTX ? &result->ptx : &result->cubin;
}

/* The option of `jit-gemm prewarm` that builds this kind. */
static const char *prewarm_option(const struct build *build)
{
    return build->builder->code_kind == JG_CODE_PTX ? " --device emulator" : "";
}

/* -------------------------------------------------------------------------- metadata */

static void add_metadata(struct jg_str *out, const char *key, const char *value)
{
    jg_str_printf(out, "%s=", key);
    for (const char *at = value; *at != '\0'; at++) {
        jg_str_add(out, *at == '\n' || *at == '\r' ? " " : at, 1);
    }
    jg_str_puts(out, "\n");
}

static void print_metadata(const struct build *build, const char *signature,
                           const struct jg_binary *binary, struct jg_str *out)
{
    add_metadata(out, "kind", jg_code_kind_name(build->builder->code_kind));
    add_metadata(out, "problem", build->unit->problem_text);
    add_metadata(out, "arch", build->unit->arch->name);
    add_metadata(out, "entry", build->unit->source->entry);
    if (build->builder->code_kind == JG_CODE_CUBIN) {
        jg_str_printf(out, "registers=%u\nspill_bytes=%u\n", binary->registers,
                      binary->spill_bytes);
    }
    jg_str_printf(out, "compile_ms=%.0f\n", binary->compile_ms); /* no point, nor comma */
    add_metadata(out, "compiler", signature);
    add_metadata(out, "library", JG_LIBRARY_VERSION);
}

static uint32_t read_metadata_number(const jg_cache_blob *blob, const char *key)
{
    char text[16] = "";
    (void)jg_metadata_get(blob->metadata, blob->metadata_size, key, text, sizeof(text));
    return (uint32_t)strtoul(text, NULL, 10);
}

/* ----------------------------------------------------------------------------- dumps */

/* Writes <dump_dir>/<entry>-<8 digits of the key>.<suffix>; trouble is logged. */
static void dump_file(const struct build *build, const char *key, const char *suffix,
                      const struct jg_str *bytes)
{
    if (build->builder->dump_dir == NULL || bytes->size == 0) {
        return;
    }
    struct jg_str path = {0};
    jg_str_printf(&path, "%s/%s-%.8s.%s", build->builder->dump_dir,
                  build->unit->source->entry, key, suffix);
    /* A file of its own: what somebody has put there, such as a link, is not followed. */
    int fd = -1;
    if (!path.failed) {
        (void)unlink(path.data);
        fd = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    int code = path.failed ? ENOMEM : fd < 0 || !jg_file_write(fd, bytes) ? errno : 0;
    if (fd >= 0 && close(fd) != 0 && code == 0) {
        code = errno;
    }
    if (code != 0) {
        jg_log_line(build->builder->log, JIT_GEMM_SEVERITY_WARNING,
                    "JIT_GEMM_DUMP_DIR: %s: %s", jg_str_text(&path), strerror(code));
    }
    jg_str_free(&path);
}

static void dump_result(const struct build *build, const char *key,
                        const struct jg_compile_result *result)
{
    dump_file(build, key, "cu", &build->unit->source->text);
    dump_file(build, key, "log", &result->log);
    dump_file(build, key, "ptx", &result->ptx);
    dump_file(build, key, "cubin", &result->cubin);
}

/* The log of a refused unit is in the error record: it is taken out and put back. */
static void dump_refusal(const struct build *build, const char *key, jit_gemm_status status)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    dump_file(build, key, "cu", &build->unit->source->text);
    if (build->builder->dump_dir == NULL ||
        jg_diagnostics_take(&diagnostics) != JIT_GEMM_OK) {
        return;
    }
    struct jg_str log = {0};
    jg_str_puts(&log, jg_diagnostics_log(diagnostics));
    dump_file(build, key, "log", &log);
    jg_str_free(&log);
    jg_error_restore(status, diagnostics);
    jg_diagnostics_destroy(&diagnostics);
}

/* ------------------------------------------------------------------------ disk cache */

static jg_cache_key cache_key_of(const struct jg_key *key)
{
    jg_cache_key found = {.material = key->material.data,
                          .material_size = key->material.size};
    memcpy(found.name.bytes, key->hash.bytes, sizeof(found.name.bytes));
    return found;
}

/* Where a kernel is looked for: a read-only root by its number, or with 0 the cache. */
static struct jg_cache *cache_of(const struct build *build, uint32_t root)
{
    return root > 0 ? jg_roots_cache(build->builder->roots, root) : build->builder->cache;
}

static void note_refused_entry(const struct build *build, uint32_t root, const char *kind,
                               const char *reason)
{
    build->counts->cache_rejects++;
    jg_log_line(build->builder->log, JIT_GEMM_SEVERITY_WARNING,
                "cache entry of %s refused%s%s: %s: %s", build->unit->problem_text,
                root > 0 ? " in " : "",
                root > 0 ? jg_cache_folder(cache_of(build, root)) : "", kind, reason);
}

/* Makes a binary of a blob that was found there; false if it is no kernel of ours. */
static bool accept_blob(const struct build *build, uint32_t root, const struct jg_key *key,
                        const jg_cache_blob *blob, struct jg_binary *ret_binary)
{
    const char *wrong = check_code(build, blob->payload, blob->payload_size);
    if (wrong != NULL) {
        note_refused_entry(build, root, "damaged", wrong);
        jg_cache_name name;
        memcpy(name.bytes, key->hash.bytes, sizeof(name.bytes));
        (void)jg_cache_reject(cache_of(build, root), &name);
        return false;
    }
    struct jg_binary binary = {
        .origin = jg_cache_is_bundle(cache_of(build, root)) ? JIT_GEMM_ORIGIN_BUNDLE
                                                            : JIT_GEMM_ORIGIN_DISK,
        .is_on_disk = true,
        .root = root,
        .registers = read_metadata_number(blob, "registers"),
        .spill_bytes = read_metadata_number(blob, "spill_bytes"),
        .made_ms = read_metadata_number(blob, "compile_ms"),
    };
    jg_str_add(&binary.code, blob->payload, blob->payload_size);
    if (binary.code.failed) {
        jg_binary_free(&binary);
        note_refused_entry(build, root, "no memory", "it was found but cannot be held");
        return false;
    }
    jg_hash_hex(&key->hash, binary.key);
    *ret_binary = binary;
    return true;
}

/* Looks in one place for the kernel as the compiler of this signature made it.
 * *ret_is_found says. */
static jit_gemm_status find_by_signature(const struct build *build, uint32_t root,
                                         const char *signature,
                                         struct jg_binary *ret_binary, bool *ret_is_found)
{
    struct jg_key key = {0};
    JG_TRY(jg_key_make(build->unit->source, signature, build->unit->arch->name,
                       build->builder->code_kind, &key));
    const jg_cache_key cache_key = cache_key_of(&key);
    if (root > 0 && jg_roots_is_rejected(build->builder->roots, &cache_key.name)) {
        jg_key_free(&key);
        *ret_is_found = false;
        return JIT_GEMM_OK;
    }
    jg_cache_blob blob = {0};
    char reason[256] = "";
    const jg_cache_result result =
        jg_cache_get(cache_of(build, root), &cache_key, &blob, reason, sizeof(reason));
    bool is_found = false;
    if (result == JG_CACHE_OK) {
        is_found = accept_blob(build, root, &key, &blob, ret_binary);
        jg_cache_blob_free(&blob);
    } else if (result != JG_CACHE_MISS) {
        note_refused_entry(build, root, jg_cache_result_name(result), reason);
    }
    jg_key_free(&key);
    *ret_is_found = is_found;
    return JIT_GEMM_OK;
}

/* Without compiler or linker on this machine every signature that the place knows is
 * tried. */
static jit_gemm_status find_by_known_signatures(const struct build *build, uint32_t root,
                                                struct jg_binary *ret_binary,
                                                bool *ret_is_found)
{
    bool is_found = false;
    for (int i = 0; i < JG_TOOLCHAIN_KNOWN_MAX && !is_found; i++) {
        struct jg_str signature = {0};
        jit_gemm_status status = JIT_GEMM_OK;
        if (jg_toolchain_known(cache_of(build, root), i, &signature)) {
            status = find_by_signature(build, root, signature.data, ret_binary, &is_found);
        }
        jg_str_free(&signature);
        JG_TRY(status);
    }
    *ret_is_found = is_found;
    return JIT_GEMM_OK;
}

/* Looks through the read-only roots, and then in the cache. `signature` may be NULL: there
 * is nothing that could make the unit. */
static jit_gemm_status find_in_places(const struct build *build, const char *signature,
                                      struct jg_binary *ret_binary, bool *ret_is_found)
{
    const uint32_t root_count = jg_roots_count(build->builder->roots);
    bool is_found = false;
    for (uint32_t i = 1; i <= root_count + 1 && !is_found; i++) {
        const uint32_t root = i <= root_count ? i : 0;
        if (cache_of(build, root) == NULL) {
            continue;
        }
        JG_TRY(signature != NULL
                   ? find_by_signature(build, root, signature, ret_binary, &is_found)
                   : find_by_known_signatures(build, root, ret_binary, &is_found));
    }
    *ret_is_found = is_found;
    return JIT_GEMM_OK;
}

static jit_gemm_status find_on_disk(const struct build *build, struct jg_binary *ret_binary,
                                    bool *ret_is_found)
{
    const struct jg_builder *builder = build->builder;
    if (builder->cache == NULL && jg_roots_count(builder->roots) == 0) {
        return JIT_GEMM_OK;
    }
    const char *signature =
        jg_toolchain_signature(builder->toolchain, builder->cache, builder->log);
    if (signature == NULL || build->unit->source->linked == NULL) {
        return find_in_places(build, signature, ret_binary, ret_is_found);
    }
    struct jg_str linked = {0};
    jit_gemm_status status =
        jg_toolchain_linked_signature(builder->toolchain, signature, &linked);
    if (status == JIT_GEMM_OK) {
        status = find_in_places(build, linked.data, ret_binary, ret_is_found);
    } else if (status == JIT_GEMM_ERR_NO_COMPILER) {
        status = find_in_places(build, NULL, ret_binary, ret_is_found);
    }
    jg_str_free(&linked);
    return status;
}

/* True if the disk cache has it. */
static bool keep_on_disk(const struct build *build, const struct jg_key *key,
                         const char *signature, const struct jg_binary *binary)
{
    const struct jg_builder *builder = build->builder;
    if (builder->cache == NULL) {
        return false;
    }
    struct jg_str metadata = {0};
    print_metadata(build, signature, binary, &metadata);
    const jg_cache_key cache_key = cache_key_of(key);
    const jg_cache_value value = {binary->code.data, binary->code.size, metadata.data,
                                  metadata.size};
    char reason[256] = "out of memory";
    jg_cache_result stored = JG_CACHE_NO_MEMORY;
    if (!metadata.failed) {
        stored = jg_cache_put(builder->cache, &cache_key, &value, reason, sizeof(reason));
    }
    jg_str_free(&metadata);
    if (stored != JG_CACHE_OK && stored != JG_CACHE_EXISTS) {
        build->counts->cache_store_errors++;
        jg_log_line(builder->log, JIT_GEMM_SEVERITY_WARNING,
                    "the kernel of %s could not be kept: %s: %s", build->unit->problem_text,
                    jg_cache_result_name(stored), reason);
        return false;
    }
    jg_toolchain_remember(builder->cache, builder->log, signature);
    return true;
}

/* --------------------------------------------------------------------------- compile */

static jit_gemm_status ask_policy(const struct build *build)
{
    const struct jg_builder *builder = build->builder;
    switch (builder->policy) {
    case JIT_GEMM_POLICY_ALLOW:
        break;
    case JIT_GEMM_POLICY_WARN:
        jg_log_line(builder->log, JIT_GEMM_SEVERITY_WARNING,
                    "compiling %s, which is not in the cache; prewarm it: write a manifest "
                    "of this context and run jit-gemm prewarm MANIFEST --arch %s%s",
                    build->unit->problem_text, build->unit->arch->name,
                    prewarm_option(build));
        break;
    case JIT_GEMM_POLICY_FORBID: {
        build->counts->forbidden_misses++;
        char hint[192];
        snprintf(hint, sizeof(hint),
                 "write a manifest where compiling is allowed, and run jit-gemm prewarm "
                 "MANIFEST --arch %s%s with the same cache folder",
                 build->unit->arch->name, prewarm_option(build));
        return jg_fail_system(
            JIT_GEMM_ERR_NOT_CACHED, "cache", hint,
            "this context forbids compiling, and the kernel of \"%s\" "
            "for %s is not in %s%s",
            build->unit->problem_text, build->unit->arch->name,
            builder->cache != NULL ? jg_cache_folder(builder->cache)
                                   : "a cache (there is none)",
            jg_roots_count(builder->roots) > 0 ? ", nor in a read-only root" : "");
    }
    }
    return JIT_GEMM_OK;
}

static void log_compile(const struct build *build, const struct jg_compile_result *result)
{
    struct jg_log *log = build->builder->log;
    if (build->builder->code_kind == JG_CODE_PTX) {
        jg_log_line(log, JIT_GEMM_SEVERITY_INFO, "compiled %s for %s to PTX in %.0f ms",
                    build->unit->problem_text, build->unit->arch->name, result->compile_ms);
        return;
    }
    jg_log_line(log, JIT_GEMM_SEVERITY_INFO,
                "compiled %s for %s in %.0f ms: %u registers, %u bytes of spills",
                build->unit->problem_text, build->unit->arch->name, result->compile_ms,
                result->registers, result->spill_bytes);
}

/* Runs the compiler and looks at what it made. */
static jit_gemm_status run_compiler(const struct build *build, struct jg_compiler *compiler,
                                    const struct jg_nvjitlink *linker, const char *key,
                                    struct jg_compile_result *ret_result)
{
    const struct jg_compile_request request = {
        .arch = build->unit->arch->name,
        .code_kind = build->builder->code_kind,
        .text = jg_str_text(&build->unit->source->text),
        .entry = build->unit->source->entry,
        .has_lineinfo = build->unit->source->has_lineinfo,
        .rounds_apart = build->unit->source->rounds_apart,
        .epilogue = build->unit->epilogue,
        .limit_ms = build->builder->compile_limit_ms,
        .stop = build->builder->stop,
        .linker = linker,
    };
    struct jg_compile_result result = {0};
    jg_range_push(build->builder->has_ranges, "compile", build->unit->problem_text);
    const jit_gemm_status status = compiler->compile(compiler, &request, &result);
    jg_range_pop(build->builder->has_ranges);
    if (status == JIT_GEMM_ERR_CANCELLED) {
        return status;
    }
    if (status != JIT_GEMM_OK) {
        build->counts->compile_failures++;
        dump_refusal(build, key, status);
        return status;
    }
    build->counts->compiles++;
    build->counts->compile_ms += result.compile_ms;
    dump_result(build, key, &result);
    (void)jg_compile_log_warn(jg_str_text(&result.log), build->unit->epilogue,
                              build->builder->log);
    const struct jg_str *code = code_of_result(build, &result);
    const char *wrong = check_code(build, jg_str_text(code), code->size);
    if (wrong != NULL) {
        const jit_gemm_status refused = jg_fail_system(
            JIT_GEMM_ERR_INTERNAL, "compiler", "please report it with the source unit",
            "the %s that it made for %s cannot be used: %s",
            jg_code_kind_name(build->builder->code_kind), build->unit->problem_text, wrong);
        jg_error_log(jg_str_text(&result.log), result.log.size);
        jg_compile_result_free(&result);
        return refused;
    }
    log_compile(build, &result);
    *ret_result = result;
    return JIT_GEMM_OK;
}

/* Opens what must make the unit, and says what it is. */
static jit_gemm_status open_tools(const struct build *build,
                                  struct jg_compiler **ret_compiler,
                                  const struct jg_nvjitlink **ret_linker,
                                  struct jg_str *ret_signature)
{
    const struct jg_builder *builder = build->builder;
    struct jg_compiler *compiler = NULL;
    JG_TRY(
        jg_toolchain_compiler(builder->toolchain, builder->cache, builder->log, &compiler));
    if (build->unit->source->linked != NULL) {
        JG_TRY(jg_toolchain_linker(builder->toolchain, ret_linker));
        JG_TRY(jg_toolchain_linked_signature(builder->toolchain, compiler->signature,
                                             ret_signature));
    } else {
        jg_str_puts(ret_signature, compiler->signature);
    }
    *ret_compiler = compiler;
    return jg_str_status(ret_signature);
}

/* What must make the unit, and what it will be. */
struct making {
    struct jg_compiler *compiler;
    const struct jg_nvjitlink *linker; /* NULL where nothing is linked */
    struct jg_str signature;
    struct jg_key key;
};

static void free_making(struct making *making)
{
    jg_str_free(&making->signature);
    jg_key_free(&making->key);
}

/* What is made is the caller's to free, also on failure. */
static jit_gemm_status prepare(const struct build *build, struct making *making)
{
    JG_TRY(ask_policy(build));
    if (jg_stop_is_asked(&build->builder->stop)) {
        return jg_stop_fail();
    }
    JG_TRY(open_tools(build, &making->compiler, &making->linker, &making->signature));
    return jg_key_make(build->unit->source, jg_str_text(&making->signature),
                       build->unit->arch->name, build->builder->code_kind, &making->key);
}

/* Compiles, and keeps what was made on disk. */
static jit_gemm_status compile_and_keep(const struct build *build,
                                        const struct making *making,
                                        struct jg_binary *ret_binary)
{
    struct jg_binary binary = {.origin = JIT_GEMM_ORIGIN_COMPILED};
    struct jg_compile_result result = {0};
    jg_hash_hex(&making->key.hash, binary.key);
    JG_TRY(run_compiler(build, making->compiler, making->linker, binary.key, &result));
    struct jg_str *code = code_of_result(build, &result);
    binary.code = *code; /* moved */
    *code = (struct jg_str){0};
    binary.registers = result.registers;
    binary.spill_bytes = result.spill_bytes;
    binary.compile_ms = result.compile_ms;
    jg_compile_result_free(&result);
    binary.is_on_disk =
        keep_on_disk(build, &making->key, jg_str_text(&making->signature), &binary);
    *ret_binary = binary;
    return JIT_GEMM_OK;
}

static void note_found(const struct build *build, const struct jg_binary *binary,
                       const char *where)
{
    const struct jg_builder *builder = build->builder;
    jg_log_line(builder->log, JIT_GEMM_SEVERITY_DEBUG, "found %s for %s in %s: %s",
                build->unit->problem_text, build->unit->arch->name, where, binary->key);
    dump_file(build, binary->key, "cu", &build->unit->source->text);
    dump_file(build, binary->key, jg_code_kind_name(builder->code_kind), &binary->code);
}

static void note_hit(const struct build *build, const struct jg_binary *binary)
{
    build->counts->disk_hits++;
    build->counts->root_hits += binary->root > 0;
    note_found(build, binary, jg_cache_folder(cache_of(build, binary->root)));
}

/* What another thread of the process has made. Its cache may be another folder. */
static void take_over(const struct build *build, const struct making *making,
                      struct jg_binary *binary)
{
    note_found(build, binary, "another thread");
    binary->is_on_disk =
        keep_on_disk(build, &making->key, jg_str_text(&making->signature), binary);
    binary->root = 0;
    binary->origin = JIT_GEMM_ORIGIN_MEMORY;
    binary->compile_ms = 0.0;
}

/* How often who waits for another process looks whether it has ended, and how long it waits
 * where a compile has no limit. */
enum { ASK_EVERY_MS = 10, MOST_WAITING_MS = 60000 };

/* Waits while another process of the machine makes the key. Not for ever, and only where
 * the folder takes locks: it saves work, no more. *ret_has_waited: there was another. */
static jit_gemm_status claim_key(const struct build *build, const struct making *making,
                                 jg_cache_claim *ret_claim, bool *ret_has_waited)
{
    const struct jg_builder *builder = build->builder;
    const uint32_t limit_ms = builder->compile_limit_ms;
    const double end_ms = jg_now_ms() + (limit_ms > 0 ? limit_ms / 2.0 : MOST_WAITING_MS);
    const jg_cache_name name = cache_key_of(&making->key).name;
    while (jg_cache_claim_try(builder->cache, &name, ret_claim) == JG_CACHE_CLAIM_TAKEN) {
        if (!*ret_has_waited) {
            jg_log_line(builder->log, JIT_GEMM_SEVERITY_INFO,
                        "another process is compiling %s: waiting for it",
                        build->unit->problem_text);
        }
        *ret_has_waited = true;
        if (jg_stop_is_asked(&builder->stop)) {
            return jg_stop_fail();
        }
        if (jg_now_ms() >= end_ms) {
            jg_log_line(builder->log, JIT_GEMM_SEVERITY_WARNING,
                        "another process has not finished %s: compiling it here too",
                        build->unit->problem_text);
            return JIT_GEMM_OK;
        }
        const struct timespec pause = {.tv_nsec = ASK_EVERY_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
    }
    return JIT_GEMM_OK;
}

/* The key is this process's to make, or nobody's. It may have been made since the first
 * look, unless that look has found an entry that is of no use. */
static jit_gemm_status find_or_compile(const struct build *build,
                                       const struct making *making, bool look_again,
                                       struct jg_binary *ret_binary)
{
    bool is_found = false;
    if (look_again && build->builder->cache != NULL) {
        JG_TRY(find_by_signature(build, 0, jg_str_text(&making->signature), ret_binary,
                                 &is_found));
    }
    if (is_found) {
        note_hit(build, ret_binary);
        return JIT_GEMM_OK;
    }
    return compile_and_keep(build, making, ret_binary);
}

/* Alone with this key in the process, and in the machine where it can be had. */
static jit_gemm_status make_alone(const struct build *build, const struct making *making,
                                  bool look_again, struct jg_binary *ret_binary)
{
    jg_cache_claim claim = {0};
    bool has_waited = false;
    JG_TRY(claim_key(build, making, &claim, &has_waited));
    const jit_gemm_status status =
        find_or_compile(build, making, look_again || has_waited, ret_binary);
    jg_cache_claim_end(&claim);
    return status;
}

/* The threads of a process that need one key at a time compile it once. */
static jit_gemm_status make_once(const struct build *build, const struct making *making,
                                 bool look_again, struct jg_binary *ret_binary)
{
    const struct jg_flight_ask ask = {.key = &making->key,
                                      .stop = build->builder->stop,
                                      .limit_ms = build->builder->compile_limit_ms};
    struct jg_flight *flight = NULL;
    JG_TRY(jg_flight_join(&ask, &flight, ret_binary));
    if (flight == NULL) {
        take_over(build, making, ret_binary);
        return JIT_GEMM_OK;
    }
    const jit_gemm_status status = make_alone(build, making, look_again, ret_binary);
    jg_flight_land(flight, status, ret_binary);
    return status;
}

/* ----------------------------------------------------------------------------- whole */

jit_gemm_status jg_build(const struct jg_builder *builder, const struct jg_build_unit *unit,
                         struct jg_binary *ret_binary, struct jg_build_counts *counts)
{
    struct jg_build_counts unwanted = {0};
    const struct build build = {builder, unit, counts != NULL ? counts : &unwanted};
    const uint64_t rejects = build.counts->cache_rejects;
    struct jg_binary binary = {0};
    bool is_found = false;
    JG_TRY(find_on_disk(&build, &binary, &is_found));
    if (is_found) {
        note_hit(&build, &binary);
        *ret_binary = binary;
        return JIT_GEMM_OK;
    }
    struct making making = {0};
    const bool look_again = build.counts->cache_rejects == rejects;
    jit_gemm_status status = prepare(&build, &making);
    if (status == JIT_GEMM_OK) {
        status = make_once(&build, &making, look_again, &binary);
    }
    free_making(&making);
    if (status == JIT_GEMM_OK) {
        *ret_binary = binary;
    }
    return status;
}

jit_gemm_status jg_build_find(const struct jg_builder *builder,
                              const struct jg_build_unit *unit,
                              struct jg_build_found *ret_found)
{
    struct jg_build_counts counts = {0};
    const struct build build = {builder, unit, &counts};
    struct jg_binary binary = {0};
    struct jg_build_found found = {0};
    JG_TRY(find_on_disk(&build, &binary, &found.is_found));
    if (found.is_found) {
        found.has_name = true;
        found.name = jg_binary_name(&binary);
        found.code_bytes = binary.code.size;
        found.made_ms = binary.made_ms;
        jg_binary_free(&binary);
        *ret_found = found;
        return JIT_GEMM_OK;
    }
    /* Linked code needs the linker's name too: its kernels are counted one by one. */
    const char *signature =
        unit->source->linked == NULL
            ? jg_toolchain_signature(builder->toolchain, builder->cache, builder->log)
            : NULL;
    if (signature != NULL) {
        struct jg_key key = {0};
        JG_TRY(jg_key_make(unit->source, signature, unit->arch->name, builder->code_kind,
                           &key));
        found.name = cache_key_of(&key).name;
        found.has_name = true;
        jg_key_free(&key);
    }
    *ret_found = found;
    return JIT_GEMM_OK;
}

bool jg_build_reject(const struct jg_builder *builder, const struct jg_binary *binary,
                     const char *reason)
{
    const jg_cache_name name = jg_binary_name(binary);
    const bool was_found =
        binary->origin == JIT_GEMM_ORIGIN_DISK || binary->origin == JIT_GEMM_ORIGIN_BUNDLE;
    if (!was_found || !(binary->root > 0 ? jg_roots_reject(builder->roots, &name)
                                         : jg_cache_reject(builder->cache, &name))) {
        return false;
    }
    jg_log_line(builder->log, JIT_GEMM_SEVERITY_WARNING,
                "cache entry %s is compiled again: the driver does not load it: %s",
                binary->key, reason);
    return true;
}
