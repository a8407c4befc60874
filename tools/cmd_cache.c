/* SPDX-License-Identifier: MIT */
/* jit-gemm cache: what its subcommands share, verify and gc; the others have files of their
 * own. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache_tool.h"
#include "compile/stored.h"

int cache_tool_open(const char *folder, bool read_only, jg_cache **ret_cache)
{
    char path[PATH_MAX + 8], reason[512];
    jg_cache_options options = {.environment = getenv("JIT_GEMM_CACHE_DIR"),
                                .read_only = read_only};

    if (folder != NULL) {
        if (cli_absolute_path("--cache", folder, path, sizeof(path)) != CLI_OK) {
            return CLI_FAILED;
        }
        options.folder = path;
    }
    reason[0] = '\0';
    jg_cache_result result = jg_cache_open(&options, ret_cache, reason, sizeof(reason));
    if (result != JG_CACHE_OK) {
        return cli_error("the cache folder cannot be used (%s): %s",
                         jg_cache_result_name(result), reason);
    }
    return CLI_OK;
}

int cache_tool_open_bundle(const char *path, const struct cache_signers *signers,
                           jg_cache **ret_bundle)
{
    char absolute[PATH_MAX + 8], reason[512] = "";
    jg_cache_options options = {.folder = absolute, .read_only = true};
    jg_cache *bundle = NULL;

    if (signers != NULL) {
        options.keys = (const jg_cache_public_key *)signers->keys;
        options.key_count = signers->count;
        options.least_serial = signers->least_serial;
    }
    if (cli_absolute_path("the bundle", path, absolute, sizeof(absolute)) != CLI_OK) {
        return CLI_FAILED;
    }
    const jg_cache_result result = jg_cache_open(&options, &bundle, reason, sizeof(reason));
    if (result != JG_CACHE_OK) {
        return cli_error("%s cannot be used as a bundle (%s): %s", path,
                         jg_cache_result_name(result), reason);
    }
    if (!jg_cache_is_bundle(bundle)) {
        jg_cache_close(bundle);
        return cli_error("%s is a folder and no bundle: name it with --cache", path);
    }
    *ret_bundle = bundle;
    return CLI_OK;
}

void cache_key_print(const jg_cache_name *name, char ret_text[CACHE_KEY_SIZE])
{
    for (size_t i = 0; i < sizeof(name->bytes); i++) {
        snprintf(ret_text + 2 * i, 3, "%02x", name->bytes[i]);
    }
}

void cache_entry_value(const jg_cache_entry *entry, const char *key, char *buffer,
                       size_t size)
{
    if (!jg_metadata_get(entry->metadata, entry->metadata_size, key, buffer, size)) {
        buffer[0] = '\0';
    }
}

bool cache_entry_is_kernel(const jg_cache_entry *entry)
{
    char problem[8];

    cache_entry_value(entry, "problem", problem, sizeof(problem));
    return problem[0] != '\0';
}

/* --------------------------------------------------------------------- verify and gc */

struct check {
    uint64_t good, bad;
    bool remove;
    struct cli_json *json; /* NULL: lines of text */
};

const char *cache_find_fault(const jg_cache_entry *entry, char buffer[CACHE_FAULT_SIZE])
{
    const char *wrong = entry->state == JG_CACHE_OK
                            ? jg_stored_check(entry->material, entry->material_size,
                                              entry->payload, entry->payload_size)
                            : NULL;

    if (entry->state == JG_CACHE_OK && wrong == NULL) {
        return NULL;
    }
    snprintf(buffer, CACHE_FAULT_SIZE, "%s%s", wrong != NULL ? "bad code: " : "",
             wrong != NULL ? wrong : jg_cache_result_name(entry->state));
    return buffer;
}

bool cache_check_entry(const jg_cache_entry *entry, FILE *file)
{
    char key[CACHE_KEY_SIZE], buffer[CACHE_FAULT_SIZE];
    const char *fault = cache_find_fault(entry, buffer);

    if (fault != NULL) {
        cache_key_print(&entry->name, key);
        fprintf(file, "%s %s\n", key, fault);
    }
    return fault == NULL;
}

static int check_entry(void *user, const jg_cache_entry *entry)
{
    struct check *check = user;
    char key[CACHE_KEY_SIZE], buffer[CACHE_FAULT_SIZE];
    const char *fault = cache_find_fault(entry, buffer);

    if (fault == NULL) {
        check->good++;
        return 0;
    }
    check->bad++;
    cache_key_print(&entry->name, key);
    if (check->json != NULL) {
        cli_json_open_object(check->json, NULL);
        cli_json_add_text(check->json, "key", key);
        cli_json_add_text(check->json, "fault", fault);
        cli_json_close_object(check->json);
    } else {
        printf("%s %s%s\n", key, fault, check->remove ? ", removed" : "");
    }
    return check->remove;
}

