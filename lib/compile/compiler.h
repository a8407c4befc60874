/* SPDX-License-Identifier: MIT */
/* What the build step needs of a compiler. There is NVRTC, and the tests have their own. */
#ifndef JG_COMPILE_COMPILER_H
#define JG_COMPILE_COMPILER_H

#include "base/stop.h"
#include "base/str.h"
#include "compile/code.h"
#include "plan/epilogue.h"

struct jg_nvjitlink;

struct jg_compile_request {
    const char *arch;            /* "sm_90a" */
    enum jg_code_kind code_kind; /* PTX: the unit is not assembled, and there is no cubin */
    const char *text;            /* source unit, zero-terminated */
    const char *entry;           /* kernel name, for messages */
    bool has_lineinfo;           /* a cubin with its table of lines; PTX always says them */
    bool rounds_apart;           /* a product and a sum become no single operation */
    const struct jg_epilogue *epilogue; /* for messages in the user's coordinates, and for
                                           its LTO-IR; may be NULL */
    const struct jg_nvjitlink *linker;  /* where the epilogue is LTO-IR, otherwise NULL */
    /* Both as far as the compiler looks at them, between its steps. */
    uint32_t limit_ms; /* of time; 0: none */
    struct jg_stop stop;
};

struct jg_compile_result {
    struct jg_str cubin; /* empty if PTX was asked for */
    struct jg_str ptx;
    struct jg_str log;
    uint32_t registers;   /* as ptxas says; 0 if PTX was asked for */
    uint32_t spill_bytes; /* of local memory per thread: spills, and arrays left there */
    double compile_ms;
    bool is_at_root; /* names of files in it begin at "/"; else in the current folder */
};

struct jg_compiler {
    /* Name, version, build and options: everything that changes the output. Goes into the
     * key. One line. */
    const char *signature;
    /* Where it was loaded from, for a person; "" if it is no file. */
    const char *path;
    int version; /* 1000 * major + 10 * minor, as the driver counts; 0: unknown */
    /* Thread-safe. COMPILE (diagnostics and log in the error record), NO_COMPILER,
     * NO_MEMORY, CANCELLED, INTERNAL; of an epilogue in LTO-IR also ARGUMENT and
     * UNSUPPORTED. */
    jit_gemm_status (*compile)(struct jg_compiler *compiler,
                               const struct jg_compile_request *request,
                               struct jg_compile_result *ret_result);
    void (*destroy)(struct jg_compiler *compiler);
};

void jg_compile_result_free(struct jg_compile_result *result);

/* NVRTC: takes over an opened library, also on failure. NO_MEMORY. */
struct jg_nvrtc;
jit_gemm_status jg_compiler_nvrtc_create(struct jg_nvrtc *nvrtc,
                                         struct jg_compiler **ret_compiler);

/* What a compile may have besides the options of all of them: bits. */
enum jg_compile_option {
    JG_COMPILE_LINEINFO = 1,
    JG_COMPILE_ROUNDS_APART = 2,
    JG_COMPILE_LTOIR = 4,
    JG_COMPILE_OPTIONS = 7 /* all of them */
};
/* In a cubin the table of lines costs 2 to 5 % of a compile, and only tools that show
 * source read it. The emulator names lines of PTX that it stops at. */
unsigned jg_compile_options_of(enum jg_code_kind kind, bool has_lineinfo, bool rounds_apart,
                               bool wants_ltoir);
/* As NVRTC takes it; of one bit. */
const char *jg_compile_option_text(unsigned option);
/* Appends the options of a compile but the architecture, a blank between. */
void jg_compiler_nvrtc_options(unsigned options, struct jg_str *out);

#endif
