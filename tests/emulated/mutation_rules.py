# SPDX-License-Identifier: MIT
"""The ways in which test_mutations.py breaks a kernel's PTX. A rule is a function that finds its
places in a text: each gives the match, and a function from the text to the mutant. A rule whose
name begins with "reductions: " or "scales: " is for kernels of that kind only."""
import re


def statement(pattern):
    """A rule's pattern: one statement at the start of a line, perhaps guarded."""
    return re.compile(r"^(\s*(?:@!?%?\w+\s+)?)(" + pattern + r")([^;]*;)", re.M)


def replaced(match, text):
    return lambda ptx: ptx[:match.start()] + text + ptx[match.end():]


def drop(pattern):
    return rewrite(pattern, lambda guard, opcode, operands: "")


def rewrite(pattern, change):
    """`change` gives the new statement from (guard, opcode, operands), or None."""
    def places(ptx):
        for match in statement(pattern).finditer(ptx):
            text = change(match.group(1), match.group(2), match.group(3))
            if text is not None:
                yield match, replaced(match, text)
    return places


def scoped(declaration, guard, body):
    return "{\n" + declaration + "\n" + guard + body + "\n}"


def operand_list(operands):
    """Operands at the top level, split at commas."""
    parts, depth, part = [], 0, ""
    for letter in operands.rstrip("; \t\n"):
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return parts + [part.strip()]


def always_ready(guard, opcode, operands):
    return f"{guard}setp.eq.u32 {operand_list(operands)[0]}, 0, 0;"


def wrong_parity(guard, opcode, operands):
    parts = operand_list(operands)
    parts[2:3] = ["mutant"]
    was = operand_list(operands)[2]
    return (f".reg .b32 mutant;\nxor.b32 mutant, {was}, 1;\n"
            f"{guard}{opcode} {', '.join(parts)};")


def more_bytes(guard, opcode, operands):
    parts = operand_list(operands)
    was, parts[-1] = parts[-1], "mutant"
    return scoped(f".reg .b32 mutant;\nadd.u32 mutant, {was}, 16;", guard,
                  f"{opcode} {', '.join(parts)};")


def one_more(guard, opcode, operands):
    parts = operand_list(operands)
    was, parts[-1] = parts[-1], "mutant"
    return scoped(f".reg .b32 mutant;\nadd.u32 mutant, {was}, 1;", guard,
                  f"{opcode} {', '.join(parts)};")


def later_group(guard, opcode, operands):
    return f"{guard}{opcode} {int(operands.strip(' ;')) + 1};"


def to_one_cta(guard, opcode, operands):
    wide = ".multicast::cluster::all"
    return f"{guard}{opcode.replace(wide, '')}{operands}" if wide in opcode else None


def other_descriptor(index, bits):
    def change(guard, opcode, operands):
        parts = operand_list(operands)
        was, parts[index] = parts[index], "mutant"
        return scoped(f".reg .b64 mutant;\nxor.b64 mutant, {was}, {bits};", guard,
                      f"{opcode} {', '.join(parts)};")
    return change


def other_mask(guard, opcode, operands):
    parts = operand_list(operands)
    was, parts[3] = parts[3], "mutant"
    return scoped(f".reg .b16 mutant;\nxor.b16 mutant, {was}, 1;", guard,
                  f"{opcode} {', '.join(parts)};")


def relaxed(guard, opcode, operands):
    return guard + re.sub("acq_rel|release|acquire", "relaxed", opcode) + operands


def keep_own(guard, opcode, operands):
    """What a lane has itself for what another one has."""
    parts = operand_list(operands)
    return f"{guard}mov.b32 {parts[0].split('|')[0]}, {parts[1]};"


