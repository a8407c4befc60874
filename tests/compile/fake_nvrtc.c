/* SPDX-License-Identifier: MIT */
/* A library that looks like NVRTC of another version, for the tests of the search. Its
 * compiler refuses everything. FAKE_MAJOR and FAKE_MINOR are given by the build;
 * FAKE_INCOMPLETE leaves a function out. With FAKE_FLOW its compiles go on until they are
 * told to stop. */
#include <nvrtc.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

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

FAKE_API nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text,
                                        const char *name, int count,
                                        const char *const *headers,
                                        const char *const *names)
{
    (void)text;
    (void)name;
    (void)count;
    (void)headers;
    (void)names;
    static int dummy;
    memcpy(program, &(void *){&dummy}, sizeof(*program));
    return NVRTC_SUCCESS;
}

FAKE_API nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
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
    (void)program;
    *size = 0;
    return NVRTC_SUCCESS;
}

FAKE_API nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
    (void)program;
    (void)cubin;
    return NVRTC_SUCCESS;
}

FAKE_API nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = 0;
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
    (void)program;
    (void)ptx;
    return NVRTC_SUCCESS;
}
#endif
