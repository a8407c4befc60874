/* SPDX-License-Identifier: MIT */
/* Findings: kept in order, each place once, printed with stable names. */
#include <criterion/criterion.h>
#include <string.h>

#include "check/report.h"

static void expect_text(struct emu_reports *reports, enum emu_severity at_least,
                        const char *expected)
{
    char *text = emu_reports_text(reports, at_least);
    cr_expect_str_eq(text, expected);
    emu_free(text);
}

Test(reports, every_finding_has_a_name_of_its_own)
{
    for (int i = 0; i < EMU_FINDING_COUNT; i++) {
        const char *name = emu_finding_name((enum emu_finding)i);
        cr_assert_not_null(name);
        cr_expect_neq(name[0], 0);
        for (int j = 0; j < i; j++) {
            cr_expect_str_neq(name, emu_finding_name((enum emu_finding)j));
        }
    }
    cr_expect_str_eq(emu_finding_name(EMU_FINDING_OUT_OF_BOUNDS), "out-of-bounds");
    cr_expect_str_eq(emu_finding_name(EMU_FINDING_ILLEGAL), "illegal");
}

Test(reports, what_is_there_already_is_counted_without_a_text)
{
    struct emu_reports *reports = emu_reports_create();
    cr_expect_not(emu_reports_again(reports, EMU_ERROR, EMU_FINDING_RACE, 2));
    emu_reports_add(reports, EMU_ERROR, EMU_FINDING_RACE, 2, "r");
    cr_expect(emu_reports_again(reports, EMU_ERROR, EMU_FINDING_RACE, 2));
    cr_expect_not(emu_reports_again(reports, EMU_ADVICE, EMU_FINDING_RACE, 2));
    cr_expect_not(emu_reports_again(reports, EMU_ERROR, EMU_FINDING_RACE, 3));
    expect_text(reports, EMU_ADVICE, "error [race] r\n    (seen 2 times)\n");
    emu_reports_free(reports);
}

Test(reports, text_is_in_order_and_further_lines_are_indented)
{
    struct emu_reports *reports = emu_reports_create();
    emu_reports_add(reports, EMU_ADVICE, EMU_FINDING_BARRIER, 1, "left open");
    emu_reports_add(reports, EMU_ERROR, EMU_FINDING_RACE, 2, "two writes\nhere\nthere\n");

    expect_text(reports, EMU_ADVICE,
                "advice [barrier] left open\n"
                "error [race] two writes\n    here\n    there\n");
    expect_text(reports, EMU_WARNING, "error [race] two writes\n    here\n    there\n");
    emu_reports_free(reports);
}

Test(reports, same_place_is_counted_not_repeated)
{
    struct emu_reports *reports = emu_reports_create();
    emu_reports_add(reports, EMU_WARNING, EMU_FINDING_RACE, 7, "first");
    emu_reports_add(reports, EMU_WARNING, EMU_FINDING_RACE, 7, "second text is not kept");
    emu_reports_add(reports, EMU_WARNING, EMU_FINDING_RACE, 8, "other place");
    emu_reports_add(reports, EMU_WARNING, EMU_FINDING_DEADLOCK, 7, "other kind");

    cr_expect_eq(emu_reports_count(reports, EMU_ADVICE), 3);
    cr_expect_eq(emu_reports_count_of(reports, EMU_FINDING_RACE), 2);
    cr_expect_eq(emu_reports_count_of(reports, EMU_FINDING_TRAP), 0);
    expect_text(reports, EMU_ADVICE,
                "warning [race] first\n    (seen 2 times)\n"
                "warning [race] other place\n"
                "warning [deadlock] other kind\n");
    emu_reports_free(reports);
}

