/* SPDX-License-Identifier: MIT */
/* From what a program hands over as a module to parsed PTX. */
#include <stdio.h>
#include <string.h>

#include "driver/driver.h"
#include "driver/fatbin.h"

/* Where the program wants to read what was wrong. */
struct log {
    char *buffer;
    size_t room;
    void **ret_bytes; /* the option's value, replaced by what was written */
};

static CUresult find_logs(unsigned count, const CUjit_option *options, void **values,
                          struct log *errors, struct log *infos)
{
    if (count > 0 && (options == NULL || values == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; i++) {
        switch (options[i]) {
        case CU_JIT_ERROR_LOG_BUFFER:
            errors->buffer = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            errors->room = (unsigned)(uintptr_t)values[i];
            errors->ret_bytes = &values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER:
            infos->buffer = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            infos->room = (unsigned)(uintptr_t)values[i];
            infos->ret_bytes = &values[i];
            break;
        default:
            /* The rest tunes a compiler that is not there. */
            if ((unsigned)options[i] >= (unsigned)CU_JIT_NUM_OPTIONS) {
                return CUDA_ERROR_INVALID_VALUE;
            }
        }
    }
    return CUDA_SUCCESS;
}

static void write_log(const struct log *log, const char *text)
{
    size_t length = 0;
    if (log->buffer != NULL && log->room > 0) {
        length = strlen(text) < log->room - 1 ? strlen(text) : log->room - 1;
        memcpy(log->buffer, text, length);
        log->buffer[length] = 0;
    }
    if (log->ret_bytes != NULL) {
        *log->ret_bytes = emu_pointer(length);
    }
}

static bool is_cubin(const void *data)
{
    return strncmp(data, "\177ELF", 4) == 0;
}

bool emu_image_fits(const struct emu_image *image, const struct emu_device *device)
{
    const struct ptx_module *ptx = image->ptx;
    unsigned sm = device->profile->sm;
    switch (ptx->sm_suffix) {
    case 'a': /* this architecture only */
        return ptx->sm == sm;
    case 'f': /* this family */
        return ptx->sm / 10 == sm / 10 && ptx->sm <= sm;
    default:
        return ptx->sm <= sm;
    }
}

static bool fits_any(const struct emu_image *image, const struct emu_device *device)
{
    if (device != NULL) {
        return emu_image_fits(image, device);
    }
    for (unsigned i = 0; i < EMU_DEVICE_COUNT; i++) {
        if (emu_image_fits(image, &emu_driver.devices[i])) {
            return true;
        }
    }
    return false;
}

/* Takes the module, or releases it. */
static CUresult take_module(const char *call, struct ptx_module *ptx,
                            const struct emu_device *device, struct emu_image **ret_image)
{
    struct emu_image *image = emu_alloc(sizeof(*image));
    image->ptx = ptx;
    image->users = 1;
    if (!fits_any(image, device)) {
        emu_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "%s: .target %s does not run on %s", call,
                   ptx->target,
                   device == NULL ? "any of the devices" : device->profile->name);
        emu_image_release(image);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (ptx->address_bits != 64) {
        emu_image_release(image);
        return emu_refuse(CUDA_ERROR_INVALID_PTX, "%s: .address_size must be 64", call);
    }
    *ret_image = image;
    return CUDA_SUCCESS;
}

/* Whether a device takes `one` rather than `other`: the later target, and the narrower one.
 */
static bool is_better(const struct ptx_module *one, const struct ptx_module *other)
{
    static const char order[] = {0, 'f', 'a'};
    const void *first = memchr(order, one->sm_suffix, sizeof(order));
    const void *second = memchr(order, other->sm_suffix, sizeof(order));
    return one->sm != other->sm ? one->sm > other->sm
                                : (const char *)first > (const char *)second;
}

/* Walks through a fatbin for the PTX that fits best. */
struct choice {
    struct ptx_module *best;
    bool fits;
    unsigned codes;
    const char *compressed; /* why compressed PTX cannot be read, or NULL */
    struct emu_error error; /* of PTX that cannot be parsed */
};

static void consider(struct choice *choice, const char *text, size_t length,
                     const struct emu_device *device)
{
    struct ptx_module *ptx = ptx_parse(text, length, &choice->error);
    if (ptx == NULL) {
        return;
    }
    const bool fits = fits_any(&(struct emu_image){.ptx = ptx}, device);
    const bool takes = choice->best == NULL || (fits && !choice->fits) ||
                       (fits == choice->fits && is_better(ptx, choice->best));
    ptx_module_free(takes ? choice->best : ptx);
    if (takes) {
        choice->best = ptx;
        choice->fits = fits;
    }
}

/* Why none of it can run here. */
static CUresult refuse_fatbin(const char *call, const struct choice *choice,
                              const struct emu_device *device)
{
    const unsigned sm = device == NULL ? 100 : device->profile->sm;
    if (choice->error.set) {
        return emu_refuse(CUDA_ERROR_INVALID_PTX, "%s: PTX %s", call, choice->error.text);
    }
    if (choice->compressed != NULL) {
        return emu_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                          "%s: the PTX of the fatbin is compressed, and %s; compile with "
                          "`nvcc --no-compress`",
                          call, choice->compressed);
    }
    return emu_refuse(
        CUDA_ERROR_NO_BINARY_FOR_GPU,
        "%s: the fatbin has no PTX, but %u codes of other kinds; compile with "
        "`nvcc -gencode arch=compute_%ua,code=compute_%ua --no-compress`",
        call, choice->codes, sm, sm);
}

