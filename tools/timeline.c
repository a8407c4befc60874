/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <inttypes.h>

#include "cli.h"
#include "svg_text.h"

/* Of the picture, in its units. */
enum {
    LEFT = 150,
    LEGEND = 66,
    TOP = 92,
    WIDTH = 1200,
    ROW = 16,
    BAR = 12,
    RIGHT = 20,
    BOTTOM = 34,
    GAP = 6,         /* between CTAs */
    SAMPLE = 110,    /* of the legend, with its word */
    LABEL_ROOM = 66, /* a bar of this width shows its tile */
    MOST_TICKS = 12
};

/* By role: two tracks each. */
static const char *const colours[] = {"#4477aa", "#228833", "#ccbb44", "#ee6677",
                                      "#aa3377"};
enum { COLOUR_COUNT = sizeof(colours) / sizeof(colours[0]) };

static const jit_gemm_trace_event *event_at(const struct timeline *timeline, uint32_t cta,
                                            uint32_t track, uint32_t index)
{
    return timeline->events +
           ((size_t)cta * JIT_GEMM_TRACE_TRACKS + track) * timeline->events_a_track + index;
}

/* Events of one track: those before the first that is empty. */
static uint32_t count_events(const struct timeline *timeline, uint32_t cta, uint32_t track)
{
    uint32_t count = 0;

    while (count < timeline->events_a_track &&
           event_at(timeline, cta, track, count)->end_ns) {
        count++;
    }
    return count;
}

size_t timeline_count(const struct timeline *timeline)
{
    size_t count = 0;

    for (uint32_t cta = 0; cta < timeline->ctas; cta++) {
        for (uint32_t track = 0; track < JIT_GEMM_TRACE_TRACKS; track++) {
            count += count_events(timeline, cta, track);
        }
    }
    return count;
}

struct span {
    uint64_t begin, end;
};

static struct span find_span(const struct timeline *timeline)
{
    struct span span = {UINT64_MAX, 0};

    for (uint32_t cta = 0; cta < timeline->ctas; cta++) {
        for (uint32_t track = 0; track < JIT_GEMM_TRACE_TRACKS; track++) {
            for (uint32_t i = 0; i < count_events(timeline, cta, track); i++) {
                const jit_gemm_trace_event *event = event_at(timeline, cta, track, i);

                span.begin = event->begin_ns < span.begin ? event->begin_ns : span.begin;
                span.end = event->end_ns > span.end ? event->end_ns : span.end;
            }
        }
    }
    if (span.end <= span.begin) {
        span.end = span.begin + 1;
    }
    return span;
}

/* ---------------------------------------------------------------------- trace events */

static void add_event(struct cli_json *json, uint64_t begin, uint32_t cta, uint32_t track,
                      const jit_gemm_trace_event *event)
{
    const char *role = jit_gemm_trace_track_name(track);
    char name[64];

    snprintf(name, sizeof(name), "%s %" PRIu32 ",%" PRIu32, role, event->row, event->col);
    cli_json_open_object(json, NULL);
    cli_json_add_text(json, "name", name);
    cli_json_add_text(json, "cat", role);
    cli_json_add_text(json, "ph", "X");
    cli_json_add_double(json, "ts", (double)(event->begin_ns - begin) * 1e-3);
    cli_json_add_double(json, "dur", (double)(event->end_ns - event->begin_ns) * 1e-3);
    cli_json_add_uint(json, "pid", cta);
    cli_json_add_uint(json, "tid", track);
    cli_json_open_object(json, "args");
    cli_json_add_uint(json, "row", event->row);
    cli_json_add_uint(json, "col", event->col);
    cli_json_add_uint(json, "batch", event->batch);
    cli_json_add_uint(json, "sm", event->sm);
    cli_json_close_object(json);
    cli_json_close_object(json);
}

/* An event of the format that names CTA or role: `what` is process_name or thread_name,
 * whose argument is a name. */
