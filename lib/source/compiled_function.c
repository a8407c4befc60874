/* SPDX-License-Identifier: MIT */
#include "source/compiled_function.h"

#include <string.h>

enum { PLAIN_PARAMETERS = 4 /* acc row col batch */ };

static bool is_output(const struct jg_epilogue *epilogue, uint32_t parameter)
{
    return parameter >= PLAIN_PARAMETERS &&
           epilogue->operands[parameter - PLAIN_PARAMETERS].role == JIT_GEMM_OPERAND_OUTPUT;
}

/* One line of PTX as a line of a C string; in an asm statement % begins an operand. */
static void print_asm_line(const char *line, size_t size, struct jg_str *out)
{
    jg_str_puts(out, "        \"");
    for (size_t i = 0; i < size; i++) {
        if (line[i] == '%') {
            jg_str_puts(out, "%");
        } else if (line[i] == '"' || line[i] == '\\') {
            jg_str_puts(out, "\\");
        }
        jg_str_add(out, line + i, 1);
    }
    jg_str_puts(out, "\\n\"\n");
}

static void print_asm_lines(const char *text, struct jg_str *out)
{
    for (const char *line = text; *line != '\0';) {
        const char *feed = strchr(line, '\n');
        const size_t size = feed != NULL ? (size_t)(feed - line) : strlen(line);
        print_asm_line(line, size, out);
        line += size + (feed != NULL);
    }
}

/*
 * The body lies in a block of its own and sees registers jg_p<i> and jg_d, so that its
 * names may be those of the kernel around it: operands of the statement stand only in the
 * block outside. With outputs it writes through pointers, which the compiler must be told;
 * without them it has nothing to write to, and is a computation like any other.
 */
static void print_asm_function(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    const uint32_t count = PLAIN_PARAMETERS + epilogue->operand_count;
    bool has_outputs = false;
    jg_str_puts(out, "static JG_DEVICE ");
    jg_compiled_print_signature(epilogue, JG_COMPILED_NAME, out);
    jg_str_puts(out, "\n{\n    float d;\n");
    for (uint32_t i = 0; i < count; i++) {
        has_outputs |= is_output(epilogue, i);
    }
    jg_str_printf(out, "    asm%s(\n        \"{\\n\"\n        \".reg .b32 jg_d;\\n\"\n",
                  has_outputs ? " volatile" : "");
    for (uint32_t i = 0; i < count; i++) {
        const int bits = is_output(epilogue, i) ? 64 : 32;
        jg_str_printf(out,
                      "        \".reg .b%d jg_p%u;\\n\"\n"
                      "        \"mov.b%d jg_p%u, %%%u;\\n\"\n",
                      bits, i, bits, i, i + 1);
    }
    jg_str_puts(out, "        \"{\\n\"\n");
    print_asm_lines(epilogue->compiled.body, out);
    jg_str_puts(out, "        \"}\\n\"\n        \"jg_end:\\n\"\n"
                     "        \"mov.b32 %0, jg_d;\\n\"\n        \"}\"\n"
                     "        : \"=f\"(d)\n"
                     "        : \"f\"(acc), \"r\"(row), \"r\"(col), \"r\"(batch)");
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        jg_str_printf(out, ", \"%s\"(%s)",
                      is_output(epilogue, PLAIN_PARAMETERS + i) ? "l" : "f",
                      epilogue->operands[i].name);
    }
    jg_str_printf(out, "%s);\n    return d;\n}\n\n",
                  has_outputs ? "\n        : \"memory\"" : "");
}

void jg_print_compiled_function(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    if (epilogue->compiled.kind == JIT_GEMM_CODE_PTX) {
        print_asm_function(epilogue, out);
        return;
    }
    jg_str_puts(out, "extern \"C\" __device__ ");
    jg_compiled_print_signature(epilogue, epilogue->compiled.symbol, out);
    jg_str_puts(out, ";\n\n");
}
