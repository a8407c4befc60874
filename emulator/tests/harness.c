/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "async/unit.h"
#include "tensor/unit.h"

static char *last_text;

unsigned harness_every(void)
{
    const char *text = getenv("EMULATOR_TEST_EVERY");
    const int every = text != NULL ? atoi(text) : 1;
    cr_assert_gt(every, 0, "EMULATOR_TEST_EVERY=%s is no number of entries", text);
    return (unsigned)every;
}

void harness_open(struct harness *h)
{
    memset(h, 0, sizeof(*h));
    h->memory = emu_memory_create(UINT64_C(1) << 34);
    h->reports = emu_reports_create();
    h->settings = emu_settings_default();
    h->settings.threads = 1;
    h->sm_count = 148;
}

void harness_close(struct harness *h)
{
    emu_program_free(h->program);
    emu_variables_destroy(&h->variables);
    ptx_module_free(h->module);
    emu_memory_free_all(h->memory);
    emu_reports_free(h->reports);
    emu_free(last_text);
    last_text = NULL;
}

static const struct emu_unit *const units[] = {&emu_async_unit, &emu_tensor_unit, NULL};

bool harness_try_load(struct harness *h, const char *ptx)
{
    h->error = (struct emu_error){0};
    h->module = ptx_parse(ptx, strlen(ptx), &h->error);
    if (h->module == NULL ||
        !emu_variables_create(&h->variables, h->memory, h->module, &h->error)) {
        return false;
    }
    for (uint32_t i = 0; i < h->module->function_count && h->program == NULL; i++) {
        if (h->module->functions[i].is_entry) {
            h->program =
                emu_program_decode(h->module, &h->module->functions[i], units,
                                   emu_variables_address, &h->variables, &h->error);
        }
    }
    return h->program != NULL;
}

void harness_load(struct harness *h, const char *ptx)
{
    cr_assert(harness_try_load(h, ptx), "the kernel was refused: %s", h->error.text);
}

uint64_t harness_buffer(struct harness *h, const char *name, uint64_t bytes,
                        const void *data)
{
    uint64_t address = emu_memory_allocate(h->memory, bytes, name);
    if (data != NULL) {
        emu_memory_write(h->memory, address, data, bytes);
    }
    return address;
}

void harness_read(struct harness *h, uint64_t address, void *data, uint64_t bytes)
{
    cr_assert(emu_memory_read(h->memory, address, data, bytes));
}

void harness_param_bytes(struct harness *h, const void *data, size_t bytes,
                         size_t alignment)
{
    size_t at = (size_t)emu_align_up(h->param_bytes, alignment);
    cr_assert(at + bytes <= sizeof(h->params));
    memcpy(h->params + at, data, bytes);
    h->param_bytes = at + bytes;
}

void harness_param_u32(struct harness *h, uint32_t value)
{
    harness_param_bytes(h, &value, sizeof(value), sizeof(value));
}

void harness_param_u64(struct harness *h, uint64_t value)
{
    harness_param_bytes(h, &value, sizeof(value), sizeof(value));
}

static bool launch(struct harness *h)
{
    struct emu_launch how = {
        .program = h->program,
        .settings = h->settings,
        .memory = h->memory,
        .reports = h->reports,
        .dynamic_shared_bytes = h->shared_bytes,
        .params = h->params,
        .param_bytes = h->param_bytes,
        .sm_count = h->sm_count,
        .registers_per_thread = h->registers_per_thread,
        .chip = h->chip,
        .timing = h->timing,
    };
    memcpy(how.grid, h->grid, sizeof(how.grid));
    memcpy(how.block, h->block, sizeof(how.block));
    memcpy(how.cluster, h->cluster, sizeof(how.cluster));
    return emu_grid_run(&how, &h->thread_steps);
}

bool harness_run_clusters(struct harness *h, uint32_t ctas, uint32_t threads,
                          uint32_t cluster_ctas)
{
    for (int i = 0; i < 3; i++) {
        h->grid[i] = i == 0 ? ctas : 1;
        h->block[i] = i == 0 ? threads : 1;
        h->cluster[i] = i == 0 ? cluster_ctas : 1;
    }
    return launch(h);
}

bool harness_run(struct harness *h, uint32_t ctas, uint32_t threads)
{
    return harness_run_clusters(h, ctas, threads, 1);
}

unsigned harness_found(struct harness *h, enum emu_finding finding)
{
    return emu_reports_count_of(h->reports, finding);
}

const char *harness_text(struct harness *h)
{
    emu_free(last_text);
    last_text = emu_reports_text(h->reports, EMU_ADVICE);
    return last_text;
}
