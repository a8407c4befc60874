/* SPDX-License-Identifier: MIT */
/* What is said about mbarriers in findings and in reports of deadlocks. */
#include <inttypes.h>

#include "async/mbarrier.h"

static const char *const op_names[] = {
    [EMU_MBARRIER_INIT] = "init",
    [EMU_MBARRIER_EXPECT_TX] = "expect_tx",
    [EMU_MBARRIER_COMPLETE_TX] = "complete_tx",
    [EMU_MBARRIER_ARRIVE] = "arrive",
    [EMU_MBARRIER_ARRIVE_DROP] = "arrive_drop",
    [EMU_MBARRIER_ASYNC_ARRIVE] = "asynchronous arrive",
    [EMU_MBARRIER_COPY_PENDING] = "one more pending for cp.async",
};

/* "mbarrier at shared offset 1024 of CTA 0 (phase 1, pending 1 of 2, tx 4096)" */
static void describe(const struct emu_cta *cta, const struct emu_mbarrier *barrier,
                     struct emu_text *text)
{
    emu_text_add(text,
                 "mbarrier at shared offset %u of CTA %u (phase %" PRIu64
                 ", parity %u, pending %u of %u, tx %" PRId64 ")",
                 barrier->offset, cta->rank, barrier->phase, (unsigned)(barrier->phase & 1),
                 barrier->pending, barrier->expected, barrier->tx);
}

/* The last events, one per line. */
static void describe_events(const struct emu_cta *cta, const struct emu_mbarrier *barrier,
                            struct emu_text *text)
{
    unsigned first = barrier->event_count > EMU_MBARRIER_EVENTS
                         ? barrier->event_count - EMU_MBARRIER_EVENTS
                         : 0;
    for (unsigned i = first; i < barrier->event_count; i++) {
        const struct emu_mbarrier_event *event = &barrier->events[i % EMU_MBARRIER_EVENTS];
        emu_text_add(text, "\n      phase %" PRIu64 ": CTA %u warp %u, ", event->phase,
                     event->cta, event->warp);
        ptx_describe_location(emu_launch_of(cta)->program->module,
                              &event->insn->source->location, text);
        emu_text_add(text, ": %s %u", op_names[event->op], event->amount);
    }
}

static void add_message(const struct emu_mbarrier_use *use,
                        const struct emu_mbarrier *barrier, const char *format,
                        va_list args, struct emu_text *text)
{
    describe(use->cta, barrier, text);
    emu_text_add(text, ": ");
    emu_text_addv(text, format, args);
    describe_events(use->cta, barrier, text);
}

bool emu_mbarrier_error(const struct emu_mbarrier_use *use,
                        const struct emu_mbarrier *barrier, const char *format, ...)
{
    struct emu_text text = {0};
    va_list args;
    va_start(args, format);
    add_message(use, barrier, format, args, &text);
    va_end(args);
    emu_report_error(use->warp, use->insn, use->lane, EMU_FINDING_BARRIER, "%s",
                     emu_text_get(&text));
    emu_text_free(&text);
    return false;
}

void emu_mbarrier_warn(const struct emu_mbarrier_use *use,
                       const struct emu_mbarrier *barrier, enum emu_severity severity,
                       const char *format, ...)
{
    struct emu_text text = {0};
    va_list args;
    va_start(args, format);
    add_message(use, barrier, format, args, &text);
    va_end(args);
    emu_report(use->warp, use->insn, use->lane, severity, EMU_FINDING_BARRIER, "%s",
               emu_text_get(&text));
    emu_text_free(&text);
}

void emu_mbarrier_describe(const struct emu_cta *cta, const struct emu_mbarrier *barrier,
                           struct emu_text *text)
{
    describe(cta, barrier, text);
    describe_events(cta, barrier, text);
}
