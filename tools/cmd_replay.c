/* SPDX-License-Identifier: MIT */
/* jit-gemm replay: a capsule's unit, compiled here. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "jit_gemm/capsule.h"

static const struct cli_help replay_help = {
    "replay DIR [--device auto|gpu|emulator] [OPTION...]",
    "Compiles the source unit of a capsule, which a failing compile, load or launch has left,\n"
    "with the compiler that is here, and says whether it fails as it did. With --device what\n"
    "failed to load or to launch is loaded there, too, and what failed to launch is launched,\n"
    "with the sizes of that launch over memory of its own. Writes nothing; needs no GPU.\n"
    "Exit code 0 if the error is the same, 1 if it is another or the unit compiles, loads or\n"
    "runs here, 2 if DIR is no whole capsule.\n",
    "  jit-gemm build 4096x4096x4096 bf16 --arch sm_90a -o gemm.cubin --capsule capsules\n"
    "  jit-gemm replay capsules/capsule-0123456789abcdef0123456789abcdef\n",
};

/* The architecture that the capsule's record says, in the memory of `line`: so that the
 * device that runs it is opened. NULL if it says none, of which the replay will complain.
 */
static const char *find_arch(const char *folder, char *line, size_t size)
{
    static const char word[] = "arch ";
    const size_t skip = sizeof(word) - 1;
    const char *arch = NULL;
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/capsule.txt", folder) >= (int)sizeof(path)) {
        return NULL;
    }
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    while (file != NULL && arch == NULL && fgets(line, (int)size, file) != NULL) {
        if (strncmp(line, word, skip) == 0) {
            line[strcspn(line, "\n")] = '\0';
            arch = line + skip;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return arch;
}

static void print_json(const char *path, jit_gemm_replay_outcome outcome,
                       const char *report)
{
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "replay");
    cli_json_add_text(&json, "capsule", path);
    cli_json_add_bool(&json, "same_error", outcome == JIT_GEMM_REPLAY_SAME_ERROR);
    cli_json_add_text(&json, "report", report);
    cli_json_close_object(&json);
}

static int replay(jit_gemm_context *context, const char *path, bool json, bool verbose)
{
    enum { REPORT_BYTES = 1 << 20 };
    jit_gemm_replay_outcome outcome;
    char *report = cli_alloc(REPORT_BYTES);
    const jit_gemm_status status =
        jit_gemm_capsule_replay(context, path, &outcome, report, REPORT_BYTES, NULL);
    int code;

    if (status != JIT_GEMM_OK) {
        code = cli_report(status, NULL, verbose);
        free(report);
        return status == JIT_GEMM_ERR_VERSION ? CLI_USAGE : code;
    }
    if (json) {
        print_json(path, outcome, report);
        free(report);
        return outcome == JIT_GEMM_REPLAY_SAME_ERROR ? CLI_OK : CLI_FAILED;
    }
    size_t length = strcspn(report, "\n");
    printf("%.*s\n", (int)length, report);
    if (verbose || outcome != JIT_GEMM_REPLAY_SAME_ERROR) {
        fflush(stdout);
        fputs(report + length + (report[length] != '\0'), stderr);
    }
    free(report);
    return outcome == JIT_GEMM_REPLAY_SAME_ERROR ? CLI_OK : CLI_FAILED;
}

int cmd_replay(int argc, char **argv)
{
    struct cli_context_options options = {.no_cache = true};
    bool json = false;
    const struct cli_option own[] = {
        {"--device", "auto|gpu|emulator",
         "where to load what failed to load, and to launch what\nfailed to launch; by default "
         "it is only compiled",
         CLI_CHOICE, &options.device},
        {"--arch", "ARCH", "of the device; the capsule's", CLI_TEXT, &options.arch},
        {"--nvrtc", "PATH", "NVRTC library to open", CLI_TEXT, &options.nvrtc},
        {"--compile-limit", "SECONDS", "most time of one compile; 120", CLI_INT,
         &options.compile_limit_s},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {"--verbose", NULL, "print versions and errors also where they are the same",
         CLI_FLAG, &options.verbose},
        {0},
    };
    const struct cli_option *groups[] = {own, NULL};
    jit_gemm_context *context = NULL;
    char line[256];
    int words = 0;

    int code = cli_parse(&replay_help, groups, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    if (words != 1) {
        return cli_usage_error("replay: name the folder of one capsule");
    }
    const bool has_device = options.device != NULL;
    if (!has_device) {
        options.arch = CLI_ANY_ARCH;
    } else if (options.arch == NULL) {
        options.arch = find_arch(argv[1], line, sizeof(line));
    }
    code = cli_context_open(&options, has_device, JIT_GEMM_POLICY_ALLOW, &context);
    if (code == CLI_OK) {
        code = replay(context, argv[1], json, options.verbose);
    }
    jit_gemm_context_destroy(&context);
    return code;
}
