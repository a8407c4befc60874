/* SPDX-License-Identifier: MIT */
#include "plan/recipe.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/struct.h"
#include "plan/compiled.h"
#include "plan/range.h"
#include "plan/text.h"

static const char first_line[] = "jit_gemm recipe 1";

/* ------------------------------------------------------------------------------- keys */

void jg_recipe_key(const struct jg_problem *problem, struct jg_str *out)
{
    struct jg_problem plain = *problem;
    plain.config[0] = '\0';
    jg_problem_text(&plain, out);
}

/* Of a problem whose epilogue may be unknown. What the text says does not depend on it. */
static jit_gemm_status print_key(const jit_gemm_problem *user, struct jg_str *out)
{
    jit_gemm_problem plain = {0};
    JG_TRY(jg_struct_import(user, &plain, sizeof(plain), "problem"));
    struct jg_epilogue epilogue = {0};
    memcpy(epilogue.name, plain.epilogue, sizeof(epilogue.name));
    const bool has_epilogue = plain.epilogue[0] != '\0';
    const jit_gemm_pair pair = plain.pair;
    if (has_epilogue) {
        plain.epilogue[0] = '\0';
        plain.pair = JIT_GEMM_PAIR_INTERLEAVED;
    }
    struct jg_problem canonical;
    JG_TRY(jg_problem_normalize(&plain, NULL, NULL, &canonical));
    if (has_epilogue) {
        canonical.epilogue = &epilogue;
        canonical.pair = pair;
    }
    jg_recipe_key(&canonical, out);
    return jg_str_status(out);
}

static jit_gemm_status print_override(const char *config, struct jg_str *out)
{
    struct jg_config_override override;
    JG_TRY(jg_config_parse(config, &override));
    jg_config_print_override(&override, out);
    return jg_str_status(out);
}

/* ------------------------------------------------------------------------------ items */

static void free_item(struct jg_recipe_item *item)
{
    jg_free(item->problem);
    jg_free(item->config);
    jg_free(item->remark);
}

void jg_recipe_free(struct jg_recipe *recipe)
{
    for (size_t i = 0; i < recipe->count; i++) {
        free_item(&recipe->items[i]);
    }
    jg_free(recipe->items);
    jg_free(recipe->slots);
    *recipe = (struct jg_recipe){0};
}

enum { LEAST_ITEMS = 16, SLOTS_PER_ITEM = 4 }; /* powers of two */

/* The slot that has the item of a key, or the empty one that it would have. */
static size_t *find_slot(const struct jg_recipe *recipe, const struct jg_arch *arch,
                         const char *key)
{
    const struct jg_hash hash = jg_hash_bytes(key, strlen(key));
    size_t at = 0;
    memcpy(&at, hash.bytes, sizeof(at));
    for (;; at++) {
        size_t *slot = &recipe->slots[at % recipe->slot_count];
        if (*slot == 0) {
            return slot;
        }
        const struct jg_recipe_item *item = &recipe->items[*slot - 1];
        if (item->arch == arch && strcmp(item->problem, key) == 0) {
            return slot;
        }
    }
}

/* The number of the item of a key, from 1; 0: there is none. */
static size_t find_number(const struct jg_recipe *recipe, const struct jg_arch *arch,
                          const char *key)
{
    return recipe->count == 0 ? 0 : *find_slot(recipe, arch, key);
}

const struct jg_recipe_item *jg_recipe_find(const struct jg_recipe *recipe,
                                            const struct jg_arch *arch, const char *key)
{
    const size_t number = find_number(recipe, arch, key);
    return number == 0 ? NULL : &recipe->items[number - 1];
}

static void place_item(struct jg_recipe *recipe, size_t number)
{
    const struct jg_recipe_item *item = &recipe->items[number];
    *find_slot(recipe, item->arch, item->problem) = number + 1;
}

