/* SPDX-License-Identifier: MIT */
#include "code_maker.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "base/error.h"
#include "cuda/nvrtc.h"

static struct jg_nvrtc *open_nvrtc(void)
{
    struct jg_library_paths paths = {0};
    struct jg_nvrtc *nvrtc = NULL;
    struct jg_str reason = {0};
    cr_assert_eq(jg_nvrtc_find(NULL, &paths), JIT_GEMM_OK);
    for (size_t i = 0; i < paths.count && nvrtc == NULL; i++) {
        (void)jg_nvrtc_open(paths.paths[i], &nvrtc, &reason);
    }
    jg_library_paths_free(&paths);
    jg_str_free(&reason);
    if (nvrtc == NULL) {
        cr_skip_test("NVRTC is needed");
    }
    return nvrtc;
}

static struct jg_nvrtc_output compile(const char *source, const char *arch,
                                      const char *option, bool wants_ltoir)
{
    char arch_option[64];
    snprintf(arch_option, sizeof(arch_option), "--gpu-architecture=%s", arch);
    const char *options[] = {arch_option, option};
    const struct jg_nvrtc_input input = {.name = "code.cu",
                                         .text = source,
                                         .options = options,
                                         .option_count = option != NULL ? 2 : 1,
                                         .wants_ltoir = wants_ltoir};
    struct jg_nvrtc *nvrtc = open_nvrtc();
    struct jg_nvrtc_output output = {0};
    cr_assert_eq(jg_nvrtc_compile(nvrtc, &input, &output), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_assert(output.is_accepted, "%s", jg_str_text(&output.log));
    jg_nvrtc_close(nvrtc);
    return output;
}

/* Keeps one of the outputs. */
static struct jg_str take(struct jg_nvrtc_output *output, struct jg_str *wanted)
{
    const struct jg_str taken = *wanted;
    *wanted = (struct jg_str){0};
    jg_nvrtc_output_free(output);
    cr_assert_gt(taken.size, 0);
    return taken;
}

struct jg_str code_make_ptx(const char *source, const char *arch)
{
    struct jg_nvrtc_output output = compile(source, arch, "-rdc=true", false);
    return take(&output, &output.ptx);
}

struct jg_str code_make_ltoir(const char *source, const char *arch)
{
    struct jg_nvrtc_output output = compile(source, arch, "-dlto", true);
    return take(&output, &output.ltoir);
}

struct jg_str code_make_cubin(const char *source, const char *arch)
{
    struct jg_nvrtc_output output = compile(source, arch, NULL, false);
    return take(&output, &output.cubin);
}
