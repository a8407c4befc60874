/* SPDX-License-Identifier: MIT */
/* A capsule's unit, compiled here and, if it is a load or a launch that failed, loaded and
 * launched. What the capsule says is checked before it is used. */
#include <string.h>

#include "api/capsule.h"
#include "api/gemm.h"
#include "api/manifest.h"
#include "api/replay_launch.h"
#include "api/target.h"
#include "base/error.h"
#include "base/lines.h"
#include "jit_gemm/capsule.h"
#include "plan/text.h"
#include "source/embedded.h"

/* What the compile is asked for. */
struct replay {
    const jit_gemm_context *context;
    const struct jg_capsule *capsule;
    const struct jg_arch *arch;
    bool has_problem; /* else it is a pack */
    struct jg_problem problem;
    const struct jg_epilogue *epilogue; /* NULL without one */
    struct jg_source source;            /* its text is the capsule's */
    enum jg_code_kind code_kind;
};

static jit_gemm_status fail_field(const char *field, const char *hint, const char *value)
{
    const struct jg_quoted quoted = jg_quote(value, strlen(value));
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, hint, "'%s' is nothing that a capsule has",
                   quoted.text);
}

static const char *field_of(const struct replay *replay, enum jg_capsule_field field)
{
    return jg_str_text(&replay->capsule->fields[field]);
}

/* ------------------------------------------------------------------ what the capsule says
 */

/* The compiler is given its own options: these only say which of two it was. */
static jit_gemm_status read_options(struct replay *replay)
{
    const char *text = field_of(replay, JG_CAPSULE_OPTIONS);
    struct jg_str known = {0};
    jg_compiler_nvrtc_options(JG_COMPILE_OPTIONS, &known);
    jit_gemm_status status = jg_str_status(&known);
    const char *rest = text;
    size_t size = strlen(text);
    while (status == JIT_GEMM_OK && size > 0) {
        const char *word = NULL;
        const size_t length = jg_line_take_piece(&rest, &size, &word);
        bool is_known = false;
        const char *other = jg_str_text(&known);
        size_t left = known.size;
        while (left > 0 && !is_known) {
            const char *piece = NULL;
            const size_t piece_size = jg_line_take_piece(&other, &left, &piece);
            is_known = piece_size == length && memcmp(piece, word, length) == 0;
        }
        if (!is_known) {
            status =
                fail_field("capsule.txt: options",
                           "only options that this library gives can be replayed", text);
        }
        replay->source.has_lineinfo |=
            jg_word_is(word, length, jg_compile_option_text(JG_COMPILE_LINEINFO));
        replay->source.rounds_apart |=
            jg_word_is(word, length, jg_compile_option_text(JG_COMPILE_ROUNDS_APART));
    }
    jg_str_free(&known);
    return status;
}

static jit_gemm_status read_fields(struct replay *replay)
{
    const char *arch = field_of(replay, JG_CAPSULE_ARCH);
    const char *kind = field_of(replay, JG_CAPSULE_KIND);
    const char *entry = field_of(replay, JG_CAPSULE_ENTRY);
    replay->arch = jg_arch_find(arch);
    if (replay->arch == NULL) {
        const struct jg_quoted quoted = jg_quote(arch, strlen(arch));
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "capsule.txt: arch",
                       "replay it with a version of the library that has its kernels",
                       "there are no kernels for '%s' here", quoted.text);
    }
    replay->code_kind =
        strcmp(kind, jg_code_kind_name(JG_CODE_PTX)) == 0 ? JG_CODE_PTX : JG_CODE_CUBIN;
    if (strcmp(kind, jg_code_kind_name(replay->code_kind)) != 0) {
        return fail_field("capsule.txt: kind", "it is cubin or ptx", kind);
    }
    if (!jg_is_identifier(entry, strlen(entry)) || strlen(entry) >= JIT_GEMM_NAME_SIZE) {
        return fail_field("capsule.txt: entry", "it is the name of a kernel", entry);
    }
    memcpy(replay->source.entry, entry, strlen(entry) + 1);
    return read_options(replay);
}

/* The epilogue of the manifest: a compiled one has code that is linked to the unit. */
static jit_gemm_status find_epilogue(const struct jg_manifest *manifest,
                                     struct replay *replay)
{
    if (manifest->problem_count + manifest->side_count != 1) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.manifest",
                       "give the whole folder, as the library left it",
                       "has %zu kernels, and a capsule is of one",
                       manifest->problem_count + manifest->side_count);
    }
    if (manifest->side_count == 1) {
        return JIT_GEMM_OK;
    }
    JG_TRY(jg_problem_normalize(&manifest->problems[0].problem, jg_registry_find,
                                manifest->epilogues, &replay->problem));
    replay->has_problem = true;
    replay->epilogue = replay->problem.epilogue;
    if (jg_epilogue_is_linked(replay->epilogue)) {
        replay->source.linked = replay->epilogue->compiled.code;
        replay->source.linked_size = replay->epilogue->compiled.code_size;
    }
    return JIT_GEMM_OK;
}

