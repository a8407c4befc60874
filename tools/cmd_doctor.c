/* SPDX-License-Identifier: MIT */
/* jit-gemm doctor: what this machine has, and what will work. */
#include <stdlib.h>

#include "cli.h"

/* Plans and builds where there is no device. */
#define FALLBACK_ARCH "sm_90a"

static const struct cli_help doctor_help = {
    "doctor [OPTION...]",
    "Describes driver, GPU, compiler, and the cache folder and its trust, and says what\n"
    "will work here. Exit code 0 if problems can be created and run, 1 if not.\n",
    "  jit-gemm doctor\n  jit-gemm doctor --json\n",
};

/* Opens the device if there is one; otherwise a context that can plan and build. */
static jit_gemm_status open_any_context(const struct cli_context_options *options,
                                        jit_gemm_context **ret_context)
{
    jit_gemm_context_options settings = {
        .struct_size = sizeof settings,
        .arch = options->arch,
        .driver = options->driver,
        .nvrtc = options->nvrtc,
        .no_cache = options->no_cache,
        .cache_dir = options->cache_dir,
    };
    jit_gemm_status status = jit_gemm_context_create(&settings, ret_context);

    if (status != JIT_GEMM_OK && !settings.arch) {
        settings.arch = FALLBACK_ARCH;
        status = jit_gemm_context_create(&settings, ret_context);
    }
    return status;
}

static void print_json(const jit_gemm_context *context, const char *text,
                       jit_gemm_status status)
{
    printf("{");
    cli_json_field(stdout, "version", jit_gemm_version_string(), 1);
    cli_json_field(stdout, "arch", jit_gemm_context_arch(context), 1);
    printf("\"can_run\": %s, ", status == JIT_GEMM_OK ? "true" : "false");
    cli_json_field(stdout, "status", jit_gemm_status_name(status), 1);
    cli_json_field(stdout, "description", text, 0);
    printf("}\n");
}

int cmd_doctor(int argc, char **argv)
{
    struct cli_context_options options = {0};
    int json = 0;
    const struct cli_option own[] = {
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    struct cli_option context_table[CLI_CONTEXT_OPTION_COUNT];
    const struct cli_option *groups[] = {own, context_table, NULL};
    jit_gemm_context *context = NULL;
    jit_gemm_status opened, status;
    char *text;
    size_t length = 0;
    int words = 0, code;

    cli_context_table(&options, 1, context_table);
    code = cli_parse(&doctor_help, groups, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    if (words) {
        return cli_usage_error("doctor takes no words");
    }
    opened = open_any_context(&options, &context);
    if (opened != JIT_GEMM_OK) {
        return cli_report(opened, NULL, options.verbose);
    }
    (void)jit_gemm_context_describe(context, NULL, 0, &length);
    text = cli_alloc(length + 1);
    status = jit_gemm_context_describe(context, text, length + 1, NULL);
    if (json) {
        print_json(context, text, status);
    } else {
        printf("jit-gemm %s\n%s%s", jit_gemm_version_string(), text,
               length && text[length - 1] == '\n' ? "" : "\n");
        if (status == JIT_GEMM_OK) {
            puts("everything that creating and running a problem needs is here");
        } else {
            printf("problems cannot be run here: %s\n", jit_gemm_status_text(status));
        }
    }
    free(text);
    jit_gemm_context_destroy(&context);
    return status == JIT_GEMM_OK ? CLI_OK : CLI_FAILED;
}
