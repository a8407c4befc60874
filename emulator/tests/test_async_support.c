/* SPDX-License-Identifier: MIT */
#include "test_async_support.h"

#include <criterion/criterion.h>
#include <string.h>

#include "async/tensor_map.h"

uint64_t async_open(struct harness *h, const char *ptx, uint64_t out_bytes)
{
    harness_open(h);
    harness_load(h, ptx);
    h->shared_bytes = 64 * 1024;
    uint64_t out = harness_buffer(h, "out", out_bytes, NULL);
    harness_param_u64(h, out);
    return out;
}

void async_param_map(struct harness *h, const struct async_map *map)
{
    _Alignas(64) unsigned char bytes[EMU_MAP_BYTES];
    uint32_t element_strides[5];
    struct emu_error error = {0};
    for (unsigned i = 0; i < 5; i++) {
        element_strides[i] = map->element_strides[i] == 0 ? 1 : map->element_strides[i];
    }
    cr_assert(emu_tensor_map_encode(bytes, map->type, map->rank, map->base, map->dims,
                                    map->strides, map->box, element_strides, 0,
                                    map->swizzle, 0, map->fill, &error),
              "%s", error.text);
    harness_param_bytes(h, bytes, sizeof(bytes), 64);
}

void async_expect_error(struct harness *h, enum emu_finding finding, const char *words)
{
    const char *text = harness_text(h);
    cr_expect_gt(emu_reports_count(h->reports, EMU_ERROR), 0, "no error: %s", text);
    cr_expect_gt(harness_found(h, finding), 0, "no %s: %s", emu_finding_name(finding),
                 text);
    cr_expect_not_null(strstr(text, words), "`%s` is not in: %s", words, text);
}

void async_expect_clean(struct harness *h)
{
    cr_expect_eq(emu_reports_count(h->reports, EMU_WARNING), 0, "%s", harness_text(h));
}

void async_in_all_modes(void (*run)(const struct emu_settings *settings))
{
    for (unsigned async = EMU_ASYNC_EAGER; async <= EMU_ASYNC_REORDER; async++) {
        for (unsigned schedule = EMU_SCHEDULE_FAIR; schedule <= EMU_SCHEDULE_STARVE;
             schedule++) {
            for (uint64_t seed = 0; seed < 2; seed += harness_every()) {
                struct emu_settings settings = emu_settings_default();
                settings.async = (enum emu_async_mode)async;
                settings.schedule = (enum emu_schedule)schedule;
                settings.seed = seed;
                settings.threads = 1;
                run(&settings);
            }
        }
    }
}
