/* SPDX-License-Identifier: MIT */
/* From what a program hands over as a module to parsed PTX. */
#include <stdio.h>
#include <string.h>

#include "driver/driver.h"

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

/* What kind of binary this is, or NULL: it can be text. */
static const char *name_binary(const void *data)
{
    static const struct {
        unsigned char magic[4];
        const char *name;
    } kinds[] = {{{0x7F, 'E', 'L', 'F'}, "a cubin"},
                 {{0xB1, 0x43, 0x62, 0x46}, "a wrapped fatbin"},
                 {{0x50, 0xED, 0x55, 0xBA}, "a fatbin"}};
    const unsigned char *bytes = data;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        /* A text may be shorter: no byte is read behind one that differs. */
        unsigned same = 0;
        while (same < 4 && bytes[same] == kinds[i].magic[same]) {
            same++;
        }
        if (same == 4) {
            return kinds[i].name;
        }
    }
    return NULL;
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

static CUresult parse(const char *call, const void *data, const struct emu_device *device,
                      struct emu_image **ret_image)
{
    struct emu_error error = {0};
    const char *binary = name_binary(data);
    if (binary != NULL) {
        return emu_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                          "%s: the image is %s; only PTX text can be emulated", call,
                          binary);
    }
    struct ptx_module *ptx = ptx_parse(data, strlen(data), &error);
    if (ptx == NULL) {
        return emu_refuse(CUDA_ERROR_INVALID_PTX, "%s: PTX %s", call, error.text);
    }
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
