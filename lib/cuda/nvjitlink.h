/* SPDX-License-Identifier: MIT */
/* nvJitLink, found and opened at run time: it joins compiled epilogues to kernels. Kernels
 * with snippets never need it. No policy. */
#ifndef JG_CUDA_NVJITLINK_H
#define JG_CUDA_NVJITLINK_H

#include "base/str.h"

/* Oldest usable version: 1000 * major + 10 * minor, as the driver counts. */
#define JG_NVJITLINK_MIN_VERSION 12090

struct jg_nvjitlink_functions;

struct jg_nvjitlink {
    int version;        /* 1000 * major + 10 * minor */
    struct jg_str path; /* of the loaded file */
    char identity[128]; /* "13.0 build <id>": changes with every build of the library */
    const struct jg_nvjitlink_functions *functions;
};

/*
 * Opens the library: beside the file `beside` (NVRTC's, may be NULL), else in the usual
 * places. It stays loaded for the life of the process. Where none is usable, what was wrong
 * at each place is appended to `reasons`, the result is NO_COMPILER, and no error record is
 * written: the caller may do without. NO_MEMORY.
 */
jit_gemm_status jg_nvjitlink_open(const char *beside, struct jg_nvjitlink *ret_nvjitlink,
                                  struct jg_str *reasons);
/* Frees what the handle owns, not the library. */
void jg_nvjitlink_close(struct jg_nvjitlink *nvjitlink);

/* LTO-IR on its way in. */
struct jg_nvjitlink_input {
    const char *name; /* in messages */
    const void *data;
    size_t size;
};

/* What the linker has against the inputs. */
enum jg_nvjitlink_refusal {
    JG_NVJITLINK_ACCEPTED,
    JG_NVJITLINK_NO_LTOIR,   /* an input is no LTO-IR, or damaged */
    JG_NVJITLINK_OTHER_ARCH, /* an input was made for another or a newer architecture */
    JG_NVJITLINK_REFUSED     /* anything else; the log says what */
};

enum jg_nvjitlink_code { JG_LINK_PTX, JG_LINK_CUBIN, JG_LINK_CUBIN_WITH_LINEINFO };

struct jg_nvjitlink_output {
    enum jg_nvjitlink_refusal refusal; /* unless ACCEPTED, `code` is empty */
    int input;                         /* index of the one that was refused, or -1 */
    struct jg_str code;                /* a cubin, or PTX */
    struct jg_str log;                 /* errors, then notes */
};

/*
 * Links LTO-IR for one architecture ("sm_90a") to a cubin, with the assembler's figures in
 * the log, or to PTX. A refusal is no failure. Thread-safe.
 * INTERNAL, NO_MEMORY.
 */
jit_gemm_status jg_nvjitlink_link(const struct jg_nvjitlink *nvjitlink, const char *arch,
                                  enum jg_nvjitlink_code code,
                                  const struct jg_nvjitlink_input *inputs, int input_count,
                                  struct jg_nvjitlink_output *ret_output);
void jg_nvjitlink_output_free(struct jg_nvjitlink_output *output);
/* Appends the options of every link but those that arch and kind decide, for keys. */
void jg_nvjitlink_options(struct jg_str *out);

#endif
