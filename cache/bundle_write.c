/* SPDX-License-Identifier: MIT */
/* Writing a bundle: the same entries give the same bytes, whoever writes them and when. */
#include "bundle.h"
#include "bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_CAPACITY = 64, TEMP_TRIES = 64 };

/* What is to be written: an entry of a cache, or one that was given. */
struct item {
    jg_cache_name name;
    size_t order;         /* of the adding: of two of one name the first stays */
    const jg_cache *from; /* NULL: it was given */
    struct jg_cache_loaded given;
};

struct jg_cache_bundle_writer {
    struct item *items;
    size_t count, capacity;
    bool is_signed;
    struct jg_cache_signer signer;
};

/* A file that is being written. */
struct output {
    int folder_fd, fd;
    char path[PATH_MAX];
    const char *file; /* its last part */
    char temp[NAME_MAX + 1];
};

jg_cache_result jg_cache_bundle_begin(jg_cache_bundle_writer **ret_writer)
{
    jg_cache_bundle_writer *writer = calloc(1, sizeof(*writer));
    if (writer == NULL) {
        return JG_CACHE_NO_MEMORY;
    }
    *ret_writer = writer;
    return JG_CACHE_OK;
}

void jg_cache_bundle_end(jg_cache_bundle_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    for (size_t i = 0; i < writer->count; i++) {
        jg_cache_store_release(&writer->items[i].given);
    }
    sodium_memzero(&writer->signer, sizeof(writer->signer));
    free(writer->items);
    free(writer);
}

void jg_cache_bundle_sign(jg_cache_bundle_writer *writer, const jg_cache_secret_key *secret,
                          uint64_t serial)
{
    writer->is_signed = true;
    writer->signer = (struct jg_cache_signer){.secret = *secret, .serial = serial};
}

/* Takes over what was given. */
static jg_cache_result append(jg_cache_bundle_writer *writer, const struct item *item)
{
    if (writer->count == writer->capacity) {
        const size_t capacity =
            writer->capacity > 0 ? writer->capacity * 2 : FIRST_CAPACITY;
        struct item *grown = realloc(writer->items, capacity * sizeof(*grown));
        if (grown == NULL) {
            return JG_CACHE_NO_MEMORY;
        }
        writer->items = grown;
        writer->capacity = capacity;
    }
    writer->items[writer->count] = *item;
    writer->items[writer->count].order = writer->count;
    writer->count++;
    return JG_CACHE_OK;
}

jg_cache_result jg_cache_bundle_add(jg_cache_bundle_writer *writer, const jg_cache *from,
                                    const jg_cache_name *name)
{
    const struct item item = {.name = *name, .from = from};
    return append(writer, &item);
}

jg_cache_result jg_cache_bundle_add_value(jg_cache_bundle_writer *writer,
                                          const jg_cache_key *key,
                                          const jg_cache_value *value)
{
    const struct jg_cache_why silent = {NULL, 0};
    struct item item = {.name = key->name};
    jg_cache_result result =
        jg_cache_entry_plan(key->material_size, value->metadata_size, value->payload_size,
                            &item.given.layout, &silent);
    if (result != JG_CACHE_OK) {
        return result;
    }
    item.given.header = malloc(item.given.layout.header_bytes);
    item.given.payload = malloc(value->payload_size + 1);
    result = JG_CACHE_NO_MEMORY;
    if (item.given.header != NULL && item.given.payload != NULL) {
        jg_cache_entry_encode(&item.given.layout, key, value, item.given.header);
        if (value->payload_size > 0) {
            memcpy(item.given.payload, value->payload, value->payload_size);
        }
        result = append(writer, &item);
    }
    if (result != JG_CACHE_OK) {
        jg_cache_store_release(&item.given);
    }
    return result;
}

/* ----------------------------------------------------------------------------- order */

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    const int order = memcmp(x->name.bytes, y->name.bytes, sizeof(x->name.bytes));
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* Sorts by names and drops all but the first of each. */
static void settle_items(jg_cache_bundle_writer *writer)
{
    size_t kept = 0;
    if (writer->count > 0) {
        qsort(writer->items, writer->count, sizeof(*writer->items), compare_items);
    }
    for (size_t i = 0; i < writer->count; i++) {
        struct item *item = &writer->items[i];
        if (kept > 0 &&
            memcmp(&writer->items[kept - 1].name, &item->name, sizeof(item->name)) == 0) {
            jg_cache_store_release(&item->given);
        } else {
            writer->items[kept++] = *item;
        }
    }
    writer->count = kept;
}

/* ------------------------------------------------------------------------------ file */

static void close_output(struct output *output)
{
    if (output->fd >= 0) {
        close(output->fd);
    }
    if (output->folder_fd >= 0) {
        close(output->folder_fd);
    }
}

