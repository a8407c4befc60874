/* SPDX-License-Identifier: MIT */
/* Statements about data: buffers, tensor maps, parameters. */
#include <stdio.h>
#include <string.h>

#include "tools/words.h"

#define MOST_BUFFER_BYTES (UINT64_C(1) << 40)
#define MOST_PARAM_BYTES  32764u /* of a kernel */

static bool parse_name(struct emu_words *words, char ret_name[32])
{
    const char *word = NULL;
    if (!emu_words_next(words, "the name", &word)) {
        return false;
    }
    if (strlen(word) > 31) {
        return emu_words_fail(words, "the name `%s` is longer than 31 letters", word);
    }
    snprintf(ret_name, 32, "%s", word);
    return true;
}

static uint32_t find_map(const struct emu_script *script, const char *name)
{
    for (uint32_t i = 0; i < script->map_count; i++) {
        if (strcmp(script->maps[i].name, name) == 0) {
            return i;
        }
    }
    return EMU_SCRIPT_NONE;
}

/* ---------------------------------------------------------------------------- buffers */

/* "256x512": the product. */
static bool parse_count(struct emu_words *words, uint64_t *ret_count)
{
    const char *word = NULL;
    if (!emu_words_next(words, "the size", &word)) {
        return false;
    }
    char *copy = emu_strdup(word);
    char *rest = NULL;
    bool good = true;
    *ret_count = 1;
    for (char *part = strtok_r(copy, "x", &rest); part != NULL;
         part = strtok_r(NULL, "x", &rest)) {
        uint64_t dim = 0;
        good = good && emu_parse_number(part, &dim) && dim > 0 &&
               dim <= MOST_BUFFER_BYTES / *ret_count;
        *ret_count *= good ? dim : 1;
    }
    emu_free(copy);
    return good || emu_words_fail(words, "the size `%s` is not like 256x512", word);
}

static bool parse_initial(struct emu_words *words, struct emu_script_buffer *buffer)
{
    static const char *const names[] = {"undefined", "constant", "iota",  "random",
                                        "integers",  "file",     "zeros", NULL};
    const char *path = NULL;
    unsigned index = 0;
    if (!emu_words_choice(words, "the contents", names, &index)) {
        return false;
    }
    if (index == 6) {
        buffer->initial = EMU_INITIAL_CONSTANT;
        return true;
    }
    buffer->initial = (enum emu_initial)index;
    switch (buffer->initial) {
    case EMU_INITIAL_CONSTANT:
        return emu_words_real(words, "the constant", &buffer->low);
    case EMU_INITIAL_IOTA:
        buffer->high = 1;
        return (!emu_words_left(words) ||
                emu_words_real(words, "the start", &buffer->low)) &&
               (!emu_words_left(words) || emu_words_real(words, "the step", &buffer->high));
    case EMU_INITIAL_RANDOM:
    case EMU_INITIAL_INTEGERS:
        if (!emu_words_number(words, "the seed", 0, UINT64_MAX, &buffer->seed) ||
            !emu_words_real(words, "the low end", &buffer->low) ||
            !emu_words_real(words, "the high end", &buffer->high)) {
            return false;
        }
        return buffer->low <= buffer->high ||
               emu_words_fail(words, "the high end is below the low end");
    case EMU_INITIAL_FILE:
        if (!emu_words_next(words, "the path", &path)) {
            return false;
        }
        buffer->path = emu_strdup(path);
        return true;
    default:
        return true;
    }
}

bool emu_parse_buffer(struct emu_words *words)
{
    struct emu_script *script = words->script;
    struct emu_script_buffer buffer = {.name = ""};
    if (!parse_name(words, buffer.name) || !emu_words_type(words, &buffer.type) ||
        !parse_count(words, &buffer.count)) {
        return false;
    }
    if (emu_script_find_buffer(script, buffer.name) != EMU_SCRIPT_NONE) {
        return emu_words_fail(words, "there is a buffer `%s` already", buffer.name);
    }
    buffer.bytes = emu_element_bytes(buffer.type, buffer.count);
    bool good = parse_initial(words, &buffer);
    EMU_GROW(script->buffers, script->buffer_count);
    script->buffers[script->buffer_count++] = buffer;
    return good;
}

/* ------------------------------------------------------------------------------- maps */

/* `count` numbers. */
static bool parse_list(struct emu_words *words, const char *value_name, uint32_t count,
                       uint64_t *ret_list)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!emu_words_number(words, value_name, 0, UINT64_MAX, &ret_list[i])) {
            return false;
        }
    }
    return true;
}