static bool reserve(struct jg_recipe *recipe)
{
    if (recipe->count < recipe->capacity) {
        return true;
    }
    const size_t capacity = recipe->capacity > 0 ? recipe->capacity * 2 : LEAST_ITEMS;
    struct jg_recipe_item *items = jg_realloc(recipe->items, capacity * sizeof(*items));
    if (items == NULL) {
        return false;
    }
    recipe->items = items;
    size_t *slots = jg_alloc(SLOTS_PER_ITEM * capacity * sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    jg_free(recipe->slots);
    recipe->slots = slots;
    recipe->slot_count = SLOTS_PER_ITEM * capacity;
    recipe->capacity = capacity;
    for (size_t i = 0; i < recipe->count; i++) {
        place_item(recipe, i);
    }
    return true;
}

static jit_gemm_status refuse_twice(const struct jg_recipe *recipe,
                                    const struct jg_recipe_item *item)
{
    const struct jg_recipe_item *other = jg_recipe_find(recipe, item->arch, item->problem);
    if (other == NULL) {
        return JIT_GEMM_OK;
    }
    char first[48] = "";
    if (other->line > 0) {
        (void)snprintf(first, sizeof(first), ", first on line %zu", other->line);
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", "give each problem once",
                   "%s \"%s\" is there twice%s", item->arch->name, item->problem, first);
}

static jit_gemm_status append(struct jg_recipe *recipe, const struct jg_recipe_item *item)
{
    if (item->problem == NULL || item->config == NULL || item->remark == NULL) {
        return jg_fail_memory();
    }
    JG_TRY(refuse_twice(recipe, item));
    if (!reserve(recipe)) {
        return jg_fail_memory();
    }
    recipe->items[recipe->count++] = *item;
    place_item(recipe, recipe->count - 1);
    return JIT_GEMM_OK;
}

static jit_gemm_status check_remark(const char *remark)
{
    for (const char *at = remark; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "remark", "write it in one line",
                           "it has a control byte");
        }
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status add_printed(struct jg_recipe *recipe, const struct jg_arch *arch,
                                   const struct jg_str *key, const struct jg_str *config,
                                   const char *remark, size_t line)
{
    if (config->size == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.config",
                       "end the problem with config=, in the form that `jit-gemm plan` "
                       "prints",
                       "a recipe's problem names its config");
    }
    JG_TRY(check_remark(remark));
    struct jg_recipe_item item = {.arch = arch,
                                  .problem = jg_copy_text(key->data, key->size),
                                  .config = jg_copy_text(config->data, config->size),
                                  .remark = jg_copy_text(remark, strlen(remark)),
                                  .line = line};
    const jit_gemm_status status = append(recipe, &item);
    if (status != JIT_GEMM_OK) {
        free_item(&item);
    }
    return status;
}

jit_gemm_status jg_recipe_add(struct jg_recipe *recipe, const struct jg_arch *arch,
                              const jit_gemm_problem *problem, const char *remark,
                              size_t line)
{
    struct jg_str key = {0};
    struct jg_str config = {0};
    jit_gemm_status status = print_key(problem, &key);
    if (status == JIT_GEMM_OK) {
        status = print_override(problem->config, &config);
    }
    if (status == JIT_GEMM_OK) {
        status = add_printed(recipe, arch, &key, &config, remark, line);
    }
    jg_str_free(&key);
    jg_str_free(&config);
    return status;
}

/* --------------------------------------------------------------------------- checking */

static jit_gemm_status check_choice(const struct jg_recipe_checker *checker,
                                    const struct jg_arch *arch,
                                    const jit_gemm_problem *user)
{
    if (user->epilogue[0] != '\0') {
        const struct jg_epilogue *epilogue = NULL;
        JG_TRY(checker->find(checker->find_user, user->epilogue, user->d.dtype, &epilogue));
        if (epilogue == NULL) {
            return JIT_GEMM_OK; /* who asks for it hears the rest */
        }
    }
    struct jg_problem problem;
    struct jg_choice choice;
    JG_TRY(jg_problem_normalize(user, checker->find, checker->find_user, &problem));
    JG_TRY(jg_compiled_check_arch(problem.epilogue, arch->name));
    return jg_config_choose(arch, &problem,
                            arch == checker->arch ? checker->facts : &arch->default_facts,
                            &choice, NULL);
}

/* A budget is none of the kernel's facts: the text that a problem is found by has none. */
static jit_gemm_status refuse_budget(const jit_gemm_problem *problem)
{
    if (problem->register_limit == 0 && problem->no_local_memory == 0) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.register_limit",
                   "leave max_registers and local_memory out",
                   "a recipe holds for a problem with and without a budget");
}

/* ---------------------------------------------------------------------------- reading */

enum { WHERE_SIZE = 256 };

struct reader {
    const char *name; /* of the text, for messages */
    struct jg_lines lines;
    const struct jg_recipe_checker *checker; /* or NULL */
    struct jg_recipe recipe;                 /* what was read so far */
};

static jit_gemm_status fail_at_line(const struct reader *reader, jit_gemm_status status,
                                    const char *hint, const char *text)
{
    char where[WHERE_SIZE];
    (void)snprintf(where, sizeof(where), "recipe %s:%zu", reader->name, reader->lines.line);
    return jg_fail(status, where, hint, "%s", text);
}

