/* SPDX-License-Identifier: MIT */
/* Launches whose groups have matrices of their own, at addresses that are in device memory:
 * with a leading dimension each, changed between launches, made by the kernel before, of
 * groups without rows, without K, without numbers. All of them lie in one room, of which
 * every other element has to stay. On the emulator of both chips, with loads by threads and
 * by maps of each group. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emulated_fixture.h"
#include "jit_gemm/launch.h"

enum {
    GROUPS = 5,
    ROWS = 150,
    COLUMNS = 72,
    K = 40,
    SPOT = 16384, /* elements of the room of one matrix */
    SPOTS = 4 * GROUPS,
    ROOM = SPOTS * SPOT
};
enum which { OF_A, OF_B, OF_C, OF_D };

static const char with_c[] = "m=150 n=72 k=40 a=tf32 c=f32 groups=5 group_by=pointers";

/* Multiplied as tf32, which holds these values. */
static float value(int i)
{
    return (float)(i * 37 % 23 - 11) / 8;
}

/* Which part of the room a group's matrix has, and how its rows lie there. */
struct place {
    int spot;
    int64_t ld;
};

struct places {
    struct place of[4][GROUPS];
};

static int columns_of(enum which which)
{
    return which == OF_A || which == OF_B ? K : COLUMNS;
}

/* In an order that is another for each `turn`, rows further apart than packed. */
static struct places draw_places(int turn)
{
    struct places places;
    for (int i = 0; i < SPOTS; i++) {
        const enum which which = (enum which)(i / GROUPS);
        const int group = i % GROUPS;
        const int64_t pad = INT64_C(4) * ((i / GROUPS + group + turn) % 3);
        places.of[which][group] =
            (struct place){(i * 7 + turn * 3) % SPOTS, columns_of(which) + pad};
    }
    return places;
}

/* Element of the room. */
static int64_t index_of(const struct places *places, enum which which, int group, int row,
                        int column)
{
    const struct place *place = &places->of[which][group];
    return (int64_t)place->spot * SPOT + row * place->ld + column;
}

struct launch {
    jit_gemm_context *context;
    jit_gemm *gemm;
    jit_gemm_args args;
    uint64_t room;
};

/* Chips, each with both ways to load. */
enum { WAYS = 2, CASES = WAYS * EMULATED_ARCHS };

/* What the device reads: of each matrix addresses and leading dimensions. */
static uint64_t *pointer_of(jit_gemm_args *args, enum which which)
{
    jit_gemm_arg *const matrices[] = {&args->a, &args->b, &args->c, &args->d};
    return &matrices[which]->pointer;
}
static uint64_t *lds_of(jit_gemm_args *args, enum which which)
{
    uint64_t *const lds[] = {&args->a_lds, &args->b_lds, &args->c_lds, &args->d_lds};
    return lds[which];
}

/* Arrays and a room; of a kernel that needs one a workspace. */
static void open_arrays(struct launch *launch)
{
    static const uint64_t nothing[GROUPS];
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(
        jit_gemm_device_alloc(launch->context, ROOM * sizeof(float), &launch->room));
    launch->args = (jit_gemm_args){
        .struct_size = sizeof(launch->args),
        .group_sizes = emulated_upload(launch->context, nothing, GROUPS * sizeof(int32_t))};
    for (enum which which = OF_A; which <= OF_D; which++) {
        *pointer_of(&launch->args, which) =
            emulated_upload(launch->context, nothing, sizeof(nothing));
        *lds_of(&launch->args, which) =
            emulated_upload(launch->context, nothing, sizeof(nothing));
    }
    emulated_check(jit_gemm_get_info(launch->gemm, &info));
    if (info.workspace_bytes > 0) {
        const size_t bytes = (size_t)info.workspace_bytes;
        emulated_check(
            jit_gemm_device_alloc(launch->context, bytes, &launch->args.workspace));
        emulated_check(
            jit_gemm_device_fill(launch->context, launch->args.workspace, 0, bytes));
    }
}

