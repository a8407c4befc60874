/* SPDX-License-Identifier: MIT */
#include "compile/elf_check.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum { MACHINE_CUDA = 190 };

struct elf_view {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
};

static int is_inside(const struct elf_view *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->size && size <= elf->size - offset;
}

/* Copies a section header; its content is inside of the file unless it takes no room. */
static int read_section(const struct elf_view *elf, uint64_t index, Elf64_Shdr *ret_section)
{
    memcpy(ret_section, elf->bytes + elf->header.e_shoff + index * sizeof(Elf64_Shdr),
           sizeof(Elf64_Shdr));
    return ret_section->sh_type == SHT_NOBITS ||
           is_inside(elf, ret_section->sh_offset, ret_section->sh_size);
}

/* Is there a defined function symbol of that name in the symbol table? */
static int has_function(const struct elf_view *elf, const Elf64_Shdr *symbols,
                        const Elf64_Shdr *strings, const char *entry)
{
    const char *names = (const char *)elf->bytes + strings->sh_offset;
    const size_t entry_size = strlen(entry) + 1;
    for (uint64_t i = 0; i < symbols->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, elf->bytes + symbols->sh_offset + i * sizeof(symbol),
               sizeof(symbol));
        if (symbol.st_name < strings->sh_size &&
            entry_size <= strings->sh_size - symbol.st_name &&
            memcmp(names + symbol.st_name, entry, entry_size) == 0) {
            return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
                   symbol.st_shndx != SHN_UNDEF;
        }
    }
    return 0;
}

const char *jg_elf_check(const void *bytes, size_t size, const char *entry)
{
    struct elf_view elf = {.bytes = bytes, .size = size};
    if (size < sizeof(elf.header)) {
        return "it is shorter than an ELF header";
    }
    memcpy(&elf.header, bytes, sizeof(elf.header));
    const Elf64_Ehdr *header = &elf.header;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
        return "it is not an ELF file";
    }
    if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB) {
        return "it is not a little-endian 64-bit ELF file";
    }
    if (header->e_machine != MACHINE_CUDA) {
        return "it is not for a CUDA device";
    }
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum == 0 ||
        !is_inside(&elf, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr))) {
        return "its section table is outside of the file";
    }
    if (header->e_phnum != 0 &&
        (header->e_phentsize != sizeof(Elf64_Phdr) ||
         !is_inside(&elf, header->e_phoff,
                    (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)))) {
        return "its program table is outside of the file";
    }
    int found = 0;
    for (uint64_t i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr section;
        Elf64_Shdr strings;
        if (!read_section(&elf, i, &section)) {
            return "a section is outside of the file";
        }
        if (section.sh_type != SHT_SYMTAB) {
            continue;
        }
        if (section.sh_link >= header->e_shnum ||
            !read_section(&elf, section.sh_link, &strings) ||
            strings.sh_type != SHT_STRTAB) {
            return "its symbol table has no names";
        }
        found |= has_function(&elf, &section, &strings, entry);
    }
    return found ? NULL : "it has no kernel of the expected name";
}
