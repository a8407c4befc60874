/* SPDX-License-Identifier: MIT */
/* Runs a kernel through the driver API, as any other program does. */
#include "tools/session.h"

#include <stdlib.h>
#include <string.h>

#include "driver/emulator.h"

/* Says which call failed, and why. */
static bool is_good(const struct emu_session *session, CUresult result, const char *call)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS) {
        return true;
    }
    cuGetErrorName(result, &name);
    fprintf(session->out, "%s: %s", call, name == NULL ? "unknown error" : name);
    fprintf(session->out, emuLastError()[0] == 0 ? "\n" : ": %s\n", emuLastError());
    return false;
}
#define GOOD(call) is_good(session, (call), #call)

/* ------------------------------------------------------------------------------ set-up */

static bool set_up_buffers(struct emu_session *session)
{
    const struct emu_script *script = session->script;
    for (uint32_t i = 0; i < script->buffer_count; i++) {
        const struct emu_script_buffer *buffer = &script->buffers[i];
        CUdeviceptr *address = &session->addresses[i];
        if (!is_good(session, cuMemAlloc(address, buffer->bytes), buffer->name) ||
            !GOOD(emuNameMemory(*address, buffer->name))) {
            return false;
        }
        session->before[i] = emu_alloc(buffer->bytes);
        session->after[i] = emu_alloc(buffer->bytes);
        if (buffer->initial == EMU_INITIAL_UNDEFINED) {
            continue;
        }
        if (!emu_buffer_fill(buffer, session->before[i], session->out) ||
            !GOOD(cuMemcpyHtoD(*address, session->before[i], buffer->bytes))) {
            return false;
        }
    }
    return true;
}

static bool set_up_maps(struct emu_session *session)
{
    const struct emu_script *script = session->script;
    if (script->map_count == 0) {
        return true;
    }
    /* A CUtensorMap is aligned more strictly than emu_alloc gives. */
    session->maps =
        aligned_alloc(_Alignof(CUtensorMap), script->map_count * sizeof(*session->maps));
    for (uint32_t i = 0; session->maps != NULL && i < script->map_count; i++) {
        const struct emu_script_map *map = &script->maps[i];
        CUresult result = CUDA_ERROR_INVALID_VALUE;
        if (map->type->map_type >= 0) {
            result = cuTensorMapEncodeTiled(
                &session->maps[i], (CUtensorMapDataType)map->type->map_type, map->rank,
                emu_pointer(session->addresses[map->buffer] + map->offset_bytes), map->dims,
                map->strides, map->box, map->steps, (CUtensorMapInterleave)map->interleave,
                (CUtensorMapSwizzle)map->swizzle, (CUtensorMapL2promotion)map->promotion,
                (CUtensorMapFloatOOBfill)map->fill);
        }
        if (!is_good(session, result, map->name)) {
            return false;
        }
    }
    return session->maps != NULL;
}

static bool load_kernel(struct emu_session *session, const char *ptx)
{
    const struct emu_script *script = session->script;
    CUmodule module = NULL;
    if (!GOOD(cuModuleLoadData(&module, ptx)) ||
        !is_good(session, cuModuleGetFunction(&session->function, module, script->entry),
                 script->entry)) {
        return false;
    }
    uint64_t size = (uint64_t)script->cluster[0] * script->cluster[1] * script->cluster[2];
    if (size > 8 &&
        !GOOD(cuFuncSetAttribute(session->function,
                                 CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))) {
        return false;
    }
    return script->shared_bytes <= 48 * 1024 ||
           GOOD(cuFuncSetAttribute(session->function,
                                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   (int)script->shared_bytes));
}

/* -------------------------------------------------------------------------- parameters */

/* The kernel declares how large each parameter is; the file has to agree. */
static bool check_params(const struct emu_session *session)
{
    const struct emu_script *script = session->script;
    size_t offset = 0;
    size_t bytes = 0;
    for (uint32_t i = 0; i < script->param_count; i++) {
        if (cuFuncGetParamInfo(session->function, i, &offset, &bytes) != CUDA_SUCCESS) {
            fprintf(session->out, "line %u: %s has only %u parameters\n",
                    script->params[i].line, script->entry, i);
            return false;
        }
        if (bytes != script->params[i].bytes) {
            fprintf(session->out, "line %u: parameter %u of %s has %zu bytes, not %llu\n",
                    script->params[i].line, i, script->entry, bytes,
                    (unsigned long long)script->params[i].bytes);
            return false;
        }
    }
    if (cuFuncGetParamInfo(session->function, script->param_count, &offset, &bytes) ==
        CUDA_SUCCESS) {
        fprintf(session->out, "%s has more than %u parameters\n", script->entry,
                script->param_count);
        return false;
    }
    return true;
}