/* Puts the line before an error that a lower place reported. */
static jit_gemm_status forward_at_line(const struct reader *reader, jit_gemm_status status)
{
    if (status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY) {
        return status;
    }
    return fail_at_line(reader, status, "", jg_error_text());
}

static jit_gemm_status read_arch(const char *piece, size_t size,
                                 const struct jg_arch **ret_arch)
{
    struct jg_key_list list = {"architectures:"};
    for (int i = 0; jg_arch_at(i) != NULL; i++) {
        if (jg_word_is(piece, size, jg_arch_at(i)->name)) {
            *ret_arch = jg_arch_at(i);
            return JIT_GEMM_OK;
        }
        jg_key_list_add(&list, jg_arch_at(i)->name);
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", list.text,
                   "%s is no architecture of this version; write: problem sm_90a TEXT "
                   "config=CONFIG",
                   jg_quote(piece, size).text);
}

static jit_gemm_status refuse_range(char *text)
{
    jit_gemm_range range;
    bool has_range = false;
    JG_TRY(jg_range_take(text, &range, &has_range));
    if (!has_range) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem",
                   "give the size that is planned for, such as m=4096 dynamic=m",
                   "a range of sizes has several kernels");
}

/* Cuts the remark off, and blanks around both. */
static char *split_remark(char *text)
{
    char *mark = strchr(text, '#');
    char *remark = mark != NULL ? mark + 1 : text + strlen(text);
    if (mark != NULL) {
        *mark = '\0';
    }
    while (*remark == ' ') {
        remark++;
    }
    size_t end = strlen(remark);
    while (end > 0 && remark[end - 1] == ' ') {
        remark[--end] = '\0';
    }
    return remark;
}

/* `text` is changed. */
static jit_gemm_status read_text(struct reader *reader, char *text)
{
    const char *remark = split_remark(text);
    const char *rest = text;
    size_t size = strlen(text);
    const char *piece = NULL;
    const size_t length = jg_line_take_piece(&rest, &size, &piece);
    const struct jg_arch *arch = NULL;
    jit_gemm_problem problem;
    JG_TRY(read_arch(piece, length, &arch));
    char *own = text + (rest - text);
    JG_TRY(refuse_range(own));
    JG_TRY(jg_problem_parse(own, &problem));
    JG_TRY(refuse_budget(&problem));
    JG_TRY(jg_recipe_add(&reader->recipe, arch, &problem, remark, reader->lines.line));
    return reader->checker != NULL ? check_choice(reader->checker, arch, &problem)
                                   : JIT_GEMM_OK;
}

static jit_gemm_status read_problem(struct reader *reader, const char *rest, size_t size)
{
    if (memchr(rest, '\0', size) != NULL) {
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT, "write plain text",
                            "the line has a zero byte");
    }
    char *text = jg_copy_text(rest, size);
    if (text == NULL) {
        return jg_fail_memory();
    }
    const jit_gemm_status status = read_text(reader, text);
    jg_free(text);
    return forward_at_line(reader, status);
}

