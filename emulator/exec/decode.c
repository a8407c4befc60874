/* SPDX-License-Identifier: MIT */
/* Decoding: opcode tables, operands, and the layout of registers and shared memory. */
#include "exec/decode.h"

#include <stdio.h>
#include <string.h>

#include "exec/target.h"
#include "exec/unit.h"

static const struct emu_opcode *const own_tables[] = {
    emu_alu_opcodes,
    emu_move_opcodes,
    emu_compare_opcodes,
    emu_float_opcodes,
    emu_control_opcodes,
    emu_memory_opcodes,
    emu_atomic_opcodes,
    emu_warp_opcodes,
    emu_reduce_opcodes,
    emu_matrix_opcodes,
    NULL,
};

/* What decoding one function needs besides the program. */
struct context {
    struct emu_decoder decoder; /* first, so that a decoder leads here */
    emu_variable_address address;
    void *address_context;
    uint64_t *variable_value; /* offset of shared and parameter variables, by variable */
    uint32_t constant_hash[1024]; /* index + 1 in program->constants; chains by next */
    uint32_t *constant_next;
};

static struct context *context_of(struct emu_decoder *decoder)
{
    return (struct context *)(void *)decoder;
}

bool emu_decode_fail(struct emu_decoder *decoder, const char *format, ...)
{
    struct emu_text text = {0};
    va_list args;
    va_start(args, format);
    emu_text_addv(&text, format, args);
    va_end(args);
    struct emu_text location = {0};
    ptx_describe_full_location(decoder->program->module, &decoder->source->location,
                               &location);
    emu_fail(decoder->error, "%s: %s: %s", emu_text_get(&location), decoder->source->opcode,
             emu_text_get(&text));
    emu_text_free(&location);
    emu_text_free(&text);
    return false;
}

void *emu_decode_alloc(struct emu_decoder *decoder, size_t bytes)
{
    return emu_arena_alloc(&decoder->program->arena, bytes);
}

/* ----------------------------------------------------------------------------- words */

static bool is_taken(const struct emu_decoder *decoder, unsigned word)
{
    return (decoder->taken >> word & 1) != 0;
}

bool emu_take(struct emu_decoder *decoder, const char *word)
{
    return emu_take_one_of(decoder, &word, 1) == 0;
}

int emu_take_one_of(struct emu_decoder *decoder, const char *const *words, unsigned count)
{
    for (unsigned i = 0; i < decoder->source->word_count; i++) {
        for (unsigned j = 0; j < count && !is_taken(decoder, i); j++) {
            if (strcmp(decoder->source->words[i], words[j]) == 0) {
                decoder->taken |= UINT64_C(1) << i;
                return (int)j;
            }
        }
    }
    return -1;
}

enum emu_scope emu_take_scope(struct emu_decoder *decoder)
{
    static const char *const words[] = {"cta", "cluster", "gpu", "sys"};
    static const enum emu_scope scopes[] = {EMU_SCOPE_CTA, EMU_SCOPE_CLUSTER, EMU_SCOPE_GPU,
                                            EMU_SCOPE_GPU};
    int word = emu_take_one_of(decoder, words, 4);
    return word < 0 ? EMU_SCOPE_NONE : scopes[word];
}

const char *emu_take_prefix(struct emu_decoder *decoder, const char *prefix)
{
    size_t length = strlen(prefix);
    for (unsigned i = 0; i < decoder->source->word_count; i++) {
        if (!is_taken(decoder, i) &&
            strncmp(decoder->source->words[i], prefix, length) == 0) {
            decoder->taken |= UINT64_C(1) << i;
            return decoder->source->words[i] + length;
        }
    }
    return NULL;
}

bool emu_take_type(struct emu_decoder *decoder, enum ptx_type *ret_type)
{
    for (unsigned i = 0; i < decoder->source->word_count; i++) {
        if (!is_taken(decoder, i) && ptx_type_of(decoder->source->words[i], ret_type)) {
            decoder->taken |= UINT64_C(1) << i;
            return true;
        }
    }
    return false;
}