static void fill_params(const struct emu_session *session, void **params)
{
    const struct emu_script *script = session->script;
    for (uint32_t i = 0; i < script->param_count; i++) {
        params[i] = emu_alloc(script->params[i].bytes);
    }
    for (uint32_t i = 0; i < script->piece_count; i++) {
        const struct emu_script_piece *piece = &script->pieces[i];
        unsigned char *to = (unsigned char *)params[piece->param] + piece->offset_bytes;
        if (piece->kind == EMU_PIECE_ADDRESS) {
            uint64_t address = session->addresses[piece->index] + piece->addend;
            memcpy(to, &address, sizeof(address));
        } else if (piece->kind == EMU_PIECE_MAP) {
            memcpy(to, &session->maps[piece->index], sizeof(CUtensorMap));
        } else if (piece->bytes > 0) {
            memcpy(to, piece->data, piece->bytes);
        }
    }
}

/* ------------------------------------------------------------------------------ launch */

static CUresult launch(const struct emu_session *session, void **params)
{
    const struct emu_script *script = session->script;
    CUlaunchAttribute attributes[3];
    unsigned count = 0;
    if (script->cluster[0] != 0) {
        attributes[count++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                .value.clusterDim = {script->cluster[0], script->cluster[1],
                                                     script->cluster[2]}};
    }
    if (script->cooperative) {
        attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                                  .value.cooperative = 1};
    }
    if (script->programmatic) {
        attributes[count++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                .value.programmaticStreamSerializationAllowed = 1};
    }
    const CUlaunchConfig config = {.gridDimX = script->grid[0],
                                   .gridDimY = script->grid[1],
                                   .gridDimZ = script->grid[2],
                                   .blockDimX = script->block[0],
                                   .blockDimY = script->block[1],
                                   .blockDimZ = script->block[2],
                                   .sharedMemBytes = script->shared_bytes,
                                   .attrs = attributes,
                                   .numAttrs = count};
    CUresult result = cuLaunchKernelEx(&config, session->function, params, NULL);
    return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}

/* Compares how it ended with what the file expects. */
static bool check_end(const struct emu_session *session, CUresult result)
{
    const struct emu_script *script = session->script;
    const char *name = NULL;
    const char *expected = script->result == NULL ? "CUDA_SUCCESS" : script->result;
    bool good = true;
    cuGetErrorName(result, &name);
    if (name == NULL || strcmp(name, expected) != 0) {
        fprintf(session->out, "the launch ended with %s, expected was %s\n",
                name == NULL ? "an unknown error" : name, expected);
        good = false;
    }
    char *findings = emuReports(0);
    for (uint32_t i = 0; i < script->finding_count; i++) {
        struct emu_text wanted = {0};
        emu_text_add(&wanted, " [%s] ", script->findings[i]);
        if (strstr(findings, emu_text_get(&wanted)) == NULL) {
            fprintf(session->out, "there was no finding [%s]\n", script->findings[i]);
            good = false;
        }
        emu_text_free(&wanted);
    }
    free(findings);
    findings = emuReports(1);
    if (script->expect_clean && findings[0] != 0) {
        fprintf(session->out, "there were findings:\n%s", findings);
        good = false;
    }
    free(findings);
    return good;
}

static bool fetch(const struct emu_session *session)
{
    for (uint32_t i = 0; i < session->script->buffer_count; i++) {
        if (!GOOD(cuMemcpyDtoH(session->after[i], session->addresses[i],
                               session->script->buffers[i].bytes))) {
            return false;
        }
    }
    return true;
}

static bool launch_and_check(const struct emu_session *session)
{
    const struct emu_script *script = session->script;
    void **params = emu_alloc((script->param_count + 1) * sizeof(*params));
    fill_params(session, params);
    CUresult result = launch(session, params);
    for (uint32_t i = 0; i < script->param_count; i++) {
        emu_free(params[i]);
    }
    emu_free(params);
    bool good = check_end(session, result);
    if (result != CUDA_SUCCESS) {
        return good; /* there is no data to look at */
    }
    good = fetch(session) && good;
    for (uint32_t i = 0; i < script->action_count; i++) {
        good = emu_session_act(session, &script->actions[i]) && good;
    }
    return good;
}

static void tear_down(struct emu_session *session)
{
    for (uint32_t i = 0; i < session->script->buffer_count; i++) {
        emu_free(session->before[i]);
        emu_free(session->after[i]);
    }
    emu_free(session->before);
    emu_free(session->after);
    emu_free(session->addresses);
    free(session->maps);
    if (session->context != NULL) {
        cuCtxDestroy(session->context);
    }
}

bool emu_session_run(const struct emu_script *script, const char *ptx, FILE *out)
{
    size_t count = script->buffer_count + 1;
    struct emu_session own = {.script = script,
                              .out = out,
                              .addresses = emu_alloc(count * sizeof(*own.addresses)),
                              .before = emu_alloc(count * sizeof(*own.before)),
                              .after = emu_alloc(count * sizeof(*own.after))};
    struct emu_session *session = &own;
    emuReportsClear();
    bool good = GOOD(cuCtxCreate(&session->context, NULL, 0, script->ordinal)) &&
                load_kernel(session, ptx) && check_params(session) &&
                set_up_buffers(session) && set_up_maps(session) &&
                launch_and_check(session);
    tear_down(session);
    return good;
}
