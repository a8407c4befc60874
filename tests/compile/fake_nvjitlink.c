/* SPDX-License-Identifier: MIT */
/* A library that looks like nvJitLink of another version, for the tests of the search. */
__attribute__((visibility("default"))) int nvJitLinkVersion(unsigned int *major,
                                                            unsigned int *minor);

int nvJitLinkVersion(unsigned int *major, unsigned int *minor)
{
    *major = FAKE_MAJOR;
    *minor = FAKE_MINOR;
    return 0;
}