static CUresult parse_fatbin(const char *call, struct emu_fatbin fatbin,
                             const struct emu_device *device, struct emu_image **ret_image)
{
    struct choice choice = {0};
    struct emu_fatbin_ptx ptx = {0};
    enum emu_fatbin_entry entry = emu_fatbin_next(&fatbin, &ptx);
    for (; entry != EMU_FATBIN_END && entry != EMU_FATBIN_BROKEN;
         entry = emu_fatbin_next(&fatbin, &ptx)) {
        choice.codes += entry == EMU_FATBIN_CODE;
        if (entry == EMU_FATBIN_PTX) {
            consider(&choice, ptx.data, ptx.bytes, device);
        } else if (entry == EMU_FATBIN_COMPRESSED) {
            char *text = emu_fatbin_expand(&ptx, &choice.compressed);
            if (text != NULL) {
                consider(&choice, text, strlen(text), device);
            }
            emu_free(text);
        }
    }
    if (entry == EMU_FATBIN_BROKEN) {
        ptx_module_free(choice.best);
        return emu_refuse(CUDA_ERROR_INVALID_IMAGE, "%s: the fatbin is broken", call);
    }
    if (choice.best == NULL ||
        (!choice.fits && (choice.compressed != NULL || choice.error.set))) {
        ptx_module_free(choice.best);
        return refuse_fatbin(call, &choice, device);
    }
    return take_module(call, choice.best, device, ret_image);
}

static CUresult parse(const char *call, const void *data, const struct emu_device *device,
                      struct emu_image **ret_image)
{
    struct emu_error error = {0};
    struct emu_fatbin fatbin;
    if (is_cubin(data)) {
        return emu_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                          "%s: the image is a cubin; only PTX text can be emulated", call);
    }
    if (emu_fatbin_open(data, &fatbin)) {
        return parse_fatbin(call, fatbin, device, ret_image);
    }
    struct ptx_module *ptx = ptx_parse(data, strlen(data), &error);
    return ptx == NULL ? emu_refuse(CUDA_ERROR_INVALID_PTX, "%s: PTX %s", call, error.text)
                       : take_module(call, ptx, device, ret_image);
}

CUresult emu_image_load(const char *call, const void *data, const struct emu_device *device,
                        unsigned option_count, const CUjit_option *options, void **values,
                        struct emu_image **ret_image)
{
    struct log errors = {0};
    struct log infos = {0};
    if (data == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = find_logs(option_count, options, values, &errors, &infos);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = parse(call, data, device, ret_image);
    write_log(&errors, result == CUDA_SUCCESS ? "" : emu_text_get(&emu_driver.last_error));
    write_log(&infos, "");
    return result;
}

void emu_image_release(struct emu_image *image)
{
    if (--image->users == 0) {
        ptx_module_free(image->ptx);
        emu_free(image);
    }
}
