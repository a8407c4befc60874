/* SPDX-License-Identifier: MIT */
/* A manifest: an error names the place, and each problem that is read prints and reads as
 * itself. */
#include <stdlib.h>
#include <string.h>

#include "api/manifest.h"
#include "base/error.h"
#include "fuzz_target.h"

static void expect_place(jit_gemm_status status)
{
    fuzz_expect_error(status);
    fuzz_expect(strstr(jg_error_text(), "manifest") != NULL ||
                    status == JIT_GEMM_ERR_COMPILE || status == JIT_GEMM_ERR_VERSION,
                "the error names the manifest");
}

static void expect_round_trip(const struct jg_manifest_problem *item)
{
    struct jg_str first = {0};
    struct jg_str second = {0};
    jit_gemm_problem again = {0};
    fuzz_expect(jg_problem_print(&item->problem, &first) == JIT_GEMM_OK, "it prints");
    fuzz_expect(jg_problem_parse(jg_str_text(&first), &again) == JIT_GEMM_OK, "it reads");
    fuzz_expect(jg_problem_print(&again, &second) == JIT_GEMM_OK, "and prints again");
    fuzz_expect_same(&first, &second, "a problem prints and reads as itself");
    fuzz_expect(!item->has_range || (item->range.first <= item->range.last &&
                                     item->range.first > 0 && item->range.loss >= 0),
                "a range is one");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    struct jg_manifest manifest = {0};
    const jit_gemm_status status =
        jg_manifest_parse((const char *)copy, size, NULL, &manifest);
    fuzz_note(status == JIT_GEMM_OK);
    if (status != JIT_GEMM_OK) {
        expect_place(status);
    } else {
        for (size_t i = 0; i < manifest.problem_count; i++) {
            expect_round_trip(&manifest.problems[i]);
        }
        jg_manifest_free(&manifest);
    }
    free(copy);
    return 0;
}
