/* SPDX-License-Identifier: MIT */
#include "source/assemble.h"

#include <stdio.h>

#include "base/math.h"
#include "source/config_struct.h"
#include "source/embedded.h"
#include "source/epilogue_frame.h"
#include "source/first_entry.h"
#include "source/line_names.h"
#include "source/modules.h"

enum { EPILOGUE_NAME_SHOWN = 16 /* bytes of an epilogue's name in an entry's name */ };

/* "jit_gemm_sm90a_bf16_bf16_128x256_gelu_1f2e3d4c": a person reads it in a profiler. */
static jit_gemm_status name_entry(const struct jg_arch *arch,
                                  const struct jg_problem *problem,
                                  const struct jg_config *config, char *ret_entry)
{
    char chip[7]; /* sizes such that the longest name fits */
    size_t used = 0;
    for (const char *at = arch->name; *at != '\0' && used < sizeof(chip) - 1; at++) {
        if (*at != '_') {
            chip[used++] = *at;
        }
    }
    chip[used] = '\0';
    char kernel[12] = "reference";
    if (config->kernel != JG_KERNEL_REFERENCE) {
        const struct jg_config_layout *layout = &config->layout;
        snprintf(kernel, sizeof(kernel), "%dx%d", layout->tile_m * layout->cta_group,
                 layout->tile_n); /* what CTAs that multiply as one make */
    }
    char epilogue[EPILOGUE_NAME_SHOWN + 10] = "plain";
    if (problem->epilogue != NULL) {
        struct jg_str bytes = {0};
        jg_epilogue_bytes(problem->epilogue, &bytes);
        const struct jg_hash hash = jg_hash_bytes(jg_str_text(&bytes), bytes.size);
        const jit_gemm_status status = jg_str_status(&bytes);
        jg_str_free(&bytes);
        JG_TRY(status);
        snprintf(epilogue, sizeof(epilogue), "%.*s_%02x%02x%02x%02x", EPILOGUE_NAME_SHOWN,
                 problem->epilogue->name, hash.bytes[0], hash.bytes[1], hash.bytes[2],
                 hash.bytes[3]);
    }
    snprintf(ret_entry, JIT_GEMM_NAME_SIZE, "jit_gemm_%s_%.4s_%.4s_%s_%s", chip,
             jg_dtype_name(problem->a.dtype), jg_dtype_name(problem->d.dtype), kernel,
             epilogue);
    return JIT_GEMM_OK;
}

/* The compiler makes one operation of a product and a sum where it likes to, which may be
 * here and not there: two roundings are the same everywhere. */
static bool rounds_apart(const struct jg_problem *problem)
{
    return problem->invariant != JIT_GEMM_INVARIANT_NONE;
}

/* The problem's text is not here: what its kernel does not depend on, such as the size that
 * is planned for, would make two entries of the cache of one kernel. */
static void print_heading(const struct jg_arch *arch, const struct jg_problem *problem,
                          const struct jg_config *config, struct jg_str *out)
{
    jg_source_print_versions(arch, out);
    jg_str_puts(out, "// config: ");
    jg_config_print(config, arch->config_keys, out);
    jg_str_puts(out, "\n");
    if (rounds_apart(problem)) {
        jg_str_puts(out, "// products and sums are rounded apart: -fmad=false\n");
    }
}

static void print_entry(const char *entry, const struct jg_choice *choice,
                        const char *kernel, struct jg_str *out)
{
    const struct jg_derived *derived = &choice->derived;
    jg_source_print_line(1, "jit_gemm_entry", out);
    jg_str_printf(out,
                  "extern \"C\" __global__ void __launch_bounds__(%d, %d)\n"
                  "%s(const __grid_constant__ jg::KernelParams<Config::kOperandCount, "
                  "Config::kTailMaps%s> params)\n"
                  "{\n"
                  "    %s<Config, Epilogue>(params);\n"
                  "}\n",
                  derived->threads, (int)jg_max(choice->config.launch.resident, 1), entry,
                  derived->host_groups > 0 ? ", Config::kHostGroups" : "", kernel);
}

jit_gemm_status jg_source_assemble(const struct jg_arch *arch,
                                   const struct jg_problem *problem,
                                   const struct jg_choice *choice,
                                   struct jg_source *ret_source)
{
    const bool reference = choice->config.kernel == JG_KERNEL_REFERENCE;
    const char *header =
        reference ? "jg/reference/reference_kernel.cuh" : arch->kernel_header;
    const char *kernel = reference ? "jg::reference::gemm_kernel" : arch->kernel_name;

    struct jg_source source = {.headers = jg_digest_headers()};
    JG_TRY(name_entry(arch, problem, &choice->config, source.entry));
    source.has_lineinfo = choice->config.launch.lineinfo;
    source.rounds_apart = rounds_apart(problem);

    struct jg_str *text = &source.text;
    print_heading(arch, problem, &choice->config, text);
    jg_source_print_operands(problem, choice->derived.draws_ahead, text);
    if (choice->config.launch.debug) {
        jg_str_puts(text, "#define JG_DEBUG 1\n");
    }
    if (choice->config.launch.trace) {
        jg_str_puts(text, "#define JG_TRACE 1\n");
    }
    if (!reference) { /* what headers are spared (jg/ptx/wgmma.cuh) */
        jg_str_printf(text, "#define JG_TILE_COLUMNS %d\n", choice->config.layout.tile_n);
    }
    jg_print_modules(arch, problem, choice, text);
    jg_str_printf(text, "#include <%s>\n\n", header);
    jg_source_print_config(problem, choice, text);
    jg_source_print_epilogue(problem->epilogue, source.has_lineinfo, text);
    print_entry(source.entry, choice, kernel, text);
    jg_source_print_first_entry(problem, choice, text);
    if (jg_epilogue_is_linked(problem->epilogue)) {
        source.linked = problem->epilogue->compiled.code;
        source.linked_size = problem->epilogue->compiled.code_size;
    }
    return jg_source_finish(&source, ret_source);
}

jit_gemm_status jg_source_assemble_snippet(const struct jg_epilogue *epilogue,
                                           struct jg_str *out)
{
    const struct jg_problem problem = {.epilogue = epilogue};
    jg_source_print_operands(&problem, false, out);
    jg_print_snippet_modules(epilogue, out);
    jg_str_puts(out, "#include <jg/epilogue/user_epilogue.cuh>\n\n");
    jg_source_print_epilogue(epilogue, false, out);
    return jg_str_status(out);
}
