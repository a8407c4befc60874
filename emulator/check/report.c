/* SPDX-License-Identifier: MIT */
/* The list of findings: each place once, in the order of first sight, with a count. */
#include "check/report.h"

#include <pthread.h>
#include <string.h>

/* A kernel that is wrong everywhere would fill the machine with reports. */
#define MOST_FINDINGS 4096u

struct finding {
    enum emu_severity severity;
    enum emu_finding finding;
    uint64_t place_key;
    uint64_t times;
    char *text;
};

struct emu_reports {
    pthread_mutex_t lock;
    struct finding *findings;
    size_t count;
    uint64_t dropped[EMU_ERROR + 1]; /* by severity: beyond MOST_FINDINGS */
    bool failed;                     /* an error was added */
    enum emu_finding first_error;
};

static const char *const finding_names[EMU_FINDING_COUNT] = {
    [EMU_FINDING_UNSUPPORTED] = "unsupported",
    [EMU_FINDING_OUT_OF_BOUNDS] = "out-of-bounds",
    [EMU_FINDING_MISALIGNED] = "misaligned",
    [EMU_FINDING_UNDEFINED] = "undefined",
    [EMU_FINDING_DEADLOCK] = "deadlock",
    [EMU_FINDING_NO_PROGRESS] = "no-progress",
    [EMU_FINDING_BARRIER] = "barrier",
    [EMU_FINDING_TENSOR_MEMORY] = "tensor-memory",
    [EMU_FINDING_RACE] = "race",
    [EMU_FINDING_LANE_ORDER] = "lane-order",
    [EMU_FINDING_PROXY_FENCE] = "proxy-fence",
    [EMU_FINDING_TENSOR_FENCE] = "tensor-fence",
    [EMU_FINDING_SCALE_ORIGIN] = "scale-origin",
    [EMU_FINDING_DIVERGENCE] = "divergence",
    [EMU_FINDING_DESCRIPTOR] = "descriptor",
    [EMU_FINDING_IN_FLIGHT] = "in-flight",
    [EMU_FINDING_EXITED_CTA] = "exited-cta",
    [EMU_FINDING_TRAP] = "trap",
    [EMU_FINDING_ILLEGAL] = "illegal",
};
static const char *const severity_names[] = {
    [EMU_ADVICE] = "advice",
    [EMU_WARNING] = "warning",
    [EMU_ERROR] = "error",
};

const char *emu_finding_name(enum emu_finding finding)
{
    return (unsigned)finding < EMU_FINDING_COUNT ? finding_names[finding] : "unknown";
}

bool emu_finding_is_formal(enum emu_finding finding)
{
    return finding == EMU_FINDING_RACE || finding == EMU_FINDING_LANE_ORDER ||
           finding == EMU_FINDING_PROXY_FENCE || finding == EMU_FINDING_TENSOR_FENCE ||
           finding == EMU_FINDING_EXITED_CTA || finding == EMU_FINDING_SCALE_ORIGIN;
}

struct emu_reports *emu_reports_create(void)
{
    struct emu_reports *reports = emu_alloc(sizeof(*reports));
    pthread_mutex_init(&reports->lock, NULL);
    return reports;
}

static void drop_all(struct emu_reports *reports)
{
    for (size_t i = 0; i < reports->count; i++) {
        emu_free(reports->findings[i].text);
    }
    emu_free(reports->findings);
    reports->findings = NULL;
    reports->count = 0;
    memset(reports->dropped, 0, sizeof(reports->dropped));
    reports->failed = false;
}

void emu_reports_free(struct emu_reports *reports)
{
    if (reports == NULL) {
        return;
    }
    drop_all(reports);
    pthread_mutex_destroy(&reports->lock);
    emu_free(reports);
}

static bool count_again(struct emu_reports *reports, const struct finding *added)
{
    for (size_t i = 0; i < reports->count; i++) {
        struct finding *known = &reports->findings[i];
        if (known->finding == added->finding && known->severity == added->severity &&
            known->place_key == added->place_key) {
            known->times += added->times;
            return true;
        }
    }
    return false;
}

/* True when it was not there yet. */
static bool add_times(struct emu_reports *reports, const struct finding *added)
{
    if (added->severity == EMU_ERROR && !reports->failed) {
        reports->failed = true;
        reports->first_error = added->finding;
    }
    if (count_again(reports, added)) {
        return false;
    }
    if (reports->count == MOST_FINDINGS) {
        reports->dropped[added->severity] += added->times;
        return false;
    }
    EMU_GROW(reports->findings, reports->count);
    struct finding *entry = &reports->findings[reports->count++];
    *entry = *added;
    entry->text = emu_strdup(added->text);
    return true;
}

