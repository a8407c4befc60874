/* SPDX-License-Identifier: MIT */
/* The reference of a matrix product: plain sums in double. */
#include <math.h>

#include "tools/session.h"

static double get(const struct emu_session *session, const struct emu_script_matrix *matrix,
                  void *const *data, uint64_t first, uint64_t second)
{
    const struct emu_script_buffer *buffer = &session->script->buffers[matrix->buffer];
    uint64_t index = matrix->first_inner ? second * matrix->pitch + first
                                         : first * matrix->pitch + second;
    return emu_element_get(buffer->type, data[matrix->buffer], index);
}

/* As doubles, `columns` contiguous ones per row. */
static double *unpack(const struct emu_session *session,
                      const struct emu_script_matrix *matrix, uint64_t rows,
                      uint64_t columns)
{
    double *values = emu_alloc(rows * columns * sizeof(*values));
    for (uint64_t row = 0; row < rows; row++) {
        for (uint64_t column = 0; column < columns; column++) {
            values[row * columns + column] =
                get(session, matrix, session->before, row, column);
        }
    }
    return values;
}

static double get_scale(const struct emu_session *session,
                        const struct emu_script_scale *scale)
{
    return scale->buffer == EMU_SCRIPT_NONE
               ? scale->value
               : emu_element_get(session->script->buffers[scale->buffer].type,
                                 session->before[scale->buffer], 0);
}

static double sum_products(const double *a, const double *b, uint64_t k)
{
    /* Four sums side by side keep the processor busy. */
    double sums[4] = {0};
    uint64_t i = 0;
    for (; i + 4 <= k; i += 4) {
        sums[0] += a[i] * b[i];
        sums[1] += a[i + 1] * b[i + 1];
        sums[2] += a[i + 2] * b[i + 2];
        sums[3] += a[i + 3] * b[i + 3];
    }
    for (; i < k; i++) {
        sums[0] += a[i] * b[i];
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

struct outcome {
    double worst, got, want; /* the largest difference, and what it is between */
    uint64_t row, column, outside;
    double error_square, want_square;
};

static void compare(const struct emu_script_action *gemm, double got, double want,
                    uint64_t row, uint64_t column, struct outcome *outcome)
{
    double difference = fabs(got - want);
    /* What is not a number is outside, and worse than anything else. */
    bool outside = !(difference <= gemm->absolute + gemm->relative * fabs(want));
    outcome->outside += outside ? 1 : 0;
    outcome->error_square += difference * difference;
    outcome->want_square += want * want;
    if (!(difference <= outcome->worst) && !isnan(outcome->worst)) {
        outcome->worst = difference;
        outcome->got = got;
        outcome->want = want;
        outcome->row = row;
        outcome->column = column;
    }
}

bool emu_session_check_gemm(const struct emu_session *session,
                            const struct emu_script_action *gemm)
{
    struct outcome outcome = {.worst = 0};
    double *a = unpack(session, &gemm->a, gemm->m, gemm->k);
    double *b = unpack(session, &gemm->b, gemm->n, gemm->k);
    double scale = gemm->alpha * get_scale(session, &gemm->scale_a) *
                   get_scale(session, &gemm->scale_b);
    for (uint64_t row = 0; row < gemm->m; row++) {
        for (uint64_t column = 0; column < gemm->n; column++) {
            double want =
                scale * sum_products(a + row * gemm->k, b + column * gemm->k, gemm->k);
            if (gemm->beta != 0) {
                want += gemm->beta * get(session, &gemm->c, session->before, row, column);
            }
            compare(gemm, get(session, &gemm->d, session->after, row, column), want, row,
                    column, &outcome);
        }
    }
    emu_free(a);
    emu_free(b);
    double rms =
        outcome.want_square == 0 ? 0 : sqrt(outcome.error_square / outcome.want_square);
    fprintf(session->out,
            "line %u: gemm: largest difference %.3g at (%llu, %llu): %.9g, expected %.9g; "
            "relative rms %.3g; %llu of %llu outside: %s\n",
            gemm->line, outcome.worst, (unsigned long long)outcome.row,
            (unsigned long long)outcome.column, outcome.got, outcome.want, rms,
            (unsigned long long)outcome.outside, (unsigned long long)gemm->m * gemm->n,
            outcome.outside == 0 ? "good" : "wrong");
    return outcome.outside == 0;
}
