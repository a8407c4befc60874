/* SPDX-License-Identifier: MIT */
/* jit-gemm cache explain: from a problem to its entry, or from a key to what it holds. */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cache_tool.h"

enum { VALUE_SIZE = 1024, MAX_NEAR = 8, MIN_KEY_DIGITS = 4, MAX_DIFFERENCES = 3 };

static const struct cli_help explain_help = {
    "cache explain PROBLEM...|KEY [OPTION...]",
    "For a problem: says whether its kernel is cached, under which key, and which entries\n"
    "come near and how they differ. For a key, or its first digits: prints what the entry\n"
    "holds. Compiles nothing. Exit code 1 if there is no such entry.\n",
    "  jit-gemm cache explain 4096x4096x4096 bf16 --arch sm_90a\n"
    "  jit-gemm cache explain 3f9a01\n",
};

/* ------------------------------------------------------------------------------ keys */

struct key_search {
    const char *digits;
    int found;
    struct cli_json *json; /* NULL: text */
};

static int print_entry_of_key(void *user, const jg_cache_entry *entry)
{
    struct key_search *search = user;
    char key[CACHE_KEY_SIZE];

    cache_key_print(&entry->name, key);
    if (strncmp(key, search->digits, strlen(search->digits)) != 0) {
        return 0;
    }
    if (search->json != NULL) {
        cache_add_entry(search->json, entry);
        search->found++;
        return 0;
    }
    printf("%skey=%s\nstate=%s\nfile_bytes=%" PRIu64 "\npayload_bytes=%zu\n",
           search->found ? "\n" : "", key, jg_cache_result_name(entry->state),
           entry->file_bytes, entry->payload_size);
    if (entry->metadata != NULL) {
        fwrite(entry->metadata, 1, entry->metadata_size, stdout);
        putchar('\n');
    }
    search->found++;
    return 0;
}

static bool is_key(const char *word)
{
    size_t length = strlen(word);

    if (length < MIN_KEY_DIGITS || length >= CACHE_KEY_SIZE) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)word[i]) && !(word[i] >= 'a' && word[i] <= 'f')) {
            return false;
        }
    }
    return true;
}

static int explain_key(jg_cache *cache, const char *digits, bool is_json)
{
    struct cli_json json = {.file = stdout};
    struct key_search search = {.digits = digits, .json = is_json ? &json : NULL};

    if (is_json) {
        cli_json_open_command(&json, "cache explain");
        cli_json_open_list(&json, "entries");
    }
    jg_cache_result result = jg_cache_walk(cache, 1, print_entry_of_key, &search);
    if (is_json) {
        cli_json_close_list(&json);
        cli_json_close_object(&json);
    }
    if (result != JG_CACHE_OK) {
        return cli_error("the folder cannot be read: %s", jg_cache_result_name(result));
    }
    return search.found ? CLI_OK : cli_error("no entry's key begins with %s", digits);
}

/* -------------------------------------------------------------------------- problems */

struct near_entry {
    char key[CACHE_KEY_SIZE];
    char problem[VALUE_SIZE];
    char differences[VALUE_SIZE];
    int count;
};

struct problem_search {
    const jit_gemm_problem *problem;
    const char *arch;
    const char *kind;   /* code kind of the entry that is looked for: "cubin", "ptx" */
    const char *source; /* the generated unit: part of the key material */
    size_t source_size;
    char exact[4][CACHE_KEY_SIZE]; /* entries of this very source */
    size_t exact_count;
    struct near_entry near[MAX_NEAR];
    size_t near_count;
};

static void note_difference(struct near_entry *near, const char *name, int differs)
{
    size_t used = strlen(near->differences);

    if (differs) {
        snprintf(near->differences + used, sizeof(near->differences) - used, "%s%s",
                 used ? ", " : "", name);
        near->count++;
    }
}

static bool dims_differ(jit_gemm_dim a, jit_gemm_dim b)
{
    return a.size != b.size || a.mode != b.mode;
}

/* A type that both leave to A's is no difference of its own. */
static bool types_differ(jit_gemm_dtype x, jit_gemm_dtype x_default, jit_gemm_dtype y,
                         jit_gemm_dtype y_default)
{
    return (x || y) && (x ? x : x_default) != (y ? y : y_default);
}

static void note_scale_difference(struct near_entry *near, const char *name,
                                  const char *layout_name, const jit_gemm_scale *a,
                                  const jit_gemm_scale *b)
{
    note_difference(near, name,
                    a->kind != b->kind || a->block_mn != b->block_mn ||
                        a->block_k != b->block_k);
    note_difference(near, layout_name, a->layout != b->layout);
}

static void compare_problems(const jit_gemm_problem *a, const jit_gemm_problem *b,
                             struct near_entry *near)
{
    jit_gemm_dim one = {.size = 1};

