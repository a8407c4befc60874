/* SPDX-License-Identifier: MIT */
/*
 * The table of targets and versions. It follows the "PTX ISA Notes" and "Target ISA Notes"
 * of the PTX ISA; where ptxas takes more than they say, it follows ptxas, so that what
 * assembles also runs here.
 */
#include "exec/target.h"

#include <stdlib.h>
#include <string.h>

/* What the operands say besides the words. */
enum operands {
    ANY,
    COUNT,        /* there are three of them, the last a count, without .noComplete */
    FOUR,         /* there are four of them */
    LAST_CONSTANT /* the last one is an integer constant */
};

/*
 * `names`: leading words of an opcode, a special register, or a directive; "a|b" is either,
 * "" is every opcode. `words`: that all of these follow, in any order; "a.b" is a, and b
 * behind it; "a|b" is either, and "x*" is every word that begins with x. `needs`:
 * VERSION:TARGET, one of which must hold. TARGET is 90+ for sm_90 and everything above it,
 * 90a for sm_90a alone, and 100f for sm_100a, sm_100f, and later ones of the same family
 * that have an a or f. sm_101 is the older name of sm_110. All rows that fit an instruction
 * must hold.
 */
struct row {
    const char *names, *words, *needs;
    enum operands operands;
};

#define HALVES   "f16|f16x2"
#define BF16S    "bf16|bf16x2"
#define NOT_BF16 "u8|s8|u16|s16|u32|s32|u64|s64|f16|f64"
#define BLOCKS   "8.6:100f 8.6:110f 8.6:120f"
#define PAIRS    "8.6:100f 8.6:110f"
#define WAITS    "mbarrier.test_wait|mbarrier.try_wait"
#define ARRIVES  "mbarrier.arrive|mbarrier.arrive_drop"
#define CLUSTER_REGISTERS                                                     \
    "%clusterid|%nclusterid|%cluster_ctaid|%cluster_nctaid|%cluster_ctarank|" \
    "%cluster_nctarank|%is_explicit_cluster"

