/* SPDX-License-Identifier: MIT */
/* How the emulator runs a kernel; all of it can be written as text, "key=value,key=value".
 */
#ifndef EMU_EXEC_SETTINGS_H
#define EMU_EXEC_SETTINGS_H

#include "base/base.h"

/* When an asynchronous operation takes effect. */
enum emu_async_mode {
    EMU_ASYNC_EAGER,  /* at once */
    EMU_ASYNC_LATEST, /* only when no warp can go on without it */
    EMU_ASYNC_RANDOM, /* at a random later step */
    EMU_ASYNC_REORDER /* as random, and newest first where the rules allow any order */
};

/* Which warp runs next, and for how long. */
enum emu_schedule {
    EMU_SCHEDULE_FAIR,   /* in turn, equal quanta */
    EMU_SCHEDULE_RANDOM, /* random warp, random quantum */
    EMU_SCHEDULE_DEEP,   /* one warp as far as it can go */
    EMU_SCHEDULE_STARVE  /* one randomly chosen warp only when nothing else can run */
};

enum emu_numbers {
    EMU_NUMBERS_FAST,
    EMU_NUMBERS_EXACT,
    EMU_NUMBERS_OFF /* products and tensor copies move nothing: only their times are asked
                     */
};

/* Whether launches are timed, and as which chip: see time/chip.h. */
enum emu_timing_mode {
    EMU_TIMING_OFF,
    EMU_TIMING_ON, /* as the device that runs it */
    EMU_TIMING_H100,
    EMU_TIMING_H200,
    EMU_TIMING_B200
};

struct emu_settings {
    uint64_t seed;
    enum emu_async_mode async;
    enum emu_schedule schedule;
    enum emu_numbers numbers;
    bool races;          /* vector clocks and shadow memory */
    bool definedness;    /* undefined values are tracked and their use is an error */
    bool elect_highest;  /* elect.sync takes the highest lane instead of the lowest */
    bool lowest_columns; /* tensor memory is given out from column 0 on, not from a drawn
                            one */
    unsigned threads;    /* host threads for independent clusters; 0: as many as cores */
    unsigned resident;   /* clusters resident at once; 0: as the device would */
    unsigned sms;        /* multiprocessors of the device; 0: as the device has */
    unsigned refuse;     /* percent of launch control requests refused without need */
    uint64_t max_steps;  /* warp instructions without progress before giving up */
    enum emu_timing_mode timing;
    unsigned sample; /* clusters that a timed launch runs at once; 0: all that fit */
    unsigned whole;  /* millions of instructions of warps up to which a timed launch without
                      * numbers runs whole; of a larger one a part stands for all; 0: all
                      * run whole */
    unsigned mhz;    /* of timed launches; 0: the chip's boost clock */
    unsigned show;   /* smallest severity printed to standard error; 3: none */
    uint32_t allowed; /* a bit for each enum emu_finding that is advice, whatever it was */
    char coverage[256]; /* file that executed PTX lines are added to; "" for none */
};

/* The defaults: seed 0, random asynchrony, fair schedule, fast numbers, checks on. */
struct emu_settings emu_settings_default(void);
/* Applies "seed=7,allow=race,proxy-fence,numbers=exact" on top of what is there: `allow`
 * takes several values. Unknown keys and values are errors that list what is possible. */
bool emu_settings_parse(struct emu_settings *settings, const char *text,
                        struct emu_error *error);
/* The chip's name in time/chip.h; NULL: that of the device, or none. */
const char *emu_timing_chip_name(enum emu_timing_mode mode);
/* All settings as text that emu_settings_parse takes. */
void emu_settings_print(const struct emu_settings *settings, struct emu_text *text);

#endif
