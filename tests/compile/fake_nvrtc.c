/* SPDX-License-Identifier: MIT */
/* A library that looks like NVRTC of another version, for the tests of the search. Its
 * compiler refuses everything. FAKE_MAJOR and FAKE_MINOR are given by the build;
 * FAKE_INCOMPLETE leaves a function out. */
#include <nvrtc.h>
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

FAKE_API nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count,
                                         const char *const *options)
{
    (void)program;
    (void)count;
    (void)options;
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
