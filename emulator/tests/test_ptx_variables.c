/* SPDX-License-Identifier: MIT */
/* Variables of the module and parameters: types, sizes, places, initial values. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_ptx_support.h"

static void expect_bytes(const struct ptx_module *module, const char *name,
                         const void *bytes, size_t count)
{
    const struct ptx_variable *variable = find_variable(module, name);
    cr_assert_eq(variable->bytes, count, "%s has %llu bytes", name,
                 (unsigned long long)variable->bytes);
    cr_assert_not_null(variable->initial);
    cr_expect_arr_eq(variable->initial, bytes, count, "%s", name);
}

Test(ptx_variables, types)
{
    enum ptx_type type = PTX_PRED;

    cr_expect(ptx_type_of("bf16x2", &type));
    cr_expect_eq(type, PTX_BF16X2);
    cr_expect(ptx_type_of("u32", &type));
    cr_expect_eq(type, PTX_U32);
    cr_expect(!ptx_type_of("u33", &type));
    cr_expect(!ptx_type_of("", &type));
    cr_expect_eq(ptx_type_bytes(PTX_PRED), 1);
    cr_expect_eq(ptx_type_bytes(PTX_F16), 2);
    cr_expect_eq(ptx_type_bytes(PTX_BF16X2), 4);
    cr_expect_eq(ptx_type_bytes(PTX_S64), 8);
    cr_expect_eq(ptx_type_bytes(PTX_B128), 16);
}

Test(ptx_variables, shapes_and_alignments)
{
    struct ptx_module *module = parse_module(".global .align 4 .b8 bytes[16];"
                                             ".const .v4 .f32 vectors[3];"
                                             ".shared .align 8 .u16 grid[2][3][4], one;"
                                             ".global .align 1 .b64 odd;");
    const struct ptx_variable *bytes = find_variable(module, "bytes");
    const struct ptx_variable *vectors = find_variable(module, "vectors");
    const struct ptx_variable *grid = find_variable(module, "grid");
    const struct ptx_variable *one = find_variable(module, "one");

    cr_expect_eq(bytes->space, PTX_GLOBAL);
    cr_expect_eq(bytes->alignment, 4);
    cr_expect_eq(bytes->bytes, 16);
    cr_expect_null(bytes->initial);
    cr_expect_eq(vectors->space, PTX_CONST);
    cr_expect_eq(vectors->vector, 4);
    cr_expect_eq(vectors->type, PTX_F32);
    cr_expect_eq(vectors->alignment, 16);
    cr_expect_eq(vectors->bytes, 48);
    cr_expect_eq(grid->space, PTX_SHARED);
    cr_expect_eq(grid->bytes, 48);
    cr_expect_eq(one->bytes, 2);
    cr_expect_eq(one->alignment, 8);
    cr_expect_eq(find_variable(module, "odd")->alignment, 1);
    ptx_module_free(module);
}

Test(ptx_variables, unsized_shared_memory)
{
    struct ptx_module *module = parse_module(".extern .shared .align 1024 .b8 smem[];");
    const struct ptx_variable *smem = &module->variables[0];

    cr_expect_str_eq(smem->name, "smem");
    cr_expect_eq(smem->space, PTX_SHARED);
    cr_expect_eq(smem->bytes, 0);
    cr_expect_eq(smem->alignment, 1024);
    cr_expect(smem->is_extern);
    cr_expect(!smem->is_visible);
    ptx_module_free(module);
}

Test(ptx_variables, linkage)
{
    struct ptx_module *module = parse_module(".visible .global .u32 a;"
                                             ".weak .const .u32 b = 3;"
                                             ".common .global .u32 c;"
                                             ".extern .global .u32 d;"
                                             ".global .u32 e;");

    cr_expect(find_variable(module, "a")->is_visible);
    cr_expect(find_variable(module, "b")->is_visible);
    cr_expect(find_variable(module, "c")->is_visible);
    cr_expect(find_variable(module, "d")->is_extern);
    cr_expect(!find_variable(module, "d")->is_visible);
    cr_expect(!find_variable(module, "e")->is_visible);
    ptx_module_free(module);
}

Test(ptx_variables, definition_replaces_the_extern_declaration)
{
    struct ptx_module *module = parse_module(".extern .global .u32 a[];"
                                             ".extern .shared .align 16 .b8 s[];"
                                             ".entry k() { mov.u64 _, a; }"
                                             ".visible .global .u32 a[2] = {7, 8};"
                                             ".extern .shared .align 1024 .b8 s[];");
    const uint32_t used = module->functions[0].insns[0].operands[1].index;

    cr_assert_eq(module->variable_count, 2);
    cr_expect_eq(module->variables[used].bytes, 8);
    cr_expect(!module->variables[used].is_extern);
    cr_expect_eq(module->variables[used].initial[4], 8);
    cr_expect_eq(find_variable(module, "s")->alignment, 1024);
    ptx_module_free(module);
}

Test(ptx_variables, initial_integers)
{
    static const int32_t words[] = {-1, 2, -4, 0};
    static const unsigned char bytes[] = {1, 255, 0x2C, 0, 0, 0};
    static const uint64_t wide = 0xFEDCBA9876543210u;
    struct ptx_module *module =
        parse_module(".const .align 4 .s32 words[4] = {-1, 1+1, ~3};"
                     ".global .b8 bytes[6] = {1, -1, 300};"
                     ".global .u64 wide = 0xFEDCBA9876543210;"
                     ".global .u16 none[2] = {};");

    expect_bytes(module, "words", words, sizeof(words));
    expect_bytes(module, "bytes", bytes, sizeof(bytes));
    expect_bytes(module, "wide", &wide, sizeof(wide));
    expect_bytes(module, "none", "\0\0\0", 4);
    ptx_module_free(module);
}

Test(ptx_variables, initial_floats)
{
    static const float floats[] = {1.0f, -1.5f, 0.1f, 0.5f};
    static const double doubles[] = {1.0, 0.1};
    static const uint32_t bits[] = {0x3F800000, 7};
    struct ptx_module *module =
        parse_module(".global .f32 floats[4] = {0f3F800000, -1.5, 0.1, 0d3FE0000000000000};"
                     ".global .f64 doubles[2] = {0f3F800000, 0.1};"
                     ".global .b32 bits[2] = {0f3F800000, 7};");

    expect_bytes(module, "floats", floats, sizeof(floats));
    expect_bytes(module, "doubles", doubles, sizeof(doubles));
    expect_bytes(module, "bits", bits, sizeof(bits));
    ptx_module_free(module);
}

Test(ptx_variables, nested_braces_fill_rows)
{
    static const uint16_t grid[2][3] = {{1, 2, 0}, {3, 0, 0}};
    static const uint16_t rows[3][2] = {{1, 2}, {3, 4}, {5, 0}};
    static const float pairs[2][2] = {{1, 2}, {3, 4}};
    struct ptx_module *module =
        parse_module(".global .u16 grid[2][3] = {{1, 2}, {3}};"
                     ".global .u16 rows[][2] = {{1, 2}, {3, 4}, {5}};"
                     ".global .v2 .f32 pairs[2] = {{1.0, 2.0}, {3.0, 4.0}};");

    expect_bytes(module, "grid", grid, sizeof(grid));
    expect_bytes(module, "rows", rows, sizeof(rows));
    expect_bytes(module, "pairs", pairs, sizeof(pairs));
    ptx_module_free(module);
}

Test(ptx_variables, initial_addresses_become_relocations)
{
    struct ptx_module *module = parse_module(
        ".global .align 4 .b8 data[32]; .const .u32 constant;"
        ".global .align 8 .u64 table[5] = {1, generic(data)+12, data+4, constant};"
        ".global .u64 one = generic(constant);");
    const struct ptx_variable *table = find_variable(module, "table");
    const struct ptx_relocation *relocations = table->relocations;

    cr_assert_eq(table->relocation_count, 3);
    cr_expect_eq(table->initial[0], 1);
    cr_expect_eq(relocations[0].offset, 8);
    cr_expect_eq(relocations[0].bytes, 8);
    cr_expect_str_eq(module->variables[relocations[0].variable].name, "data");
    cr_expect_eq(relocations[0].addend, 12);
    cr_expect(relocations[0].generic);
    cr_expect_eq(relocations[1].offset, 16);
    cr_expect_eq(relocations[1].addend, 4);
    cr_expect(!relocations[1].generic);
    cr_expect_eq(relocations[2].offset, 24);
    cr_expect_eq(relocations[2].addend, 0);
    cr_expect_str_eq(module->variables[relocations[2].variable].name, "constant");
    cr_expect_eq(find_variable(module, "one")->relocation_count, 1);
    ptx_module_free(module);
}

Test(ptx_variables, parameters_of_an_entry_have_natural_places)
{
    struct ptx_module *module = parse_module(
        ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .u32 b,"
        ".param .align 128 .b8 map[128], .param .u8 c, .param .f64 d,"
        ".param .u64 .ptr e, .param .align 4 .b8 f[3]) { ret; }");
    const struct ptx_function *k = &module->functions[0];
    static const uint64_t offsets[] = {0, 8, 128, 256, 264, 272, 280};

    cr_assert_eq(k->param_count, 7);
    for (unsigned i = 0; i < 7; i++) {
        cr_expect_eq(module->variables[k->params[i]].offset, offsets[i], "%u", i);
        cr_expect_eq(module->variables[k->params[i]].space, PTX_PARAM);
    }
    /* The area ends with its last byte: nothing is rounded up. */
    cr_expect_eq(k->param_bytes, 283);
    cr_expect_eq(module->variables[k->params[0]].alignment, 8);
    ptx_module_free(module);
}