static jit_gemm_status read_first_line(struct reader *reader)
{
    static const char prefix[] = "jit_gemm recipe ";
    const size_t prefix_size = sizeof(prefix) - 1;
    const char *oddity = jg_lines_oddity(&reader->lines);
    if (oddity != NULL) {
        reader->lines.line = 1;
        return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT,
                            "save it as plain text, in UTF-8 without a mark and with line "
                            "feeds",
                            oddity);
    }
    if (!jg_lines_next(&reader->lines) || reader->lines.length < prefix_size ||
        memcmp(reader->lines.start, prefix, prefix_size) != 0) {
        reader->lines.line = 1;
        return fail_at_line(
            reader, JIT_GEMM_ERR_ARGUMENT,
            "give a file that `jit-gemm tune` wrote, or begin it so",
            "this is no recipe: it does not begin with 'jit_gemm recipe 1'");
    }
    if (!jg_line_is(&reader->lines, first_line)) {
        return fail_at_line(reader, JIT_GEMM_ERR_VERSION,
                            "tune again with this version of the library",
                            "a recipe of another format; this library reads format 1");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_items(struct reader *reader)
{
    JG_TRY(read_first_line(reader));
    while (jg_lines_next(&reader->lines)) {
        const char *rest = NULL;
        size_t size = 0;
        if (jg_line_is_skipped(&reader->lines)) {
            continue;
        }
        if (!jg_line_take_keyword(&reader->lines, "problem", &rest, &size)) {
            return fail_at_line(reader, JIT_GEMM_ERR_ARGUMENT,
                                "write: problem ARCH TEXT config=CONFIG, or # and a remark",
                                "unknown kind of line");
        }
        JG_TRY(read_problem(reader, rest, size));
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_recipe_parse(const char *name, const char *text, size_t size,
                                const struct jg_recipe_checker *checker,
                                struct jg_recipe *ret_recipe)
{
    struct reader reader = {
        .name = name, .lines = {.text = text, .size = size}, .checker = checker};
    const jit_gemm_status status = read_items(&reader);
    if (status != JIT_GEMM_OK) {
        jg_recipe_free(&reader.recipe);
        return status;
    }
    *ret_recipe = reader.recipe;
    return JIT_GEMM_OK;
}

/* --------------------------------------------------------------------------- applying */

/* Instruments are the caller's: they say nothing of how fast a config is. */
static void take_instruments(const struct jg_config_override *from,
                             struct jg_config_override *to)
{
    if (from->has_debug) {
        to->has_debug = true;
        to->values.launch.debug = from->values.launch.debug;
    }
    if (from->has_trace) {
        to->has_trace = true;
        to->values.launch.trace = from->values.launch.trace;
    }
    if (from->has_lineinfo) {
        to->has_lineinfo = true;
        to->values.launch.lineinfo = from->values.launch.lineinfo;
    }
}

/* Has the config all that the problem names? One that cannot be chosen has. */
static bool is_wanted(const struct jg_recipe_item *item, const struct jg_problem *problem,
                      const struct jg_config_override *asked,
                      const struct jg_device_facts *facts)
{
    struct jg_choice choice;
    if (jg_config_choose(item->arch, problem, facts, &choice, NULL) != JIT_GEMM_OK) {
        jg_error_clear();
        return true;
    }
    return jg_config_has(&choice.config, asked);
}

jit_gemm_status jg_recipe_apply(const struct jg_recipe_item *item,
                                const struct jg_problem *problem,
                                const struct jg_device_facts *facts,
                                struct jg_problem *ret_problem, bool *ret_is_taken)
{
    struct jg_config_override asked;
    struct jg_config_override config;
    JG_TRY(jg_config_parse(problem->config, &asked));
    JG_TRY(jg_config_parse(item->config, &config));
    take_instruments(&asked, &config);
    struct jg_problem own = *problem;
    struct jg_str text = {0};
    jg_config_print_override(&config, &text);
    JG_TRY(jg_str_deliver(&text, JIT_GEMM_OK, own.config, sizeof(own.config), NULL));
    *ret_is_taken = problem->config[0] == '\0' || is_wanted(item, &own, &asked, facts);
    *ret_problem = own;
    return JIT_GEMM_OK;
}

/* ---------------------------------------------------------------------------- writing */

static void print_item(const struct jg_recipe_item *item, struct jg_str *out)
{
    jg_str_printf(out, "problem %s %s config=%s%s%s\n", item->arch->name, item->problem,
                  item->config, item->remark[0] != '\0' ? " # " : "", item->remark);
}

void jg_recipe_print(const struct jg_recipe *recipe, struct jg_str *out)
{
    jg_str_printf(out, "%s\n", first_line);
    for (size_t i = 0; i < recipe->count; i++) {
        print_item(&recipe->items[i], out);
    }
}

static void print_update(const char *text, size_t size, const struct jg_recipe *old,
                         const struct jg_recipe *items, struct jg_str *out)
{
    struct jg_lines lines = {.text = text, .size = size};
    size_t next = 0; /* of the old items, which are in the order of lines */
    while (jg_lines_next(&lines)) {
        const bool is_item = next < old->count && old->items[next].line == lines.line;
        const struct jg_recipe_item *item = is_item ? &old->items[next++] : NULL;
        const size_t newer =
            item != NULL ? find_number(items, item->arch, item->problem) : 0;
        if (newer > 0) {
            print_item(&items->items[newer - 1], out);
        } else {
            jg_str_add(out, lines.start, lines.length);
            jg_str_puts(out, "\n");
        }
    }
    for (size_t i = 0; i < items->count; i++) {
        const struct jg_recipe_item *item = &items->items[i];
        if (find_number(old, item->arch, item->problem) == 0) {
            print_item(item, out);
        }
    }
}

jit_gemm_status jg_recipe_update(const char *name, const char *old, size_t size,
                                 const struct jg_recipe *lines, struct jg_str *out)
{
    struct jg_recipe parsed;
    JG_TRY(jg_recipe_parse(name, old, size, NULL, &parsed));
    print_update(old, size, &parsed, lines, out);
    jg_recipe_free(&parsed);
    return jg_str_status(out);
}
