/* SPDX-License-Identifier: MIT */
/* jit-gemm: the command line of the library. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct cli_command commands[] = {
    {"run", "make inputs, run a problem on a GPU or emulated, check the result", cmd_run},
    {"build", "compile a problem to a file: cubin, PTX or source; needs no GPU", cmd_build},
    {"plan", "show the chosen configuration, why, and what was rejected", cmd_plan},
    {"inspect", "registers, memory and instructions of a kernel's machine code",
     cmd_inspect},
    {"trace", "run once, and draw what each role of the kernel did when", cmd_trace},
    {"prewarm", "compile every problem of a manifest into the disk cache", cmd_prewarm},
    {"verify-manifest", "say whether every kernel of a manifest is in the disk cache",
     cmd_verify_manifest},
    {"epilogue", "the library's own epilogues; check one in milliseconds", cmd_epilogue},
    {"cache", "look after the disk cache: ls, verify, gc, export, import, explain",
     cmd_cache},
    {"bench", "time problems, alone or beside cuBLASLt", cmd_bench},
    {"tune", "measure candidate configs, and write the fastest as a recipe", cmd_tune},
    {"replay", "make once more what failed and left a capsule", cmd_replay},
    {"doctor", "say what this machine has and what will work", cmd_doctor},
    {"env", "list the environment variables", cmd_env},
    {"version", "print the version", cmd_version},
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static const struct cli_family all_commands = {
    .name = "",
    .about =
        "Matrix multiplication on tensor cores with your own epilogue, compiled for the\n"
        "exact problem.\n",
    .commands = commands,
    .count = COMMAND_COUNT,
    .closing =
        "`jit-gemm COMMAND --help` explains a command and shows examples; `--` ends options.\n"
        "`jit-gemm --version`, or -V, says what this is. --json of a command is for scripts.\n"
        "Exit codes: 0 done; 1 failed, or verified and found wrong; 2 what was asked for is\n"
        "wrong or not supported. Errors go to standard error.\n",
};

int cli_dispatch(const char *program, const struct cli_command *table, size_t count,
                 int argc, char **argv)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(argv[0], table[i].name) == 0) {
            return table[i].run(argc, argv);
        }
    }
    struct jg_nearest nearest = jg_nearest_begin(argv[0], strlen(argv[0]));
    for (size_t i = 0; i < count; i++) {
        jg_nearest_try(&nearest, table[i].name, strlen(table[i].name));
    }
    char list[64];
    snprintf(list, sizeof(list), "`%s --help` lists them", program);
    return cli_usage_error("there is no command `%s %s`; %s", program, argv[0],
                           jg_near_hint(&nearest, list).text);
}

static int run_command(int argc, char **argv)
{
    cli_find_color(argc, argv);
    if (argc < 2) {
        return cli_usage_error("a command is missing; `jit-gemm --help` lists them");
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2) { /* help run: run --help */
        char *words[] = {argv[2], "--help", NULL};

        return cli_dispatch("jit-gemm", commands, COMMAND_COUNT, 2, words);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        cli_print_family(&all_commands);
        return CLI_OK;
    }
    if (strcmp(argv[1], "describe") == 0) {
        return cmd_describe(&all_commands, argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        argv[1] = "version";
    }
    return cli_dispatch("jit-gemm", commands, COMMAND_COUNT, argc - 1, argv + 1);
}

/* Else the next file that is opened would have the number of a stream that whoever called
 * closed, and messages would be written into it: a log's lines into the entry of a cache.
 * What stands there fails as nothing would. */
static void occupy_closed_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        if (fcntl(stream, F_GETFD) == -1) {
            (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

int main(int argc, char **argv)
{
    occupy_closed_streams();
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error with words */
    const int code = run_command(argc, argv);

    /* A full disk: what was printed is not whole. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        const int failed = cli_error("standard output cannot be written");
        return cli_end(code != CLI_OK ? code : failed);
    }
    return cli_end(code);
}
