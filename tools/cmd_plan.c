/* SPDX-License-Identifier: MIT */
/* jit-gemm plan: the choice and its reasons. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "jit_gemm/family.h"
#include "plan_output.h"
#include "run_groups.h"

static const struct cli_help plan_help = {
    "plan PROBLEM... [OPTION...]",
    "Prints the configuration that the library chooses for a problem and what it predicts,\n"
    "and nine rejected candidates with their reasons, the fastest first; --all shows the rest,\n"
    "those that cannot be last. The line that begins with `chosen:` has both, for scripts;\n"
    "--json has an object for each candidate of all. Nothing is\n"
    "compiled; no device is opened if the architecture is named. The printed configuration\n"
    "is what --config takes. Where --recipe has the problem, the line before says so.\n"
    "With --sweep: which kernels are enough for a range of sizes of a dynamic dimension, and\n"
    "where one takes over from another. No size loses more than --loss against its best\n"
    "configuration, all by the cost model.\n",
    "  jit-gemm plan 4096x4096x4096 bf16 --arch sm_90a\n"
    "  jit-gemm plan m=32768 n=1536 k=4096 a=bf16 groups=128 --group-sizes zipf\n"
    "  jit-gemm plan m=128 n=8192 k=4096 a=f16 dynamic=m --arch sm_90a --json\n"
    "  jit-gemm plan n=8192 k=4096 a=f16 dynamic=m --sweep m=1..8192 --arch sm_90a\n"
    "  jit-gemm plan n=8192 k=4096 a=f16 dynamic=m --sweep m=1..8192 --arch sm_90a -o m.svg\n",
};

enum { INDENT = 4, FEW_CANDIDATES = 10 };

static const char recipe_word[] = "recipe: ";

static const char *find_text(const char *line, const char *end, const char *text)
{
    return memmem(line, (size_t)(end - line), text, strlen(text));
}

static void print_words(const char *text, const char *end, size_t column)
{
    cli_print_folded(stdout, text, (size_t)(end - text), column, INDENT);
}

/* Scripts read the config and the prediction on the line that begins with "chosen: ": in a
 * pipe it is broken behind them only. */
static void print_chosen(const char *line, const char *config, const char *end,
                         const char *numbers)
{
    const char *behind = numbers != NULL ? numbers : end;

    printf("%s%.*s%s", cli_tone(stdout, CLI_TONE_GOOD), (int)(config - line), line,
           cli_tone(stdout, CLI_TONE_END));
    cli_print_line(stdout, config, (size_t)(behind - config), (size_t)(config - line),
                   INDENT);
    if (numbers != NULL) {
        printf("%*s", INDENT, "");
        print_words(numbers + 2, end, INDENT);
    }
}

/* "rejected: CONFIG: WHY", as the library has it, with the reason first. */
static void print_plan_line(const char *line, const char *end)
{
    static const char chosen[] = "chosen: ";
    const char *config = find_text(line, end, ": ");
    const char *why = config != NULL ? find_text(config + 2, end, ": ") : NULL;

    if (why == NULL || strncmp(line, recipe_word, sizeof(recipe_word) - 1) == 0) {
        print_words(line, end, 0);
        return;
    }
    config += 2;
    why += 2;
    if (strncmp(line, chosen, sizeof(chosen) - 1) == 0) {
        print_chosen(line, config, end, find_text(why, end, ", "));
        return;
    }
    printf("%.*s", (int)(config - line), line);
    print_words(why, end, (size_t)(config - line));
    printf("%*s", INDENT, "");
    print_words(config, why - 2, INDENT);
}

/* The fastest come first, and those that cannot be last. */
static void print_plan_text(const char *plan, bool all)
{
    size_t candidates = 0, slower = 0, illegal = 0;

    while (*plan != '\0') {
        const size_t size = strcspn(plan, "\n");
        const char *end = plan + size;

        candidates += strncmp(plan, recipe_word, sizeof(recipe_word) - 1) != 0;
        if (all || candidates <= FEW_CANDIDATES) {
            print_plan_line(plan, end);
        } else if (find_text(plan, end, ": predicted ") != NULL) {
            slower++;
        } else {
            illegal++;
        }
        plan = end + (*end == '\n' ? 1 : 0);
    }
    if (slower + illegal > 0) {
        printf("and %zu more: %zu slower, %zu that cannot be; --all shows them\n",
               slower + illegal, slower, illegal);
    }
}

/* How a plan is printed. */
struct plan_form {
    bool json, all, verbose;
};