static struct launch open_launch(int number, const char *text)
{
    const char *arch = emulated_archs[number / WAYS];
    struct launch launch = {.context = emulated_open(arch, "sms=4,async=latest")};
    jit_gemm_problem problem = emulated_problem(text);
    if (number % WAYS == 1) {
        snprintf(problem.config, sizeof(problem.config), "group_maps=1");
    }
    launch.gemm = emulated_create(launch.context, &problem);
    open_arrays(&launch);
    return launch;
}

static void close_arrays(struct launch *launch)
{
    for (enum which which = OF_A; which <= OF_D; which++) {
        emulated_free(launch->context, *pointer_of(&launch->args, which));
        emulated_free(launch->context, *lds_of(&launch->args, which));
    }
    emulated_free(launch->context, launch->args.group_sizes);
    emulated_free(launch->context, launch->room);
    emulated_free(launch->context, launch->args.workspace);
}

static void close_launch(struct launch *launch)
{
    close_arrays(launch);
    jit_gemm_destroy(&launch->gemm);
    jit_gemm_context_destroy(&launch->context);
}

static int clip(int32_t rows)
{
    return rows < 0 ? 0 : rows > ROWS ? ROWS : rows;
}

/* A, B and C of the groups that have rows lie where `places` says, of so many rows as the
 * groups have; all else is NaN. */
static void fill_room(const struct places *places, const int32_t sizes[GROUPS], float *room)
{
    memset(room, 0xff, ROOM * sizeof(*room));
    for (enum which which = OF_A; which <= OF_C; which++) {
        for (int group = 0; group < GROUPS; group++) {
            const int rows =
                which == OF_B && clip(sizes[group]) > 0 ? COLUMNS : clip(sizes[group]);
            for (int i = 0; i < rows * columns_of(which); i++) {
                const int row = i / columns_of(which), column = i % columns_of(which);
                room[index_of(places, which, group, row, column)] =
                    value(i * 5 + group * 3 + (int)which);
            }
        }
    }
}

/* Addresses of one matrix of all groups; of a group without rows one where nothing is. */
static void fill_addresses(const struct launch *launch, const struct places *places,
                           const int32_t sizes[GROUPS], enum which which,
                           uint64_t addresses[GROUPS])
{
    for (int group = 0; group < GROUPS; group++) {
        const int64_t at = index_of(places, which, group, 0, 0);
        addresses[group] =
            clip(sizes[group]) > 0 ? launch->room + (uint64_t)at * sizeof(float) : 0x10;
    }
}

static void upload_places(struct launch *launch, const struct places *places,
                          const int32_t sizes[GROUPS])
{
    for (enum which which = OF_A; which <= OF_D; which++) {
        uint64_t addresses[GROUPS];
        int64_t lds[GROUPS];
        fill_addresses(launch, places, sizes, which, addresses);
        for (int group = 0; group < GROUPS; group++) {
            lds[group] = clip(sizes[group]) > 0 ? places->of[which][group].ld : INT64_MIN;
        }
        emulated_check(jit_gemm_device_upload(launch->context,
                                              *pointer_of(&launch->args, which), addresses,
                                              sizeof(addresses)));
        if (*lds_of(&launch->args, which) != 0) {
            emulated_check(jit_gemm_device_upload(
                launch->context, *lds_of(&launch->args, which), lds, sizeof(lds)));
        }
    }
    if (launch->args.group_sizes != 0) {
        emulated_check(jit_gemm_device_upload(launch->context, launch->args.group_sizes,
                                              sizes, GROUPS * sizeof(*sizes)));
    }
}

/* What an element of D has to be: sums of `depth` products and half of C. */
static double wanted_element(const struct places *places, const float *room, int group,
                             int row, int column, int depth)
{
    double sum = 0.5 * (double)room[index_of(places, OF_C, group, row, column)];
    for (int k = 0; k < depth; k++) {
        sum += (double)room[index_of(places, OF_A, group, row, k)] *
               (double)room[index_of(places, OF_B, group, column, k)];
    }
    return sum;
}

