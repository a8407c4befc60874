/* SPDX-License-Identifier: MIT */
#include "compile/snippet_hint.h"

#include <string.h>

#include "plan/text.h"

/* The names that JG_EPILOGUE_BEGIN puts in scope (jg/epilogue/user_epilogue.cuh). */
/* A snippet has the first, or the next two. */
enum { ACC_NAME, ACC0_NAME, ACC1_NAME };
static const char *const scope_names[] = {"acc", "acc0",  "acc1", "d", "row",
                                          "col", "batch", "M",    "N", "K"};
/* Macros of jg/epilogue/prelude.cuh. */
static const char *const constant_names[] = {"NAN", "INFINITY"};
static const char *const function_calls[] = {
    "abs(x)",   "clamp(x, low, high)", "dgelu(x)",  "dgelu_tanh(x)",
    "exp(x)",   "fma(x, y, z)",        "gelu(x)",   "gelu_tanh(x)",
    "log(x)",   "max(x, y)",           "min(x, y)", "relu(x)",
    "rsqrt(x)", "sigmoid(x)",          "silu(x)",   "sqrt(x)",
    "tanh(x)",  "uniform(seed)",
};
enum {
    SCOPE_COUNT = sizeof(scope_names) / sizeof(scope_names[0]),
    CONSTANT_COUNT = sizeof(constant_names) / sizeof(constant_names[0]),
    FUNCTION_COUNT = sizeof(function_calls) / sizeof(function_calls[0]),
    WORD_MAX = 64
};

static bool is_word_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

/* The identifier that begins at `at`; empty if there is none or it is too long. */
static void copy_word(const char *at, char word[WORD_MAX])
{
    size_t size = 0;
    while (at != NULL && size < WORD_MAX && is_word_byte(at[size])) {
        size++;
    }
    if (size >= WORD_MAX || size == 0 || (at[0] >= '0' && at[0] <= '9')) {
        word[0] = '\0';
        return;
    }
    memcpy(word, at, size);
    word[size] = '\0';
}

/* The text between the first pair of double quotes of a message. */
static void copy_quoted(const char *message, char word[WORD_MAX])
{
    const char *begin = strchr(message, '"');
    const char *end = begin != NULL ? strchr(begin + 1, '"') : NULL;
    word[0] = '\0';
    if (end != NULL && (size_t)(end - begin - 1) < WORD_MAX) {
        memcpy(word, begin + 1, (size_t)(end - begin - 1));
        word[end - begin - 1] = '\0';
    }
}

static const struct jg_operand *find_operand(const struct jg_epilogue *epilogue,
                                             const char *word)
{
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        if (strcmp(epilogue->operands[i].name, word) == 0) {
            return &epilogue->operands[i];
        }
    }
    return NULL;
}

