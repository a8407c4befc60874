/* SPDX-License-Identifier: MIT */
/* The device that is planned for, as text. A choice of configs depends on it, and so do the
 * kernels that a machine without it has to build. */
#ifndef JG_PLAN_PLANNED_DEVICE_H
#define JG_PLAN_PLANNED_DEVICE_H

#include "base/device_facts.h"
#include "base/status.h"
#include "base/str.h"

/*
 * `h100`, or what jg_planned_device_print prints: `cc=9.0 sm_count=132 l2_bytes=52428800
 * memory_bytes_s=3352320000000 smem_bytes=232448`. Words behind a name replace what it
 * says; without a name all of them are needed. `field` is for the error. ARGUMENT.
 */
jit_gemm_status jg_planned_device_parse(const char *text, const char *field,
                                        struct jg_device_facts *ret_facts);

/* All facts that a choice depends on and a device has from the begin. */
void jg_planned_device_print(const struct jg_device_facts *facts, struct jg_str *out);

#endif
