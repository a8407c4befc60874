/* SPDX-License-Identifier: MIT */
/* jit-gemm cache ls and stat: which kernels there are, and what they come to. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache_tool.h"

enum { VALUE_SIZE = 1024 };

static void print_time(int64_t seconds, char *buffer, size_t size)
{
    time_t when = (time_t)seconds;
    struct tm parts;

    if (!gmtime_r(&when, &parts) || !strftime(buffer, size, "%Y-%m-%dT%H:%M:%SZ", &parts)) {
        snprintf(buffer, size, "?");
    }
}

/* Of the kernels of one architecture and kind. */
struct share {
    char name[32];
    uint64_t kernels, bytes;
};

enum { MOST_SHARES = 16 };

struct totals {
    uint64_t entries, kernels, bytes, bad;
    int64_t oldest, newest;
    struct share shares[MOST_SHARES];
    size_t share_count;
};

struct row;

struct listing {
    struct totals totals;
    bool is_json, all;
    struct cli_json json;
    struct row *rows;
    size_t count, room;
};

/* "sm_90a", or "sm_90a/ptx" where it stands beside the cubin of the same problem. */
static void print_target(const jg_cache_entry *entry, char *buffer, size_t size)
{
    char kind[16];

    cache_entry_value(entry, "kind", kind, sizeof(kind));
    cache_entry_value(entry, "arch", buffer, size);
    if (strcmp(kind, "ptx") == 0) {
        snprintf(buffer + strlen(buffer), size - strlen(buffer), "/ptx");
    }
}

static void add_to_share(struct totals *totals, const jg_cache_entry *entry)
{
    char name[sizeof(totals->shares[0].name)];
    size_t i = 0;

    print_target(entry, name, sizeof(name));
    while (i < totals->share_count && strcmp(totals->shares[i].name, name) != 0) {
        i++;
    }
    if (i == MOST_SHARES) {
        return; /* there are fewer architectures */
    }
    if (i == totals->share_count) {
        memcpy(totals->shares[i].name, name, sizeof(name));
        totals->share_count++;
    }
    totals->shares[i].kernels++;
    totals->shares[i].bytes += entry->file_bytes;
}

static void add_to_totals(struct totals *totals, const jg_cache_entry *entry)
{
    if (totals->entries == 0 || entry->modified < totals->oldest) {
        totals->oldest = entry->modified;
    }
    if (totals->entries == 0 || entry->modified > totals->newest) {
        totals->newest = entry->modified;
    }
    totals->entries++;
    totals->bytes += entry->file_bytes;
    if (cache_entry_is_kernel(entry)) {
        totals->kernels++;
        add_to_share(totals, entry);
    }
    totals->bad += entry->state != JG_CACHE_OK ? 1u : 0u;
}

void cache_add_entry(struct cli_json *json, const jg_cache_entry *entry)
{
    const char *at = entry->metadata != NULL ? entry->metadata : "";
    const char *end = at + (entry->metadata != NULL ? entry->metadata_size : 0);
    char key[CACHE_KEY_SIZE], when[32], name[VALUE_SIZE];

    cache_key_print(&entry->name, key);
    print_time(entry->modified, when, sizeof(when));
    cli_json_open_object(json, NULL);
    cli_json_add_text(json, "key", key);
    cli_json_add_text(json, "state", jg_cache_result_name(entry->state));
    cli_json_add_uint(json, "file_bytes", entry->file_bytes);
    cli_json_add_uint(json, "payload_bytes", entry->payload_size);
    cli_json_add_text(json, "modified", when);
    cli_json_open_object(json, "record");
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((line_end != NULL ? line_end : end) - at);
        const char *equals = memchr(at, '=', length);

        if (equals != NULL && (size_t)(equals - at) < sizeof(name)) {
            snprintf(name, sizeof(name), "%.*s", (int)(equals - at), at);
            cli_json_add_bytes(json, name, equals + 1, length - (size_t)(equals + 1 - at));
        }
        at += length + 1;
    }
    cli_json_close_object(json);
    cli_json_close_object(json);
}

/* A line of the table: sorted by what it is of. */
struct row {
    char key[CACHE_KEY_SIZE], when[32], target[32], problem[VALUE_SIZE];
    uint64_t bytes;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    const int problems = strcmp(left->problem, right->problem);
    const int targets = strcmp(left->target, right->target);

    return problems != 0  ? problems
           : targets != 0 ? targets
                          : strcmp(left->key, right->key);
}