static bool is_scope_name(const char *word)
{
    for (int i = 0; i < SCOPE_COUNT; i++) {
        if (strcmp(scope_names[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static void list_functions(struct jg_str *out)
{
    jg_str_puts(out, "functions: ");
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        jg_str_printf(out, "%s%s", i > 0 ? ", " : "", function_calls[i]);
    }
}

/* Of gated pairs there are two accumulators, of all else one. */
static bool is_in_scope(const struct jg_epilogue *epilogue, int name)
{
    const bool is_of_pair = name == ACC0_NAME || name == ACC1_NAME;
    return epilogue->is_gated ? name != ACC_NAME : !is_of_pair;
}

static void list_names(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    const char *separator = "names in scope: ";
    for (int i = 0; i < SCOPE_COUNT; i++) {
        if (is_in_scope(epilogue, i)) {
            jg_str_printf(out, "%s%s", separator, scope_names[i]);
            separator = ", ";
        }
    }
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const char *name = epilogue->operands[i].name;
        if (epilogue->operands[i].kind == JIT_GEMM_OPERAND_PAIR_VECTOR) {
            jg_str_printf(out, ", %s0, %s1", name, name);
        } else {
            jg_str_printf(out, ", %s", name);
        }
    }
    for (int i = 0; i < CONSTANT_COUNT; i++) {
        jg_str_printf(out, ", %s", constant_names[i]);
    }
}

/* Well-known names that mean something here. */
static const char *explain_known_word(const char *word)
{
    static const char product[] = "alpha * A * B + beta * C is already in acc";
    static const char element[] =
        "every value is a float; d is converted when it is stored";
    static const char library[] =
        "there is no library to name; write tanh(acc) and not np.tanh(acc)";
    static const struct {
        const char *word;
        const char *hint;
    } rows[] = {
        {"A", product},
        {"B", product},
        {"C", "beta * C is already in acc; to read it again, declare a matrix operand"},
        {"D", "the result is d, and is stored after the snippet"},
        {"alpha", product},
        {"beta", product},
        {"half", element},
        {"bf16", element},
        {"f16", element},
        {"bfloat16", element},
        {"nv_bfloat16", element},
        {"f32", "the type is written float"},
        {"uint32_t", "there is no standard library; write unsigned int"},
        {"int32_t", "there is no standard library; write int"},
        {"uint64_t", "there is no standard library; write unsigned long long"},
        {"int64_t", "there is no standard library; write long long"},
        {"NULL", "there are no pointers in a snippet; every value is a float"},
        {"inf", "write INFINITY"},
        {"FLT_EPSILON", "write 1.19209290e-07f"},
        {"HUGE_VALF", "write INFINITY"},
        {"result", "the result is d"},
        {"out", "the result is d; other outputs are operands"},
        {"x", "the product is acc"},
        {"string", "there is no standard library"},
        {"vector", "there is no standard library"},
        {"FLT_MAX", "write 3.40282347e38f"},
        {"FLT_MIN", "write 1.17549435e-38f"},
        {"INT_MAX", "write 2147483647"},
        {"UINT_MAX", "write 4294967295u"},
        {"True", "write true"},
        {"False", "write false"},
        {"var", "declare a variable as 'float x = ...;'"},
        {"let", "declare a variable as 'float x = ...;'"},
        {"M_PI", "write 3.14159265f"},
        {"M_E", "write 2.71828183f"},
        {"np", library},
        {"numpy", library},
        {"jnp", library},
        {"tl", library},
        {"math", library},
        {"torch", library},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].word, word) == 0) {
            return rows[i].hint;
        }
    }
    return NULL;
}

/* Well-known functions that have another name or form here. */
static const char *explain_known_call(const char *word)
{
    static const char reduction[] =
        "a snippet sees one element: a sum or maximum of a row is an operand of the role "
        "sum or max";
    static const char ends[] = "nothing ends the kernel; store what marks it, such as NAN";
    static const struct {
        const char *word;
        const char *hint;
    } rows[] = {
        {"swish", "did you mean silu? It is x * sigmoid(x)"},
        {"leaky_relu", "write acc > 0.0f ? acc : 0.01f * acc"},
        {"elu", "write acc > 0.0f ? acc : exp(acc) - 1.0f"},
        {"softplus", "write log(1.0f + exp(acc))"},
        {"hardswish", "write acc * clamp(acc + 3.0f, 0.0f, 6.0f) / 6.0f"},
        {"square", "write acc * acc"},
        {"mish", "write acc * tanh(log(1.0f + exp(acc)))"},
        {"sign", "write acc > 0.0f ? 1.0f : acc < 0.0f ? -1.0f : 0.0f"},
        {"lerp", "write fma(t, y - x, x)"},
        {"hardtanh", "write clamp(acc, -1.0f, 1.0f)"},
        {"exit", ends},
        {"abort", ends},
        {"trap", ends},
        {"rand", "write uniform(seed), with a scalar operand seed"},
        {"random", "write uniform(seed), with a scalar operand seed"},
        {"curand_uniform", "write uniform(seed), with a scalar operand seed"},
        {"dropout", "write uniform(seed) < keep ? acc * scale : 0.0f"},
        {"erff", "gelu(x) is the exact form, with the error function in it"},
        {"gelu_erf", "did you mean gelu? It is the exact form"},
        {"gelu_fast", "did you mean gelu_tanh? It is the approximation by tanh"},
        {"half", "every value is a float; d is converted when it is stored"},
        {"softmax", reduction},
        {"sum", reduction},
        {"mean", reduction},
        {"amax", reduction},
        {"norm", reduction},
        {"rms_norm", reduction},
        {"layer_norm", reduction},
        {"__expf", "the prelude has exp(x)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].word, word) == 0) {
            return rows[i].hint;
        }
    }
    return NULL;
}

