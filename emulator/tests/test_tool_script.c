/* SPDX-License-Identifier: MIT */
/* Launch files of emu-run: what they say, and how errors are told. */
#include <criterion/criterion.h>
#include <string.h>

#include "tools/script.h"

#define HEAD "entry k\ngrid 1\nblock 1\n"

static struct emu_script parse(const char *text)
{
    struct emu_script script;
    struct emu_error error = {0};
    cr_assert(emu_script_parse(text, &script, &error), "%s", error.text);
    return script;
}

Test(tool_script, shape_and_device)
{
    struct emu_script script = parse("# a comment\n"
                                     "\n"
                                     "device sm_90a   # another\n"
                                     "entry k\n"
                                     "grid 4 3\r\n"
                                     "block 256\n"
                                     "cluster 2 1 1\n"
                                     "shared 0x1000\n"
                                     "launch programmatic\n"
                                     "expect finding race\n"
                                     "expect result CUDA_ERROR_LAUNCH_FAILED\n"
                                     "expect clean");
    cr_expect_eq(script.ordinal, 1);
    cr_expect_str_eq(script.entry, "k");
    const uint32_t grid[] = {4, 3, 1};
    const uint32_t block[] = {256, 1, 1};
    const uint32_t cluster[] = {2, 1, 1};
    cr_expect_arr_eq(script.grid, grid, sizeof(grid));
    cr_expect_arr_eq(script.block, block, sizeof(block));
    cr_expect_arr_eq(script.cluster, cluster, sizeof(cluster));
    cr_expect_eq(script.shared_bytes, 4096);
    cr_expect(script.programmatic);
    cr_expect_not(script.cooperative);
    cr_expect(script.expect_clean);
    cr_expect_eq(script.finding_count, 1);
    cr_expect_str_eq(script.findings[0], "race");
    cr_expect_str_eq(script.result, "CUDA_ERROR_LAUNCH_FAILED");
    emu_script_free(&script);
}