static bool parse_narrow_list(struct emu_words *words, const char *value_name,
                              uint32_t count, uint32_t *ret_list)
{
    uint64_t list[EMU_SCRIPT_RANK] = {0};
    if (!parse_list(words, value_name, count, list)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] > UINT32_MAX) {
            return emu_words_fail(words, "%s is too large", value_name);
        }
        ret_list[i] = (uint32_t)list[i];
    }
    return true;
}

static bool parse_map_key(struct emu_words *words, struct emu_script_map *map,
                          const char *key)
{
    static const char *const swizzles[] = {
        "none",          "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B",
        "128B_atom_64B", NULL};
    static const char *const interleaves[] = {"none", "16B", "32B", NULL};
    static const char *const promotions[] = {"none", "64B", "128B", "256B", NULL};
    static const char *const fills[] = {"zero", "nan", NULL};
    if (strcmp(key, "strides") == 0) {
        map->has_strides = true;
        return parse_list(words, "the stride", map->rank - 1, map->strides);
    }
    if (strcmp(key, "box") == 0) {
        return parse_narrow_list(words, "the box", map->rank, map->box);
    }
    if (strcmp(key, "steps") == 0) {
        return parse_narrow_list(words, "the step", map->rank, map->steps);
    }
    if (strcmp(key, "swizzle") == 0) {
        return emu_words_choice(words, "the swizzle", swizzles, &map->swizzle);
    }
    if (strcmp(key, "interleave") == 0) {
        return emu_words_choice(words, "the interleaving", interleaves, &map->interleave);
    }
    if (strcmp(key, "promotion") == 0) {
        return emu_words_choice(words, "the promotion", promotions, &map->promotion);
    }
    if (strcmp(key, "fill") == 0) {
        return emu_words_choice(words, "the fill", fills, &map->fill);
    }
    if (strcmp(key, "type") == 0) {
        return emu_words_type(words, &map->type);
    }
    if (strcmp(key, "offset") == 0) {
        return emu_words_number(words, "the offset", 0, MOST_BUFFER_BYTES,
                                &map->offset_bytes);
    }
    return emu_words_fail(words, "a map has no `%s`", key);
}

/* dims D0 D1 …: as many as numbers follow. */
static bool parse_dims(struct emu_words *words, struct emu_script_map *map)
{
    const char *word = NULL;
    if (!emu_words_next(words, "`dims`", &word)) {
        return false;
    }
    if (strcmp(word, "dims") != 0) {
        return emu_words_fail(words, "`dims` must come first, not `%s`", word);
    }
    uint64_t dim = 0;
    while (emu_words_left(words) && emu_parse_number(words->words[words->at], &dim)) {
        if (map->rank == EMU_SCRIPT_RANK) {
            return emu_words_fail(words, "more than %u dimensions", EMU_SCRIPT_RANK);
        }
        map->dims[map->rank] = dim;
        map->steps[map->rank] = 1;
        map->rank++;
        words->at++;
    }
    return map->rank > 0 || emu_words_fail(words, "a map needs dimensions");
}

bool emu_parse_map(struct emu_words *words)
{
    struct emu_script *script = words->script;
    struct emu_script_map map = {.name = ""};
    if (!parse_name(words, map.name) || !emu_words_buffer(words, &map.buffer) ||
        !parse_dims(words, &map)) {
        return false;
    }
    if (find_map(script, map.name) != EMU_SCRIPT_NONE) {
        return emu_words_fail(words, "there is a map `%s` already", map.name);
    }
    map.type = script->buffers[map.buffer].type;
    while (emu_words_left(words)) {
        if (!parse_map_key(words, &map, words->words[words->at++])) {
            return false;
        }
    }
    if (map.box[0] == 0 || (map.rank > 1 && !map.has_strides)) {
        return emu_words_fail(words, "the map `%s` needs `strides` and `box`", map.name);
    }
    EMU_GROW(script->maps, script->map_count);
    script->maps[script->map_count++] = map;
    return true;
}

/* -------------------------------------------------------------------------- parameters */

