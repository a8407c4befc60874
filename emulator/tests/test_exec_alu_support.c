/* SPDX-License-Identifier: MIT */
#include "test_exec_alu_support.h"

#include <stdio.h>
#include <string.h>

enum { KERNEL_BYTES = 8192, SOME_LANES = 0x5A0F8001 };

static const char registers[] =
    ".reg .b64 %A, %B, %C, %D, %E, %in, %out, %x; .reg .b32 %a, %b, %c, %d, %e, %t;"
    ".reg .b16 %ha, %hb, %hc, %hd; .reg .b128 %Q; .reg .pred %p, %q, %r, %skip;\n";

static void write_kernel(char *text, const char *target, const char *body)
{
    const int length = snprintf(
        text, KERNEL_BYTES,
        ".version 9.0\n.target %s\n.address_size 64\n"
        ".visible .entry kernel(.param .u64 in, .param .u64 out, .param .u32 lanes) {\n%s"
        "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; ld.param.u32 %%e, [lanes];\n"
        "ld.global.u64 %%A, [%%in]; ld.global.u64 %%B, [%%in+8]; ld.global.u64 %%C, "
        "[%%in+16];\n"
        "cvt.u32.u64 %%a, %%A; cvt.u32.u64 %%b, %%B; cvt.u32.u64 %%c, %%C;\n"
        "cvt.u16.u64 %%ha, %%A; cvt.u16.u64 %%hb, %%B; cvt.u16.u64 %%hc, %%C;\n"
        "and.b32 %%d, %%c, 1; setp.ne.u32 %%r, %%d, 0;\n"
        "mov.u32 %%t, %%tid.x; shr.u32 %%e, %%e, %%t; and.b32 %%e, %%e, 1;\n"
        "setp.eq.u32 %%skip, %%e, 0; mov.b32 %%d, 0; mov.b32 %%e, 0; mov.b16 %%hd, 0;\n"
        "mov.b64 %%D, 0; mov.b64 %%E, 0; mov.pred %%p, 0; mov.pred %%q, 0;\n"
        "@%%skip bra END;\n%s\nEND:\n"
        "cvt.u64.u32 %%x, %%d; or.b64 %%D, %%D, %%x; cvt.u64.u16 %%x, %%hd;\n"
        "or.b64 %%D, %%D, %%x; selp.b64 %%x, 1, 0, %%p; or.b64 %%D, %%D, %%x;\n"
        "selp.b64 %%x, 2, 0, %%q; or.b64 %%D, %%D, %%x;\n"
        "mul.wide.u32 %%x, %%t, 8; add.s64 %%out, %%out, %%x; st.global.u64 [%%out], %%D;\n"
        "ret; }\n",
        target, registers, body);
    cr_assert(length < KERNEL_BYTES);
}

bool alu_run(struct harness *h, const struct alu_case *one, uint32_t lanes,
             unsigned undefined, uint64_t results[32])
{
    char text[KERNEL_BYTES];
    const uint64_t inputs[3] = {one->a, one->b, one->c};
    write_kernel(text, "sm_100a", one->body);
    harness_open(h);
    harness_load(h, text);
    const uint64_t in = harness_buffer(h, "in", sizeof(inputs), NULL);
    for (size_t i = 0; i < 3; i++) {
        if ((undefined >> i & 1) == 0) {
            cr_assert(
                emu_memory_write(h->memory, in + i * sizeof(inputs[0]), &inputs[i], 8));
        }
    }
    memset(results, 0xEE, 32 * sizeof(*results));
    const uint64_t out = harness_buffer(h, "out", 32 * sizeof(*results), results);
    harness_param_u64(h, in);
    harness_param_u64(h, out);
    harness_param_u32(h, lanes);
    const bool good = harness_run(h, 1, 32);
    harness_read(h, out, results, 32 * sizeof(*results));
    return good;
}

static void check_one(const struct alu_case *one, uint32_t lanes)
{
    struct harness h;
    uint64_t results[32];
    cr_assert(alu_run(&h, one, lanes, 0, results), "%s: %s", one->body, harness_text(&h));
    for (unsigned lane = 0; lane < 32; lane++) {
        const uint64_t expect = (lanes >> lane & 1) != 0 ? one->expect : 0;
        cr_expect_eq(results[lane], expect,
                     "%s a=%llx b=%llx c=%llx: lane %u of %08x gives %llx, not %llx",
                     one->body, (unsigned long long)one->a, (unsigned long long)one->b,
                     (unsigned long long)one->c, lane, lanes,
                     (unsigned long long)results[lane], (unsigned long long)expect);
    }
    harness_close(&h);
}

void alu_check(const struct alu_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_one(&cases[i], 0xFFFFFFFF);
        check_one(&cases[i], SOME_LANES);
    }
}

const char *alu_refusal(const char *target, const char *body)
{
    static char error[1024];
    char text[KERNEL_BYTES];
    struct harness h;
    write_kernel(text, target, body);
    harness_open(&h);
    const bool loaded = harness_try_load(&h, text);
    memcpy(error, loaded ? "" : h.error.text, loaded ? 1 : sizeof(error));
    harness_close(&h);
    return error;
}
