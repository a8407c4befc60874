/* SPDX-License-Identifier: MIT */
/* An NVML whose device, 0000:01:00.0, always has the same clock and power. */
#include <string.h>

#define API __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, CLOCK_SM = 1 };

static int the_device;

API int nvmlInit_v2(void);
API int nvmlShutdown(void);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **ret_device);
API int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *ret_mhz);
API int nvmlDeviceGetPowerUsage(void *device, unsigned *ret_milliwatts);

int nvmlInit_v2(void)
{
    return SUCCESS;
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **ret_device)
{
    *ret_device = &the_device;
    return strcmp(id, "0000:01:00.0") == 0 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *ret_mhz)
{
    *ret_mhz = 1755;
    return device == &the_device && kind == CLOCK_SM ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *ret_milliwatts)
{
    *ret_milliwatts = 651400;
    return device == &the_device ? SUCCESS : INVALID_ARGUMENT;
}
