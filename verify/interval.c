/* SPDX-License-Identifier: MIT */
#include "verify/interval.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* One unit in the last place of a normal f32 near 1, and what the least numbers lose where
 * a function flushes or approximates them. */
#define FLOAT_ULP  0x1p-23
#define FLOAT_TINY 0x1p-125

/* A NaN that no arithmetic makes stands for "unknown": the low end says it. */
struct interval interval_unknown(void)
{
    return (struct interval){-(double)INFINITY, (double)NAN};
}

bool interval_is_unknown(struct interval x)
{
    return isnan(x.high) && !isnan(x.low);
}

bool interval_is_nan(struct interval x)
{
    return isnan(x.low);
}

struct interval interval_of(double value)
{
    return (struct interval){value, value};
}

bool interval_is_exact(struct interval x)
{
    return interval_is_nan(x) || x.low == x.high;
}

static double lesser(double x, double y)
{
    return x < y ? x : y;
}

static double greater(double x, double y)
{
    return x > y ? x : y;
}

struct interval interval_join(struct interval x, struct interval y)
{
    if (interval_is_nan(x) && interval_is_nan(y)) {
        return x;
    }
    if (isnan(x.high) || isnan(y.high)) {
        return interval_unknown();
    }
    return (struct interval){lesser(x.low, y.low), greater(x.high, y.high)};
}

/* By way of memory: GCC 12 takes two conversions to f32 and back, side by side, for nothing
 * to do. */
static double round_to_float(double x)
{
    volatile float rounded = (float)x;
    return (double)rounded;
}

struct interval interval_to_float(struct interval x)
{
    if (interval_is_unknown(x)) {
        return x;
    }
    return (struct interval){round_to_float(x.low), round_to_float(x.high)};
}

/* Ends of a result before rounding; NaN in one of them means that some of the arguments
 * have no number for a result. */
static struct interval from_ends(double low, double high, bool is_exact)
{
    if (isnan(low) || isnan(high)) {
        return is_exact ? interval_of((double)NAN) : interval_unknown();
    }
    return (struct interval){low, high};
}

/* --------------------------------------------------------------------- arithmetic */

/* An unrounded sum. `error` is exact, and says on which side of the rounded sum it lies. */
static double sum_down(double x, double y)
{
    const double sum = x + y;
    const double part = sum - x;
    const double error = (x - (sum - part)) + (y - part);
    return isfinite(sum) && error < 0 ? nextafter(sum, -(double)INFINITY) : sum;
}

static double sum_up(double x, double y)
{
    return -sum_down(-x, -y);
}

static bool has_unknown(struct interval x, struct interval y)
{
    return interval_is_unknown(x) || interval_is_unknown(y);
}

static bool are_exact(struct interval x, struct interval y)
{
    return interval_is_exact(x) && interval_is_exact(y);
}

static bool is_zero(struct interval x)
{
    return x.low == 0 && x.high == 0;
}

struct interval interval_negate(struct interval x)
{
    return interval_is_unknown(x) ? x : (struct interval){-x.high, -x.low};
}

struct interval interval_add(struct interval x, struct interval y,
                             enum interval_rounding rounding)
{
    if (has_unknown(x, y)) {
        return interval_unknown();
    }
    if (rounding == INTERVAL_DOUBLE) {
        return from_ends(x.low + y.low, x.high + y.high, are_exact(x, y));
    }
    /* Rounded once: via an f64 that is rounded to nearest it would be twice. */
    if (x.low + y.low == 0 && are_exact(x, y)) {
        return interval_of(x.low + y.low); /* keeps the sign of a zero */
    }
    const struct interval sum = interval_to_float(
        from_ends(sum_down(x.low, y.low), sum_up(x.high, y.high), are_exact(x, y)));
    /* A product to which nothing is added is one still, and may be contracted later. */
    return is_zero(x) ? interval_join(sum, y) : is_zero(y) ? interval_join(sum, x) : sum;
}

struct interval interval_subtract(struct interval x, struct interval y,
                                  enum interval_rounding rounding)
{
    return interval_add(x, interval_negate(y), rounding);
}

/* The least and greatest of the four products of ends. */
static struct interval multiply_ends(struct interval x, struct interval y)
{
    const double ends[] = {x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high};
    double low = ends[0];
    double high = ends[0];
    for (size_t i = 1; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (isnan(ends[i])) {
            low = ends[i];
        }
        low = isnan(low) ? low : lesser(low, ends[i]);
        high = greater(high, ends[i]);
    }
    return from_ends(low, high, are_exact(x, y));
}

static struct interval widen(struct interval x)
{
    return (struct interval){nextafter(x.low, -(double)INFINITY),
                             nextafter(x.high, (double)INFINITY)};
}