static uint32_t bits_of(float element)
{
    uint32_t bits;
    memcpy(&bits, &element, sizeof(bits));
    return bits;
}

/* Each group's D is there, and every other element as it was, to the bit. */
static void expect_products(const struct launch *launch, const struct places *places,
                            const int32_t sizes[GROUPS], const float *before, int depth)
{
    static float after[ROOM];
    static char is_d[ROOM];
    emulated_check(
        jit_gemm_device_download(launch->context, after, launch->room, sizeof(after)));
    memset(is_d, 0, sizeof(is_d));
    for (int group = 0; group < GROUPS; group++) {
        for (int i = 0; i < clip(sizes[group]) * COLUMNS; i++) {
            const int row = i / COLUMNS, column = i % COLUMNS;
            const int64_t at = index_of(places, OF_D, group, row, column);
            const double wanted = wanted_element(places, before, group, row, column, depth);
            const double got = (double)after[at];
            cr_assert(got >= wanted && got <= wanted,
                      "group %d, row %d, column %d: %g, not %g", group, row, column, got,
                      wanted);
            is_d[at] = 1;
        }
    }
    for (int64_t at = 0; at < ROOM; at++) {
        cr_assert(is_d[at] == 1 || bits_of(after[at]) == bits_of(before[at]),
                  "element %lld of part %lld was written", (long long)at % SPOT,
                  (long long)at / SPOT);
    }
}

static const float half = 0.5F;

/* Puts all there that a launch reads; `room`: what the room holds then. */
static void place_with(struct launch *launch, const struct places *places,
                       const int32_t sizes[GROUPS], float *room)
{
    fill_room(places, sizes, room);
    emulated_check(
        jit_gemm_device_upload(launch->context, launch->room, room, ROOM * sizeof(*room)));
    upload_places(launch, places, sizes);
    launch->args.beta = &half;
}

static void run_with(struct launch *launch, const struct places *places,
                     const int32_t sizes[GROUPS], int depth)
{
    static float room[ROOM];
    place_with(launch, places, sizes, room);
    emulated_check(jit_gemm_run(launch->gemm, &launch->args, NULL));
    expect_products(launch, places, sizes, room, depth);
}

static const int32_t lists[][GROUPS] = {{0, 64, 1, 150, 129},
                                        {150, 0, 0, 0, 7},
                                        {0, 0, 0, 0, 0},
                                        {-1, 63, INT32_MIN, 128, INT32_MAX}};
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

Test(pointer_groups, places_and_numbers_may_change_from_launch_to_launch)
{
    for (int i = 0; i < CASES; i++) {
        struct launch launch = open_launch(i, with_c);
        for (int j = 0; j < LISTS; j++) {
            const struct places places = draw_places(j);
            run_with(&launch, &places, lists[j], K);
        }
        close_launch(&launch);
    }
}

/* All of one kind lie alike, and no array says how. */
Test(pointer_groups, leading_dimension_may_be_that_of_all)
{
    for (int i = 0; i < CASES; i++) {
        struct launch launch = open_launch(i, with_c);
        struct places places = draw_places(1);
        for (enum which which = OF_A; which <= OF_D; which++) {
            emulated_free(launch.context, *lds_of(&launch.args, which));
            *lds_of(&launch.args, which) = 0;
            for (int group = 0; group < GROUPS; group++) {
                places.of[which][group].ld = which == OF_A ? K : 88;
            }
        }
        launch.args.b.ld = launch.args.c.ld = launch.args.d.ld = 88;
        run_with(&launch, &places, lists[0], K);
        close_launch(&launch);
    }
}

Test(pointer_groups, without_numbers_every_group_has_all_rows)
{
    static const int32_t all[GROUPS] = {ROWS, ROWS, ROWS, ROWS, ROWS};
    for (int i = 0; i < CASES; i++) {
        struct launch launch = open_launch(i, with_c);
        const struct places places = draw_places(2);
        emulated_free(launch.context, launch.args.group_sizes);
        launch.args.group_sizes = 0;
        run_with(&launch, &places, all, K);
        close_launch(&launch);
    }
}

