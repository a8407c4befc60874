/* SPDX-License-Identifier: MIT */
/* Whether all of a parsed module lies where it says, for tests and for the fuzzer. */
#ifndef EMU_TEST_PTX_SOUND_H
#define EMU_TEST_PTX_SOUND_H

#include "ptx/ptx.h"

/* NULL if all indices and sizes of the module are in range, else what is not. Static. */
const char *ptx_find_unsound(const struct ptx_module *module);

#endif