Test(ptx_variables, what_does_not_fit_is_refused)
{
    static const char *const cases[][2] = {
        {".global .u32 a[2] = {1, 2, 3};", "4:28: more than 2 initial values in braces"},
        {".global .u32 a[2][2] = {1};", "4:25: expected '{' but met '1'"},
        {".global .u32 a = {1};", "4:18: expected a constant but met '{'"},
        {".global .v4 .f32 a = {1.0};",
         "4:26: expected 4 initial values of a vector but met 1"},
        {".global .f32 a = 1;", "4:19: an integer as an initial value of type '.f32'"},
        {".global .u32 a = 1.0;",
         "4:21: a floating-point constant as an initial value of type '.u32'"},
        {".global .f16 a = 1.0;",
         "4:18: 'a': initial values of type '.f16' are not supported"},
        {".shared .u32 a = 1;",
         "4:16: 'a': only .global and .const variables have initialisers"},
        {".extern .global .u32 a = 1;",
         "4:24: 'a': an .extern variable has an initialiser"},
        {".global .u64 a = b;", "4:18: 'b' is not declared"},
        {".func f() { ret; } .global .u64 a = f;",
         "4:37: the address of function 'f' in an initialiser is not supported"},
        {".shared .u32 s; .global .u64 a = generic(s);",
         "4:42: 's' in an initialiser is no .global or .const variable"},
        {".global .u32 b; .global .u16 a = b;",
         "4:34: the address 'b' as an initial value of type '.u16'"},
        {".global .u32 b; .global .b8 a[1] = {0xFF(b)};",
         "4:41: one byte of an address, as in 0xFF(x), is not supported"},
        {".global .b8 a[];", "4:13: 'a' has no size and is not .extern"},
        {".global .b8 a[0];", "4:16: an array of 0 elements"},
        {".global .b8 a[] = {};",
         "4:19: 'a': 0 initial values for an array without a size"},
        {".global .align 3 .b8 a;", "4:16: an alignment of 3 is not a power of two"},
        {".global .pred a;", "4:9: a variable cannot have the type '.pred'"},
        {".global .texref a;", "4:9: expected the type of a variable but met '.texref'"},
        {".global .u32 a; .global .u32 a;", "4:30: 'a' is declared twice in this scope"},
        {".extern .global .u32 a; .global .u64 a;",
         "4:38: 'a' is declared twice in this scope"},
        {".local .u32 a;", "4:1: '.local' outside of a function is not supported"},
        {".func f(.param .b8 a[]);", "4:20: parameter 'a' without a size is not supported"},
        {".func f(.reg .b32 a);", "4:9: '.reg': parameters in registers are not supported"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *refusal = refusal_of_module(cases[i][0]);
        cr_expect_str_eq(refusal, cases[i][1], "%s: %s", cases[i][0], refusal);
    }
}

Test(ptx_variables, sizes_are_bounded)
{
    struct ptx_module *module = parse_module(".global .b8 a[1073741824];");
    cr_expect_eq(module->variables[0].bytes, 1073741824);
    ptx_module_free(module);

    cr_expect_str_eq(refusal_of_module(".global .b8 a[1073741824]; .global .b8 b;"),
                     "4:41: the variables have more than 1073741824 bytes in all");
    cr_expect_str_eq(refusal_of_module(".global .b8 a[1073741825];"),
                     "4:15: 1073741825 is more than the 1073741824 that are supported");
    cr_expect_str_eq(refusal_of_module(".global .b8 a[65536][65536][65536][65536];"),
                     "4:42: an array of more than 1073741824 bytes");
    cr_expect_str_eq(refusal_of_module(".global .b64 a[][134217729] = {{1}};"),
                     "4:29: an array of more than 1073741824 bytes");
    cr_expect_str_eq(refusal_of_module(".global .b64 a[][134217728] = {{1},{2}};"),
                     "4:31: 'a': 2 initial values for an array without a size");
}
