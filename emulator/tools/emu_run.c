/* SPDX-License-Identifier: MIT */
/* emu-run: executes one kernel of a PTX file on the CPU, as a launch file describes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/emulator.h"
#include "tools/script.h"
#include "tools/session.h"

static const char usage[] =
    "usage: emu-run FILE.ptx --launch FILE.launch [--settings TEXT] [--seeds COUNT]\n"
    "               [--timing]\n"
    "       emu-run --help\n";

static const char help_options[] =
    "\n"
    "Runs one kernel of a PTX text on the CPU and compares what it did with what the\n"
    "launch file asks for.\n"
    "\n"
    "  --launch FILE     what to run, on what data (below)\n"
    "  --settings TEXT   how: key=value pairs with commas between them, for example\n"
    "                    async=latest,schedule=deep,numbers=exact; a wrong key is answered\n"
    "                    with the list of all. They come after those of the environment\n"
    "                    variable JIT_GEMM_EMULATOR\n"
    "  --seeds COUNT     runs it with the seeds 0 to COUNT - 1\n"
    "  --timing          prints what the launch takes by the time model, and what its warps\n"
    "                    wait for; timing=h100 among the settings takes that chip, and\n"
    "                    numbers=off leaves the arithmetic out\n"
    "\n"
    "Exit status: 0 all is as expected, 1 something is not, 2 the call or a file is wrong.\n"
    "\n";

struct options {
    const char *ptx, *launch, *settings;
    bool timing;
    unsigned long seeds; /* 0: the one seed of the settings */
};

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "emu-run: %s: cannot be opened\n", path);
        return NULL;
    }
    struct emu_text text = {0};
    char block[65536];
    size_t bytes = 0;
    while ((bytes = fread(block, 1, sizeof(block), file)) > 0) {
        emu_text_add(&text, "%.*s", (int)bytes, block);
    }
    fclose(file);
    char *copy = emu_strdup(emu_text_get(&text));
    emu_text_free(&text);
    return copy;
}

static bool read_options(int count, char **words, struct options *options)
{
    for (int i = 1; i < count && words[i] != NULL; i++) {
        const char *value = i + 1 < count ? words[i + 1] : NULL;
        if (strcmp(words[i], "--launch") == 0 && value != NULL) {
            options->launch = words[++i];
        } else if (strcmp(words[i], "--settings") == 0 && value != NULL) {
            options->settings = words[++i];
        } else if (strcmp(words[i], "--seeds") == 0 && value != NULL) {
            char *end = NULL;
            options->seeds = strtoul(words[++i], &end, 10);
            if (options->seeds == 0 || *end != 0) {
                return false;
            }
        } else if (strcmp(words[i], "--timing") == 0) {
            options->timing = true;
        } else if (words[i][0] != '-' && options->ptx == NULL) {
            options->ptx = words[i];
        } else {
            return false;
        }
    }
    return options->ptx != NULL && options->launch != NULL;
}

static void print_times(void)
{
    char *text = emuTimeReport();
    fputs(text == NULL ? "no launch was timed\n" : text, stdout);
    free(text);
}

/* 0 or 1, as the process ends. */
static int run(const struct emu_script *script, const char *ptx,
               const struct options *options)
{
    unsigned long failed = 0;
    unsigned long runs = options->seeds == 0 ? 1 : options->seeds;
    for (unsigned long seed = 0; seed < runs; seed++) {
        struct emu_text settings = {0};
        emu_text_add(&settings, "%s%s", options->timing ? "timing=on," : "",
                     options->settings == NULL ? "" : options->settings);
        if (options->seeds != 0) {
            emu_text_add(&settings, ",seed=%lu", seed);
        }
        CUresult result = emuConfigure(emu_text_get(&settings));
        emu_text_free(&settings);
        if (result != CUDA_SUCCESS) {
            return 2;
        }
        if (!emu_session_run(script, ptx, stdout)) {
            failed++;
            if (options->seeds != 0) {
                printf("seed %lu: not as expected\n", seed);
            }
        }
        if (options->timing) {
            print_times();
        }
    }
    printf("%s: %s, %llu thread instructions\n", script->entry,
           failed == 0 ? "as expected" : "NOT as expected", emuThreadSteps());
    return failed == 0 ? 0 : 1;
}

int main(int count, char **words)
{
    struct options options = {0};
    struct emu_script script;
    struct emu_error error = {0};
    if (count == 2 && strcmp(words[1], "--help") == 0) {
        printf("%s%s%s", usage, help_options, emu_script_help);
        return 0;
    }
    if (!read_options(count, words, &options)) {
        fputs(usage, stderr);
        return 2;
    }
    int status = 2;
    char *ptx = read_text(options.ptx);
    char *launch = read_text(options.launch);
    if (ptx != NULL && launch != NULL) {
        if (!emu_script_parse(launch, &script, &error)) {
            fprintf(stderr, "emu-run: %s: %s\n", options.launch, error.text);
        } else {
            status = cuInit(0) == CUDA_SUCCESS ? run(&script, ptx, &options) : 2;
            emu_script_free(&script);
        }
    }
    emu_free(ptx);
    emu_free(launch);
    return status;
}