/* --------------------------------------------------------------------------- the report */

/* Adds the lines that tell of an error: times and the like are in others. */
static void add_error_lines(const char *log, struct jg_str *out)
{
    struct jg_lines lines = {.text = log, .size = strlen(log)};
    while (jg_lines_next(&lines)) {
        if (memmem(lines.start, lines.length, "error", 5) != NULL ||
            memmem(lines.start, lines.length, "fatal", 5) != NULL) {
            jg_str_add(out, lines.start, lines.length);
            jg_str_puts(out, "\n");
        }
    }
}

/* `error` and `log` are those of here. */
static jit_gemm_status compare_errors(const struct replay *replay, jit_gemm_status status,
                                      const char *error, const char *log,
                                      jit_gemm_replay_outcome *ret_outcome)
{
    struct jg_str there = {0};
    struct jg_str here = {0};
    jg_str_printf(&there, "%s\n%s", field_of(replay, JG_CAPSULE_STATUS),
                  jg_str_text(&replay->capsule->files[JG_CAPSULE_ERROR]));
    add_error_lines(jg_str_text(&replay->capsule->files[JG_CAPSULE_LOG]), &there);
    jg_str_printf(&here, "%s\n%s", jg_status_name(status), error);
    add_error_lines(log, &here);
    const bool is_failed = there.failed || here.failed;
    if (!is_failed) {
        *ret_outcome = strcmp(jg_str_text(&there), jg_str_text(&here)) == 0
                           ? JIT_GEMM_REPLAY_SAME_ERROR
                           : JIT_GEMM_REPLAY_OTHER_ERROR;
    }
    jg_str_free(&there);
    jg_str_free(&here);
    return is_failed ? jg_fail_memory() : JIT_GEMM_OK;
}

/* A value of the capsule and that of here. */
struct version {
    const char *name;
    const char *there, *here;
};

static void print_report(const struct replay *replay, const char *compiler,
                         jit_gemm_replay_outcome outcome, const char *error,
                         struct jg_str *out)
{
    static const char *const verdicts[] = {
        [JIT_GEMM_REPLAY_SAME_ERROR] = "same error",
        [JIT_GEMM_REPLAY_OTHER_ERROR] = "other error",
        [JIT_GEMM_REPLAY_COMPILES] = "compiles here",
        [JIT_GEMM_REPLAY_LOADS] = "loads here",
        [JIT_GEMM_REPLAY_RUNS] = "runs here",
    };
    char headers[33];
    jg_hash_hex(&replay->source.headers, headers);
    const struct version versions[] = {
        {"library", field_of(replay, JG_CAPSULE_LIBRARY), JG_LIBRARY_VERSION},
        {"compiler", field_of(replay, JG_CAPSULE_COMPILER), compiler},
        {"device sources", field_of(replay, JG_CAPSULE_HEADERS), headers},
    };
    enum { COUNT = sizeof(versions) / sizeof(versions[0]) };
    jg_str_printf(out, "replay: %s;", verdicts[outcome]);
    for (int i = 0; i < COUNT; i++) {
        jg_str_printf(out, "%s %s %s", i > 0 ? "," : "",
                      strcmp(versions[i].there, versions[i].here) == 0 ? "same" : "other",
                      versions[i].name);
    }
    jg_str_puts(out, "\n");
    for (int i = 0; i < COUNT; i++) {
        jg_str_printf(out, "%s: %s; here: %s\n", versions[i].name, versions[i].there,
                      versions[i].here);
    }
    jg_str_printf(out, "error: %s", jg_str_text(&replay->capsule->files[JG_CAPSULE_ERROR]));
    if (outcome == JIT_GEMM_REPLAY_OTHER_ERROR) {
        jg_str_printf(out, "error here: %s", error);
    }
}

/* -------------------------------------------------------------------------- the compile */

static bool is_outcome(jit_gemm_status status)
{
    return status != JIT_GEMM_ERR_NO_COMPILER && status != JIT_GEMM_ERR_NO_MEMORY &&
           status != JIT_GEMM_ERR_CANCELLED;
}

