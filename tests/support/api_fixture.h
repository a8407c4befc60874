/* SPDX-License-Identifier: MIT */
/* A context over the fake driver and the dummy compiler, with a cache folder of its own. */
#ifndef API_FIXTURE_H
#define API_FIXTURE_H

#include "api/context.h"
#include "compiler_dummy.h"
#include "fake_driver.h"

#define API_FIXTURE_LOG_BYTES 65536

struct api_fixture {
    jit_gemm_context *context;
    struct jg_compiler *compiler; /* the dummy; belongs to the context */
    struct fake_driver *fake;
    char folder[64];                 /* private, removed at the end */
    char log[API_FIXTURE_LOG_BYTES]; /* every log line, each with a line feed */
    size_t log_size;
};

/* Opens the fake driver, so that its state can be set before a context is made. */
struct fake_driver *api_fixture_driver(void);
/* The same for another build of it, by its path. */
struct fake_driver *api_fixture_driver_at(const char *path);
/* Options that name the fake driver and the fixture's cache folder, which is made. */
jit_gemm_context_options api_fixture_options(struct api_fixture *fixture);
/* A context with these options and the dummy compiler. Anything that fails aborts. */
void api_fixture_open_with(struct api_fixture *fixture,
                           const jit_gemm_context_options *options, int compile_ms);
/* The same with the options above. */
void api_fixture_open(struct api_fixture *fixture);
/* Another context over the same folder, with the options of api_fixture_options. */
void api_fixture_reopen(struct api_fixture *fixture);
void api_fixture_close(struct api_fixture *fixture);

jit_gemm_stats api_fixture_stats(const struct api_fixture *fixture);
/* Returns once so many compiles are held inside of the dummy compiler. */
void api_fixture_wait_for_held(const struct api_fixture *fixture, int count);

/* "fused": an input vector `bias`, an input matrix `r` and an output matrix `aux`. */
extern const jit_gemm_epilogue api_fused;

/* A problem from its text; aborts if it is wrong. */
jit_gemm_problem api_problem(const char *text);
/* Creates the problem's kernel and gives back what is known of it; aborts on failure. */
jit_gemm_info api_info_of(const struct api_fixture *fixture, const char *text);
/* Builds a problem's machine code, and its source to see that it is the dummy's of just
 * this unit: *ret_is_right. A status other than OK is one of the two builds. */
jit_gemm_status api_build_and_compare(const struct api_fixture *fixture,
                                      const jit_gemm_problem *problem,
                                      jit_gemm_info *ret_info, bool *ret_is_right);
/* Does the thread's last error contain the text? */
int api_error_has(const char *text);

#endif
