/* SPDX-License-Identifier: MIT */
#include "runtime/instruments.h"

#include <string.h>

#include "base/error.h"

/* As jg/debug/waits.cuh has them. */
enum { SLOT_CTAS = 1024, SLOT_WARPS = 16, MOST_LINES = 64 };

enum state { STATE_NONE, STATE_WORKS, STATE_WAITED };

struct jg_debug_slot {
    uint32_t state, role;
    uint32_t cta, sm, warp;
    uint32_t ring, side, stage, parity;
    uint32_t row, col, batch, split;
    uint32_t reserved[3];
};

_Static_assert(sizeof(struct jg_debug_slot) == 64, "as the device has it");

/* As jg/debug/track.cuh has it. */
struct trace_buffer {
    uint64_t address;
    uint32_t ctas, events;
};

static const char *const role_names[] = {"load", "mma", "epilogue load", "epilogue",
                                         "scheduler"};
static const char *const ring_names[] = {"input tiles",
                                         "epilogue loads",
                                         "accumulators",
                                         "work",
                                         "the sign that the load has begun",
                                         "the sign that the first inputs were sent",
                                         "scales of blocks",
                                         "cells of scales",
                                         "sums of the cluster's parts of K"};
enum { RING_PARTS = sizeof(ring_names) / sizeof(ring_names[0]), RING_WORKSPACE };

static const char *name_of(const char *const *names, size_t count, uint32_t index)
{
    return index < count ? names[index] : "?";
}

/* Writes a variable of the kernel's code. */
static jit_gemm_status set_variable(const struct jg_kernel *kernel, const char *name,
                                    const void *value, size_t size)
{
    const struct jg_driver *driver = kernel->device->driver;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    CUresult result = driver->library_get_global(&address, &bytes, kernel->library, name);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_LOAD, result, "cuLibraryGetGlobal",
                              "the code lacks its variable: empty the disk cache");
    }
    if (bytes != size) {
        return jg_fail_system(JIT_GEMM_ERR_LOAD, name, "empty the disk cache",
                              "the variable of %s has %zu bytes, not %zu", kernel->entry,
                              bytes, size);
    }
    result = driver->memcpy_to_device(address, value, size);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_DEVICE, result, "cuMemcpyHtoD", "");
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_debug_slots_create(struct jg_kernel *kernel)
{
    const struct jg_driver *driver = kernel->device->driver;
    const size_t bytes = sizeof(struct jg_debug_slot) * SLOT_CTAS * SLOT_WARPS;
    void *memory = NULL;
    const CUresult result =
        driver->mem_host_alloc(&memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_LOAD, result, "cuMemHostAlloc",
                              "leave debug=1 out");
    }
    memset(memory, 0, bytes);
    kernel->debug_slots = memory;
    /* One address space: the device sees it under the same address. */
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    return set_variable(kernel, "jg_debug_slots", &address, sizeof(address));
}

void jg_debug_slots_destroy(struct jg_kernel *kernel)
{
    if (kernel->debug_slots != NULL) {
        (void)kernel->device->driver->mem_free_host(kernel->debug_slots);
        kernel->debug_slots = NULL;
    }
}

static void print_slot(const struct jg_debug_slot *slot, struct jg_str *out)
{
    jg_str_printf(
        out, "CTA %u on multiprocessor %u, warp %u, role %s, tile at row %u column %u",
        slot->cta, slot->sm, slot->warp,
        name_of(role_names, sizeof(role_names) / sizeof(role_names[0]), slot->role),
        slot->row, slot->col);
    if (slot->batch != 0) {
        jg_str_printf(out, " batch %u", slot->batch);
    }
    if (slot->split != 0) {
        jg_str_printf(out, ", part %u of K", slot->split);
    }
    if (slot->state == STATE_WAITED && slot->ring == RING_PARTS) {
        jg_str_printf(out, ": waited in vain for %u parts of the tile's sum, found %u",
                      slot->stage, slot->parity);
    } else if (slot->state == STATE_WAITED && slot->ring == RING_WORKSPACE) {
        jg_str_printf(out,
                      ": found 0x%08x in a word of the workspace that counts: its bytes "
                      "must be zero before the first launch that gets it",
                      slot->parity);
    } else if (slot->state == STATE_WAITED) {
        jg_str_printf(
            out, ": waited in vain until stage %u of %s was %s, parity %u", slot->stage,
            name_of(ring_names, sizeof(ring_names) / sizeof(ring_names[0]), slot->ring),
            slot->side != 0 ? "empty" : "full", slot->parity);
    }
    jg_str_puts(out, "\n");
}

/* The slots in this state; how many there are. */
static int print_slots(const struct jg_debug_slot *slots, enum state state,
                       struct jg_str *out)
{
    int count = 0;
    for (int i = 0; i < SLOT_CTAS * SLOT_WARPS; i++) {
        struct jg_debug_slot slot;
        memcpy(&slot, &slots[i], sizeof(slot)); /* the device may still write */
        if (slot.state == state && ++count <= MOST_LINES) {
            print_slot(&slot, out);
        }
    }
    if (count > MOST_LINES) {
        jg_str_printf(out, "and %d more\n", count - MOST_LINES);
    }
    return count;
}

void jg_debug_report_print(const struct jg_kernel *kernel, struct jg_str *out)
{
    const struct jg_debug_slot *slots = kernel->debug_slots;
    struct jg_str others = {0};
    if (slots != NULL && print_slots(slots, STATE_WAITED, out) > 0 &&
        print_slots(slots, STATE_WORKS, &others) > 0) {
        jg_str_printf(out, "Others, at their last tile:\n%s", jg_str_text(&others));
    }
    out->failed |= others.failed;
    jg_str_free(&others);
}

jit_gemm_status jg_trace_attach(const struct jg_kernel *kernel, uint64_t address,
                                uint32_t ctas, uint32_t events)
{
    const struct trace_buffer buffer = {address, ctas, events};
    CUcontext previous = NULL;
    JG_TRY(jg_device_enter(kernel->device, &previous));
    const jit_gemm_status status =
        set_variable(kernel, "jg_trace_buffer", &buffer, sizeof(buffer));
    jg_device_leave(kernel->device, previous);
    return status;
}