/* A temporary file beside the one that it is to become. */
static jg_cache_result open_output(const char *path, struct output *output,
                                   const struct jg_cache_why *why)
{
    const size_t length = strlen(path);
    if (length >= sizeof(output->path)) {
        jg_cache_say(why, "the path of the bundle is too long");
        return JG_CACHE_IO;
    }
    memcpy(output->path, path, length + 1);
    char *slash = strrchr(output->path, '/');
    output->file = slash != NULL ? slash + 1 : output->path;
    if (output->file[0] == '\0' || strlen(output->file) > NAME_MAX - 32) {
        jg_cache_say(why, "%.300s is not the name of a file", path);
        return JG_CACHE_IO;
    }
    const char *folder = slash == NULL ? "." : slash == output->path ? "/" : output->path;
    if (slash != NULL) {
        *slash = '\0';
    }
    output->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->folder_fd < 0) {
        return jg_cache_say_errno(why, errno, "open the folder of the bundle");
    }
    struct stat found;
    if (fstatat(output->folder_fd, output->file, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(found.st_mode)) {
        jg_cache_say(why, "%.300s cannot be replaced: it is no regular file", path);
        return JG_CACHE_IO;
    }
    for (int i = 0; i < TEMP_TRIES && output->fd < 0; i++) {
        snprintf(output->temp, sizeof(output->temp), "%s.tmp-%ld-%d", output->file,
                 (long)getpid(), i);
        output->fd = openat(output->folder_fd, output->temp,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (output->fd < 0 && errno != EEXIST) {
            break;
        }
    }
    return output->fd >= 0
               ? JG_CACHE_OK
               : jg_cache_say_errno(why, errno, "create a temporary file for the bundle");
}

static jg_cache_result write_bytes(const struct output *output, const void *bytes,
                                   size_t size, const struct jg_cache_why *why)
{
    const int error = jg_cache_store_write_all(output->fd, bytes, size);
    return error == 0 ? JG_CACHE_OK : jg_cache_say_errno(why, error, "write the bundle");
}

/* ----------------------------------------------------------------------------- entries */

static jg_cache_result load_item(const struct item *item,
                                 struct jg_cache_loaded *ret_loaded,
                                 const struct jg_cache_why *why)
{
    const jg_cache_result result =
        jg_cache_load(item->from, &item->name, true, ret_loaded, why);
    if (result == JG_CACHE_MISS) {
        char file[JG_CACHE_FILE_NAME_BYTES];
        jg_cache_store_file_name(&item->name, file);
        jg_cache_say(why, "the entry %02x%.30s is not in %.300s", item->name.bytes[0], file,
                     jg_cache_folder(item->from));
    }
    return result;
}

/* Writes an entry at the end of the file, which is `*offset`, and its row of the index. */
static jg_cache_result write_entry(const struct output *output, const struct item *item,
                                   const struct jg_cache_loaded *loaded, uint64_t *offset,
                                   unsigned char *row, const struct jg_cache_why *why)
{
    static const unsigned char zeros[JG_CACHE_ALIGN];
    const struct jg_cache_layout *layout = &loaded->layout;
    const uint64_t bytes = layout->total_bytes;
    memcpy(row + BUNDLE_ROW_AT_NAME, item->name.bytes, sizeof(item->name.bytes));
    store_u64(row + BUNDLE_ROW_AT_OFFSET, *offset);
    store_u64(row + BUNDLE_ROW_AT_BYTES, bytes);
    crypto_hash_sha256(row + BUNDLE_ROW_AT_DIGEST, loaded->header, layout->header_bytes);
    jg_cache_result result = write_bytes(output, loaded->header, layout->header_bytes, why);
    if (result == JG_CACHE_OK) {
        result = write_bytes(output, loaded->payload, (size_t)layout->payload_bytes, why);
    }
    if (result == JG_CACHE_OK) {
        result = write_bytes(output, zeros, (size_t)(bundle_round_up(bytes) - bytes), why);
    }
    *offset += bundle_round_up(bytes);
    return result;
}

static jg_cache_result write_entries(const jg_cache_bundle_writer *writer,
                                     const struct output *output, unsigned char *index,
                                     uint64_t *offset, const struct jg_cache_why *why)
{
    jg_cache_result result = JG_CACHE_OK;
    for (size_t i = 0; i < writer->count && result == JG_CACHE_OK; i++) {
        const struct item *item = &writer->items[i];
        struct jg_cache_loaded found = {0};
        const struct jg_cache_loaded *loaded = &item->given;
        if (item->from != NULL) {
            result = load_item(item, &found, why);
            loaded = &found;
        }
        if (result == JG_CACHE_OK) {
            result = write_entry(output, item, loaded, offset, index + i * BUNDLE_ROW_BYTES,
                                 why);
        }
        jg_cache_store_release(&found);
    }
    return result;
}

/* ------------------------------------------------------------------------------ whole */

/* Fills the header: all of the file but the signature is known. */
static void fill_header(const jg_cache_bundle_writer *writer, unsigned char *head,
                        size_t head_bytes, uint64_t total)
{
    memcpy(head + BUNDLE_AT_MAGIC, bundle_magic, sizeof(bundle_magic));
    store_u32(head + BUNDLE_AT_FORMAT, BUNDLE_FORMAT);
    store_u32(head + BUNDLE_AT_ENTRY_FORMAT, JG_CACHE_FORMAT);
    store_u64(head + BUNDLE_AT_TOTAL_BYTES, total);
    store_u32(head + BUNDLE_AT_COUNT, (uint32_t)writer->count);
    if (writer->is_signed) {
        bundle_sign_header(&writer->signer, head);
    }
    bundle_digest(head, head + BUNDLE_HEADER_BYTES, head_bytes - BUNDLE_HEADER_BYTES,
                  head + BUNDLE_AT_DIGEST);
}

/* Header and index come last: before, there are zeros in their place. `head` has room for
 * both, and is zero. */
static jg_cache_result write_bundle(const jg_cache_bundle_writer *writer,
                                    const struct output *output, unsigned char *head,
                                    size_t head_bytes, uint64_t *ret_total,
                                    const struct jg_cache_why *why)
{
    uint64_t total = head_bytes;
    unsigned char *index = head + BUNDLE_HEADER_BYTES;
    jg_cache_result result = write_bytes(output, head, head_bytes, why);
    if (result == JG_CACHE_OK) {
        result = write_entries(writer, output, index, &total, why);
    }
    if (result != JG_CACHE_OK) {
        return result;
    }
    total += writer->is_signed ? BUNDLE_SIGNATURE_BYTES : 0;
    fill_header(writer, head, head_bytes, total);
    if (writer->is_signed) {
        unsigned char signature[BUNDLE_SIGNATURE_BYTES];
        bundle_sign(&writer->signer, head, signature);
        result = write_bytes(output, signature, sizeof(signature), why);
        if (result != JG_CACHE_OK) {
            return result;
        }
    }
    if (lseek(output->fd, 0, SEEK_SET) != 0) {
        return jg_cache_say_errno(why, errno, "write the bundle");
    }
    *ret_total = total;
    return write_bytes(output, head, head_bytes, why);
}

/* Gives the finished file its name, in the place of what was there. */
static jg_cache_result publish(struct output *output, const struct jg_cache_why *why)
{
    int error = jg_cache_store_sync(output->fd, false);
    if (close(output->fd) != 0 && error == 0 && errno != EINTR) {
        error = errno;
    }
    output->fd = -1;
    if (error == 0 &&
        renameat(output->folder_fd, output->temp, output->folder_fd, output->file) != 0) {
        error = errno;
    }
    if (error != 0) {
        return jg_cache_say_errno(why, error, "finish the bundle");
    }
    output->temp[0] = '\0';
    error = jg_cache_store_sync(output->folder_fd, true);
    return error == 0 ? JG_CACHE_OK
                      : jg_cache_say_errno(why, error, "sync the folder of the bundle");
}

/* Without a temporary file, which is removed or has its name by now. */
static void end_output(struct output *output)
{
    if (output->temp[0] != '\0') {
        (void)unlinkat(output->folder_fd, output->temp, 0);
    }
    close_output(output);
}

jg_cache_result jg_cache_bundle_check(const char *path, char *reason, size_t reason_size)
{
    const struct jg_cache_why why = jg_cache_begin_reason(reason, reason_size);
    struct output output = {.folder_fd = -1, .fd = -1};
    const jg_cache_result result = open_output(path, &output, &why);
    end_output(&output);
    return result;
}

jg_cache_result jg_cache_bundle_write(jg_cache_bundle_writer *writer, const char *path,
                                      jg_cache_bundle_counts *ret_counts, char *reason,
                                      size_t reason_size)
{
    const struct jg_cache_why why = jg_cache_begin_reason(reason, reason_size);
    settle_items(writer);
    if (writer->count > BUNDLE_COUNT_MAX) {
        jg_cache_say(&why, "a bundle holds %d entries at most", BUNDLE_COUNT_MAX);
        return JG_CACHE_TOO_LARGE;
    }
    const size_t head_bytes = BUNDLE_HEADER_BYTES + writer->count * BUNDLE_ROW_BYTES;
    unsigned char *head = calloc(1, head_bytes);
    if (head == NULL) {
        jg_cache_say(&why, "no memory for the index of a bundle");
        return JG_CACHE_NO_MEMORY;
    }
    struct output output = {.folder_fd = -1, .fd = -1};
    struct jg_cache_size_signal held;
    uint64_t total = 0;
    jg_cache_store_hold_size_signal(&held);
    jg_cache_result result = open_output(path, &output, &why);
    if (result == JG_CACHE_OK) {
        result = write_bundle(writer, &output, head, head_bytes, &total, &why);
        if (result == JG_CACHE_OK) {
            result = publish(&output, &why);
        }
    }
    jg_cache_store_release_size_signal(&held);
    end_output(&output);
    free(head);
    if (result == JG_CACHE_OK && ret_counts != NULL) {
        *ret_counts = (jg_cache_bundle_counts){.entries = writer->count, .bytes = total};
    }
    return result;
}
