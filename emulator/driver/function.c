/* SPDX-License-Identifier: MIT */
/* Functions: decoded entries of a module. */
#include "driver/driver.h"

#include "async/unit.h"
#include "exec/decode.h"
#include "tensor/unit.h"

static uint64_t find_address(void *context, uint32_t variable)
{
    return ((CUmodule)context)->addresses[variable];
}

struct emu_function_settings emu_function_defaults(unsigned static_shared_bytes)
{
    unsigned left = static_shared_bytes < EMU_SHARED_DEFAULT_BYTES
                        ? EMU_SHARED_DEFAULT_BYTES - static_shared_bytes
                        : 0;
    return (struct emu_function_settings){.max_dynamic_bytes = left, .carveout = -1};
}

const struct emu_unit *const emu_units[] = {&emu_async_unit, &emu_tensor_unit, NULL};

CUresult emu_function_get(CUmodule module, const struct ptx_function *ptx,
                          CUfunction *ret_function)
{
    struct emu_error error = {0};
    for (struct emu_object *at = emu_driver.alive[EMU_KIND_FUNCTION]; at != NULL;
         at = at->next) {
        if (((CUfunction)at)->module == module && ((CUfunction)at)->ptx == ptx) {
            *ret_function = (CUfunction)at;
            return CUDA_SUCCESS;
        }
    }
    struct emu_program *program = emu_program_decode(module->image->ptx, ptx, emu_units,
                                                     find_address, module, &error);
    if (program == NULL) {
        return emu_refuse(CUDA_ERROR_NOT_SUPPORTED, "%s: %s", ptx->name, error.text);
    }
    CUfunction function =
        emu_object_create(sizeof(*function), EMU_KIND_FUNCTION, module->object.context);
    function->module = module;
    function->ptx = ptx;
    function->program = program;
    function->own = emu_function_defaults(program->static_shared_bytes);
    function->settings = &function->own;
    *ret_function = function;
    return CUDA_SUCCESS;
}

void emu_function_free(CUfunction function)
{
    emu_program_free(function->program);
    emu_object_destroy(function);
}