/* Neither A nor B nor arrays of their addresses have to be there. */
Test(pointer_groups, without_k_every_row_of_a_group_is_half_of_c)
{
    for (int i = 0; i < CASES; i++) {
        struct launch launch = open_launch(
            i, "m=150 n=72 k=40 a=tf32 c=f32 groups=5 group_by=pointers dynamic=k");
        const struct places places = draw_places(3);
        const jit_gemm_args given = launch.args;
        static float room[ROOM];
        fill_room(&places, lists[0], room);
        emulated_check(
            jit_gemm_device_upload(launch.context, launch.room, room, sizeof(room)));
        upload_places(&launch, &places, lists[0]);
        launch.args.k = JIT_GEMM_SIZE_EMPTY;
        launch.args.beta = &half;
        launch.args.a.pointer = launch.args.b.pointer = 0;
        launch.args.a_lds = launch.args.b_lds = 0;
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        expect_products(&launch, &places, lists[0], room, 0);
        launch.args = given;
        close_launch(&launch);
    }
}

/* The reference kernel finds the same matrices. */
Test(pointer_groups, reference_kernel_takes_them)
{
    struct launch launch = open_launch(
        0,
        "m=150 n=72 k=40 a=tf32 c=f32 groups=5 group_by=pointers config=kernel=reference");
    const struct places places = draw_places(4);
    run_with(&launch, &places, (const int32_t[GROUPS]){0, 3, 1, 0, 9}, K);
    close_launch(&launch);
}

/* A product that adds nothing passes the bits of a row on: addresses, leading dimensions
 * and numbers. Nobody waits between the two launches, which may overlap until the second
 * one says that it needs what the first one wrote. */
Test(pointer_groups, kernel_before_may_make_the_arrays)
{
    enum { WORDS = 2 * 2 * 4 * GROUPS + 8, NUMBERS = 2 * 2 * 4 * GROUPS };
    static float inputs[(WORDS + 1) * 16];
    static const jit_gemm_operand operand = {"r", JIT_GEMM_OPERAND_ROW_VECTOR,
                                             JIT_GEMM_DTYPE_F32, 0, 0};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "pass_on",
                                        .source = "d = r;",
                                        .operand_count = 1,
                                        .operands = &operand};
    for (int i = 0; i < CASES; i++) {
        struct launch launch = open_launch(i, with_c);
        const struct places places = draw_places(5);
        const jit_gemm_args given = launch.args;
        static float room[ROOM];
        static uint32_t words[WORDS], nothing[WORDS];
        fill_room(&places, lists[0], room);
        emulated_check(
            jit_gemm_device_upload(launch.context, launch.room, room, sizeof(room)));
        const uint64_t made = emulated_upload(launch.context, nothing, sizeof(nothing));
        for (enum which which = OF_A; which <= OF_D; which++) {
            const size_t at = (size_t)which * 4 * GROUPS;
            uint64_t addresses[GROUPS];
            fill_addresses(&launch, &places, lists[0], which, addresses);
            memcpy(&words[at], addresses, sizeof(addresses));
            for (int group = 0; group < GROUPS; group++) {
                memcpy(&words[at + 2 * (size_t)(GROUPS + group)],
                       &places.of[which][group].ld, sizeof(int64_t));
            }
            *pointer_of(&launch.args, which) = made + at * sizeof(*words);
            *lds_of(&launch.args, which) =
                made + (at + 2 * (size_t)GROUPS) * sizeof(*words);
        }
        memcpy(&words[NUMBERS], lists[0], sizeof(lists[0]));
        launch.args.group_sizes = made + NUMBERS * sizeof(*words);
        emulated_check(jit_gemm_epilogue_register(launch.context, &epilogue));
        const jit_gemm_problem maker =
            emulated_problem("m=1 n=88 k=16 a=tf32 epilogue=pass_on");
        jit_gemm *first = emulated_create(launch.context, &maker);
        const jit_gemm_arg vector = {
            .pointer = emulated_upload(launch.context, words, sizeof(words))};
        const uint64_t zeros = emulated_upload(launch.context, inputs, sizeof(inputs));
        const jit_gemm_args args = {.struct_size = sizeof(args),
                                    .a = {.pointer = zeros},
                                    .b = {.pointer = zeros},
                                    .d = {.pointer = made},
                                    .operands = &vector,
                                    .operand_count = 1};
        launch.args.beta = &half;
        emulated_check(jit_gemm_run(first, &args, NULL));
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        emulated_check(jit_gemm_device_synchronize(launch.context));
        expect_products(&launch, &places, lists[0], room, K);
        launch.args = given;
        emulated_free(launch.context, vector.pointer);
        emulated_free(launch.context, zeros);
        emulated_free(launch.context, made);
        jit_gemm_destroy(&first);
        close_launch(&launch);
    }
}

