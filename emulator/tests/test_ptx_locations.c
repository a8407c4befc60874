/* SPDX-License-Identifier: MIT */
/* Where instructions come from: lines of the text, .loc, inlining, and how it is told. */
#include <criterion/criterion.h>

#include "test_ptx_support.h"

static void expect_place(const struct ptx_module *module, uint32_t insn,
                         const char *expected)
{
    struct emu_text text = {0};
    ptx_describe_location(module, &module->functions[0].insns[insn].location, &text);
    cr_expect_str_eq(emu_text_get(&text), expected, "%s", emu_text_get(&text));
    emu_text_free(&text);
}

Test(ptx_locations, without_loc_the_line_of_the_text_counts)
{
    struct ptx_module *module = parse_module(".entry k() { .reg .pred p;\n"
                                             "/* a\n comment */ exit;\n"
                                             "@!p\nret;\n"
                                             "}");

    expect_place(module, 0, "ptx line 6");
    expect_place(module, 1, "ptx line 8");
    ptx_module_free(module);
}

Test(ptx_locations, place_tells_the_line_of_the_text_once)
{
    const char *file = "a.cuh";
    const struct ptx_module module = {.files = &file, .file_count = 1};
    const struct ptx_location known = {.line = 3, .ptx_line = 41};
    const struct ptx_location unknown = {.ptx_line = 41};
    struct emu_text text = {0};
    ptx_describe_full_location(&module, &known, &text);
    emu_text_add(&text, "; ");
    ptx_describe_full_location(&module, &unknown, &text);
    cr_expect_str_eq(emu_text_get(&text), "a.cuh:3, PTX line 41; ptx line 41", "%s",
                     emu_text_get(&text));
    emu_text_free(&text);
}

Test(ptx_locations, lines_and_files)
{
    struct ptx_module *module =
        parse_module(".entry k() {\n"
                     "exit;\n"
                     ".loc 2 107 5\n"
                     "trap;\n"
                     "ret;\n"
                     ".loc 1 0 5\n"
                     "ret;\n"
                     ".loc 3 9 1\n"
                     "ret; }\n"
                     ".entry l() { ret; }\n"
                     ".file 1 \"plain.cu\"\n"
                     ".file 2 \"dir/sub/gemm_kernel.cuh\", 17, 4000\n");
    const struct ptx_location *location = &module->functions[0].insns[1].location;

    cr_expect_eq(location->ptx_line, 7);
    cr_expect_eq(location->file, 2);
    cr_expect_eq(location->line, 107);
    cr_expect_eq(location->column, 5);
    cr_expect_null(location->function);
    cr_expect_eq(module->file_count, 4);
    cr_expect_null(module->files[0]);
    cr_expect_str_eq(module->files[2], "dir/sub/gemm_kernel.cuh");
    cr_expect_null(module->files[3]);
    expect_place(module, 0, "ptx line 5");
    expect_place(module, 1, "gemm_kernel.cuh:107");
    expect_place(module, 2, "gemm_kernel.cuh:107");
    expect_place(module, 3, "ptx line 10");
    expect_place(module, 4, "file 3, line 9");
    /* A .loc holds up to the end of its function. */
    cr_expect_eq(module->functions[1].insns[0].location.line, 0);
    ptx_module_free(module);
}

/* "outer", 0, "_ZN2jg12run_producerEv", 0 */
#define STRINGS                                                           \
    ".section .debug_str\n{\n$L0:\n.b8 111,117,116,101,114\n.b8 0\n$L1:"  \
    ".b8 95,90,78,50,106,103,49,50,114,117,110,95,112,114,111,100,117,99" \
    ",101,114,69,118,0\n}\n"

Test(ptx_locations, file_without_a_name_is_told_by_its_number)
{
    const char *const files[] = {"", "folder/"};
    const struct ptx_module module = {.files = (const char **)files, .file_count = 2};
    const struct ptx_location first = {.line = 3, .ptx_line = 41};
    const struct ptx_location second = {.file = 1, .line = 4, .ptx_line = 42};
    struct emu_text text = {0};
    ptx_describe_location(&module, &first, &text);
    emu_text_add(&text, "; ");
    ptx_describe_location(&module, &second, &text);
    cr_expect_str_eq(emu_text_get(&text), "file 0, line 3; file 1, line 4", "%s",
                     emu_text_get(&text));
    emu_text_free(&text);
}

