/* SPDX-License-Identifier: MIT */
/* jit-gemm cache export and import: kernels of a folder in one file, and back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cache_tool.h"
#include "compile/makers.h"

enum { KIND_SIZE = 16, ARCH_SIZE = 32 };

/* ---------------------------------------------------------------------------- export */

static const struct cli_help export_help = {
    "cache export [MANIFEST] -o FILE [--arch ARCH[,ARCH...]] [OPTION...]",
    "Writes a bundle: one file of kernels that others read as a --cache-root. It has every\n"
    "kernel of the cache folder, only those of --arch and --device, or those of a manifest,\n"
    "which must all be there. Compiles nothing. The same kernels give the same file.\n",
    "  jit-gemm cache export -o kernels.jgb\n"
    "  jit-gemm cache export -o kernels.jgb --arch sm_90a --device gpu\n"
    "  jit-gemm cache export model.manifest --arch sm_90a,sm_100a -o model.jgb\n",
};

/* Goes through a folder. */
struct exporting {
    jg_cache *cache;
    struct jg_shipment *shipment;
    const char *archs; /* with commas; NULL: all */
    const char *kind;  /* "cubin", "ptx"; NULL: both */
    bool json;
    uint64_t bad;
    jg_cache_result failure;
};

static bool is_in_list(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; *at != '\0';) {
        const size_t part = strcspn(at, ",");

        if (part == length && memcmp(at, word, length) == 0) {
            return true;
        }
        at += part + (at[part] == ',');
    }
    return false;
}

static int export_entry(void *user, const jg_cache_entry *entry)
{
    struct exporting *state = user;
    char kind[KIND_SIZE], arch[ARCH_SIZE];

    if (!cache_check_entry(entry, state->json ? stderr : stdout)) {
        state->bad++;
        return 0;
    }
    cache_entry_value(entry, "kind", kind, sizeof(kind));
    cache_entry_value(entry, "arch", arch, sizeof(arch));
    if (!cache_entry_is_kernel(entry) ||
        (state->archs != NULL && !is_in_list(state->archs, arch)) ||
        (state->kind != NULL && strcmp(state->kind, kind) != 0)) {
        return 0;
    }
    state->failure = jg_shipment_add(state->shipment, state->cache, &entry->name);
    return state->failure == JG_CACHE_OK ? 0 : 2;
}

static int write_shipment(struct exporting *state, const char *path)
{
    jg_cache_bundle_counts counts;
    char reason[512] = "";
    const jg_cache_result walked = jg_cache_walk(state->cache, true, export_entry, state);

    if (walked != JG_CACHE_OK) {
        return cli_error("the folder cannot be read: %s", jg_cache_result_name(walked));
    }
    if (state->bad > 0) {
        return cli_error("bad entries: %" PRIu64
                         "; remove them with `jit-gemm cache verify "
                         "--remove`; no bundle was written",
                         state->bad);
    }
    if (state->failure == JG_CACHE_TOO_LARGE) {
        return cli_error("the kernels come from more than %d compilers: prewarm an empty "
                         "cache folder, and export that",
                         JG_MAKERS_MAX);
    }
    if (state->failure != JG_CACHE_OK) {
        return cli_error("a kernel cannot be exported: %s",
                         jg_cache_result_name(state->failure));
    }
    if (state->shipment->maker_count == 0) {
        return cli_error("%s has no such kernel: no bundle was written",
                         jg_cache_folder(state->cache));
    }
    const jg_cache_result result =
        jg_shipment_write(state->shipment, path, &counts, reason, sizeof(reason));
    if (result != JG_CACHE_OK) {
        return cli_error("%s cannot be written (%s): %s", path,
                         jg_cache_result_name(result), reason);
    }
    if (state->json) {
        struct cli_json json = {.file = stdout};

        cli_json_open_command(&json, "cache export");
        cli_json_open_object(&json, "bundle");
        cli_json_add_uint(&json, "kernels", counts.entries);
        cli_json_add_uint(&json, "bytes", counts.bytes);
        cli_json_add_text(&json, "path", path);
        cli_json_close_object(&json);
        cli_json_close_object(&json);
    } else {
        printf("bundle: kernels=%" PRIu64 " bytes=%" PRIu64 " %s\n", counts.entries,
               counts.bytes, path);
    }
    return CLI_OK;
}

