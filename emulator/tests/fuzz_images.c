/* SPDX-License-Identifier: MIT */
#include "fuzz_images.h"

#include <stdio.h>
#include <string.h>

#define ROOM 16384u

const char *const fuzz_names[FUZZ_NAMES] = {"add", "copy", "tally", "load"};

const char fuzz_kernels[] =
    ".version 8.7\n.target sm_90\n.address_size 64\n"
    ".global .align 8 .u32 table[4] = {5, 6, 7};\n"
    ".const .align 4 .f32 half = 0f3F000000;\n"
    ".extern .shared .align 128 .b8 smem[];\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u32 count)\n.maxntid 1024, 1, 1\n"
    "{\n.reg .pred %p<3>;\n.reg .b32 %r<8>;\n.reg .b64 %d<6>;\n.reg .f32 %f<4>;\n"
    "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [count];\nsetp.ge.u32 %p1, %r1, %r2;\n"
    "@%p1 bra DONE;\nld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\n"
    "mul.wide.u32 %d3, %r1, 4;\nadd.s64 %d1, %d1, %d3;\nadd.s64 %d2, %d2, %d3;\n"
    "ld.global.f32 %f1, [%d1];\nld.const.f32 %f2, [half];\nfma.rn.f32 %f1, %f1, %f2, 0f40000000;\n"
    "st.global.f32 [%d2], %f1;\nDONE:\nret;\n}\n"
    ".visible .entry copy(.param .u64 from, .param .u64 to)\n"
    "{\n.local .align 8 .b8 local[32];\n.reg .b32 %r<6>;\n.reg .b64 %d<4>;\n.reg .pred %q;\n"
    "mov.u32 %r1, smem;\nld.param.u64 %d1, [from];\nld.param.u64 %d2, [to];\n"
    "cvta.to.global.u64 %d1, %d1;\nld.global.v2.u32 {%r2, %r3}, [%d1];\n"
    "st.shared.u32 [%r1+16], %r2;\nst.local.u32 [local+4], %r3;\nbar.sync 0;\n"
    "ld.shared.u32 %r4, [%r1+16];\nshfl.sync.bfly.b32 %r5|%q, %r4, 1, 31, -1;\n"
    "@%q st.global.u32 [%d2+8], %r5;\nbarrier.cluster.arrive.aligned;\n"
    "barrier.cluster.wait.aligned;\nret;\n}\n"
    ".visible .entry tally(.param .u64 to)\n"
    "{\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n.reg .pred %p;\nld.param.u64 %d1, [to];\n"
    "atom.global.add.u32 %r1, [%d1], 1;\nL:\nld.acquire.gpu.global.u32 %r2, [%d1];\n"
    "setp.eq.u32 %p, %r2, 0;\n@%p bra L;\nred.release.gpu.global.max.u32 [%d1+4], %r2;\n"
    "ld.global.u64 %d2, [table];\nst.global.u64 [%d1+8], %d2;\ngriddepcontrol.wait;\nret;\n}\n"
    ".visible .entry load(.param .align 64 .b8 map[128])\n"
    "{\n.reg .b32 %r<3>;\n.reg .b64 %d<3>;\n.reg .pred %p, %e;\nmov.u32 %r1, smem;\n"
    "mov.b64 %d1, map;\ncvta.param.u64 %d1, %d1;\nelect.sync _|%e, -1;\n"
    "@%e mbarrier.init.shared::cta.b64 [%r1], 1;\nfence.mbarrier_init.release.cluster;\n"
    "@%e mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;\n"
    "@%e cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[%r1+1024], [%d1, {0, 0}], [%r1];\nbar.sync 0;\n"
    "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p, [%r1], 0;\n@!%p bra W;\nret;\n}\n";

/* What mutations put in place of other text. */
static const char *const words[] = {
    "0",           "1",        "-1",          "4294967295", "18446744073709551615",
    "{",           "}",        "[",           ";",          ".b8",
    ".v4",         ".u64",     ".shared",     ".local",     ".global",
    "%r1",         "%d1",      "%p1",         "@%p1",       "bra L;",
    "L:",          ".reg",     "bar.sync 0;", "trap;",      "exit;",
    "ret;",        "[1024]",   "table",       "smem",       ".param",
    "%tid.x",      "%clock64", "0f7FC00000",  "99999",      "<2000>",
    ".align 65536"};

/* Takes `removed` bytes away at `at` and puts others there. */
static void replace(char *text, size_t at, size_t removed, const char *by, size_t added)
{
    size_t length = strlen(text);
    if (at + removed <= length && length - removed + added < ROOM) {
        memmove(text + at + added, text + at + removed, length - at - removed + 1);
        memcpy(text + at, by, added);
    }
}

/* Length of the word or number that begins there. */
static size_t word_length(const char *at)
{
    return strcspn(at + 1, " ,;[]{}()\n\t.+|") + 1;
}

static void mutate(char *text, uint32_t (*below)(uint32_t))
{
    uint32_t length = (uint32_t)strlen(text);
    if (length < 2) {
        return;
    }
    uint32_t at = below(length);
    uint32_t other = below(length);
    char byte = (char)below(256);
    switch (below(8)) {
    case 0:
        text[at] = byte == 0 ? ' ' : byte;
        break;
    case 1:
        replace(text, at, 1 + below(8), "", 0);
        break;
    case 2:
        text[at] = 0;
        break;
    case 3: {
        char piece[64];
        size_t size = 1 + below(sizeof(piece) - 1);
        size = other + size > length ? length - other : size;
        memcpy(piece, text + other, size);
        replace(text, at, 0, piece, size);
        break;
    }
    default: {
        const char *word = words[below(sizeof(words) / sizeof(words[0]))];
        replace(text, at, below(2) == 0 ? word_length(text + at) : 0, word, strlen(word));
    }
    }
}

const char *fuzz_image(uint32_t (*below)(uint32_t bound))
{
    static char text[ROOM];
    static const char *const others[] = {"", "\177ELF\002\001\001", "\x50\xED\x55\xBA",
                                         "hello"};
    if (below(20) == 0) {
        return others[below(4)];
    }
    snprintf(text, sizeof(text), "%s", fuzz_kernels);
    for (uint32_t left = below(5); left > 0; left--) {
        mutate(text, below);
    }
    return text;
}
