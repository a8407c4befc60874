/* SPDX-License-Identifier: MIT */
/* A library that looks like NVRTC of another version, for the tests of the search. Its
 * compiler refuses everything. FAKE_MAJOR and FAKE_MINOR are given by the build;
 * FAKE_INCOMPLETE leaves a function out. With FAKE_FLOW its compiles go on until they are
 * told to stop, and with FAKE_STUBBORN behind that until the test lets them go. With
 * FAKE_EMPTY it takes everything, and its kernels are empty: for tests whose stand-in
 * drivers launch nothing. */
#include <nvrtc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#ifdef FAKE_EMPTY
#    include <stdio.h>
#    include <stdlib.h>

#    include "base/str.h"
#    include "compiler_dummy.h"
#endif

#define FAKE_API __attribute__((visibility("default")))

FAKE_API nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = FAKE_MAJOR;
    *minor = FAKE_MINOR;
    return NVRTC_SUCCESS;
}

FAKE_API const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_SUCCESS ? "SUCCESS" : "FAKE_ERROR";
}

#ifdef FAKE_EMPTY
struct empty_kernel {
    struct jg_str cubin, ptx;
};

/* Of the unit's kernel, whose name stands in its last lines. */
static nvrtcResult empty_kernel(const char *text, nvrtcProgram *ret_program)
{
    char entry[256] = "";
    const char *head = strstr(text, "extern \"C\" __global__");
    const char *line = head == NULL ? NULL : strchr(head, '\n');
    if (line == NULL || sscanf(line, " %255[a-z0-9_]", entry) != 1) {
        return NVRTC_ERROR_INVALID_INPUT;
    }
    struct empty_kernel *kernel = calloc(1, sizeof(*kernel));
    if (kernel == NULL) {
        return NVRTC_ERROR_OUT_OF_MEMORY;
    }
    jg_compiler_dummy_code(entry, text, &kernel->cubin);
    jg_str_printf(&kernel->ptx, ".version 9.0\n.visible .entry %s()\n{\n}\n", entry);
    *ret_program = (nvrtcProgram)kernel;
    return NVRTC_SUCCESS;
}
#endif

FAKE_API nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text,
                                        const char *name, int count,
                                        const char *const *headers,
                                        const char *const *names)
{
    (void)name;
    (void)count;
    (void)headers;
    (void)names;
#ifdef FAKE_EMPTY
    return empty_kernel(text, program);
#else
    (void)text;
    static int dummy;
    memcpy(program, &(void *){&dummy}, sizeof(*program));
    return NVRTC_SUCCESS;
#endif
}

FAKE_API nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
#ifdef FAKE_EMPTY
    struct empty_kernel *kernel = (struct empty_kernel *)*program;
    jg_str_free(&kernel->cubin);
    jg_str_free(&kernel->ptx);
    free(kernel);
#endif
    *program = NULL;
    return NVRTC_SUCCESS;
}

#ifdef FAKE_FLOW
static int (*ask_if_over)(void *, void *);
static void *ask_user;
static atomic_int questions;

nvrtcResult nvrtcSetFlowCallback(nvrtcProgram program, int (*callback)(void *, void *),
                                 void *user);
FAKE_API nvrtcResult nvrtcSetFlowCallback(nvrtcProgram program,
                                          int (*callback)(void *, void *), void *user)
{
    (void)program;
    ask_if_over = callback;
    ask_user = user;
    return NVRTC_SUCCESS;
}

int fake_nvrtc_questions(void);
FAKE_API int fake_nvrtc_questions(void)
{
    return atomic_load(&questions);
}
#endif

#ifdef FAKE_STUBBORN
static atomic_bool may_go;

void fake_nvrtc_let_go(void);
FAKE_API void fake_nvrtc_let_go(void)
{
    atomic_store(&may_go, true);
}
#endif

FAKE_API nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count,
                                         const char *const *options)
{
    (void)program;
    (void)count;
    (void)options;
#ifdef FAKE_FLOW
    while (ask_if_over(ask_user, NULL) == 0) {
        atomic_fetch_add(&questions, 1);
        sched_yield();
    }
#endif
#ifdef FAKE_STUBBORN
    while (!atomic_load(&may_go)) {
        sched_yield();
    }
#endif
    return FAKE_RESULT;
}

static const char fake_log[] = "fake log\n";

FAKE_API nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = sizeof(fake_log);
    return NVRTC_SUCCESS;
}

FAKE_API nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    (void)program;
    memcpy(log, fake_log, sizeof(fake_log));
    return NVRTC_SUCCESS;
}

FAKE_API nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
#ifdef FAKE_EMPTY
    *size = ((const struct empty_kernel *)program)->cubin.size;
#else
    (void)program;
    *size = 0;
#endif
    return NVRTC_SUCCESS;
}

FAKE_API nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
#ifdef FAKE_EMPTY
    const struct jg_str *code = &((const struct empty_kernel *)program)->cubin;
    memcpy(cubin, code->data, code->size);
#else
    (void)program;
    (void)cubin;
#endif
    return NVRTC_SUCCESS;
}

FAKE_API nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size)
{
#ifdef FAKE_EMPTY
    *size = ((const struct empty_kernel *)program)->ptx.size + 1;
#else
    (void)program;
    *size = 0;
#endif
    return NVRTC_SUCCESS;
}

FAKE_API nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = 0;
    return NVRTC_SUCCESS;
}

FAKE_API nvrtcResult nvrtcGetLTOIR(nvrtcProgram program, char *ltoir)
{
    (void)program;
    (void)ltoir;
    return NVRTC_SUCCESS;
}

#ifndef FAKE_INCOMPLETE
FAKE_API nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx)
{
#    ifdef FAKE_EMPTY
    const struct jg_str *text = &((const struct empty_kernel *)program)->ptx;
    memcpy(ptx, text->data, text->size + 1);
#    else
    (void)program;
    (void)ptx;
#    endif
    return NVRTC_SUCCESS;
}
#endif