static int print_plan(const struct cli_problem *problem, jit_gemm_context *context,
                      const struct plan_form *form)
{
    struct cli_snippet snippet = {.text = problem->snippet};
    size_t length = 0;
    int code = cli_problem_register(problem, context, form->verbose);
    if (code != CLI_OK) {
        return code;
    }
    jit_gemm_status status = jit_gemm_plan(context, &problem->problem, NULL, 0, &length);
    if (status != JIT_GEMM_OK) {
        return cli_report(status, &snippet, form->verbose);
    }
    char *plan = cli_alloc(length + 1);
    char *text = cli_problem_text(&problem->problem);
    status = jit_gemm_plan(context, &problem->problem, plan, length + 1, NULL);
    if (status != JIT_GEMM_OK) {
        code = cli_report(status, &snippet, form->verbose);
    } else if (form->json) {
        struct cli_json json = {.file = stdout};

        cli_json_open_command(&json, "plan");
        cli_json_add_text(&json, "problem", text);
        cli_json_add_text(&json, "arch", jit_gemm_context_arch(context));
        cli_json_add_text(&json, "plan", plan); /* the same as text */
        plan_add_json(&json, plan);
        cli_json_close_object(&json);
    } else {
        print_plan_text(plan, form->all);
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
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "plan");
    cli_json_add_text(&json, "problem", problem);
    cli_json_add_text(&json, "arch", arch);
    cli_json_add_text(&json, "sweep", range);
    cli_json_add_uint(&json, "kernels", count_kernels(bands, count));
    cli_json_open_list(&json, "bands");
    for (size_t i = 0; i < count; i++) {
        const jit_gemm_band *band = &bands[i];

        cli_json_open_object(&json, NULL);
        cli_json_add_int(&json, "first", band->first);
        cli_json_add_int(&json, "last", band->last);
        cli_json_add_uint(&json, "kernel", band->kernel);
        cli_json_add_int(&json, "planned", band->planned);
        cli_json_add_double(&json, "first_us", band->first_us);
        cli_json_add_double(&json, "last_us", band->last_us);
        cli_json_add_double(&json, "loss", band->loss);
        cli_json_add_int(&json, "loss_size", band->loss_size);
        cli_json_add_text(&json, "config", band->config);
        cli_json_close_object(&json);
    }
    cli_json_close_list(&json);
    cli_json_close_object(&json);
}

static void print_bands_text(const char *arch, const char *range,
                             const jit_gemm_band *bands, size_t count)
{
    printf("%s on %s: %zu kernels in %zu bands, predicted\n", range, arch,
           count_kernels(bands, count), count);
    printf("%s%10s %10s %9s %9s  %-20s kernel%s\n", cli_tone(stdout, CLI_TONE_HEAD),
           "first", "last", "us at it", "us at it", "loss at most",
           cli_tone(stdout, CLI_TONE_END));
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
            char label[32];

            snprintf(label, sizeof(label), "kernel %zu: ", next++);
            cli_print_fact(label, strlen(label), bands[i].config);
        }
    }
}

static int write_picture(const struct sweep_picture *picture, const char *path)
{
    FILE *file = NULL;
    const int code = cli_open_output("-o", path, &file);

    if (code != CLI_OK) {
        return code;
    }
    sweep_write_svg(picture, file);
    return cli_close_output("-o", path, file);
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
    struct plan_form form = {0};
    struct sweep sweep = {0};
    const char *group_sizes = NULL;
    const struct cli_option own[] = {
        {"--sweep", "RANGE", "the kernels for a range of sizes, such as m=1..8192",
         CLI_TEXT, &sweep.text},
        {"--loss", "PERCENT", "most that a size may lose with --sweep; 5% if not given",
         CLI_TEXT, &sweep.loss},
        {"-o", "FILE.svg", "also draw what --sweep finds", CLI_TEXT, &sweep.picture},
        {"--group-sizes", "LIST",
         "rows of each group, to plan for, such as 0,7,1200, or\n`zipf`, `uniform`: fills "
         "typical_sizes",
         CLI_TEXT, &group_sizes},
        {"--all", NULL, "all candidates, and not ten only", CLI_FLAG, &form.all},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &form.json},
        {0},
    };
    int words = 0, code;

    code = cli_parse_problem(&plan_help, own, &problem, &options, true, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    code = read_sweep(&sweep);
    if (code == CLI_OK) {
        code = cli_check_output("-o", sweep.picture);
    }
    if (code != CLI_OK) {
        return code;
    }
    code = cli_problem_read(&problem, argv + 1, words);
    if (code == CLI_OK && group_sizes != NULL) {
        code = run_groups_plan(group_sizes, &problem.problem);
    }
    if (code == CLI_OK) {
        /* A plan reads and keeps nothing: trouble with the cache is none of it. */
        options.no_cache |= options.cache_dir == NULL;
        code = cli_context_open(&options, false, JIT_GEMM_POLICY_ALLOW, &context);
    }
    form.verbose = options.verbose;
    if (code == CLI_OK) {
        code = sweep.text != NULL
                   ? print_sweep(&problem, &sweep, context, form.json, options.verbose)
                   : print_plan(&problem, context, &form);
    }
    jit_gemm_context_destroy(&context);
    cli_problem_free(&problem);
    return code;
}