static const struct row rows[] = {
    /* Arithmetic, logic, comparisons. */
    {"add|sub|mul|mad|mul24|mad24|sad|div|rem|abs|neg|min|max|set|setp|selp|slct", "",
     "1.0:10+", ANY},
    {"and|or|xor|not|cnot|shl|shr|mov|cvt", "", "1.0:10+", ANY},
    {"rcp|sqrt|rsqrt|sin|cos|lg2|ex2|fma", "", "1.0:10+", ANY},
    {"addc|subc", "", "1.2:10+", ANY},
    {"madc", "", "3.0:20+", ANY},
    {"popc|clz|bfind|brev|bfe|bfi|prmt|testp|copysign", "", "2.0:20+", ANY},
    {"shf", "", "3.1:32+", ANY},
    {"lop3", "", "4.3:50+", ANY},
    {"dp4a|dp2a", "", "5.0:61+", ANY},
    {"fns", "", "6.0:30+", ANY},
    {"szext|bmsk", "", "7.6:70+", ANY},
    {"tanh", "", "7.0:75+", ANY},
    {"add|sub|mul|fma|set|setp", HALVES, "4.2:53+", ANY},
    {"add|sub|mul|set|setp", BF16S, "7.8:90+", ANY},
    {"add|sub|fma", "f32.f16|bf16", "8.6:100+", ANY},
    {"add|sub|mul|fma", "f32x2", "8.6:100+", ANY},
    {"add|min|max", "u16x2|s16x2", "8.0:90+", ANY},
    {"fma", BF16S, "7.0:80+", ANY},
    {"fma", "relu", "7.0:80+", ANY},
    {"neg", HALVES, "6.0:53+", ANY},
    {"abs", HALVES, "6.5:53+", ANY},
    {"neg|abs", BF16S, "7.0:80+", ANY},
    {"min|max", HALVES "|" BF16S, "7.0:80+", ANY},
    {"min|max", "NaN", "7.0:80+", ANY},
    {"min|max", "xorsign", "7.2:86+", ANY},
    {"min|max", "relu s32", "8.0:90+", ANY},
    {"min|max", "", "8.8:100+", FOUR},
    {"ex2", HALVES, "7.0:75+", ANY},
    {"ex2|tanh", BF16S, "7.8:90+", ANY},

    /* Conversions. */
    {"cvt", "relu", "7.0:80+", ANY},
    {"cvt", "f16x2.f32", "7.0:80+", ANY},
    {"cvt", BF16S "|tf32", "7.0:80+", ANY},
    {"cvt", "f32.bf16", "7.1:80+", ANY},
    {"cvt", "bf16." NOT_BF16 "|bf16", "7.8:90+", ANY},
    {"cvt", NOT_BF16 ".bf16", "7.8:90+", ANY},
    {"cvt", "satfinite " HALVES "|" BF16S "|tf32.f32", "8.1:10+", ANY},
    {"cvt", "rn|rz tf32", "7.8:90+", ANY},
    {"cvt", "rn|rz satfinite tf32", "8.6:100+", ANY},
    {"cvt", "e4m3x2|e5m2x2", "7.8:90+ 8.1:89+", ANY},
    {"cvt", "e2m1x2|e2m3x2|e3m2x2|ue8m0x2", BLOCKS, ANY},
    {"cvt", "rs", "8.7:100a 8.8:103a", ANY},
    {"cvt.pack", "", "6.5:72+", ANY},
    {"cvt.pack", "u4|s4|u2|s2", "6.5:75+", ANY},

    /* Control, and lanes of a warp. */
    {"bra|ret|exit|trap|brkpt|call|membar|bar", "", "1.0:10+", ANY},
    {"bar|barrier", "cta", "7.8:20+", ANY},
    {"barrier", "", "6.0:30+", ANY},
    {"bar.warp", "", "6.0:30+", ANY},
    {"nanosleep", "", "6.3:70+", ANY},
    {"activemask", "", "6.2:30+", ANY},
    {"shfl|vote", "", "6.0:30+", ANY},
    {"match", "", "6.0:70+", ANY},
    {"elect", "", "8.0:90+", ANY},
    {"redux", "", "7.0:80+", ANY},
    {"redux", "f32", "8.6:100f", ANY},
    {"setmaxnreg", "", "8.0:90a " BLOCKS, ANY},
    {"griddepcontrol", "", "7.8:90+", ANY},

    /* Memory. */
    {"", "shared::cta", "7.8:30+", ANY},
    {"", "shared::cluster", "7.8:90+", ANY},
    {"", "L2::cache_hint", "7.4:80+", ANY},
    {"ld|st", "", "1.0:10+", ANY},
    {"ldu|cvta|isspacep|prefetch|prefetchu", "", "2.0:20+", ANY},
    {"atom|red", "", "1.1:11+", ANY},
    {"createpolicy", "", "7.4:80+", ANY},
    {"ld|st|atom|red", "weak|relaxed|acquire|release|acq_rel", "6.0:70+", ANY},
    {"ld|st|atom|red|fence", "cluster", "7.8:90+", ANY},
    {"ld|st|mov", "b128", "8.3:70+", ANY},
    {"ld|st", "L1::*", "7.4:70+", ANY},
    {"ld|st", "L2::evict_*", "8.8:100+", ANY},
    {"ld|st", "v8", "8.8:100+", ANY},
    {"ld|st", "v4 b64|u64|s64|f64", "8.8:100+", ANY},
    {"ld|st", "mmio", "8.2:70+", ANY},
    {"ld|cp.async", "L2::64B|L2::128B", "7.4:75+", ANY},
    {"ld|cp.async", "L2::256B", "7.4:80+", ANY},
    {"ld|st", "param::entry|param::func", "8.3:10+", ANY},
    {"cvta|isspacep", "param|param::entry", "7.7:70+", ANY},
    {"prefetch", "L2::evict_*", "7.4:80+", ANY},
    {"prefetch", "tensormap", "8.0:90+", ANY},
    {"atom|red", "cta|gpu|sys", "5.0:60+", ANY},
    {"atom|red", "f64", "5.0:60+", ANY},
    {"atom|red", "noftz f16x2", "6.2:60+", ANY},
    {"atom|red", "noftz f16", "6.3:70+", ANY},
    {"atom", "cas b16", "6.3:70+", ANY},
    {"atom|red", BF16S, "7.8:90+", ANY},
    {"atom|red", "v2|v4|v8", "8.1:90+", ANY},
    {"atom", "b128", "8.3:90+", ANY},
    {"fence", "", "6.0:70+", ANY},
    {"fence", "mbarrier_init", "8.0:90+", ANY},
    {"fence", "sync_restrict::*", "8.6:90+", ANY},
    {"fence.proxy|membar.proxy", "", "7.5:60+", ANY},
    {"fence.proxy", "async|async::*", "8.0:90+", ANY},
    {"fence.proxy", "tensormap::generic", "8.3:90+", ANY},

    /* Clusters, barriers in shared memory, asynchronous copies. */
    {"mapa|getctarank|barrier.cluster", "", "7.8:90+", ANY},
    {"barrier.cluster", "acquire|release|relaxed", "8.0:90+", ANY},
    {"mbarrier", "", "7.0:80+", ANY},
    {"mbarrier", "cluster|shared::cluster", "8.0:90+", ANY},
    {"mbarrier.test_wait", "parity", "7.1:80+", ANY},
    {"mbarrier.try_wait", "", "7.8:90+", ANY},
    {"mbarrier.expect_tx|mbarrier.complete_tx", "", "8.0:90+", ANY},
    {ARRIVES, "expect_tx", "8.0:90+", ANY},
    {ARRIVES, "", "7.8:90+", COUNT},
    {ARRIVES "|" WAITS, "acquire|release", "8.0:80+", ANY},
    {ARRIVES "|" WAITS, "relaxed", "8.6:90+", ANY},
    {"cp.async", "", "7.0:80+", ANY},
    {"cp.async.bulk|cp.reduce.async.bulk", "", "8.0:90+", ANY},
    {"cp.async.bulk", "shared::cta.global", "8.6:90+", ANY},
    {"cp.async.bulk", "cp_mask", "8.6:100+", ANY},
    {"cp.async.bulk.tensor", "cta_group::1|cta_group::2", PAIRS, ANY},
    {"cp.async.bulk.tensor", "shared::cluster.global tile::gather4|im2col::w", PAIRS, ANY},
    {"cp.async.bulk.tensor", "shared::cta.global tile::gather4|im2col::w", "8.6:100+", ANY},
    {"cp.async.bulk.tensor", "tile::scatter4|im2col::w::128", PAIRS, ANY},
    {"cp.async.bulk.prefetch.tensor", "tile::gather4|im2col::w|im2col::w::128", PAIRS, ANY},
    {"st.async|red.async", "", "8.1:90+", ANY},
    {"st.async|red.async", "mmio|release|global|gpu|sys", "8.7:100+", ANY},
    {"tensormap.cp_fenceproxy", "", "8.3:90+", ANY},
    {"tensormap.replace", "", "8.3:90a " BLOCKS, ANY},
    {"tensormap.replace", "swizzle_atomicity", BLOCKS, ANY},
    {"clusterlaunchcontrol", "", "8.6:100+", ANY},
    {"clusterlaunchcontrol.try_cancel", "multicast::cluster::all", BLOCKS, ANY},

    /* Matrices. */
    {"ldmatrix", "", "6.5:75+", ANY},
    {"ldmatrix", "m16n16|m8n16", BLOCKS, ANY},
    {"stmatrix", "", "7.8:90+", ANY},
    {"stmatrix", "m16n8", BLOCKS, ANY},
    {"mma", "", "6.4:70+", ANY},
    {"mma", "m16n8k8", "6.5:75+", ANY},
    {"mma", "m16n8k4|m16n8k16|m16n8k32|m16n8k64", "7.0:80+", ANY},
    {"mma", "bf16|tf32", "7.0:80+", ANY},
    {"mma", "e4m3|e5m2", "8.4:89+", ANY},
    {"wgmma", "", "8.0:90a", ANY},
    {"wgmma.mma_async", "u8.s8", "8.4:90a", ANY},
    {"wgmma.mma_async", "s8.u8", "8.4:90a", ANY},
    {"tcgen05", "", PAIRS, ANY},
    {"tcgen05.shift", "", "8.6:100a 8.8:103a 8.6:110a", ANY},
    {"tcgen05.mma", "kind::i8", "8.6:100a 8.6:110a", ANY},
    {"tcgen05.mma", "scale_vec::1X|scale_vec::2X|scale_vec::4X", "8.6:100a", ANY},
    {"tcgen05.mma", "block16|block32", "8.8:100f 8.8:110f", ANY},
    {"tcgen05.mma", "", "8.6:100f", LAST_CONSTANT}, /* scale-input-d */

    /* Special registers. */
    {"%lanemask_eq|%lanemask_lt|%lanemask_le|%lanemask_gt|%lanemask_ge", "", "2.0:20+",
     ANY},
    {"%clock64", "", "2.0:20+", ANY},
    {"%globaltimer|%globaltimer_lo|%globaltimer_hi", "", "3.1:30+", ANY},
    {"%total_smem_size|%dynamic_smem_size", "", "4.1:20+", ANY},
    {CLUSTER_REGISTERS, "", "7.8:90+", ANY},
    {"%aggr_smem_size", "", "8.1:90+", ANY},

    /* Directives. */
    {".explicitcluster|.reqnctapercluster|.maxclusterrank", "", "7.8:90+", ANY},
};