/* The error of here as the capsule would have it, and its log. */
static jit_gemm_status clean_error(const struct replay *replay,
                                   const struct jg_compiler *compiler, struct jg_str *error,
                                   struct jg_str *log)
{
    const struct jg_capsule_private hidden =
        jg_capsule_hide(replay->context, replay->epilogue, compiler->path);
    jit_gemm_diagnostics *diagnostics = NULL;
    jg_capsule_clean(&hidden, jg_error_text(), error);
    jg_str_puts(error, "\n");
    JG_TRY(jg_diagnostics_take(&diagnostics));
    jg_capsule_clean(&hidden, jg_diagnostics_log(diagnostics), log);
    jg_diagnostics_destroy(&diagnostics);
    JG_TRY(jg_str_status(error));
    return jg_str_status(log);
}

/* What came of it, and how the capsule would say so. */
struct result {
    jit_gemm_replay_outcome outcome;
    struct jg_str error, log;
};

static jit_gemm_status note_error(const struct replay *replay,
                                  const struct jg_compiler *compiler,
                                  jit_gemm_status status, struct result *result)
{
    JG_TRY(clean_error(replay, compiler, &result->error, &result->log));
    JG_TRY(compare_errors(replay, status, jg_str_text(&result->error),
                          jg_str_text(&result->log), &result->outcome));
    jg_error_clear();
    return JIT_GEMM_OK;
}

static bool has_status(const struct replay *replay, jit_gemm_status status)
{
    return strcmp(field_of(replay, JG_CAPSULE_STATUS), jg_status_name(status)) == 0;
}

/* Is it a load or a launch that failed, and can the context's device do the same? */
static bool is_to_be_loaded(const struct replay *replay)
{
    const jit_gemm_context *context = replay->context;
    return replay->has_problem && context->device != NULL &&
           context->arch == replay->arch &&
           jg_arch_runs_on(context->arch, &context->device->facts) &&
           (has_status(replay, JIT_GEMM_ERR_LOAD) ||
            has_status(replay, JIT_GEMM_ERR_LAUNCH));
}

/* Launches what was loaded, if it is a launch that failed. */
static jit_gemm_status launch(const struct replay *replay,
                              const struct jg_compiler *compiler,
                              const struct jg_kernel *kernel, struct result *result)
{
    bool is_launched = false;
    if (!has_status(replay, JIT_GEMM_ERR_LAUNCH)) {
        result->outcome = JIT_GEMM_REPLAY_LOADS;
        return JIT_GEMM_OK;
    }
    const jit_gemm_status status =
        jg_replay_launch(kernel, &replay->capsule->files[JG_CAPSULE_LAUNCH], &is_launched);
    if (status != JIT_GEMM_OK) {
        return is_launched && is_outcome(status)
                   ? note_error(replay, compiler, status, result)
                   : status;
    }
    result->outcome = JIT_GEMM_REPLAY_RUNS;
    return JIT_GEMM_OK;
}

/* Loads what was compiled, launches it if it is to be, and unloads it. Only a choice that
 * gives the very unit says with how much shared memory and in which clusters: without one
 * nothing is loaded, and the outcome stays. */
static jit_gemm_status load(const struct replay *replay, const struct jg_compiler *compiler,
                            const struct jg_binary *binary, struct result *result)
{
    const jit_gemm_context *context = replay->context;
    const struct jg_planned planned = jg_step_planned(context, replay->arch);
    struct jg_choice choice;
    struct jg_source source = {0};
    struct jg_kernel *kernel = NULL;
    bool none_fits = false;
    bool is_refused = false;
    JG_TRY(jg_config_choose(replay->arch, &replay->problem, &planned.facts, &choice, NULL));
    JG_TRY(jg_source_assemble(replay->arch, &replay->problem, &choice, &source));
    const bool is_same_unit =
        source.text.size == replay->source.text.size &&
        memcmp(source.text.data, replay->source.text.data, source.text.size) == 0;
    jg_source_free(&source);
    if (!is_same_unit) {
        return JIT_GEMM_OK;
    }
    const struct jg_module_request request = {.problem = &replay->problem,
                                              .choice = &choice,
                                              .ret_none_fits = &none_fits,
                                              .ret_is_refused = &is_refused,
                                              .binary = binary,
                                              .arch = replay->arch,
                                              .entry = replay->source.entry,
                                              .log = context->log};
    jit_gemm_status status = jg_module_load(context->device, &request, &kernel);
    if (status == JIT_GEMM_ERR_LOAD) {
        return note_error(replay, compiler, status, result);
    }
    JG_TRY(status);
    status = launch(replay, compiler, kernel, result);
    jg_kernel_release(kernel);
    return status;
}