Test(tool_script, buffers_and_maps)
{
    struct emu_script script =
        parse(HEAD "buffer A bf16 256x512 random 7 -1 1\n"
                   "buffer B e2m1 10x3 iota 2 0.5\n"
                   "map TA A dims 512 256 strides 1024 box 64 128 swizzle 128B "
                   "promotion 256B fill nan offset 16 steps 1 2\n");
    cr_expect_eq(script.buffers[0].count, 131072);
    cr_expect_eq(script.buffers[0].bytes, 262144);
    cr_expect_eq(script.buffers[0].initial, EMU_INITIAL_RANDOM);
    cr_expect_eq(script.buffers[0].seed, 7);
    cr_expect_float_eq(script.buffers[0].low, -1, 0);
    cr_expect_eq(script.buffers[1].bytes, 15);
    cr_expect_float_eq(script.buffers[1].high, 0.5, 0);
    const struct emu_script_map *map = &script.maps[0];
    cr_expect_eq(map->rank, 2);
    cr_expect_eq(map->dims[1], 256);
    cr_expect_eq(map->strides[0], 1024);
    cr_expect_eq(map->box[1], 128);
    cr_expect_eq(map->steps[1], 2);
    cr_expect_eq(map->swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
    cr_expect_eq(map->promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    cr_expect_eq(map->fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
    cr_expect_eq(map->offset_bytes, 16);
    cr_expect_eq(map->type->map_type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
    emu_script_free(&script);
}

Test(tool_script, a_stride_of_zero_is_a_stride)
{
    struct emu_script script = parse(HEAD "buffer A f32 64 zeros\n"
                                          "map TA A dims 64 1 strides 0 box 16 1\n");
    cr_expect_eq(script.map_count, 1);
    cr_expect_eq(script.maps[0].strides[0], 0);
    emu_script_free(&script);
}

Test(tool_script, parameters_and_structs)
{
    struct emu_script script = parse(HEAD "buffer A u8 64 zeros\n"
                                          "map M A dims 64 box 16\n"
                                          "param address A 8\n"
                                          "param f32 1.5\n"
                                          "param map M\n"
                                          "param s16 -2\n"
                                          "param bytes 0aff\n"
                                          "param struct 160\n"
                                          "  at 0 map M\n"
                                          "  at 128 u64 0xFFFFFFFFFFFFFFFF\n"
                                          "  at 136 address A\n"
                                          "end\n"
                                          "param e4m3 -448\n");
    const uint64_t bytes[] = {8, 4, 128, 2, 2, 160, 1};
    cr_assert_eq(script.param_count, 7);
    for (int i = 0; i < 7; i++) {
        cr_expect_eq(script.params[i].bytes, bytes[i], "param %d", i);
    }
    cr_expect_eq(script.pieces[0].addend, 8);
    cr_expect_eq(memcmp(script.pieces[1].data, &(float){1.5f}, 4), 0);
    cr_expect_eq(memcmp(script.pieces[3].data, "\xFE\xFF", 2), 0);
    cr_expect_eq(memcmp(script.pieces[4].data, "\x0A\xFF", 2), 0);
    cr_expect_eq(script.pieces[6].param, 5);
    cr_expect_eq(script.pieces[6].offset_bytes, 128);
    cr_expect_eq(script.pieces[6].data[7], 0xFF);
    cr_expect_eq(script.pieces[8].data[0], 0xFE);
    emu_script_free(&script);
}

Test(tool_script, check_of_a_product)
{
    struct emu_script script =
        parse(HEAD "buffer A f16 8x4 zeros\nbuffer B f16 4x6 zeros\nbuffer D f32 64 zeros\n"
                   "buffer S f32 1 constant 2\n"
                   "check gemm d=D:mn a=A:mk b=B:kn m=8 n=6 k=4 ldd=8 alpha=0.5 beta=2 "
                   "c=D:mn scale_a=S scale_b=3 relative=1e-3 absolute=0.1\n"
                   "check equal A A\nprint D\ndump D out.bin\n");
    const struct emu_script_action *gemm = &script.actions[0];
    cr_expect_eq(gemm->kind, EMU_ACTION_GEMM);
    cr_expect_not(gemm->a.first_inner);
    cr_expect(gemm->b.first_inner);
    cr_expect_eq(gemm->a.pitch, 4);
    cr_expect_eq(gemm->b.pitch, 6);
    cr_expect_eq(gemm->d.pitch, 8);
    cr_expect_eq(gemm->scale_a.buffer, 3);
    cr_expect_float_eq(gemm->scale_b.value, 3, 0);
    cr_expect_float_eq(gemm->beta, 2, 0);
    cr_expect_eq(script.action_count, 4);
    emu_script_free(&script);
}

Test(tool_script, errors_name_the_line_and_what_is_possible)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "the file has no `entry`"},
        {"entry k\ngrid 1\n", "the file has no `block`"},
        {HEAD "colour red\n", "line 4: there is no statement `colour`"},
        {HEAD "device sm_80\n", "line 4: the device `sm_80` is none of sm_100a, sm_90a"},
        {"grid 0\n", "line 1: the dimension `0` is not a number from 1"},
        {"grid 1 2 3 4\n", "line 1: `4` is too much"},
        {"grid\n", "line 1: the dimension is missing"},
        {"grid -1\n", "`-1` is not a number"},
        {"shared 5000000000\n", "not a number from 0 to 4294967295"},
        {"buffer A f33 4 zeros\n", "there is no type `f33`; there are f64, f32"},
        {"buffer A f32 4y4 zeros\n", "`4y4` is not like 256x512"},
        {"buffer A f32 0 zeros\n", "`0` is not like"},
        {"buffer A f32 1000000x1000000x1000000 zeros\n", "is not like"},
        {"buffer A f32 4 nothing\n", "`nothing` is none of undefined, constant"},
        {"buffer A f32 4 random 1 2 1\n", "the high end is below"},
        {"buffer A f32 4 zeros\nbuffer A f32 4 zeros\n", "line 2: there is a buffer `A`"},
        {"buffer ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG f32 4 zeros\n", "longer than 31"},
        {"map M A dims 4 box 4\n", "there is no buffer `A` above"},
        {"buffer A u8 64 zeros\nmap M A box 4\n", "`dims` must come first"},
        {"buffer A u8 64 zeros\nmap M A dims 8 8 box 4 4\n", "needs `strides`"},
        {"buffer A u8 64 zeros\nmap M A dims 8 8 strides 8 box 4\n", "the box is missing"},
        {"buffer A u8 64 zeros\nmap M A dims 1 1 1 1 1 1 box 4\n", "more than 5 dim"},
        {"buffer A u8 64 zeros\nmap M A dims 8 box 4 twist 1\n", "a map has no `twist`"},
        {"param\n", "what the parameter holds is missing"},
        {"param u8 256\n", "256 does not fit u8"},
        {"param u32 many\n", "`many` is not a number"},
        {"param bytes 123\n", "not an even number"},
        {"param map M\n", "there is no map `M` above"},
        {"param struct 8\nat 4 u64 1\nend\n", "line 2: 8 bytes at 4 do not fit"},
        {"param struct 8\nat 9 u8 1\nend\n", "from 0 to 8"},
        {"param struct 8\ngrid 1\n", "line 2: the struct of line 1 has no `end`"},
        {"param struct 8\n", "has no `end`"},
        {"at 4 u64 1\n", "`at` is not inside a `param struct`"},
        {"end\n", "`end` is not inside"},
        {"expect much\n", "`much` is none of clean, finding, result"},
        {"check sums\n", "`sums` is none of gemm, equal"},
        {"check gemm d\n", "`d` is not of the form key=value"},
        {"check gemm d=D:mn\n", "there is no buffer `D` above"},
        {"check gemm size=4\n", "check gemm has no `size`"},
        {"buffer D f32 4 zeros\ncheck gemm d=D:nk\n", "`nk` is neither mn nor nm"},
        {"buffer D f32 4 zeros\ncheck gemm d=D:mn a=D:mk b=D:nk m=2 n=2\n", "needs d, a"},
        {"buffer D f32 4 zeros\ncheck gemm d=D:mn a=D:mk b=D:nk m=2 n=2 k=3\n",
         "a: 4 elements of `D` are not enough"},
        {"buffer D f32 4 zeros\ncheck gemm d=D:mn a=D:mk b=D:nk m=2 n=2 k=2 beta=1\n",
         "beta without c"},
        {"buffer A f32 4 zeros\nbuffer B f32 5 zeros\ncheck equal A B\n", "differ in size"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct emu_script script;
        struct emu_error error = {0};
        cr_expect_not(emu_script_parse(cases[i].text, &script, &error), "%s",
                      cases[i].text);
        cr_expect_not_null(strstr(error.text, cases[i].error), "`%s` is not in `%s`",
                           cases[i].error, error.text);
    }
}

Test(tool_script, help_names_every_type)
{
    struct emu_text list = {0};
    emu_element_types_list(&list);
    char *rest = NULL;
    for (char *name = strtok_r(list.text, ", ", &rest); name != NULL;
         name = strtok_r(NULL, ", ", &rest)) {
        cr_expect_not_null(strstr(emu_script_help, name), "%s", name);
    }
    emu_text_free(&list);
}

Test(tool_script, elements_are_read_back_as_they_were_set)
{
    static const struct {
        const char *type;
        double values[4], read[4];
    } cases[] = {
        {"f32", {1.5, -2, 1e-3, 4}, {1.5, -2, 0.001f, 4}},
        {"bf16", {1.5, 1.001, -3, 0}, {1.5, 1, -3, 0}},
        {"e4m3", {1.5, 1000, -1000, 0.07}, {1.5, 448, -448, 0.0703125}},
        {"e2m1", {1.5, -6, 0.5, 100}, {1.5, -6, 0.5, 6}},
        {"e2m3_packed", {1.5, -7.5, 0.125, 100}, {1.5, -7.5, 0.125, 7.5}},
        {"u8", {1.5, -6, 300, 7}, {2, 0, 255, 7}},
        {"s8", {-1, -300, 300, 7}, {-1, -128, 127, 7}},
        {"s32", {-1, -3e9, 3e9, 7}, {-1, -2147483648.0, 2147483647.0, 7}},
        {"s64", {-1, -1e19, 1e15, 7}, {-1, -9223372036854775808.0, 1e15, 7}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct emu_element_type *type = emu_element_type_find(cases[i].type);
        unsigned char data[64] = {0};
        cr_assert_not_null(type);
        for (unsigned j = 0; j < 4; j++) {
            emu_element_set(type, data, j, cases[i].values[j]);
        }
        for (unsigned j = 0; j < 4; j++) {
            double read = emu_element_get(type, data, j);
            cr_expect_float_eq(read, cases[i].read[j], 0, "%s[%u]: %.9g", cases[i].type, j,
                               read);
        }
        cr_expect_eq(data[emu_element_bytes(type, 4)], 0, "%s", cases[i].type);
    }
}
