/* SPDX-License-Identifier: MIT */
/* jit-gemm doctor: what this machine has, and what will work. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "jit_gemm/device.h"

enum { PATH_BYTES = PATH_MAX + 8 };

static const struct cli_help doctor_help = {
    "doctor [--device gpu|emulator] [OPTION...]",
    "Describes driver, GPU, compiler, cache roots, the cache folder and their trust, and the\n"
    "emulator, and says what will work here. Exit code 0 if problems can be created and run on the GPU\n"
    "(with --device emulator: on the emulator), 1 if not.\n",
    "  jit-gemm doctor\n  jit-gemm doctor --json\n  jit-gemm doctor --device emulator\n",
};

/* What was found out of one device. */
struct finding {
    jit_gemm_context *context; /* may be there without a usable device */
    jit_gemm_status status;    /* of a create */
    char *text;                /* a line each */
};

/* Opens the device if there is one; otherwise a context that can plan and build. */
static int look_at_device(const struct cli_context_options *options,
                          struct finding *ret_finding)
{
    jit_gemm_context_options settings = {
        .struct_size = sizeof(settings),
        .arch = options->arch,
        .plan_for = options->plan_for,
        .driver = options->driver,
        .nvrtc = options->nvrtc,
        .no_cache = options->no_cache,
        .cache_dir = options->cache_dir,
        .cache_roots = options->cache_roots.count > 0 ? options->cache_roots.items : NULL,
        .cache_root_count = options->cache_roots.count,
        .capsule_dir = options->capsule_dir,
    };

    cli_keys keys;
    const int code = cli_set_cache_keys(options, keys, &settings);
    if (code != CLI_OK) {
        return code;
    }
    if (strcmp(options->device, CLI_EMULATOR) == 0) {
        settings.driver = CLI_EMULATOR;
    }
    jit_gemm_status status = jit_gemm_context_create(&settings, &ret_finding->context);
    if (status != JIT_GEMM_OK && !settings.arch) {
        settings.arch = CLI_ANY_ARCH;
        status = jit_gemm_context_create(&settings, &ret_finding->context);
    }
    if (status != JIT_GEMM_OK) {
        return cli_report(status, NULL, options->verbose);
    }
    ret_finding->status = cli_describe(ret_finding->context, &ret_finding->text);
    return CLI_OK;
}

/* The lines on driver and device, as lines on the emulator; owned by the caller. */
static char *make_emulator_text(const struct finding *finding)
{
    size_t size = strlen(finding->text) + 1, used = 0;
    char *text = cli_alloc(2 * size);

    for (const char *line = finding->text; *line;) {
        size_t length = strcspn(line, "\n");

        if (strncmp(line, "driver: ", 8) == 0 || strncmp(line, "device: ", 8) == 0) {
            used += (size_t)snprintf(text + used, 2 * size - used, "emulator: %.*s\n",
                                     (int)length - 8, line + 8);
        }
        line += length + (line[length] != '\0');
    }
    text[used] = '\0';
    return text;
}

/* ------------------------------------------------------------------------------- JSON */

static void add_fact(struct cli_json *json, const char *text, const char *name,
                     const char *field)
{
    char *value = cli_copy_fact(&text, name);

    cli_json_add_text(json, field, value);
    free(value);
}

/* "nvrtc 13.0 ... (/path)": what is usable begins with the library's name. */
static void add_library(struct cli_json *json, const char *text, const char *fact,
                        const char *word)
{
    char *value = cli_copy_fact(&text, fact);
    const bool is_usable = value != NULL && strncmp(value, word, strlen(word)) == 0;

    cli_json_open_object(json, fact);
    cli_json_add_bool(json, "usable", is_usable);
    if (is_usable) {
        const char *version = value + strlen(word), *path = strstr(value, "(/");

        cli_json_add_bytes(json, "version", version, strcspn(version, " "));
        if (path != NULL) {
            cli_json_add_bytes(json, "path", path + 1, strcspn(path + 1, ")"));
        } else {
            cli_json_add_null(json, "path");
        }
        cli_json_add_text(json, "text", value);
    } else {
        cli_json_add_text(json, "reason", value != NULL ? value : "");
    }
    cli_json_close_object(json);
    free(value);
}