static void add_name(struct cli_json *json, const char *what, uint32_t cta, uint32_t track,
                     const char *name)
{
    cli_json_open_object(json, NULL);
    cli_json_add_text(json, "name", what);
    cli_json_add_text(json, "ph", "M");
    cli_json_add_uint(json, "pid", cta);
    cli_json_add_uint(json, "tid", track);
    cli_json_open_object(json, "args");
    cli_json_add_text(json, "name", name);
    cli_json_close_object(json);
    cli_json_close_object(json);
}

void timeline_write_json(const struct timeline *timeline, FILE *file)
{
    const struct span span = find_span(timeline);
    struct cli_json json = {.file = file, .has_lines = true};

    cli_json_open_object(&json, NULL);
    cli_json_add_text(&json, "displayTimeUnit", "ns");
    cli_json_open_object(&json, "otherData");
    cli_json_add_text(&json, "problem", timeline->problem);
    cli_json_add_text(&json, "config", timeline->config);
    cli_json_add_text(&json, "device", timeline->device);
    cli_json_add_bool(&json, "emulated", timeline->is_emulated);
    cli_json_add_bool(&json, "modelled", timeline->is_modelled);
    cli_json_close_object(&json);
    cli_json_open_list(&json, "traceEvents");
    for (uint32_t cta = 0; cta < timeline->ctas; cta++) {
        char name[32];

        snprintf(name, sizeof(name), "CTA %" PRIu32, cta);
        add_name(&json, "process_name", cta, 0, name);
        for (uint32_t track = 0; track < JIT_GEMM_TRACE_TRACKS; track++) {
            const uint32_t count = count_events(timeline, cta, track);

            if (count > 0) {
                add_name(&json, "thread_name", cta, track,
                         jit_gemm_trace_track_name(track));
            }
            for (uint32_t i = 0; i < count; i++) {
                add_event(&json, span.begin, cta, track, event_at(timeline, cta, track, i));
            }
        }
    }
    cli_json_close_list(&json);
    cli_json_close_object(&json);
}

/* --------------------------------------------------------------------------- picture */

/* 1, 2 or 5 times a power of ten, such that there are few ticks. */
static double choose_step(double whole)
{
    static const double factors[] = {1.0, 2.0, 5.0};
    double step = 1.0;

    for (;;) {
        for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
            if (whole / (step * factors[i]) <= MOST_TICKS) {
                return step * factors[i];
            }
        }
        step *= 10.0;
    }
}

const char *timeline_unit(const struct timeline *timeline)
{
    return timeline->is_modelled ? "modelled ns" : timeline->is_emulated ? "steps" : "ns";
}

static bool has_role(const struct timeline *timeline, uint32_t role)
{
    for (uint32_t cta = 0; cta < timeline->ctas; cta++) {
        if (count_events(timeline, cta, 2 * role) > 0 ||
            count_events(timeline, cta, 2 * role + 1) > 0) {
            return true;
        }
    }
    return false;
}

/* The colours of the roles that did something, and what a bar is. */
static void write_legend(const struct timeline *timeline, FILE *file)
{
    int x = 10;

    for (uint32_t role = 0; role < COLOUR_COUNT; role++) {
        if (!has_role(timeline, role)) {
            continue;
        }
        fprintf(file,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n"
                "<text x=\"%d\" y=\"%d\" class=\"legend\">%s</text>\n",
                x, LEGEND - BAR + 2, BAR, BAR, colours[role], x + BAR + 4, LEGEND,
                jit_gemm_trace_track_name(2 * role));
        x += SAMPLE;
    }
    fprintf(
        file,
        "<text x=\"%d\" y=\"%d\">A bar is a role at one tile, named by its first row and "
        "column: from when it had what it waited for until it was done.</text>\n",
        x, LEGEND);
}

