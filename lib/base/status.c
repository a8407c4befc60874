/* SPDX-License-Identifier: MIT */
#include "base/status.h"

struct status_row {
    jit_gemm_status status;
    const char *name;
    const char *text;
};

static const struct status_row status_rows[] = {
    {JIT_GEMM_OK, "OK", "Success."},
    {JIT_GEMM_ERR_ARGUMENT, "ARGUMENT", "An argument or a field of a struct is wrong."},
    {JIT_GEMM_ERR_UNSUPPORTED, "UNSUPPORTED",
     "The request is legal, but this version has no kernel for it."},
    {JIT_GEMM_ERR_NO_MEMORY, "NO_MEMORY", "Host or device memory could not be had."},
    {JIT_GEMM_ERR_NO_DRIVER, "NO_DRIVER", "The CUDA driver is absent or too old."},
    {JIT_GEMM_ERR_NO_COMPILER, "NO_COMPILER",
     "The compiler (NVRTC) is absent or too old, and the kernel is not cached."},
    {JIT_GEMM_ERR_DEVICE, "DEVICE",
     "The device is absent, not supported, or reported an error."},
    {JIT_GEMM_ERR_COMPILE, "COMPILE", "The snippet or the generated code did not compile."},
    {JIT_GEMM_ERR_LINK, "LINK", "The linker refused a compiled epilogue."},
    {JIT_GEMM_ERR_LOAD, "LOAD", "The driver refused the compiled kernel."},
    {JIT_GEMM_ERR_LAUNCH, "LAUNCH", "The driver refused the launch."},
    {JIT_GEMM_ERR_NOT_CACHED, "NOT_CACHED",
     "The policy forbids compiling, and the kernel is not cached."},
    {JIT_GEMM_ERR_CAPTURE, "CAPTURE",
     "The call may block, and the stream is being captured."},
    {JIT_GEMM_ERR_VERSION, "VERSION",
     "A struct is newer than the library and uses fields that it lacks."},
    {JIT_GEMM_ERR_CANCELLED, "CANCELLED", "The caller asked to stop."},
    {JIT_GEMM_ERR_IO, "IO", "A file that the caller named could not be read or written."},
    {JIT_GEMM_ERR_BUDGET, "BUDGET",
     "The kernel needs more registers or local memory than the problem allows."},
    {JIT_GEMM_ERR_INTERNAL, "INTERNAL",
     "A bug in the library; please report it with its text."},
};

static const struct status_row *find_status_row(jit_gemm_status status)
{
    for (size_t i = 0; i < sizeof(status_rows) / sizeof(status_rows[0]); i++) {
        if (status_rows[i].status == status) {
            return &status_rows[i];
        }
    }
    return NULL;
}

const char *jg_status_name(jit_gemm_status status)
{
    const struct status_row *row = find_status_row(status);
    return row != NULL ? row->name : "UNKNOWN";
}

const char *jg_status_text(jit_gemm_status status)
{
    const struct status_row *row = find_status_row(status);
    return row != NULL ? row->text : "The value is no status of this library.";
}