/* Nobody waits between launches that have the workspace in common, where one's maps come to
 * lie where the other's are: they are written when nobody loads by those any more. */
Test(pointer_groups, launches_of_a_stream_may_share_a_workspace)
{
    static float first_room[ROOM], second_room[ROOM];
    for (int i = 0; i < CASES; i++) {
        struct launch first = open_launch(i, with_c);
        struct launch second = {.context = first.context, .gemm = first.gemm};
        const struct places some = draw_places(6), others = draw_places(7);
        open_arrays(&second);
        place_with(&first, &some, lists[0], first_room);
        place_with(&second, &others, lists[3], second_room);
        const uint64_t own = second.args.workspace;
        second.args.workspace = first.args.workspace;
        emulated_check(jit_gemm_run(first.gemm, &first.args, NULL));
        emulated_check(jit_gemm_run(first.gemm, &second.args, NULL));
        emulated_check(jit_gemm_run(first.gemm, &first.args, NULL));
        emulated_check(jit_gemm_device_synchronize(first.context));
        expect_products(&first, &some, lists[0], first_room, K);
        expect_products(&second, &others, lists[3], second_room, K);
        second.args.workspace = own;
        close_arrays(&second);
        close_launch(&first);
    }
}

/* What a program has to have room for, and to expect. */
Test(pointer_groups, maps_need_a_workspace_and_a_launch_more)
{
    for (int i = 0; i < CASES; i++) {
        struct launch launch = open_launch(i, with_c);
        jit_gemm_info info = {.struct_size = sizeof(info)};
        emulated_check(jit_gemm_get_info(launch.gemm, &info));
        cr_expect_eq(info.launches, i % WAYS == 1 ? 2 : 1);
        cr_expect_eq(info.workspace_bytes > 0, i % WAYS == 1);
        if (i % WAYS == 1) {
            jit_gemm_args args = launch.args;
            args.workspace = 0;
            cr_expect_eq(jit_gemm_run(launch.gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
            cr_expect(strstr(jit_gemm_last_error(), "writes maps of groups first") != NULL,
                      "%s", jit_gemm_last_error());
        }
        close_launch(&launch);
    }
}

/* Sizes of the groups, as a launch is given them. */
struct sizes {
    int32_t m[GROUPS], n[GROUPS], k[GROUPS];
};

/* Matrices of a group's own sizes, each in memory that ends with it: elements of one, and
 * what it is. */
struct exact {
    uint64_t address[4][GROUPS];
    float elements[4][GROUPS][ROWS * COLUMNS];
};

static int clip_to(int32_t size, int most)
{
    return size < 0 ? 0 : size > most ? most : size;
}

/* What memory has of a group's matrix: rows, columns, and the elements from one row to the
 * next. */
struct extent {
    int rows, columns, ld;
};

static struct extent extent_of(enum which which, const struct sizes *sizes, int group)
{
    const int m = clip(sizes->m[group]), n = clip_to(sizes->n[group], COLUMNS);
    const int k = clip_to(sizes->k[group], K);
    const int rows = which == OF_B ? n : m, columns = columns_of(which) == K ? k : n;
    return (struct extent){m > 0 && n > 0 && columns > 0 ? rows : 0, columns,
                           (columns + 3) / 4 * 4};
}

static int count_exact(const struct extent *extent)
{
    return extent->rows == 0 ? 0 : (extent->rows - 1) * extent->ld + extent->columns;
}

static void give_exact(struct launch *launch, const struct sizes *sizes,
                       struct exact *exact)
{
    int64_t lds[GROUPS];
    for (enum which which = OF_A; which <= OF_D; which++) {
        for (int group = 0; group < GROUPS; group++) {
            const struct extent extent = extent_of(which, sizes, group);
            const int count = count_exact(&extent);
            for (int i = 0; i < count; i++) {
                exact->elements[which][group][i] =
                    i % extent.ld < extent.columns || which == OF_D
                        ? value(i * 5 + group * 3 + (int)which)
                        : NAN;
            }
            /* Of a group that has nothing there addresses and distances are not looked at.
             */
            exact->address[which][group] =
                count == 0 ? 0x10
                           : emulated_upload(launch->context, exact->elements[which][group],
                                             (size_t)count * sizeof(float));
            lds[group] = count == 0 ? INT64_MIN : extent.ld;
        }
        emulated_check(
            jit_gemm_device_upload(launch->context, *pointer_of(&launch->args, which),
                                   exact->address[which], sizeof(exact->address[which])));
        emulated_check(jit_gemm_device_upload(
            launch->context, *lds_of(&launch->args, which), lds, sizeof(lds)));
    }
    emulated_check(jit_gemm_device_upload(launch->context, launch->args.group_sizes,
                                          sizes->m, sizeof(sizes->m)));
    launch->args.beta = &half;
}

static void free_exact(const struct launch *launch, const struct sizes *sizes,
                       const struct exact *exact)
{
    for (enum which which = OF_A; which <= OF_D; which++) {
        for (int group = 0; group < GROUPS; group++) {
            const struct extent extent = extent_of(which, sizes, group);
            if (count_exact(&extent) > 0) {
                emulated_free(launch->context, exact->address[which][group]);
            }
        }
    }
}

static double wanted_exact(const struct exact *exact, const struct sizes *sizes, int group,
                           int row, int column)
{
    const struct extent of_a = extent_of(OF_A, sizes, group);
    const struct extent of_b = extent_of(OF_B, sizes, group);
    const struct extent of_c = extent_of(OF_C, sizes, group);
    double sum = 0.5 * (double)exact->elements[OF_C][group][row * of_c.ld + column];
    for (int k = 0; k < clip_to(sizes->k[group], K); k++) {
        sum += (double)exact->elements[OF_A][group][row * of_a.ld + k] *
               (double)exact->elements[OF_B][group][column * of_b.ld + k];
    }
    return sum;
}

/* Each D is there, and what lies between its rows is as it was. */
static void expect_exact(const struct launch *launch, const struct sizes *sizes,
                         const struct exact *exact)
{
    static float d[ROWS * COLUMNS];
    for (int group = 0; group < GROUPS; group++) {
        const struct extent extent = extent_of(OF_D, sizes, group);
        const int count = count_exact(&extent);
        if (count == 0) {
            continue;
        }
        emulated_check(jit_gemm_device_download(launch->context, d,
                                                exact->address[OF_D][group],
                                                (size_t)count * sizeof(float)));
        for (int i = 0; i < count; i++) {
            const int row = i / extent.ld, column = i % extent.ld;
            const double wanted = column < extent.columns
                                      ? wanted_exact(exact, sizes, group, row, column)
                                      : (double)exact->elements[OF_D][group][i];
            cr_assert((double)d[i] >= wanted && (double)d[i] <= wanted,
                      "group %d, row %d, column %d: %g, not %g", group, row, column,
                      (double)d[i], wanted);
        }
    }
}

static void run_exact(struct launch *launch, const struct sizes *sizes)
{
    static struct exact exact;
    give_exact(launch, sizes, &exact);
    emulated_check(jit_gemm_run(launch->gemm, &launch->args, NULL));
    emulated_check(jit_gemm_device_synchronize(launch->context));
    expect_exact(launch, sizes, &exact);
    free_exact(launch, sizes, &exact);
}

Test(pointer_groups, nothing_is_read_or_written_beyond_a_groups_rows)
{
    static const struct sizes sizes = {{65, 0, 1, INT32_MAX, 129},
                                       {COLUMNS, COLUMNS, COLUMNS, COLUMNS, COLUMNS},
                                       {K, K, K, K, K}};
    for (int i = 0; i < CASES; i++) {
        struct launch launch = open_launch(i, with_c);
        run_exact(&launch, &sizes);
        close_launch(&launch);
    }
}

/* ------------------------------------------------------ an N and a K of each group's own
 */

static const char own_sizes[] =
    "m=150 n=72 k=40 a=tf32 c=f32 groups=5 group_by=pointers dynamic=n,k";

static void open_own_sizes(struct launch *launch)
{
    static const int32_t nothing[GROUPS];
    launch->args.n = COLUMNS;
    launch->args.k = K;
    launch->args.group_ns = emulated_upload(launch->context, nothing, sizeof(nothing));
    launch->args.group_ks = emulated_upload(launch->context, nothing, sizeof(nothing));
}

static void close_own_sizes(const struct launch *launch)
{
    emulated_free(launch->context, launch->args.group_ns);
    emulated_free(launch->context, launch->args.group_ks);
}

static void upload_own_sizes(const struct launch *launch, const struct sizes *sizes)
{
    emulated_check(jit_gemm_device_upload(launch->context, launch->args.group_ns, sizes->n,
                                          sizeof(sizes->n)));
    emulated_check(jit_gemm_device_upload(launch->context, launch->args.group_ks, sizes->k,
                                          sizeof(sizes->k)));
}

/* Groups without rows, columns or K, ends inside of a tile and of 16 bytes, and numbers
 * that are no sizes. */
Test(pointer_groups, sizes_of_each_group_may_change_from_launch_to_launch)
{
    static const struct sizes own[] = {
        {{0, 64, 1, 150, 129}, {72, 1, 70, 0, 33}, {40, 0, 33, 7, 40}},
        {{150, -1, INT32_MAX, 3, 64}, {INT32_MAX, 5, -7, 71, 72}, {1, 9, 3, -5, INT32_MAX}},
        {{1, 1, 1, 1, 1}, {0, 0, INT32_MIN, 0, 0}, {1, 1, 1, 1, 1}}};
    for (int i = 0; i < CASES; i++) {
        struct launch launch = open_launch(i, own_sizes);
        open_own_sizes(&launch);
        for (size_t j = 0; j < sizeof(own) / sizeof(own[0]); j++) {
            upload_own_sizes(&launch, &own[j]);
            run_exact(&launch, &own[j]);
        }
        close_own_sizes(&launch);
        close_launch(&launch);
    }
}

/* Each array by itself: without it all have the launch's N, or K. */
Test(pointer_groups, sizes_without_an_array_are_the_launchs)
{
    static const int32_t rows[GROUPS] = {0, 64, 1, 150, 129};
    static const int32_t own[GROUPS] = {7, 40, 33, 39, 0};
    for (int i = 0; i < CASES; i++) {
        struct launch launch = open_launch(i, own_sizes);
        open_own_sizes(&launch);
        for (int with_n = 0; with_n < 2; with_n++) {
            struct sizes sizes;
            for (int group = 0; group < GROUPS; group++) {
                sizes.m[group] = rows[group];
                sizes.n[group] = with_n == 1 ? own[group] : COLUMNS;
                sizes.k[group] = with_n == 1 ? K : own[group];
            }
            const jit_gemm_args given = launch.args;
            upload_own_sizes(&launch, &sizes);
            *(with_n == 1 ? &launch.args.group_ks : &launch.args.group_ns) = 0;
            run_exact(&launch, &sizes);
            launch.args = given;
        }
        close_own_sizes(&launch);
        close_launch(&launch);
    }
}
