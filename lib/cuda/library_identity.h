/* SPDX-License-Identifier: MIT */
/* Which file a loaded library is, and which build. */
#ifndef JG_CUDA_LIBRARY_IDENTITY_H
#define JG_CUDA_LIBRARY_IDENTITY_H

#include "base/str.h"

/* Appends the path of the loaded file, and what tells its build from every other: the build
 * id, or a hash of the file, or "unknown". */
void jg_library_identify(void *library, struct jg_str *path, struct jg_str *build);

#endif