/* Ends that are no f32, such as of a product that was not rounded, may have a product that
 * f64 rounds. */
static bool is_float(double value)
{
    return round_to_float(value) == value;
}

static bool are_floats(struct interval x)
{
    return is_float(x.low) && is_float(x.high);
}

struct interval interval_multiply(struct interval x, struct interval y,
                                  enum interval_rounding rounding)
{
    if (has_unknown(x, y)) {
        return interval_unknown();
    }
    struct interval product = multiply_ends(x, y);
    if (isnan(product.high)) {
        return product;
    }
    if (rounding == INTERVAL_DOUBLE) {
        const bool is_plain = are_exact(x, y) && are_floats(x) && are_floats(y);
        return is_plain ? product : widen(product);
    }
    if (!are_floats(x) || !are_floats(y)) {
        product = widen(product);
    }
    return interval_join(product, interval_to_float(product));
}

struct interval interval_divide(struct interval x, struct interval y,
                                enum interval_rounding rounding)
{
    /* The sign of a zero decides between two infinities. */
    if (has_unknown(x, y) || (y.low <= 0 && y.high >= 0 && !interval_is_nan(x))) {
        return interval_unknown();
    }
    const double ends[] = {x.low / y.low, x.low / y.high, x.high / y.low, x.high / y.high};
    double low = ends[0];
    double high = ends[0];
    for (size_t i = 1; i < sizeof(ends) / sizeof(ends[0]); i++) {
        low = isnan(low) || isnan(ends[i]) ? (double)NAN : lesser(low, ends[i]);
        high = greater(high, ends[i]);
    }
    const struct interval quotient = from_ends(low, high, are_exact(x, y));
    if (rounding == INTERVAL_DOUBLE || isnan(quotient.high)) {
        return quotient;
    }
    /* A quotient of two f32 is never so near to a tie of normal f32 that f64 rounds it
     * there; others are widened. */
    const bool is_plain =
        are_floats(x) && are_floats(y) &&
        lesser(fabs(quotient.low), fabs(quotient.high)) >= (double)FLT_MIN;
    return interval_to_float(is_plain ? quotient : widen(quotient));
}

/* ---------------------------------------------------------------------- functions */

/* A result and by how much the device may miss it. */
static struct interval blur(double low, double high, double relative, double absolute)
{
    if (isnan(low) || isnan(high)) {
        return isnan(low) && isnan(high) ? interval_of((double)NAN) : interval_unknown();
    }
    const struct interval result = {low - fabs(low) * relative - absolute,
                                    high + fabs(high) * relative + absolute};
    /* An infinity less an infinity. */
    return interval_to_float((struct interval){isnan(result.low) ? low : result.low,
                                               isnan(result.high) ? high : result.high});
}

static struct interval do_exp(struct interval x)
{
    if (x.low == x.high && x.low == 0) {
        return interval_of(1);
    }
    struct interval result = blur(exp(x.low), exp(x.high), 2 * FLOAT_ULP, 0x1p-148);
    result.low = result.low < 0 ? 0 : result.low;
    return result;
}

static struct interval do_log(struct interval x)
{
    return blur(log(x.low), log(x.high), 2 * FLOAT_ULP, 0x1p-48);
}

static struct interval do_sqrt(struct interval x)
{
    return blur(sqrt(x.low), sqrt(x.high), are_floats(x) ? 0 : 0x1p-52, 0);
}

static struct interval do_rsqrt(struct interval x)
{
    if (x.low <= 0 && x.high >= 0) {
        return interval_unknown(); /* by the sign of a zero */
    }
    return blur(1 / sqrt(x.high), 1 / sqrt(x.low), 3 * FLOAT_ULP, 0);
}

static struct interval clip(struct interval x, double low, double high)
{
    return isnan(x.high) ? x : (struct interval){greater(x.low, low), lesser(x.high, high)};
}

static struct interval do_tanh(struct interval x)
{
    return clip(blur(tanh(x.low), tanh(x.high), 3 * FLOAT_ULP, 0x1p-148), -1, 1);
}

static struct interval do_erf(struct interval x)
{
    return clip(blur(erf(x.low), erf(x.high), 3 * FLOAT_ULP, 0x1p-148), -1, 1);
}

static struct interval do_abs(struct interval x)
{
    if (isnan(x.high)) {
        return x;
    }
    const struct interval ends = {lesser(fabs(x.low), fabs(x.high)),
                                  greater(fabs(x.low), fabs(x.high))};
    return x.low < 0 && x.high > 0 ? (struct interval){0, ends.high} : ends;
}

