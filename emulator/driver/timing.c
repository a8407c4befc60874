/* SPDX-License-Identifier: MIT */
/* What timed launches took. */
#include <string.h>

#include "driver/driver.h"
#include "driver/emulator.h"

EMU_EXPORT CUresult emuTimes(struct emu_times *times)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS) {
        emu_launches_run();
    }
    const struct emu_timing *timing = &emu_driver.timing;
    if (result == CUDA_SUCCESS && times == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS && timing->chip == NULL) {
        result =
            emu_refuse(CUDA_ERROR_NOT_READY,
                       "emuTimes: no launch was timed; the setting timing=on times them");
    }
    if (result == CUDA_SUCCESS) {
        const double power_mhz = emu_timing_power_mhz(timing);
        *times =
            (struct emu_times){.clocks = timing->clocks,
                               .mhz = timing->mhz,
                               .microseconds = (double)timing->clocks / timing->mhz,
                               .power_mhz = power_mhz,
                               .power_microseconds = (double)timing->clocks / power_mhz,
                               .tensor_busy = timing->tensor_busy,
                               .dram_bytes = timing->dram_read + timing->dram_written,
                               .l2_bytes = timing->l2_bytes};
        strncpy(times->chip, timing->chip->name, sizeof(times->chip) - 1);
    }
    return emu_leave(result);
}

EMU_EXPORT char *emuTimeReport(void)
{
    char *copy = NULL;
    if (emu_enter() == CUDA_SUCCESS) {
        emu_launches_run();
        if (emu_driver.timing.chip != NULL) {
            struct emu_text text = {0};
            emu_timing_print(&emu_driver.timing, &text);
            copy = emu_strdup(emu_text_get(&text));
            emu_text_free(&text);
        }
    }
    emu_leave(CUDA_SUCCESS);
    return copy;
}
