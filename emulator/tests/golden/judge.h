/* SPDX-License-Identifier: MIT */
/* Compares the outputs of a case with its golden record. */
#ifndef EMU_GOLDEN_JUDGE_H
#define EMU_GOLDEN_JUDGE_H

#include "store.h"

/* How many items (or blocks of items known by their hash) differ. The first `shown` of them
 * are printed with their inputs. */
unsigned gold_judge(const char *group, const struct gold_case *one, const uint8_t *output,
                    const struct gold_record *expected, unsigned shown);
/* "[index] inputs A B: " on stdout. */
void gold_print_item(const struct gold_case *one, unsigned item);
/* The parts of an item, in hex. */
void gold_print_parts(const struct gold_case *one, const uint8_t *bytes);

#endif
