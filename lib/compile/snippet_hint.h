/* SPDX-License-Identifier: MIT */
/* What to do about a compiler's complaint on a snippet. Pure. */
#ifndef JG_COMPILE_SNIPPET_HINT_H
#define JG_COMPILE_SNIPPET_HINT_H

#include "base/str.h"
#include "plan/epilogue.h"

/* Appends the remedy for a message, where a common cause is recognised. `at` points to the
 * place in the snippet that the message speaks of, or is NULL. */
void jg_snippet_hint(const struct jg_epilogue *epilogue, const char *message,
                     const char *at, struct jg_str *out);

#endif