/* A number of a type, or bytes as hexadecimal digits. */
static bool parse_literal(struct emu_words *words, const struct emu_element_type *type,
                          struct emu_script_piece *piece)
{
    const char *word = NULL;
    uint64_t whole = 0;
    double real = 0;
    if (!emu_words_next(words, "the value", &word)) {
        return false;
    }
    piece->bytes = type->bits < 8 ? 1 : type->bits / 8;
    piece->data = emu_alloc(8);
    if (type->kind != EMU_ELEMENT_FLOAT && emu_parse_number(word, &whole)) {
        memcpy(piece->data, &whole, piece->bytes);
        return (type->bits == 64 || whole >> type->bits == 0) ||
               emu_words_fail(words, "%s does not fit %s", word, type->name);
    }
    if (!emu_parse_real(word, &real)) {
        return emu_words_fail(words, "`%s` is not a number", word);
    }
    emu_element_set(type, piece->data, 0, real);
    return true;
}

static bool parse_bytes(struct emu_words *words, struct emu_script_piece *piece)
{
    const char *word = NULL;
    if (!emu_words_next(words, "the bytes", &word)) {
        return false;
    }
    size_t digits = strlen(word);
    if (digits % 2 != 0 || strspn(word, "0123456789abcdefABCDEF") != digits) {
        return emu_words_fail(words, "`%s` is not an even number of hexadecimal digits",
                              word);
    }
    piece->bytes = digits / 2;
    piece->data = emu_alloc(piece->bytes);
    for (size_t i = 0; i < piece->bytes; i++) {
        const char pair[] = {word[2 * i], word[2 * i + 1], 0};
        piece->data[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return true;
}

/* "address A 16", "map TA", "u32 7", "bytes 00ff": what a parameter holds. The piece is
 * the script's, so that it is freed with it. */
static bool parse_piece(struct emu_words *words, uint32_t param, uint64_t offset_bytes,
                        struct emu_script_piece **ret_piece)
{
    struct emu_script *script = words->script;
    const char *word = NULL;
    EMU_GROW(script->pieces, script->piece_count);
    struct emu_script_piece *piece = &script->pieces[script->piece_count++];
    *piece = (struct emu_script_piece){
        .kind = EMU_PIECE_BYTES, .param = param, .offset_bytes = offset_bytes, .bytes = 8};
    *ret_piece = piece;
    if (!emu_words_next(words, "what the parameter holds", &word)) {
        return false;
    }
    if (strcmp(word, "address") == 0) {
        piece->kind = EMU_PIECE_ADDRESS;
        return emu_words_buffer(words, &piece->index) &&
               (!emu_words_left(words) ||
                emu_words_number(words, "the offset", 0, UINT64_MAX, &piece->addend));
    }
    if (strcmp(word, "map") == 0) {
        piece->kind = EMU_PIECE_MAP;
        piece->bytes = sizeof(CUtensorMap);
        if (!emu_words_next(words, "the map", &word)) {
            return false;
        }
        piece->index = find_map(script, word);
        return piece->index != EMU_SCRIPT_NONE ||
               emu_words_fail(words, "there is no map `%s` above", word);
    }
    if (strcmp(word, "bytes") == 0) {
        return parse_bytes(words, piece);
    }
    const struct emu_element_type *type = NULL;
    words->at--;
    return emu_words_type(words, &type) && parse_literal(words, type, piece);
}

bool emu_parse_param(struct emu_words *words)
{
    struct emu_script *script = words->script;
    struct emu_script_piece *piece = NULL;
    uint32_t index = script->param_count;
    EMU_GROW(script->params, script->param_count);
    script->params[script->param_count++] = (struct emu_script_param){.line = words->line};
    if (emu_words_left(words) && strcmp(words->words[words->at], "struct") == 0) {
        words->at++;
        words->open_param = index;
        return emu_words_number(words, "the size", 1, MOST_PARAM_BYTES,
                                &script->params[index].bytes);
    }
    if (!parse_piece(words, index, 0, &piece)) {
        return false;
    }
    script->params[index].bytes = piece->bytes;
    return true;
}

bool emu_parse_at(struct emu_words *words)
{
    struct emu_script_piece *piece = NULL;
    uint64_t offset_bytes = 0;
    uint64_t bytes = words->script->params[words->open_param].bytes;
    if (!emu_words_number(words, "the offset", 0, bytes, &offset_bytes) ||
        !parse_piece(words, words->open_param, offset_bytes, &piece)) {
        return false;
    }
    return piece->bytes <= bytes - offset_bytes ||
           emu_words_fail(words, "%llu bytes at %llu do not fit the struct's %llu",
                          (unsigned long long)piece->bytes,
                          (unsigned long long)offset_bytes, (unsigned long long)bytes);
}

bool emu_parse_end(struct emu_words *words)
{
    words->open_param = EMU_SCRIPT_NONE;
    return true;
}