    note_difference(near, "m", dims_differ(a->m, b->m));
    note_difference(near, "n", dims_differ(a->n, b->n));
    note_difference(near, "k", dims_differ(a->k, b->k));
    note_difference(
        near, "batch",
        dims_differ(a->batch.size ? a->batch : one, b->batch.size ? b->batch : one));
    note_difference(near, "group_by", a->group_by != b->group_by);
    note_difference(near, "group_rest", a->group_rest != b->group_rest);
    note_difference(near, "scale_rows", a->scale_rows != b->scale_rows);
    note_difference(near, "typical_sizes",
                    memcmp(a->typical_sizes, b->typical_sizes, sizeof(a->typical_sizes)) !=
                        0);
    note_difference(near, "a", a->a.dtype != b->a.dtype);
    note_difference(near, "b",
                    types_differ(a->b.dtype, a->a.dtype, b->b.dtype, b->a.dtype));
    note_difference(near, "c", a->c.dtype != b->c.dtype);
    note_difference(near, "d",
                    types_differ(a->d.dtype, a->a.dtype, b->d.dtype, b->a.dtype));
    note_difference(near, "layout",
                    a->a.layout != b->a.layout || a->b.layout != b->b.layout);
    note_difference(near, "d_layout", a->d.layout != b->d.layout);
    note_difference(near, "a_rows", a->a_rows != b->a_rows);
    note_difference(near, "d_rows", a->d_rows != b->d_rows);
    note_scale_difference(near, "a_scale", "a_scale_layout", &a->a.scale, &b->a.scale);
    note_scale_difference(near, "b_scale", "b_scale_layout", &a->b.scale, &b->b.scale);
    note_scale_difference(near, "d_scale", "d_scale_layout", &a->d.scale, &b->d.scale);
    note_difference(near, "workspace", a->workspace_limit != b->workspace_limit);
    note_difference(near, "input_align", a->a.alignment != b->a.alignment);
    note_difference(near, "output_align", a->d.alignment != b->d.alignment);
    note_difference(near, "pair", a->pair != b->pair);
    note_difference(near, "invariant", a->invariant != b->invariant);
    note_difference(near, "accumulate", a->accumulate != b->accumulate);
    note_difference(near, "weights", a->weights != b->weights);
    note_difference(near, "epilogue", strcmp(a->epilogue, b->epilogue) != 0);
    note_difference(near, "config", strcmp(a->config, b->config) != 0);
}

/* Keeps the nearest ones, in order. */
static void keep_near(struct problem_search *search, const struct near_entry *near)
{
    size_t at = search->near_count;

    while (at > 0 && search->near[at - 1].count > near->count) {
        at--;
    }
    if (at == MAX_NEAR) {
        return;
    }
    if (search->near_count < MAX_NEAR) {
        search->near_count++;
    }
    memmove(&search->near[at + 1], &search->near[at],
            (search->near_count - at - 1) * sizeof(search->near[0]));
    search->near[at] = *near;
}

static int look_at_entry(void *user, const jg_cache_entry *entry)
{
    struct problem_search *search = user;
    struct near_entry near = {.count = 0};
    jit_gemm_problem other = {.struct_size = sizeof(other)};
    char arch[32], kind[16];

    if (entry->state != JG_CACHE_OK || !cache_entry_is_kernel(entry)) {
        return 0;
    }
    cache_key_print(&entry->name, near.key);
    cache_entry_value(entry, "kind", kind, sizeof(kind));
    note_difference(&near, "code kind (cubin, ptx)", strcmp(kind, search->kind) != 0);
    if (near.count == 0 && entry->material != NULL &&
        memmem(entry->material, entry->material_size, search->source,
               search->source_size)) {
        if (search->exact_count < sizeof(search->exact) / sizeof(search->exact[0])) {
            memcpy(search->exact[search->exact_count++], near.key, sizeof(near.key));
        }
        return 0;
    }
    cache_entry_value(entry, "problem", near.problem, sizeof(near.problem));
    cache_entry_value(entry, "arch", arch, sizeof(arch));
    if (jit_gemm_problem_parse(near.problem, &other) != JIT_GEMM_OK) {
        return 0;
    }
    note_difference(&near, "arch", strcmp(arch, search->arch) != 0);
    compare_problems(search->problem, &other, &near);
    if (near.count <= MAX_DIFFERENCES) {
        keep_near(search, &near);
    }
    return 0;
}

static const char *differences_of(const struct near_entry *near)
{
    return near->count > 0 ? near->differences
                           : "the epilogue's text or operands, or the library's version";
}

static void print_text(const struct problem_search *search, const char *problem,
                       const char *folder, const char *reason)
{
    cli_print_fact("problem", 9, problem);
    cli_print_fact("arch", 9, search->arch);
    cli_print_fact("folder", 9, folder);
    cli_print_fact("cached", 9, reason == NULL ? "yes" : "no");
    for (size_t i = 0; i < search->exact_count; i++) {
        printf("%s %s\n",
               reason == NULL ? "entry   "
                              : "other    the same source by another "
                                "compiler or library:",
               search->exact[i]);
    }
    if (reason != NULL) {
        cli_print_fact("reason", 9, reason);
    }
    for (size_t i = 0; i < search->near_count; i++) {
        const struct near_entry *near = &search->near[i];
        const int column = printf("near     %s ", near->key);

        cli_print_line(stdout, near->problem, strlen(near->problem), (size_t)column, 9);
        cli_print_fact("         differs in", 20, differences_of(near));
    }
}

