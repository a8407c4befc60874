# SPDX-License-Identifier: MIT
"""The ways in which test_mutations.py breaks how a kernel multiplies by the scales of blocks: f32
scales, by which what leaves the tensor core is multiplied ("scales: ", "split scales: "). Rules are as
in mutation_rules.py; those of scales by which the tensor core multiplies are in
tensor_scale_rules.py."""
import re

from mutation_rules import (always_ready, drop, drop_text, operand_list, replaced, rewrite,
                            scoped, some, statement, wrong_parity)

# Bytes of GemmParams before those of A's scales and of B's; bytes between rows of the scales of
# the kernels "scales of blocks", and columns of tensor memory of an accumulator: see there.
A_SCALE, B_SCALE = 896, 928
SCALE_ROW = 40
ACCUMULATOR_COLUMNS = 96

COPY = r"cp\.async\.ca\.shared\.global"  # of a scale to a slot
TAKE = r"ld\.shared\.f32"  # of a scale from a slot
FILLED = r"cp\.async\.mbarrier\.arrive\.noinc[\w.:]*"


def offset_by(distance, index=0):
    """Another address: of the operands in brackets, number `index`."""
    def change(guard, opcode, operands):
        ends = [match.start() for match in re.finditer(r"\]", operands)]
        return guard + opcode + operands[:ends[index]] + f"+{distance}" + operands[ends[index]:]
    return change


def copied_bytes(count):
    def change(guard, opcode, operands):
        return f"{guard}{opcode} {', '.join([*operand_list(operands)[:3], str(count)])};"
    return change


def without_step(ptx):
    """A lane goes on with a block's scale instead of the next one's."""
    for copy in statement(COPY).finditer(ptx):
        source = operand_list(copy.group(3))[1].strip("[]")
        for match in statement(r"add\.s64").finditer(ptx, copy.end()):
            if operand_list(match.group(3)) == [source, source, "4"]:
                yield match, replaced(match, "")


def wait_before(pattern, change):
    """The last wait before the first statement of this kind."""
    def places(ptx):
        end = statement(pattern).search(ptx)
        waits = [] if end is None else list(
            statement(r"mbarrier\.try_wait[\w.:]*").finditer(ptx, 0, end.start()))
        for match in waits[-1:]:
            yield match, replaced(match, change(*match.groups()))
    return places


def find_return(ptx, begin):
    """The arrival that gives a slot back, the first from a place on: its warp meets before it."""
    meeting = statement(r"bar\.warp\.sync").search(ptx, begin)
    return meeting and statement(r"mbarrier\.arrive\.(?!expect)[\w.:]*").search(ptx, meeting.end())


def return_after(pattern, change):
    """The arrival that gives a slot back, after the last statement of this kind."""
    def places(ptx):
        begin = max([match.end() for match in statement(pattern).finditer(ptx)], default=len(ptx))
        match = find_return(ptx, begin)
        if match is not None:
            yield match, replaced(match, change(*match.groups()))
    return places


def take_late(ptx):
    """A slot is given back before it is read: the last of the text, which is the loop's. Places of the
    source go: what is inlined refers to them in order."""
    label_line = re.compile(r"^\$L__BB\w+:\n", re.M)
    loads = list(statement(TAKE).finditer(ptx))
    if loads:
        block = max((label.end() for label in label_line.finditer(ptx, 0, loads[-1].start())), default=0)
        loads = [load for load in loads if load.start() >= block]
        first, last = loads[0].start(), loads[-1].end()
        label = label_line.search(ptx, find_return(ptx, last).end())
        moved = re.sub(r"\t\.loc.*\n", "", ptx[first:last] + "\n")
        yield loads[0], lambda ptx: (ptx[:first] + ptx[last:label.end()] + moved +
                                     ptx[label.end():])


def exchange_taken(ptx):
    """Scales of two rows, or of a row and a column, the one for the other."""
    loads = list(statement(TAKE).finditer(ptx))
    for one, other in zip(loads, loads[1:]):
        def swapped(ptx, one=one, other=other):
            (target, source), (next_target, next_source) = (
                operand_list(match.group(3)) for match in (one, other))
            return (ptx[:one.start()] + ptx[one.end():other.start()] +
                    f"\nld.shared.f32 {next_target}, {source};"
                    f"\nld.shared.f32 {target}, {next_source};" + ptx[other.end():])
        yield one, swapped


