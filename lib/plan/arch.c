/* SPDX-License-Identifier: MIT */
#include "plan/arch.h"

#include <string.h>

#include "plan/arch_list.h"

/* For a device the first one is taken that fits: an "a" target before its family's. */
static const struct jg_arch *const archs[] = {&jg_arch_sm90a, &jg_arch_sm100a,
                                              &jg_arch_sm103a, &jg_arch_sm100f};

enum { ARCH_COUNT = sizeof(archs) / sizeof(archs[0]) };

const struct jg_arch *jg_arch_at(int index)
{
    return index >= 0 && index < ARCH_COUNT ? archs[index] : NULL;
}

const struct jg_arch *jg_arch_find(const char *name)
{
    for (int i = 0; name != NULL && i < ARCH_COUNT; i++) {
        if (strcmp(archs[i]->name, name) == 0) {
            return archs[i];
        }
    }
    return NULL;
}

const struct jg_arch *jg_arch_for_device(const struct jg_device_facts *facts)
{
    for (int i = 0; i < ARCH_COUNT; i++) {
        if (archs[i]->matches(facts)) {
            return archs[i];
        }
    }
    return NULL;
}
