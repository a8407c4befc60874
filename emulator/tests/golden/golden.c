/* SPDX-License-Identifier: MIT */
/*
 * Makes golden vectors on a GPU of compute capability 9.0, or holds a driver (a GPU's or
 * the emulator) against them. Only the CUDA driver API is used, from the library that
 * --driver names.
 */
#include "golden.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "judge.h"
#include "store.h"

/* A kernel that has not ended by then never will: every loop in the cases is bounded. */
#define MOST_SECONDS 30

enum mode { MODE_LIST, MODE_MAKE, MODE_CHECK, MODE_DUMP };

struct gold_run {
    enum mode mode;
    const char *directory;
    const char *only_group, *only_case;
    unsigned shown; /* mismatches printed per case */
    struct gold_device *device;
    const char *group;
    struct gold_store store; /* check: of the group */
    struct gold_text made;   /* make: of the group */
    struct gold_text names;  /* of all cases so far, each on a line of its own */
    unsigned cases, failed, group_cases, group_failed;
};

static const struct {
    const char *name;
    void (*cases)(struct gold_run *run);
} groups[] = {
    {"cvt", gold_cvt_cases},         {"integer", gold_integer_cases},
    {"float", gold_float_cases},     {"approx", gold_approx_cases},
    {"atom", gold_atom_cases},       {"warp", gold_warp_cases},
    {"mma", gold_mma_cases},         {"mbarrier", gold_mbarrier_cases},
    {"address", gold_address_cases}, {"tma", gold_tma_cases},
    {"bulk", gold_bulk_cases},       {"tensormap", gold_tensormap_cases},
    {"wgmma", gold_wgmma_cases},
};

/* The case that runs, for the handler of the alarm. */
static char running[256];

static void stop_at_alarm(int signal_number)
{
    static const char text[] = "emu_golden: does not end: ";

    (void)signal_number;
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    written += write(STDERR_FILENO, running, strlen(running));
    written += write(STDERR_FILENO, "\n", 1);
    _exit(written > 0 ? 3 : 4);
}

static bool run_once(struct gold_run *run, const struct gold_case *one, uint8_t *output)
{
    char error[8192];

    snprintf(running, sizeof(running), "%s/%s", run->group, one->name);
    alarm(MOST_SECONDS);
    bool good = gold_device_run(run->device, one, output, error, sizeof(error));
    alarm(0);
    if (!good) {
        printf("FAIL %s/%s: %s\n", run->group, one->name, error);
    }
    if (!gold_device_usable(run->device)) {
        printf("emu_golden: no case behind %s/%s can run: after such a fault the driver "
               "refuses this process every context\n",
               run->group, one->name);
        exit(3);
    }
    return good;
}

/* Twice: what differs from one run to the next is no golden data. */
static bool make_case(struct gold_run *run, const struct gold_case *one, uint8_t *output)
{
    size_t bytes = (size_t)one->items * one->item_bytes;
    uint8_t *again = gold_alloc(bytes);
    bool good = run_once(run, one, output) && run_once(run, one, again);

    if (good && !one->record_only && memcmp(output, again, bytes) != 0) {
        printf("FAIL %s/%s: two runs gave different outputs\n", run->group, one->name);
        good = false;
    }
    free(again);
    if (!good) {
        return false;
    }
    struct gold_record record = gold_record_make(one, output);
    gold_record_print(&record, &run->made);
    gold_record_free(&record);
    return true;
}

static bool check_case(struct gold_run *run, const struct gold_case *one, uint8_t *output)
{
    struct gold_record *expected = gold_store_find(&run->store, one->name);

    if (expected == NULL) {
        printf("FAIL %s/%s: no golden data\n", run->group, one->name);
        return false;
    }
    expected->used = true;
    if (!run_once(run, one, output)) {
        return false;
    }
    if (one->record_only) {
        return true;
    }
    unsigned differing = gold_judge(run->group, one, output, expected, run->shown);
    if (differing > 0) {
        printf("FAIL %s/%s: %u items or blocks differ\n", run->group, one->name, differing);
    }
    return differing == 0;
}

static bool dump_case(struct gold_run *run, const struct gold_case *one, uint8_t *output)
{
    printf("%s/%s\n", run->group, one->name);
    if (!run_once(run, one, output)) {
        return false;
    }
    for (unsigned i = 0; i < one->items; i++) {
        gold_print_item(one, i);
        gold_print_parts(one, output + (size_t)i * one->item_bytes);
        printf("\n");
    }
    return true;
}

static bool is_new(struct gold_run *run, const struct gold_case *one)
{
    char line[256];

    snprintf(line, sizeof(line), "\n%s/%s\n", run->group, one->name);
    if (run->names.length == 0) {
        gold_text_add(&run->names, "\n");
    }
    bool found = strstr(run->names.text, line) != NULL;
    gold_text_add(&run->names, "%s", line + 1);
    return !found;
}

void gold_case_run(struct gold_run *run, const struct gold_case *one)
{
    bool good = true;

    if (!is_new(run, one)) {
        printf("FAIL %s/%s: two cases of this name\n", run->group, one->name);
        run->failed++;
        run->group_failed++;
    }
    if (run->only_case != NULL && strcmp(run->only_case, one->name) != 0) {
        return;
    }
    run->cases++;
    run->group_cases++;
    if (run->mode == MODE_LIST) {
        printf("%s/%s\n", run->group, one->name);
        return;
    }
    uint8_t *output = gold_alloc((size_t)one->items * one->item_bytes);
    if (run->mode == MODE_MAKE) {
        good = make_case(run, one, output);
    } else if (run->mode == MODE_CHECK) {
        good = check_case(run, one, output);
    } else {
        good = dump_case(run, one, output);
    }
    free(output);
    if (!good) {
        run->failed++;
        run->group_failed++;
    }
    fflush(stdout);
}

