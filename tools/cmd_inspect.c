/* SPDX-License-Identifier: MIT */
/* jit-gemm inspect: what a kernel's machine code needs and consists of. */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cubin.h"
#include "disassembler.h"
#include "listing.h"

static const struct cli_help inspect_help = {
    "inspect PROBLEM...|FILE [--json] [OPTION...]",
    "Says what a kernel's machine code needs: registers, local memory, shared memory,\n"
    "tensor memory, barriers; and what it consists of: instructions by kind, and those of\n"
    "one turn of the loops that multiply and that load. Of a FILE, a cubin, it says what\n"
    "stands there; of a problem, which is compiled, also what its launch asks for. Needs no\n"
    "GPU. Instructions are read from the listing of nvdisasm, which comes with CUDA\n"
    "(" DISASSEMBLER_VARIABLE " names it, or it is looked for); all else works without.\n",
    "  jit-gemm inspect 4096x4096x4096 bf16 --arch sm_100a\n"
    "  jit-gemm inspect gemm.cubin --json\n",
};

/* Kinds of instructions, by their opcodes without modifiers. A name that ends in * stands
 * for all that begin so. */
static const struct {
    const char *name, *about;
    const char *opcodes[12];
} kinds[] = {
    {"mma", "multiplications of the tensor core", {"*MMA"}},
    {"mma_commit", "commits of multiplications to a barrier", {"UTCBAR"}},
    {"tmem_load", "loads of tensor memory", {"LDTM"}},
    {"tmem_store", "stores and copies to tensor memory", {"STTM", "UTCCP"}},
    {"tma_load", "loads by TMA", {"UTMALDG", "UBLKCP"}},
    {"tma_store", "stores and reductions by TMA", {"UTMASTG", "UTMAREDG"}},
    {"launch_control", "requests for the next work", {"UGETNEXTWORKID"}},
    {"mbarrier", "operations on mbarriers", {"SYNCS"}},
    {"barrier", "barriers of the CTA and the cluster", {"BAR", "B2R", "UCGABAR_*"}},
    {"fence", "fences", {"FENCE", "MEMBAR", "CCTL", "ERRBAR", "CGAERRBAR"}},
    {"convert",
     "conversions",
     {"F2F", "F2FP", "F2I", "I2F", "I2FP", "F2IP", "I2I", "FRND"}},
    {"float",
     "floating-point arithmetic",
     {"FADD*", "FMUL*", "FFMA*", "FMNMX*", "FSEL", "FSETP", "MUFU", "HFMA2", "HADD2",
      "HMUL2"}},
    {"global_load", "loads of global memory", {"LDG", "LD"}},
    {"global_store",
     "stores and reductions to global memory",
     {"STG", "ST", "RED", "REDG"}},
    {"shared_load", "loads of shared memory", {"LDS", "LDSM"}},
    {"shared_store", "stores to shared memory", {"STS", "STSM", "STAS"}},
    {"constant_load", "loads of constants and parameters", {"LDC", "LDCU", "ULDC"}},
    {"local_load", "loads of local memory", {"LDL"}},
    {"local_store", "stores to local memory", {"STL"}},
};

enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

/* What is known of one kernel. */
struct findings {
    const char *problem;       /* NULL for a file */
    const jit_gemm_info *info; /* NULL for a file */
    const struct cubin_kernel *kernel;
    const struct listing *listing; /* NULL without nvdisasm */
};

static bool is_of_kind(const char *opcode, size_t kind)
{
    for (size_t i = 0; i < 12 && kinds[kind].opcodes[i]; i++) {
        const char *name = kinds[kind].opcodes[i];
        size_t length = strlen(name);

        if (name[0] == '*'            ? listing_is_multiplication(opcode)
            : name[length - 1] == '*' ? strncmp(opcode, name, length - 1) == 0
                                      : strcmp(opcode, name) == 0) {
            return true;
        }
    }
    return false;
}

