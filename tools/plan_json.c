/* SPDX-License-Identifier: MIT */
/* A plan's lines, taken apart for scripts. */
#include "plan_output.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* A part of a line. */
struct part {
    const char *text;
    size_t size;
};

/* Takes what stands before the separator, or all that is left. */
static struct part take_part(struct part *rest, const char *separator)
{
    const size_t width = strlen(separator);
    const char *end = memmem(rest->text, rest->size, separator, width);
    const struct part part = {rest->text,
                              end != NULL ? (size_t)(end - rest->text) : rest->size};
    const size_t used = part.size + (end != NULL ? width : 0);

    rest->text += used;
    rest->size -= used;
    return part;
}

static bool begins_with(const struct part *part, const char *word)
{
    const size_t size = strlen(word);

    return part->size >= size && memcmp(part->text, word, size) == 0;
}

static void add_part(struct cli_json *json, const char *name, const struct part *part)
{
    cli_json_add_bytes(json, name, part->text, part->size);
}

/* "kernel=gemm tile=128x256" as it is, and as an object of texts. */
static void add_config(struct cli_json *json, struct part config)
{
    add_part(json, "config", &config);
    cli_json_open_object(json, "keys");
    while (config.size > 0) {
        struct part word = take_part(&config, " ");
        const struct part key = take_part(&word, "=");
        char name[32];

        snprintf(name, sizeof(name), "%.*s", (int)key.size, key.text);
        add_part(json, name, &word);
    }
    cli_json_close_object(json);
}

/* A number with a word before or behind it, as the plan's text has it. */
struct number {
    const char *name, *before, *behind;
};

static const struct number numbers[] = {
    {"predicted_us", "predicted ", " us"},
    {"tiles", "", " tiles in "},
    {"grid", "grid ", ""},
    {"smem_bytes", "shared memory ", " bytes"},
    {"workspace_bytes", "workspace ", " bytes"},
};
enum { NUMBER_COUNT = sizeof(numbers) / sizeof(numbers[0]) };

/* Is the item this number? Adds it, and of tiles their waves. */
static bool add_number(struct cli_json *json, const struct part *item,
                       const struct number *number)
{
    char text[64];
    char *end;

    if (!begins_with(item, number->before) || item->size >= sizeof(text)) {
        return false;
    }
    memcpy(text, item->text, item->size);
    text[item->size] = '\0';
    const double value = strtod(text + strlen(number->before), &end);
    if (end == text + strlen(number->before) ||
        strncmp(end, number->behind, strlen(number->behind)) != 0) {
        return false;
    }
    cli_json_add_double(json, number->name, value);
    if (strcmp(number->name, "tiles") == 0) {
        cli_json_add_double(json, "waves", strtod(end + strlen(number->behind), NULL));
    }
    return true;
}

/* "predicted 3.6 us, 4 tiles in 0.03 waves, ...": numbers by name, the rest as notes. */
static void add_items(struct cli_json *json, struct part items)
{
    struct part notes[32];
    size_t count = 0;

    while (items.size > 0) {
        const struct part item = take_part(&items, ", ");
        bool is_number = false;

        for (int i = 0; i < NUMBER_COUNT && !is_number; i++) {
            is_number = add_number(json, &item, &numbers[i]);
        }
        if (!is_number && count < sizeof(notes) / sizeof(notes[0])) {
            notes[count++] = item;
        }
    }
    cli_json_open_list(json, "notes");
    for (size_t i = 0; i < count; i++) {
        add_part(json, NULL, &notes[i]);
    }
    cli_json_close_list(json);
}

/* "VERDICT: CONFIG: REASON: NUMBERS", of which a chosen one has no reason, and one that
 * cannot be no numbers. */
static void add_candidate(struct cli_json *json, struct part line)
{
    const struct part verdict = take_part(&line, ": ");
    const struct part config = take_part(&line, ": ");
    const char *at = memmem(line.text, line.size, "predicted ", strlen("predicted "));
    struct part reason = line;

    cli_json_open_object(json, NULL);
    add_part(json, "verdict", &verdict);
    add_config(json, config);
    if (at != NULL) {
        reason.size = (size_t)(at - line.text);
        reason.size -= reason.size >= 2 ? 2 : reason.size; /* ": " */
    }
    if (reason.size > 0) {
        add_part(json, "reason", &reason);
    }
    if (at != NULL) {
        add_items(json, (struct part){at, line.size - (size_t)(at - line.text)});
    }
    cli_json_close_object(json);
}

void plan_add_json(struct cli_json *json, const char *plan)
{
    struct part rest = {plan, strlen(plan)};
    struct part first = rest;
    struct part line = take_part(&first, "\n");

    if (begins_with(&line, "recipe: ")) {
        (void)take_part(&line, ": ");
        add_part(json, "recipe", &line);
        rest = first;
    } else {
        cli_json_add_null(json, "recipe");
    }
    cli_json_open_list(json, "candidates");
    while (rest.size > 0) {
        add_candidate(json, take_part(&rest, "\n"));
    }
    cli_json_close_list(json);
}
