/* SPDX-License-Identifier: MIT */
/*
 * Copies that are not tensors: cp.async.bulk and its reductions between global memory,
 * shared memory and the shared memory of another CTA; and cp.async.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "kernel.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define REGION       1280 /* bytes of shared memory that are shown of a copy */
#define REDUCE_BYTES 512u

struct reduction {
    const char *operation; /* with its type */
    enum gold_format_id format;
};

static const struct reduction global_reductions[] = {
    {"add.u32", GOLD_FORMAT_S32},         {"add.s32", GOLD_FORMAT_S32},
    {"add.u64", GOLD_FORMAT_S32},         {"add.f32", GOLD_FORMAT_F32},
    {"add.f64", GOLD_FORMAT_S32},         {"add.noftz.f16", GOLD_FORMAT_F16},
    {"add.noftz.bf16", GOLD_FORMAT_BF16}, {"min.u32", GOLD_FORMAT_S32},
    {"max.u32", GOLD_FORMAT_S32},         {"min.s32", GOLD_FORMAT_S32},
    {"max.s32", GOLD_FORMAT_S32},         {"min.u64", GOLD_FORMAT_S32},
    {"max.u64", GOLD_FORMAT_S32},         {"min.s64", GOLD_FORMAT_S32},
    {"max.s64", GOLD_FORMAT_S32},         {"min.f16", GOLD_FORMAT_F16},
    {"max.f16", GOLD_FORMAT_F16},         {"min.bf16", GOLD_FORMAT_BF16},
    {"max.bf16", GOLD_FORMAT_BF16},       {"inc.u32", GOLD_FORMAT_S32},
    {"dec.u32", GOLD_FORMAT_S32},         {"and.b32", GOLD_FORMAT_S32},
    {"or.b32", GOLD_FORMAT_S32},          {"xor.b32", GOLD_FORMAT_S32},
    {"and.b64", GOLD_FORMAT_S32},         {"or.b64", GOLD_FORMAT_S32},
    {"xor.b64", GOLD_FORMAT_S32},
};
static const struct reduction shared_reductions[] = {
    {"add.u32", GOLD_FORMAT_S32}, {"add.s32", GOLD_FORMAT_S32},
    {"add.u64", GOLD_FORMAT_S32}, {"min.u32", GOLD_FORMAT_S32},
    {"max.u32", GOLD_FORMAT_S32}, {"min.s32", GOLD_FORMAT_S32},
    {"max.s32", GOLD_FORMAT_S32}, {"inc.u32", GOLD_FORMAT_S32},
    {"dec.u32", GOLD_FORMAT_S32}, {"and.b32", GOLD_FORMAT_S32},
    {"or.b32", GOLD_FORMAT_S32},  {"xor.b32", GOLD_FORMAT_S32},
};

#define EXPECT "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], "
#define DONE   ".mbarrier::complete_tx::bytes"

/* Copies into shared memory by thread 0; the cluster has as many CTAs as it says. */
static const struct {
    const char *name;
    unsigned ranks;
    const char *ptx;
} loads[] = {
    {"load.16", 1,
     EXPECT "16;\n    cp.async.bulk.shared::cluster.global" DONE
            " [%sm], [%in], 16, [%bar];\n"},
    {"load.48", 1,
     "    add.u32 %r0, %sm, 80;\n    add.u64 %d0, %in, 32;\n" EXPECT
     "48;\n    cp.async.bulk.shared::cluster.global" DONE " [%r0], [%d0], 48, [%bar];\n"},
    {"load.1024", 1,
     EXPECT "1024;\n    cp.async.bulk.shared::cluster.global" DONE
            " [%sm], [%in], 1024, [%bar];\n"},
    {"load.before_expect", 1,
     "    cp.async.bulk.shared::cluster.global" DONE " [%sm], [%in], 512, [%bar];\n" EXPECT
     "512;\n"},
    {"load.two", 1,
     "    add.u32 %r0, %sm, 256;\n    mov.u32 %r1, 160;\n" EXPECT
     "288;\n    cp.async.bulk.shared::cluster.global" DONE " [%sm], [%in], 128, [%bar];\n"
     "    cp.async.bulk.shared::cluster.global" DONE " [%r0], [%in], %r1, [%bar];\n"},
    {"load.prefetched", 1,
     "    cp.async.bulk.prefetch.L2.global [%in], 256;\n" EXPECT
     "256;\n    cp.async.bulk.shared::cluster.global" DONE " [%sm], [%in], 256, [%bar];\n"},
    /* each CTA sends its own part to both */
    {"load.multicast", 2,
     "    mad.lo.u32 %r0, %rank, 512, %sm;\n    mad.wide.u32 %d0, %rank, 512, %in;\n"
     "    mov.b16 %h, 3;\n" EXPECT "1024;\n    cp.async.bulk.shared::cluster.global" DONE
     ".multicast::cluster [%r0], [%d0], 512, [%bar], %h;\n"},
    /* each CTA sends the other what it was given: 512 bytes at 0, to 640 */
    {"send", 2,
     "    xor.b32 %r0, %rank, 1;\n    add.u32 %r1, %sm, 640;\n"
     "    mapa.shared::cluster.u32 %r1, %r1, %r0;\n"
     "    mapa.shared::cluster.u32 %r2, %bar, %r0;\n" EXPECT
     "512;\n    cp.async.bulk.shared::cluster.shared::cta" DONE
     " [%r1], [%sm], 512, [%r2];\n"},
};

