/* SPDX-License-Identifier: MIT */
#include "exec/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/report.h"

static const char *const async_names[] = {"eager", "latest", "random", "reorder", NULL};
static const char *const schedule_names[] = {"fair", "random", "deep", "starve", NULL};
static const char *const numbers_names[] = {"fast", "exact", "off", NULL};
static const char *const timing_names[] = {"off", "on", "h100", "h200", "b200", NULL};
static const char *const switch_names[] = {"off", "on", NULL};
static const char *const elect_names[] = {"lowest", "highest", NULL};
static const char *const column_names[] = {"drawn", "lowest", NULL};
static const char *const show_names[] = {"advice", "warnings", "errors", "none", NULL};

struct emu_settings emu_settings_default(void)
{
    return (struct emu_settings){.async = EMU_ASYNC_RANDOM,
                                 .schedule = EMU_SCHEDULE_FAIR,
                                 .numbers = EMU_NUMBERS_FAST,
                                 .races = true,
                                 .definedness = true,
                                 .max_steps = 200000000,
                                 .whole = 20,
                                 .show = 1};
}

static bool choose(const char *key, const char *value, const char *const *names,
                   unsigned *ret_index, struct emu_error *error)
{
    struct emu_text list = {0};
    for (unsigned i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], value) == 0) {
            *ret_index = i;
            emu_text_free(&list);
            return true;
        }
        emu_text_add(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    emu_fail(error, "%s=%s: the value must be one of %s", key, value, emu_text_get(&list));
    emu_text_free(&list);
    return false;
}

static bool parse_number(const char *key, const char *value, uint64_t most,
                         uint64_t *ret_number, struct emu_error *error)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 0);
    if (value[0] < '0' || value[0] > '9' || *end != 0 || errno != 0 || number > most) {
        return emu_fail(error, "%s=%s: the value must be a number from 0 to %llu", key,
                        value, (unsigned long long)most);
    }
    *ret_number = number;
    return true;
}

/* Only what a kernel can go on behind. */
static bool allow(struct emu_settings *settings, const char *value, struct emu_error *error)
{
    const char *names[EMU_FINDING_COUNT + 1] = {NULL};
    enum emu_finding findings[EMU_FINDING_COUNT];
    unsigned count = 0;
    unsigned index = 0;
    for (unsigned i = 0; i < EMU_FINDING_COUNT; i++) {
        if (emu_finding_is_formal((enum emu_finding)i)) {
            findings[count] = (enum emu_finding)i;
            names[count++] = emu_finding_name((enum emu_finding)i);
        }
    }
    if (!choose("allow", value, names, &index, error)) {
        return false;
    }
    settings->allowed |= 1u << findings[index];
    return true;
}

static bool apply(struct emu_settings *settings, const char *key, const char *value,
                  struct emu_error *error)
{
    unsigned index = 0;
    uint64_t number = 0;
    if (strcmp(key, "seed") == 0) {
        return parse_number(key, value, UINT64_MAX, &settings->seed, error);
    }
    if (strcmp(key, "max_steps") == 0) {
        return parse_number(key, value, UINT64_MAX, &settings->max_steps, error);
    }
    if (strcmp(key, "threads") == 0) {
        bool good = parse_number(key, value, 1024, &number, error);
        settings->threads = good ? (unsigned)number : settings->threads;
        return good;
    }
    if (strcmp(key, "resident") == 0) {
        bool good = parse_number(key, value, 65536, &number, error);
        settings->resident = good ? (unsigned)number : settings->resident;
        return good;
    }
    if (strcmp(key, "sms") == 0) {
        bool good = parse_number(key, value, 65536, &number, error);
        settings->sms = good ? (unsigned)number : settings->sms;
        return good;
    }
    if (strcmp(key, "refuse") == 0) {
        bool good = parse_number(key, value, 100, &number, error);
        settings->refuse = good ? (unsigned)number : settings->refuse;
        return good;
    }
    if (strcmp(key, "async") == 0) {
        bool good = choose(key, value, async_names, &index, error);
        settings->async = good ? (enum emu_async_mode)index : settings->async;
        return good;
    }
    if (strcmp(key, "schedule") == 0) {
        bool good = choose(key, value, schedule_names, &index, error);
        settings->schedule = good ? (enum emu_schedule)index : settings->schedule;
        return good;
    }
    if (strcmp(key, "numbers") == 0) {
        bool good = choose(key, value, numbers_names, &index, error);
        settings->numbers = good ? (enum emu_numbers)index : settings->numbers;
        return good;
    }
    if (strcmp(key, "timing") == 0) {
        bool good = choose(key, value, timing_names, &index, error);
        settings->timing = good ? (enum emu_timing_mode)index : settings->timing;
        return good;
    }
    if (strcmp(key, "sample") == 0) {
        bool good = parse_number(key, value, 65536, &number, error);
        settings->sample = good ? (unsigned)number : settings->sample;
        return good;
    }
    if (strcmp(key, "whole") == 0) {
        bool good = parse_number(key, value, 1000000, &number, error);
        settings->whole = good ? (unsigned)number : settings->whole;
        return good;
    }
    if (strcmp(key, "mhz") == 0) {
        bool good = parse_number(key, value, 10000, &number, error);
        settings->mhz = good ? (unsigned)number : settings->mhz;
        return good;
    }
    if (strcmp(key, "races") == 0) {
        bool good = choose(key, value, switch_names, &index, error);
        settings->races = good ? index == 1 : settings->races;
        return good;
    }
    if (strcmp(key, "definedness") == 0) {
        bool good = choose(key, value, switch_names, &index, error);
        settings->definedness = good ? index == 1 : settings->definedness;
        return good;
    }
    if (strcmp(key, "elect") == 0) {
        bool good = choose(key, value, elect_names, &index, error);
        settings->elect_highest = good ? index == 1 : settings->elect_highest;
        return good;
    }
    if (strcmp(key, "columns") == 0) {
        bool good = choose(key, value, column_names, &index, error);
        settings->lowest_columns = good ? index == 1 : settings->lowest_columns;
        return good;
    }
    if (strcmp(key, "show") == 0) {
        bool good = choose(key, value, show_names, &index, error);
        settings->show = good ? index : settings->show;
        return good;
    }
    if (strcmp(key, "allow") == 0) {
        return allow(settings, value, error);
    }
    if (strcmp(key, "coverage") == 0) {
        if (strlen(value) >= sizeof(settings->coverage)) {
            return emu_fail(error, "coverage: the path is longer than %zu bytes",
                            sizeof(settings->coverage) - 1);
        }
        snprintf(settings->coverage, sizeof(settings->coverage), "%s", value);
        return true;
    }
    return emu_fail(
        error,
        "there is no setting `%s`; there are seed, async, schedule, numbers, "
        "races, definedness, elect, columns, threads, resident, sms, refuse, max_steps, "
        "timing, mhz, sample, whole, show, allow, coverage",
        key);
}

