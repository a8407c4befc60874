/* SPDX-License-Identifier: MIT */
/* Reports about instructions: where it happened, and how to see it again. */
#include <inttypes.h>

#include "exec/machine.h"

/* The functions that the instruction was inlined through, from the outermost: the second is
 * the role that the warp plays. */
static void describe_callers(const struct ptx_module *module,
                             const struct ptx_location *location, struct emu_text *text)
{
    for (const struct ptx_location *at = location->inlined_at; at != NULL;
         at = at->inlined_at) {
        emu_text_add(text, "\n  called from ");
        ptx_describe_location(module, at, text);
    }
}

static uint64_t find_place(const struct emu_warp *warp, const struct emu_insn *insn)
{
    return emu_mix((uint64_t)(uintptr_t)emu_launch_of(warp->cta)->program, insn->index);
}

static void report(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                   enum emu_severity severity, enum emu_finding finding, const char *format,
                   va_list args)
{
    struct emu_launch *launch = emu_launch_of(warp->cta);
    const struct ptx_module *module = launch->program->module;
    struct emu_text text = {0};
    emu_text_addv(&text, format, args);
    emu_text_add(&text, "\n  at ");
    ptx_describe_full_location(module, &insn->source->location, &text);
    emu_text_add(&text, ": %s", insn->source->opcode);
    describe_callers(module, &insn->source->location, &text);
    emu_text_add(
        &text, "\n  in %s, cluster %" PRIu64 ", CTA (%u, %u, %u) of rank %u, warp %u",
        launch->program->function->name, warp->cta->cluster->index, warp->cta->id[0],
        warp->cta->id[1], warp->cta->id[2], warp->cta->rank, warp->index);
    if (lane < EMU_LANES) {
        emu_text_add(&text, ", lane %u", lane);
    }
    emu_text_add(&text, "\n  settings: ");
    emu_settings_print(&launch->settings, &text);
    emu_reports_add(launch->reports, severity, finding, find_place(warp, insn),
                    emu_text_get(&text));
    emu_text_free(&text);
}

static enum emu_severity find_severity(const struct emu_warp *warp,
                                       enum emu_severity severity, enum emu_finding finding)
{
    const struct emu_settings *settings = &emu_launch_of(warp->cta)->settings;
    return (settings->allowed >> finding & 1u) != 0 ? EMU_ADVICE : severity;
}

void emu_report(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                enum emu_severity severity, enum emu_finding finding, const char *format,
                ...)
{
    severity = find_severity(warp, severity, finding);
    va_list args;
    va_start(args, format);
    report(warp, insn, lane, severity, finding, format, args);
    va_end(args);
    warp->cta->cluster->wrong |= severity == EMU_ERROR;
}

bool emu_report_again(struct emu_warp *warp, const struct emu_insn *insn,
                      enum emu_severity severity, enum emu_finding finding)
{
    return emu_reports_again(emu_launch_of(warp->cta)->reports,
                             find_severity(warp, severity, finding), finding,
                             find_place(warp, insn));
}

enum emu_step emu_report_error(struct emu_warp *warp, const struct emu_insn *insn,
                               unsigned lane, enum emu_finding finding, const char *format,
                               ...)
{
    va_list args;
    va_start(args, format);
    report(warp, insn, lane, EMU_ERROR, finding, format, args);
    va_end(args);
    warp->cta->cluster->failed = true;
    return EMU_FAILED;
}

bool emu_need_defined(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                      uint32_t slot, const char *operand_name)
{
    uint32_t undefined = warp->undefined[slot] & lanes;
    if (undefined == 0 || !emu_launch_of(warp->cta)->settings.definedness) {
        return true;
    }
    emu_report_error(warp, insn, emu_lowest_bit(undefined), EMU_FINDING_UNDEFINED,
                     "the %s is undefined", operand_name);
    return false;
}

bool emu_uniform_value(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                       uint32_t slot, const char *operand_name, uint64_t *ret_value)
{
    if (!emu_need_defined(warp, insn, lanes, slot, operand_name)) {
        return false;
    }
    uint64_t value = warp->r[slot][emu_lowest_bit(lanes)];
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        if (warp->r[slot][lane] != value) {
            emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                             "the %s must be the same in all lanes: 0x%" PRIx64
                             " here, 0x%" PRIx64 " in lane %u",
                             operand_name, warp->r[slot][lane], value,
                             emu_lowest_bit(lanes));
            return false;
        }
    }
    *ret_value = value;
    return true;
}