void emu_reports_add(struct emu_reports *reports, enum emu_severity severity,
                     enum emu_finding finding, uint64_t place_key, const char *text)
{
    struct finding added = {.severity = severity,
                            .finding = finding,
                            .place_key = place_key,
                            .times = 1,
                            .text = emu_pointer((uintptr_t)text)};
    pthread_mutex_lock(&reports->lock);
    add_times(reports, &added);
    pthread_mutex_unlock(&reports->lock);
}

bool emu_reports_again(struct emu_reports *reports, enum emu_severity severity,
                       enum emu_finding finding, uint64_t place_key)
{
    const struct finding added = {
        .severity = severity, .finding = finding, .place_key = place_key, .times = 1};
    pthread_mutex_lock(&reports->lock);
    const bool again = count_again(reports, &added);
    pthread_mutex_unlock(&reports->lock);
    return again;
}

unsigned emu_reports_count(struct emu_reports *reports, enum emu_severity at_least)
{
    unsigned count = 0;
    pthread_mutex_lock(&reports->lock);
    for (size_t i = 0; i < reports->count; i++) {
        count += reports->findings[i].severity >= at_least ? 1 : 0;
    }
    pthread_mutex_unlock(&reports->lock);
    return count;
}

unsigned emu_reports_count_of(struct emu_reports *reports, enum emu_finding finding)
{
    unsigned count = 0;
    pthread_mutex_lock(&reports->lock);
    for (size_t i = 0; i < reports->count; i++) {
        count += reports->findings[i].finding == finding ? 1 : 0;
    }
    pthread_mutex_unlock(&reports->lock);
    return count;
}

bool emu_reports_has_error(struct emu_reports *reports, enum emu_finding finding)
{
    bool found = false;
    pthread_mutex_lock(&reports->lock);
    for (size_t i = 0; i < reports->count && !found; i++) {
        found = reports->findings[i].finding == finding &&
                reports->findings[i].severity == EMU_ERROR;
    }
    pthread_mutex_unlock(&reports->lock);
    return found;
}

bool emu_reports_first_error(struct emu_reports *reports, enum emu_finding *ret_finding)
{
    pthread_mutex_lock(&reports->lock);
    bool failed = reports->failed;
    if (failed) {
        *ret_finding = reports->first_error;
    }
    pthread_mutex_unlock(&reports->lock);
    return failed;
}

/* "error [race] first line" and the further lines indented under it. */
static void print_finding(const struct finding *entry, struct emu_text *text)
{
    emu_text_add(text, "%s [%s] ", severity_names[entry->severity],
                 emu_finding_name(entry->finding));
    size_t length = strlen(entry->text);
    while (length > 0 && entry->text[length - 1] == '\n') {
        length--;
    }
    for (size_t at = 0; at < length;) {
        size_t line = strcspn(entry->text + at, "\n");
        line = line > length - at ? length - at : line;
        emu_text_add(text, "%s%.*s", at == 0 ? "" : "\n    ", (int)line, entry->text + at);
        at += line + 1;
    }
    if (entry->times > 1) {
        emu_text_add(text, "\n    (seen %llu times)", (unsigned long long)entry->times);
    }
    emu_text_add(text, "\n");
}

static char *take_text(struct emu_text *text)
{
    char *taken = emu_strdup(emu_text_get(text));
    emu_text_free(text);
    return taken;
}

char *emu_reports_text(struct emu_reports *reports, enum emu_severity at_least)
{
    struct emu_text text = {0};
    uint64_t dropped = 0;
    pthread_mutex_lock(&reports->lock);
    for (size_t i = 0; i < reports->count; i++) {
        if (reports->findings[i].severity >= at_least) {
            print_finding(&reports->findings[i], &text);
        }
    }
    for (unsigned severity = at_least; severity <= EMU_ERROR; severity++) {
        dropped += reports->dropped[severity];
    }
    pthread_mutex_unlock(&reports->lock);
    if (dropped > 0) {
        emu_text_add(&text, "(%llu further findings were not kept)\n",
                     (unsigned long long)dropped);
    }
    return take_text(&text);
}

char *emu_reports_merge(struct emu_reports *to, struct emu_reports *from,
                        enum emu_severity at_least)
{
    struct emu_text text = {0};
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    for (size_t i = 0; i < from->count; i++) {
        const struct finding *entry = &from->findings[i];
        if (add_times(to, entry) && entry->severity >= at_least) {
            print_finding(entry, &text);
        }
    }
    for (unsigned severity = EMU_ADVICE; severity <= EMU_ERROR; severity++) {
        to->dropped[severity] += from->dropped[severity];
    }
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
    return take_text(&text);
}

void emu_reports_clear(struct emu_reports *reports)
{
    pthread_mutex_lock(&reports->lock);
    drop_all(reports);
    pthread_mutex_unlock(&reports->lock);
}