RULES = {
    "drop fence.proxy.async": drop(r"fence\.proxy\.async[\w.:]*"),
    "drop fence.mbarrier_init": drop(r"fence\.mbarrier_init[\w.]*"),
    "drop wgmma.fence": drop(r"wgmma\.fence[\w.]*"),
    "drop wgmma.commit_group": drop(r"wgmma\.commit_group[\w.]*"),
    "drop wgmma.wait_group": drop(r"wgmma\.wait_group[\w.]*"),
    "wait for one wgmma group fewer": rewrite(r"wgmma\.wait_group[\w.]*", later_group),
    "drop tcgen05.fence": drop(r"tcgen05\.fence[\w.:]*"),
    "drop tcgen05.wait": drop(r"tcgen05\.wait[\w.:]*"),
    "drop tcgen05.commit": drop(r"tcgen05\.commit[\w.:]*"),
    "drop mbarrier.arrive": drop(r"mbarrier\.arrive\.(?!expect)[\w.:]*"),
    "drop expect_tx": drop(r"mbarrier\.arrive\.expect_tx[\w.:]*"),
    "expect 16 bytes more": rewrite(r"mbarrier\.arrive\.expect_tx[\w.:]*", more_bytes),
    "one arrival more": rewrite(r"mbarrier\.init[\w.:]*", one_more),
    "wait for nothing": rewrite(r"mbarrier\.try_wait[\w.:]*", always_ready),
    "wrong phase": rewrite(r"mbarrier\.try_wait[\w.:]*", wrong_parity),
    "drop bar.sync": drop(r"(?:bar\.sync|barrier\.sync)[\w.]*"),
    "drop the cluster barrier": drop(r"barrier\.cluster\.(?:arrive|wait)[\w.]*"),
    "drop bulk commit_group": drop(r"cp\.async\.bulk\.commit_group"),
    "drop bulk wait_group": drop(r"cp\.async\.bulk\.wait_group[\w.]*"),
    "drop a copy": drop(r"cp\.async\.bulk\.tensor[\w.:]*"),
    "wrong multicast mask": rewrite(r"cp\.async\.bulk\.tensor[\w.:]*multicast[\w.:]*",
                                    other_mask),
    "drop a request of launch control": drop(r"clusterlaunchcontrol\.try_cancel[\w.:]*"),
    "a response to one CTA": rewrite(r"clusterlaunchcontrol\.try_cancel[\w.:]*", to_one_cta),
    "other swizzle of A": rewrite(r"wgmma\.mma_async[\w.]*",
                                  other_descriptor(1, "0x4000000000000000")),
    "other swizzle of A, tcgen05": rewrite(r"tcgen05\.mma[\w.:]*",
                                           other_descriptor(1, "0x2000000000000000")),
    "other stride of B, tcgen05": rewrite(r"tcgen05\.mma[\w.:]*",
                                          other_descriptor(2, "0x0000000800000000")),
    "release made relaxed": rewrite(r"red\.release[\w.]*", relaxed),
    "acquire made relaxed": rewrite(r"ld\.acquire[\w.]*", relaxed),
    "drop the count of a part": drop(r"red\.release[\w.]*"),
    "drop the clearing of a lock": drop(r"st\.global\.u32"),
    "drop a vector of sums": drop(r"(?:st\.global|ld\.global|red\.[\w.]*add)\.v4\.f32"),
    "free tensor memory early": drop(r"tcgen05\.dealloc[\w.:]*"),
    "reductions: release and acquire made relaxed": rewrite(r"atom\.acq_rel[\w.]*", relaxed),
    "reductions: count one more": rewrite(r"atom\.acq_rel[\w.]*", one_more),
    "reductions: keep one's own": rewrite(r"shfl\.sync\.bfly[\w.]*", keep_own),
    "reductions: drop a store": drop(r"st\.global\.u32"),
    "reductions: drop a value for another warp": drop(r"st\.shared\.f32"),
    "reductions: drop bar.sync": drop(r"(?:bar\.sync|barrier\.sync)[\w.]*"),
    "other stride of B": rewrite(r"wgmma\.mma_async[\w.]*",
                                 other_descriptor(2, "0x0000000800000000")),
}


# ------------------------------------------------------------------------- scales of blocks

