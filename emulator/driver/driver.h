/* SPDX-License-Identifier: MIT */
/*
 * What the areas of the driver API offer each other, under the one lock.
 *
 * Every handle that a program passes is looked up in a list of what is alive before it is
 * touched, so that a wrong handle is an error code and never a crash. Every exported
 * function is: enter (locks), a static function that does it, leave (unlocks).
 */
#ifndef EMU_DRIVER_DRIVER_H
#define EMU_DRIVER_DRIVER_H

#include "driver/objects.h"

#define EMU_EXPORT __attribute__((visibility("default")))

/* ----------------------------------------------------------------------------- frame */

void emu_lock(void);
/* Refuses what a child of fork asks from here on; under the lock. */
void emu_watch_forks(void);
/* Locks. NOT_INITIALIZED before cuInit; emu_leave must follow in any case. */
CUresult emu_enter(void);
/* As emu_enter, but runs no waiting launches: for a call that cannot see what they do. */
CUresult emu_enter_aside(void);
/* As emu_enter, with the calling thread's context: INVALID_CONTEXT, or its sticky error. */
CUresult emu_enter_context(CUcontext *ret_context);
/* As emu_enter_context, but runs no waiting launches: for a launch that may join them. */
CUresult emu_enter_launch(CUcontext *ret_context);
/* Runs the launches that wait; part of emu_enter. */
void emu_launches_run(void);
/* Unlocks and returns the result. */
CUresult emu_leave(CUresult result);

/* Says on standard error, and to emuLastError, why something was refused. */
CUresult emu_refuse(CUresult result, const char *format, ...) EMU_PRINTF(2, 3);

/* A new object, zeroed, in the list of what is alive. */
void *emu_object_create(size_t bytes, enum emu_kind kind, CUcontext context);
bool emu_object_is_alive(const void *handle, enum emu_kind kind);
/* Takes it out of the list and frees it. */
void emu_object_destroy(void *object);

/* ---------------------------------------------------------------------- across areas */

void emu_devices_start(void);
/* INVALID_DEVICE when there is no such device. */
CUresult emu_device_find(CUdevice ordinal, struct emu_device **ret_device);
int emu_device_ordinal(const struct emu_device *device);

/* The context that the calling thread works in, or NULL. */
CUcontext emu_context_current(void);

/* The stream of the context that a handle (NULL: the default) names. */
CUresult emu_stream_find(CUcontext context, CUstream handle, CUstream *ret_stream);
void emu_stream_free(CUstream stream);

/* Parses a module's text. Not PTX, not valid, or for no device (of `device`, of any when
 * NULL): an error, in the log that the options name as well. */
CUresult emu_image_load(const char *call, const void *data, const struct emu_device *device,
                        unsigned option_count, const CUjit_option *options, void **values,
                        struct emu_image **ret_image);
void emu_image_release(struct emu_image *image);
bool emu_image_fits(const struct emu_image *image, const struct emu_device *device);

/* Gives an image its variables in a context. Takes a share of the image. */
CUresult emu_module_create(CUcontext context, struct emu_image *image, CUlibrary library,
                           CUmodule *ret_module);
/* The library's module in a context, made at the first use. */
CUresult emu_module_of_library(CUcontext context, CUlibrary library, CUmodule *ret_module);
void emu_module_free(CUmodule module);
/* Address and size of a variable; NOT_FOUND. */
CUresult emu_module_global(CUmodule module, const char *name, CUdeviceptr *ret_address,
                           size_t *ret_bytes);

/* The units that kernels may use, for emu_program_decode. */
extern const struct emu_unit *const emu_units[];

/* The one function of a module for an entry, decoded at the first time. */
CUresult emu_function_get(CUmodule module, const struct ptx_function *ptx,
                          CUfunction *ret_function);
void emu_function_free(CUfunction function);
/* The function of a handle that may be a CUkernel as well; INVALID_HANDLE. */
CUresult emu_function_find(CUcontext context, CUfunction handle, CUfunction *ret_function);

/* Attributes of a function or of a kernel on a device. */
struct emu_function_facts {
    const struct ptx_function *ptx;
    const struct ptx_module *module;
    const struct emu_device *device;
    unsigned static_shared_bytes;
    struct emu_function_settings *settings;
};
struct emu_function_settings emu_function_defaults(unsigned static_shared_bytes);
CUresult emu_function_get_attribute(const struct emu_function_facts *facts,
                                    CUfunction_attribute attribute, int *ret_value);
CUresult emu_function_set_attribute(const struct emu_function_facts *facts,
                                    CUfunction_attribute attribute, int value);
CUresult emu_function_get_param(const struct ptx_function *ptx,
                                const struct ptx_module *module, size_t index,
                                size_t *ret_offset, size_t *ret_bytes);

/* The allocation that holds an address, of any context and device; NULL: none does. */
struct emu_owned *emu_owned_find(uint64_t address);
/* Frees the device and host allocations of a context. */
void emu_memory_free_of(CUcontext context);
/* Allocates for a context; 0: no memory left. */
uint64_t emu_memory_allocate_for(CUcontext context, uint64_t bytes, const char *name);
void emu_memory_release_for(CUcontext context, uint64_t address);

/* What .maxntid or .reqntid allow; 1024 without them. */
unsigned emu_function_max_threads(const struct ptx_function *ptx);
/* Registers that a thread has at most, given the directives. */
unsigned emu_function_registers(const struct ptx_function *ptx);

#endif
