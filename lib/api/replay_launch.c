/* SPDX-License-Identifier: MIT */
#include "api/replay_launch.h"

#include <string.h>

#include "api/launch_text.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "plan/groups.h"
#include "runtime/arguments.h"
#include "runtime/launch.h"

enum {
    MATRICES = 4, /* that may be by pointers */
    MOST_BUFFERS = 2 * MATRICES + 5 + 4 + JIT_GEMM_MAX_OPERANDS + MATRICES
};

/* Memory of the device, and what has its address. */
struct buffer {
    CUdeviceptr memory;
    uint64_t address; /* in it, aligned as it was asked for */
};

struct launch {
    const struct jg_kernel *kernel;
    struct jg_launch_text text;
    struct jg_extents extents;
    int64_t m, k, batch; /* of this launch */
    int64_t bytes;       /* of all buffers */
    struct buffer buffers[MOST_BUFFERS];
    size_t buffer_count;
};

static jit_gemm_status check(const struct launch *launch, CUresult result, const char *call)
{
    return result == CUDA_SUCCESS ? JIT_GEMM_OK
                                  : jg_driver_fail(launch->kernel->device->driver,
                                                   JIT_GEMM_ERR_DEVICE, result, call, "");
}

/* --------------------------------------------------------------------------- memory */

static jit_gemm_status fail_room(const struct launch *launch, int64_t bytes)
{
    const struct jg_device_facts *facts = &launch->kernel->device->facts;
    return jg_fail_system(JIT_GEMM_ERR_DEVICE, "launch.txt",
                          "replay it on a device with more memory",
                          "the launch takes %lld bytes, and %s has %lld", (long long)bytes,
                          facts->name, (long long)facts->memory_bytes);
}

/* Zeros at an address that is a multiple of `alignment` and of no more. */
static jit_gemm_status add_buffer(struct launch *launch, int64_t bytes, uint64_t alignment,
                                  uint64_t *ret_address)
{
    const struct jg_device *device = launch->kernel->device;
    struct buffer *buffer = &launch->buffers[launch->buffer_count];
    const uint64_t page = JG_LAUNCH_MOST_ALIGNMENT;
    const uint64_t offset = alignment < page ? alignment : 0;
    int64_t all = 0;
    int64_t sum = 0;
    if (__builtin_add_overflow(bytes, (int64_t)(page + offset), &all) ||
        __builtin_add_overflow(launch->bytes, all, &sum) ||
        sum > device->facts.memory_bytes) {
        return fail_room(launch, bytes);
    }
    JG_TRY(check(launch, device->driver->mem_alloc(&buffer->memory, (size_t)all),
                 "cuMemAlloc"));
    launch->bytes = sum;
    launch->buffer_count++;
    JG_TRY(check(launch, device->driver->memset_bytes(buffer->memory, 0, (size_t)all),
                 "cuMemsetD8"));
    buffer->address = ((uint64_t)buffer->memory + page - 1) / page * page + offset;
    *ret_address = buffer->address;
    return JIT_GEMM_OK;
}

static jit_gemm_status add_filled(struct launch *launch, const void *values, int64_t bytes,
                                  uint64_t *address)
{
    JG_TRY(add_buffer(launch, bytes, *address, address));
    return check(launch,
                 launch->kernel->device->driver->memcpy_to_device((CUdeviceptr)*address,
                                                                  values, (size_t)bytes),
                 "cuMemcpyHtoD");
}

static void free_buffers(struct launch *launch)
{
    const struct jg_driver *driver = launch->kernel->device->driver;
    for (size_t i = 0; i < launch->buffer_count; i++) {
        (void)driver->mem_free(launch->buffers[i].memory); /* the context may be in error */
    }
}

/* `field` as in struct jg_extent; NULL: an operand. What is not read has none. */
static struct jg_extent find_extent(const struct launch *launch, const char *field,
                                    size_t operand)
{
    for (size_t i = 0; i < launch->extents.count; i++) {
        const struct jg_extent *extent = &launch->extents.items[i];
        const bool is_it = field == NULL
                               ? extent->field == NULL && extent->operand_index == operand
                               : extent->field != NULL && strcmp(extent->field, field) == 0;
        if (is_it) {
            return *extent;
        }
    }
    return (struct jg_extent){.field = field};
}

static int64_t size_of(const jit_gemm_dim *dim, int64_t given)
{
    return jg_max(dim->mode == JIT_GEMM_DIM_EXACT ? dim->size : given, 0);
}

/* ----------------------------------------------------------------- what has an address */

static jit_gemm_status place(struct launch *launch, const char *field, size_t operand,
                             uint64_t *address)
{
    if (*address == 0) {
        return JIT_GEMM_OK;
    }
    return add_buffer(launch, find_extent(launch, field, operand).bytes, *address, address);
}

