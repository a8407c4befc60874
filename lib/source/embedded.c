/* SPDX-License-Identifier: MIT */
#include "source/embedded.h"

#include <pthread.h>
#include <string.h>

/* Chained so that no memory is needed: link = hash(previous link, name hash, text hash). */
struct jg_hash jg_digest_files(const struct jg_embedded_file *files, size_t count)
{
    struct jg_hash chain[3];
    memset(chain, 0, sizeof(chain));
    for (size_t i = 0; i < count; i++) {
        chain[1] = jg_hash_bytes(files[i].name, strlen(files[i].name));
        chain[2] = jg_hash_bytes(files[i].text, files[i].size);
        chain[0] = jg_hash_bytes(chain, sizeof(chain));
    }
    return chain[0];
}

static pthread_once_t headers_once = PTHREAD_ONCE_INIT;
static struct jg_hash headers_digest;

static void digest_embedded_files(void)
{
    headers_digest = jg_digest_files(jg_embedded_files, jg_embedded_file_count);
}

struct jg_hash jg_digest_headers(void)
{
    pthread_once(&headers_once, digest_embedded_files);
    return headers_digest;
}
