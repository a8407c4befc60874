/* SPDX-License-Identifier: MIT */
#include "plan/planned_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/arch.h"
#include "plan/text.h"

/* ---------------------------------------------------------------------------- words */

/* A word of the text, and where its number goes. */
struct fact {
    const char *key;
    int64_t high;
    int64_t value; /* 0: not named */
};

/* What stands behind NEEDED_COUNT need not be known. */
enum fact_index {
    SM_COUNT,
    L2_BYTES,
    MEMORY_BYTES_S,
    SMEM_BYTES,
    NEEDED_COUNT,
    CLUSTERS_OF_4 = NEEDED_COUNT,
    CLUSTERS_OF_8,
    CLUSTERS_OF_16,
    FACT_COUNT
};

struct fact_list {
    struct fact facts[FACT_COUNT];
    int64_t capability[2]; /* major and minor; 0.0: not named */
    char name[128];
};

static struct fact_list list_facts(const struct jg_device_facts *facts)
{
    struct fact_list list = {
        .facts = {[SM_COUNT] = {"sm_count", 1 << 16, facts->sm_count},
                  [L2_BYTES] = {"l2_bytes", INT64_C(1) << 40, facts->l2_bytes},
                  [MEMORY_BYTES_S] = {"memory_bytes_s", INT64_C(1) << 50,
                                      facts->memory_bytes_s},
                  [SMEM_BYTES] = {"smem_bytes", 1 << 30, facts->smem_optin_bytes},
                  [CLUSTERS_OF_4] = {"clusters_of_4", 1 << 14, facts->clusters_at_once[0]},
                  [CLUSTERS_OF_8] = {"clusters_of_8", 1 << 13, facts->clusters_at_once[1]},
                  [CLUSTERS_OF_16] = {"clusters_of_16", 1 << 12,
                                      facts->clusters_at_once[2]}},
        .capability = {facts->cc_major, facts->cc_minor}};
    snprintf(list.name, sizeof(list.name), "%s", facts->name);
    return list;
}

static struct jg_device_facts facts_of(const struct fact_list *list)
{
    struct jg_device_facts facts = {.cc_major = (int)list->capability[0],
                                    .cc_minor = (int)list->capability[1],
                                    .sm_count = (int)list->facts[SM_COUNT].value,
                                    .l2_bytes = list->facts[L2_BYTES].value,
                                    .memory_bytes_s = list->facts[MEMORY_BYTES_S].value,
                                    .smem_optin_bytes = (int)list->facts[SMEM_BYTES].value};
    for (int i = 0; i < JG_COUNTED_CLUSTERS; i++) {
        facts.clusters_at_once[i] = (int)list->facts[CLUSTERS_OF_4 + i].value;
    }
    /* A chip's dies are all alike, which no driver tells. */
    const struct jg_arch *arch = jg_arch_for_device(&facts);
    facts.gpc_sms = arch != NULL ? arch->default_facts.gpc_sms : 0;
    snprintf(facts.name, sizeof(facts.name), "%s", list->name);
    return facts;
}

static bool find_device(const struct jg_word *word, struct fact_list *ret_list)
{
    const struct jg_known_device *device = NULL;
    for (int i = 0; (device = jg_known_device_at(i)) != NULL; i++) {
        if (word->value == NULL && jg_word_is(word->key, word->key_size, device->name)) {
            *ret_list = list_facts(&device->facts);
            return true;
        }
    }
    return false;
}

static jit_gemm_status fail_word(const char *field, const struct jg_word *word)
{
    const size_t whole_size =
        word->key_size + (word->value != NULL ? 1 + word->value_size : 0);
    struct jg_nearest nearest = jg_nearest_begin(word->key, whole_size);
    struct jg_key_list names = {"a name:"};
    const struct jg_known_device *device = NULL;
    for (int i = 0; (device = jg_known_device_at(i)) != NULL; i++) {
        jg_key_list_add(&names, device->name);
        jg_nearest_try(&nearest, device->name, strlen(device->name));
    }
    char hint[512];
    snprintf(hint, sizeof(hint),
             "%s; or the words that `jit-gemm doctor` prints on the device behind `plan "
             "for`",
             names.text);
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, jg_near_hint(&nearest, hint).text,
                   "no device is planned for by %s", jg_quote(word->key, whole_size).text);
}

static jit_gemm_status read_word(const char *field, const struct jg_word *word,
                                 struct fact_list *list)
{
    if (word->value != NULL && jg_word_is(word->key, word->key_size, "cc")) {
        const char *dot = memchr(word->value, '.', word->value_size);
        const size_t size = dot != NULL ? (size_t)(dot - word->value) : 0;
        return dot != NULL &&
                       jg_number_parse(word->value, size, 1, 99, &list->capability[0]) &&
                       jg_number_parse(dot + 1, word->value_size - size - 1, 0, 9,
                                       &list->capability[1])
                   ? JIT_GEMM_OK
                   : fail_word(field, word);
    }
    for (int i = 0; word->value != NULL && i < FACT_COUNT; i++) {
        struct fact *fact = &list->facts[i];
        if (jg_word_is(word->key, word->key_size, fact->key) &&
            jg_number_parse(word->value, word->value_size, 1, fact->high, &fact->value)) {
            return JIT_GEMM_OK;
        }
    }
    return fail_word(field, word);
}

jit_gemm_status jg_planned_device_parse(const char *text, const char *field,
                                        struct jg_device_facts *ret_facts)
{
    const struct jg_device_facts unknown = {.name = "a device of these facts"};
    struct fact_list list = list_facts(&unknown);
    struct jg_word word;
    size_t offset = 0;
    for (bool is_first = true; jg_word_next(text, &offset, &word); is_first = false) {
        if (!is_first || !find_device(&word, &list)) {
            JG_TRY(read_word(field, &word, &list));
        }
    }
    const char *missing = list.capability[0] == 0 ? "cc" : NULL;
    for (int i = 0; missing == NULL && i < NEEDED_COUNT; i++) {
        missing = list.facts[i].value == 0 ? list.facts[i].key : NULL;
    }
    if (missing != NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "begin with a name such as h100, or give all words that `jit-gemm "
                       "doctor` prints on the device behind `plan for`",
                       "the device that is planned for lacks %s", missing);
    }
    *ret_facts = facts_of(&list);
    return JIT_GEMM_OK;
}

void jg_planned_device_print(const struct jg_device_facts *facts, struct jg_str *out)
{
    const struct fact_list list = list_facts(facts);
    jg_str_printf(out, "cc=%d.%d", facts->cc_major, facts->cc_minor);
    for (int i = 0; i < FACT_COUNT; i++) {
        if (i < NEEDED_COUNT || list.facts[i].value > 0) {
            jg_str_printf(out, " %s=%" PRId64, list.facts[i].key, list.facts[i].value);
        }
    }
}