static const struct cli_help verify_help = {
    "cache verify [FILE [--key PUBLIC]... [--least-serial N]] [--remove] [--json]\n"
    "       [--cache DIR]",
    "Reads every entry of the cache folder, or of a bundle, verifies its checksums, and looks\n"
    "at its code as a create does. Bad entries are named, and exit code 1 says that there\n"
    "were some. They do no harm: reading one is a miss. A signed bundle's key and serial\n"
    "number are printed; with --key they are demanded.\n",
    "  jit-gemm cache verify --remove\n  jit-gemm cache verify model.jgb\n"
    "  jit-gemm cache verify model.jgb --key release.pub --least-serial 7\n",
};

static void print_signature(const jg_cache *cache, struct cli_json *json)
{
    jg_cache_public_key key;
    uint64_t serial = 0;
    char text[JG_CACHE_KEY_TEXT_SIZE];
    const bool is_signed = jg_cache_signature(cache, &key, &serial);

    if (is_signed) {
        jg_cache_key_print(key.bytes, text);
    }
    if (json == NULL && is_signed) {
        printf("signature: serial=%" PRIu64 " key=%s\n", serial, text);
    } else if (json != NULL && is_signed) {
        cli_json_open_object(json, "signature");
        cli_json_add_uint(json, "serial", serial);
        cli_json_add_text(json, "key", text);
        cli_json_close_object(json);
    } else if (json != NULL) {
        cli_json_add_null(json, "signature");
    }
}

/* Looks at all entries, and says what came of it. */
static int verify_entries(jg_cache *cache, struct check *check)
{
    if (check->json != NULL) {
        cli_json_open_command(check->json, "cache verify");
        cli_json_add_text(check->json, "path", jg_cache_folder(cache));
    }
    print_signature(cache, check->json);
    if (check->json != NULL) {
        cli_json_open_list(check->json, "faults");
    }
    const jg_cache_result result = jg_cache_walk(cache, 1, check_entry, check);
    if (check->json != NULL) {
        cli_json_close_list(check->json);
        cli_json_add_uint(check->json, "good", check->good);
        cli_json_add_uint(check->json, "bad", check->bad);
        cli_json_add_bool(check->json, "removed", check->remove);
        cli_json_close_object(check->json);
    } else if (result == JG_CACHE_OK) {
        printf("verify: good=%" PRIu64 " bad=%" PRIu64 "\n", check->good, check->bad);
    }
    if (result != JG_CACHE_OK) {
        return cli_error("the folder cannot be read: %s", jg_cache_result_name(result));
    }
    return check->bad ? CLI_FAILED : CLI_OK;
}

static int cache_verify(int argc, char **argv)
{
    struct check check = {0};
    struct cli_json writer = {.file = stdout};
    bool json = false;
    struct cache_signers signers = {.count = 0};
    struct cli_list key_words = {.count = 0};
    int64_t least_serial = 0;
    const char *folder = NULL;
    const struct cli_option own[] = {
        {"--remove", NULL, "remove the bad entries", CLI_FLAG, &check.remove},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {"--key", "PUBLIC",
         "the bundle must be signed by this key, or another one\nthat is so named: 64 "
         "digits, or a file of them",
         CLI_LIST, &key_words},
        {"--least-serial", "N", "refuse a bundle with a lower serial number", CLI_INT,
         &least_serial},
        {"--cache", "DIR", "cache folder; default as everywhere", CLI_TEXT, &folder},
        {0},
    };
    const struct cli_option *groups[] = {own, NULL};
    jg_cache *cache = NULL;
    int words = 0, code = cli_parse(&verify_help, groups, argc, argv, &words);

    if (code >= 0) {
        return code;
    }
    if (words > 1) {
        return cli_usage_error(
            "cache verify: name one bundle, or none for the cache folder");
    }
    if (words == 1 && (check.remove || folder != NULL)) {
        return cli_usage_error("cache verify FILE only reads the bundle: leave out %s",
                               check.remove ? "--remove" : "--cache");
    }
    if (words == 0 && (key_words.count > 0 || least_serial > 0)) {
        return cli_usage_error("cache verify: only a bundle has a signature: name one");
    }
    const struct cache_signer_words signer_words = {.keys = &key_words,
                                                    .least_serial = least_serial,
                                                    .key_option = "--key",
                                                    .serial_option = "--least-serial"};
    code = cache_read_signers(&signer_words, &signers);
    if (code != CLI_OK) {
        return code;
    }
    code = words == 1 ? cache_tool_open_bundle(argv[1], &signers, &cache)
                      : cache_tool_open(folder, !check.remove, &cache);
    if (code != CLI_OK) {
        return code;
    }
    check.json = json ? &writer : NULL;
    code = verify_entries(cache, &check);
    jg_cache_close(cache);
    return code;
}

