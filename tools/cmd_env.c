/* SPDX-License-Identifier: MIT */
/* jit-gemm env: the environment variables and their values. */
#include <stdlib.h>

#include "cli.h"

static const struct cli_help env_help = {
    "env [--json]",
    "Lists the variables that the library reads when a context is created, what they\n"
    "mean, and their values here. Options win over variables. Programs that run with\n"
    "raised rights (set-user-id) ignore them. The emulator reads its own.\n",
    NULL,
};

static const struct cli_variable variables[] = {
    {"JIT_GEMM_CACHE_DIR", "absolute path of the writable cache folder"},
    {"JIT_GEMM_CACHE_LIMIT",
     "most bytes of that folder, such as 512m or 4g, which is the default; or none"},
    {"JIT_GEMM_CACHE_ROOTS",
     "folders and bundles that are only read, before that folder: path:path"},
    {"JIT_GEMM_CACHE_KEYS",
     "who must have signed those: public keys of 64 digits, key:key; then only bundles count"},
    {"JIT_GEMM_CACHE_LEAST_SERIAL", "with keys, the least serial number of such a bundle"},
    {"JIT_GEMM_ARCH", "architecture to plan and build for, such as sm_90a"},
    {"JIT_GEMM_PLAN_FOR",
     "device that configs are chosen for: h100, or what `doctor` prints behind `plan for`"},
    {"JIT_GEMM_DRIVER", "path of the CUDA driver library, or `emulator`"},
    {"JIT_GEMM_NVRTC", "path of the compiler library, NVRTC"},
    {"CUDA_HOME",
     "a CUDA toolkit: its lib64 is searched for NVRTC before the usual folders"},
    {"VIRTUAL_ENV",
     "packages of Python: NVIDIA's NVRTC is looked for there, behind the usual folders"},
    {"CONDA_PREFIX", "the same"},
    {"XDG_CACHE_HOME", "the cache folder is jit_gemm in it, if none is named"},
    {"HOME", "or else .cache/jit_gemm in it; packages of Python in its .local, too"},
    {"JIT_GEMM_DUMP_DIR",
     "folder that receives source unit, log, PTX and cubin of each compile"},
    {"JIT_GEMM_CAPSULES",
     "absolute path of a folder where failing compiles, loads and launches leave capsules; none by default"},
    {"NO_COLOR",
     "if it is not empty, `jit-gemm` prints no colour unless `--color` says so"},
    {"TERM", "`jit-gemm` prints no colour if it is dumb"},
    {"JIT_GEMM_LOG",
     "error, warning, info or debug: log lines of any program to standard error, or to a file, "
     "level:file"},
    {"JIT_GEMM_NVTX",
     "1: NVTX ranges around creates, compiles, loads and runs, for profilers"},
    {"NVTX_INJECTION64_PATH",
     "the tool that gets those ranges; profilers set it themselves"},
    {"JIT_GEMM_NVDISASM", "path of nvdisasm; `jit-gemm inspect` reads it itself"},
    {"PATH", "else it is looked for there,"},
    {"CUDA_PATH", "and in bin of this, and of CUDA_HOME"},
    {"TMPDIR", "where `jit-gemm inspect` writes a file for it"},
    {"JIT_GEMM_EMULATOR", "settings of the emulator, key=value,...; it reads them itself"},
    {"CUDA_VISIBLE_DEVICES",
     "which devices there are; the CUDA driver and the emulator's CUDA runtime read it"},
    {"JIT_GEMM_LIBRARY",
     "path of the library that the package of Python opens, in place of its own"},
};

static void print_json(void)
{
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "env");
    cli_json_open_list(&json, "variables");
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        cli_json_open_object(&json, NULL);
        cli_json_add_text(&json, "name", variables[i].name);
        cli_json_add_text(&json, "about", variables[i].help);
        cli_json_add_text(&json, "value", getenv(variables[i].name));
        cli_json_close_object(&json);
    }
    cli_json_close_list(&json);
    cli_json_close_object(&json);
}

static void print_text(void)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i].name);
        const bool has_value = value != NULL && value[0] != '\0';

        printf("%s%s%s\n", cli_tone(stdout, CLI_TONE_HEAD), variables[i].name,
               cli_tone(stdout, CLI_TONE_END));
        cli_print_fact("", 4, variables[i].help);
        cli_print_fact(has_value ? "    = " : "", has_value ? 6 : 4,
                       has_value ? value : "(not set)");
    }
}

const struct cli_variable *cli_variables(size_t *ret_count)
{
    *ret_count = sizeof(variables) / sizeof(variables[0]);
    return variables;
}

int cmd_env(int argc, char **argv)
{
    bool json = false;
    const struct cli_option own[] = {
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    const struct cli_option *groups[] = {own, NULL};
    const int code = cli_parse_options(&env_help, groups, argc, argv);

    if (code >= 0) {
        return code;
    }
    if (json) {
        print_json();
    } else {
        print_text();
    }
    return CLI_OK;
}
