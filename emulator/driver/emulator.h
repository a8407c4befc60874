/* SPDX-License-Identifier: MIT */
/* What the emulator's shared object exports beside the CUDA driver API. */
#ifndef EMU_DRIVER_EMULATOR_H
#define EMU_DRIVER_EMULATOR_H

#include <cuda.h>

/* "ptx": the only code that modules can be loaded from. A real driver lacks this name. */
const char *emuModuleFormat(void);

/*
 * Settings for later launches, such as "seed=7,async=latest". What the text does not name
 * is as cuInit left it (the defaults and the environment variable JIT_GEMM_EMULATOR); NULL
 * and "" name nothing. INVALID_VALUE: emuLastError says why.
 */
CUresult emuConfigure(const char *settings);

/* Why the driver last refused a call; the text is the calling thread's own copy. */
const char *emuLastError(void);

/* All findings of launches so far, of severity 0 (advice), 1 (warnings) or 2 (errors) and
 * above, as text to be freed with free(); NULL before cuInit or for another severity. */
char *emuReports(int severity);
/* How many there are, of different places in kernels; 0 as well where emuReports gives
 * NULL.
 */
unsigned emuCountFindings(int severity);
void emuReportsClear(void);

/* The name by which reports call an allocation. INVALID_VALUE when there is none. */
CUresult emuNameMemory(CUdeviceptr address, const char *name);

/* Thread instructions executed since cuInit. */
unsigned long long emuThreadSteps(void);

/* What the last launch took by the time model (setting timing=on): modelled, not measured.
 */
struct emu_times {
    char chip[16];
    unsigned long long clocks;
    double mhz, microseconds;             /* at the clock that was asked for */
    double power_mhz, power_microseconds; /* at the clock that the chip's power leaves */
    double tensor_busy;                   /* part of the time, 0 to 1 */
    unsigned long long dram_bytes, l2_bytes;
};
/* NOT_READY: no launch was timed. */
CUresult emuTimes(struct emu_times *times);
/* The same in words, with what each warp waited for; to be freed with free(). NULL: no
 * launch was timed. */
char *emuTimeReport(void);

#endif
