/* SPDX-License-Identifier: MIT */
/* jit-gemm plan: the choice and its reasons. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "jit_gemm/family.h"
#include "plan_output.h"

static const struct cli_help plan_help = {
    "plan PROBLEM... [OPTION...]",
    "Prints the configuration that the library chooses for a problem and what it predicts,\n"
    "and each rejected candidate with its reason, the fastest first. The line that begins with\n"
    "`chosen:` has both, for scripts; --json has an object for each candidate. Nothing is\n"
    "compiled; no device is opened if the architecture is named. The printed configuration\n"
    "is what --config takes. Where --recipe has the problem, the line before says so.\n"
    "With --sweep: which kernels are enough for a range of sizes of a dynamic dimension, and\n"
    "where one takes over from another. No size loses more than --loss against its best\n"
    "configuration, all by the cost model.\n",
    "  jit-gemm plan 4096x4096x4096 bf16 --arch sm_90a\n"
    "  jit-gemm plan m=128 n=8192 k=4096 a=f16 dynamic=m --arch sm_90a --json\n"
    "  jit-gemm plan n=8192 k=4096 a=f16 dynamic=m --sweep m=1..8192 --arch sm_90a\n"
    "  jit-gemm plan n=8192 k=4096 a=f16 dynamic=m --sweep m=1..8192 --arch sm_90a -o m.svg\n",
};

enum { COLUMNS = 120, INDENT = 4 };

/* Prints words so that no line is longer than COLUMNS; all lines but the first are
 * indented. `column` is where the first one stands. */
static void print_folded(const char *text, size_t size, size_t column)
{
    for (size_t at = 0; at < size;) {
        const char *blank = memchr(text + at, ' ', size - at);
        const size_t length = blank != NULL ? (size_t)(blank - text) - at : size - at;

        if (at > 0 && column + 1 + length > COLUMNS) {
            printf("\n%*s", INDENT, "");
            column = INDENT;
        } else if (at > 0) {
            printf(" ");
            column++;
        }
        printf("%.*s", (int)length, text + at);
        column += length;
        at += length + 1;
    }
    printf("\n");
}

static const char *find_text(const char *line, const char *end, const char *text)
{
    return memmem(line, (size_t)(end - line), text, strlen(text));
}

/* "rejected: CONFIG: WHY", as the library has it, with the reason first. Scripts read the
 * config and the prediction on the line that begins with "chosen: ": it is broken behind
 * them only. */
static void print_plan_line(const char *line, const char *end)
{
    static const char chosen[] = "chosen: ";
    static const char recipe[] = "recipe: ";
    const char *config = find_text(line, end, ": ");
    const char *why = config != NULL ? find_text(config + 2, end, ": ") : NULL;

    if (why == NULL || strncmp(line, recipe, sizeof(recipe) - 1) == 0) {
        print_folded(line, (size_t)(end - line), 0);
        return;
    }
    config += 2;
    why += 2;
    const char *numbers = find_text(why, end, ", ");
    if (strncmp(line, chosen, sizeof(chosen) - 1) != 0) {
        printf("%.*s", (int)(config - line), line);
        print_folded(why, (size_t)(end - why), (size_t)(config - line));
        printf("%*s", INDENT, "");
        print_folded(config, (size_t)(why - config) - 2, INDENT);
    } else if (numbers == NULL) {
        printf("%.*s\n", (int)(end - line), line);
    } else {
        printf("%.*s\n%*s", (int)(numbers - line), line, INDENT, "");
        print_folded(numbers + 2, (size_t)(end - numbers) - 2, INDENT);
    }
}

static void print_plan_text(const char *plan)
{
    while (*plan != '\0') {
        const size_t size = strcspn(plan, "\n");

        print_plan_line(plan, plan + size);
        plan += size + (plan[size] == '\n' ? 1 : 0);
    }
}

