/* SPDX-License-Identifier: MIT */
/* How a call of the API begins. */
#include "driver/driver.h"

CUresult emu_enter(void)
{
    emu_lock();
    emu_launches_run();
    return emu_driver.initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult emu_enter_aside(void)
{
    emu_lock();
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
    emu_lock();
    return find_context(ret_context);
}
