/* SPDX-License-Identifier: MIT */
/*
 * One instruction (or a few) at a time: a case is a piece of PTX, its inputs and what must
 * come out.
 *
 * Sources: %A, %B, %C are the 64-bit inputs, %a, %b, %c their low 32 and %ha, %hb, %hc
 * their low 16 bits; %r is a predicate, bit 0 of c. Destinations begin as zero: %D, %E (64
 * bits), %d, %e (32), %hd (16), %p, %q. The result is all of %D, %d, %hd, %p and 2 × %q,
 * or-ed.
 */
#ifndef EMU_TESTS_TEST_EXEC_ALU_SUPPORT_H
#define EMU_TESTS_TEST_EXEC_ALU_SUPPORT_H

#include <criterion/criterion.h>

#include "harness.h"

struct alu_case {
    const char *body;
    uint64_t a, b, c;
    uint64_t expect;
};

#define F32_ONE  0x3F800000u
#define F32_TWO  0x40000000u
#define F32_INF  0x7F800000u
#define F32_NAN  0x7FFFFFFFu /* what the hardware gives */
#define F32_SIGN 0x80000000u
#define F64_ONE  UINT64_C(0x3FF0000000000000)
#define F64_SIGN UINT64_C(0x8000000000000000)
#define F64_INF  UINT64_C(0x7FF0000000000000)

/* Runs each case in a whole warp, and again in some lanes only; the others must keep what
 * they have. */
void alu_check(const struct alu_case *cases, size_t count);
#define ALU_CHECK(cases) alu_check(cases, sizeof(cases) / sizeof(cases)[0])

/* The kernel around a body, with inputs from a buffer. `undefined`: bits 0, 1, 2 leave a,
 * b, c undefined. True when it ran without a finding; results by lane. */
bool alu_run(struct harness *h, const struct alu_case *one, uint32_t lanes,
             unsigned undefined, uint64_t results[32]);

/* The error with which a body is refused for a target; "" when it is not. The text lives
 * until the next call. */
const char *alu_refusal(const char *target, const char *body);

#endif
