/* SPDX-License-Identifier: MIT */
#include "cuda/library_identity.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

struct build_id_search {
    ElfW(Addr) base;
    struct jg_str *out;
};

static int copy_build_id(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    struct build_id_search *search = user;
    if (info->dlpi_addr != search->base) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE) {
            continue;
        }
        const unsigned char *at =
            (const unsigned char *)(info->dlpi_addr + segment->p_vaddr); // NOLINT
        const unsigned char *end = at + segment->p_memsz;
        while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof(note));
            const unsigned char *name = at + sizeof(note);
            const unsigned char *value = name + ((note.n_namesz + 3u) & ~3u);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                memcmp(name, "GNU", 4) == 0) {
                for (unsigned b = 0; b < note.n_descsz; b++) {
                    jg_str_printf(search->out, "%02x", value[b]);
                }
                return 1;
            }
            at = value + ((note.n_descsz + 3u) & ~3u);
        }
    }
    return 1;
}

/* Without a build id the bytes of the file say which build it is: hashes of blocks, each
 * chained to the one before. */
static void hash_file(const char *path, struct jg_str *out)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        jg_str_puts(out, "unknown");
        return;
    }
    struct jg_hash chain[2];
    memset(chain, 0, sizeof(chain));
    char block[16384];
    for (size_t got; (got = fread(block, 1, sizeof(block), file)) > 0;) {
        chain[1] = jg_hash_bytes(block, got);
        chain[0] = jg_hash_bytes(chain, sizeof(chain));
    }
    fclose(file);
    char hex[33];
    jg_hash_hex(&chain[0], hex);
    jg_str_printf(out, "hash-%s", hex);
}

void jg_library_identify(void *library, struct jg_str *path, struct jg_str *build)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == NULL) {
        jg_str_puts(build, "unknown");
        return;
    }
    jg_str_puts(path, map->l_name);
    struct build_id_search search = {map->l_addr, build};
    dl_iterate_phdr(copy_build_id, &search);
    if (build->size == 0) {
        hash_file(map->l_name, build);
    }
}
