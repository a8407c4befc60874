/* SPDX-License-Identifier: MIT */
/*
 * The library's own epilogues, each on the emulator of both chips beside its formula in
 * f64. Sums of A and B are exact in f32, so that nothing but the epilogue can differ.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/convert.h"
#include "jit_gemm/device.h"
#include "jit_gemm/named_epilogues.h"
#include "strides.h"
#include "verify/random.h"

enum { SIZE = 16, ELEMENTS = SIZE * SIZE, ARCHS = 2 };

static const char *const archs[ARCHS] = {"sm_90a", "sm_100a"};

/* ----------------------------------------------------------------------- formulas */

/* What a formula reads of one element: the sum, and the operands by their kinds. */
struct values {
    double acc, bias, residual, aux;
    double acc1; /* of a gated pair, whose first one is acc; else 1 */
    double scale, low, high, slope;
    double number, keep; /* uniform(seed) of the element */
};

static double formula_gelu(double x)
{
    return x * 0.5 * erfc(-x / sqrt(2));
}
static double formula_gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
static double formula_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double formula_leaky(double x, double slope)
{
    return x > 0 ? x : slope * x;
}
static double formula_clamp(double x, const struct values *v)
{
    return fmin(fmax(x, v->low), v->high);
}

static double identity(const struct values *v)
{
    return v->acc;
}
static double bias(const struct values *v)
{
    return v->acc + v->bias;
}
static double relu(const struct values *v)
{
    return fmax(v->acc, 0);
}
static double bias_relu(const struct values *v)
{
    return fmax(bias(v), 0);
}
static double gelu(const struct values *v)
{
    return formula_gelu(v->acc);
}
static double bias_gelu(const struct values *v)
{
    return formula_gelu(bias(v));
}
static double gelu_tanh(const struct values *v)
{
    return formula_gelu_tanh(v->acc);
}
static double bias_gelu_tanh(const struct values *v)
{
    return formula_gelu_tanh(bias(v));
}
static double silu(const struct values *v)
{
    return v->acc * formula_sigmoid(v->acc);
}
static double bias_silu(const struct values *v)
{
    return bias(v) * formula_sigmoid(bias(v));
}
static double sigmoid(const struct values *v)
{
    return formula_sigmoid(v->acc);
}
static double bias_sigmoid(const struct values *v)
{
    return formula_sigmoid(bias(v));
}
static double clamp(const struct values *v)
{
    return formula_clamp(v->acc, v);
}
static double bias_clamp(const struct values *v)
{
    return formula_clamp(bias(v), v);
}
static double leaky_relu(const struct values *v)
{
    return formula_leaky(v->acc, v->slope);
}
static double bias_leaky_relu(const struct values *v)
{
    return formula_leaky(bias(v), v->slope);
}
static double residual(const struct values *v)
{
    return v->acc + v->residual;
}
static double bias_residual(const struct values *v)
{
    return v->acc + v->bias + v->residual;
}
static double scale(const struct values *v)
{
    return v->acc * v->scale;
}
static double drelu(const struct values *v)
{
    return v->aux > 0 ? v->acc : 0;
}
/* Slopes, from the formulas by differences: what the snippets have is derived by hand. */
static double slope_of(double (*function)(double x), double x)
{
    const double step = 1e-4;
    return (8 * (function(x + step) - function(x - step)) -
            (function(x + 2 * step) - function(x - 2 * step))) /
           (12 * step);
}
static double dgelu(const struct values *v)
{
    return v->acc * slope_of(formula_gelu, v->aux);
}
static double dgelu_tanh(const struct values *v)
{
    return v->acc * slope_of(formula_gelu_tanh, v->aux);
}

static double swiglu(const struct values *v)
{
    return silu(v) * v->acc1;
}
static double geglu(const struct values *v)
{
    return gelu(v) * v->acc1;
}
static double geglu_tanh(const struct values *v)
{
    return gelu_tanh(v) * v->acc1;
}

static double dropout(const struct values *v)
{
    return v->number < v->keep ? v->acc * v->scale : 0;
}
static double bias_dropout_residual(const struct values *v)
{
    return (v->number < v->keep ? bias(v) * v->scale : 0) + v->residual;
}

