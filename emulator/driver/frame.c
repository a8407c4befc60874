/* SPDX-License-Identifier: MIT */
/* The frame of every call: lock, state, objects that are alive; start and settings. */
#include <stdio.h>
#include <stdlib.h>

#include "driver/driver.h"
#include "driver/emulator.h"

struct emu_driver emu_driver;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult emu_enter(void)
{
    pthread_mutex_lock(&lock);
    emu_launches_run();
    return emu_driver.initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult find_context(CUcontext *ret_context)
{
    *ret_context = NULL;
    if (!emu_driver.initialised) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    *ret_context = emu_context_current();
    return *ret_context == NULL ? CUDA_ERROR_INVALID_CONTEXT : (*ret_context)->sticky;
}

CUresult emu_enter_context(CUcontext *ret_context)
{
    emu_enter();
    return find_context(ret_context);
}

CUresult emu_enter_launch(CUcontext *ret_context)
{
    pthread_mutex_lock(&lock);
    return find_context(ret_context);
}

CUresult emu_leave(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult emu_refuse(CUresult result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emu_text_free(&emu_driver.last_error);
    emu_text_addv(&emu_driver.last_error, format, args);
    va_end(args);
    if (emu_driver.settings.show <= EMU_ERROR) {
        fprintf(stderr, "emulator: %s\n", emu_text_get(&emu_driver.last_error));
    }
    return result;
}

/* --------------------------------------------------------------------------- objects */

void *emu_object_create(size_t bytes, enum emu_kind kind, CUcontext context)
{
    struct emu_object *object = emu_alloc(bytes);
    object->kind = kind;
    object->context = context;
    object->next = emu_driver.alive[kind];
    emu_driver.alive[kind] = object;
    return object;
}

bool emu_object_is_alive(const void *handle, enum emu_kind kind)
{
    for (const struct emu_object *at = emu_driver.alive[kind]; at != NULL; at = at->next) {
        if (at == handle) {
            return true;
        }
    }
    return false;
}

void emu_object_destroy(void *object)
{
    struct emu_object *gone = object;
    struct emu_object **at = &emu_driver.alive[gone->kind];
    while (*at != gone) {
        at = &(*at)->next;
    }
    *at = gone->next;
    emu_free(gone);
}

/* ----------------------------------------------------------------------------- start */

static CUresult start(void)
{
    struct emu_error error = {0};
    const char *text = getenv("JIT_GEMM_EMULATOR");
    emu_driver.initial = emu_settings_default();
    emu_driver.settings = emu_driver.initial;
    if (text != NULL && !emu_settings_parse(&emu_driver.initial, text, &error)) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE, "environment JIT_GEMM_EMULATOR: %s",
                          error.text);
    }
    emu_driver.settings = emu_driver.initial;
    emu_driver.reports = emu_reports_create();
    emu_devices_start();
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
    static _Thread_local char copy[4096];
    emu_enter();
    snprintf(copy, sizeof copy, "%s", emu_text_get(&emu_driver.last_error));
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
