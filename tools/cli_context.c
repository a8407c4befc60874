/* SPDX-License-Identifier: MIT */
/* Contexts: the options that every command shares. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "jg_cache.h"
#include "jit_gemm/device.h"
#include "jit_gemm/recipe.h"

enum { MOST_SECONDS = 1000000 };

void cli_signer_table(struct cli_context_options *options,
                      struct cli_option ret_table[CLI_SIGNER_OPTION_COUNT])
{
    ret_table[0] = (struct cli_option){
        "--cache-key", "PUBLIC",
        "a root must be a bundle signed by this key, or another\none that is so named: 64 "
        "digits, or a file of them;\ndefault: JIT_GEMM_CACHE_KEYS",
        CLI_LIST, &options->cache_keys};
    ret_table[1] =
        (struct cli_option){"--cache-least-serial", "N",
                            "refuse such a bundle with a lower serial number;\ndefault: "
                            "JIT_GEMM_CACHE_LEAST_SERIAL",
                            CLI_INT, &options->cache_least_serial};
}

void cli_context_table(struct cli_context_options *options, bool with_device,
                       struct cli_option ret_table[CLI_CONTEXT_OPTION_COUNT])
{
    size_t count = 0;

    if (with_device) {
        options->device = "auto";
        ret_table[count++] = (struct cli_option){
            "--device", "auto|gpu|emulator",
            "the GPU; the emulator, which executes the kernels'\nPTX on the CPU; or, by "
            "default, the first of the two\nthat is there",
            CLI_CHOICE, &options->device};
    }
    ret_table[count++] =
        (struct cli_option){"--arch", "ARCH",
                            "architecture, such as sm_100a (`doctor` lists all);\n"
                            "default: JIT_GEMM_ARCH, then the device's",
                            CLI_TEXT, &options->arch};
    ret_table[count++] = (struct cli_option){
        "--plan-for", "DEVICE",
        "choose configs for h100, h200, b200 or b300, or for the words\nthat `doctor` "
        "prints on a device behind `plan for`;\ndefault: JIT_GEMM_PLAN_FOR, then the "
        "device here",
        CLI_TEXT, &options->plan_for};
    if (with_device) {
        ret_table[count++] = (struct cli_option){
            "--driver", "PATH", "CUDA driver library to open", CLI_TEXT, &options->driver};
    }
    ret_table[count++] = (struct cli_option){"--nvrtc", "PATH", "NVRTC library to open",
                                             CLI_TEXT, &options->nvrtc};
    ret_table[count++] = (struct cli_option){
        "--cache", "DIR", "cache folder; default: JIT_GEMM_CACHE_DIR,\nthen the user's",
        CLI_TEXT, &options->cache_dir};
    ret_table[count++] = (struct cli_option){
        "--cache-root", "PATH",
        "cache folder or bundle that is only read, before the\n"
        "cache folder; may be given again; default:\nJIT_GEMM_CACHE_ROOTS",
        CLI_LIST, &options->cache_roots};
    cli_signer_table(options, ret_table + count);
    count += CLI_SIGNER_OPTION_COUNT;
    ret_table[count++] =
        (struct cli_option){"--no-cache", NULL, "neither read nor write a cache folder",
                            CLI_FLAG, &options->no_cache};
    ret_table[count++] = (struct cli_option){
        "--capsule", "DIR",
        "folder where a failing compile, load or launch\nleaves a capsule; default: "
        "JIT_GEMM_CAPSULES, then none",
        CLI_TEXT, &options->capsule_dir};
    ret_table[count++] =
        (struct cli_option){"--compile-limit", "SECONDS", "most time of one compile; 120",
                            CLI_INT, &options->compile_limit_s};
    ret_table[count++] = (struct cli_option){
        "--nvtx", NULL,
        "NVTX ranges around creates, compiles, loads and runs;\ndefault: JIT_GEMM_NVTX, "
        "then none",
        CLI_FLAG, &options->nvtx};
    ret_table[count++] = (struct cli_option){
        "--verbose", NULL, "say what the library does, and show compiler logs", CLI_FLAG,
        &options->verbose};
    ret_table[count] = (struct cli_option){0};
}

int cli_absolute_path(const char *option, const char *path, char *buffer, size_t size)
{
    char here[PATH_MAX];
    int used;

    if (path[0] == '/') {
        used = snprintf(buffer, size, "%s", path);
    } else {
        if (!getcwd(here, sizeof(here))) {
            return cli_error("the current folder: %s", strerror(errno));
        }
        used = snprintf(buffer, size, "%s/%s", here, path);
    }
    if (used < 0 || (size_t)used >= size) {
        return cli_error("%s: the path is too long", option);
    }
    return CLI_OK;
}

/* ---------------------------------------------------------------------------- keys */