static void add_row(struct listing *listing, const jg_cache_entry *entry)
{
    const bool is_kernel = cache_entry_is_kernel(entry);

    if (listing->count == listing->room) {
        const size_t room = listing->room > 0 ? 2 * listing->room : 64;
        struct row *rows = cli_alloc(room * sizeof(*rows));

        if (listing->count > 0) {
            memcpy(rows, listing->rows, listing->count * sizeof(*rows));
        }
        free(listing->rows);
        listing->rows = rows;
        listing->room = room;
    }
    struct row *row = &listing->rows[listing->count++];
    cache_key_print(&entry->name, row->key);
    print_time(entry->modified, row->when, sizeof(row->when));
    print_target(entry, row->target, sizeof(row->target));
    cache_entry_value(entry, is_kernel ? "problem" : "kind", row->problem,
                      sizeof(row->problem));
    if (entry->state != JG_CACHE_OK) {
        snprintf(row->problem, sizeof(row->problem), "%s",
                 jg_cache_result_name(entry->state));
    }
    row->bytes = entry->file_bytes;
}

/* Scripts read a line for each entry: the head is for people. */
static void print_rows(const struct listing *listing)
{
    const int width = cli_is_terminal(stdout) ? 11 : 7;

    if (listing->count > 0 && cli_is_terminal(stdout)) {
        printf("%s%-32s %9s %-20s %-11s problem%s\n", cli_tone(stdout, CLI_TONE_HEAD),
               "key", "bytes", "made (UTC)", "for", cli_tone(stdout, CLI_TONE_END));
    }
    for (size_t i = 0; i < listing->count; i++) {
        const struct row *row = &listing->rows[i];
        const int column = printf("%s %9" PRIu64 " %s %-*s ", row->key, row->bytes,
                                  row->when, width, row->target);

        cli_print_line(stdout, row->problem, strlen(row->problem), (size_t)column, 4);
    }
}

static int list_entry(void *user, const jg_cache_entry *entry)
{
    struct listing *listing = user;

    if (entry->state == JG_CACHE_OK && !listing->all && !cache_entry_is_kernel(entry)) {
        return 0;
    }
    add_to_totals(&listing->totals, entry);
    if (listing->is_json) {
        cache_add_entry(&listing->json, entry);
    } else {
        add_row(listing, entry);
    }
    return 0;
}

static const struct cli_help ls_help = {
    "cache ls [--all] [--json] [--cache DIR]",
    "Lists the kernels of the cache, sorted by problem: key, bytes, time of creation (UTC),\n"
    "architecture (with /ptx if it is PTX for the emulator), problem.\n"
    "Entries whose header is damaged are listed with the reason.\n",
    "  jit-gemm cache ls\n  jit-gemm cache ls --json --cache /srv/model/kernels\n",
};

int cache_ls(int argc, char **argv)
{
    struct listing listing = {.json = {.file = stdout}};
    const char *folder = NULL;
    const struct cli_option own[] = {
        {"--all", NULL, "also the library's own small records", CLI_FLAG, &listing.all},
        {"--json", NULL, "print a JSON array", CLI_FLAG, &listing.is_json},
        {"--cache", "DIR", "cache folder; default as everywhere", CLI_TEXT, &folder},
        {0},
    };
    const struct cli_option *groups[] = {own, NULL};
    jg_cache *cache = NULL;
    const int code = cli_parse_options(&ls_help, groups, argc, argv);

    if (code >= 0) {
        return code;
    }
    if (cache_tool_open(folder, true, &cache) != CLI_OK) {
        return CLI_FAILED;
    }
    if (listing.is_json) {
        cli_json_open_list(&listing.json, NULL);
    }
    jg_cache_result result = jg_cache_walk(cache, 0, list_entry, &listing);
    if (listing.is_json) {
        cli_json_close_list(&listing.json);
    } else if (result == JG_CACHE_OK) {
        if (listing.count > 0) {
            qsort(listing.rows, listing.count, sizeof(*listing.rows), compare_rows);
        }
        print_rows(&listing);
        cli_note("%" PRIu64 " entries, %" PRIu64 " bytes in %s", listing.totals.entries,
                 listing.totals.bytes, jg_cache_folder(cache));
    }
    free(listing.rows);
    jg_cache_close(cache);
    return result == JG_CACHE_OK
               ? CLI_OK
               : cli_error("the folder cannot be read: %s", jg_cache_result_name(result));
}