static jit_gemm_status compile(const struct replay *replay, const struct jg_stop *stop,
                               struct result *result)
{
    const jit_gemm_context *context = replay->context;
    const struct jg_builder builder = {.log = context->log,
                                       .toolchain = context->toolchain,
                                       .policy = JIT_GEMM_POLICY_ALLOW,
                                       .compile_limit_ms = context->compile_limit_ms,
                                       .stop = *stop,
                                       .code_kind = is_to_be_loaded(replay)
                                                        ? jg_target_code_kind(context)
                                                        : replay->code_kind};
    const struct jg_build_unit unit = {&replay->source, replay->arch, replay->epilogue,
                                       field_of(replay, JG_CAPSULE_TEXT)};
    struct jg_compiler *compiler = NULL;
    struct jg_binary binary = {0};
    JG_TRY(jg_toolchain_compiler(context->toolchain, NULL, context->log, &compiler));
    jit_gemm_status status = jg_build(&builder, &unit, &binary, NULL);
    if (status != JIT_GEMM_OK) {
        return is_outcome(status) ? note_error(replay, compiler, status, result) : status;
    }
    result->outcome = JIT_GEMM_REPLAY_COMPILES;
    if (is_to_be_loaded(replay)) {
        status = load(replay, compiler, &binary, result);
    }
    jg_binary_free(&binary);
    return status;
}

static jit_gemm_status print_signature(const struct replay *replay, struct jg_str *out)
{
    const jit_gemm_context *context = replay->context;
    struct jg_compiler *compiler = NULL;
    JG_TRY(jg_toolchain_compiler(context->toolchain, NULL, context->log, &compiler));
    if (replay->source.linked != NULL) {
        return jg_toolchain_linked_signature(context->toolchain, compiler->signature, out);
    }
    jg_str_puts(out, compiler->signature);
    return jg_str_status(out);
}

static jit_gemm_status compile_and_report(const struct replay *replay,
                                          const struct jg_stop *stop,
                                          jit_gemm_replay_outcome *ret_outcome,
                                          struct jg_str *report)
{
    struct jg_str signature = {0};
    struct result result = {.outcome = JIT_GEMM_REPLAY_COMPILES};
    jit_gemm_status status = print_signature(replay, &signature);
    if (status == JIT_GEMM_OK) {
        status = compile(replay, stop, &result);
    }
    if (status == JIT_GEMM_OK) {
        print_report(replay, jg_str_text(&signature), result.outcome,
                     jg_str_text(&result.error), report);
        status = jg_str_status(report);
    }
    if (status == JIT_GEMM_OK) {
        *ret_outcome = result.outcome;
    }
    jg_str_free(&signature);
    jg_str_free(&result.error);
    jg_str_free(&result.log);
    return status;
}

static jit_gemm_status replay_capsule(const jit_gemm_context *context,
                                      const struct jg_capsule *capsule,
                                      jit_gemm_replay_outcome *ret_outcome,
                                      struct jg_str *report)
{
    struct replay replay = {.context = context,
                            .capsule = capsule,
                            .source = {.text = capsule->files[JG_CAPSULE_UNIT],
                                       .headers = jg_digest_headers()}};
    const struct jg_str *text = &capsule->files[JG_CAPSULE_MANIFEST];
    const struct jg_stop stop = jg_context_stop(context);
    struct jg_manifest manifest = {0};
    JG_TRY(read_fields(&replay));
    JG_TRY(jg_manifest_parse(jg_str_text(text), text->size, context->log, &manifest));
    jit_gemm_status status = find_epilogue(&manifest, &replay);
    if (status == JIT_GEMM_OK) {
        status = compile_and_report(&replay, &stop, ret_outcome, report);
    }
    jg_manifest_free(&manifest);
    return status;
}

jit_gemm_status jit_gemm_capsule_replay(jit_gemm_context *context, const char *path,
                                        jit_gemm_replay_outcome *ret_outcome, char *buffer,
                                        size_t size, size_t *ret_length)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(path, "path"));
    JG_TRY(jg_check_pointer(ret_outcome, "ret_outcome"));
    if (size > 0) {
        JG_TRY(jg_check_pointer(buffer, "buffer"));
    }
    struct jg_capsule capsule = {0};
    struct jg_str report = {0};
    JG_TRY(jg_capsule_read(path, &capsule));
    const jit_gemm_status status = replay_capsule(context, &capsule, ret_outcome, &report);
    jg_capsule_free(&capsule);
    return jg_str_deliver(&report, status, buffer, size, ret_length);
}