# Bytes between rows of the scales of the kernels "scales of blocks", and to the sums of an
# accumulator's neighbour in tensor memory: see there.
SCALE_ROW = 40
ACCUMULATOR_COLUMNS = 32


def some(places, first, step):
    """Every so many of a rule's places."""
    def chosen(ptx):
        return list(places(ptx))[first::step]
    return chosen


def scale_loads(change):
    """Loads of scales: of f32, and not of what may also be a parameter, as alpha is."""
    def places(ptx):
        parameters = set(re.findall(r"ld\.param\.f32\s+(%\w+)", ptx))
        for match in statement(r"ld\.global\.f32").finditer(ptx):
            target = operand_list(match.group(3))[0]
            if target not in parameters:
                yield match, replaced(match, change(*match.groups()))
    return places


def offset_by(distance):
    return lambda guard, opcode, operands: guard + opcode + operands.replace(
        "]", f"+{distance}]")


def exchange_parameters(ptx):
    """Addresses and rows of the scales of A are those of B, and the other way round."""
    a, b = 640, 672  # bytes, of GemmParams
    names = {f"+{x + i}]": f"+{y + i}]" for x, y in ((a, b), (b, a)) for i in (0, 8, 16)}
    pattern = re.compile(r"(?<=ld\.param)(.*)(\+\d+\])")
    match = pattern.search(ptx)
    yield match, lambda ptx: pattern.sub(
        lambda found: found.group(1) + names.get(found.group(2), found.group(2)), ptx)


def take_other_factor(ptx):
    """The factor of another row's or column's sum, where they change."""
    before = None
    for match in statement(r"fma\.rn\.f32").finditer(ptx):
        target, part, factor, whole = operand_list(match.group(3))
        if target == whole:
            if before not in (None, factor):
                yield match, replaced(match, f"{match.group(1)}fma.rn.f32 {target}, {part}, "
                                             f"{before}, {whole};")
            before = factor


def of_sums(make):
    """A promoted sum's multiplication and addition."""
    def change(guard, opcode, operands):
        target, part, factor, whole = operand_list(operands)
        return guard + make(target, part, factor, whole) if target == whole else None
    return rewrite(r"fma\.rn\.f32", change)


def keep_factor(index):
    def change(guard, opcode, operands):
        parts = operand_list(operands)
        return f"{guard}mov.f32 {parts[0]}, {parts[index]};"
    return rewrite(r"mul\.rn\.f32", change)


def keep_scales(ptx):
    """Scales that were loaded ahead are not taken."""
    loads = list(statement(r"ld\.global\.f32").finditer(ptx))
    loaded = {operand_list(match.group(3))[0] for match in loads}
    for match in statement(r"mov\.f32").finditer(ptx, loads[-1].end()):
        if operand_list(match.group(3))[1] in loaded:
            yield match, replaced(match, "")


def without_clamp(guard, opcode, operands):
    parts = operand_list(operands)
    return f"{guard}mov.u32 {parts[0]}, {parts[1]};"


def loads_before_sums(change):
    """Loads of accumulators, which come before the sums are stored."""
    def places(ptx):
        end = ptx.find("tcgen05.st")
        for match in statement(r"tcgen05\.ld[\w.]*").finditer(ptx):
            if match.start() < end:
                yield match, replaced(match, change(*match.groups()))
    return places


def sums_over_accumulator(ptx):
    """The sums lie where the last accumulator does, for all who store or load them."""
    pattern = statement(r"tcgen05\.(?:st|ld)[\w.]*")
    lower = offset_in_register(-ACCUMULATOR_COLUMNS)
    first = next(statement(r"tcgen05\.st[\w.]*").finditer(ptx), None)
    if first is not None:
        begin = first.start()
        yield first, lambda ptx: ptx[:begin] + pattern.sub(
            lambda match: lower(*match.groups()) + "\n", ptx[begin:])