static void explain_unknown_word(const struct jg_epilogue *epilogue, const char *word,
                                 const char *at, struct jg_str *out)
{
    const char *after =
        at != NULL && strncmp(at, word, strlen(word)) == 0 ? at + strlen(word) : "";
    after += strspn(after, " \t");
    const bool is_call = *after == '(';
    const char *known = is_call ? explain_known_call(word) : explain_known_word(word);
    if (known != NULL) {
        jg_str_puts(out, known);
        return;
    }
    struct jg_nearest nearest = jg_nearest_begin(word, strlen(word));
    for (int i = 0; i < SCOPE_COUNT && !is_call; i++) {
        if (is_in_scope(epilogue, i)) {
            jg_nearest_try(&nearest, scope_names[i], strlen(scope_names[i]));
        }
    }
    for (uint32_t i = 0; i < epilogue->operand_count && !is_call; i++) {
        const char *name = epilogue->operands[i].name;
        if (epilogue->operands[i].kind != JIT_GEMM_OPERAND_PAIR_VECTOR) {
            jg_nearest_try(&nearest, name, strlen(name));
        }
    }
    for (int i = 0; i < CONSTANT_COUNT && !is_call; i++) {
        jg_nearest_try(&nearest, constant_names[i], strlen(constant_names[i]));
    }
    for (int i = 0; i < FUNCTION_COUNT && is_call; i++) {
        jg_nearest_try(&nearest, function_calls[i], strcspn(function_calls[i], "("));
    }
    if (nearest.best != NULL) {
        jg_str_printf(out, "did you mean %.*s? ", (int)nearest.best_size, nearest.best);
    }
    if (is_call) {
        list_functions(out);
    } else {
        list_names(epilogue, out);
    }
}

/* A word used as something that a plain number is not. */
static void explain_plain_value(const struct jg_epilogue *epilogue, const char *word,
                                const char *instead, struct jg_str *out)
{
    const struct jg_operand *operand = find_operand(epilogue, word);
    if (operand != NULL && operand->role == JIT_GEMM_OPERAND_INPUT) {
        jg_str_printf(out, "%s is already loaded for this element; use it %s", word,
                      instead);
    } else if (operand != NULL) {
        jg_str_printf(out, "%s is this element's float; assign to it %s", word, instead);
    } else if (is_scope_name(word)) {
        jg_str_printf(out, "%s is a plain number of this element; use it %s", word,
                      instead);
    } else {
        jg_str_printf(out, "every value in a snippet is a plain number; use it %s",
                      instead);
    }
}

static void explain_call(const char *word, struct jg_str *out)
{
    const size_t size = strlen(word);
    for (int i = 0; i < FUNCTION_COUNT && size > 0; i++) {
        if (strncmp(function_calls[i], word, size) == 0 && function_calls[i][size] == '(') {
            jg_str_printf(out, "call it as %s", function_calls[i]);
            return;
        }
    }
    list_functions(out);
}

/* The function name of the call whose argument list holds `at`. */
static void copy_callee(const struct jg_epilogue *epilogue, const char *at,
                        char word[WORD_MAX])
{
    word[0] = '\0';
    int depth = 0;
    for (const char *back = at; back != NULL && back > epilogue->source; back--) {
        if (back[-1] == ')') {
            depth++;
        } else if (back[-1] == '(' && depth-- == 0) {
            const char *end = back - 1;
            while (end > epilogue->source && (end[-1] == ' ' || end[-1] == '\t')) {
                end--;
            }
            while (end > epilogue->source && is_word_byte(end[-1])) {
                end--;
            }
            copy_word(end, word);
            return;
        }
    }
}

/* Is the operator before `at` written twice, as for a power? */
static bool is_behind_power(const struct jg_epilogue *epilogue, const char *at)
{
    while (at != NULL && at > epilogue->source && (at[-1] == ' ' || at[-1] == '\t')) {
        at--;
    }
    return at != NULL && at - epilogue->source >= 2 && at[-1] == '*' && at[-2] == '*';
}

