/* SPDX-License-Identifier: MIT */
/* jit-gemm env: the environment variables and their values. */
#include <stdlib.h>

#include "cli.h"

static const struct cli_help env_help = {
    "env",
    "Lists the variables that the library reads when a context is created, what they\n"
    "mean, and their values here. Options win over variables. Programs that run with\n"
    "raised rights (set-user-id) ignore them. The emulator reads its own.\n",
    NULL,
};

static const struct {
    const char *name;
    const char *help;
} variables[] = {
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
    {"JIT_GEMM_NVDISASM", "path of nvdisasm; `jit-gemm inspect` reads it itself"},
    {"PATH", "else it is looked for there,"},
    {"CUDA_PATH", "and in bin of this, and of CUDA_HOME"},
    {"TMPDIR", "where `jit-gemm inspect` writes a file for it"},
    {"JIT_GEMM_EMULATOR", "settings of the emulator, key=value,...; it reads them itself"},
};

int cmd_env(int argc, char **argv)
{
    const struct cli_option own[] = {{0}};
    const struct cli_option *groups[] = {own, NULL};
    int words = 0;
    int code = cli_parse(&env_help, groups, argc, argv, &words);

    if (code >= 0) {
        return code;
    }
    if (words) {
        return cli_usage_error("env takes no words");
    }
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i].name);

        printf("%s\n    %s\n    %s%s\n", variables[i].name, variables[i].help,
               value != NULL && value[0] ? "= " : "(not set)", value != NULL ? value : "");
    }
    return CLI_OK;
}
