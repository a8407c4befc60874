/* SPDX-License-Identifier: MIT */
/* What the tests of synchronisation and copies have in common. */
#ifndef EMU_TESTS_TEST_ASYNC_SUPPORT_H
#define EMU_TESTS_TEST_ASYNC_SUPPORT_H

#include "harness.h"

/*
 * A kernel with registers to spare. %r0 is the thread, %r1 the address of the dynamic
 * shared memory, %p0 is true in thread 0 only, %rd0 is parameter `out`.
 */
#define KERNEL_WITH(params, body)                                                    \
    ".version 8.7\n.target sm_100a\n.address_size 64\n"                              \
    ".extern .shared .align 1024 .b8 smem[];\n"                                      \
    ".visible .entry k(.param .u64 out" params ")\n{\n"                              \
    ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n" \
    ".reg .f32 %f<16>;\n.reg .b128 %q<4>;\n"                                         \
    "mov.u32 %r0, %tid.x;\nmov.u32 %r1, smem;\nsetp.eq.u32 %p0, %r0, 0;\n"           \
    "ld.param.u64 %rd0, [out];\n" body "ret;\n}\n"
#define KERNEL(body) KERNEL_WITH("", body)
/* A tensor map as the second parameter; %rd1 is its generic address. */
#define KERNEL_MAP(body)                           \
    KERNEL_WITH(", .param .align 64 .b8 map[128]", \
                "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\n" body)

/* Thread 0 makes an mbarrier at %r1 + offset; everybody meets. */
#define INIT(offset, count)                                               \
    "@%p0 mbarrier.init.shared::cta.b64 [%r1+" #offset "], " #count ";\n" \
    "fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
/* Waits for a phase by parity; the label must be unique. */
#define WAIT(label, offset, parity)                                                       \
    label ":\nmbarrier.try_wait.parity.shared::cta.b64 %p15, [%r1+" #offset "], " #parity \
          ";\n@!%p15 bra " label ";\n"
/* Copies `words` 32-bit words of dynamic shared memory from `offset` to out, thread 0. */
#define DUMP(label, offset, words)                                                   \
    "@!%p0 bra " label "_end;\nmov.u32 %r60, 0;\nmov.u64 %rd60, %rd0;\n" label ":\n" \
    "shl.b32 %r61, %r60, 2;\nadd.u32 %r61, %r61, %r1;\n"                             \
    "ld.shared.u32 %r62, [%r61+" #offset "];\nst.global.u32 [%rd60], %r62;\n"        \
    "add.u64 %rd60, %rd60, 4;\nadd.u32 %r60, %r60, 1;\n"                             \
    "setp.lt.u32 %p14, %r60, " #words ";\n@%p14 bra " label ";\n" label "_end:\n"

/* Opens the harness, loads the kernel, and gives it `out_bytes` of output. */
uint64_t async_open(struct harness *h, const char *ptx, uint64_t out_bytes);

/* A tensor map; arrays of `rank` (strides: rank - 1, bytes). */
struct async_map {
    unsigned type, rank;
    uint64_t base;
    uint64_t dims[5], strides[4];
    uint32_t box[5], element_strides[5]; /* element strides of 0 mean 1 */
    unsigned swizzle, fill;
};
/* Encodes it and passes it as the next parameter. */
void async_param_map(struct harness *h, const struct async_map *map);

/* Expects a run to fail with this finding and a text that holds `words`. */
void async_expect_error(struct harness *h, enum emu_finding finding, const char *words);
/* Expects no finding of warning or error. */
void async_expect_clean(struct harness *h);

/* Calls run(context, settings) for each asynchrony, schedule, and two seeds. */
void async_in_all_modes(void (*run)(const struct emu_settings *settings));

#endif