enum hint_kind {
    HINT_TEXT,
    HINT_STAR,
    HINT_SEMICOLON,
    HINT_UNKNOWN_WORD,
    HINT_PLAIN_VALUE, /* `text` says how the value is to be used instead */
    HINT_FIXED_VALUE,
    HINT_CALL,
    HINT_FUNCTIONS
};

/* By words of the message; the first row that fits counts. */
static const struct hint_row {
    const char *words;
    enum hint_kind kind;
    const char *text;
} hint_rows[] = {
    {"is undefined", HINT_UNKNOWN_WORD, ""},
    {"pointer-to-object type", HINT_PLAIN_VALUE, "without an index"},
    {"of apparent call must have", HINT_PLAIN_VALUE, "without parentheses"},
    {"must have class type", HINT_PLAIN_VALUE, "without a member"},
    {"pointer-to-class type", HINT_PLAIN_VALUE, "without a member"},
    {"instead of to a pointer type", HINT_PLAIN_VALUE, "without a member"},
    {"operand of \"*\" must be a pointer", HINT_STAR, "without *"},
    {"must be a modifiable lvalue", HINT_FIXED_VALUE, ""},
    {"namespace \"std\"", HINT_FUNCTIONS, "there is no standard library; "},
    {"name followed by \"::\"", HINT_FUNCTIONS, "there is no standard library; "},
    {"arguments in function call", HINT_CALL, ""},
    {"function \"uniform\"", HINT_TEXT, "call it as uniform(seed)"},
    {"more than one instance of overloaded function", HINT_TEXT,
     "write float constants with a point and an f, such as 1.0f"},
    {"user-defined literal", HINT_TEXT,
     "write float constants with a point and an f, such as 1.0f"},
    {"must have integral", HINT_TEXT,
     "floats have no remainder and no bit operators; a power is pow(x, y), bits are those "
     "of int(acc)"},
    {"must have arithmetic", HINT_TEXT, "every value in a snippet is a float"},
    {"too many characters", HINT_TEXT, "write a number: characters mean nothing here"},
    {"cannot deduce the return type", HINT_TEXT,
     "a lambda cannot call itself; use a loop with a bound"},
    {"has already been declared", HINT_TEXT, "choose another name"},
    {"expected a \";\"", HINT_SEMICOLON,
     "end the statement before this place with a semicolon"},
    {"(*)(const char *)", HINT_TEXT, "write NAN for what is no number"},
    {"(*)(", HINT_TEXT, "call the function: its arguments stand in parentheses"},
    {"cannot be assigned to an entity", HINT_TEXT, "results are plain floats"},
    {"cannot be used to initialize", HINT_TEXT, "values are plain floats"},
    {"no suitable constructor", HINT_TEXT,
     "a snippet works on one element: every value is a float"},
    {"no suitable conversion", HINT_TEXT,
     "a snippet works on one element: every value is a float"},
    {"is incompatible with parameter", HINT_TEXT, "every value in a snippet is a float"},
    {"too many initializer values", HINT_TEXT, "every value in a snippet is a float"},
    {"complete object type", HINT_TEXT,
     "there are no pointers in a snippet; arguments stand in parentheses"},
    {"floating constant is out of range", HINT_TEXT,
     "floats reach from 1.4e-45f to 3.40282347e38f; INFINITY is a constant"},
    {"invalid binary number", HINT_TEXT, "write digits 0 and 1 after 0b"},
    {"invalid floating constant", HINT_TEXT,
     "write float constants with a point and an f, such as 1.0f"},
    {"digit separator", HINT_TEXT,
     "write float constants with a point and an f, such as 1.0f"},
    {"static assertion failed", HINT_TEXT, "remove it, or the reason for it"},
    {"expected an expression", HINT_TEXT,
     "a value or a closing bracket is missing at this place, or an operator is too many"},
    {"expected a statement", HINT_TEXT, "remove it, or write what it belongs to before it"},
    {"expected a \":\"", HINT_TEXT, "a conditional is `condition ? value : other`"},
    {"expected a \"(\"", HINT_TEXT, "a condition stands in parentheses"},
    {"expected a \")\"", HINT_TEXT, "a comma, an operator or a bracket is missing here"},
    {"expected an identifier", HINT_TEXT, "a name is missing here"},
    {"expected a member name", HINT_TEXT,
     "numbers have no members; write constants as 1.0f"},
    {"expected a declaration", HINT_TEXT, "a snippet is statements, such as 'd = acc;'"},
    {"invalid hexadecimal number", HINT_TEXT, "write digits after 0x"},
    {"invalid octal", HINT_TEXT, "a number that begins with 0 is octal; drop the 0"},
    {"extra text after expected end of number", HINT_TEXT,
     "write float constants with a point and an f, such as 1.0f"},
    {"constant value", HINT_TEXT,
     "sizes of arrays and labels of cases are constants known to the compiler"},
    {"break statement", HINT_TEXT, "break belongs in a loop or a switch; use if and else"},
    {"continue statement", HINT_TEXT, "continue belongs in a loop; use if and else"},
    {"has already appeared in this switch", HINT_TEXT,
     "give each case a number of its own"},
    {"case label", HINT_TEXT, "case belongs in a switch"},
    {"default label", HINT_TEXT, "default belongs in a switch"},
    {"type specifier", HINT_TEXT, "declare a variable as 'float x = ...;'"},
    {"type deduction", HINT_TEXT, "declare a variable as 'float x = ...;'"},
    {"requires an initializer", HINT_TEXT, "give it a value: 'float x = ...;'"},
    {"exception handling", HINT_TEXT, "a snippet is arithmetic on one element"},
    {"global scope has no", HINT_TEXT, "write the name without ::"},
    {"should contain at least one character", HINT_TEXT,
     "write a number: characters mean nothing here"},
    {"must be greater than zero", HINT_TEXT, "give the array at least one element"},
    {"has no components", HINT_TEXT, "every value in a snippet is a float"},
    {"template declaration", HINT_TEXT, "use a lambda with auto parameters"},
    {"\"this\" may only be used", HINT_TEXT, "use the names in scope without this"},
    {"type name is not allowed", HINT_TEXT,
     "leave the type out: max(x, y) and not max<float>(x, y)"},
    {"namespace definition", HINT_TEXT, "remove it: all names are the snippet's own"},
    {"is not allowed", HINT_TEXT, "remove it: a variable is declared as 'float x = ...;'"},
    {"does not apply here", HINT_TEXT, "remove it"},
    {"typeid", HINT_TEXT, "types are known when the snippet is written"},
    {"dynamic_cast", HINT_TEXT, "convert with float(x) or int(x)"},
};

