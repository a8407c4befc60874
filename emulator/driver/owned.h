/* SPDX-License-Identifier: MIT */
/* Allocations and whose they are. */
#ifndef EMU_DRIVER_OWNED_H
#define EMU_DRIVER_OWNED_H

#include "driver/driver.h"

struct emu_owned {
    struct emu_owned *next;
    CUcontext context;
    uint64_t address, bytes, id;
    bool of_host;
    bool mapped;    /* of the host, and in the device's memory */
    bool of_module; /* a variable: cuMemFree does not take it */
};

/* The allocation that holds an address, of any context and device; NULL: none does. */
struct emu_owned *emu_owned_find(uint64_t address);

#endif
