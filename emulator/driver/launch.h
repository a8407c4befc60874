/* SPDX-License-Identifier: MIT */
/* A launch as it was asked for, whether it is legal, and the queue it waits in. */
#ifndef EMU_DRIVER_LAUNCH_H
#define EMU_DRIVER_LAUNCH_H

#include "driver/driver.h"

struct emu_config {
    const char *call; /* for messages */
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* 1, 1, 1 without clusters */
    bool cluster_given;  /* by an attribute of the launch */
    uint64_t dynamic_bytes;
    bool cooperative;
    bool programmatic; /* may start before the launch before it has ended */
    CUstream stream;
};

/* Reads a launch's configuration and its attributes, and resolves the cluster. */
CUresult emu_config_read(const char *call, const CUlaunchConfig *from, CUfunction function,
                         struct emu_config *ret_config);
/* Everything but the grid. */
CUresult emu_config_check_shape(const struct emu_config *config, CUfunction function);
CUresult emu_config_check_grid(const struct emu_config *config, CUfunction function);

/* CTAs of this shape that fit an SM at once. */
unsigned emu_config_ctas_per_sm(CUfunction function, unsigned threads,
                                uint64_t dynamic_bytes);
/* Clusters of this shape that fit the device at once. */
unsigned emu_config_active_clusters(const struct emu_config *config, CUfunction function);

/* A launch that was accepted. */
struct emu_queued {
    struct emu_queued *next;
    CUfunction function;
    struct emu_launch launch;
    _Alignas(16) unsigned char params[];
};
/* Puts it behind those that wait in the stream, the only one whose launches wait. */
void emu_launch_queue(CUstream stream, struct emu_queued *queued);

static inline uint64_t emu_volume(const uint32_t size[3])
{
    return (uint64_t)size[0] * size[1] * size[2];
}

#endif
