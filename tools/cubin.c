/* SPDX-License-Identifier: MIT */
#include "cubin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MACHINE_CUDA = 190 };

/* Sections `.text.NAME`, `.nv.shared.NAME` and `.nv.info.NAME` belong to the kernel NAME;
 * `.nv.info` to all of them. */
#define TEXT_PREFIX   ".text."
#define SHARED_PREFIX ".nv.shared."
#define INFO_PREFIX   ".nv.info."
#define INFO_OF_ALL   ".nv.info"

/* Records of an info section: a format, an attribute, and a value by the format. */
enum { FORMAT_NONE = 1, FORMAT_BYTE = 2, FORMAT_HALF = 3, FORMAT_SIZED = 4 };
enum {
    INFO_MAX_THREADS = 0x05, /* three words */
    INFO_FRAME_SIZE = 0x11,  /* symbol, bytes */
    INFO_REGISTERS = 0x2f,   /* symbol, number */
    INFO_BARRIERS = 0x4c,
    INFO_TCGEN05_ONE = 0x51, /* the kernel uses tcgen05 with cta_group::1 */
    INFO_TCGEN05_TWO = 0x52
};

struct view {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr names; /* of sections */
};

static bool is_inside(const struct view *view, uint64_t offset, uint64_t size)
{
    return offset <= view->size && size <= view->size - offset;
}

static bool read_section(const struct view *view, uint32_t index, Elf64_Shdr *ret_section)
{
    if (index >= view->header.e_shnum) {
        return false;
    }
    memcpy(ret_section,
           view->bytes + view->header.e_shoff + (uint64_t)index * sizeof(*ret_section),
           sizeof(*ret_section));
    return ret_section->sh_type == SHT_NOBITS ||
           is_inside(view, ret_section->sh_offset, ret_section->sh_size);
}

/* A terminated text of a table of names, or "". */
static const char *name_at(const struct view *view, const Elf64_Shdr *table, uint32_t at)
{
    const char *names = (const char *)view->bytes + table->sh_offset;

    if (table->sh_type != SHT_STRTAB || at >= table->sh_size ||
        !memchr(names + at, '\0', table->sh_size - at)) {
        return "";
    }
    return names + at;
}

static struct cubin_kernel *find_kernel(struct cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->count; i++) {
        if (strcmp(cubin->kernels[i].name, name) == 0) {
            return &cubin->kernels[i];
        }
    }
    return NULL;
}

/* The kernel that the symbol of this index names, or NULL. */
static struct cubin_kernel *kernel_of_symbol(const struct view *view, uint32_t symbols_at,
                                             uint32_t index, struct cubin *cubin)
{
    Elf64_Shdr symbols, names;
    Elf64_Sym symbol;

    if (!read_section(view, symbols_at, &symbols) || symbols.sh_type != SHT_SYMTAB ||
        index >= symbols.sh_size / sizeof(symbol) ||
        !read_section(view, symbols.sh_link, &names)) {
        return NULL;
    }
    memcpy(&symbol, view->bytes + symbols.sh_offset + (uint64_t)index * sizeof(symbol),
           sizeof(symbol));
    return find_kernel(cubin, name_at(view, &names, symbol.st_name));
}