/* `aux` is NULL where there is no second output. */
static const struct row {
    const char *name;
    double (*d)(const struct values *v);
    double (*aux)(const struct values *v);
    bool is_gated;     /* two columns of B make one of D */
    bool has_gradient; /* the sums of D's columns */
} rows[] = {
    {"bias_gradient", identity, NULL, false, true},
    {"drelu_bias_gradient", drelu, NULL, false, true},
    {"dgelu_tanh_bias_gradient", dgelu_tanh, NULL, false, true},
    {"swiglu", swiglu, NULL, true, false},
    {"geglu", geglu, NULL, true, false},
    {"geglu_tanh", geglu_tanh, NULL, true, false},
    {"identity", identity, NULL, false, false},
    {"dropout", dropout, NULL, false, false},
    {"bias_dropout_residual", bias_dropout_residual, NULL, false, false},
    {"bias", bias, NULL, false, false},
    {"relu", relu, NULL, false, false},
    {"bias_relu", bias_relu, NULL, false, false},
    {"gelu", gelu, NULL, false, false},
    {"bias_gelu", bias_gelu, NULL, false, false},
    {"gelu_tanh", gelu_tanh, NULL, false, false},
    {"bias_gelu_tanh", bias_gelu_tanh, NULL, false, false},
    {"silu", silu, NULL, false, false},
    {"bias_silu", bias_silu, NULL, false, false},
    {"sigmoid", sigmoid, NULL, false, false},
    {"bias_sigmoid", bias_sigmoid, NULL, false, false},
    {"clamp", clamp, NULL, false, false},
    {"bias_clamp", bias_clamp, NULL, false, false},
    {"leaky_relu", leaky_relu, NULL, false, false},
    {"bias_leaky_relu", bias_leaky_relu, NULL, false, false},
    {"residual", residual, NULL, false, false},
    {"bias_residual", bias_residual, NULL, false, false},
    {"scale", scale, NULL, false, false},
    {"quantise", scale, NULL, false, false},
    {"relu_aux", relu, identity, false, false},
    {"bias_relu_aux", bias_relu, bias, false, false},
    {"gelu_aux", gelu, identity, false, false},
    {"bias_gelu_aux", bias_gelu, bias, false, false},
    {"gelu_tanh_aux", gelu_tanh, identity, false, false},
    {"bias_gelu_tanh_aux", bias_gelu_tanh, bias, false, false},
    {"drelu", drelu, NULL, false, false},
    {"dgelu", dgelu, NULL, false, false},
    {"dgelu_tanh", dgelu_tanh, NULL, false, false},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct row *find_row(const char *name)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* --------------------------------------------------------------------------- data */

/* On the host as on the device; everything but A and B in f32. */
struct data {
    uint16_t a[ELEMENTS], b[ELEMENTS]; /* bf16: multiples of 1/4 from -2 to 2 */
    float acc[ELEMENTS];
    float bias[SIZE], residual[ELEMENTS], aux[ELEMENTS];
    float scalars[6]; /* scale, low, high, slope, seed, keep */
};

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill_data(struct data *data)
{
    unsigned state = 5;
    float a[ELEMENTS], b[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) { /* a row of zeros too */
        a[i] = i < SIZE ? 0 : (float)((int)(next(&state) % 17) - 8) * 0.25f;
        b[i] = (float)((int)(next(&state) % 17) - 8) * 0.25f;
        data->a[i] = jit_gemm_bf16_from_float(a[i]);
        data->b[i] = jit_gemm_bf16_from_float(b[i]);
        data->residual[i] = (float)(int)(next(&state) % 201) * 0.01f - 1;
        data->aux[i] = (float)(int)(next(&state) % 801) * 0.01f - 4;
    }
    for (int i = 0; i < ELEMENTS; i++) {
        data->acc[i] = 0;
        for (int k = 0; k < SIZE; k++) {
            data->acc[i] += a[i / SIZE * SIZE + k] * b[i % SIZE * SIZE + k];
        }
    }
    for (int i = 0; i < SIZE; i++) {
        data->bias[i] = (float)(int)(next(&state) % 201) * 0.01f - 1;
    }
    static const float far[] = {0, 9.5f, -9.5f, 60, -60, 1e6f, -1e6f};
    memcpy(data->aux + SIZE, far, sizeof(far));
    data->scalars[0] = 1.375f;
    data->scalars[1] = -1.5f;
    data->scalars[2] = 2.25f;
    data->scalars[3] = 0.01f;
    data->scalars[4] = 1;
    data->scalars[5] = 0.625f;
}

static struct values values_at(const struct data *data, bool is_gated, int i)
{
    return (struct values){
        .acc = (double)data->acc[is_gated ? 2 * i : i],
        .acc1 = is_gated ? (double)data->acc[2 * i + 1] : 1,
        .bias = (double)data->bias[i % SIZE],
        .residual = (double)data->residual[i],
        .aux = (double)data->aux[i],
        .scale = (double)data->scalars[0],
        .low = (double)data->scalars[1],
        .high = (double)data->scalars[2],
        .slope = (double)data->scalars[3],
        .number = random_uniform(0x3f800000, (uint32_t)(i / SIZE), (uint32_t)(i % SIZE), 0),
        .keep = (double)data->scalars[5]};
}

/* --------------------------------------------------------------------- the device */

struct fixture {
    jit_gemm_context *context;
    uint64_t a, b, d, bias, residual, aux_in, aux_out, gradient;
    struct data data;
};

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static uint64_t upload(const struct fixture *fixture, const void *data, size_t bytes)
{
    uint64_t address = 0;
    check(jit_gemm_device_alloc(fixture->context, bytes, &address));
    check(jit_gemm_device_upload(fixture->context, address, data, bytes));
    return address;
}

static void open_fixture(struct fixture *fixture, const char *arch)
{
    setenv("JIT_GEMM_EMULATOR", "sms=2", 1);
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = arch, .driver = EMU_LIBRARY_PATH};
    *fixture = (struct fixture){0};
    fill_data(&fixture->data);
    const struct data *data = &fixture->data;
    check(jit_gemm_context_create(&options, &fixture->context));
    fixture->a = upload(fixture, data->a, sizeof(data->a));
    fixture->b = upload(fixture, data->b, sizeof(data->b));
    fixture->bias = upload(fixture, data->bias, sizeof(data->bias));
    fixture->residual = upload(fixture, data->residual, sizeof(data->residual));
    fixture->aux_in = upload(fixture, data->aux, sizeof(data->aux));
    check(jit_gemm_device_alloc(fixture->context, sizeof(data->acc), &fixture->d));
    check(jit_gemm_device_alloc(fixture->context, sizeof(data->acc), &fixture->aux_out));
    fixture->gradient = upload(fixture, data->acc, SIZE * sizeof(float)); /* not zero */
}

