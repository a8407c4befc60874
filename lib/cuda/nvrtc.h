/* SPDX-License-Identifier: MIT */
/* NVRTC, found and opened at run time: paths, version check, program life. No policy. */
#ifndef JG_CUDA_NVRTC_H
#define JG_CUDA_NVRTC_H

#include "cuda/library_paths.h"

/* Oldest usable version: 1000 * major + 10 * minor, as the driver counts. */
#define JG_NVRTC_MIN_VERSION 12090

/* Lists the paths of NVRTC: `path`, else JIT_GEMM_NVRTC, else the usual ones. NO_MEMORY.
 */
jit_gemm_status jg_nvrtc_find(const char *path, struct jg_library_paths *ret_paths);

enum jg_nvrtc_open_result {
    JG_NVRTC_OPENED,
    JG_NVRTC_NOT_LOADABLE, /* absent, not a library, or lacks a function */
    JG_NVRTC_TOO_OLD,
    JG_NVRTC_NO_MEMORY
};

struct jg_nvrtc {
    int version;        /* 1000 * major + 10 * minor */
    char identity[128]; /* "13.0 build <id>": changes with every build of the library */
    struct jg_str path; /* of the loaded file */
    const struct jg_nvrtc_functions *functions;
};

/*
 * Opens one library. On anything but OPENED one clause is appended to `reason` and no error
 * record is written: the caller may have another place to try. The loaded library stays for
 * the life of the process.
 */
enum jg_nvrtc_open_result jg_nvrtc_open(const char *path, struct jg_nvrtc **ret_nvrtc,
                                        struct jg_str *reason);
/* Frees the handle, not the library. Accepts NULL. */
void jg_nvrtc_close(struct jg_nvrtc *nvrtc);

struct jg_nvrtc_input {
    const char *name; /* of the unit, in messages */
    const char *text;
    const char *const *header_names;
    const char *const *header_texts;
    int header_count;
    const char *const *options;
    int option_count;
    /* Asked now and then by the calling thread; true ends the compile, or if that does not
     * come about within a second, the wait for it. NULL: never. */
    bool (*is_over)(void *user);
    void *user;
    bool wants_ltoir; /* as the options say: `-dlto`; then nothing else is made */
};

struct jg_nvrtc_output {
    bool is_accepted;  /* the text compiled; otherwise only `log` is filled */
    bool is_cancelled; /* `is_over` ended it */
    bool is_at_root;   /* "/" was the thread's current folder; else it was the process's */
    /* `cubin` stays empty where the architecture is a virtual one ("compute_90a") */
    struct jg_str cubin, ptx, ltoir, log;
};

/* Compiles, on a thread with a large stack (base/task.h): the compiler recurses as deep as
 * the text is nested. A refused text is no failure: the log says why. Header texts live for
 * ever. Thread-safe. NO_COMPILER (the
 * library lacks a part of itself), INTERNAL, NO_MEMORY. */
jit_gemm_status jg_nvrtc_compile(const struct jg_nvrtc *nvrtc,
                                 const struct jg_nvrtc_input *input,
                                 struct jg_nvrtc_output *ret_output);
void jg_nvrtc_output_free(struct jg_nvrtc_output *output);

#endif
