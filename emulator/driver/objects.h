/* SPDX-License-Identifier: MIT */
/* What the handles of the driver API stand for, and the process's driver. */
#ifndef EMU_DRIVER_OBJECTS_H
#define EMU_DRIVER_OBJECTS_H

#include <cuda.h>

#include "exec/memory.h"
#include "exec/timing.h"

#define EMU_DRIVER_VERSION        13020
#define EMU_DEVICE_COUNT          2
#define EMU_SHARED_DEFAULT_BYTES  49152u  /* static and dynamic, without opting in */
#define EMU_SHARED_OPTIN_BYTES    232448u /* of a CTA */
#define EMU_SHARED_SM_BYTES       233472u
#define EMU_SM_REGISTERS          65536u
#define EMU_SM_WARPS              64u
#define EMU_SM_CTAS               32u
#define EMU_PORTABLE_CLUSTER_SIZE 8u
#define EMU_PRIORITY_LEAST        0
#define EMU_PRIORITY_GREATEST     (-5)

enum emu_kind {
    EMU_KIND_CONTEXT,
    EMU_KIND_MODULE,
    EMU_KIND_FUNCTION,
    EMU_KIND_LIBRARY,
    EMU_KIND_KERNEL,
    EMU_KIND_STREAM,
    EMU_KIND_EVENT,
    EMU_KIND_COUNT
};

/* The head of whatever a program has a handle of. */
struct emu_object {
    struct emu_object *next;
    enum emu_kind kind;
    CUcontext context; /* owner: it goes when the context goes; NULL: of the process */
};

/* What distinguishes the two devices. */
struct emu_profile {
    const char *name;
    unsigned sm; /* 100, 90 */
    int sm_count, clock_khz, memory_clock_khz, bus_bits, l2_bytes;
    uint64_t memory_bytes;
    unsigned gpc_sms[8]; /* a cluster lies within one of these groups of SMs */
};
/* Multiprocessors: the setting `sms`, or what the device has. */
int emu_device_sm_count(const struct emu_profile *profile);

struct CUctx_st {
    struct emu_object object;
    struct emu_device *device;
    unsigned retained; /* of a primary context; it is alive while not 0 */
    unsigned flags;
    CUresult sticky; /* the error of a launch: returned until the context ends */
    CUstream default_stream;
    uint64_t grid_workspace; /* of cooperative launches; 0: none was there yet */
};

struct emu_device {
    const struct emu_profile *profile;
    struct emu_memory *memory;
    struct CUctx_st primary;
};

/* A parsed text, shared by the modules that were made from it. */
struct emu_image {
    struct ptx_module *ptx;
    unsigned users;
};

struct CUmod_st {
    struct emu_object object;
    struct emu_image *image;
    CUlibrary library;   /* whose instance in this context it is, or NULL */
    uint64_t *addresses; /* by variable of the image; 0: not in global memory */
};

/* What can be set for a function. */
struct emu_function_settings {
    unsigned max_dynamic_bytes;
    bool non_portable_cluster;
    unsigned required_cluster[3]; /* 0: not required */
    int carveout, cluster_policy;
};

struct CUfunc_st {
    struct emu_object object;
    CUmodule module;
    const struct ptx_function *ptx;
    struct emu_program *program;
    struct emu_function_settings own, *settings; /* own ones, or those of the kernel */
};

struct CUlib_st {
    struct emu_object object;
    struct emu_image *image;
};

struct CUkern_st {
    struct emu_object object;
    CUlibrary library;
    const struct ptx_function *ptx;
    unsigned static_shared_bytes;
    struct emu_function_settings settings[EMU_DEVICE_COUNT];
};

struct CUstream_st {
    struct emu_object object;
    int priority;
    unsigned flags;
    uint64_t id;
    struct emu_queued *first, *last; /* launches that were accepted and not yet run */
};

struct CUevent_st {
    struct emu_object object;
    unsigned flags;
    bool recorded;
    uint64_t nanoseconds;
    double modelled_us;
};

/* An allocation of device or pinned host memory, and whose it is. */
struct emu_owned {
    CUcontext context;
    uint64_t address, bytes, id;
    bool of_host;
    bool mapped;    /* of the host, and in the device's memory */
    bool of_module; /* a variable: cuMemFree does not take it */
};

/* The process's driver. */
struct emu_driver {
    bool initialised;
    bool forked;                           /* from a process that had initialised it */
    struct emu_settings initial, settings; /* after cuInit; in force */
    struct emu_reports *reports;
    struct emu_device devices[EMU_DEVICE_COUNT];
    struct emu_object *alive[EMU_KIND_COUNT];
    struct emu_owned **allocations; /* by address */
    size_t allocation_count, allocation_room;
    CUstream waiting; /* the one stream whose launches have not run yet, or NULL */
    uint64_t next_stream_id, next_allocation_id, thread_steps;
    struct emu_text last_error;
    double modelled_us; /* of all timed launches so far */
    struct emu_timing
        timing; /* of the last timed launch; its chip is NULL before the first */
};
extern struct emu_driver emu_driver;

/* The thread's stack of contexts; its top is the current one. */
#define EMU_MOST_NESTED 64u
struct emu_contexts {
    CUcontext contexts[EMU_MOST_NESTED];
    unsigned depth;
};
extern _Thread_local struct emu_contexts emu_contexts;

#endif