static struct interval do_min(struct interval x, struct interval y)
{
    if (interval_is_nan(x) || interval_is_nan(y)) {
        return interval_of((double)NAN);
    }
    return (struct interval){lesser(x.low, y.low), lesser(x.high, y.high)};
}

static struct interval do_max(struct interval x, struct interval y)
{
    if (interval_is_nan(x) || interval_is_nan(y)) {
        return interval_of((double)NAN);
    }
    return (struct interval){greater(x.low, y.low), greater(x.high, y.high)};
}

static struct interval do_clamp(struct interval x, struct interval low,
                                struct interval high)
{
    return do_min(do_max(x, low), high);
}

static struct interval do_relu(struct interval x)
{
    return do_max(x, interval_of(0));
}

static struct interval do_fma(struct interval x, struct interval y, struct interval z)
{
    const struct interval product = multiply_ends(x, y);
    if (interval_is_nan(product) || interval_is_unknown(product)) {
        return product;
    }
    const bool is_product =
        are_floats(x) && are_floats(y) && !isinf(product.low) && !isinf(product.high);
    return interval_add(is_product ? product : widen(product), z, INTERVAL_FLOAT);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Relative. The device has exp(-x) to 2 + 1.173 * |x| units in the last place, of which the
 * share of exp(-x) in the sum with 1 remains, and a quick division. */
static double sigmoid_error(double x)
{
    const double of_exp = 2 + 1.2 * lesser(fabs(x), 110);
    return (4 + of_exp * (1 - sigmoid(x))) * FLOAT_ULP;
}

static struct interval do_sigmoid(struct interval x)
{
    const double error = greater(sigmoid_error(x.low), sigmoid_error(x.high));
    return clip(blur(sigmoid(x.low), sigmoid(x.high), error, FLOAT_TINY), 0, 1 + FLOAT_ULP);
}

/* A function that falls up to its only minimum and rises behind it. */
struct valley {
    double (*function)(double x);
    double place, least; /* the minimum, and the value there, to f64 */
};

static struct interval apply_valley(const struct valley *valley, struct interval x,
                                    double relative, double absolute)
{
    const double first = valley->function(x.low);
    const double last = valley->function(x.high);
    if (isnan(first) || isnan(last)) {
        return interval_is_nan(x) || are_exact(x, x) ? interval_of((double)NAN)
                                                     : interval_unknown();
    }
    const bool has_least = x.low <= valley->place && x.high >= valley->place;
    return blur(has_least ? valley->least : lesser(first, last), greater(first, last),
                relative, absolute);
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static struct interval do_silu(struct interval x)
{
    static const struct valley valley = {silu, -1.2784645427610741, -0.27846454276107374};
    const double greatest = greater(fabs(x.low), fabs(x.high));
    const double error = greater(sigmoid_error(x.low), sigmoid_error(x.high));
    return apply_valley(&valley, x, error + 2 * FLOAT_ULP,
                        lesser(greatest, (double)FLT_MAX) * FLOAT_TINY);
}

static double gelu(double x)
{
    return 0.5 * x * erfc(-x * 0.70710678118654752440);
}

/* What the library documents of its curves for results of so many bits (docs/epilogues.md):
 * all that judges a kernel by errors of its epilogue takes them from here. 0: those of an
 * f32. */
static double curve_error(int result_bits)
{
    return result_bits <= 8 ? 2.5e-4 : result_bits <= 11 ? 3.2e-5 : 0;
}

/* Relative to the value, and a thousandth of that to the argument, as far as the function
 * has bends. */
static struct interval apply_short_gelu(const struct valley *valley, struct interval x,
                                        int result_bits)
{
    const double error = curve_error(result_bits);
    const double greatest = greater(fabs(x.low), fabs(x.high));
    return apply_valley(valley, x, 1.001 * error + 2 * FLOAT_ULP,
                        lesser(greatest, 16) * error / 1000);
}

static struct interval do_gelu(struct interval x, int result_bits)
{
    static const struct valley valley = {gelu, -0.7517915246935645, -0.16997120747990369};
    if (isinf(x.low) && x.low < 0) {
        return interval_unknown(); /* minus infinity times zero, or its limit */
    }
    return result_bits <= 11 ? apply_short_gelu(&valley, x, result_bits)
                             : apply_valley(&valley, x, 2 * FLOAT_ULP, 3e-7);
}

static double gelu_tanh_slope(double x)
{
    return 0.79788456080286535588 * (x + 0.044715 * x * x * x);
}

static double gelu_tanh(double x)
{
    return x * sigmoid(2 * gelu_tanh_slope(x));
}

/* Relative: that of the sigmoid, and what its argument has lost. */
static double gelu_tanh_error(double x)
{
    const double argument = 2 * gelu_tanh_slope(x);
    const double lost = 6 * lesser(fabs(argument), 110) * (1 - sigmoid(argument));
    return sigmoid_error(argument) + (2 + lost) * FLOAT_ULP;
}

static struct interval do_gelu_tanh(struct interval x, int result_bits)
{
    static const struct valley valley = {gelu_tanh, -0.7524614220710163,
                                         -0.17004075057125403};
    if (result_bits <= 11) {
        return isinf(x.low) && x.low < 0 ? interval_unknown()
                                         : apply_short_gelu(&valley, x, result_bits);
    }
    const double greatest = greater(fabs(x.low), fabs(x.high));
    const double error = greater(gelu_tanh_error(x.low), gelu_tanh_error(x.high));
    return apply_valley(&valley, x, error, lesser(greatest, (double)FLT_MAX) * FLOAT_TINY);
}

/* A function that falls to its minimum at -place, rises to its maximum at place, and falls
 * again; 1 less the maximum is the minimum. */
static struct interval apply_slope(double (*function)(double x), double place,
                                   struct interval x, int result_bits)
{
    if (interval_is_nan(x)) {
        return interval_of((double)NAN);
    }
    const double first = function(x.low), last = function(x.high);
    const double most = function(place);
    const double low = x.low <= -place && x.high >= -place ? 1 - most : lesser(first, last);
    const double high = x.low <= place && x.high >= place ? most : greater(first, last);
    /* Documented as gelu's, but of the value and a tenth of a normal variable's density. */
    const double error = curve_error(result_bits);
    const double near = x.low > 0 ? x.low : x.high < 0 ? -x.high : 0;
    const double density = 0.39894228040143268 * exp(-near * near / 2);
    return blur(low, high, 1.001 * error + 2 * FLOAT_ULP,
                error > 0 ? error * (density / 10 + 0.001) + 6e-8 : 3e-7);
}

static double dgelu(double x)
{
    const double y = isinf(x) ? copysign(40, x) : x;
    return 0.5 * erfc(-y * 0.70710678118654752440) +
           0.39894228040143268 * y * exp(-y * y / 2);
}

static struct interval do_dgelu(struct interval x, int result_bits)
{
    return apply_slope(dgelu, 1.4142135623730951, x, result_bits);
}

static double dgelu_tanh(double x)
{
    const double y = isinf(x) ? copysign(40, x) : x;
    const double s = sigmoid(2 * gelu_tanh_slope(y));
    const double rest = sigmoid(-2 * gelu_tanh_slope(y));
    return s + s * rest * 1.5957691216057307 * (y + 0.134145 * y * y * y);
}

static struct interval do_dgelu_tanh(struct interval x, int result_bits)
{
    return apply_slope(dgelu_tanh, 1.4185040266938038, x, result_bits);
}

static const struct interval_function functions[] = {
    {"abs", 1, .one = do_abs},         {"clamp", 3, .three = do_clamp},
    {"dgelu", 1, .rounded = do_dgelu}, {"dgelu_tanh", 1, .rounded = do_dgelu_tanh},
    {"erff", 1, .one = do_erf},        {"exp", 1, .one = do_exp},
    {"expf", 1, .one = do_exp},        {"fabsf", 1, .one = do_abs},
    {"fma", 3, .three = do_fma},       {"fmaf", 3, .three = do_fma},
    {"gelu", 1, .rounded = do_gelu},   {"gelu_tanh", 1, .rounded = do_gelu_tanh},
    {"log", 1, .one = do_log},         {"logf", 1, .one = do_log},
    {"max", 2, .two = do_max},         {"min", 2, .two = do_min},
    {"relu", 1, .one = do_relu},       {"rsqrt", 1, .one = do_rsqrt},
    {"rsqrtf", 1, .one = do_rsqrt},    {"sigmoid", 1, .one = do_sigmoid},
    {"silu", 1, .one = do_silu},       {"sqrt", 1, .one = do_sqrt},
    {"sqrtf", 1, .one = do_sqrt},      {"tanh", 1, .one = do_tanh},
    {"tanhf", 1, .one = do_tanh},
};

struct interval interval_call(const struct interval_function *function,
                              const struct interval arguments[3], int result_bits)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (interval_is_unknown(arguments[i])) {
            return interval_unknown();
        }
    }
    if (function->rounded != NULL) {
        return function->rounded(arguments[0], result_bits);
    }
    switch (function->parameter_count) {
    case 1:
        return function->one(arguments[0]);
    case 2:
        return function->two(arguments[0], arguments[1]);
    default:
        return function->three(arguments[0], arguments[1], arguments[2]);
    }
}

const struct interval_function *interval_function_find(const char *name)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcmp(functions[i].name, name) == 0) {
            return &functions[i];
        }
    }
    return NULL;
}