static const struct cli_help stat_help = {
    "cache stat [--json] [--cache DIR]",
    "Says which folder is in use, and what it holds: kernels of each architecture, and notes,\n"
    "which are small records on compilers that were found. Bytes are those of the files, as\n"
    "the limit counts them. Bad are entries whose head cannot be read; `cache verify` reads\n"
    "them whole. A hit sets an entry's time at most once an hour, so that the newest was used\n"
    "then, and the oldest goes first.\n",
    "  jit-gemm cache stat\n  jit-gemm cache stat --json --cache /srv/model/kernels\n",
};

static int count_entry(void *user, const jg_cache_entry *entry)
{
    add_to_totals(user, entry);
    return 0;
}

/* As a context would be limited that is told nothing else. */
static const char *find_limit(void)
{
    const char *limit = getenv("JIT_GEMM_CACHE_LIMIT");

    return limit != NULL && limit[0] != '\0' ? limit : "4g";
}

static void print_stat_json(const jg_cache *cache, const struct totals *totals,
                            const char *oldest, const char *newest)
{
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "cache stat");
    cli_json_add_text(&json, "folder", jg_cache_folder(cache));
    cli_json_add_uint(&json, "entries", totals->entries);
    cli_json_add_uint(&json, "kernels", totals->kernels);
    cli_json_add_uint(&json, "notes", totals->entries - totals->kernels - totals->bad);
    cli_json_add_uint(&json, "bytes", totals->bytes);
    cli_json_add_uint(&json, "bad", totals->bad);
    cli_json_open_object(&json, "targets");
    for (size_t i = 0; i < totals->share_count; i++) {
        const struct share *share = &totals->shares[i];

        cli_json_open_object(&json, share->name);
        cli_json_add_uint(&json, "kernels", share->kernels);
        cli_json_add_uint(&json, "bytes", share->bytes);
        cli_json_close_object(&json);
    }
    cli_json_close_object(&json);
    cli_json_add_text(&json, "limit", find_limit());
    cli_json_add_text(&json, "oldest", oldest);
    cli_json_add_text(&json, "newest", newest);
    cli_json_close_object(&json);
}

static void print_stat_text(const jg_cache *cache, const struct totals *totals,
                            const char *oldest, const char *newest)
{
    cli_print_fact("folder", 9, jg_cache_folder(cache));
    printf("entries  %" PRIu64 ", of these %" PRIu64 " kernels and %" PRIu64 " notes\n",
           totals->entries, totals->kernels,
           totals->entries - totals->kernels - totals->bad);
    for (size_t i = 0; i < totals->share_count; i++) {
        const struct share *share = &totals->shares[i];

        printf("         %-11s %" PRIu64 " kernels, %" PRIu64 " bytes\n", share->name,
               share->kernels, share->bytes);
    }
    printf("bytes    %" PRIu64 ", limit ", totals->bytes);
    cli_write_shown(stdout, find_limit(), strlen(find_limit()));
    printf("\nbad      %" PRIu64 "\noldest   %s\nnewest   %s\n", totals->bad, oldest,
           newest);
}

int cache_stat(int argc, char **argv)
{
    struct totals totals = {0};
    const char *folder = NULL;
    bool json = false;
    const struct cli_option own[] = {
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {"--cache", "DIR", "cache folder; default as everywhere", CLI_TEXT, &folder},
        {0},
    };
    const struct cli_option *groups[] = {own, NULL};
    jg_cache *cache = NULL;
    char oldest[32] = "", newest[32] = "";
    const int code = cli_parse_options(&stat_help, groups, argc, argv);

    if (code >= 0) {
        return code;
    }
    if (cache_tool_open(folder, true, &cache) != CLI_OK) {
        return CLI_FAILED;
    }
    jg_cache_result result = jg_cache_walk(cache, 0, count_entry, &totals);
    if (totals.entries) {
        print_time(totals.oldest, oldest, sizeof(oldest));
        print_time(totals.newest, newest, sizeof(newest));
    }
    if (result != JG_CACHE_OK) {
        cli_error("the folder cannot be read: %s", jg_cache_result_name(result));
    } else if (json) {
        print_stat_json(cache, &totals, oldest, newest);
    } else {
        print_stat_text(cache, &totals, oldest, newest);
    }
    jg_cache_close(cache);
    return result == JG_CACHE_OK ? CLI_OK : CLI_FAILED;
}
