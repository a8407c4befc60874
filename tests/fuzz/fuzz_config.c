/* SPDX-License-Identifier: MIT */
/* A config's text: what is read prints, and reads as itself; each chip takes it or names
 * the key. */
#include <stdlib.h>

#include "fuzz_target.h"
#include "plan/arch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct jg_config_override override = {0};
    struct jg_config_override again = {0};
    jit_gemm_status status = jg_config_parse(text, &override);
    fuzz_note(status == JIT_GEMM_OK);
    if (status != JIT_GEMM_OK) {
        fuzz_expect_error(status);
        free(text);
        return 0;
    }
    struct jg_str first = {0};
    struct jg_str second = {0};
    jg_config_print_override(&override, &first);
    fuzz_expect(jg_config_parse(jg_str_text(&first), &again) == JIT_GEMM_OK, "it reads");
    jg_config_print_override(&again, &second);
    fuzz_expect_same(&first, &second, "a config prints and reads as itself");
    for (int i = 0; jg_arch_at(i) != NULL; i++) {
        const struct jg_arch *arch = jg_arch_at(i);
        status = jg_config_check_keys(&override, arch->name, arch->config_keys);
        if (status != JIT_GEMM_OK) {
            fuzz_expect_error(status);
        }
    }
    free(text);
    return 0;
}