static unsigned count_kind(const struct listing *listing, size_t kind)
{
    unsigned count = 0;

    for (size_t i = 0; i < listing->opcode_count; i++) {
        count += is_of_kind(listing->opcodes[i].name, kind) ? listing->opcodes[i].count : 0;
    }
    return count;
}

/* Registers of a multiprocessor's 65536 that the launch bound leaves to each thread. */
static unsigned count_allowed_registers(const struct findings *findings)
{
    unsigned threads = findings->kernel->max_threads;
    unsigned share = threads ? 65536 / threads / 8 * 8 : 255;

    return share < 255 ? share : 255;
}

/* ------------------------------------------------------------------------ for people */

/* What a kind is, and how many of each there are. */
static void print_opcodes(const struct listing *listing, size_t kind)
{
    char text[1024];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s", kinds[kind].about);
    const char *separator = " (";

    for (size_t i = 0; i < listing->opcode_count && used < sizeof(text); i++) {
        if (is_of_kind(listing->opcodes[i].name, kind)) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %u", separator,
                                     listing->opcodes[i].name, listing->opcodes[i].count);
            separator = ", ";
        }
    }
    if (used < sizeof(text)) {
        snprintf(text + used, sizeof(text) - used, ")");
    }
    cli_print_line(stdout, text, strlen(text), 9, 9);
}

static void print_loop(const struct listing_loop *loop)
{
    const double instructions = loop->instructions;

    if (loop->outer) {
        printf("    in each of its turns a loop at 0x%04x: %u instructions per turn\n",
               loop->address, loop->instructions);
        return;
    }
    char text[256], loads[64] = "", rate[64] = "";
    if (loop->tmem_loads) {
        snprintf(loads, sizeof(loads), ", %u loads of tensor memory", loop->tmem_loads);
    }
    if (loop->multiplications) {
        snprintf(rate, sizeof(rate), "; %.1f instructions per multiplication",
                 instructions / loop->multiplications);
    }
    snprintf(
        text, sizeof(text),
        "loop at 0x%04x: %u instructions per turn, %u multiplications, %u TMA loads%s%s",
        loop->address, loop->instructions, loop->multiplications, loop->tma_loads, loads,
        rate);
    fputs("  ", stdout);
    cli_print_line(stdout, text, strlen(text), 2, 4);
}

static void print_code(const struct listing *listing)
{
    unsigned others = listing->instructions;

    printf("instructions:  %u\n", listing->instructions);
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        unsigned count = count_kind(listing, kind);

        others -= count;
        if (count) {
            printf("  %5u  ", count);
            print_opcodes(listing, kind);
        }
    }
    printf("  %5u  others: integers, addresses, moves, branches\n", others);
    printf("loops, as one turn in which no wait is repeated, without loops in them:\n");
    for (size_t i = 0; i < listing->loop_count; i++) {
        print_loop(&listing->loops[i]);
    }
}

static void print_text(const struct findings *findings)
{
    const struct cubin_kernel *kernel = findings->kernel;
    const jit_gemm_info *info = findings->info;

    printf("kernel:        %s\n", kernel->name);
    if (info != NULL) {
        cli_print_fact("problem:", 15, findings->problem);
        cli_print_fact("config:", 15, info->config);
        if (info->recipe[0]) {
            cli_print_fact("recipe:", 15, info->recipe);
        }
    }
    printf("registers:     %u per thread, of %u\n", kernel->registers,
           count_allowed_registers(findings));
    printf("local memory:  %u bytes per thread%s\n", kernel->frame_bytes,
           kernel->frame_bytes ? ": spills, or arrays that are not in registers"
                               : ", no spills");
    printf("threads:       %u per CTA at most\n", kernel->max_threads);
    if (info != NULL) {
        printf("shared memory: %u bytes per CTA, and %u of the code's own\n",
               info->smem_bytes, kernel->static_smem);
        printf("tensor memory: %u columns per CTA\n", info->tmem_columns);
    } else {
        printf(
            "shared memory: %u bytes of the code's own; what a launch adds is not here\n",
            kernel->static_smem);
    }
    if (kernel->tensor_group) {
        printf("tensor core:   tcgen05, groups of %u CTA\n", kernel->tensor_group);
    }
    printf("barriers:      %u named\n", kernel->named_barriers);
    printf("code:          %llu bytes\n", (unsigned long long)kernel->code_bytes);
    if (info != NULL && info->compile_ms > 0.0) {
        printf("compiled in:   %.1f ms\n", info->compile_ms);
    }
    if (findings->listing != NULL) {
        print_code(findings->listing);
    }
}