static void close_fixture(struct fixture *fixture)
{
    const uint64_t addresses[] = {fixture->a,        fixture->b,       fixture->bias,
                                  fixture->residual, fixture->aux_in,  fixture->d,
                                  fixture->aux_out,  fixture->gradient};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        check(jit_gemm_device_free(fixture->context, addresses[i]));
    }
    jit_gemm_context_destroy(&fixture->context);
}

static jit_gemm_arg argument_for(const struct fixture *fixture,
                                 const jit_gemm_operand *operand)
{
    static const char *const scalars[] = {"scale", "low", "high", "slope", "seed", "keep"};
    for (int i = 0; i < 6; i++) {
        if (strcmp(operand->name, scalars[i]) == 0) {
            return (jit_gemm_arg){.value = fixture->data.scalars[i]};
        }
    }
    if (strcmp(operand->name, "aux") == 0) {
        return (jit_gemm_arg){.pointer = operand->role == JIT_GEMM_OPERAND_OUTPUT
                                             ? fixture->aux_out
                                             : fixture->aux_in};
    }
    if (strcmp(operand->name, "gradient") == 0) {
        return (jit_gemm_arg){.pointer = fixture->gradient};
    }
    const bool is_bias = strcmp(operand->name, "bias") == 0;
    cr_assert(is_bias || strcmp(operand->name, "residual") == 0, "%s", operand->name);
    return (jit_gemm_arg){.pointer = is_bias ? fixture->bias : fixture->residual};
}

