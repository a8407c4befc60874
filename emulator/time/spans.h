/* SPDX-License-Identifier: MIT */
/*
 * Bytes at a rate, to whoever asks for a time: what is asked for later may be handed out
 * earlier, where there is a gap. So nothing depends on the order in which requests that
 * reach into the future are made.
 */
#ifndef EMU_TIME_SPANS_H
#define EMU_TIME_SPANS_H

#include "base/base.h"

struct emu_span {
    uint64_t number; /* of the span of time, plus 1; 0: none */
    double bytes;    /* handed out in it */
};

struct emu_spans {
    double rate; /* bytes a clock */
    bool splits; /* a request may be of several spans; false: it is of one */
    struct emu_span *spans;
    uint64_t full_from, full_to; /* numbers: nothing is left of these */
};

void emu_spans_create(struct emu_spans *spans, double rate, bool splits);
void emu_spans_free(struct emu_spans *spans);
/* When the last of so many bytes is handed out, of which the first may not be before `at`.
 */
double emu_spans_draw(struct emu_spans *spans, double at, double bytes);

#endif
