/* SPDX-License-Identifier: MIT */
/* What a timed launch did, as text. */
#include "exec/timing.h"

#include <math.h>

/*
 * Tensor cores that are busy take the power, and more of it at a faster clock, because that
 * needs a higher voltage. Where that is more than the board may take, the clock falls.
 */
double emu_timing_power_mhz(const struct emu_timing *timing)
{
    const struct emu_chip *chip = timing->chip;
    if (timing->tensor_busy <= 0) {
        return chip->boost_mhz;
    }
    const double left = chip->boost_mhz * chip->power_factor *
                        pow(timing->tensor_busy, -chip->power_exponent);
    return left < chip->tensor_mhz ? left : chip->tensor_mhz;
}

/* Where the time of tensor cores went: the parts add up to the launch. */
static void print_tensor(const struct emu_timing *timing, struct emu_text *text)
{
    const struct emu_pipe_time *tensor = &timing->tensor;
    if (timing->tensor_sms == 0) {
        return;
    }
    const double sms = timing->tensor_sms;
    const uint64_t clocks =
        timing->waves.part_clocks != 0 ? timing->waves.part_clocks : timing->clocks;
    const double tail = (double)(clocks - timing->gap) - tensor->last;
    const double products =
        tensor->last - tensor->first - tensor->between - tensor->within - tensor->slowed;
    emu_text_add(text,
                 "modelled clocks of a tensor core, means of %u: %.0f before the first "
                 "product, %.0f of products, %.0f of rest between sums (%.1f sums each; at "
                 "most %.0f at once), %.0f within sums, %.0f of products slowed down at "
                 "shared memory, %.0f behind the last product\n",
                 timing->tensor_sms, tensor->first, products, tensor->between,
                 (double)tensor->sums / sms, tensor->longest, tensor->within,
                 tensor->slowed, tail);
}

static void print_role(const struct emu_time_role *role, unsigned index,
                       struct emu_text *text)
{
    const double lived = role->lived == 0 ? 1 : (double)role->lived;
    emu_text_add(text, "  warp %-2u  %10.0f clocks, issues %4.1f %%", index,
                 (double)role->lived / (double)role->warps,
                 100 * (double)role->issued / lived);
    for (unsigned i = 0; i < EMU_STALL_COUNT; i++) {
        const double part = 100 * (double)role->stalls[i] / lived;
        if (part >= 0.5) {
            emu_text_add(text, ", %s %.1f %%", emu_stall_name((enum emu_stall)i), part);
        }
    }
    emu_text_add(text, "\n");
}

void emu_timing_print_waves(const struct emu_timing *timing, struct emu_text *text)
{
    const struct emu_waves *waves = &timing->waves;
    if (waves->part_clocks != 0) {
        emu_text_add(
            text,
            "modelled from the first waves: all clusters ran to clock %.0f, where tensor "
            "cores had begun %.0f of %.0f sums; %llu of %llu clusters ran to their end, and "
            "what they took from there, %.0f clocks, counts %.3f times, as the sums before "
            "it took of all\n",
            waves->clock, waves->sums, waves->all_sums, (unsigned long long)timing->sampled,
            (unsigned long long)timing->per_round, waves->rest, waves->pace);
    }
}

void emu_timing_print(const struct emu_timing *timing, struct emu_text *text)
{
    const double power = emu_timing_power_mhz(timing);
    emu_text_add(
        text,
        "modelled on %s: %llu clocks, %.2f us at %.0f MHz, %.2f us at the %.0f MHz "
        "that power leaves\n",
        timing->chip->name, (unsigned long long)timing->clocks,
        (double)timing->clocks / timing->mhz, timing->mhz, (double)timing->clocks / power,
        power);
    emu_timing_print_waves(timing, text);
    if (timing->sampled != 0) {
        emu_text_add(
            text,
            "modelled from a part: of each %llu clusters %llu ran, with that part "
            "of L2's rate and its root of DRAM's; bytes and instructions are theirs\n",
            (unsigned long long)timing->per_round, (unsigned long long)timing->sampled);
    }
    emu_text_add(
        text,
        "modelled: %u of %u multiprocessors, tensor cores busy %.1f %%, CTAs begin "
        "until clock %llu, %llu instructions of warps\n",
        timing->sms_used, timing->sm_count, 100 * timing->tensor_busy,
        (unsigned long long)timing->last_cta, (unsigned long long)timing->instructions);
    emu_text_add(text,
                 "modelled bytes: DRAM read %.1f MB, written %.1f MB, L2 %.1f MB, between "
                 "its halves %.1f MB, into shared memory %.1f MB, out of it %.1f MB\n",
                 (double)timing->dram_read * 1e-6, (double)timing->dram_written * 1e-6,
                 (double)timing->l2_bytes * 1e-6, (double)timing->link_bytes * 1e-6,
                 (double)timing->shared_in * 1e-6, (double)timing->shared_out * 1e-6);
    if (timing->gap != 0) {
        emu_text_add(text,
                     "modelled: %llu of the clocks until a launch behind this one starts, "
                     "which may not begin early\n",
                     (unsigned long long)timing->gap);
    }
    print_tensor(timing, text);
    for (unsigned i = 0; i < timing->roles; i++) {
        print_role(&timing->role[i], i, text);
    }
}