def arrive_at_once(guard, opcode, operands):
    return f"{guard}mbarrier.arrive.shared::cta.b64 _,{operands}"


def half_the_run(guard, opcode, operands):
    """The row of eight that a place of a slot stands for: of four."""
    target, source, mask = operand_list(operands)
    if mask != "248":
        return None
    return f"{guard}shr.u32 {target}, {source}, 1;\nand.b32 {target}, {target}, 124;"


def longer_rows(ptx):
    """Rows of scales are further apart than they are."""
    for match in re.finditer(r"ld\.param\.v2\.u64\s+\{%\w+, (%\w+)\}, "
                             rf"\[[^]]*\+(?:{A_SCALE}|{B_SCALE})\];", ptx):
        text = f"{match.group(0)}\nadd.s64 {match.group(1)}, {match.group(1)}, 1;"
        yield match, replaced(match, text)


def exchange_parameters(ptx):
    """Addresses and rows of the scales of A are those of B, and the other way round."""
    names = {f"+{x + i}]": f"+{y + i}]" for x, y in ((A_SCALE, B_SCALE), (B_SCALE, A_SCALE))
             for i in (0, 8, 16)}
    pattern = re.compile(r"(?<=ld\.param)(.*)(" + "|".join(map(re.escape, names)) + ")")
    match = pattern.search(ptx)
    if match is not None:
        yield match, lambda ptx: pattern.sub(
            lambda found: found.group(1) + names[found.group(2)], ptx)


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
    """Of the two scales by which a sum is multiplied."""
    def places(ptx):
        taken = {operand_list(match.group(3))[0] for match in statement(TAKE).finditer(ptx)}
        for match in statement(r"mul(?:\.rn)?\.f32").finditer(ptx):
            parts = operand_list(match.group(3))
            if taken.issuperset(parts[1:]):
                yield match, replaced(match, f"{match.group(1)}mov.f32 {parts[0]}, "
                                             f"{parts[index]};")
    return places


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


def starts(change):
    """The predicate by which a product is added to what the accumulator has."""
    def places(ptx):
        for match in re.finditer(r"setp\.ne\.b32 p, (%\w+), 0;", ptx):
            yield match, replaced(match, change)
    return places


SCALE_RULES = {
    "scales: those of the next block of K": rewrite(COPY, offset_by(4, 1)),
    "scales: those of the block of K before": rewrite(COPY, offset_by(-4, 1)),
    "scales: those of the first block of K": without_step,
    "scales: those of the next row": rewrite(COPY, offset_by(SCALE_ROW, 1)),
    "scales: to the next place": rewrite(COPY, offset_by(4)),
    "scales: drop a copy": drop(COPY),
    "split scales: copy beyond the end of K": rewrite(COPY, copied_bytes(4)),
    "scales: hand a slot on before its copies": rewrite(FILLED, arrive_at_once),
    "scales: never hand a slot on": drop(FILLED),
    "scales: an arrival that counts itself": rewrite(
        FILLED, lambda guard, opcode, operands: guard + opcode.replace(".noinc", "") + operands),
    "scales: wait for no empty slot": wait_before(COPY, always_ready),
    "scales: wrong phase of an empty slot": wait_before(COPY, wrong_parity),
    "scales: wait for no full slot": wait_before(TAKE, always_ready),
    "scales: wrong phase of a full slot": wait_before(TAKE, wrong_parity),
    "scales: ask for the next stage in the wrong phase": rewrite(r"mbarrier\.test_wait[\w.:]*",
                                                                 wrong_parity),
    "scales: never give a slot back": return_after(TAKE, drop_text),
    "scales: give a slot back before it is read": take_late,
    "scales: take those of the next row or run": rewrite(TAKE, offset_by(16)),
    "scales: take those of 8 rows on": rewrite(TAKE, offset_by(32)),
    "scales: take those of each other": exchange_taken,
    "scales: places of four rows": rewrite(r"and\.b32", half_the_run),
    "scales: those of A for those of B": exchange_parameters,
    "scales: rows further apart": longer_rows,
    # The last of a lane's places for A: rows of the others do not lie far enough beyond M to leave
    # the guards.
    "scales: no clamp": some(rewrite(r"min\.u32", without_clamp), 3, 8),
    "scales: the factor of another sum": some(take_other_factor, 0, 4),
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