bool emu_need_type(struct emu_decoder *decoder, enum ptx_type *ret_type)
{
    return emu_take_type(decoder, ret_type) || emu_decode_fail(decoder, "it has no type");
}

/* -------------------------------------------------------------------------- operands */

/* Unless it is an address, or the instruction has no result. */
bool emu_insn_has_result(const struct ptx_insn *insn)
{
    static const char *const without[] = {"bar", "barrier", "tcgen05", "nanosleep",
                                          "setmaxnreg"};
    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
        if (strcmp(insn->words[0], without[i]) == 0) {
            return false;
        }
    }
    return insn->operand_count > 0 && insn->operands[0].kind != PTX_ADDRESS &&
           insn->operands[0].kind != PTX_TENSOR;
}

unsigned emu_operand_count(const struct emu_decoder *decoder)
{
    return decoder->source->operand_count;
}

const struct ptx_operand *emu_operand(struct emu_decoder *decoder, unsigned index)
{
    static const struct ptx_operand none = {.kind = PTX_SINK};
    return index < decoder->source->operand_count ? &decoder->source->operands[index]
                                                  : &none;
}

bool emu_need_operands(struct emu_decoder *decoder, unsigned least, unsigned most)
{
    unsigned count = decoder->source->operand_count;
    if (count >= least && count <= most) {
        return true;
    }
    return least == most
               ? emu_decode_fail(decoder, "it has %u operands, not %u", count, least)
               : emu_decode_fail(decoder, "it has %u operands, not %u to %u", count, least,
                                 most);
}

static enum ptx_type register_type(const struct emu_decoder *decoder, uint32_t index)
{
    return decoder->program->function->registers[index].type;
}

static bool plain_register(struct emu_decoder *decoder, const struct ptx_operand *operand,
                           bool predicate)
{
    if (operand->kind != PTX_REGISTER || operand->negated) {
        return emu_decode_fail(decoder, "an operand is not a register");
    }
    if ((register_type(decoder, operand->index) == PTX_PRED) != predicate) {
        return emu_decode_fail(decoder, "%s is %sa predicate",
                               decoder->program->function->registers[operand->index].name,
                               predicate ? "not " : "");
    }
    return true;
}

bool emu_operand_dst(struct emu_decoder *decoder, const struct ptx_operand *operand,
                     uint32_t *ret_slot)
{
    if (operand->kind == PTX_SINK) {
        *ret_slot = EMU_NO_SLOT;
        return true;
    }
    if (!plain_register(decoder, operand, false)) {
        return false;
    }
    *ret_slot = decoder->program->register_slots[operand->index];
    return true;
}

static uint32_t constant_slot(struct context *context, enum emu_constant_kind kind,
                              uint64_t value)
{
    struct emu_program *program = context->decoder.program;
    uint32_t bucket = (uint32_t)(emu_mix(value, kind) % 1024);
    for (uint32_t i = context->constant_hash[bucket]; i != 0;
         i = context->constant_next[i - 1]) {
        if (program->constants[i - 1].value == value &&
            program->constants[i - 1].kind == kind) {
            return program->constants[i - 1].slot;
        }
    }
    size_t count = program->constant_count;
    EMU_GROW(program->constants, count);
    EMU_GROW(context->constant_next, count);
    program->constants[count] = (struct emu_constant){program->slot_count++, kind, value};
    context->constant_next[count] = context->constant_hash[bucket];
    context->constant_hash[bucket] = (uint32_t)++program->constant_count;
    return program->constants[count].slot;
}

/* A slot that always holds this value. */
static uint32_t slot_of_value(struct emu_decoder *decoder, uint64_t value)
{
    return constant_slot(context_of(decoder), EMU_CONSTANT_VALUE, value);
}

