/* SPDX-License-Identifier: MIT */
/* A prewarm of a manifest's text that has to end so. */
#ifndef PREWARM_FIXTURE_H
#define PREWARM_FIXTURE_H

#include <criterion/criterion.h>
#include <string.h>

#include "api_fixture.h"

static inline jit_gemm_prewarm_result prewarm(struct api_fixture *fixture, const char *text,
                                              const jit_gemm_prewarm_options *options,
                                              jit_gemm_status expected)
{
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    const jit_gemm_status status =
        jit_gemm_prewarm(fixture->context, text, strlen(text), options, &result);
    cr_expect_eq(status, expected, "%d: %s", (int)status, jit_gemm_last_error());
    return result;
}

#endif
