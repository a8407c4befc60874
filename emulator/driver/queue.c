/* SPDX-License-Identifier: MIT */
/*
 * Launches that wait. A launch that was accepted waits in its stream's queue until the next
 * call of the API that could see what it has done: so a following launch of the same stream
 * may still join it, if it is a programmatic dependent, though its tensor maps are made in
 * between, and nobody can see that nothing has run yet.
 * What goes wrong while a grid runs is not the launch's result: it becomes the context's
 * sticky error, as on a device.
 */
#include <stdio.h>

#include "driver/launch.h"
#include "exec/coverage.h"

/* What a device would answer to the first thing that went wrong. */
static CUresult result_of(enum emu_finding finding)
{
    switch (finding) {
    case EMU_FINDING_UNSUPPORTED:
        return CUDA_ERROR_NOT_SUPPORTED;
    case EMU_FINDING_OUT_OF_BOUNDS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case EMU_FINDING_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case EMU_FINDING_DEADLOCK:
    case EMU_FINDING_NO_PROGRESS:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case EMU_FINDING_DIVERGENCE:
    case EMU_FINDING_DESCRIPTOR:
    case EMU_FINDING_ILLEGAL:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default:
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

/* What lets a launch pass that failed with formal errors only: `allow` with all kinds. */
static void describe_way_out(struct emu_reports *reports, struct emu_text *text)
{
    bool is_formal = true;
    struct emu_text kinds = {0};
    for (unsigned i = 0; i < EMU_FINDING_COUNT; i++) {
        const enum emu_finding finding = (enum emu_finding)i;
        if (emu_reports_has_error(reports, finding)) {
            is_formal = is_formal && emu_finding_is_formal(finding);
            emu_text_add(&kinds, "%s%s", emu_text_get(&kinds)[0] == '\0' ? "" : ",",
                         emu_finding_name(finding));
        }
    }
    if (is_formal) {
        emu_text_add(text, "; to have its results, run it with JIT_GEMM_EMULATOR=allow=%s",
                     emu_text_get(&kinds));
    }
    emu_text_free(&kinds);
}

/* What is known of one launch after it was run. */
static void conclude(CUcontext context, struct emu_queued *queued,
                     struct emu_launch *launch)
{
    enum emu_finding finding = EMU_FINDING_COUNT;
    struct emu_error error = {0};
    if (launch->covered != NULL &&
        !emu_coverage_merge(launch->settings.coverage, launch->program, launch->covered,
                            &error)) {
        fprintf(stderr, "emulator: %s\n", error.text);
    }
    emu_free(launch->covered);
    char *text = emu_reports_merge(emu_driver.reports, launch->reports,
                                   (enum emu_severity)launch->settings.show);
    fputs(text, stderr);
    emu_free(text);
    if (emu_reports_first_error(launch->reports, &finding)) {
        const char *name = NULL;
        struct emu_text way_out = {0};
        describe_way_out(launch->reports, &way_out);
        context->sticky = result_of(finding);
        cuGetErrorName(context->sticky, &name);
        emu_refuse(context->sticky,
                   "%s failed [%s]: the context answers %s until it is reset%s",
                   queued->function->ptx->name, emu_finding_name(finding), name,
                   emu_text_get(&way_out));
        emu_text_free(&way_out);
    }
    emu_reports_free(launch->reports);
}

/* A clock that was asked for is taken; otherwise the one that the chip's power leaves. */
static void note_times(const struct emu_timing *timing)
{
    const double mhz =
        emu_driver.settings.mhz != 0 ? timing->mhz : emu_timing_power_mhz(timing);
    emu_driver.timing = *timing;
    emu_driver.modelled_us += (double)timing->clocks / mhz;
    struct emu_text text = {0};
    if (emu_driver.settings.show <= EMU_ADVICE) {
        emu_timing_print(timing, &text);
    } else if (emu_driver.settings.show <= EMU_WARNING) {
        emu_timing_print_waves(timing, &text);
    }
    fputs(emu_text_get(&text), stderr);
    emu_text_free(&text);
}

/* Runs the queue of a stream: launches that follow each other programmatically side by
 * side. Whatever is behind a launch that failed is dropped, as on a device. */
static void run_queue(CUcontext context, CUstream stream)
{
    unsigned count = 0;
    for (struct emu_queued *at = stream->first; at != NULL; at = at->next) {
        count++;
    }
    struct emu_launch *launches = emu_alloc(count * sizeof(*launches));
    count = 0;
    for (struct emu_queued *at = stream->first; at != NULL; at = at->next) {
        launches[count] = at->launch;
        launches[count].reports = emu_reports_create();
        if (at->launch.settings.coverage[0] != 0) {
            launches[count].covered = emu_alloc(at->launch.program->insn_count);
        }
        count++;
    }
    uint64_t steps = 0;
    struct emu_timing timing = {0};
    launches[0].timing = &timing;
    emu_grids_run(launches, count, &steps);
    emu_driver.thread_steps += steps;
    if (timing.chip != NULL) {
        note_times(&timing);
    }
    for (unsigned i = 0; i < count; i++) {
        struct emu_queued *queued = stream->first;
        stream->first = queued->next;
        conclude(context, queued, &launches[i]);
        emu_free(queued);
    }
    stream->last = NULL;
    emu_free(launches);
}

void emu_launches_run(void)
{
    CUstream stream = emu_driver.waiting;
    emu_driver.waiting = NULL;
    if (stream != NULL) {
        run_queue(stream->object.context, stream);
    }
}

void emu_launch_queue(CUstream stream, struct emu_queued *queued)
{
    if (stream->last == NULL) {
        stream->first = queued;
    } else {
        stream->last->next = queued;
    }
    stream->last = queued;
    emu_driver.waiting = stream;
}