/* ---------------------------------------------------------------------------- the texts */

struct span {
    const char *start;
    size_t length;
};

/* The part of *rest before the separator, which is stepped over; an empty rest has none. */
static bool next_part(struct span *rest, char separator, struct span *ret_part)
{
    if (rest->length == 0) {
        return false;
    }
    const char *end = memchr(rest->start, separator, rest->length);
    const size_t length = end == NULL ? rest->length : (size_t)(end - rest->start);
    const size_t step = end == NULL ? length : length + 1;
    *ret_part = (struct span){rest->start, length};
    *rest = (struct span){rest->start + step, rest->length - step};
    return true;
}

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

/* Whether the text begins with one of the names, up to its end or a dot. */
static bool is_named(struct span names, const char *text)
{
    struct span name;
    while (next_part(&names, '|', &name)) {
        if (strncmp(text, name.start, name.length) == 0 &&
            (text[name.length] == '.' || text[name.length] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool is_one_of(struct span choices, const char *word)
{
    struct span choice;
    while (next_part(&choices, '|', &choice)) {
        const bool open = choice.start[choice.length - 1] == '*';
        const size_t length = choice.length - open;
        if (strncmp(word, choice.start, length) == 0 && (open || word[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Whether words of the instruction are those of the group, in its order. */
static bool has_group(struct span group, const struct ptx_insn *insn)
{
    struct span choices;
    unsigned at = 1;
    while (next_part(&group, '.', &choices)) {
        while (at < insn->word_count && !is_one_of(choices, insn->words[at])) {
            at++;
        }
        if (at++ >= insn->word_count) {
            return false;
        }
    }
    return true;
}

static bool has_words(const struct row *row, const struct ptx_insn *insn)
{
    struct span rest = span_of(row->words);
    struct span group;
    while (next_part(&rest, ' ', &group)) {
        if (!has_group(group, insn)) {
            return false;
        }
    }
    return true;
}

static bool last_is_constant(const struct ptx_insn *insn)
{
    const unsigned count = insn->operand_count;
    return count > 0 && insn->operands[count - 1].kind == PTX_INTEGER;
}

static bool has_operands(const struct row *row, const struct ptx_insn *insn)
{
    const unsigned count = insn->operand_count;
    switch (row->operands) {
    case COUNT:
        return count == 3 && strstr(insn->opcode, ".noComplete") == NULL;
    case FOUR:
        return count == 4;
    case LAST_CONSTANT:
        return last_is_constant(insn);
    default:
        return true;
    }
}

/* ---------------------------------------------------------------------------- the needs */

struct need {
    unsigned major, minor, sm;
    char kind; /* +, a or f */
};

/* Reads "8.6:100f". */
static struct need read_need(struct span text)
{
    struct need need = {0};
    char *end = NULL;
    need.major = (unsigned)strtoul(text.start, &end, 10);
    need.minor = (unsigned)strtoul(end + 1, &end, 10);
    need.sm = (unsigned)strtoul(end + 1, &end, 10);
    need.kind = *end;
    return need;
}

static bool holds(const struct need *need, const struct ptx_module *module)
{
    const unsigned sm = module->sm == 101 ? 110 : module->sm;
    if (module->version_major < need->major ||
        (module->version_major == need->major && module->version_minor < need->minor)) {
        return false;
    }
    switch (need->kind) {
    case 'a':
        return sm == need->sm && module->sm_suffix == 'a';
    case 'f':
        return sm / 10 == need->sm / 10 && sm >= need->sm && module->sm_suffix != 0;
    default:
        return sm >= need->sm;
    }
}

static bool is_met(const struct row *row, const struct ptx_module *module)
{
    struct span rest = span_of(row->needs);
    struct span text;
    while (next_part(&rest, ' ', &text)) {
        const struct need need = read_need(text);
        if (holds(&need, module)) {
            return true;
        }
    }
    return false;
}

/* " needs sm_90 or higher with PTX 8.0; the module is for sm_80 with PTX 9.0" */
static void describe_need(const struct row *row, const struct ptx_module *module,
                          struct emu_text *text)
{
    struct span rest = span_of(row->needs);
    struct span part;
    const char *before = " needs ";
    while (next_part(&rest, ' ', &part)) {
        const struct need need = read_need(part);
        emu_text_add(text, "%ssm_%u%s with PTX %u.%u", before, need.sm,
                     need.kind == '+'   ? " or higher"
                     : need.kind == 'a' ? "a"
                                        : "a or its family",
                     need.major, need.minor);
        before = ", or ";
    }
    emu_text_add(text, "; the module is for %s with PTX %u.%u", module->target,
                 module->version_major, module->version_minor);
}

/* The words that the row asks for, or "it". */
static void describe_words(const struct row *row, const struct ptx_insn *insn,
                           struct emu_text *text)
{
    for (unsigned i = 1; i < insn->word_count; i++) {
        struct span rest = span_of(row->words);
        struct span group;
        struct span choices;
        bool is_named_here = false;
        while (next_part(&rest, ' ', &group)) {
            while (next_part(&group, '.', &choices)) {
                is_named_here = is_named_here || is_one_of(choices, insn->words[i]);
            }
        }
        if (is_named_here) {
            emu_text_add(text, ".%s", insn->words[i]);
        }
    }
    if (row->words[0] == '\0') {
        emu_text_add(text, "it");
    }
}

/* Rows for the name of a register or directive, which need not be in the table. */
static bool check_name(const struct ptx_module *module, const char *name,
                       struct emu_text *ret_reason)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].names[0] == name[0] && is_named(span_of(rows[i].names), name) &&
            !is_met(&rows[i], module)) {
            emu_text_add(ret_reason, "%s", name);
            describe_need(&rows[i], module, ret_reason);
            return false;
        }
    }
    return true;
}

/* The place for an instruction of that kind, which may hold another. */
static struct emu_checked *find_checked(struct emu_decoder *decoder,
                                        const struct ptx_insn *insn)
{
    const uint64_t hash = emu_mix((uint64_t)(uintptr_t)insn->opcode,
                                  2 * insn->operand_count + last_is_constant(insn));
    return &decoder
                ->checked[hash % (sizeof(decoder->checked) / sizeof(decoder->checked[0]))];
}

static bool check_opcode(const struct ptx_module *module, const struct ptx_insn *insn,
                         struct emu_text *ret_reason)
{
    bool is_known = false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        const bool is_named_here = is_named(span_of(row->names), insn->opcode);
        is_known = is_known || is_named_here;
        if ((is_named_here || row->names[0] == '\0') && has_operands(row, insn) &&
            has_words(row, insn) && !is_met(row, module)) {
            describe_words(row, insn, ret_reason);
            describe_need(row, module, ret_reason);
            return false;
        }
    }
    if (!is_known) {
        emu_text_add(ret_reason, "the table of targets does not name it");
    }
    return is_known;
}

bool emu_target_check(struct emu_decoder *decoder)
{
    const struct ptx_module *module = decoder->program->module;
    const struct ptx_insn *insn = decoder->source;
    struct emu_text reason = {0};
    struct emu_checked *known = find_checked(decoder, insn);
    const bool was_checked = known->opcode == insn->opcode &&
                             known->operands == insn->operand_count &&
                             known->last_is_constant == last_is_constant(insn);
    bool good = was_checked || check_opcode(module, insn, &reason);
    if (good) {
        *known =
            (struct emu_checked){insn->opcode, insn->operand_count, last_is_constant(insn)};
    }
    for (unsigned i = 0; good && i < insn->operand_count; i++) {
        if (insn->operands[i].kind == PTX_SPECIAL) {
            good = check_name(module, insn->operands[i].text, &reason);
        }
    }
    if (!good) {
        emu_decode_fail(decoder, "%s", emu_text_get(&reason));
    }
    emu_text_free(&reason);
    return good;
}

bool emu_target_check_function(const struct ptx_module *module,
                               const struct ptx_function *function, struct emu_error *error)
{
    const char *name = function->explicit_cluster           ? ".explicitcluster"
                       : function->required_cluster[0] != 0 ? ".reqnctapercluster"
                       : function->max_cluster_rank != 0    ? ".maxclusterrank"
                                                            : NULL;
    struct emu_text reason = {0};
    const bool good = name == NULL || check_name(module, name, &reason);
    if (!good) {
        emu_fail(error, "%s: %s", function->name, emu_text_get(&reason));
    }
    emu_text_free(&reason);
    return good;
}
