/* SPDX-License-Identifier: MIT */
/* A CUDA driver that is opened by path, and one device of it. */
#ifndef EMU_GOLDEN_DEVICE_H
#define EMU_GOLDEN_DEVICE_H

#include "golden.h"

struct gold_device;

/* `ordinal` < 0: the first device of compute capability 9.0. NULL: said on stderr. */
struct gold_device *gold_device_open(const char *driver_path, int ordinal);
void gold_device_close(struct gold_device *device);
/* "NAME, driver 13000" */
const char *gold_device_text(const struct gold_device *device);
/* Runs the case into `output` (items x item_bytes bytes). False: what failed is in `error`;
 * a context that a fault has spoilt has been made anew, if the driver can do that. */
bool gold_device_run(struct gold_device *device, const struct gold_case *one, void *output,
                     char *error, size_t error_bytes);
/* False when a fault could not be cleared: nothing more can run. */
bool gold_device_usable(const struct gold_device *device);

#endif
