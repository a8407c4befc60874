/* SPDX-License-Identifier: MIT */
/* The file of a cache entry: what is accepted has no other form of bytes, and what lies in
 * it is looked at as `jit-gemm cache verify` does. Mutants get right lengths and sums, or
 * nothing behind the first check would ever be reached. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bytes.h"
#include "compile/stored.h"
#include "fuzz_target.h"
#include "internal.h"

enum {
    AT_MAGIC = 0,
    AT_FORMAT = 8,
    AT_HEADER_BYTES = 12,
    AT_TOTAL_BYTES = 16,
    AT_NAME = 24,
    AT_MATERIAL_BYTES = 40,
    AT_METADATA_BYTES = 44,
    AT_PAYLOAD_BYTES = 48,
    AT_SHA256 = 64
};

/* As docs/cache-format.md has them, not by the code that is tested. */
static void mend_lengths(uint8_t *data, size_t size)
{
    const uint64_t parts = 96 + (uint64_t)load_u32(data + AT_MATERIAL_BYTES) +
                           load_u32(data + AT_METADATA_BYTES) + 8;
    const uint64_t header = (parts + 63) / 64 * 64;
    if (header <= size) {
        store_u32(data + AT_HEADER_BYTES, (uint32_t)header);
        store_u64(data + AT_PAYLOAD_BYTES, size - header);
    }
    store_u64(data + AT_TOTAL_BYTES, size);
    memcpy(data + AT_MAGIC, "\x89JGK\r\n\x1a\n", 8);
    store_u32(data + AT_FORMAT, 1);
}

static void mend_sums(uint8_t *data, size_t size)
{
    const uint32_t header = load_u32(data + AT_HEADER_BYTES);
    if (header >= 104 && header <= size) {
        crypto_hash_sha256(data + AT_SHA256, data + header, size - header);
        store_u64(data + header - 8, XXH3_64bits(data, header - 8));
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, most);
    if (size >= JG_CACHE_FIXED_BYTES && seed % 8 > 0) {
        if (seed % 2 != 0) {
            mend_lengths(data, size);
        }
        mend_sums(data, size);
    }
    return size;
}

/* An entry of these parts, written anew, is the file that they were read from. */
static void expect_canonical(const struct jg_cache_loaded *loaded, const uint8_t *data,
                             size_t size, const jg_cache_name *name)
{
    const struct jg_cache_layout *layout = &loaded->layout;
    const jg_cache_key key = {*name, jg_cache_entry_material(loaded->header),
                              layout->material_bytes};
    const jg_cache_value value = {loaded->payload, (size_t)layout->payload_bytes,
                                  jg_cache_entry_metadata(loaded->header, layout),
                                  layout->metadata_bytes};
    struct jg_cache_layout again;
    const struct jg_cache_why why = jg_cache_begin_reason(NULL, 0);
    fuzz_expect(jg_cache_entry_plan(key.material_size, value.metadata_size,
                                    value.payload_size, &again, &why) == JG_CACHE_OK,
                "what was read is within the limits");
    fuzz_expect(again.total_bytes == size, "the size of the file follows from its parts");
    unsigned char *header = malloc(again.header_bytes);
    fuzz_expect(header != NULL, "memory");
    jg_cache_entry_encode(&again, &key, &value, header);
    fuzz_expect(memcmp(header, data, again.header_bytes) == 0,
                "the header has one form only");
    free(header);
    fuzz_expect(
        value.payload_size == 0 ||
            memcmp(loaded->payload, data + again.header_bytes, value.payload_size) == 0,
        "the payload is that of the file");
}

static void look_inside(const struct jg_cache_loaded *loaded)
{
    const struct jg_cache_layout *layout = &loaded->layout;
    const size_t code_bytes = (size_t)layout->payload_bytes;
    uint8_t *material =
        fuzz_copy(jg_cache_entry_material(loaded->header), layout->material_bytes);
    uint8_t *metadata =
        fuzz_copy(jg_cache_entry_metadata(loaded->header, layout), layout->metadata_bytes);
    uint8_t *code = fuzz_copy(loaded->payload, code_bytes);
    char value[24];
    (void)jg_stored_check(material, layout->material_bytes, code, code_bytes);
    if (jg_metadata_get(metadata, layout->metadata_bytes, "arch", value, sizeof(value))) {
        fuzz_expect(memchr(value, '\0', sizeof(value)) != NULL, "a value ends");
        fuzz_expect(strchr(value, '\n') == NULL, "a value is in one line");
    }
    free(material);
    free(metadata);
    free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char reason[256];
    struct jg_cache_why why = jg_cache_begin_reason(reason, sizeof(reason));
    struct jg_cache_loaded loaded = {0};
    jg_cache_name name = {{0}};
    if (size >= JG_CACHE_FIXED_BYTES) {
        memcpy(name.bytes, data + AT_NAME, sizeof(name.bytes));
    }
    const int fd = fuzz_file(data, size);
    jg_cache_result result =
        jg_cache_store_read_entry(fd, 0, size, &name, true, &loaded, &why);
    fuzz_note(result == JG_CACHE_OK);
    if (result != JG_CACHE_OK) {
        fuzz_expect(result == JG_CACHE_DAMAGED, "what is refused here is damaged");
        fuzz_expect(reason[0] != '\0', "a refusal has its reason");
        return 0;
    }
    expect_canonical(&loaded, data, size, &name);
    look_inside(&loaded);
    jg_cache_store_release(&loaded);

    name.bytes[size % 16] ^= 1;
    result = jg_cache_store_read_entry(fd, 0, size, &name, true, &loaded, &why);
    fuzz_expect(result == JG_CACHE_MISMATCH, "another name is a mismatch");
    return 0;
}