void jg_snippet_hint(const struct jg_epilogue *epilogue, const char *message,
                     const char *at, struct jg_str *out)
{
    const struct hint_row *row = NULL;
    for (size_t i = 0; i < sizeof(hint_rows) / sizeof(hint_rows[0]) && row == NULL; i++) {
        row = strstr(message, hint_rows[i].words) != NULL ? &hint_rows[i] : NULL;
    }
    if (row == NULL) {
        list_names(epilogue, out);
        return;
    }
    char word[WORD_MAX] = "";
    copy_word(at, word);
    switch (row->kind) {
    case HINT_TEXT:
        jg_str_puts(out, row->text);
        break;
    case HINT_UNKNOWN_WORD:
        copy_quoted(message, word);
        explain_unknown_word(epilogue, word, at, out);
        break;
    case HINT_SEMICOLON:
        jg_str_puts(out, strcmp(word, "if") == 0
                             ? "a conditional is `condition ? value : other`"
                             : row->text);
        break;
    case HINT_STAR:
        if (is_behind_power(epilogue, at)) {
            jg_str_puts(out, "there is no operator **; write x * x, or pow(x, y)");
            break;
        }
        explain_plain_value(epilogue, word, row->text, out);
        break;
    case HINT_PLAIN_VALUE:
        explain_plain_value(epilogue, word, row->text, out);
        break;
    case HINT_FIXED_VALUE:
        if (is_scope_name(word) && strcmp(word, "acc") != 0 && strcmp(word, "d") != 0) {
            jg_str_printf(out, "%s cannot be changed; copy it into a variable of your own",
                          word);
        } else {
            jg_str_puts(out, "assign to d, to acc, to an output operand or to a variable "
                             "of your own");
        }
        break;
    case HINT_CALL:
        copy_callee(epilogue, at, word);
        explain_call(word, out);
        break;
    case HINT_FUNCTIONS:
        jg_str_puts(out, row->text);
        list_functions(out);
        break;
    }
}