static uint64_t cut(uint64_t value, unsigned bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static bool variable_slot(struct emu_decoder *decoder, uint32_t index, int64_t addend,
                          uint32_t *ret_slot)
{
    struct context *context = context_of(decoder);
    const struct ptx_variable *variable = &decoder->program->module->variables[index];
    if (variable->space == PTX_GLOBAL || variable->space == PTX_CONST) {
        uint64_t base = context->address(context->address_context, index);
        if (base == 0) {
            return emu_decode_fail(decoder, "variable %s has no address (is it extern?)",
                                   variable->name);
        }
        *ret_slot = slot_of_value(decoder, base + (uint64_t)addend);
        return true;
    }
    uint64_t value = context->variable_value[index] + (uint64_t)addend;
    *ret_slot = constant_slot(
        context, variable->space == PTX_SHARED ? EMU_CONSTANT_SHARED : EMU_CONSTANT_VALUE,
        value);
    return true;
}

bool emu_operand_src(struct emu_decoder *decoder, const struct ptx_operand *operand,
                     unsigned bits, uint32_t *ret_slot)
{
    float single = 0;
    double full = 0;
    uint32_t single_bits = 0;
    switch (operand->kind) {
    case PTX_REGISTER:
        if (!plain_register(decoder, operand, false)) {
            return false;
        }
        *ret_slot = decoder->program->register_slots[operand->index];
        return true;
    case PTX_INTEGER:
    case PTX_FLOAT32:
        *ret_slot = slot_of_value(decoder, cut((uint64_t)operand->value, bits));
        return true;
    case PTX_FLOAT64:
        if (bits == 64) {
            *ret_slot = slot_of_value(decoder, (uint64_t)operand->value);
            return true;
        }
        if (bits != 32) {
            return emu_decode_fail(decoder, "a decimal constant in a %u-bit place", bits);
        }
        memcpy(&full, &operand->value, sizeof(full));
        single = (float)full;
        memcpy(&single_bits, &single, sizeof(single_bits));
        *ret_slot = slot_of_value(decoder, single_bits);
        return true;
    case PTX_VARIABLE:
        return variable_slot(decoder, operand->index, operand->value, ret_slot);
    case PTX_SPECIAL:
        return emu_decode_fail(decoder, "special register %s as an operand", operand->text);
    default:
        return emu_decode_fail(decoder, "an operand is neither a register nor a constant");
    }
}

bool emu_operand_predicate(struct emu_decoder *decoder, const struct ptx_operand *operand,
                           uint32_t *ret_predicate, bool *ret_negated)
{
    if (operand->kind == PTX_SINK) {
        *ret_predicate = EMU_NO_PREDICATE;
        if (ret_negated != NULL) {
            *ret_negated = false;
        }
        return true;
    }
    struct ptx_operand plain = *operand;
    plain.negated = false;
    if (!plain_register(decoder, &plain, true)) {
        return false;
    }
    if (ret_negated == NULL && operand->negated) {
        return emu_decode_fail(decoder, "a negated predicate where none can be");
    }
    if (ret_negated != NULL) {
        *ret_negated = operand->negated;
    }
    *ret_predicate = decoder->program->register_slots[operand->index];
    return true;
}

bool emu_operand_address(struct emu_decoder *decoder, const struct ptx_operand *operand,
                         uint32_t *ret_slot, int64_t *ret_offset)
{
    if (operand->kind != PTX_ADDRESS) {
        return emu_decode_fail(decoder, "an operand is not an [address]");
    }
    *ret_offset = operand->value;
    return emu_operand_src(decoder, &operand->elements[0], 64, ret_slot);
}

bool emu_operand_integer(struct emu_decoder *decoder, const struct ptx_operand *operand,
                         int64_t *ret_value)
{
    if (operand->kind != PTX_INTEGER) {
        return emu_decode_fail(decoder, "an operand is not an integer constant");
    }
    *ret_value = operand->value;
    return true;
}

bool emu_operand_vector(struct emu_decoder *decoder, const struct ptx_operand *operand,
                        bool dst, unsigned bits, uint32_t **ret_slots, uint32_t *ret_count)
{
    const struct ptx_operand *elements = operand;
    unsigned count = 1;
    if (operand->kind == PTX_VECTOR) {
        elements = operand->elements;
        count = operand->count;
    }
    uint32_t *slots = emu_decode_alloc(decoder, count * sizeof(*slots));
    for (unsigned i = 0; i < count; i++) {
        if (!(dst ? emu_operand_dst(decoder, &elements[i], &slots[i])
                  : emu_operand_src(decoder, &elements[i], bits, &slots[i]))) {
            return false;
        }
    }
    *ret_slots = slots;
    *ret_count = count;
    return true;
}

unsigned emu_operand_bits(const struct emu_decoder *decoder,
                          const struct ptx_operand *operand)
{
    return operand->kind == PTX_REGISTER
               ? 8 * ptx_type_bytes(register_type(decoder, operand->index))
               : 0;
}

/* -------------------------------------------------------------------------- programs */

static void lay_out_registers(struct emu_program *program)
{
    const struct ptx_function *function = program->function;
    program->register_slots = emu_arena_alloc(
        &program->arena, function->register_count * sizeof(*program->register_slots));
    for (uint32_t i = 0; i < function->register_count; i++) {
        switch (function->registers[i].type) {
        case PTX_PRED:
            program->register_slots[i] = program->predicate_count++;
            break;
        case PTX_B128:
            program->register_slots[i] = program->slot_count;
            program->slot_count += 2;
            break;
        default:
            program->register_slots[i] = program->slot_count++;
            break;
        }
    }
}

static void mark_variables(const struct ptx_operand *operand, bool *used)
{
    if (operand->kind == PTX_VARIABLE) {
        used[operand->index] = true;
    }
    for (unsigned i = 0; i < operand->count; i++) {
        mark_variables(&operand->elements[i], used);
    }
}

/* Shared variables that the function names: static ones in a row, then the unsized extern
 * ones, which all begin where dynamic shared memory begins. */
static bool lay_out_variables(struct context *context)
{
    struct emu_program *program = context->decoder.program;
    const struct ptx_module *module = program->module;
    const struct ptx_function *function = program->function;
    bool *used = emu_alloc(module->variable_count);
    for (uint32_t i = 0; i < function->insn_count; i++) {
        for (unsigned j = 0; j < function->insns[i].operand_count; j++) {
            mark_variables(&function->insns[i].operands[j], used);
        }
    }
    uint64_t next = EMU_SHARED_FIRST;
    program->dynamic_shared_align = 16;
    for (uint32_t i = 0; i < module->variable_count; i++) {
        const struct ptx_variable *variable = &module->variables[i];
        context->variable_value[i] = variable->offset;
        if (variable->space != PTX_SHARED || !used[i]) {
            continue;
        }
        if (variable->bytes == 0) {
            if (variable->alignment > program->dynamic_shared_align) {
                program->dynamic_shared_align = (uint32_t)variable->alignment;
            }
        } else {
            next = emu_align_up(next, variable->alignment);
            context->variable_value[i] = next;
            next += variable->bytes;
        }
    }
    bool fits = next <= UINT64_C(1) << 20;
    if (fits) {
        program->static_shared_bytes = (uint32_t)next - EMU_SHARED_FIRST;
        uint64_t dynamic = emu_align_up(next, program->dynamic_shared_align);
        for (uint32_t i = 0; i < module->variable_count; i++) {
            if (module->variables[i].space == PTX_SHARED &&
                module->variables[i].bytes == 0) {
                context->variable_value[i] = dynamic;
            }
        }
    } else {
        emu_fail(context->decoder.error, "%s: %llu bytes of static shared memory",
                 function->name, (unsigned long long)next);
    }
    /* .param variables of the body live behind the .local ones of each lane. */
    for (uint32_t i = 0; i < function->param_count; i++) {
        used[function->params[i]] = false;
    }
    for (uint32_t i = 0; i < module->variable_count; i++) {
        if (module->variables[i].space == PTX_PARAM && used[i]) {
            context->variable_value[i] = EMU_CALL_PARAM | module->variables[i].offset;
        }
    }
    emu_free(used);
    return fits;
}

/* Looks for a longer match than *best, which may be NULL. */
static void search_tables(const struct emu_opcode *const *tables,
                          const struct ptx_insn *source, const struct emu_opcode **best)
{
    size_t best_length = *best == NULL ? 0 : strlen((*best)->name);
    for (; *tables != NULL; tables++) {
        for (const struct emu_opcode *opcode = *tables; opcode->name != NULL; opcode++) {
            if (opcode->name[0] != source->opcode[0]) {
                continue;
            }
            size_t length = strlen(opcode->name);
            if (length > best_length &&
                strncmp(opcode->name, source->opcode, length) == 0 &&
                (source->opcode[length] == '.' || source->opcode[length] == 0)) {
                *best = opcode;
                best_length = length;
            }
        }
    }
}

/* The opcode whose name is the longest leading part of the instruction's words. */
static const struct emu_opcode *find_opcode(const struct emu_program *program,
                                            const struct ptx_insn *source)
{
    const struct emu_opcode *best = NULL;
    search_tables(own_tables, source, &best);
    for (const struct emu_unit *const *unit = program->units; *unit != NULL; unit++) {
        search_tables((*unit)->opcodes, source, &best);
    }
    return best;
}

static bool decode_insn(struct context *context, uint32_t index)
{
    struct emu_decoder *decoder = &context->decoder;
    struct emu_program *program = decoder->program;
    const struct ptx_insn *source = &program->function->insns[index];
    struct emu_insn *insn = &program->insns[index];
    decoder->source = source;
    decoder->insn = insn;
    decoder->taken = 0;
    insn->source = source;
    insn->index = index;
    insn->vector = 1;
    insn->guard = EMU_NO_PREDICATE;
    insn->dst = insn->dst2 = EMU_NO_SLOT;
    for (unsigned i = 0; i < sizeof(insn->src) / sizeof(insn->src[0]); i++) {
        insn->src[i] = EMU_NO_SLOT;
    }
    if (source->guard != PTX_NO_GUARD) {
        insn->guard = program->register_slots[source->guard];
        insn->guard_negated = source->guard_negated;
    }
    const struct emu_opcode *opcode = find_opcode(program, source);
    if (opcode == NULL) {
        return emu_decode_fail(decoder, "this opcode is not supported");
    }
    if (source->word_count > 64) {
        return emu_decode_fail(decoder, "it has more than 64 qualifiers");
    }
    if (!emu_target_check(decoder)) {
        return false;
    }
    for (const char *c = opcode->name; c != NULL; c = strchr(c + 1, '.')) {
        decoder->taken = decoder->taken << 1 | 1;
    }
    insn->aligned = emu_take(decoder, "aligned");
    if (!opcode->decode(decoder)) {
        return emu_decode_fail(decoder, "not supported");
    }
    for (unsigned i = 0; i < source->word_count; i++) {
        if (!is_taken(decoder, i)) {
            return emu_decode_fail(decoder, "qualifier .%s is not supported here",
                                   source->words[i]);
        }
    }
    if (strncmp(source->opcode, "clusterlaunchcontrol", 20) == 0) {
        program->uses_launch_control = true;
    }
    return true;
}

struct emu_program *emu_program_decode(const struct ptx_module *module,
                                       const struct ptx_function *function,
                                       const struct emu_unit *const *units,
                                       emu_variable_address address, void *context,
                                       struct emu_error *error)
{
    struct emu_program *program = emu_alloc(sizeof(*program));
    struct context *state = emu_alloc(sizeof(*state));
    program->module = module;
    program->function = function;
    program->units = units;
    program->insn_count = function->insn_count;
    program->insns = emu_arena_alloc(&program->arena,
                                     (program->insn_count + 1) * sizeof(*program->insns));
    state->decoder.program = program;
    state->decoder.error = error;
    state->address = address;
    state->address_context = context;
    state->variable_value = emu_alloc(module->variable_count * sizeof(uint64_t));
    lay_out_registers(program);
    bool good =
        emu_target_check_function(module, function, error) && lay_out_variables(state);
    for (uint32_t i = 0; good && i < program->insn_count; i++) {
        good = decode_insn(state, i);
    }
    emu_free(state->variable_value);
    emu_free(state->constant_next);
    emu_free(state);
    if (!good) {
        emu_program_free(program);
        return NULL;
    }
    return program;
}

void emu_program_free(struct emu_program *program)
{
    if (program != NULL) {
        emu_free(program->constants);
        emu_arena_free(&program->arena);
        emu_free(program);
    }
}