static void write_axis(const struct timeline *timeline, const struct span *span, int bottom,
                       FILE *file)
{
    const double whole = (double)(span->end - span->begin);
    const double step = choose_step(whole);

    for (int i = 0; step * i <= whole; i++) {
        const double x = LEFT + WIDTH * (step * i / whole);

        fprintf(file,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#dddddd\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                x, TOP - 4, x, bottom, x, bottom + 16);
        if (timeline->is_emulated && !timeline->is_modelled) {
            fprintf(file, "%.0f %s</text>\n", step * i, timeline_unit(timeline));
        } else {
            fprintf(file, "%g us%s</text>\n", step * i * 1e-3,
                    timeline->is_modelled ? " modelled" : "");
        }
    }
}

static void write_bar(const struct timeline *timeline, const struct span *span,
                      uint32_t track, int top, const jit_gemm_trace_event *event,
                      FILE *file)
{
    const double scale = WIDTH / (double)(span->end - span->begin);
    const double x = LEFT + (double)(event->begin_ns - span->begin) * scale;
    double width = (double)(event->end_ns - event->begin_ns) * scale;

    width = width < 0.8 ? 0.8 : width;
    fprintf(file,
            "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
            "stroke=\"#ffffff\" stroke-width=\"0.4\"><title>%s, tile %" PRIu32 ",%" PRIu32
            " batch %" PRIu32 ", multiprocessor %" PRIu32 ", %" PRIu64
            " %s</title></rect>\n",
            x, top, width, BAR, colours[track / 2 % COLOUR_COUNT],
            jit_gemm_trace_track_name(track), event->row, event->col, event->batch,
            event->sm, event->end_ns - event->begin_ns, timeline_unit(timeline));
    if (width >= LABEL_ROOM) {
        fprintf(file,
                "<text x=\"%.1f\" y=\"%d\" fill=\"#ffffff\">%" PRIu32 ",%" PRIu32
                "</text>\n",
                x + 3, top + BAR - 3, event->row, event->col);
    }
}

/* Rows from `top` on; where they end. With no file nothing is written. */
static int write_rows(const struct timeline *timeline, const struct span *span, FILE *file)
{
    int top = TOP;

    for (uint32_t cta = 0; cta < timeline->ctas; cta++) {
        int first = top;

        for (uint32_t track = 0; track < JIT_GEMM_TRACE_TRACKS; track++) {
            uint32_t count = count_events(timeline, cta, track);

            if (!count) {
                continue;
            }
            if (file != NULL) {
                fprintf(file,
                        "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">CTA %" PRIu32
                        " %s</text>\n",
                        LEFT - 8, top + BAR - 2, cta, jit_gemm_trace_track_name(track));
            }
            for (uint32_t i = 0; file != NULL && i < count; i++) {
                write_bar(timeline, span, track, top, event_at(timeline, cta, track, i),
                          file);
            }
            top += ROW;
        }
        top += top > first ? GAP : 0;
    }
    return top;
}

void timeline_write_svg(const struct timeline *timeline, FILE *file)
{
    const struct span span = find_span(timeline);
    const int bottom = write_rows(timeline, &span, NULL);
    const int width = LEFT + WIDTH + RIGHT;

    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"10\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
            "<text x=\"10\" y=\"18\" font-size=\"13\">",
            width, bottom + BOTTOM, width, bottom + BOTTOM);
    svg_write_text(file, timeline->problem);
    fprintf(file, "</text>\n<text x=\"10\" y=\"34\">");
    svg_write_text(file, timeline->config);
    fprintf(file, "</text>\n<text x=\"10\" y=\"50\">");
    svg_write_text(file, timeline->device);
    fprintf(file, "%s</text>\n",
            timeline->is_modelled ? ": emulated. The axis is modelled time since the first "
                                    "bar; nothing was measured."
            : timeline->is_emulated
                ? ": emulated. The axis counts steps of a cluster, which "
                  "say the order, no time."
                : ". The axis is time since the first bar.");
    write_legend(timeline, file);
    write_axis(timeline, &span, bottom, file);
    (void)write_rows(timeline, &span, file);
    fprintf(file, "</svg>\n");
}
