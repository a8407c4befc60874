/* SPDX-License-Identifier: MIT */
#include "compile/code.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* --------------------------------------------------------------------------- an ELF file
 */

enum { MACHINE_CUDA = 190 };

struct elf_view {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
};

static bool is_inside(const struct elf_view *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->size && size <= elf->size - offset;
}

/* Copies a section header; its content is inside of the file unless it takes no room. */
static bool read_section(const struct elf_view *elf, uint64_t index,
                         Elf64_Shdr *ret_section)
{
    memcpy(ret_section, elf->bytes + elf->header.e_shoff + index * sizeof(Elf64_Shdr),
           sizeof(Elf64_Shdr));
    return ret_section->sh_type == SHT_NOBITS ||
           is_inside(elf, ret_section->sh_offset, ret_section->sh_size);
}

/* Is there a defined function symbol of that name in the symbol table? */
static bool has_function(const struct elf_view *elf, const Elf64_Shdr *symbols,
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
    return false;
}

static const char *check_elf(const void *bytes, size_t size, const char *entry)
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
    bool has_kernel = false;
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
        has_kernel |= has_function(&elf, &section, &strings, entry);
    }
    return has_kernel ? NULL : "it has no kernel of the expected name";
}

/* --------------------------------------------------------------------------------- PTX */

static const char version_word[] = ".version ";
static const char entry_word[] = ".entry ";

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' || byte == '%';
}

/* Does an entry of this name begin somewhere in the text? */
static bool has_entry(const char *text, const char *end, const char *entry)
{
    const size_t word_size = sizeof(entry_word) - 1;
    const size_t entry_size = strlen(entry);
    for (const char *at = text;
         (at = memmem(at, (size_t)(end - at), entry_word, word_size)) != NULL;) {
        at += word_size;
        if ((size_t)(end - at) > entry_size && memcmp(at, entry, entry_size) == 0 &&
            !is_name_byte(at[entry_size])) {
            return true;
        }
    }
    return false;
}

static const char *check_ptx(const void *bytes, size_t size, const char *entry)
{
    const char *text = bytes;
    if (size == 0 || memchr(text, '\0', size) != NULL) {
        return "it is not text";
    }
    if (memmem(text, size, version_word, sizeof(version_word) - 1) == NULL) {
        return "it is not PTX";
    }
    return has_entry(text, text + size, entry) ? NULL
                                               : "it has no kernel of the expected name";
}

const char *jg_code_check(enum jg_code_kind kind, const void *bytes, size_t size,
                          const char *entry)
{
    return kind == JG_CODE_PTX ? check_ptx(bytes, size, entry)
                               : check_elf(bytes, size, entry);
}