/* Nobody registers anything. */
static void launch(const struct fixture *fixture, const jit_gemm_named_epilogue *named,
                   const char *d_type)
{
    char text[128];
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS] = {{0}};
    snprintf(text, sizeof(text), "%dx%dx%d bf16 d=%s epilogue=%s", SIZE, SIZE, SIZE, d_type,
             named->name);
    for (uint32_t i = 0; i < named->operand_count; i++) {
        operands[i] = argument_for(fixture, &named->operands[i]);
    }
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = fixture->a},
                          .b = {.pointer = fixture->b},
                          .d = {.pointer = fixture->d},
                          .operands = operands,
                          .operand_count = named->operand_count};
    check(jit_gemm_problem_parse(text, &problem));
    check(jit_gemm_create(fixture->context, &problem, &gemm));
    jit_gemm_info info = {.struct_size = sizeof(info)};
    check(jit_gemm_get_info(gemm, &info));
    if (info.workspace_bytes > 0) {
        const size_t bytes = (size_t)info.workspace_bytes;
        check(jit_gemm_device_alloc(fixture->context, bytes, &args.workspace));
        check(jit_gemm_device_fill(fixture->context, args.workspace, 0, bytes));
    }
    check(jit_gemm_run(gemm, &args, NULL));
    check(jit_gemm_device_synchronize(fixture->context));
    check(jit_gemm_device_free(fixture->context, args.workspace));
    jit_gemm_destroy(&gemm);
}

static void expect_matrix(const struct fixture *fixture, const struct row *row,
                          uint64_t address, double (*formula)(const struct values *v))
{
    float got[ELEMENTS];
    const int count = row->is_gated ? ELEMENTS / 2 : ELEMENTS;
    check(jit_gemm_device_download(fixture->context, got, address, sizeof(got)));
    for (int i = 0; i < count; i++) {
        const struct values values = values_at(&fixture->data, row->is_gated, i);
        const double want = formula(&values);
        const double error = fabs((double)got[i] - want);
        const double scale = fmax(fabs(values.acc1), 1);
        cr_expect(error <= 4e-7 * (1 + fabs(want) + fabs(values.acc)) * scale,
                  "%s, element %d of acc %g aux %g: %.9g, expected %.9g", row->name, i,
                  values.acc, values.aux, (double)got[i], want);
    }
}

/* Of the columns of D, which has been checked. */
static void expect_gradient(const struct fixture *fixture, const struct row *row)
{
    float got[SIZE];
    check(jit_gemm_device_download(fixture->context, got, fixture->gradient, sizeof(got)));
    for (int column = 0; column < SIZE; column++) {
        double want = 0, all = 0;
        for (int i = column; i < ELEMENTS; i += SIZE) {
            const struct values values = values_at(&fixture->data, false, i);
            want += row->d(&values);
            all += fabs(row->d(&values)) + fabs(values.acc);
        }
        cr_expect(fabs((double)got[column] - want) <= 1e-6 * (1 + all),
                  "%s, column %d: %.9g, expected %.9g", row->name, column,
                  (double)got[column], want);
    }
}

static jit_gemm_named_epilogue named_at(uint32_t index, jit_gemm_dtype d)
{
    jit_gemm_named_epilogue named = {.struct_size = sizeof(named)};
    check(jit_gemm_epilogue_named(index, d, &named));
    return named;
}

/* Every second one, and the others on the other chip; all with JIT_GEMM_TEST_EVERY=1. */
static void expect_formulas(uint32_t chip)
{
    struct fixture fixture;
    const uint32_t step = test_stride(ARCHS) == 1 ? 1 : ARCHS;
    open_fixture(&fixture, archs[chip]);
    for (uint32_t i = chip % step; i < jit_gemm_epilogue_named_count(); i += step) {
        const jit_gemm_named_epilogue named = named_at(i, JIT_GEMM_DTYPE_F32);
        const struct row *row = find_row(named.name);
        cr_assert_neq(row, NULL, "%s has no formula here", named.name);
        launch(&fixture, &named, "f32");
        expect_matrix(&fixture, row, fixture.d, row->d);
        if (row->aux != NULL) {
            expect_matrix(&fixture, row, fixture.aux_out, row->aux);
        }
        if (row->has_gradient) {
            expect_gradient(&fixture, row);
        }
    }
    close_fixture(&fixture);
}

Test(named_epilogues, sm_90a_computes_the_formulas)
{
    expect_formulas(0);
}

Test(named_epilogues, sm_100a_computes_the_formulas)
{
    expect_formulas(1);
}

Test(named_epilogues, all_formulas_have_an_epilogue)
{
    cr_expect_eq(jit_gemm_epilogue_named_count(), ROWS);
    for (uint32_t i = 1; i < jit_gemm_epilogue_named_count(); i++) {
        const jit_gemm_named_epilogue before = named_at(i - 1, JIT_GEMM_DTYPE_NONE);
        const jit_gemm_named_epilogue named = named_at(i, JIT_GEMM_DTYPE_NONE);
        cr_expect_lt(strcmp(before.name, named.name), 0, "%s", named.name);
    }
}

