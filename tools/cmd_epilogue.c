/* SPDX-License-Identifier: MIT */
/* jit-gemm epilogue: epilogues without a problem. */
#include <string.h>

#include "cli.h"

static const struct cli_command subcommands[] = {
    {"check", "check an epilogue by itself, in milliseconds", epilogue_check},
    {"list", "list the library's own epilogues", epilogue_list},
    {"show", "show one: what it computes, its operands, its snippet", epilogue_show},
};

int cmd_epilogue(int argc, char **argv)
{
    const size_t count = sizeof(subcommands) / sizeof(subcommands[0]);

    if (argc < 2) {
        return cli_usage_error(
            "a subcommand is missing; `jit-gemm epilogue --help` lists them");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        printf("usage: jit-gemm epilogue SUBCOMMAND [OPTION...]\n\n"
               "Epilogues: what is computed of each element before it becomes D.\n\n"
               "subcommands:\n");
        for (size_t i = 0; i < count; i++) {
            printf("  %-9s %s\n", subcommands[i].name, subcommands[i].summary);
        }
        printf("\nexamples:\n  jit-gemm epilogue list\n"
               "  jit-gemm epilogue check --epilogue 'd = silu(acc);'\n"
               "  jit-gemm epilogue show bias_gelu --d bf16\n"
               "  jit-gemm run 512x512x512 bf16 epilogue=bias_gelu --verify\n");
        return CLI_OK;
    }
    return cli_dispatch("jit-gemm epilogue", subcommands, count, argc - 1, argv + 1);
}
