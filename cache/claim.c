/* SPDX-License-Identifier: MIT */
/* Claims: which process makes the blob of a key. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The byte of the lock file that stands for a name: one of 2^62. Names that share one wait
 * for each other without need. */
static off_t byte_of(const jg_cache_name *name)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) {
        bits = bits << 8 | name->bytes[i];
    }
    return (off_t)(bits >> 2);
}

/* An open file description's lock: it ends with the process, and threads of one process
 * that open the file each exclude each other too. */
static int set_lock(int fd, short type, off_t byte)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int result;
    do {
        result = fcntl(fd, F_OFD_SETLK, &lock);
    } while (result != 0 && errno == EINTR);
    return result;
}

jg_cache_claim_state jg_cache_claim_try(jg_cache *cache, const jg_cache_name *name,
                                        jg_cache_claim *ret_claim)
{
    const int fd = cache != NULL && !cache->read_only
                       ? jg_cache_store_open_mark(cache, JG_CACHE_LOCK_FILE, O_RDWR)
                       : -1;
    if (fd < 0) {
        return JG_CACHE_CLAIM_IMPOSSIBLE;
    }
    const off_t byte = byte_of(name);
    if (set_lock(fd, F_WRLCK, byte) == 0) {
        *ret_claim = (jg_cache_claim){.fd = fd, .byte = byte, .is_held = true};
        return JG_CACHE_CLAIM_OWN;
    }
    const bool is_taken = errno == EAGAIN || errno == EACCES;
    close(fd);
    return is_taken ? JG_CACHE_CLAIM_TAKEN : JG_CACHE_CLAIM_IMPOSSIBLE;
}

void jg_cache_claim_end(jg_cache_claim *claim)
{
    if (claim->is_held) {
        /* Not by closing alone: a child of a fork may have the same description open. */
        (void)set_lock(claim->fd, F_UNLCK, (off_t)claim->byte);
        close(claim->fd);
        *claim = (jg_cache_claim){0};
    }
}