/* "/folder, trusted: why", or "none: why" */
static void add_cache(struct cli_json *json, const char *text)
{
    char *value = cli_copy_fact(&text, "cache");
    const bool is_usable = value != NULL && value[0] == '/';

    cli_json_open_object(json, "cache");
    cli_json_add_bool(json, "usable", is_usable);
    if (is_usable) {
        const char *end = strstr(value, ", trusted");

        cli_json_add_bytes(json, "folder", value,
                           end != NULL ? (size_t)(end - value) : strlen(value));
    } else {
        cli_json_add_text(json, "reason", value != NULL ? value : "");
    }
    cli_json_close_object(json);
    free(value);
}

/* "cache root 1: /path, read-only, ...", or ", not used: why" */
static void add_roots(struct cli_json *json, const char *text)
{
    char name[32];

    cli_json_open_list(json, "cache_roots");
    for (unsigned number = 1;; number++) {
        snprintf(name, sizeof(name), "cache root %u", number);
        char *value = cli_copy_fact(&text, name);

        if (value == NULL) {
            break;
        }
        cli_json_open_object(json, NULL);
        cli_json_add_uint(json, "number", number);
        cli_json_add_bool(json, "used", strstr(value, ", not used: ") == NULL);
        cli_json_add_text(json, "text", value);
        cli_json_close_object(json);
        free(value);
    }
    cli_json_close_list(json);
}

static void add_device(struct cli_json *json, const struct finding *finding)
{
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    char version[32];

    if (jit_gemm_device_get_info(finding->context, &info) != JIT_GEMM_OK) {
        cli_json_add_null(json, "device");
        cli_json_add_text(json, "device_error", jit_gemm_last_error());
        return;
    }
    cli_json_open_object(json, "device");
    cli_json_add_int(json, "ordinal", info.ordinal);
    cli_json_add_text(json, "name", info.name);
    snprintf(version, sizeof(version), "%d.%d", info.cc_major, info.cc_minor);
    cli_json_add_text(json, "compute_capability", version);
    cli_json_add_int(json, "multiprocessors", info.sm_count);
    cli_json_add_int(json, "memory_bytes", info.memory_bytes);
    cli_json_add_int(json, "l2_bytes", info.l2_bytes);
    cli_json_add_int(json, "smem_bytes", info.smem_optin_bytes);
    snprintf(version, sizeof(version), "%d.%d", info.driver_version / 1000,
             info.driver_version % 1000 / 10);
    cli_json_add_text(json, "cuda", version);
    cli_json_add_bool(json, "is_emulated", info.is_emulated);
    cli_json_close_object(json);
}

static void print_json(const struct finding *own, const struct finding *emulator,
                       const char *emulator_text)
{
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "doctor");
    cli_json_add_text(&json, "version", jit_gemm_version_string());
    cli_json_add_text(&json, "arch", jit_gemm_context_arch(own->context));
    cli_json_add_bool(&json, "can_run", own->status == JIT_GEMM_OK);
    cli_json_add_text(&json, "status", jit_gemm_status_name(own->status));
    add_fact(&json, own->text, "driver", "driver");
    add_device(&json, own);
    add_library(&json, own->text, "compiler", "nvrtc ");
    add_library(&json, own->text, "linker", "nvjitlink ");
    add_cache(&json, own->text);
    add_roots(&json, own->text);
    add_fact(&json, own->text, "cache roots must be signed by", "cache_keys");
    add_fact(&json, own->text, "capsules", "capsules");
    add_fact(&json, own->text, "compiling", "compiling");
    cli_json_add_text(&json, "description", own->text);
    cli_json_open_object(&json, "emulator");
    cli_json_add_bool(&json, "can_run", emulator->status == JIT_GEMM_OK);
    add_device(&json, emulator);
    cli_json_add_text(&json, "description", emulator_text);
    cli_json_close_object(&json);
    cli_json_close_object(&json);
}

