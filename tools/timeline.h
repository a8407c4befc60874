/* SPDX-License-Identifier: MIT */
/* A trace of a launch as a picture: what each role of each CTA did when. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include <stdbool.h>
#include <stdio.h>

#include "jit_gemm/debug.h"

struct timeline {
    const char *problem, *config, *device;
    bool is_emulated;                   /* times are no times, unless */
    bool is_modelled;                   /* they are of the time model */
    const jit_gemm_trace_event *events; /* as jit_gemm_trace_attach lays them out */
    uint32_t ctas, events_a_track;
};

/* How many events there are. */
size_t timeline_count(const struct timeline *timeline);
/* Of its times: "ns", or what stands for them. */
const char *timeline_unit(const struct timeline *timeline);
/* Trace event format, which viewers of Chrome traces read: a process is a CTA, a thread is
 * a role. */
void timeline_write_json(const struct timeline *timeline, FILE *file);
/* A row for each role of each CTA that did something. */
void timeline_write_svg(const struct timeline *timeline, FILE *file);

#endif