/* What the folder has. */
static int export_folder(const char *folder, const char *archs, const char *kind,
                         const char *path, bool json)
{
    struct exporting state = {.archs = archs, .kind = kind, .json = json};

    if (cache_tool_open(folder, true, &state.cache) != CLI_OK) {
        return CLI_FAILED;
    }
    state.shipment = cli_alloc(sizeof(*state.shipment));
    memset(state.shipment, 0, sizeof(*state.shipment));
    int code = jg_cache_bundle_begin(&state.shipment->writer) == JG_CACHE_OK
                   ? write_shipment(&state, path)
                   : cli_error("no memory for a bundle");
    jg_cache_bundle_end(state.shipment->writer);
    free(state.shipment);
    jg_cache_close(state.cache);
    return code;
}

int cache_export(int argc, char **argv)
{
    struct cli_context_options options = {0};
    const char *path = NULL, *device = NULL;
    bool json = false;
    const struct cli_option own[] = {
        {"-o", "FILE", "the bundle to write", CLI_TEXT, &path},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {"--device", "gpu|emulator",
         "machine code, or the PTX that the emulator takes;\ndefault: both, and of a "
         "manifest machine code",
         CLI_CHOICE, &device},
        {"--recipe", "FILE", "of a manifest, take configs from what `jit-gemm tune` wrote",
         CLI_TEXT, &options.recipe},
        {0},
    };
    struct cli_option context_table[CLI_CONTEXT_OPTION_COUNT];
    const struct cli_option *groups[] = {own, context_table, NULL};
    int words = 0, code;

    cli_context_table(&options, false, context_table);
    code = cli_parse(&export_help, groups, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    if (path == NULL) {
        return cli_usage_error("cache export: name the file to write with -o FILE");
    }
    if (words > 1) {
        return cli_usage_error("cache export: name one manifest, or none for all kernels");
    }
    if (words == 1) {
        const struct cli_manifest_job job = {.name = "cache export",
                                             .path = argv[1],
                                             .device = device != NULL ? device : "gpu",
                                             .require_cached = true,
                                             .json = json,
                                             .bundle = path};
        return cli_run_manifest(&job, &options);
    }
    if (options.no_cache || options.cache_roots.count > 0 || options.recipe != NULL) {
        return cli_usage_error(
            "cache export without a manifest takes what the cache folder "
            "has: leave out %s",
            options.no_cache         ? "--no-cache"
            : options.recipe != NULL ? "--recipe"
                                     : "--cache-root");
    }
    return export_folder(options.cache_dir, options.arch,
                         device == NULL                      ? NULL
                         : strcmp(device, CLI_EMULATOR) == 0 ? "ptx"
                                                             : "cubin",
                         path, json);
}

/* ---------------------------------------------------------------------------- import */

static const struct cli_help import_help = {
    "cache import FILE [--cache-key PUBLIC]... [--cache-least-serial N] [--json]\n"
    "       [--cache DIR]",
    "Puts the kernels of a bundle into the cache folder; what is there already is kept. A\n"
    "context can also read the bundle where it lies, as a --cache-root. If one of its\n"
    "entries is bad, it is named and nothing is imported; neither is a bundle that none of\n"
    "the keys has signed, if there are any. The folder has no signature of its own: what is\n"
    "imported is the folder's from then on.\n",
    "  jit-gemm cache import model.jgb --cache /srv/model/kernels\n"
    "  jit-gemm cache import model.jgb --cache-key release.pub --cache-least-serial 7\n",
};

struct importing {
    jg_cache *cache;
    uint64_t bad, stored, present;
    int code;
    bool json;
};

static int check_import(void *user, const jg_cache_entry *entry)
{
    struct importing *state = user;

    state->bad += !cache_check_entry(entry, state->json ? stderr : stdout);
    return 0;
}

static int fail_import(struct importing *state, const jg_cache_entry *entry,
                       jg_cache_result result, const char *reason)
{
    char key[CACHE_KEY_SIZE];

    cache_key_print(&entry->name, key);
    state->code =
        cli_error("%s cannot be kept (%s): %s", key, jg_cache_result_name(result), reason);
    return 2;
}

/* Records on compilers are made anew: the folder may have others under their numbers. */
static int import_entry(void *user, const jg_cache_entry *entry)
{
    struct importing *state = user;
    struct jg_maker maker;
    const jg_cache_key key = {.name = entry->name,
                              .material = entry->material,
                              .material_size = entry->material_size};
    const jg_cache_value value = {entry->payload, entry->payload_size, entry->metadata,
                                  entry->metadata_size};
    char reason[256] = "";

    if (entry->state != JG_CACHE_OK) {
        return fail_import(state, entry, entry->state, "the bundle has changed meanwhile");
    }
    if (!jg_maker_read(entry, &maker)) {
        return 0;
    }
    jg_cache_result result =
        jg_cache_put(state->cache, &key, &value, reason, sizeof(reason));
    if (result != JG_CACHE_OK && result != JG_CACHE_EXISTS) {
        return fail_import(state, entry, result, reason);
    }
    state->stored += result == JG_CACHE_OK;
    state->present += result == JG_CACHE_EXISTS;
    result = jg_makers_remember(state->cache, maker.made_by, maker.compiler, reason,
                                sizeof(reason));
    if (result != JG_CACHE_OK && result != JG_CACHE_EXISTS) {
        return fail_import(state, entry, result, reason);
    }
    return 0;
}

static int import_bundle(jg_cache *bundle, const char *path, const char *folder, bool json)
{
    struct importing state = {.code = CLI_OK, .json = json};

    (void)jg_cache_walk(bundle, true, check_import, &state);
    if (state.bad > 0) {
        return cli_error("bad entries of %s: %" PRIu64
                         "; copy it again; nothing was imported",
                         path, state.bad);
    }
    if (cache_tool_open(folder, false, &state.cache) != CLI_OK) {
        return CLI_FAILED;
    }
    (void)jg_cache_walk(bundle, true, import_entry, &state);
    if (state.code == CLI_OK && json) {
        struct cli_json writer = {.file = stdout};

        cli_json_open_command(&writer, "cache import");
        cli_json_add_uint(&writer, "kernels", state.stored + state.present);
        cli_json_add_uint(&writer, "stored", state.stored);
        cli_json_add_uint(&writer, "present", state.present);
        cli_json_add_text(&writer, "folder", jg_cache_folder(state.cache));
        cli_json_close_object(&writer);
    } else if (state.code == CLI_OK) {
        printf("import: kernels=%" PRIu64 " stored=%" PRIu64 " present=%" PRIu64 " %s\n",
               state.stored + state.present, state.stored, state.present,
               jg_cache_folder(state.cache));
    }
    jg_cache_close(state.cache);
    return state.code;
}

int cache_import(int argc, char **argv)
{
    struct cli_context_options options = {0};
    struct cache_signers signers = {.count = 0};
    struct cli_option own[CLI_SIGNER_OPTION_COUNT + 3];
    bool json = false;
    const struct cli_option *groups[] = {own, NULL};
    jg_cache *bundle = NULL;

    cli_signer_table(&options, own);
    own[CLI_SIGNER_OPTION_COUNT] =
        (struct cli_option){"--cache", "DIR", "cache folder; default as everywhere",
                            CLI_TEXT, &options.cache_dir};
    own[CLI_SIGNER_OPTION_COUNT + 1] =
        (struct cli_option){"--json", NULL, "print one JSON object", CLI_FLAG, &json};
    own[CLI_SIGNER_OPTION_COUNT + 2] = (struct cli_option){0};
    int words = 0, code = cli_parse(&import_help, groups, argc, argv, &words);

    if (code >= 0) {
        return code;
    }
    if (words != 1) {
        return cli_usage_error("cache import: name one bundle");
    }
    const struct cache_signer_words signer_words = {.keys = &options.cache_keys,
                                                    .least_serial =
                                                        options.cache_least_serial,
                                                    .key_option = "--cache-key",
                                                    .serial_option = "--cache-least-serial",
                                                    .has_environment = true};
    code = cache_read_signers(&signer_words, &signers);
    if (code == CLI_OK) {
        code = cache_tool_open_bundle(argv[1], &signers, &bundle);
    }
    if (code == CLI_OK) {
        code = import_bundle(bundle, argv[1], options.cache_dir, json);
    }
    jg_cache_close(bundle);
    return code;
}