/* So many numbers, of which `value` says each. */
static jit_gemm_status place_numbers(struct launch *launch, int64_t count, void *user,
                                     int32_t (*value)(const struct launch *launch,
                                                      int64_t index, const void *user),
                                     uint64_t *address)
{
    if (*address == 0) {
        return JIT_GEMM_OK;
    }
    if (count > launch->kernel->device->facts.memory_bytes / (int64_t)sizeof(int32_t)) {
        return fail_room(launch, count);
    }
    int32_t *numbers = jg_alloc_array((size_t)count + 1, sizeof(numbers[0]));
    if (numbers == NULL) {
        return jg_fail_memory();
    }
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = value(launch, i, user);
    }
    const jit_gemm_status status =
        add_filled(launch, numbers, count * (int64_t)sizeof(numbers[0]), address);
    jg_free(numbers);
    return status;
}

static int32_t number_of_group(const struct launch *launch, int64_t index, const void *user)
{
    (void)user;
    switch (launch->kernel->problem.group_by) {
    case JIT_GEMM_GROUP_BY_OFFSETS:
        return (int32_t)(launch->m * (index + 1) / launch->batch);
    case JIT_GEMM_GROUP_BY_K_OFFSETS:
        return (int32_t)(launch->k * (index + 1) / launch->batch);
    case JIT_GEMM_GROUP_BY_ROWS:
        return (int32_t)(index / JG_GROUP_BLOCK_ROWS % launch->batch);
    default:
        return (int32_t)launch->m;
    }
}

static int32_t row_in_order(const struct launch *launch, int64_t index, const void *user)
{
    const int64_t *rows = user;
    (void)launch;
    return index < *rows ? (int32_t)index : -1;
}

static jit_gemm_status place_index(struct launch *launch, const char *field, int64_t rows,
                                   uint64_t *address)
{
    const int64_t count = find_extent(launch, field, 0).bytes / (int64_t)sizeof(int32_t);
    int64_t given = rows != 0 ? rows : count;
    return place_numbers(launch, count, &given, row_in_order, address);
}

static int32_t number_of_all(const struct launch *launch, int64_t index, const void *user)
{
    const int64_t *size = user;
    (void)launch;
    (void)index;
    return (int32_t)*size;
}

static jit_gemm_status place_groups(struct launch *launch)
{
    const struct jg_problem *problem = &launch->kernel->problem;
    const bool by_rows = problem->group_by == JIT_GEMM_GROUP_BY_ROWS;
    jit_gemm_args *args = &launch->text.args;
    int64_t n = size_of(&problem->n, args->n);
    JG_TRY(place_numbers(launch, by_rows ? launch->m : launch->batch, NULL, number_of_group,
                         &args->group_sizes));
    JG_TRY(place_numbers(launch, launch->batch, &n, number_of_all, &args->group_ns));
    return place_numbers(launch, launch->batch, &launch->k, number_of_all, &args->group_ks);
}

/* A word of 8 bytes for each group, from `first` on by `step`. */
static jit_gemm_status place_words(struct launch *launch, uint64_t first, uint64_t step,
                                   uint64_t *address)
{
    const size_t count = (size_t)launch->batch; /* at most 4096 groups */
    uint64_t *words = jg_alloc_array(count, sizeof(words[0]));
    if (words == NULL) {
        return jg_fail_memory();
    }
    for (size_t i = 0; i < count; i++) {
        words[i] = first + i * step;
    }
    const jit_gemm_status status =
        add_filled(launch, words, (int64_t)(count * sizeof(words[0])), address);
    jg_free(words);
    return status;
}

/* A matrix of each group, one behind the other, and the arrays that say so. */
static jit_gemm_status place_pointers(struct launch *launch, const char *field,
                                      uint64_t *address, uint64_t *lds)
{
    const struct jg_extent extent = find_extent(launch, field, 0);
    const int64_t page = JG_LAUNCH_MOST_ALIGNMENT;
    uint64_t matrices = 0;
    int64_t step = 0;
    int64_t all = 0;
    if (*address == 0) {
        return JIT_GEMM_OK;
    }
    if (__builtin_add_overflow(extent.bytes, page, &step) ||
        !jg_mul_checked(step / page * page, launch->batch, &all)) {
        return fail_room(launch, extent.bytes);
    }
    JG_TRY(add_buffer(launch, all, (uint64_t)page, &matrices));
    JG_TRY(place_words(launch, matrices, (uint64_t)(step / page * page), address));
    return *lds != 0 ? place_words(launch, (uint64_t)extent.ld, 0, lds) : JIT_GEMM_OK;
}

