/* SPDX-License-Identifier: MIT */
#include "compile/key.h"

#include <string.h>

#include "compile/stored.h"

static void add_text_field(struct jg_str *out, enum jg_key_field field, const char *text)
{
    jg_bytes_field(out, (uint32_t)field, text, strlen(text));
}

jit_gemm_status jg_key_from_parts(const struct jg_key_parts *parts, struct jg_key *ret_key)
{
    struct jg_str format = {0};
    jg_bytes_u32(&format, parts->source_format);

    struct jg_str material = {0};
    add_text_field(&material, JG_KEY_MAGIC, JG_KEY_MAGIC_TEXT);
    jg_bytes_field(&material, JG_KEY_SOURCE_FORMAT, jg_str_text(&format), format.size);
    add_text_field(&material, JG_KEY_LIBRARY_VERSION, parts->version);
    jg_bytes_field(&material, JG_KEY_HEADERS, parts->headers.bytes,
                   sizeof(parts->headers.bytes));
    add_text_field(&material, JG_KEY_COMPILER, parts->compiler_signature);
    add_text_field(&material, JG_KEY_ARCH, parts->arch);
    add_text_field(&material, JG_KEY_CODE_KIND, parts->code_kind);
    add_text_field(&material, JG_KEY_ENTRY, parts->entry);
    jg_bytes_field(&material, JG_KEY_TEXT, parts->text, parts->text_size);
    if (parts->linked != NULL) {
        jg_bytes_field(&material, JG_KEY_LINKED, parts->linked, parts->linked_size);
    }

    material.failed |= format.failed;
    jg_str_free(&format);
    const jit_gemm_status status = jg_str_status(&material);
    if (status != JIT_GEMM_OK) {
        jg_str_free(&material);
        return status;
    }
    ret_key->hash = jg_hash_bytes(material.data, material.size);
    ret_key->material = material;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_key_make(const struct jg_source *source, const char *compiler_signature,
                            const char *arch, enum jg_code_kind code_kind,
                            struct jg_key *ret_key)
{
    const struct jg_key_parts parts = {
        .source_format = JG_SOURCE_FORMAT,
        .version = JG_LIBRARY_VERSION,
        .headers = source->headers,
        .compiler_signature = compiler_signature,
        .arch = arch,
        .code_kind = jg_code_kind_name(code_kind),
        .entry = source->entry,
        .text = jg_str_text(&source->text),
        .text_size = source->text.size,
        .linked = source->linked,
        .linked_size = source->linked_size,
    };
    return jg_key_from_parts(&parts, ret_key);
}

void jg_key_free(struct jg_key *key)
{
    jg_str_free(&key->material);
}
