/* SPDX-License-Identifier: MIT */
/*
 * Runs PTX text on the machine, below the driver API: memory, program, launch, findings.
 *
 *     struct harness h;
 *     harness_open(&h);
 *     harness_load(&h, "…");                      // fails the test with the error's text
 *     uint64_t out = harness_buffer(&h, "out", 128, NULL);
 *     harness_param_u64(&h, out);
 *     cr_assert(harness_run(&h, 1, 32));          // grid of 1 CTA, 32 threads
 *     harness_read(&h, out, values, 128);
 *     harness_close(&h);
 */
#ifndef EMU_TESTS_HARNESS_H
#define EMU_TESTS_HARNESS_H

#include "exec/decode.h"
#include "exec/machine.h"
#include "exec/memory.h"
#include "exec/variables.h"

/* Every how many modes or seeds of a long list are taken: EMULATOR_TEST_EVERY, or all. */
unsigned harness_every(void);

struct harness {
    struct emu_memory *memory;
    struct emu_reports *reports;
    struct emu_settings settings; /* change before harness_run */
    struct ptx_module *module;
    struct emu_variables variables;
    struct emu_program *program;
    struct emu_error error;
    uint32_t grid[3], block[3], cluster[3]; /* set by harness_run; or by hand for launch */
    uint32_t shared_bytes;                  /* dynamic */
    unsigned sm_count, registers_per_thread;
    const struct emu_chip *chip; /* the launch is timed on it; NULL: it is not */
    struct emu_timing *timing;   /* of such a launch; may be NULL */
    _Alignas(64) unsigned char params[4096];
    size_t param_bytes;
    uint64_t thread_steps;
};

void harness_open(struct harness *h);
void harness_close(struct harness *h);
/* Parses and decodes; the first entry is the kernel. harness_load fails the test, the other
 * returns false with h->error set. */
void harness_load(struct harness *h, const char *ptx);
bool harness_try_load(struct harness *h, const char *ptx);
/* Device memory; NULL data: undefined contents. */
uint64_t harness_buffer(struct harness *h, const char *name, uint64_t bytes,
                        const void *data);
void harness_read(struct harness *h, uint64_t address, void *data, uint64_t bytes);
/* Parameters in order, at their natural alignment. */
void harness_param_u32(struct harness *h, uint32_t value);
void harness_param_u64(struct harness *h, uint64_t value);
void harness_param_bytes(struct harness *h, const void *data, size_t bytes,
                         size_t alignment);
/* Runs; true when no error was found. May be called again (parameters stay). */
bool harness_run(struct harness *h, uint32_t ctas, uint32_t threads);
bool harness_run_clusters(struct harness *h, uint32_t ctas, uint32_t threads,
                          uint32_t cluster_ctas);
/* Number of findings of a kind so far, and the text of all; the text lives until the next
 * call or close. */
unsigned harness_found(struct harness *h, enum emu_finding finding);
const char *harness_text(struct harness *h);

#endif
