/* SPDX-License-Identifier: MIT */
/* A library that looks like nvJitLink of another version, for the tests of the search. It
 * links nothing: its functions are there to be found. FAKE_INCOMPLETE leaves one out. */
#define FAKE_API __attribute__((visibility("default")))
/* Refuses whatever it is asked. */
#define FAKE_FUNCTION(name)  \
    FAKE_API int name(void); \
    int name(void)           \
    {                        \
        return 1;            \
    }

FAKE_API int nvJitLinkVersion(unsigned int *major, unsigned int *minor);

int nvJitLinkVersion(unsigned int *major, unsigned int *minor)
{
    *major = FAKE_MAJOR;
    *minor = FAKE_MINOR;
    return 0;
}

FAKE_FUNCTION(nvJitLinkCreate)
FAKE_FUNCTION(nvJitLinkDestroy)
FAKE_FUNCTION(nvJitLinkAddData)
FAKE_FUNCTION(nvJitLinkComplete)
FAKE_FUNCTION(nvJitLinkGetLinkedCubinSize)
FAKE_FUNCTION(nvJitLinkGetLinkedCubin)
FAKE_FUNCTION(nvJitLinkGetLinkedPtxSize)
FAKE_FUNCTION(nvJitLinkGetLinkedPtx)
FAKE_FUNCTION(nvJitLinkGetErrorLogSize)
FAKE_FUNCTION(nvJitLinkGetErrorLog)
FAKE_FUNCTION(nvJitLinkGetInfoLogSize)
#ifndef FAKE_INCOMPLETE
FAKE_FUNCTION(nvJitLinkGetInfoLog)
#endif
