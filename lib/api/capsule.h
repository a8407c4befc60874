/* SPDX-License-Identifier: MIT */
/*
 * A capsule: a folder of text files that a failing compile, load or launch leaves, so that
 * somebody else can make the same kernel and see the same error.
 *
 *     capsule.txt        a line for each field, a line for each other file with its bytes,
 *                        and "end"
 *     problem.manifest   the problem and its epilogue, as prewarm reads them
 *     unit.cu            the source unit
 *     log.txt            the compiler's log; empty where it has not failed
 *     error.txt          the error's text
 *     launch.txt         what a launch was given; empty where none has failed
 *
 * The snippet stands under its epilogue's name instead of its file's, and absolute paths in
 * log and error are "<path>".
 */
#ifndef JG_API_CAPSULE_H
#define JG_API_CAPSULE_H

#include "api/context.h"
#include "jit_gemm/launch.h"

/* Most capsules of a folder, and most bytes of a file of one. */
enum { JG_CAPSULE_MOST = 16, JG_CAPSULE_MOST_BYTES = 16 << 20 };

/* Lines of capsule.txt, in this order. */
enum jg_capsule_field {
    JG_CAPSULE_STATUS,  /* of the call: COMPILE, INTERNAL, LOAD, LAUNCH */
    JG_CAPSULE_LIBRARY, /* its version */
    JG_CAPSULE_SOURCE_FORMAT,
    JG_CAPSULE_HEADERS,  /* digest of the device sources, in hexadecimal */
    JG_CAPSULE_COMPILER, /* signature, as in the key: name, version, build, options; or
                            none, where a kernel of the cache was loaded */
    JG_CAPSULE_DRIVER,   /* CUDA version, or none */
    JG_CAPSULE_DEVICE,   /* name and architecture, or none */
    JG_CAPSULE_ARCH,
    JG_CAPSULE_KIND,    /* cubin, ptx */
    JG_CAPSULE_OPTIONS, /* of the compile, but the architecture */
    JG_CAPSULE_ENTRY,
    JG_CAPSULE_KEY, /* of the kernel in the cache, in hexadecimal */
    JG_CAPSULE_TEXT,
    JG_CAPSULE_FIELD_COUNT
};

enum jg_capsule_file {
    JG_CAPSULE_MANIFEST,
    JG_CAPSULE_UNIT,
    JG_CAPSULE_LOG,
    JG_CAPSULE_ERROR,
    JG_CAPSULE_LAUNCH,
    JG_CAPSULE_FILE_COUNT
};

struct jg_capsule {
    struct jg_str fields[JG_CAPSULE_FIELD_COUNT];
    struct jg_str files[JG_CAPSULE_FILE_COUNT];
};

void jg_capsule_free(struct jg_capsule *capsule);

/* What became of one that was to be left. */
enum jg_capsule_result {
    JG_CAPSULE_LEFT,
    JG_CAPSULE_THERE, /* one of this name is */
    JG_CAPSULE_FULL,  /* the folder has JG_CAPSULE_MOST */
    JG_CAPSULE_FAILED
};

/* What a text must not tell. All may be NULL. */
struct jg_capsule_private {
    const struct jg_epilogue *epilogue; /* the name of its file becomes its own name */
    const char *paths[5];               /* that may have blanks in them */
};
/* What texts of this context must not tell. It borrows all of them. */
struct jg_capsule_private jg_capsule_hide(const jit_gemm_context *context,
                                          const struct jg_epilogue *epilogue,
                                          const char *compiler_path);
/* Appends the text without them, and without other absolute paths. */
void jg_capsule_clean(const struct jg_capsule_private *hidden, const char *text,
                      struct jg_str *out);

/* A kernel that could not be built, loaded or launched. Borrowed for the call. */
struct jg_capsule_failure {
    const struct jg_builder *builder;
    const struct jg_arch *arch;
    const struct jg_source *source;
    const char *text;                 /* of the problem, or of a kernel beside products */
    const struct jg_problem *problem; /* NULL: no product's */
    const struct jg_choice *choice;   /* of the problem */
    const char *key; /* of the code that is there; NULL: its build failed */
};
/*
 * After a build or, with `key`, a load that failed with `status`: leaves a capsule, if the
 * context has a folder for them and it is an error that one is left of. Trouble is a line
 * of the log. The error stays the thread's.
 */
void jg_capsule_leave(const jit_gemm_context *context,
                      const struct jg_capsule_failure *failure, jit_gemm_status status);

/* Does a load that failed with `status` leave one? Then the thread's error is taken, for
 * jg_error_restore, while the unit is made once more. */
bool jg_capsule_takes_load(const jit_gemm_context *context, jit_gemm_status status,
                           jit_gemm_diagnostics **ret_error);

/* What a handle keeps, to leave a capsule when a launch of it fails: the context may be
 * gone by then. */
struct jg_capsule_kept;
/* NULL if the context has no folder for capsules, or there is trouble, which is a line of
 * the log; the thread has no error of it. `failure` has a key. */
struct jg_capsule_kept *jg_capsule_keep(const jit_gemm_context *context,
                                        const struct jg_capsule_failure *failure);
/*
 * After a launch that failed with `status`: leaves a capsule if it is LAUNCH. The thread's
 * error gets a warning that says where it lies, or why there is none. Any thread, `kept`
 * does not change; NULL is accepted.
 */
void jg_capsule_leave_launch(const struct jg_capsule_kept *kept, const jit_gemm_args *args,
                             jit_gemm_status status);
/* Accepts NULL. */
void jg_capsule_kept_destroy(struct jg_capsule_kept *kept);

/* Fills what tells of the kernel: all but status, log, error and launch. `hidden` borrows
 * from context and failure. */
jit_gemm_status jg_capsule_fill_kernel(const jit_gemm_context *context,
                                       const struct jg_capsule_failure *failure,
                                       struct jg_capsule *capsule,
                                       struct jg_capsule_private *hidden);
/* Writes a capsule that is filled, and appends a sentence on what became of it. */
void jg_capsule_put(const char *folder, const struct jg_capsule *capsule,
                    struct jg_str *line);

/* --------------------------------------------------------------------------- on disk */

/*
 * Writes <folder>/capsule-<name>, whole or not at all. The folder is made if it is not
 * there; it must be the user's and nobody else's to write in. FAILED appends to `reason`.
 */
enum jg_capsule_result jg_capsule_write(const char *folder, const char *name,
                                        const struct jg_capsule *capsule,
                                        struct jg_str *reason);
/* Capsules in a folder; -1, with a reason appended, if it cannot be used. A folder that is
 * not there has none. */
int jg_capsule_count(const char *folder, struct jg_str *reason);
/*
 * Reads one. ARGUMENT (it is damaged, or no capsule; the error names file and line),
 * VERSION, IO, NO_MEMORY. Free it with jg_capsule_free.
 */
jit_gemm_status jg_capsule_read(const char *path, struct jg_capsule *ret_capsule);

#endif