static int read_public_key(const char *word, uint8_t ret_bytes[32])
{
    size_t size = 0;
    if (jg_cache_key_read(word, strlen(word), ret_bytes)) {
        return CLI_OK;
    }
    char *text = cli_read_file(word, &size);
    if (text == NULL) {
        return CLI_FAILED;
    }
    const size_t length = strcspn(text, "\n");
    const bool is_key = length + 1 == size && jg_cache_key_read(text, length, ret_bytes);
    explicit_bzero(text, size); /* it may be a secret one, by mistake */
    free(text);
    return is_key
               ? CLI_OK
               : cli_error("%s holds no public key: 64 hexadecimal digits and a newline, "
                           "as in NAME.pub of `jit-gemm cache keygen -o NAME`",
                           word);
}

int cli_read_public_keys(const struct cli_list *words, cli_keys keys)
{
    for (size_t i = 0; i < words->count; i++) {
        if (read_public_key(words->items[i], keys[i]) != CLI_OK) {
            return CLI_FAILED;
        }
    }
    return CLI_OK;
}

int cli_set_cache_keys(const struct cli_context_options *options, cli_keys keys,
                       jit_gemm_context_options *settings)
{
    if (cli_read_public_keys(&options->cache_keys, keys) != CLI_OK) {
        return CLI_FAILED;
    }
    if (options->cache_keys.count > 0) {
        settings->cache_keys = keys[0];
        settings->cache_key_count = options->cache_keys.count;
    }
    settings->cache_least_serial = (uint64_t)options->cache_least_serial;
    return CLI_OK;
}

/* ------------------------------------------------------------------------- opening */

int cli_check_device(const struct cli_context_options *options)
{
    const bool is_emulator =
        options->device != NULL && strcmp(options->device, CLI_EMULATOR) == 0;

    if (is_emulator && options->driver != NULL) {
        return cli_usage_error("--device emulator and --driver exclude each other");
    }
    return CLI_OK;
}

static bool is_driver_named(const struct cli_context_options *options)
{
    const char *variable = getenv("JIT_GEMM_DRIVER");

    return options->driver != NULL || (variable != NULL && variable[0]);
}

/* Where no emulator can take the GPU's place. */
static int report_no_device(jit_gemm_status status,
                            const struct cli_context_options *options)
{
    const int code = cli_report(status, NULL, options->verbose);

    if (status == JIT_GEMM_ERR_NO_DRIVER) {
        fputs(
            "    `jit-gemm doctor` lists the architectures that this version has kernels "
            "for.\n    Without a GPU `--device emulator` executes them on the CPU; `build`, "
            "`plan` and\n    `prewarm` need neither, for instance with `--arch sm_100a`.\n",
            stderr);
    }
    return code;
}

/* A context whose device is there and has kernels. */
static jit_gemm_status open_with_device(const jit_gemm_context_options *settings,
                                        jit_gemm_device_info *ret_info,
                                        jit_gemm_context **ret_context)
{
    jit_gemm_context *context = NULL;
    jit_gemm_status status = jit_gemm_context_create(settings, &context);

    if (status == JIT_GEMM_OK) {
        ret_info->struct_size = sizeof(*ret_info);
        status = jit_gemm_device_get_info(context, ret_info);
    }
    if (status != JIT_GEMM_OK) {
        jit_gemm_context_destroy(&context);
        return status;
    }
    *ret_context = context;
    return JIT_GEMM_OK;
}

/* Could another driver do better? */
static bool is_for_lack_of_gpu(jit_gemm_status status)
{
    return status == JIT_GEMM_ERR_NO_DRIVER || status == JIT_GEMM_ERR_DEVICE ||
           status == JIT_GEMM_ERR_UNSUPPORTED;
}