static uint32_t word_at(const unsigned char *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* A value of a kernel's own section, or of the common one, which names a symbol. */
static void take_info(const struct view *view, const Elf64_Shdr *section,
                      struct cubin_kernel *kernel, unsigned attribute,
                      const unsigned char *value, size_t size, struct cubin *cubin)
{
    if ((attribute == INFO_REGISTERS || attribute == INFO_FRAME_SIZE) && size >= 8) {
        kernel = kernel_of_symbol(view, section->sh_link, word_at(value), cubin);
        if (kernel != NULL && attribute == INFO_REGISTERS) {
            kernel->registers = word_at(value + 4);
        } else if (kernel != NULL) {
            kernel->frame_bytes = word_at(value + 4);
        }
    } else if (kernel != NULL && attribute == INFO_MAX_THREADS && size >= 12) {
        kernel->max_threads = word_at(value) * word_at(value + 4) * word_at(value + 8);
    } else if (kernel != NULL && attribute == INFO_BARRIERS && size >= 1) {
        kernel->named_barriers = value[0];
    } else if (kernel != NULL && attribute == INFO_TCGEN05_ONE) {
        kernel->tensor_group = 1;
    } else if (kernel != NULL && attribute == INFO_TCGEN05_TWO) {
        kernel->tensor_group = 2;
    }
}

static bool read_info(const struct view *view, const Elf64_Shdr *section,
                      struct cubin_kernel *kernel, struct cubin *cubin)
{
    const unsigned char *at = view->bytes + section->sh_offset;
    uint64_t left = section->sh_size;

    while (left >= 4) {
        size_t size = at[0] == FORMAT_SIZED ? (size_t)at[2] | (size_t)at[3] << 8 : 2;
        size_t head = at[0] == FORMAT_SIZED ? 4 : 2;

        if (at[0] < FORMAT_NONE || at[0] > FORMAT_SIZED || head + size > left) {
            return false;
        }
        take_info(view, section, kernel, at[1], at + head, size, cubin);
        at += head + size;
        left -= head + size;
    }
    return left == 0;
}

static const char *read_kernels(const struct view *view, struct cubin *cubin)
{
    Elf64_Shdr section;

    for (uint32_t i = 0; i < view->header.e_shnum; i++) {
        if (!read_section(view, i, &section)) {
            return "a section is outside of the file";
        }
        const char *name = name_at(view, &view->names, section.sh_name);
        if (section.sh_type == SHT_PROGBITS &&
            strncmp(name, TEXT_PREFIX, sizeof(TEXT_PREFIX) - 1) == 0) {
            struct cubin_kernel *kernel = &cubin->kernels[cubin->count];

            if (cubin->count == CUBIN_MAX_KERNELS) {
                return "it has more kernels than this reads";
            }
            if (snprintf(kernel->name, sizeof(kernel->name), "%s",
                         name + sizeof(TEXT_PREFIX) - 1) >= (int)sizeof(kernel->name)) {
                return "the name of a kernel is too long";
            }
            kernel->code_bytes = section.sh_size;
            cubin->count++;
        }
    }
    return cubin->count ? NULL : "it has no kernel";
}

static const char *read_facts(const struct view *view, struct cubin *cubin)
{
    Elf64_Shdr section;

    for (uint32_t i = 0; i < view->header.e_shnum; i++) {
        struct cubin_kernel *kernel = NULL;

        (void)read_section(view, i, &section);
        const char *name = name_at(view, &view->names, section.sh_name);
        if (strncmp(name, SHARED_PREFIX, sizeof(SHARED_PREFIX) - 1) == 0) {
            kernel = find_kernel(cubin, name + sizeof(SHARED_PREFIX) - 1);
            if (kernel != NULL) {
                kernel->static_smem = (uint32_t)section.sh_size;
            }
            continue;
        }
        if (strncmp(name, INFO_PREFIX, sizeof(INFO_PREFIX) - 1) == 0) {
            kernel = find_kernel(cubin, name + sizeof(INFO_PREFIX) - 1);
        }
        if ((kernel != NULL || strcmp(name, INFO_OF_ALL) == 0) &&
            (section.sh_type == SHT_NOBITS || !read_info(view, &section, kernel, cubin))) {
            return "a section of facts about kernels is damaged";
        }
    }
    return NULL;
}

static bool is_elf(const void *bytes, size_t size)
{
    return size >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

const char *cubin_read(const void *bytes, size_t size, struct cubin *ret_cubin)
{
    struct view view = {.bytes = bytes, .size = size};
    const Elf64_Ehdr *header = &view.header;

    *ret_cubin = (struct cubin){0};
    if (!is_elf(bytes, size) || size < sizeof(view.header)) {
        return "it is no ELF file";
    }
    memcpy(&view.header, bytes, sizeof(view.header));
    if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != MACHINE_CUDA) {
        return "it is no 64-bit ELF file for a CUDA device";
    }
    if (header->e_shentsize != sizeof(Elf64_Shdr) ||
        !is_inside(&view, header->e_shoff,
                   (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)) ||
        !read_section(&view, header->e_shstrndx, &view.names)) {
        return "its section table is outside of the file";
    }
    const char *problem = read_kernels(&view, ret_cubin);
    return problem != NULL ? problem : read_facts(&view, ret_cubin);
}
