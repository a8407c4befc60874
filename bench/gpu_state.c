/* SPDX-License-Identifier: MIT */
#include "gpu_state.h"

#include <stdint.h>
#include <stdlib.h>

#include "dynlib.h"

/* What is needed of nvml.h, which toolkits may lack; numbers and structs are NVML's ABI. */
enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_FI_DEV_POWER_INSTANT = 186 };

struct nvml_field_value {
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, status;
    union {
        unsigned milliwatts;
        unsigned long long widest;
    } value;
};

struct gpu_state {
    void *device;
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_pci_bus_id)(const char *, void **);
    int (*clock_info)(void *, int, unsigned *);
    int (*power_usage)(void *, unsigned *);                      /* of the last second */
    int (*field_values)(void *, int, struct nvml_field_value *); /* may be NULL */
};

static int load_functions(struct gpu_state *state, void *library)
{
    char error[BENCH_ERROR_SIZE];
    if (DYNLIB_SYMBOL(library, "nvmlDeviceGetFieldValues", state->field_values, error) !=
        0) {
        state->field_values = NULL;
    }
    return DYNLIB_SYMBOL(library, "nvmlInit_v2", state->init, error) != 0 ||
                   DYNLIB_SYMBOL(library, "nvmlShutdown", state->shutdown, error) != 0 ||
                   DYNLIB_SYMBOL(library, "nvmlDeviceGetHandleByPciBusId_v2",
                                 state->by_pci_bus_id, error) != 0 ||
                   DYNLIB_SYMBOL(library, "nvmlDeviceGetClockInfo", state->clock_info,
                                 error) != 0 ||
                   DYNLIB_SYMBOL(library, "nvmlDeviceGetPowerUsage", state->power_usage,
                                 error) != 0
               ? -1
               : 0;
}

struct gpu_state *gpu_state_open(const char *pci_bus_id)
{
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    const struct dynlib_search search = {
        .what = "NVML", .variable = "JIT_GEMM_NVML", .names = names};
    char path[DYNLIB_PATH_SIZE], error[BENCH_ERROR_SIZE];
    void *library = NULL;
    if (dynlib_open(&search, &library, path, error) != 0) {
        return NULL;
    }
    struct gpu_state *state = calloc(1, sizeof(*state));
    if (state == NULL) {
        return NULL;
    }
    if (load_functions(state, library) != 0 || state->init() != NVML_SUCCESS) {
        free(state);
        return NULL;
    }
    if (state->by_pci_bus_id(pci_bus_id, &state->device) != NVML_SUCCESS) {
        gpu_state_close(&state);
    }
    return state;
}

static double read_watts(const struct gpu_state *state)
{
    struct nvml_field_value field = {.field = NVML_FI_DEV_POWER_INSTANT};
    unsigned milliwatts = 0;
    if (state->field_values != NULL &&
        state->field_values(state->device, 1, &field) == NVML_SUCCESS &&
        field.status == NVML_SUCCESS) {
        return field.value.milliwatts / 1000.0;
    }
    return state->power_usage(state->device, &milliwatts) == NVML_SUCCESS
               ? milliwatts / 1000.0
               : 0.0;
}

void gpu_state_read(const struct gpu_state *state, double *ret_sm_mhz, double *ret_watts)
{
    unsigned mhz = 0;
    *ret_sm_mhz = 0.0;
    *ret_watts = 0.0;
    if (state == NULL) {
        return;
    }
    if (state->clock_info(state->device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS) {
        *ret_sm_mhz = mhz;
    }
    *ret_watts = read_watts(state);
}

void gpu_state_close(struct gpu_state **state)
{
    if (state == NULL || *state == NULL) {
        return;
    }
    (*state)->shutdown();
    free(*state);
    *state = NULL;
}