/* After a GPU failed with `status`: its reason is still the thread's last error. */
static int open_emulator_instead(jit_gemm_context_options *settings, jit_gemm_status status,
                                 const struct cli_context_options *options,
                                 jit_gemm_context **ret_context)
{
    jit_gemm_device_info info;
    size_t size = strlen(jit_gemm_last_error()) + 1;
    char *reason = cli_alloc(size);
    int code = CLI_OK;

    memcpy(reason, jit_gemm_last_error(), size);
    settings->driver = CLI_EMULATOR;
    if (open_with_device(settings, &info, ret_context) == JIT_GEMM_OK) {
        /* Where a driver was looked for is long, and of no use to most: doctor tells it. */
        cli_note("device auto: the emulator, %s, because no GPU can be used: %s", info.name,
                 status == JIT_GEMM_ERR_NO_DRIVER ? jit_gemm_status_text(status) : reason);
    } else {
        if (strcmp(reason, jit_gemm_last_error()) != 0) {
            cli_error("%s", reason);
        }
        code = report_no_device(status, options);
    }
    free(reason);
    return code;
}

static int open_chosen_device(jit_gemm_context_options *settings,
                              const struct cli_context_options *options,
                              jit_gemm_context **ret_context)
{
    jit_gemm_device_info info;
    bool is_auto = strcmp(options->device, "auto") == 0;
    jit_gemm_status status = open_with_device(settings, &info, ret_context);

    if (status != JIT_GEMM_OK) {
        return is_auto && is_for_lack_of_gpu(status) && !is_driver_named(options)
                   ? open_emulator_instead(settings, status, options, ret_context)
                   : report_no_device(status, options);
    }
    if (strcmp(options->device, "gpu") == 0 && info.is_emulated) {
        jit_gemm_context_destroy(ret_context);
        return cli_error("--device gpu: %s of the named driver is emulated", info.name);
    }
    if (is_auto) {
        cli_note("device auto: %s, %s", info.name,
                 is_driver_named(options) ? "of the driver that was named"
                                          : "a GPU that this version has kernels for");
    }
    return CLI_OK;
}

/* The roots that were named take the place of those of the environment. */
static int add_cache_roots(const struct cli_context_options *options,
                           jit_gemm_context *context)
{
    for (size_t i = 0; i < options->cache_roots.count; i++) {
        char path[PATH_MAX + 8];

        if (cli_absolute_path("--cache-root", options->cache_roots.items[i], path,
                              sizeof(path)) != CLI_OK) {
            return CLI_FAILED;
        }
        const jit_gemm_status status = jit_gemm_context_add_cache_root(context, path);
        if (status != JIT_GEMM_OK) {
            return cli_report(status, NULL, options->verbose);
        }
    }
    return CLI_OK;
}