bool emu_settings_parse(struct emu_settings *settings, const char *text,
                        struct emu_error *error)
{
    struct emu_settings result = *settings;
    char *copy = emu_strdup(text);
    bool good = true;
    bool allows =
        false; /* the pair before was of `allow`, which further kinds may follow */
    char *rest = NULL;
    for (char *pair = strtok_r(copy, ", \n", &rest); good && pair != NULL;
         pair = strtok_r(NULL, ", \n", &rest)) {
        char *equals = strchr(pair, '=');
        if (equals == NULL && allows) {
            good = apply(&result, "allow", pair, error);
            continue;
        }
        if (equals == NULL) {
            good = emu_fail(error, "`%s` is not of the form key=value", pair);
            break;
        }
        *equals = 0;
        allows = strcmp(pair, "allow") == 0;
        good = apply(&result, pair, equals + 1, error);
    }
    emu_free(copy);
    if (good && result.numbers == EMU_NUMBERS_OFF) {
        /* What was not moved cannot be looked at. */
        result.races = result.definedness = false;
    }
    if (good) {
        *settings = result;
    }
    return good;
}

const char *emu_timing_chip_name(enum emu_timing_mode mode)
{
    return mode <= EMU_TIMING_ON ? NULL : timing_names[mode];
}

void emu_settings_print(const struct emu_settings *settings, struct emu_text *text)
{
    emu_text_add(
        text,
        "seed=%llu,async=%s,schedule=%s,numbers=%s,races=%s,definedness=%s,elect=%s,"
        "columns=%s,threads=%u,resident=%u,sms=%u,refuse=%u,max_steps=%llu,show=%s",
        (unsigned long long)settings->seed, async_names[settings->async],
        schedule_names[settings->schedule], numbers_names[settings->numbers],
        switch_names[settings->races], switch_names[settings->definedness],
        elect_names[settings->elect_highest], column_names[settings->lowest_columns],
        settings->threads, settings->resident, settings->sms, settings->refuse,
        (unsigned long long)settings->max_steps, show_names[settings->show]);
    if (settings->timing != EMU_TIMING_OFF) {
        emu_text_add(text, ",timing=%s,mhz=%u,sample=%u,whole=%u",
                     timing_names[settings->timing], settings->mhz, settings->sample,
                     settings->whole);
    }
    for (unsigned i = 0, count = 0; i < EMU_FINDING_COUNT; i++) {
        if ((settings->allowed >> i & 1u) != 0) {
            emu_text_add(text, "%s%s", count++ == 0 ? ",allow=" : ",",
                         emu_finding_name((enum emu_finding)i));
        }
    }
    if (settings->coverage[0] != 0) {
        emu_text_add(text, ",coverage=%s", settings->coverage);
    }
}