/* ----------------------------------------------------------------------- for programs */

static void add_code(struct cli_json *json, const struct listing *listing)
{
    cli_json_add_uint(json, "instructions", listing->instructions);
    cli_json_open_object(json, "mix");
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        cli_json_add_uint(json, kinds[kind].name, count_kind(listing, kind));
    }
    cli_json_close_object(json);
    cli_json_open_object(json, "opcodes");
    for (size_t i = 0; i < listing->opcode_count; i++) {
        cli_json_add_uint(json, listing->opcodes[i].name, listing->opcodes[i].count);
    }
    cli_json_close_object(json);
    cli_json_open_list(json, "loops");
    for (size_t i = 0; i < listing->loop_count; i++) {
        const struct listing_loop *loop = &listing->loops[i];

        cli_json_open_object(json, NULL);
        cli_json_add_uint(json, "address", loop->address);
        cli_json_add_uint(json, "outer", loop->outer);
        cli_json_add_uint(json, "instructions", loop->instructions);
        cli_json_add_uint(json, "multiplications", loop->multiplications);
        cli_json_add_uint(json, "tma_loads", loop->tma_loads);
        cli_json_add_uint(json, "commits", loop->commits);
        cli_json_add_uint(json, "tmem_loads", loop->tmem_loads);
        cli_json_close_object(json);
    }
    cli_json_close_list(json);
}

static void print_json(const struct findings *findings)
{
    const struct cubin_kernel *kernel = findings->kernel;
    const jit_gemm_info *info = findings->info;
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "inspect");
    cli_json_add_text(&json, "kernel", kernel->name);
    if (info != NULL) {
        cli_json_add_text(&json, "problem", findings->problem);
        cli_json_add_text(&json, "arch", info->arch);
        cli_json_add_text(&json, "config", info->config);
        cli_json_add_text(&json, "recipe", info->recipe);
        cli_json_add_uint(&json, "smem_bytes", info->smem_bytes);
        cli_json_add_uint(&json, "tmem_columns", info->tmem_columns);
        cli_json_add_double(&json, "compile_ms", info->compile_ms);
    }
    cli_json_add_uint(&json, "registers", kernel->registers);
    cli_json_add_uint(&json, "allowed_registers", count_allowed_registers(findings));
    cli_json_add_uint(&json, "local_bytes", kernel->frame_bytes);
    cli_json_add_uint(&json, "max_threads", kernel->max_threads);
    cli_json_add_uint(&json, "static_smem_bytes", kernel->static_smem);
    cli_json_add_uint(&json, "named_barriers", kernel->named_barriers);
    cli_json_add_uint(&json, "tensor_group", kernel->tensor_group);
    cli_json_add_uint(&json, "code_bytes", kernel->code_bytes);
    if (findings->listing != NULL) {
        add_code(&json, findings->listing);
    }
    cli_json_close_object(&json);
}

/* -------------------------------------------------------------------------------- whole */

