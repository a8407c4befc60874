/* SPDX-License-Identifier: MIT */
/* The device that is planned for, as text, and what a choice makes of it. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "plan/arch.h"
#include "plan/planned_device.h"

static struct jg_device_facts facts_of(const char *text)
{
    struct jg_device_facts facts = {0};
    cr_assert_eq(jg_planned_device_parse(text, "plan_for", &facts), JIT_GEMM_OK, "%s: %s",
                 text, jg_error_text());
    return facts;
}

static void expect_same(const struct jg_device_facts *one,
                        const struct jg_device_facts *other)
{
    cr_expect_eq(one->cc_major, other->cc_major);
    cr_expect_eq(one->cc_minor, other->cc_minor);
    cr_expect_eq(one->sm_count, other->sm_count);
    cr_expect_eq(one->l2_bytes, other->l2_bytes);
    cr_expect_eq(one->memory_bytes_s, other->memory_bytes_s);
    cr_expect_eq(one->smem_optin_bytes, other->smem_optin_bytes);
    for (int i = 0; i < JG_COUNTED_CLUSTERS; i++) {
        cr_expect_eq(one->clusters_at_once[i], other->clusters_at_once[i]);
    }
}

Test(planned_device, what_is_printed_is_read)
{
    static const char *const names[] = {"h100", "h200", "b200", "b300",
                                        "b200 clusters_of_4=36 clusters_of_16=8"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct jg_device_facts named = facts_of(names[i]);
        struct jg_str text = {0};

        jg_planned_device_print(&named, &text);

        const struct jg_device_facts read = facts_of(jg_str_text(&text));
        expect_same(&named, &read);
        jg_str_free(&text);
    }
}

Test(planned_device, names_are_the_defaults_of_chips)
{
    const struct jg_device_facts h200 = facts_of("h200");
    const struct jg_device_facts b300 = facts_of(" b300 ");

    expect_same(&h200, &jg_arch_find("sm_90a")->default_facts);
    expect_same(&b300, &jg_arch_find("sm_103a")->default_facts);
    cr_expect_str_eq(facts_of("h100").name, "NVIDIA H100 80GB HBM3");
}

/* Nobody needs to know how many clusters run at once: without these words 0 is unknown. */
Test(planned_device, counts_of_clusters_are_facts_if_they_are_known)
{
    const struct jg_device_facts facts = facts_of("b200 clusters_of_8=17");
    struct jg_str text = {0};

    jg_planned_device_print(&facts, &text);

    cr_expect_eq(facts.clusters_at_once[0], 0);
    cr_expect_eq(facts.clusters_at_once[1], 17);
    cr_expect_not_null(strstr(jg_str_text(&text), " clusters_of_8=17"));
    cr_expect_null(strstr(jg_str_text(&text), "clusters_of_4"));
    jg_str_free(&text);
}

Test(planned_device, words_behind_a_name_replace_its_facts)
{
    const struct jg_device_facts facts = facts_of("h100 sm_count=114 memory_bytes_s=2039");

    cr_expect_eq(facts.sm_count, 114);
    cr_expect_eq(facts.memory_bytes_s, 2039);
    cr_expect_eq(facts.l2_bytes, 52428800);
}

Test(planned_device, what_is_none_is_refused_with_the_field_and_what_there_is)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "lacks cc"},
        {"h1000", "'h1000'"},
        {"h100 h200", "'h200'"},
        {"H100", "'H100'"},
        {"sm_count=132", "lacks cc"},
        {"cc=9.0 sm_count=132", "lacks l2_bytes"},
        {"cc=9.0 sm_count=132 l2_bytes=1 memory_bytes_s=1", "lacks smem_bytes"},
        {"h100 sm_count=0", "'sm_count=0'"},
        {"h100 sm_count=-1", "'sm_count=-1'"},
        {"h100 sm_count=", "'sm_count='"},
        {"h100 sm_count=99999999999999999999", "'sm_count=9999"},
        {"h100 sm_count", "'sm_count'"},
        {"h100 cc=9", "'cc=9'"},
        {"h100 cc=.0", "'cc=.0'"},
        {"h100 cc=9.x", "'cc=9.x'"},
        {"h100 memory=3", "'memory=3'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_device_facts facts = {.sm_count = 7};

        cr_expect_eq(jg_planned_device_parse(rows[i].text, "options.plan_for", &facts),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i].text);

        const char *error = jg_error_text();
        cr_expect(strstr(error, rows[i].message) != NULL, "%s: %s", rows[i].text, error);
        cr_expect(strstr(error, "options.plan_for") != NULL, "%s", error);
        cr_expect(strstr(error, "doctor") != NULL, "%s", error);
        cr_expect_eq(facts.sm_count, 7, "untouched");
    }
}
