/* SPDX-License-Identifier: MIT */
/* Debug builds and traces: the public functions. */
#include "jit_gemm/debug.h"

#include <stdbool.h>

#include "api/context.h"
#include "api/gemm.h"
#include "base/error.h"
#include "runtime/instruments.h"

/* Two of each role: a CTA may have two warpgroups that multiply. */
static const char *const track_names[JIT_GEMM_TRACE_TRACKS] = {
    "load",     "load 1",     "mma",       "mma 1",      "epilogue load", "epilogue load 1",
    "epilogue", "epilogue 1", "scheduler", "scheduler 1"};

static jit_gemm_status check_built(bool is_built, const char *key)
{
    if (is_built) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "gemm", "add it to problem.config",
                   "the kernel was made without %s=1", key);
}

jit_gemm_status jit_gemm_debug_report(const jit_gemm *gemm, char *buffer, size_t size,
                                      size_t *ret_length)
{
    JG_TRY(jg_check_pointer(gemm, "gemm"));
    JG_TRY(check_built(jg_handle_kernel(gemm)->choice.config.launch.debug, "debug"));
    struct jg_str text = {0};
    jg_debug_report_print(jg_handle_kernel(gemm), &text);
    return jg_str_deliver(&text, JIT_GEMM_OK, buffer, size, ret_length);
}

const char *jit_gemm_trace_track_name(uint32_t track)
{
    return track < JIT_GEMM_TRACE_TRACKS ? track_names[track] : NULL;
}

jit_gemm_status jit_gemm_trace_attach(const jit_gemm *gemm, uint64_t address, uint32_t ctas,
                                      uint32_t events)
{
    JG_TRY(jg_check_pointer(gemm, "gemm"));
    JG_TRY(check_built(jg_handle_kernel(gemm)->choice.config.launch.trace, "trace"));
    if (address % sizeof(jit_gemm_trace_event) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "address",
                       "give one from jit_gemm_device_alloc", "is no multiple of %zu",
                       sizeof(jit_gemm_trace_event));
    }
    return jg_trace_attach(jg_handle_kernel(gemm), address, ctas, events);
}
