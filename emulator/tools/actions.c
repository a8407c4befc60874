/* SPDX-License-Identifier: MIT */
/* Contents of buffers before the run, and what is done with them afterwards. */
#include <math.h>
#include <string.h>

#include "tools/session.h"

static bool read_file(const struct emu_script_buffer *buffer, void *data, FILE *out)
{
    FILE *file = fopen(buffer->path, "rb");
    if (file == NULL) {
        fprintf(out, "%s: cannot be opened\n", buffer->path);
        return false;
    }
    size_t bytes = fread(data, 1, (size_t)buffer->bytes, file);
    bool more = fgetc(file) != EOF;
    fclose(file);
    if (bytes != buffer->bytes || more) {
        fprintf(out, "%s: has %s than the %llu bytes of `%s`\n", buffer->path,
                more ? "more" : "less", (unsigned long long)buffer->bytes, buffer->name);
        return false;
    }
    return true;
}

bool emu_buffer_fill(const struct emu_script_buffer *buffer, void *data, FILE *out)
{
    struct emu_random random;
    if (buffer->initial == EMU_INITIAL_FILE) {
        return read_file(buffer, data, out);
    }
    emu_random_seed(&random, buffer->seed);
    for (uint64_t i = 0; i < buffer->count; i++) {
        double unit = (double)(emu_random_next(&random) >> 11) * 0x1p-53;
        double value = buffer->low;
        if (buffer->initial == EMU_INITIAL_IOTA) {
            value += (double)i * buffer->high;
        } else if (buffer->initial == EMU_INITIAL_RANDOM) {
            value += unit * (buffer->high - buffer->low);
        } else if (buffer->initial == EMU_INITIAL_INTEGERS) {
            value += floor(unit * (buffer->high - buffer->low + 1));
        }
        emu_element_set(buffer->type, data, i, value);
    }
    return true;
}

static bool print_buffer(const struct emu_session *session,
                         const struct emu_script_action *action)
{
    const struct emu_script_buffer *buffer = &session->script->buffers[action->buffer];
    uint64_t count = action->count < buffer->count ? action->count : buffer->count;
    fprintf(session->out, "%s:", buffer->name);
    for (uint64_t i = 0; i < count; i++) {
        fprintf(session->out, " %.9g",
                emu_element_get(buffer->type, session->after[action->buffer], i));
    }
    fprintf(session->out, "\n");
    return true;
}

static bool dump_buffer(const struct emu_session *session,
                        const struct emu_script_action *action)
{
    const struct emu_script_buffer *buffer = &session->script->buffers[action->buffer];
    FILE *file = fopen(action->path, "wb");
    bool good = file != NULL && fwrite(session->after[action->buffer], 1,
                                       (size_t)buffer->bytes, file) == buffer->bytes;
    good = (file == NULL || fclose(file) == 0) && good;
    if (!good) {
        fprintf(session->out, "line %u: %s: cannot be written\n", action->line,
                action->path);
    }
    return good;
}

static bool check_equal(const struct emu_session *session,
                        const struct emu_script_action *action)
{
    const struct emu_script_buffer *buffers = session->script->buffers;
    const unsigned char *a = session->after[action->buffer];
    const unsigned char *b = session->after[action->other];
    for (uint64_t i = 0; i < buffers[action->buffer].bytes; i++) {
        if (a[i] != b[i]) {
            fprintf(session->out, "line %u: `%s` and `%s` differ from byte %llu on\n",
                    action->line, buffers[action->buffer].name, buffers[action->other].name,
                    (unsigned long long)i);
            return false;
        }
    }
    return true;
}

bool emu_session_act(const struct emu_session *session,
                     const struct emu_script_action *action)
{
    switch (action->kind) {
    case EMU_ACTION_PRINT:
        return print_buffer(session, action);
    case EMU_ACTION_DUMP:
        return dump_buffer(session, action);
    case EMU_ACTION_EQUAL:
        return check_equal(session, action);
    default:
        return emu_session_check_gemm(session, action);
    }
}
