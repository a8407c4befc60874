/* SPDX-License-Identifier: MIT */
/* jit-gemm version. */
#include "cli.h"

static const struct cli_help version_help = {
    "version",
    "Prints the version of the library that the command runs with.\n",
    NULL,
};

int cmd_version(int argc, char **argv)
{
    const struct cli_option own[] = {{0}};
    const struct cli_option *groups[] = {own, NULL};
    int words = 0;
    int code = cli_parse(&version_help, groups, argc, argv, &words);

    if (code >= 0) {
        return code;
    }
    if (words) {
        return cli_usage_error("version takes no words");
    }
    printf("jit-gemm %s\n", jit_gemm_version_string());
    return CLI_OK;
}
