/* SPDX-License-Identifier: MIT */
/* PTX that loads and runs, and what becomes of it by mutation. */
#ifndef EMU_TESTS_FUZZ_IMAGES_H
#define EMU_TESTS_FUZZ_IMAGES_H

#include <stdint.h>

#define FUZZ_NAMES 4u
extern const char *const fuzz_names[FUZZ_NAMES]; /* of the kernels */

extern const char fuzz_kernels[];
/* Now and then as it is, mostly changed, sometimes something else. Lives until the next
 * call. `below` gives random numbers below its argument. */
const char *fuzz_image(uint32_t (*below)(uint32_t bound));

#endif