/* cp.async by every thread: thread t copies to %r0 = 16 t from %d0 = 16 t of the input. */
#define CP ".shared.global [%r0], [%d0], "
static const struct {
    const char *name, *ptx;
} small_copies[] = {
    {"cp_async.ca.4", "cp.async.ca" CP "4; cp.async.commit_group; cp.async.wait_group 0;"},
    {"cp_async.ca.8", "cp.async.ca" CP "8; cp.async.commit_group; cp.async.wait_group 0;"},
    {"cp_async.ca.16",
     "cp.async.ca" CP "16; cp.async.commit_group; cp.async.wait_group 0;"},
    {"cp_async.cg.16", "cp.async.cg" CP "16; cp.async.wait_all;"},
    {"cp_async.ca.8.of_4", "mov.u32 %r1, 4; cp.async.ca" CP "8, %r1; cp.async.wait_all;"},
    {"cp_async.cg.16.partial",
     "and.b32 %r1, %lane, 15; cp.async.cg" CP "16, %r1; cp.async.wait_all;"},
    {"cp_async.ca.4.partial",
     "and.b32 %r1, %lane, 3; cp.async.ca" CP "4, %r1; cp.async.wait_all;"},
    {"cp_async.cg.16.of_0", "mov.u32 %r1, 0; cp.async.cg" CP "16, %r1; cp.async.wait_all;"},
    {"cp_async.ignore", "and.b32 %r1, %lane, 1; setp.ne.u32 %p0, %r1, 0; cp.async.cg" CP
                        "16, %p0; cp.async.wait_all;"},
    {"cp_async.two_groups",
     "cp.async.ca" CP "8; cp.async.commit_group; add.u32 %r0, %r0, 8; add.u64 %d0, %d0, 8; "
     "cp.async.ca" CP
     "8; cp.async.commit_group; cp.async.wait_group 1; cp.async.wait_group 0;"},
    /* the barrier was made for one arrival: thread 0 brings 127 more by the form that
       counts */
    {"cp_async.mbarrier",
     "cp.async.cg" CP "16; cp.async.mbarrier.arrive.shared::cta.b64 [%bar]; bar.sync 0;"},
};

static void run_kernel(struct gold_run *run, const char *name, struct gold_kernel *kernel,
                       struct gold_case *one)
{
    one->name = name;
    one->ptx = kernel->ptx.text;
    one->grid = one->cluster;
    one->block = GOLD_THREADS;
    one->item_bytes = one->part_bytes = 4;
    one->full_items = 16;
    one->block_items = 32;
    gold_case_run(run, one);
    free(kernel->ptx.text);
}

static void run_load(struct gold_run *run, size_t index)
{
    bool cluster = loads[index].ranks > 1;
    struct gold_kernel kernel = {{0}, 0};
    struct gold_case one;
    void *input = gold_values_draw(loads[index].name, &gold_formats[GOLD_FORMAT_S32], 1024);

    memset(&one, 0, sizeof(one));
    gold_kernel_begin(&kernel, 0, "");
    gold_kernel_fill(&kernel, 0, REGION);
    if (strcmp(loads[index].name, "send") == 0) {
        gold_text_add(&kernel.ptx,
                      "    bar.sync 0;\n    mad.wide.u32 %%in, %%rank, 512, %%in;\n");
        gold_kernel_read(&kernel, 0, 0, 512);
    }
    gold_kernel_ready(&kernel, cluster);
    gold_kernel_one(&kernel, "%s", loads[index].ptx);
    gold_kernel_wait(&kernel, REGION, REGION + 4);
    gold_kernel_write(&kernel, 0, 0, REGION, REGION + 4);
    gold_kernel_end(&kernel, cluster);
    one.input = input;
    one.input_bytes = 1024;
    one.cluster = loads[index].ranks;
    one.items = loads[index].ranks * (REGION / 4 + 1);
    one.row_items = REGION / 4 + 1;
    one.shared_bytes = REGION;
    run_kernel(run, loads[index].name, &kernel, &one);
    free(input);
}

/* `operation`: NULL to copy. 16 bytes on either side stay as they are. */
static void run_to_global(struct gold_run *run, const char *name, const char *operation,
                          enum gold_format_id format, unsigned bytes)
{
    struct gold_kernel kernel = {{0}, 0};
    struct gold_case one;
    void *input = gold_values_draw(name, &gold_formats[format], bytes);
    void *first = gold_values_draw("first", &gold_formats[format], bytes + 32);