/* Seconds of "90", "90s", "15m", "12h" or "30d". */
static bool read_age(const char *text, int64_t *ret_seconds)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    char *end;
    long long value = strtoll(text, &end, 10);

    if (!isdigit((unsigned char)text[0]) || value < 0 || value > INT32_MAX) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (*end == units[i].letter && end[1] == '\0') {
            *ret_seconds = value * units[i].seconds;
            return true;
        }
    }
    *ret_seconds = value;
    return *end == '\0';
}

static const struct cli_help gc_help = {
    "cache gc [--max-bytes SIZE] [--max-age AGE] [--json] [--cache DIR]",
    "Removes the oldest entries until the folder fits, and what dead writers and damaged\n"
    "entries left behind. Files that are not the cache's own are never touched.\n",
    "  jit-gemm cache gc --max-bytes 512M --max-age 90d\n",
};

/* After a trim that could not do all that it was asked to. */
static int report_uncleaned(const jg_cache *cache, jg_cache_result result)
{
    const char *folder = jg_cache_folder(cache);

    return access(folder, W_OK) != 0
               ? cli_error("%s: this user may remove nothing there: %s; run it as the "
                           "folder's owner",
                           folder, strerror(errno))
               : cli_error("not all of %s could be looked at or removed: %s", folder,
                           jg_cache_result_name(result));
}

static int cache_gc(int argc, char **argv)
{
    const char *folder = NULL, *age_text = NULL;
    uint64_t max_bytes = 0, removed = 0, bytes = 0;
    int64_t max_age = 0;
    bool json = false;
    const struct cli_option own[] = {
        {"--max-bytes", "SIZE", "most bytes to keep, such as 512M; 0: no limit", CLI_BYTES,
         &max_bytes},
        {"--max-age", "AGE", "remove what is older: seconds, or such as 12h or 90d",
         CLI_TEXT, &age_text},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {"--cache", "DIR", "cache folder; default as everywhere", CLI_TEXT, &folder},
        {0},
    };
    const struct cli_option *groups[] = {own, NULL};
    jg_cache *cache = NULL;
    int code = cli_parse_options(&gc_help, groups, argc, argv);

    if (code >= 0) {
        return code;
    }
    if (age_text != NULL && !read_age(age_text, &max_age)) {
        return cli_usage_error("--max-age: `%s` is no age; write 90s, 15m, 12h or 30d",
                               age_text);
    }
    if (cache_tool_open(folder, false, &cache) != CLI_OK) {
        return CLI_FAILED;
    }
    const jg_cache_result result =
        jg_cache_trim(cache, max_bytes, max_age, &removed, &bytes);
    code = result == JG_CACHE_OK ? CLI_OK : report_uncleaned(cache, result);
    if (json) {
        struct cli_json writer = {.file = stdout};

        cli_json_open_command(&writer, "cache gc");
        cli_json_add_text(&writer, "folder", jg_cache_folder(cache));
        cli_json_add_uint(&writer, "removed", removed);
        cli_json_add_uint(&writer, "bytes", bytes);
        cli_json_add_bool(&writer, "whole", result == JG_CACHE_OK);
        cli_json_close_object(&writer);
    } else {
        printf("gc: removed=%" PRIu64 " bytes=%" PRIu64 "\n", removed, bytes);
    }
    jg_cache_close(cache);
    return code;
}

/* --------------------------------------------------------------------------- command */

static const struct cli_command subcommands[] = {
    {"ls", "list the kernels", cache_ls},
    {"stat", "say which folder is in use and what it holds", cache_stat},
    {"verify", "verify every entry's checksums and code", cache_verify},
    {"gc", "remove old entries and leftovers", cache_gc},
    {"export", "write kernels to a bundle: one file that others read", cache_export},
    {"keygen", "make a key pair to sign bundles with", cache_keygen},
    {"sign", "sign a bundle", cache_sign},
    {"import", "put the kernels of a bundle into the cache folder", cache_import},
    {"explain", "say which entry a problem maps to, or what an entry holds", cache_explain},
};

int cmd_cache(int argc, char **argv)
{
    static const struct cli_family family = {
        .name = "cache",
        .about = "Looks after the disk cache of compiled kernels.\n",
        .commands = subcommands,
        .count = sizeof(subcommands) / sizeof(subcommands[0]),
        .closing = "examples:\n  jit-gemm cache stat\n"
                   "  jit-gemm cache explain 4096x4096x4096 bf16 --arch sm_90a\n",
    };

    return cli_run_family(&family, argc, argv);
}