/* Every kernel of the code. `info` and `problem` are NULL for a file. */
static int inspect_code(const char *name, const void *code, size_t size,
                        const jit_gemm_info *info, const char *problem, bool json)
{
    char program[PATH_MAX];
    struct cubin cubin;
    const char *wrong = cubin_read(code, size, &cubin);
    char *text = NULL;
    int found, result = CLI_OK;

    if (wrong != NULL) {
        return cli_error("%s: %s", name, wrong);
    }
    found = disassembler_find(program, sizeof(program));
    if (found > 0) {
        text = disassembler_run(program, code, size);
    }
    if (found < 0 || (found > 0 && text == NULL)) {
        return CLI_FAILED;
    }
    for (size_t i = 0; i < cubin.count && result == CLI_OK; i++) {
        /* One that copies A and B first is none that the info is about. */
        const bool is_planned =
            info != NULL && strcmp(cubin.kernels[i].name, info->entry) == 0;
        struct findings findings = {problem, is_planned ? info : NULL, &cubin.kernels[i],
                                    NULL};
        struct listing listing;

        if (text != NULL) {
            wrong = listing_read(text, cubin.kernels[i].name, &listing);
            findings.listing = &listing;
        }
        if (wrong != NULL) {
            result = cli_error("%s: %s: %s", program, cubin.kernels[i].name, wrong);
        } else {
            (json ? print_json : print_text)(&findings);
        }
    }
    if (!found) {
        cli_note("there is no nvdisasm, so nothing was said of instructions and loops: it "
                 "comes with the CUDA toolkit; " DISASSEMBLER_VARIABLE
                 " names it elsewhere");
    }
    free(text);
    return result;
}

static int inspect_problem(const struct cli_context_options *options,
                           const struct cli_problem *problem, bool json)
{
    struct cli_snippet snippet = {.text = problem->snippet};
    jit_gemm_context *context = NULL;
    jit_gemm_artifact *artifact = NULL;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm_status status;
    int code = cli_context_open(options, false, JIT_GEMM_POLICY_ALLOW, &context);

    if (code == CLI_OK) {
        code = cli_problem_register(problem, context, options->verbose);
    }
    if (code == CLI_OK) {
        status = jit_gemm_build(context, &problem->problem, JIT_GEMM_EMIT_CUBIN, &artifact);
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_artifact_get_info(artifact, &info);
        }
        code =
            status == JIT_GEMM_OK ? CLI_OK : cli_report(status, &snippet, options->verbose);
    }
    if (code == CLI_OK) {
        size_t size = 0;
        const void *data = jit_gemm_artifact_data(artifact, &size);
        char *text = cli_problem_text(&problem->problem);

        code = inspect_code(info.entry, data, size, &info, text, json);
        free(text);
    }
    jit_gemm_artifact_destroy(&artifact);
    jit_gemm_context_destroy(&context);
    return code;
}

/* A path: it has a folder in it, or the end of a cubin's name. */
static bool is_path(const char *word)
{
    static const char end[] = ".cubin";
    size_t length = strlen(word);

    return strchr(word, '/') ||
           (length >= sizeof(end) && strcmp(word + length - sizeof(end) + 1, end) == 0);
}

static int inspect_file(const char *path, bool json)
{
    size_t size = 0;
    char *code = cli_read_file(path, &size);
    int result =
        code != NULL ? inspect_code(path, code, size, NULL, NULL, json) : CLI_FAILED;

    free(code);
    return result;
}

int cmd_inspect(int argc, char **argv)
{
    struct cli_context_options options = {0};
    struct cli_problem problem = {0};
    bool json = false;
    int words = 0, code;
    const struct cli_option own[] = {
        {"--json", NULL, "print one JSON object per kernel, one line each", CLI_FLAG,
         &json},
        {0},
    };

    code = cli_parse_problem(&inspect_help, own, &problem, &options, false, argc, argv,
                             &words);
    if (code >= 0) {
        return code;
    }
    if (words == 1 && is_path(argv[1])) {
        return inspect_file(argv[1], json);
    }
    code = cli_problem_read(&problem, argv + 1, words);
    if (code == CLI_OK) {
        code = inspect_problem(&options, &problem, json);
    }
    cli_problem_free(&problem);
    return code;
}
