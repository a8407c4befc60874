/* SPDX-License-Identifier: MIT */
/* The clock and the power of a GPU while it works, from NVML, opened at run time. */
#ifndef BENCH_GPU_STATE_H
#define BENCH_GPU_STATE_H

struct gpu_state;

/* Of the device at a PCI address, `0000:19:00.0`. NULL where there is no NVML, or it does
 * not know the device: then nothing is told of either. */
struct gpu_state *gpu_state_open(const char *pci_bus_id);

/* Now: the clock of the multiprocessors in MHz and the board's power in watts; 0 where NVML
 * does not tell. `state` may be NULL. */
void gpu_state_read(const struct gpu_state *state, double *ret_sm_mhz, double *ret_watts);

/* Sets the pointer to NULL. Accepts NULL. */
void gpu_state_close(struct gpu_state **state);

#endif