/* "name: fact" each. */
static void print_lines(const char *text)
{
    while (*text != '\0') {
        const size_t size = strcspn(text, "\n"), name = strcspn(text, ":\n");

        printf("%s%.*s%s", cli_tone(stdout, CLI_TONE_HEAD), (int)name, text,
               cli_tone(stdout, CLI_TONE_END));
        cli_print_line(stdout, text + name, size - name, name, 4);
        text += size + (text[size] != '\0');
    }
}

static void print_text(const struct finding *own, const struct finding *emulator,
                       const char *emulator_text)
{
    printf("jit-gemm %s\n", jit_gemm_version_string());
    print_lines(own->text);
    print_lines(emulator_text);
    if (own->status == JIT_GEMM_OK) {
        printf("%severything that creating and running a problem needs is here%s\n",
               cli_tone(stdout, CLI_TONE_GOOD), cli_tone(stdout, CLI_TONE_END));
        return;
    }
    printf("%sproblems cannot be run here:%s %s\n", cli_tone(stdout, CLI_TONE_BAD),
           cli_tone(stdout, CLI_TONE_END), jit_gemm_status_text(own->status));
    if (emulator->status == JIT_GEMM_OK) {
        puts("on the emulator they can: jit-gemm run PROBLEM --device emulator");
    }
}

/* Puts the current folder before relative paths: the list owns all its paths then. */
static int own_absolute_paths(struct cli_list *paths)
{
    int code = CLI_OK;

    for (size_t i = 0; i < paths->count; i++) {
        char *path = cli_alloc(PATH_BYTES);

        path[0] = '\0';
        if (code == CLI_OK) {
            code = cli_absolute_path("--cache-root", paths->items[i], path, PATH_BYTES);
        }
        paths->items[i] = path;
    }
    return code;
}

static void free_paths(const struct cli_list *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        free((char *)paths->items[i]);
    }
}

int cmd_doctor(int argc, char **argv)
{
    struct cli_context_options options = {0}, emulator_options;
    struct finding own = {0}, emulator = {0};
    bool json = false;
    const struct cli_option rows[] = {
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    struct cli_option context_table[CLI_CONTEXT_OPTION_COUNT];
    const struct cli_option *groups[] = {rows, context_table, NULL};
    char *emulator_text, capsules[PATH_BYTES];
    cli_context_table(&options, true, context_table);
    int code = cli_parse_options(&doctor_help, groups, argc, argv);
    if (code >= 0) {
        return code;
    }
    code = own_absolute_paths(&options.cache_roots);
    if (code == CLI_OK && options.capsule_dir != NULL) {
        code = cli_absolute_path("--capsule", options.capsule_dir, capsules, PATH_BYTES);
        options.capsule_dir = capsules;
    }
    if (code == CLI_OK) {
        code = cli_check_device(&options);
    }
    if (code == CLI_OK) {
        code = look_at_device(&options, &own);
    }
    if (code == CLI_OK) {
        emulator_options = options;
        emulator_options.device = CLI_EMULATOR;
        code = look_at_device(&emulator_options, &emulator);
    }
    if (code == CLI_OK) {
        emulator_text = make_emulator_text(&emulator);
        if (json) {
            print_json(&own, &emulator, emulator_text);
        } else {
            print_text(&own, &emulator, emulator_text);
        }
        free(emulator_text);
        code = own.status == JIT_GEMM_OK ? CLI_OK : CLI_FAILED;
    }
    free_paths(&options.cache_roots);
    free(own.text);
    free(emulator.text);
    jit_gemm_context_destroy(&own.context);
    jit_gemm_context_destroy(&emulator.context);
    return code;
}