Test(reports, an_error_where_advice_was_given_has_its_own_text)
{
    struct emu_reports *reports = emu_reports_create();
    emu_reports_add(reports, EMU_ADVICE, EMU_FINDING_RACE, 1, "a");
    emu_reports_add(reports, EMU_WARNING, EMU_FINDING_RACE, 2, "w");
    cr_expect_eq(emu_reports_count(reports, EMU_ADVICE), 2);
    cr_expect_eq(emu_reports_count(reports, EMU_WARNING), 1);
    cr_expect_eq(emu_reports_count(reports, EMU_ERROR), 0);

    emu_reports_add(reports, EMU_ERROR, EMU_FINDING_RACE, 1, "e");
    emu_reports_add(reports, EMU_ADVICE, EMU_FINDING_RACE, 1, "a");
    cr_expect_eq(emu_reports_count(reports, EMU_ERROR), 1);
    expect_text(reports, EMU_ERROR, "error [race] e\n");
    emu_reports_free(reports);
}

Test(reports, first_error_is_the_first_of_that_severity)
{
    struct emu_reports *reports = emu_reports_create();
    enum emu_finding finding = EMU_FINDING_COUNT;
    emu_reports_add(reports, EMU_WARNING, EMU_FINDING_BARRIER, 1, "w");
    cr_expect_not(emu_reports_first_error(reports, &finding));

    emu_reports_add(reports, EMU_ERROR, EMU_FINDING_TRAP, 1, "t");
    emu_reports_add(reports, EMU_ERROR, EMU_FINDING_RACE, 1, "r");
    cr_expect(emu_reports_first_error(reports, &finding));
    cr_expect_eq(finding, EMU_FINDING_TRAP);

    emu_reports_clear(reports);
    cr_expect_not(emu_reports_first_error(reports, &finding));
    emu_reports_free(reports);
}

Test(reports, clear_leaves_an_empty_list_that_can_be_used)
{
    struct emu_reports *reports = emu_reports_create();
    emu_reports_add(reports, EMU_ERROR, EMU_FINDING_TRAP, 1, "t");
    emu_reports_clear(reports);

    cr_expect_eq(emu_reports_count(reports, EMU_ADVICE), 0);
    expect_text(reports, EMU_ADVICE, "");
    emu_reports_add(reports, EMU_ERROR, EMU_FINDING_TRAP, 1, "again");
    expect_text(reports, EMU_ADVICE, "error [trap] again\n");
    emu_reports_free(reports);
    emu_reports_free(NULL);
}

Test(reports, merge_returns_only_what_is_new)
{
    struct emu_reports *all = emu_reports_create();
    struct emu_reports *launch = emu_reports_create();
    emu_reports_add(all, EMU_ERROR, EMU_FINDING_RACE, 1, "known");
    emu_reports_add(launch, EMU_ERROR, EMU_FINDING_RACE, 1, "known");
    emu_reports_add(launch, EMU_ERROR, EMU_FINDING_RACE, 2, "new");
    emu_reports_add(launch, EMU_ADVICE, EMU_FINDING_RACE, 3, "new advice");

    char *text = emu_reports_merge(all, launch, EMU_WARNING);
    cr_expect_str_eq(text, "error [race] new\n");
    emu_free(text);
    text = emu_reports_merge(all, launch, EMU_ADVICE);
    cr_expect_str_eq(text, "");
    emu_free(text);

    expect_text(all, EMU_ADVICE,
                "error [race] known\n    (seen 3 times)\n"
                "error [race] new\n    (seen 2 times)\n"
                "advice [race] new advice\n    (seen 2 times)\n");
    emu_reports_free(all);
    emu_reports_free(launch);
}

Test(reports, list_has_an_end_and_says_so)
{
    struct emu_reports *reports = emu_reports_create();
    for (uint64_t place = 0; place < 4100; place++) {
        emu_reports_add(reports, EMU_WARNING, EMU_FINDING_RACE, place, "r");
    }

    cr_expect_eq(emu_reports_count(reports, EMU_ADVICE), 4096);
    char *text = emu_reports_text(reports, EMU_WARNING);
    cr_expect_not_null(strstr(text, "(4 further findings were not kept)\n"));
    emu_free(text);
    expect_text(reports, EMU_ERROR, "");
    emu_reports_free(reports);
}
