/* SPDX-License-Identifier: MIT */
/* jit-gemm version. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct cli_help version_help = {
    "version [--json]",
    "Prints the version of the library that the command runs with, the architectures that it\n"
    "has kernels for, and the version of NVRTC if one is found. `jit-gemm --version` and -V\n"
    "print the same.\n",
    NULL,
};

/* Describes a context that needs no device; NULL without one. Owned by the caller. */
static char *describe(const char *arch)
{
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = arch, .no_cache = true};
    jit_gemm_context *context = NULL;
    char *text = NULL;

    if (jit_gemm_context_create(&options, &context) == JIT_GEMM_OK) {
        (void)cli_describe(context, &text);
    }
    jit_gemm_context_destroy(&context);
    return text;
}

int cmd_version(int argc, char **argv)
{
    bool json = false;
    const struct cli_option own[] = {
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    const struct cli_option *groups[] = {own, NULL};
    const int code = cli_parse_options(&version_help, groups, argc, argv);

    if (code >= 0) {
        return code;
    }
    char *text = describe(CLI_ANY_ARCH);
    const char *at = text != NULL ? text : "";
    char *library = cli_copy_fact(&at, "library"), *nvrtc = NULL;
    const char *archs = library != NULL ? strstr(library, "kernels for ") : NULL;
    char *compiler = cli_copy_fact(&at, "compiler");

    archs = archs != NULL ? archs + strlen("kernels for ") : "";
    if (compiler != NULL && strncmp(compiler, "nvrtc ", 6) == 0) {
        nvrtc = compiler + 6;
        nvrtc[strcspn(nvrtc, " ")] = '\0';
    }
    if (json) {
        struct cli_json object = {.file = stdout};

        cli_json_open_command(&object, "version");
        cli_json_add_text(&object, "version", jit_gemm_version_string());
        cli_json_open_list(&object, "archs");
        for (const char *name = archs; *name != '\0';) {
            const size_t size = strcspn(name, ",");

            cli_json_add_bytes(&object, NULL, name, size);
            name += size + strspn(name + size, ", ");
        }
        cli_json_close_list(&object);
        cli_json_add_text(&object, "nvrtc", nvrtc);
        cli_json_close_object(&object);
    } else {
        printf("jit-gemm %s, kernels for %s, %s%s\n", jit_gemm_version_string(), archs,
               nvrtc != NULL ? "NVRTC " : "no NVRTC found", nvrtc != NULL ? nvrtc : "");
    }
    free(library);
    free(compiler);
    free(text);
    return CLI_OK;
}
