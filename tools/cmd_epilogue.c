/* SPDX-License-Identifier: MIT */
/* jit-gemm epilogue: epilogues without a problem. */
#include "cli.h"

static const struct cli_command subcommands[] = {
    {"check", "check an epilogue by itself, in milliseconds", epilogue_check},
    {"list", "list the library's own epilogues", epilogue_list},
    {"show", "show one: what it computes, its operands, its snippet", epilogue_show},
};

int cmd_epilogue(int argc, char **argv)
{
    static const struct cli_family family = {
        .name = "epilogue",
        .about = "Epilogues: what is computed of each element before it becomes D.\n",
        .commands = subcommands,
        .count = sizeof(subcommands) / sizeof(subcommands[0]),
        .closing = "examples:\n  jit-gemm epilogue list\n"
                   "  jit-gemm epilogue check --epilogue 'd = silu(acc);'\n"
                   "  jit-gemm epilogue show bias_gelu --d bf16\n"
                   "  jit-gemm run 512x512x512 bf16 epilogue=bias_gelu --verify\n",
    };

    return cli_run_family(&family, argc, argv);
}
