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

static void write_string(FILE *file, const char *name, const struct part *part)
{
    fprintf(file, "\"%s\": ", name);
    cli_json_text(file, part->text, part->size);
}

/* "kernel=gemm tile=128x256" as an object of texts. */
static void write_config(FILE *file, struct part config)
{
    const char *comma = "";

    write_string(file, "config", &config);
    fprintf(file, ", \"keys\": {");
    while (config.size > 0) {
        struct part word = take_part(&config, " ");
        const struct part key = take_part(&word, "=");

        fprintf(file, "%s", comma);
        cli_json_text(file, key.text, key.size);
        fprintf(file, ": ");
        cli_json_text(file, word.text, word.size);
        comma = ", ";
    }
    fprintf(file, "}");
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

/* Is the item this number? Writes it, and of tiles their waves. */
static bool write_number(FILE *file, const struct part *item, const struct number *number)
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
    fprintf(file, ", \"%s\": ", number->name);
    cli_json_number(file, value);
    if (strcmp(number->name, "tiles") == 0) {
        fprintf(file, ", \"waves\": ");
        cli_json_number(file, strtod(end + strlen(number->behind), NULL));
    }
    return true;
}

/* "predicted 3.6 us, 4 tiles in 0.03 waves, ...": numbers by name, the rest as notes. */
static void write_items(FILE *file, struct part items)
{
    struct part notes[32];
    size_t count = 0;

    while (items.size > 0) {
        const struct part item = take_part(&items, ", ");
        bool is_number = false;

        for (int i = 0; i < NUMBER_COUNT && !is_number; i++) {
            is_number = write_number(file, &item, &numbers[i]);
        }
        if (!is_number && count < sizeof(notes) / sizeof(notes[0])) {
            notes[count++] = item;
        }
    }
    fprintf(file, ", \"notes\": [");
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%s", i > 0 ? ", " : "");
        cli_json_text(file, notes[i].text, notes[i].size);
    }
    fprintf(file, "]");
}

/* "VERDICT: CONFIG: REASON: NUMBERS", of which a chosen one has no reason, and one that
 * cannot be no numbers. */
static void write_candidate(FILE *file, struct part line)
{
    const struct part verdict = take_part(&line, ": ");
    const struct part config = take_part(&line, ": ");
    const char *at = memmem(line.text, line.size, "predicted ", strlen("predicted "));
    struct part reason = line;

    fprintf(file, "{");
    write_string(file, "verdict", &verdict);
    fprintf(file, ", ");
    write_config(file, config);
    if (at != NULL) {
        reason.size = (size_t)(at - line.text);
        reason.size -= reason.size >= 2 ? 2 : reason.size; /* ": " */
    }
    if (reason.size > 0) {
        fprintf(file, ", ");
        write_string(file, "reason", &reason);
    }
    if (at != NULL) {
        write_items(file, (struct part){at, line.size - (size_t)(at - line.text)});
    }
    fprintf(file, "}");
}

void plan_write_json(FILE *file, const char *plan)
{
    struct part rest = {plan, strlen(plan)};
    struct part first = rest;
    struct part line = take_part(&first, "\n");
    const char *comma = "";

    if (begins_with(&line, "recipe: ")) {
        (void)take_part(&line, ": ");
        write_string(file, "recipe", &line);
        rest = first;
    } else {
        fprintf(file, "\"recipe\": null");
    }
    fprintf(file, ", \"candidates\": [");
    while (rest.size > 0) {
        line = take_part(&rest, "\n");
        fprintf(file, "%s", comma);
        write_candidate(file, line);
        comma = ", ";
    }
    fprintf(file, "]");
}
