/* SPDX-License-Identifier: MIT */
/* A context that leaves capsules, and a look into them. */
#ifndef CAPSULE_BENCH_H
#define CAPSULE_BENCH_H

#include "api/capsule.h"
#include "api_fixture.h"
#include "jit_gemm/capsule.h"

enum { CAPSULE_NAME_COUNT = JG_CAPSULE_FILE_COUNT + 1 };
extern const char *const capsule_names[CAPSULE_NAME_COUNT]; /* of a capsule's files */
/* A snippet that the dummy compiler breaks at, without a line of it. */
extern const char capsule_broken[];

struct capsule_bench {
    struct api_fixture fixture;
    char capsules[96]; /* in the fixture's folder; not made yet */
};

/* HOME is set, to a path with a blank. Anything that fails is a failed assertion. */
void capsule_set_up(struct capsule_bench *bench);
/* Registers a snippet of that name and file, and makes a kernel with it. */
jit_gemm_status capsule_create(jit_gemm_context *context, const char *name,
                               const char *source, const char *file, const char *text);
/* The same with the snippet that breaks, from a file in HOME. */
jit_gemm_status capsule_break_down(struct capsule_bench *bench);
/* Sets it up and breaks it down: the path of the one capsule that there is then. */
void capsule_leave(struct capsule_bench *bench, char *ret_path, size_t size);
/* Entries of a folder, but for "." and ".."; the last one's path is given. */
int capsule_list(const char *folder, char *ret_path, size_t size);
struct jg_str capsule_read_file(const char *folder, const char *name);
void capsule_write_file(const char *folder, const char *name, const char *bytes,
                        size_t size);
/* Has the file this text? */
void capsule_expect(const char *folder, const char *name, const char *text);
/* Replaces the first `from` of a file of a capsule. */
void capsule_edit(const char *folder, const char *name, const char *from, const char *to);
/* *ret_outcome is -1 after a failure. */
jit_gemm_status capsule_replay(struct capsule_bench *bench, const char *folder,
                               int *ret_outcome, char *report, size_t size);

#endif