def offset_in_register(distance):
    """The address, which has no room for an offset."""
    def change(guard, opcode, operands):
        address = re.search(r"\[(%\w+)\]", operands).group(1)
        return scoped(f".reg .b32 mutant;\nadd.s32 mutant, {address}, {distance};", guard,
                      opcode + operands.replace(f"[{address}]", "[mutant]"))
    return change


def without_last_barrier(ptx):
    """Tensor memory is freed while others may still read."""
    end = ptx.find("tcgen05.dealloc")
    matches = [match for match in statement(r"(?:bar|barrier)\.sync").finditer(ptx)
               if match.start() < end]
    if matches:
        yield matches[-1], replaced(matches[-1], "")


def give_back_early(ptx):
    """An accumulator is given back before it is read: the arrival, and what guards it, stand
    before the first load. Places of the source go: what is inlined refers to them in order."""
    load = next(loads_before_sums(drop_text)(ptx), None)
    if load is None:
        return
    pattern = re.compile(r"tcgen05\.fence::before_thread_sync;\n(?:.*\n)*?.*mbarrier\.arrive\..*\n"
                         r"(?:.*\n)*?\$L.*\n")
    match = pattern.search(ptx, load[0].end())
    moved = re.sub(r"\t\.loc.*\n", "", match.group(0))
    first = load[0].start()
    yield match, lambda ptx: (ptx[:first] + "\n" + moved + ptx[first:match.start()] +
                              ptx[match.end():])


def drop_text(guard, opcode, operands):
    return ""


def starts(change):
    """The predicate by which a product is added to what the accumulator has."""
    def places(ptx):
        for match in re.finditer(r"setp\.ne\.b32 p, (%\w+), 0;", ptx):
            yield match, replaced(match, change)
    return places


RULES |= {
    "scales: those of the next block of K": scale_loads(offset_by(4)),
    "scales: those of the block of K before": scale_loads(offset_by(-4)),
    "scales: those of the next row": scale_loads(offset_by(SCALE_ROW)),
    "scales: those of 8 rows on": scale_loads(offset_by(8 * SCALE_ROW)),
    "scales: drop a load": scale_loads(drop_text),
    "scales: those of the first block of K": keep_scales,
    "scales: those of A for those of B": exchange_parameters,
    "scales: no clamp": rewrite(r"min\.u32", without_clamp),
    "scales: the factor of another sum": take_other_factor,
    "scales: only those of A": keep_factor(1),
    "scales: only those of B": keep_factor(2),
    "scales: a part without its factor": some(of_sums(
        lambda target, part, factor, whole: f"add.f32 {target}, {part}, {whole};"), 0, 8),
    "scales: a sum begins anew": some(of_sums(
        lambda target, part, factor, whole: f"mul.f32 {target}, {part}, {factor};"), 3, 8),
    "scales: a product is added to those of another block": some(
        starts("setp.eq.b32 p, 0, 0;"), 0, 4),
    "scales: a block's products are lost": some(starts("setp.ne.b32 p, 0, 0;"), 1, 4),
    "scales: drop wgmma.wait_group": drop(r"wgmma\.wait_group[\w.]*"),
    "scales: drop tcgen05.wait::ld": drop(r"tcgen05\.wait::ld[\w.]*"),
    "scales: drop tcgen05.wait::st": drop(r"tcgen05\.wait::st[\w.]*"),
    "scales: the next accumulator": loads_before_sums(offset_in_register(ACCUMULATOR_COLUMNS)),
    "scales: drop a store of sums": drop(r"tcgen05\.st[\w.]*"),
    "scales: sums over an accumulator": sums_over_accumulator,
    "scales: free tensor memory early": without_last_barrier,
    "scales: an accumulator is given back early": give_back_early,
    "scales: drop tcgen05.fence": drop(r"tcgen05\.fence[\w.:]*"),
}


def are_for(rule):
    """The kind of kernels that a rule is for; "" means all others."""
    kind, found, _ = rule.partition(": ")
    return kind if found else ""
