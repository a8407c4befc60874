/* SPDX-License-Identifier: MIT */
/* For the tests of the PTX parser: texts in, modules out, instructions shown as text. */
#ifndef TEST_PTX_SUPPORT_H
#define TEST_PTX_SUPPORT_H

#include "ptx/ptx.h"

#define PTX_HEADER ".version 9.0\n.target sm_90a\n.address_size 64\n"

/* test_ptx_samples.c: texts that are accepted; 0 is for sm_90a, 1 for sm_100a. */
#define PTX_SAMPLE_COUNT 3
extern const char *const ptx_samples[PTX_SAMPLE_COUNT];

/* Parses a whole text; the test fails with the message when it is refused. */
struct ptx_module *parse_text(const char *text);
/* A text behind PTX_HEADER, whose first line is line 4. */
struct ptx_module *parse_module(const char *definitions);
/* The statements of an entry `k(.param .u64 out)` with registers %p<8> (predicates),
 * %r<16> (32 bits) and %rd<16> (64 bits). */
struct ptx_module *parse_body(const char *statements);

/* The message with which a text behind PTX_HEADER is refused. It lives until the next
 * call. The test fails when the text is accepted. */
const char *refusal_of_text(const char *text);
const char *refusal_of_module(const char *definitions);
/* The statements begin at 4:1 and stand in an entry with the registers of parse_body. */
const char *refusal_of_body(const char *statements);

/* An instruction of function 0: "@!%p1 ld.u32 %r1 [%rd2 + 4]". An integer is shown as
 * `#5`, a float by its bits as `f32:3f800000`, a variable as `&name+4`, a function as
 * `name()`, a label as `->3`, a special register as `<%tid.x>`. Lives until the next call.
 */
const char *show_insn(const struct ptx_module *module, uint32_t index);

const struct ptx_variable *find_variable(const struct ptx_module *module, const char *name);

/* Fails the test unless all indices and sizes of the module are in range. */
void expect_sound(const struct ptx_module *module);

#endif