static void print_json(const struct problem_search *search, const char *problem,
                       const char *folder, const char *reason)
{
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "cache explain");
    cli_json_add_text(&json, "problem", problem);
    cli_json_add_text(&json, "arch", search->arch);
    cli_json_add_text(&json, "folder", folder);
    cli_json_add_bool(&json, "cached", reason == NULL);
    cli_json_add_text(&json, "reason", reason);
    cli_json_open_list(&json, reason == NULL ? "keys" : "other_keys");
    for (size_t i = 0; i < search->exact_count; i++) {
        cli_json_add_text(&json, NULL, search->exact[i]);
    }
    cli_json_close_list(&json);
    cli_json_open_list(&json, "near");
    for (size_t i = 0; i < search->near_count; i++) {
        cli_json_open_object(&json, NULL);
        cli_json_add_text(&json, "key", search->near[i].key);
        cli_json_add_text(&json, "problem", search->near[i].problem);
        cli_json_add_text(&json, "differs_in", differences_of(&search->near[i]));
        cli_json_close_object(&json);
    }
    cli_json_close_list(&json);
    cli_json_close_object(&json);
}

static int explain_in_context(jg_cache *cache, jit_gemm_context *context,
                              const struct cli_problem *problem, bool is_emulator,
                              bool json, bool verbose)
{
    struct problem_search search = {.problem = &problem->problem,
                                    .arch = jit_gemm_context_arch(context),
                                    .kind = is_emulator ? "ptx" : "cubin"};
    struct cli_snippet snippet = {.text = problem->snippet};
    jit_gemm_artifact *source = NULL, *kernel = NULL;
    int code = cli_problem_register(problem, context, verbose);

    if (code != CLI_OK) {
        return code;
    }
    jit_gemm_status status =
        jit_gemm_build(context, &problem->problem, JIT_GEMM_EMIT_SOURCE, &source);
    if (status != JIT_GEMM_OK) {
        return cli_report(status, &snippet, verbose);
    }
    search.source = jit_gemm_artifact_data(source, &search.source_size);
    jg_cache_result result = jg_cache_walk(cache, 0, look_at_entry, &search);
    jit_gemm_artifact_destroy(&source);
    if (result != JG_CACHE_OK) {
        return cli_error("the folder cannot be read: %s", jg_cache_result_name(result));
    }
    /* The policy forbids compiling: this asks what a create would find. */
    status = jit_gemm_build(context, &problem->problem,
                            is_emulator ? JIT_GEMM_EMIT_PTX : JIT_GEMM_EMIT_CUBIN, &kernel);
    jit_gemm_artifact_destroy(&kernel);
    char *text = cli_problem_text(&problem->problem);
    (json ? print_json : print_text)(&search, text, jg_cache_folder(cache),
                                     status == JIT_GEMM_OK ? NULL : jit_gemm_last_error());
    free(text);
    return status == JIT_GEMM_OK ? CLI_OK : CLI_FAILED;
}

int cache_explain(int argc, char **argv)
{
    struct cli_context_options options = {0};
    struct cli_problem problem = {0};
    const char *device = "gpu";
    bool json = false;
    const struct cli_option own[] = {
        {"--device", "gpu|emulator", "whose kernel: machine code, or PTX", CLI_CHOICE,
         &device},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    jit_gemm_context *context = NULL;
    jg_cache *cache = NULL;
    int words = 0, code;

    code = cli_parse_problem(&explain_help, own, &problem, &options, false, argc, argv,
                             &words);
    if (code >= 0) {
        return code;
    }
    if (options.no_cache) {
        return cli_usage_error("cache explain reads the cache; leave out --no-cache");
    }
    if (words == 1 && is_key(argv[1])) {
        code = cache_tool_open(options.cache_dir, true, &cache);
        if (code == CLI_OK) {
            code = explain_key(cache, argv[1], json);
        }
        jg_cache_close(cache);
        return code;
    }
    const bool is_emulator = strcmp(device, CLI_EMULATOR) == 0;
    options.driver = is_emulator ? CLI_EMULATOR : NULL; /* opened if no arch is named */
    code = cli_problem_read(&problem, argv + 1, words);
    if (code == CLI_OK) {
        code = cli_context_open(&options, false, JIT_GEMM_POLICY_FORBID, &context);
    }
    if (code == CLI_OK) {
        code = cache_tool_open(options.cache_dir, true, &cache);
    }
    if (code == CLI_OK) {
        code = explain_in_context(cache, context, &problem, is_emulator, json,
                                  options.verbose);
    }
    jg_cache_close(cache);
    jit_gemm_context_destroy(&context);
    cli_problem_free(&problem);
    return code;
}
