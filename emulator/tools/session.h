/* SPDX-License-Identifier: MIT */
/* One run of a launch file on the emulated device. */
#ifndef EMU_TOOLS_SESSION_H
#define EMU_TOOLS_SESSION_H

#include <stdio.h>

#include "tools/script.h"

struct emu_session {
    const struct emu_script *script;
    FILE *out;
    CUcontext context;
    CUfunction function;
    CUdeviceptr *addresses; /* by buffer */
    void **before, **after; /* by buffer: what was uploaded, what came back */
    CUtensorMap *maps;
};

/* Runs it; false when anything differs from what the file asks for; `out` then says
 * what. The caller has called cuInit. */
bool emu_session_run(const struct emu_script *script, const char *ptx, FILE *out);

/* Carries out one print, dump or check. */
bool emu_session_act(const struct emu_session *session,
                     const struct emu_script_action *action);
bool emu_session_check_gemm(const struct emu_session *session,
                            const struct emu_script_action *gemm);

/* The initial contents of a buffer; `out` says what is missing. */
bool emu_buffer_fill(const struct emu_script_buffer *buffer, void *data, FILE *out);

#endif
