/* SPDX-License-Identifier: MIT */
/*
 * Findings: what went wrong, where, and how to see it again. Kept in order; every report
 * ends with the seed and settings that reproduce it. Thread-safe.
 */
#ifndef EMU_CHECK_REPORT_H
#define EMU_CHECK_REPORT_H

#include "base/base.h"

enum emu_severity {
    EMU_ADVICE,  /* the PTX ISA does not allow it, but kernels known to work do it */
    EMU_WARNING, /* not promised to work, or suspicious; the launch goes on, and no kernel
                    of ours may have it */
    EMU_ERROR    /* the launch fails */
};

/* Kinds have stable names, printed in brackets, for tests and for scripts. */
enum emu_finding {
    EMU_FINDING_UNSUPPORTED,
    EMU_FINDING_OUT_OF_BOUNDS,
    EMU_FINDING_MISALIGNED,
    EMU_FINDING_UNDEFINED,
    EMU_FINDING_DEADLOCK,
    EMU_FINDING_NO_PROGRESS,
    EMU_FINDING_BARRIER,
    EMU_FINDING_TENSOR_MEMORY,
    EMU_FINDING_RACE,
    EMU_FINDING_LANE_ORDER,
    EMU_FINDING_PROXY_FENCE,
    EMU_FINDING_TENSOR_FENCE,
    EMU_FINDING_SCALE_ORIGIN, /* a scale factor is taken for two blocks of elements */
    EMU_FINDING_DIVERGENCE,
    EMU_FINDING_DESCRIPTOR,
    EMU_FINDING_IN_FLIGHT,
    EMU_FINDING_EXITED_CTA, /* a thread reaches a CTA that nothing keeps from having ended
                             */
    EMU_FINDING_TRAP,
    EMU_FINDING_ILLEGAL, /* an instruction used against its rules */
    EMU_FINDING_COUNT
};
const char *emu_finding_name(enum emu_finding finding);
/* Whether a kernel can go on behind it, so that it may be allowed: it lacks an order, but
 * has its values; or it is suspicious only. */
bool emu_finding_is_formal(enum emu_finding finding);

struct emu_reports;
struct emu_reports *emu_reports_create(void);
void emu_reports_free(struct emu_reports *reports);

/* Adds one finding; `text` has the message and its places, lines separated by \n. The same
 * (severity, finding, place key) is counted, not repeated. */
void emu_reports_add(struct emu_reports *reports, enum emu_severity severity,
                     enum emu_finding finding, uint64_t place_key, const char *text);
/* Counts one that is there already, for who wants to make no text in vain; false: it is
 * not.
 */
bool emu_reports_again(struct emu_reports *reports, enum emu_severity severity,
                       enum emu_finding finding, uint64_t place_key);
/* Number of findings of at least that severity. */
unsigned emu_reports_count(struct emu_reports *reports, enum emu_severity at_least);
unsigned emu_reports_count_of(struct emu_reports *reports, enum emu_finding finding);
/* Everything at or above a severity as text; the caller frees it with emu_free. */
char *emu_reports_text(struct emu_reports *reports, enum emu_severity at_least);
void emu_reports_clear(struct emu_reports *reports);
/* Whether there is an error of that kind. */
bool emu_reports_has_error(struct emu_reports *reports, enum emu_finding finding);
/* The error that was added first; false when there was none. */
bool emu_reports_first_error(struct emu_reports *reports, enum emu_finding *ret_finding);
/* Adds what `from` (another list) holds. Returns as text, to be freed with emu_free, those
 * findings at or above a severity that were not in `to` before. */
char *emu_reports_merge(struct emu_reports *to, struct emu_reports *from,
                        enum emu_severity at_least);

#endif
