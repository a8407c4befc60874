/* SPDX-License-Identifier: MIT */
/* The start of the driver, its settings and reports. */
#include <stdio.h>
#include <stdlib.h>

#include "driver/driver.h"
#include "driver/emulator.h"

static CUresult start(void)
{
    struct emu_error error = {0};
    const char *text = getenv("JIT_GEMM_EMULATOR");
    if (emu_driver.forked) {
        return emu_refuse(CUDA_ERROR_NOT_INITIALIZED,
                          "cuInit: this process was forked from one that uses the driver, "
                          "which no GPU allows either; exec first");
    }
    emu_driver.initial = emu_settings_default();
    emu_driver.settings = emu_driver.initial;
    if (text != NULL && !emu_settings_parse(&emu_driver.initial, text, &error)) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE, "environment JIT_GEMM_EMULATOR: %s",
                          error.text);
    }
    emu_driver.settings = emu_driver.initial;
    emu_driver.reports = emu_reports_create();
    emu_devices_start();
    emu_watch_forks();
    emu_driver.initialised = true;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuInit(unsigned int Flags)
{
    if (emu_enter() == CUDA_SUCCESS) {
        return emu_leave(Flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    }
    return emu_leave(Flags == 0 ? start() : CUDA_ERROR_INVALID_VALUE);
}

EMU_EXPORT CUresult CUDAAPI cuDriverGetVersion(int *driverVersion)
{
    if (driverVersion == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *driverVersion = EMU_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

/* --------------------------------------------------------------- what is not in CUDA */

EMU_EXPORT const char *emuModuleFormat(void)
{
    return "ptx";
}

static CUresult configure(const char *text)
{
    struct emu_error error = {0};
    struct emu_settings settings = emu_driver.initial;
    if (text != NULL && !emu_settings_parse(&settings, text, &error)) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE, "settings: %s", error.text);
    }
    emu_driver.settings = settings;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult emuConfigure(const char *settings)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS) {
        result = configure(settings);
    }
    return emu_leave(result);
}

EMU_EXPORT const char *emuLastError(void)
{
    static _Thread_local char copy[16384];
    emu_enter();
    snprintf(copy, sizeof(copy), "%s", emu_text_get(&emu_driver.last_error));
    emu_leave(CUDA_SUCCESS);
    return copy;
}

EMU_EXPORT char *emuReports(int severity)
{
    char *text = NULL;
    if (emu_enter() == CUDA_SUCCESS && severity >= EMU_ADVICE && severity <= EMU_ERROR) {
        text = emu_reports_text(emu_driver.reports, (enum emu_severity)severity);
    }
    emu_leave(CUDA_SUCCESS);
    return text;
}

EMU_EXPORT unsigned emuCountFindings(int severity)
{
    unsigned count = 0;
    if (emu_enter() == CUDA_SUCCESS && severity >= EMU_ADVICE && severity <= EMU_ERROR) {
        count = emu_reports_count(emu_driver.reports, (enum emu_severity)severity);
    }
    emu_leave(CUDA_SUCCESS);
    return count;
}

EMU_EXPORT void emuReportsClear(void)
{
    if (emu_enter() == CUDA_SUCCESS) {
        emu_reports_clear(emu_driver.reports);
    }
    emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT unsigned long long emuThreadSteps(void)
{
    emu_enter();
    unsigned long long steps = emu_driver.thread_steps;
    emu_leave(CUDA_SUCCESS);
    return steps;
}
