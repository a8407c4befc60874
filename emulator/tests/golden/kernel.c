/* SPDX-License-Identifier: MIT */
/* Pieces of the kernels that move blocks of shared memory. */
#include "kernel.h"

#include <stdarg.h>
#include <stdio.h>

void gold_kernel_begin(struct gold_kernel *kernel, unsigned maps, const char *declarations)
{
    struct gold_text *ptx = &kernel->ptx;

    gold_text_add(ptx, ".version 8.6\n.target sm_90a\n.address_size 64\n"
                       ".extern .shared .align 1024 .b8 sm[];\n"
                       ".visible .entry run(.param .u64 p_in, .param .u64 p_out,"
                       " .param .u32 p_count");
    for (unsigned i = 0; i < maps; i++) {
        gold_text_add(ptx, ", .param .align 128 .b8 p_map%u[128]", i);
    }
    gold_text_add(
        ptx,
        ")\n{\n    .shared .align 8 .b64 bar;\n"
        "    .reg .pred %%others, %%end, %%p<8>;\n"
        "    .reg .b32 %%lane, %%rank, %%sm, %%bar, %%i, %%at, %%word, %%r<16>;\n"
        "    .reg .b16 %%h;\n    .reg .b64 %%in, %%out, %%ptr, %%map0, %%map1, %%d<8>;\n");
    gold_text_add(ptx, "%s", declarations);
    gold_text_add(ptx,
                  "    ld.param.u64 %%in, [p_in];\n    ld.param.u64 %%out, [p_out];\n"
                  "    mov.u32 %%lane, %%tid.x;\n    mov.u32 %%rank, %%cluster_ctarank;\n"
                  "    mov.u32 %%sm, sm;\n    mov.u32 %%bar, bar;\n"
                  "    setp.ne.u32 %%others, %%lane, 0;\n");
    for (unsigned i = 0; i < maps; i++) {
        gold_text_add(
            ptx, "    mov.b64 %%map%u, p_map%u;\n    cvta.param.u64 %%map%u, %%map%u;\n", i,
            i, i, i);
    }
}

/* for (%i = %lane; %i < words; %i += 128) { %at = %sm + offset + 4 * %i; … } */
static unsigned open_loop(struct gold_kernel *kernel, unsigned offset, unsigned bytes)
{
    unsigned label = kernel->labels++;

    gold_text_add(&kernel->ptx,
                  "    mov.u32 %%i, %%lane;\nLOOP%u:\n    setp.ge.u32 %%end, %%i, %u;\n"
                  "    @%%end bra DONE%u;\n    mad.lo.u32 %%at, %%i, 4, %%sm;\n"
                  "    add.u32 %%at, %%at, %u;\n",
                  label, bytes / 4, label, offset);
    return label;
}

static void close_loop(struct gold_kernel *kernel, unsigned label)
{
    gold_text_add(
        &kernel->ptx,
        "    add.u32 %%i, %%i, %d;\n    bra LOOP%u;\nDONE%u:\n    bar.warp.sync -1;\n",
        GOLD_THREADS, label, label);
}

void gold_kernel_fill(struct gold_kernel *kernel, unsigned offset, unsigned bytes)
{
    unsigned label = open_loop(kernel, offset, bytes);

    gold_text_add(&kernel->ptx, "    st.shared.u32 [%%at], 0xCDCDCDCD;\n");
    close_loop(kernel, label);
}

void gold_kernel_read(struct gold_kernel *kernel, unsigned in_offset, unsigned offset,
                      unsigned bytes)
{
    unsigned label = open_loop(kernel, offset, bytes);

    gold_text_add(
        &kernel->ptx,
        "    mad.wide.u32 %%ptr, %%i, 4, %%in;\n"
        "    ld.global.u32 %%word, [%%ptr+%u];\n    st.shared.u32 [%%at], %%word;\n",
        in_offset);
    close_loop(kernel, label);
}

void gold_kernel_write(struct gold_kernel *kernel, unsigned offset, unsigned out_offset,
                       unsigned bytes, unsigned rank_bytes)
{
    unsigned label = open_loop(kernel, offset, bytes);

    gold_text_add(
        &kernel->ptx,
        "    ld.shared.u32 %%word, [%%at];\n    mad.wide.u32 %%ptr, %%i, 4, %%out;\n"
        "    mad.wide.u32 %%ptr, %%rank, %u, %%ptr;\n"
        "    st.global.u32 [%%ptr+%u], %%word;\n",
        rank_bytes, out_offset);
    close_loop(kernel, label);
}

void gold_kernel_ready(struct gold_kernel *kernel, bool cluster)
{
    gold_kernel_one(kernel, "    mbarrier.init.shared::cta.b64 [%%bar], 1;\n"
                            "    fence.mbarrier_init.release.cluster;\n");
    gold_text_add(&kernel->ptx, "    fence.proxy.async;\n    bar.sync 0;\n");
    if (cluster) {
        gold_text_add(&kernel->ptx, "    barrier.cluster.arrive.release.aligned;\n"
                                    "    barrier.cluster.wait.acquire.aligned;\n");
    }
}

void gold_kernel_one(struct gold_kernel *kernel, const char *format, ...)
{
    unsigned label = kernel->labels++;
    char piece[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(piece, sizeof(piece), format, args);
    va_end(args);
    gold_text_add(&kernel->ptx,
                  "    @%%others bra PASS%u;\n%sPASS%u:\n    bar.warp.sync -1;\n", label,
                  piece, label);
}

void gold_kernel_wait(struct gold_kernel *kernel, unsigned out_offset, unsigned rank_bytes)
{
    unsigned label = kernel->labels++;

    gold_text_add(&kernel->ptx,
                  "    mov.u32 %%i, 0;\nPOLL%u:\n"
                  "    mbarrier.test_wait.parity.shared::cta.b64 %%end, [%%bar], 0;\n"
                  "    @%%end bra SEEN%u;\n    add.u32 %%i, %%i, 1;\n"
                  "    setp.lt.u32 %%p7, %%i, 200000;\n    @%%p7 bra POLL%u;\nSEEN%u:\n"
                  "    bar.warp.sync -1;\n    selp.u32 %%word, 1, 0, %%end;\n"
                  "    mad.wide.u32 %%ptr, %%rank, %u, %%out;\n",
                  label, label, label, label, rank_bytes);
    gold_kernel_one(kernel, "    st.global.u32 [%%ptr+%u], %%word;\n", out_offset);
}

void gold_kernel_end(struct gold_kernel *kernel, bool cluster)
{
    if (cluster) {
        gold_text_add(&kernel->ptx, "    barrier.cluster.arrive.release.aligned;\n"
                                    "    barrier.cluster.wait.acquire.aligned;\n");
    }
    gold_text_add(&kernel->ptx, "    ret;\n}\n");
}