    memset(&one, 0, sizeof(one));
    gold_kernel_begin(&kernel, 0, "");
    gold_kernel_read(&kernel, 0, 0, bytes);
    gold_kernel_ready(&kernel, false);
    gold_kernel_one(
        &kernel,
        "    add.u64 %%d0, %%out, 16;\n"
        "    cp.%sasync.bulk.global.shared::cta.bulk_group%s%s [%%d0], [%%sm], %u;\n"
        "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n",
        operation == NULL ? "" : "reduce.", operation == NULL ? "" : ".",
        operation == NULL ? "" : operation, bytes);
    gold_kernel_end(&kernel, false);
    one.input = input;
    one.input_bytes = bytes;
    one.initial = first;
    one.cluster = 1;
    one.items = bytes / 4 + 8;
    one.shared_bytes = bytes;
    run_kernel(run, name, &kernel, &one);
    free(input);
    free(first);
}

/* Each CTA reduces its first bytes into the second bytes of the other. */
static void run_to_shared(struct gold_run *run, const struct reduction *reduction)
{
    struct gold_kernel kernel = {{0}, 0};
    struct gold_case one;
    char name[64];

    snprintf(name, sizeof(name), "shared.%s", reduction->operation);
    void *input =
        gold_values_draw(name, &gold_formats[reduction->format], 3 * REDUCE_BYTES);
    memset(&one, 0, sizeof(one));
    gold_kernel_begin(&kernel, 0, "");
    gold_text_add(&kernel.ptx, "    mad.wide.u32 %%in, %%rank, %u, %%in;\n", REDUCE_BYTES);
    gold_kernel_read(&kernel, 0, 0, 2 * REDUCE_BYTES);
    gold_kernel_ready(&kernel, true);
    gold_kernel_one(&kernel,
                    "    xor.b32 %%r0, %%rank, 1;\n    add.u32 %%r1, %%sm, %u;\n"
                    "    mapa.shared::cluster.u32 %%r1, %%r1, %%r0;\n"
                    "    mapa.shared::cluster.u32 %%r2, %%bar, %%r0;\n"
                    "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%bar], %u;\n"
                    "    cp.reduce.async.bulk.shared::cluster.shared::cta" DONE
                    ".%s [%%r1], [%%sm], %u, [%%r2];\n",
                    REDUCE_BYTES, REDUCE_BYTES, reduction->operation, REDUCE_BYTES);
    gold_kernel_wait(&kernel, 2 * REDUCE_BYTES, 2 * REDUCE_BYTES + 4);
    gold_kernel_write(&kernel, 0, 0, 2 * REDUCE_BYTES, 2 * REDUCE_BYTES + 4);
    gold_kernel_end(&kernel, true);
    one.input = input;
    one.input_bytes = 3 * REDUCE_BYTES;
    one.cluster = 2;
    one.items = 2 * (2 * REDUCE_BYTES / 4 + 1);
    one.row_items = one.items / 2;
    one.shared_bytes = 2 * REDUCE_BYTES;
    run_kernel(run, name, &kernel, &one);
    free(input);
}

static void run_small_copy(struct gold_run *run, size_t index)
{
    unsigned bytes = 16 * GOLD_THREADS;
    struct gold_kernel kernel = {{0}, 0};
    struct gold_case one;
    void *input =
        gold_values_draw(small_copies[index].name, &gold_formats[GOLD_FORMAT_S32], bytes);

    memset(&one, 0, sizeof(one));
    gold_kernel_begin(&kernel, 0, "");
    gold_kernel_fill(&kernel, 0, bytes);
    gold_kernel_ready(&kernel, false);
    gold_text_add(&kernel.ptx,
                  "    mad.lo.u32 %%r0, %%lane, 16, %%sm;\n"
                  "    mad.wide.u32 %%d0, %%lane, 16, %%in;\n    %s\n",
                  small_copies[index].ptx);
    /* cp.async.mbarrier.arrive has added its own arrival: this one completes the phase. */
    gold_kernel_one(&kernel, "    mbarrier.arrive.shared::cta.b64 _, [%%bar];\n");
    gold_kernel_wait(&kernel, bytes, 0);
    gold_text_add(&kernel.ptx, "    bar.sync 0;\n");
    gold_kernel_write(&kernel, 0, 0, bytes, 0);
    gold_kernel_end(&kernel, false);
    one.input = input;
    one.input_bytes = bytes;
    one.cluster = 1;
    one.items = bytes / 4 + 1;
    one.shared_bytes = bytes;
    run_kernel(run, small_copies[index].name, &kernel, &one);
    free(input);
}

void gold_bulk_cases(struct gold_run *run)
{
    char name[64];

    for (size_t i = 0; i < COUNT(loads); i++) {
        run_load(run, i);
    }
    run_to_global(run, "store.16", NULL, GOLD_FORMAT_S32, 16);
    run_to_global(run, "store.1008", NULL, GOLD_FORMAT_S32, 1008);
    for (size_t i = 0; i < COUNT(global_reductions); i++) {
        snprintf(name, sizeof(name), "global.%s", global_reductions[i].operation);
        run_to_global(run, name, global_reductions[i].operation,
                      global_reductions[i].format, REDUCE_BYTES);
    }
    for (size_t i = 0; i < COUNT(shared_reductions); i++) {
        run_to_shared(run, &shared_reductions[i]);
    }
    for (size_t i = 0; i < COUNT(small_copies); i++) {
        run_small_copy(run, i);
    }
}