Test(ptx_locations, inlined_functions_have_names_and_callers)
{
    struct ptx_module *module = parse_module(
        ".entry k() {\n"
        ".loc 1 20 3\n"
        "trap;\n"
        ".loc 1 12 41, function_name $L0, inlined_at 1 20 3\n"
        "trap;\n"
        ".loc 2 5 1, function_name $L1, inlined_at 1 12 41\n"
        "trap;\n"
        ".loc 2 6 1, function_name $L1+8, inlined_at 1 20 3\n"
        "trap;\n"
        "ret; }\n"
        ".file 1 \"a.cu\"\n.file 2 \"b.cuh\"\n"
        ".section .debug_abbrev { .b8 1,2 .b32 .debug_abbrev .b64 $L5 }\n" STRINGS);
    const struct ptx_insn *insns = module->functions[0].insns;

    expect_place(module, 0, "a.cu:20");
    expect_place(module, 1, "a.cu:12 (outer)");
    expect_place(module, 2, "b.cuh:5 (run_producer)");
    expect_place(module, 3, "b.cuh:6 (run_producerEv)");
    cr_expect_str_eq(insns[2].location.function, "_ZN2jg12run_producerEv");
    cr_expect_str_eq(insns[3].location.function, "run_producerEv");
    const struct ptx_location *caller = insns[2].location.inlined_at;
    cr_assert_not_null(caller);
    cr_expect_eq(caller->line, 12);
    cr_expect_str_eq(caller->function, "outer");
    cr_assert_not_null(caller->inlined_at);
    cr_expect_eq(caller->inlined_at->line, 20);
    cr_expect_null(caller->inlined_at->inlined_at);
    cr_expect_eq(insns[3].location.inlined_at->line, 20);
    ptx_module_free(module);
}

Test(ptx_locations, mangled_names_are_shortened_to_the_function)
{
    static const char *const cases[][2] = {
        {"_Z6helperPi", "helper"},
        {"_ZL6helperPi", "helper"},
        {"_Z3fooILi3EEvT_", "foo"},
        {"_ZN2jg4ring12run_producerEv", "run_producer"},
        {"_ZNK2jg6RasterILj8ELb1EE4nextILNS_4KindE2EJfNS_4bf16EEEEvT_S1_", "next"},
        {"_ZN2jg4WaitIXadL_Z3fooEEE4waitEv", "wait"},
        {"_ZN2jg4RingC1Ev", "_ZN2jg4RingC1Ev"},
        {"_ZN3std4moveE", "move"},
        {"_ZSt4moveIiEvT_", "move"},
        {"_ZN4a", "_ZN4a"},
        {"_Z99999999999999999999x", "_Z99999999999999999999x"},
        {"run_consumer", "run_consumer"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *file = "a.cuh";
        const struct ptx_module module = {.files = &file, .file_count = 1};
        const struct ptx_location location = {.line = 3, .function = cases[i][0]};
        struct emu_text text = {0}, expected = {0};
        ptx_describe_location(&module, &location, &text);
        emu_text_add(&expected, "a.cuh:3 (%s)", cases[i][1]);
        cr_expect_str_eq(emu_text_get(&text), emu_text_get(&expected), "%s",
                         emu_text_get(&text));
        emu_text_free(&text);
        emu_text_free(&expected);
    }
}

Test(ptx_locations, what_is_refused)
{
    static const char *const cases[][2] = {
        {".file 1 \"a\" .file 1 \"b\"", "4:13: file 1 is declared twice"},
        {".file 65536 \"a\"", "4:7: 65536 is more than the 65535 that are supported"},
        {".file 1 a", "4:9: expected a string but met 'a'"},
        {".entry k() { .loc 1 2 ret; }", "4:23: expected an integer but met 'ret'"},
        {".entry k() { .loc 1 2 3, inlined_at 1 2 3 ret; }",
         "4:26: expected function_name but met 'inlined_at'"},
        {".entry k() { .loc 1 1 1 .loc 1 2 3, function_name a, inlined_at 1 1 1\nret; }",
         "4:51: 'a' is not declared in .debug_str"},
        {".entry k() { .loc 1 1 1 .loc 1 2 3, function_name a+1, inlined_at 1 1 1\nret; }\n"
         ".section .debug_str { a: .b8 0 }",
         "4:51: 'a' points behind the end of .debug_str"},
        {".entry k() { .loc 1 2 3, function_name a, inlined_at 1 1 1\nret; }",
         "4:54: no '.loc 1 1 1' stands before this 'inlined_at'"},
        {".section .debug_str { a: a: }", "4:26: 'a' is declared twice in .debug_str"},
        {".section .debug_str { .f32 1.0 }",
         "4:23: expected a label, '.b8' or '}' but met '.f32'"},
        {".section .debug_info { .b8 1", "4:29: expected '}' but the text ends"},
        {".section x { }", "4:10: expected the name of a section but met 'x'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *refusal = refusal_of_module(cases[i][0]);
        cr_expect_str_eq(refusal, cases[i][1], "%s: %s", cases[i][0], refusal);
    }
}