static bool write_group(const struct gold_run *run)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s.golden", run->directory, run->group);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "emu_golden: cannot write %s\n", path);
        return false;
    }
    fprintf(file, "# Made by emu_golden on %s.\n", gold_device_text(run->device));
    bool good = run->made.length == 0 ||
                fwrite(run->made.text, 1, run->made.length, file) == run->made.length;
    if (fclose(file) != 0 || !good) {
        fprintf(stderr, "emu_golden: cannot write %s\n", path);
        return false;
    }
    return true;
}

/* Golden data that no case asks for are as wrong as cases without data. */
static bool all_used(const struct gold_run *run)
{
    bool good = true;

    for (size_t i = 0; i < run->store.count; i++) {
        if (run->store.records[i].used) {
            continue;
        }
        printf("FAIL %s/%s: golden data without a case\n", run->group,
               run->store.records[i].name);
        good = false;
    }
    return good;
}

static double now_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool run_group(struct gold_run *run, size_t index)
{
    double start = now_seconds();
    char path[4096];
    bool good = true;

    run->group = groups[index].name;
    run->group_cases = run->group_failed = 0;
    if (run->mode == MODE_CHECK) {
        snprintf(path, sizeof(path), "%s/%s.golden", run->directory, run->group);
        good = gold_store_read(&run->store, path);
    }
    if (good) {
        groups[index].cases(run);
    }
    if (good && run->mode == MODE_CHECK && run->only_case == NULL) {
        good = all_used(run);
    }
    if (run->mode == MODE_MAKE) {
        good = write_group(run);
    }
    if (run->mode == MODE_MAKE || run->mode == MODE_CHECK) {
        printf("%s: %u cases, %u failed, %.1f s\n", run->group, run->group_cases,
               run->group_failed, now_seconds() - start);
    }
    fflush(stdout);
    gold_store_free(&run->store);
    free(run->made.text);
    memset(&run->made, 0, sizeof(run->made));
    return good && run->group_failed == 0;
}

static int print_usage(void)
{
    fprintf(
        stderr,
        "usage: emu_golden --list [--group G]\n"
        "       emu_golden --driver PATH [--device N] --make DIR [--group G]\n"
        "       emu_golden --driver PATH [--device N] --check DIR [--group G] [--case C]"
        " [--all]\n"
        "       emu_golden --driver PATH [--device N] --dump [--group G] [--case C]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct gold_run run;
    const char *driver = NULL;
    int ordinal = -1, arg;
    bool good = true, mode_set = false, found = false;

    memset(&run, 0, sizeof(run));
    run.shown = 4;
    for (arg = 1; arg < argc; arg++) {
        const char *name = argv[arg];
        const char *value = arg + 1 < argc ? argv[arg + 1] : NULL;

        mode_set = mode_set || strcmp(name, "--list") == 0 || strcmp(name, "--dump") == 0;
        if (strcmp(name, "--list") == 0) {
            run.mode = MODE_LIST;
            continue;
        }
        if (strcmp(name, "--dump") == 0) {
            run.mode = MODE_DUMP;
            continue;
        }
        if (strcmp(name, "--all") == 0) {
            run.shown = 1u << 30;
            continue;
        }
        if (value == NULL) {
            return print_usage();
        }
        arg++;
        if (strcmp(name, "--driver") == 0) {
            driver = value;
        } else if (strcmp(name, "--device") == 0) {
            ordinal = (int)strtol(value, NULL, 10);
        } else if (strcmp(name, "--group") == 0) {
            run.only_group = value;
        } else if (strcmp(name, "--case") == 0) {
            run.only_case = value;
        } else if (strcmp(name, "--make") == 0 || strcmp(name, "--check") == 0) {
            run.mode = strcmp(name, "--make") == 0 ? MODE_MAKE : MODE_CHECK;
            run.directory = value;
            mode_set = true;
        } else {
            return print_usage();
        }
    }
    if (!mode_set || (run.mode != MODE_LIST && driver == NULL) ||
        (run.mode == MODE_MAKE && run.only_case != NULL)) {
        return print_usage();
    }
    signal(SIGALRM, stop_at_alarm);
    if (run.mode != MODE_LIST) {
        run.device = gold_device_open(driver, ordinal);
        if (run.device == NULL) {
            return 1;
        }
        fprintf(stderr, "emu_golden: %s\n", gold_device_text(run.device));
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (run.only_group != NULL && strcmp(run.only_group, groups[i].name) != 0) {
            continue;
        }
        found = true;
        good = run_group(&run, i) && good;
    }
    if (run.device != NULL) {
        gold_device_close(run.device);
    }
    free(run.names.text);
    if (!found || run.cases == 0) {
        fprintf(stderr, "emu_golden: no such group or case\n");
        return 2;
    }
    if (run.mode == MODE_MAKE || run.mode == MODE_CHECK) {
        printf("%u cases, %u failed\n", run.cases, run.failed);
    }
    return good ? 0 : 1;
}
