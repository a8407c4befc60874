/* SPDX-License-Identifier: MIT */
#include "time/spans.h"

/* As many clocks as what was asked for may lie ahead: all rings of a GPC's multiprocessors,
 * drawn at its rate, are 8,000, and a copy of rows of 16 bytes takes 12,000. */
enum { SPANS = 1 << 12, SPAN_CLOCKS = 32 };

void emu_spans_create(struct emu_spans *spans, double rate, bool splits)
{
    *spans = (struct emu_spans){.rate = rate, .splits = splits};
    spans->spans = emu_alloc(SPANS * sizeof(*spans->spans));
}

void emu_spans_free(struct emu_spans *spans)
{
    emu_free(spans->spans);
}

/* What is handed out of a span already; what an older one had is forgotten. */
static struct emu_span *span_of(struct emu_spans *spans, uint64_t number)
{
    struct emu_span *span = &spans->spans[number % SPANS];
    if (span->number != number + 1) {
        *span = (struct emu_span){.number = number + 1};
    }
    return span;
}

/* Spans from `from` to `to` are full: so many that follow each other are kept in mind. */
static void note_full(struct emu_spans *spans, uint64_t from, uint64_t to)
{
    if (from < spans->full_from || from > spans->full_to) {
        spans->full_from = from;
    }
    spans->full_to = to;
}

static uint64_t draw_in_parts(struct emu_spans *spans, uint64_t number, double bytes)
{
    const double most = SPAN_CLOCKS * spans->rate;
    const uint64_t first = number;
    if (number >= spans->full_from && number < spans->full_to) {
        number = spans->full_to;
    }
    for (;; number++) {
        struct emu_span *span = span_of(spans, number);
        const double left = most - span->bytes;
        if (bytes <= left) {
            span->bytes += bytes;
            break;
        }
        span->bytes = most;
        bytes -= left;
    }
    if (number > first) {
        note_full(spans, first, number);
    }
    return number;
}

static uint64_t draw_at_once(struct emu_spans *spans, uint64_t number, double bytes)
{
    const double most = SPAN_CLOCKS * spans->rate;
    struct emu_span *span = span_of(spans, number);
    while (span->bytes + bytes > most) {
        span = span_of(spans, ++number);
    }
    span->bytes += bytes;
    return number;
}

double emu_spans_draw(struct emu_spans *spans, double at, double bytes)
{
    const uint64_t first = (uint64_t)at / SPAN_CLOCKS;
    const uint64_t number = spans->splits ? draw_in_parts(spans, first, bytes)
                                          : draw_at_once(spans, first, bytes);
    const double drawn =
        (double)number * SPAN_CLOCKS + span_of(spans, number)->bytes / spans->rate;
    return drawn > at ? drawn : at;
}