static int open_context(const struct cli_context_options *options, bool needs_device,
                        jit_gemm_policy policy, jit_gemm_context **ret_context)
{
    static const char *const no_roots[1];
    cli_keys keys;
    char folder[PATH_MAX + 8], capsules[PATH_MAX + 8];
    static bool log_errors = true;
    const char *arch = options->arch ? options->arch : getenv("JIT_GEMM_ARCH");
    const char *plan_for =
        options->plan_for != NULL ? options->plan_for : getenv("JIT_GEMM_PLAN_FOR");
    bool is_device_planned = plan_for != NULL && plan_for[0];
    bool is_arch_named = (arch != NULL && arch[0]) || is_device_planned;
    bool is_device_named = options->device && strcmp(options->device, "auto") != 0;
    jit_gemm_context_options settings = {
        .struct_size = sizeof(settings),
        .arch = options->arch,
        .plan_for = is_device_planned ? plan_for : "here",
        .no_device = !needs_device && !is_device_named && is_arch_named,
        .driver = options->driver,
        .nvrtc = options->nvrtc,
        .no_cache = options->no_cache,
        .nvtx = options->nvtx ? JIT_GEMM_NVTX_ON : JIT_GEMM_NVTX_ENVIRONMENT,
        .policy = policy,
        .log = cli_log,
        .log_user = options->log_errors ? &log_errors : NULL,
        .log_level = options->verbose ? JIT_GEMM_SEVERITY_DEBUG : JIT_GEMM_SEVERITY_WARNING,
        .cache_roots = options->cache_roots.count > 0 ? no_roots : NULL,
    };

    if (cli_check_device(options) != CLI_OK) {
        return CLI_USAGE;
    }
    const int code = cli_set_cache_keys(options, keys, &settings);
    if (code != CLI_OK) {
        return code;
    }
    if (options->compile_limit_s > MOST_SECONDS) {
        return cli_usage_error("--compile-limit: at most %d seconds", MOST_SECONDS);
    }
    settings.compile_limit_ms = (uint32_t)options->compile_limit_s * 1000u;
    if (options->device && strcmp(options->device, CLI_EMULATOR) == 0) {
        settings.driver = CLI_EMULATOR;
    }
    if (options->cache_dir != NULL) {
        if (options->no_cache) {
            return cli_usage_error("--cache and --no-cache exclude each other");
        }
        if (cli_absolute_path("--cache", options->cache_dir, folder, sizeof(folder)) !=
            CLI_OK) {
            return CLI_FAILED;
        }
        settings.cache_dir = folder;
    }
    if (options->capsule_dir != NULL) {
        if (cli_absolute_path("--capsule", options->capsule_dir, capsules,
                              sizeof(capsules)) != CLI_OK) {
            return CLI_FAILED;
        }
        settings.capsule_dir = capsules;
    }
    if (options->device && !settings.no_device) {
        return open_chosen_device(&settings, options, ret_context);
    }
    jit_gemm_status status = jit_gemm_context_create(&settings, ret_context);
    if (!needs_device && !options->device && is_for_lack_of_gpu(status) &&
        !is_driver_named(options)) {
        return open_emulator_instead(&settings, status, options, ret_context);
    }
    return status == JIT_GEMM_OK ? CLI_OK : report_no_device(status, options);
}

int cli_context_open_gpu(const char *command, const struct cli_context_options *options,
                         jit_gemm_context **ret_context)
{
    struct cli_context_options settings = *options;
    int code = cli_check_device(&settings);

    if (code != CLI_OK) {
        return code;
    }
    if (strcmp(settings.device, CLI_EMULATOR) == 0) {
        return cli_usage_error("%s --device emulator: times of an emulated device say "
                               "nothing of a GPU; use `run --device emulator`",
                               command);
    }
    settings.device = NULL;
    if (settings.driver != NULL) { /* what measures opens it too */
        setenv("JIT_GEMM_DRIVER", settings.driver, 1);
    }
    return cli_context_open(&settings, true, JIT_GEMM_POLICY_ALLOW, ret_context);
}

static int load_recipe(const struct cli_context_options *options, jit_gemm_context *context)
{
    const jit_gemm_status status = jit_gemm_context_load_recipe(context, options->recipe);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, options->verbose);
}

int cli_context_open(const struct cli_context_options *options, bool needs_device,
                     jit_gemm_policy policy, jit_gemm_context **ret_context)
{
    jit_gemm_context *context = NULL;
    int code = open_context(options, needs_device, policy, &context);

    if (code == CLI_OK) {
        code = add_cache_roots(options, context);
    }
    if (code == CLI_OK && options->recipe != NULL) {
        code = load_recipe(options, context);
    }
    if (code != CLI_OK) {
        jit_gemm_context_destroy(&context);
        return code;
    }
    *ret_context = context;
    return CLI_OK;
}

jit_gemm_status cli_describe(jit_gemm_context *context, char **ret_text)
{
    size_t length = 0;

    (void)jit_gemm_context_describe(context, NULL, 0, &length);
    *ret_text = cli_alloc(length + 1);
    return jit_gemm_context_describe(context, *ret_text, length + 1, NULL);
}

char *cli_copy_fact(const char **at, const char *name)
{
    const size_t size = strlen(name);

    for (const char *line = *at; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        if (length > size && strncmp(line, name, size) == 0 && line[size] == ':') {
            const char *value = line + size + 1 + strspn(line + size + 1, " ");
            const size_t value_size = (size_t)(line + length - value);
            char *copy = cli_alloc(value_size + 1);

            memcpy(copy, value, value_size);
            copy[value_size] = '\0';
            *at = line + length;
            return copy;
        }
        line += length + (line[length] != '\0');
    }
    return NULL;
}
