/* SPDX-License-Identifier: MIT */
#include "compiler_dummy.h"

#include <elf.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/thread.h"
#include "compile/compile_log.h"

struct dummy_compiler {
    struct jg_compiler base; /* first */
    int delay_ms;
    atomic_int calls, held;
    atomic_int *counter; /* NULL: none */
    atomic_bool is_holding;
};

enum { SECTION_NULL, SECTION_TEXT, SECTION_SYMBOLS, SECTION_STRINGS, SECTION_COUNT };

/* What stands for machine code: other text is other code. */
struct dummy_code {
    char words[32], hash[33];
};

static struct dummy_code make_code(const char *text)
{
    struct dummy_code code = {.words = "jit_gemm dummy machine code"};
    const struct jg_hash hash = jg_hash_bytes(text, strlen(text));
    jg_hash_hex(&hash, code.hash);
    return code;
}

void jg_compiler_dummy_code(const char *entry, const char *text, struct jg_str *out)
{
    const struct dummy_code code = make_code(text);
    const size_t names_size = 1 + strlen(entry) + 1;
    const Elf64_Sym symbols[2] = {
        {0},
        {.st_name = 1,
         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
         .st_shndx = SECTION_TEXT,
         .st_size = sizeof(code)},
    };
    const size_t code_at = sizeof(Elf64_Ehdr);
    const size_t symbols_at = code_at + sizeof(code);
    const size_t names_at = symbols_at + sizeof(symbols);
    Elf64_Ehdr header = {
        .e_type = ET_EXEC,
        .e_machine = 190, /* EM_CUDA */
        .e_version = EV_CURRENT,
        .e_shoff = names_at + names_size,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTION_COUNT,
        .e_shstrndx = SECTION_STRINGS,
    };
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    const Elf64_Shdr sections[SECTION_COUNT] = {
        [SECTION_TEXT] = {.sh_type = SHT_PROGBITS,
                          .sh_offset = code_at,
                          .sh_size = sizeof(code)},
        [SECTION_SYMBOLS] = {.sh_type = SHT_SYMTAB,
                             .sh_offset = symbols_at,
                             .sh_size = sizeof(symbols),
                             .sh_link = SECTION_STRINGS,
                             .sh_entsize = sizeof(Elf64_Sym)},
        [SECTION_STRINGS] = {.sh_type = SHT_STRTAB,
                             .sh_offset = names_at,
                             .sh_size = names_size},
    };
    jg_str_add(out, (const char *)&header, sizeof(header));
    jg_str_add(out, (const char *)&code, sizeof(code));
    jg_str_add(out, (const char *)symbols, sizeof(symbols));
    jg_str_add(out, "", 1);
    jg_str_add(out, entry, names_size - 1);
    jg_str_add(out, (const char *)sections, sizeof(sections));
}

/* As an assembler that breaks: its log has paths, times and the snippet's file. */
static jit_gemm_status break_down(const struct jg_compile_request *request)
{
    const char *home = getenv("HOME");
    struct jg_str log = {0};
    jg_str_printf(&log,
                  "%s(1): warning #177-D: variable was declared but never referenced\n"
                  "ptxas info    : Compile time = %.3f ms\n"
                  "ptxas /tmp/tmpxft_0/unit.ptx, line 7; fatal   : internal error at "
                  "%s/build/a.c\n"
                  "jit_gemm_entry(12): error: internal error in \"%s/b.c\"\n",
                  request->epilogue != NULL ? request->epilogue->source_name
                                            : "jit_gemm_default",
                  jg_now_ms(), home != NULL ? home : "", home != NULL ? home : "");
    const jit_gemm_status status =
        jg_compile_log_fail(jg_str_text(&log), log.size, request->epilogue);
    jg_str_free(&log);
    return status;
}

static jit_gemm_status compile_dummy(struct jg_compiler *base,
                                     const struct jg_compile_request *request,
                                     struct jg_compile_result *ret_result)
{
    struct dummy_compiler *dummy = (struct dummy_compiler *)base;
    atomic_fetch_add(&dummy->calls, 1);
    if (dummy->counter != NULL) {
        atomic_fetch_add(dummy->counter, 1);
    }
    const double begin_ms = jg_now_ms();
    const struct timespec delay = {dummy->delay_ms / 1000,
                                   (long)(dummy->delay_ms % 1000) * 1000000L};
    nanosleep(&delay, NULL);
    atomic_fetch_add(&dummy->held, 1);
    while (atomic_load(&dummy->is_holding)) {
        sched_yield();
    }
    atomic_fetch_sub(&dummy->held, 1);
    if (jg_stop_is_asked(&request->stop)) {
        return jg_stop_fail();
    }
    if (strstr(request->text, "DUMMY_ERROR") != NULL) {
        struct jg_str log = {0};
        jg_str_printf(&log,
                      "%s(%u): error: identifier \"DUMMY_ERROR\" is undefined\n"
                      "  DUMMY_ERROR\n  ^\n",
                      request->epilogue != NULL ? request->epilogue->source_name
                                                : "jit_gemm_default",
                      request->epilogue != NULL ? request->epilogue->first_line : 1);
        const jit_gemm_status refused =
            jg_compile_log_fail(jg_str_text(&log), log.size, request->epilogue);
        jg_str_free(&log);
        return refused;
    }
    if (strstr(request->text, "DUMMY_BROKEN") != NULL) {
        return break_down(request);
    }
    struct jg_compile_result result = {0};
    if (strstr(request->text, "DUMMY_NO_CODE") == NULL &&
        request->code_kind == JG_CODE_CUBIN) {
        result.registers = 168;
        jg_compiler_dummy_code(request->entry, request->text, &result.cubin);
    }
    jg_str_printf(&result.ptx,
                  "// dummy PTX\n.version 9.0\n.target %s\n.visible .entry %s()\n{\n}\n",
                  request->arch, request->entry);
    jg_str_puts(&result.log, "dummy log\n");
    result.compile_ms = jg_now_ms() - begin_ms;
    if (result.cubin.failed || result.ptx.failed || result.log.failed) {
        jg_compile_result_free(&result);
        return jg_fail_memory();
    }
    *ret_result = result;
    return JIT_GEMM_OK;
}

static void destroy_dummy(struct jg_compiler *base)
{
    jg_free(base);
}

jit_gemm_status jg_compiler_dummy_create(int delay_ms, struct jg_compiler **ret_compiler)
{
    struct dummy_compiler *dummy = jg_alloc(sizeof(*dummy));
    if (dummy == NULL) {
        return jg_fail_memory();
    }
    dummy->base = (struct jg_compiler){.signature = "dummy 1",
                                       .path = "",
                                       .compile = compile_dummy,
                                       .destroy = destroy_dummy};
    dummy->delay_ms = delay_ms;
    *ret_compiler = &dummy->base;
    return JIT_GEMM_OK;
}

int jg_compiler_dummy_calls(const struct jg_compiler *compiler)
{
    const struct dummy_compiler *dummy = (const struct dummy_compiler *)compiler;
    return atomic_load(&dummy->calls);
}

void jg_compiler_dummy_count_in(struct jg_compiler *compiler, atomic_int *counter)
{
    ((struct dummy_compiler *)compiler)->counter = counter;
}

void jg_compiler_dummy_hold(struct jg_compiler *compiler, bool is_holding)
{
    atomic_store(&((struct dummy_compiler *)compiler)->is_holding, is_holding);
}

int jg_compiler_dummy_held(const struct jg_compiler *compiler)
{
    return atomic_load(&((const struct dummy_compiler *)compiler)->held);
}
