/* SPDX-License-Identifier: MIT */
/* Contexts: the options that every command shares. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

void cli_context_table(struct cli_context_options *options, int with_driver,
                       struct cli_option ret_table[CLI_CONTEXT_OPTION_COUNT])
{
    size_t count = 0;

    ret_table[count++] = (struct cli_option){
        "--arch", "ARCH", "architecture, `sm_90a`; default: JIT_GEMM_ARCH,\nthen the GPU's",
        CLI_TEXT, &options->arch};
    if (with_driver) {
        ret_table[count++] = (struct cli_option){
            "--driver", "PATH", "CUDA driver library to open", CLI_TEXT, &options->driver};
    }
    ret_table[count++] = (struct cli_option){"--nvrtc", "PATH", "NVRTC library to open",
                                             CLI_TEXT, &options->nvrtc};
    ret_table[count++] = (struct cli_option){
        "--cache", "DIR", "cache folder; default: JIT_GEMM_CACHE_DIR,\nthen the user's",
        CLI_TEXT, &options->cache_dir};
    ret_table[count++] =
        (struct cli_option){"--no-cache", NULL, "neither read nor write the disk cache",
                            CLI_FLAG, &options->no_cache};
    ret_table[count++] = (struct cli_option){
        "--verbose", NULL, "say what the library does, and show compiler logs", CLI_FLAG,
        &options->verbose};
    ret_table[count] = (struct cli_option){0};
}

int cli_absolute_path(const char *path, char *buffer, size_t size)
{
    char here[PATH_MAX];
    int used;

    if (path[0] == '/') {
        used = snprintf(buffer, size, "%s", path);
    } else {
        if (!getcwd(here, sizeof here)) {
            return cli_error("the current folder: %s", strerror(errno));
        }
        used = snprintf(buffer, size, "%s/%s", here, path);
    }
    if (used < 0 || (size_t)used >= size) {
        return cli_error("--cache: the path is too long");
    }
    return CLI_OK;
}

int cli_context_open(const struct cli_context_options *options, int needs_device,
                     jit_gemm_policy policy, jit_gemm_context **ret_context)
{
    char folder[PATH_MAX + 8];
    static int log_errors = 1;
    const char *arch = options->arch ? options->arch : getenv("JIT_GEMM_ARCH");
    jit_gemm_context_options settings = {
        .struct_size = sizeof settings,
        .arch = options->arch,
        .no_device = !needs_device && arch && arch[0],
        .driver = options->driver,
        .nvrtc = options->nvrtc,
        .no_cache = options->no_cache,
        .policy = policy,
        .log = cli_log,
        .log_user = options->log_errors ? &log_errors : NULL,
        .log_level = options->verbose ? JIT_GEMM_SEVERITY_DEBUG : JIT_GEMM_SEVERITY_WARNING,
    };
    jit_gemm_status status;

    if (options->cache_dir) {
        if (options->no_cache) {
            return cli_usage_error("--cache and --no-cache exclude each other");
        }
        if (cli_absolute_path(options->cache_dir, folder, sizeof folder) != CLI_OK) {
            return CLI_FAILED;
        }
        settings.cache_dir = folder;
    }
    status = jit_gemm_context_create(&settings, ret_context);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, options->verbose);
}
