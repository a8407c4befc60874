/* SPDX-License-Identifier: MIT */
/* A capsule from somebody else, read and replayed with the dummy compiler. The input is its
 * six files, each but the last ended by a zero byte: capsule.txt, problem.manifest,
 * unit.cu, log.txt, error.txt, launch.txt. What is read is what lies there. Most mutants
 * get a record that has the right sizes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/capsule.h"
#include "api/context.h"
#include "api/launch_text.h"
#include "api_fixture.h"
#include "base/error.h"
#include "base/lines.h"
#include "fuzz_target.h"
#include "jit_gemm/capsule.h"

enum { FILES = 6, MOST_MEMORY = 1 << 20 };

static const char *const names[FILES] = {"capsule.txt", "problem.manifest", "unit.cu",
                                         "log.txt",     "error.txt",        "launch.txt"};

struct part {
    const uint8_t *data;
    size_t size;
};

static struct api_fixture fixture;
static char path[64]; /* of the capsule */
static int folder = -1;

static void remove_all(void)
{
    for (int i = 0; i < FILES; i++) {
        (void)unlinkat(folder, names[i], 0);
    }
    (void)rmdir(path);
    api_fixture_close(&fixture);
}

static void begin(void)
{
    snprintf(path, sizeof(path), "%s/fuzz-capsule-%ld",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
    fuzz_expect(mkdir(path, 0700) == 0, "a folder for the capsule");
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fuzz_expect(folder >= 0, "the folder of the capsule");
    api_fixture_open(&fixture);
    fixture.context->device->facts.memory_bytes = MOST_MEMORY;
    (void)atexit(remove_all);
}

static void write_part(const char *name, const struct part *part)
{
    const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_expect(fd >= 0 && write(fd, part->data, part->size) == (ssize_t)part->size,
                "a file of the capsule");
    close(fd);
}

static void split(const uint8_t *data, size_t size, struct part parts[FILES])
{
    for (int i = 0; i < FILES; i++) {
        const uint8_t *end = i + 1 < FILES && size > 0 ? memchr(data, '\0', size) : NULL;
        parts[i] = (struct part){data, end != NULL ? (size_t)(end - data) : size};
        const size_t step = end != NULL ? parts[i].size + 1 : size;
        data += step;
        size -= step;
    }
}

/* Fields are lines of the record, and files are whole. */
static void expect_read(const struct jg_capsule *capsule, const struct part parts[FILES])
{
    for (int i = 0; i < JG_CAPSULE_FIELD_COUNT; i++) {
        const struct jg_str *field = &capsule->fields[i];
        fuzz_expect(field->size == 0 || memmem(parts[0].data, parts[0].size, field->data,
                                               field->size) != NULL,
                    "a field stands in the record");
        fuzz_expect(strchr(jg_str_text(field), '\n') == NULL, "in one line");
    }
    for (int i = 0; i < JG_CAPSULE_FILE_COUNT; i++) {
        const struct jg_str *file = &capsule->files[i];
        fuzz_expect(
            file->size == parts[i + 1].size &&
                (file->size == 0 || memcmp(file->data, parts[i + 1].data, file->size) == 0),
            "a file is what lies there");
    }
}

/* What is read of a launch prints and reads as itself. */
static void read_launch(const struct part *part)
{
    struct jg_launch_text launch;
    struct jg_launch_text again;
    struct jg_str text = {0};
    struct jg_str first = {0};
    struct jg_str second = {0};
    jg_str_add(&text, (const char *)part->data, part->size);
    const jit_gemm_status status = jg_launch_parse(&text, &launch);
    jg_str_free(&text);
    if (status != JIT_GEMM_OK) {
        fuzz_expect_error(status);
        return;
    }
    jg_launch_print(&launch.args, &first);
    fuzz_expect(jg_launch_parse(&first, &again) == JIT_GEMM_OK, "a launch reads again");
    jg_launch_print(&again.args, &second);
    fuzz_expect_same(&first, &second, "a launch prints and reads as itself");
}

static void replay(bool is_capsule)
{
    jit_gemm_replay_outcome outcome = JIT_GEMM_REPLAY_SAME_ERROR;
    char report[512];
    size_t length = 0;
    const jit_gemm_status status = jit_gemm_capsule_replay(fixture.context, path, &outcome,
                                                           report, sizeof(report), &length);
    if (status != JIT_GEMM_OK) {
        fuzz_expect_error(status);
        return;
    }
    fuzz_expect(is_capsule, "what is replayed can be read");
    fuzz_expect(strncmp(report, "replay: ", 8) == 0 && length >= strlen(report),
                "a report begins with the outcome");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part parts[FILES];
    struct jg_capsule capsule = {0};
    if (folder < 0) {
        begin();
    }
    split(data, size, parts);
    for (int i = 0; i < FILES; i++) {
        write_part(names[i], &parts[i]);
    }
    read_launch(&parts[FILES - 1]);
    const jit_gemm_status status = jg_capsule_read(path, &capsule);
    fuzz_note(status == JIT_GEMM_OK);
    if (status == JIT_GEMM_OK) {
        expect_read(&capsule, parts);
        jg_capsule_free(&capsule);
    } else {
        fuzz_expect_error(status);
    }
    replay(status == JIT_GEMM_OK);
    fixture.log_size = 0;
    return 0;
}

/* Appends the record with the sizes of the other files behind their names. */
static void mend_sizes(const struct part parts[FILES], struct jg_str *out)
{
    struct jg_lines lines = {.text = (const char *)parts[0].data, .size = parts[0].size};
    while (jg_lines_next(&lines)) {
        const char *rest = NULL;
        size_t size = 0;
        int file = 1;
        while (file < FILES && !jg_line_take_keyword(&lines, names[file], &rest, &size)) {
            file++;
        }
        if (file < FILES) {
            jg_str_printf(out, "%s %zu", names[file], parts[file].size);
        } else {
            jg_str_add(out, lines.start, lines.length);
        }
        jg_str_puts(out, "\n");
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    struct part parts[FILES];
    struct jg_str mended = {0};
    size = LLVMFuzzerMutate(data, size, most);
    if (seed % 8 == 0) {
        return size;
    }
    split(data, size, parts);
    mend_sizes(parts, &mended);
    for (int i = 1; i < FILES; i++) {
        jg_str_add(&mended, "", 1);
        jg_str_add(&mended, (const char *)parts[i].data, parts[i].size);
    }
    if (!mended.failed && mended.size > 0 && mended.size <= most) {
        size = mended.size;
        memcpy(data, mended.data, size);
    }
    jg_str_free(&mended);
    return size;
}