static int print_plan(const struct cli_problem *problem, jit_gemm_context *context,
                      bool json, bool verbose)
{
    struct cli_snippet snippet = {.text = problem->snippet};
    size_t length = 0;
    int code = cli_problem_register(problem, context, verbose);
    if (code != CLI_OK) {
        return code;
    }
    jit_gemm_status status = jit_gemm_plan(context, &problem->problem, NULL, 0, &length);
    if (status != JIT_GEMM_OK) {
        return cli_report(status, &snippet, verbose);
    }
    char *plan = cli_alloc(length + 1);
    char *text = cli_problem_text(&problem->problem);
    status = jit_gemm_plan(context, &problem->problem, plan, length + 1, NULL);
    if (status != JIT_GEMM_OK) {
        code = cli_report(status, &snippet, verbose);
    } else if (json) {
        printf("{");
        cli_json_field(stdout, "problem", text, true);
        cli_json_field(stdout, "arch", jit_gemm_context_arch(context), true);
        cli_json_field(stdout, "plan", plan, true); /* the same as text */
        plan_write_json(stdout, plan);
        printf("}\n");
    } else {
        print_plan_text(plan);
    }
    free(text);
    free(plan);
    return code;
}

/* Of --sweep. */
struct sweep {
    const char *text, *loss, *picture; /* the options; NULL if they are not given */
    jit_gemm_range range;
};

static int read_sweep(struct sweep *sweep)
{
    char text[128];

    if (sweep->text == NULL) {
        return sweep->loss == NULL && sweep->picture == NULL
                   ? CLI_OK
                   : cli_usage_error("%s is for --sweep m=1..8192",
                                     sweep->loss != NULL ? "--loss" : "-o");
    }
    sweep->range.struct_size = sizeof(sweep->range);
    const int length = snprintf(text, sizeof(text), "%s%s%s", sweep->text,
                                sweep->loss != NULL ? " loss=" : "",
                                sweep->loss != NULL ? sweep->loss : "");
    if (length < 0 || (size_t)length >= sizeof(text)) {
        return cli_usage_error("--sweep: too long; write --sweep m=1..8192");
    }
    const jit_gemm_status status = jit_gemm_range_parse(text, &sweep->range);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
}

static size_t count_kernels(const jit_gemm_band *bands, size_t count)
{
    size_t kernels = 0;

    for (size_t i = 0; i < count; i++) {
        kernels = bands[i].kernel >= kernels ? bands[i].kernel + 1 : kernels;
    }
    return kernels;
}

static void print_bands_json(const char *problem, const char *arch, const char *range,
                             const jit_gemm_band *bands, size_t count)
{
    printf("{");
    cli_json_field(stdout, "problem", problem, true);
    cli_json_field(stdout, "arch", arch, true);
    cli_json_field(stdout, "sweep", range, true);
    printf("\"kernels\": %zu, \"bands\": [", count_kernels(bands, count));
    for (size_t i = 0; i < count; i++) {
        const jit_gemm_band *band = &bands[i];

        printf("%s{\"first\": %" PRId64 ", \"last\": %" PRId64
               ", \"kernel\": %u, \"planned\": %" PRId64 ", \"first_us\": ",
               i > 0 ? ", " : "", band->first, band->last, band->kernel, band->planned);
        cli_json_number(stdout, band->first_us);
        printf(", \"last_us\": ");
        cli_json_number(stdout, band->last_us);
        printf(", \"loss\": ");
        cli_json_number(stdout, band->loss);
        printf(", \"loss_size\": %" PRId64 ", ", band->loss_size);
        cli_json_field(stdout, "config", band->config, false);
        printf("}");
    }
    printf("]}\n");
}