static jit_gemm_status place_matrix(struct launch *launch, const char *field,
                                    jit_gemm_arg *arg, uint64_t *lds)
{
    return launch->kernel->problem.group_by == JIT_GEMM_GROUP_BY_POINTERS
               ? place_pointers(launch, field, &arg->pointer, lds)
               : place(launch, field, 0, &arg->pointer);
}

static jit_gemm_status place_factor(struct launch *launch, uint64_t *address)
{
    static const float one = 1.0F;
    return *address != 0 ? add_filled(launch, &one, sizeof(one), address) : JIT_GEMM_OK;
}

static jit_gemm_status place_workspace(struct launch *launch)
{
    jit_gemm_args *args = &launch->text.args;
    const int64_t planned = launch->kernel->choice.derived.workspace_bytes;
    const int64_t bytes =
        args->workspace_bytes != 0 ? (int64_t)args->workspace_bytes : planned;
    return args->workspace != 0
               ? add_buffer(launch, bytes, args->workspace, &args->workspace)
               : JIT_GEMM_OK;
}

static jit_gemm_status place_all(struct launch *launch)
{
    jit_gemm_args *args = &launch->text.args;
    JG_TRY(place_matrix(launch, "a", &args->a, &args->a_lds));
    JG_TRY(place_matrix(launch, "b", &args->b, &args->b_lds));
    JG_TRY(place_matrix(launch, "c", &args->c, &args->c_lds));
    JG_TRY(place_matrix(launch, "d", &args->d, &args->d_lds));
    JG_TRY(place(launch, "a_scale", 0, &args->a_scale.pointer));
    JG_TRY(place(launch, "b_scale", 0, &args->b_scale.pointer));
    JG_TRY(place(launch, "d_scale", 0, &args->d_scale.pointer));
    JG_TRY(place_index(launch, "a_rows", args->a_row_count, &args->a_rows.pointer));
    JG_TRY(place_index(launch, "d_rows", args->d_row_count, &args->d_rows.pointer));
    for (size_t i = 0; i < args->operand_count; i++) {
        JG_TRY(place(launch, NULL, i, &launch->text.operands[i].pointer));
    }
    JG_TRY(place_factor(launch, &args->alpha_device));
    JG_TRY(place_factor(launch, &args->beta_device));
    JG_TRY(place_workspace(launch));
    return place_groups(launch);
}

/* --------------------------------------------------------------------------- launch */

/* A kernel that fails is told as the launch behind it would be: a capsule may be of that.
 */
static jit_gemm_status wait_for(const struct jg_kernel *kernel)
{
    const struct jg_driver *driver = kernel->device->driver;
    const CUresult result = driver->ctx_synchronize();
    return result == CUDA_SUCCESS
               ? JIT_GEMM_OK
               : jg_driver_fail(driver, JIT_GEMM_ERR_LAUNCH, result, kernel->entry, "");
}

static jit_gemm_status place_and_launch(struct launch *launch, bool *ret_is_launched)
{
    const struct jg_kernel *kernel = launch->kernel;
    const jit_gemm_args *args = &launch->text.args;
    struct jg_map_slots slots = {0};
    const uint32_t map_count = jg_most_maps(&kernel->problem);
    JG_TRY(place_all(launch));
    void *entries = jg_alloc(jg_map_slots_bytes(map_count));
    if (entries == NULL) {
        return jg_fail_memory();
    }
    jg_map_slots_init(&slots, map_count, entries);
    *ret_is_launched = true;
    jit_gemm_status status = jg_launch(kernel, &slots, args, NULL);
    if (status == JIT_GEMM_OK) {
        status = wait_for(kernel);
    }
    jg_free(entries);
    return status;
}

jit_gemm_status jg_replay_launch(const struct jg_kernel *kernel, const struct jg_str *text,
                                 bool *ret_is_launched)
{
    struct launch *launch = jg_alloc(sizeof(*launch));
    *ret_is_launched = false;
    if (launch == NULL) {
        return jg_fail_memory();
    }
    launch->kernel = kernel;
    CUcontext previous = NULL;
    jit_gemm_status status = jg_launch_parse(text, &launch->text);
    if (status == JIT_GEMM_OK) {
        status = jg_arguments_measure(kernel, &launch->text.args, &launch->extents);
    }
    if (status == JIT_GEMM_OK) {
        status = jg_device_visit(kernel->device, &previous);
    }
    if (status == JIT_GEMM_OK) {
        const jit_gemm_args *args = &launch->text.args;
        launch->m = size_of(&kernel->problem.m, args->m);
        launch->k = size_of(&kernel->problem.k, args->k);
        launch->batch = size_of(&kernel->problem.batch, args->batch);
        status = place_and_launch(launch, ret_is_launched);
    }
    free_buffers(launch);
    jg_device_leave(kernel->device, previous);
    jg_free(launch);
    return status;
}