Test(named_epilogues, quantise_rounds_to_e4m3_and_saturates)
{
    for (int arch = 0; arch < ARCHS; arch++) {
        struct fixture fixture;
        uint8_t got[ELEMENTS];
        int saturated = 0;
        open_fixture(&fixture, archs[arch]);
        fixture.data.scalars[0] = 40; /* sums of up to 20 or so */
        jit_gemm_named_epilogue named = {.struct_size = sizeof(named)};
        for (uint32_t i = 0; named.name == NULL || strcmp(named.name, "quantise") != 0;
             i++) {
            named = named_at(i, JIT_GEMM_DTYPE_E4M3);
        }

        launch(&fixture, &named, "e4m3");

        check(jit_gemm_device_download(fixture.context, got, fixture.d, sizeof(got)));
        for (int i = 0; i < ELEMENTS; i++) {
            const double scaled = 40 * (double)fixture.data.acc[i];
            const double want = fmax(-448, fmin(scaled, 448));
            const double value = (double)jit_gemm_e4m3_to_float(got[i]);
            saturated += fabs(scaled) > 448;
            cr_expect_leq(fabs(value - want), fabs(want) / 16, "%g of %g", value, want);
        }
        cr_expect_gt(saturated, 10);
        close_fixture(&fixture);
    }
}

Test(named_epilogues, operands_have_the_type_of_d_or_one_that_holds_more)
{
    static const struct {
        jit_gemm_dtype d, bias;
    } types[] = {{JIT_GEMM_DTYPE_NONE, JIT_GEMM_DTYPE_NONE},
                 {JIT_GEMM_DTYPE_BF16, JIT_GEMM_DTYPE_BF16},
                 {JIT_GEMM_DTYPE_F16, JIT_GEMM_DTYPE_F16},
                 {JIT_GEMM_DTYPE_F32, JIT_GEMM_DTYPE_F32},
                 {JIT_GEMM_DTYPE_E4M3, JIT_GEMM_DTYPE_BF16},
                 {JIT_GEMM_DTYPE_E5M2, JIT_GEMM_DTYPE_BF16},
                 {JIT_GEMM_DTYPE_S32, JIT_GEMM_DTYPE_F32}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const jit_gemm_named_epilogue named = named_at(0, types[i].d);

        cr_expect_str_eq(named.name, "bias");
        cr_expect_eq(named.operand_count, 1);
        cr_expect_eq(named.operands[0].dtype, types[i].bias, "%zu", i);
    }
}

Test(named_epilogues, wrong_questions_are_refused)
{
    jit_gemm_named_epilogue named = {.struct_size = sizeof(named)};
    jit_gemm_named_epilogue unset = {0};

    cr_expect_eq(jit_gemm_epilogue_named(ROWS, JIT_GEMM_DTYPE_F32, &named),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_neq(strstr(jit_gemm_last_error(), "index"), NULL);
    cr_expect_eq(jit_gemm_epilogue_named(0, (jit_gemm_dtype)99, &named),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_neq(strstr(jit_gemm_last_error(), "99 is no element type"), NULL);
    cr_expect_eq(jit_gemm_epilogue_named(0, JIT_GEMM_DTYPE_F32, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_neq(jit_gemm_epilogue_named(0, JIT_GEMM_DTYPE_F32, &unset), JIT_GEMM_OK);
    cr_expect_eq(named.name, NULL);
}

Test(named_epilogues, a_name_of_the_library_cannot_be_registered)
{
    struct fixture fixture;
    open_fixture(&fixture, "sm_90a");
    const jit_gemm_epilogue own = {
        .struct_size = sizeof(own), .name = "relu", .source = "d = relu(acc);"};

    const jit_gemm_status status = jit_gemm_epilogue_register(fixture.context, &own);

    cr_expect_eq(status, JIT_GEMM_ERR_ARGUMENT);
    cr_expect_neq(strstr(jit_gemm_last_error(), "'relu' is an epilogue of the library"),
                  NULL, "%s", jit_gemm_last_error());
    cr_expect_neq(strstr(jit_gemm_last_error(), "choose another name"), NULL, "%s",
                  jit_gemm_last_error());
    close_fixture(&fixture);
}