static void print_bands_text(const char *arch, const char *range,
                             const jit_gemm_band *bands, size_t count)
{
    printf("%s on %s: %zu kernels in %zu bands, predicted\n", range, arch,
           count_kernels(bands, count), count);
    printf("%10s %10s %9s %9s  %-20s kernel\n", "first", "last", "us", "us",
           "loss at most");
    for (size_t i = 0; i < count; i++) {
        const jit_gemm_band *band = &bands[i];
        char loss[48];

        snprintf(loss, sizeof(loss), "%.1f%% at %" PRId64, 100 * band->loss,
                 band->loss_size);
        printf("%10" PRId64 " %10" PRId64 " %9.1f %9.1f  %-20s %u\n", band->first,
               band->last, band->first_us, band->last_us, loss, band->kernel);
    }
    for (size_t i = 0, next = 0; i < count; i++) {
        if (bands[i].kernel == next) {
            printf("kernel %zu: %s\n", next++, bands[i].config);
        }
    }
}

static int write_picture(const struct sweep_picture *picture, const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL) {
        return cli_error("%s: %s", path, strerror(errno));
    }
    sweep_write_svg(picture, file);
    const bool is_whole = ferror(file) == 0;
    if (fclose(file) != 0 || !is_whole) {
        return cli_error("%s cannot be written", path);
    }
    return CLI_OK;
}

static int print_sweep(const struct cli_problem *problem, const struct sweep *sweep,
                       jit_gemm_context *context, bool json, bool verbose)
{
    struct cli_snippet snippet = {.text = problem->snippet};
    const char *arch = jit_gemm_context_arch(context);
    size_t count = 0;
    int code = cli_problem_register(problem, context, verbose);
    if (code != CLI_OK) {
        return code;
    }
    jit_gemm_status status =
        jit_gemm_plan_bands(context, &problem->problem, &sweep->range, NULL, 0, &count);
    if (status != JIT_GEMM_OK) {
        return cli_report(status, &snippet, verbose);
    }
    jit_gemm_band *bands = cli_alloc(count * sizeof(*bands));
    status = jit_gemm_plan_bands(context, &problem->problem, &sweep->range, bands, count,
                                 &count);
    if (status != JIT_GEMM_OK) {
        code = cli_report(status, &snippet, verbose);
    } else if (json) {
        char *text = cli_problem_text(&problem->problem);

        print_bands_json(text, arch, sweep->text, bands, count);
        free(text);
    } else {
        print_bands_text(arch, sweep->text, bands, count);
    }
    if (code == CLI_OK && sweep->picture != NULL) {
        char *text = cli_problem_text(&problem->problem);
        const struct sweep_picture picture = {text, arch, sweep->text, bands, count};

        code = write_picture(&picture, sweep->picture);
        free(text);
    }
    free(bands);
    return code;
}

int cmd_plan(int argc, char **argv)
{
    struct cli_context_options options = {0};
    struct cli_problem problem = {0};
    jit_gemm_context *context = NULL;
    bool json = false;
    struct sweep sweep = {0};
    const struct cli_option own[] = {
        {"--sweep", "RANGE", "the kernels for a range of sizes, such as m=1..8192",
         CLI_TEXT, &sweep.text},
        {"--loss", "PERCENT", "most that a size may lose with --sweep; 5% if not given",
         CLI_TEXT, &sweep.loss},
        {"-o", "FILE.svg", "also draw what --sweep finds", CLI_TEXT, &sweep.picture},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    int words = 0, code;

    code = cli_parse_problem(&plan_help, own, &problem, &options, true, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    code = read_sweep(&sweep);
    if (code != CLI_OK) {
        return code;
    }
    code = cli_problem_read(&problem, argv + 1, words);
    if (code == CLI_OK) {
        /* A plan reads and keeps nothing: trouble with the cache is none of it. */
        options.no_cache |= options.cache_dir == NULL;
        code = cli_context_open(&options, false, JIT_GEMM_POLICY_ALLOW, &context);
    }
    if (code == CLI_OK) {
        code = sweep.text != NULL
                   ? print_sweep(&problem, &sweep, context, json, options.verbose)
                   : print_plan(&problem, context, json, options.verbose);
    }
    jit_gemm_context_destroy(&context);
    cli_problem_free(&problem);
    return code;
}
