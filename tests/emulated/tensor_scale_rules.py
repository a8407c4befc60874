# SPDX-License-Identifier: MIT
"""The ways in which test_mutations.py breaks how the tensor core multiplies by the scales of MX and
NV, one kind for each of the kernels that say so in mutated_kernels.py: "mx: " of 8-bit floats,
"mx4: " and "nv: " of 4-bit ones, whose stages have several pieces of scales along K, "spread: " of
4-bit beside 8-bit ones, "shared cells: " of stages that take turns with cells. "pairs of scales: " is
what pairs of CTAs add. Rules are as in mutation_rules.py."""
import re

from mutation_rules import (always_ready, drop, drop_text, fence_before_wait, operand_list,
                            other_descriptor, replaced, rewrite, scoped, some, statement,
                            wrong_parity)
from scale_mutation_rules import offset_by, offset_in_register, wait_before

PIECE_COLUMNS = 4  # of tensor memory
B_PIECES = 2  # of the columns of a tile of those kernels
CELLS = r"tcgen05\.cp[\w.:]*"
CLEARED = r"st\.shared(?:::cluster)?\.u(?:8|16)"  # scales behind the end of K
COMMIT = r"tcgen05\.commit[\w.:]*"
SCALED = r"tcgen05\.mma[\w.:]*block_scale"


def other_cells(index, distance):
    """The multiplication reads the scales of A (0) or of B (1) so many columns further."""
    def change(guard, opcode, operands):
        parts = operand_list(operands)
        was = parts[4 + index].strip("[]")
        parts[4 + index] = "[mutant]"
        return scoped(f".reg .b32 mutant;\nadd.u32 mutant, {was}, {distance};", guard,
                      f"{opcode} {', '.join(parts)};")
    return rewrite(SCALED, change)


def exchange_cells(guard, opcode, operands):
    parts = operand_list(operands)
    parts[4], parts[5] = parts[5], parts[4]
    return f"{guard}{opcode} {', '.join(parts)};"


def other_instruction(bits):
    def change(guard, opcode, operands):
        parts = operand_list(operands)
        was, parts[3] = parts[3], "mutant"
        return scoped(f".reg .b32 mutant;\nxor.b32 mutant, {was}, {bits};", guard,
                      f"{opcode} {', '.join(parts)};")
    return rewrite(SCALED, change)


def two_quarters(guard, opcode, operands):
    """A copy to cells reaches each lane's neighbours in two quarters instead of four."""
    return guard + opcode.replace("32x128b.warpx4", "64x128b.warpx2::02_13") + operands


def copy_from(distance):
    """A copy to cells takes what lies so many bytes before."""
    def change(guard, opcode, operands):
        target, source = operand_list(operands)
        return scoped(f".reg .b64 mutant;\nadd.s64 mutant, {source}, -{distance >> 4};", guard,
                      f"{opcode} {target}, mutant;")
    return rewrite(CELLS, change)


def copy_late(ptx):
    """A copy to cells stands behind the multiplications that read them."""
    last = list(statement(SCALED).finditer(ptx))[-1]
    for match in statement(CELLS).finditer(ptx):
        def moved(ptx, match=match):
            return (ptx[:match.start()] + ptx[match.end():last.end()] + match.group(0) +
                    ptx[last.end():])
        yield match, moved


def commit_early(ptx):
    """The commit of a stage's multiplications stands before them."""
    multiplied = list(statement(SCALED).finditer(ptx))
    match = multiplied and statement(COMMIT).search(ptx, multiplied[-1].end())
    copied = statement(CELLS).search(ptx)
    if match:
        yield match, lambda ptx: (ptx[:copied.start()] + match.group(0) + ptx[copied.start():match.start()] +
                                  ptx[match.end():])


def first_cells(ptx):
    """A tile's columns begin where a piece does."""
    for match in statement(SCALED).finditer(ptx):
        cells = operand_list(match.group(3))[5].strip("[]")
        sums = [one for one in statement(r"add\.s32").finditer(ptx, 0, match.start())
                if operand_list(one.group(3))[0] == cells]
        if sums:
            target, first, _ = operand_list(sums[-1].group(3))
            yield sums[-1], replaced(sums[-1], f"\nmov.u32 {target}, {first};")
        return


def piece_loads(change):
    """The last copies of a stage, those of its pieces: of A, and of B."""
    def places(ptx):
        loads = list(statement(r"cp\.async\.bulk\.tensor[\w.:]*complete_tx[\w.:]*").finditer(ptx))
        for match in loads[-2:]:
            yield match, replaced(match, change(*match.groups()))
    return places


def other_place(index, distance):
    """Coordinate `index` of a tensor map, which is a register, is another one. `distance` may be
    a special register."""
    def change(guard, opcode, operands):
        names = re.search(r"\{([^}]*)\}", operands).group(1)
        place = [name.strip() for name in names.split(",")]
        was, place[index] = place[index], "mutant"
        return scoped(f".reg .b32 mutant;\nmov.u32 mutant, {distance};\nadd.s32 mutant, mutant, {was};",
                      guard, opcode + operands.replace(names, ", ".join(place)))
    return change


def other_bytes(count):
    """So many more are announced."""
    def change(guard, opcode, operands):
        parts = operand_list(operands)
        was, parts[-1] = parts[-1], "mutant"
        return scoped(f".reg .b32 mutant;\nadd.s32 mutant, {was}, {count};", guard,
                      f"{opcode} {', '.join(parts)};")
    return rewrite(r"mbarrier\.arrive\.expect_tx[\w.:]*", change)


def cells_over_accumulator(columns):
    """All cells lie lower, those of the first stage in the last accumulator."""
    pattern = statement(f"(?:{CELLS}|{SCALED})")

    def lower(match):
        guard, opcode, operands = match.groups()
        parts = operand_list(operands)
        moved = [i for i, part in enumerate(parts) if part.startswith("[")]
        moved = moved[1:] if "mma" in opcode else moved
        made = ".reg .b32 mutant<2>;"
        for number, i in enumerate(moved):
            made += f"\nadd.s32 mutant{number}, {parts[i].strip('[]')}, -{columns};"
            parts[i] = f"[mutant{number}]"
        return scoped(made, guard, f"{opcode} {', '.join(parts)};")

    def places(ptx):
        first = pattern.search(ptx)
        if first is not None:
            yield first, lambda ptx: pattern.sub(lower, ptx)
    return places


def steps_beyond(ptx):
    """Multiplications of K beyond its end, which are jumped over."""
    jumped = set()
    for match in statement(SCALED).finditer(ptx):
        jumps = list(re.finditer(r"^\s*@%p\d+ bra \t?\$L__BB\w+;", ptx[:match.start()], re.M))
        label = re.search(r"^\$L__BB\w+:", ptx[match.end():], re.M)
        if jumps and label and ptx[jumps[-1].start():jumps[-1].end()].split()[-1] == \
                label.group(0).replace(":", ";") and jumps[-1].start() not in jumped:
            jumped.add(jumps[-1].start())
            yield jumps[-1], replaced(jumps[-1], "")


def first_behind(pattern, other, change):
    """The first statement of this kind behind the last one of the other."""
    def places(ptx):
        others = list(statement(other).finditer(ptx))
        match = others and statement(pattern).search(ptx, others[-1].end())
        if match:
            yield match, replaced(match, change(*match.groups()))
    return places


def clear_own(ptx):
    """Of a pair, the leader clears its own scales twice and the other CTA's never."""
    first = statement(CLEARED).search(ptx)
    maps = list(statement(r"mapa\.shared::cluster\.u32").finditer(ptx, 0, first.start()))
    target, address, _ = operand_list(maps[-1].group(3))
    yield maps[-1], replaced(maps[-1], scoped(
        ".reg .b32 mutant;\nmov.u32 mutant, %cluster_ctarank;", maps[-1].group(1),
        f"{maps[-1].group(2)} {target}, {address}, mutant;"))


def rules_of_end(kind, bits):
    """Those of kernels that clear the scales behind the end of K, of so many bits a row."""
    rules = {
        "scales behind the end are left": drop(CLEARED),
        "scales before the end are cleared": rewrite(CLEARED, offset_by(-bits // 8)),
        "cleared scales are not fenced": first_behind(r"fence\.proxy\.async[\w.:]*", CLEARED,
                                                      drop_text),
        "a stage that was written is not given back": first_behind(
            r"mbarrier\.arrive\.shared::cta[\w.:]*", SCALED, drop_text),
    }
    return {f"{kind}: {rule}": places for rule, places in rules.items()}


def rules_of(kind, k_pieces):
    """Those of a kernel whose stages have so many pieces of scales along K."""
    along_k = (1 + B_PIECES) * PIECE_COLUMNS  # from a piece to the next one along K
    columns = k_pieces * along_k  # of a stage
    rules = {
        "to the cells of another stage": rewrite(CELLS, offset_in_register(columns)),
        "copy to cells of the stage before": copy_from(k_pieces * (1 + B_PIECES) * 512),
        "drop a copy to cells": drop(CELLS),
        "copy to cells late": copy_late,
        "copy to two quarters": rewrite(CELLS, two_quarters),
        "other stride of a piece": rewrite(CELLS, other_descriptor(1, "0x0000001800000000")),
        "A's of another stage": other_cells(0, columns),
        "B's of another stage": other_cells(1, columns),
        "A's for B's": rewrite(SCALED, exchange_cells),
        "columns from a piece's first on": first_cells,
        "a piece of the next blocks of K": piece_loads(other_place(1, 1)),
        "a piece of other rows": piece_loads(other_place(2, 1)),
        "drop the load of a piece": piece_loads(drop_text),
        "bytes of a piece are not announced": other_bytes(-512),
        "wait for no stage": wait_before(CELLS, always_ready),
        # But for the first: the fence before a stage's scales stands for that behind the wait for
        # an accumulator.
        "drop tcgen05.fence": some(drop(r"tcgen05\.fence[\w.:]*"), 1, 1),
        "tcgen05.fence before the wait": some(fence_before_wait, 1, 1),
        "scales over an accumulator": cells_over_accumulator(columns),
    }
    if k_pieces > 1:
        rules |= {
            "A's of the next piece along K": other_cells(0, along_k),
            "B's of the next piece along K": other_cells(1, along_k),
        }
    return {f"{kind}: {rule}": places for rule, places in rules.items()}


TENSOR_SCALE_RULES = {
    **rules_of("mx", 1),
    "mx: A's of another block of K": other_instruction("0x20000000"),
    "mx: B's of another block of K": other_instruction("0x10"),
    "mx: steps beyond the end of K": steps_beyond,
    "powers: A's of another block of K": other_instruction("0x20000000"),
    "powers: B's of another block of K": other_instruction("0x10"),
    "powers: a piece of the next blocks of K": piece_loads(other_place(1, 1)),
    "powers: a piece of other rows": piece_loads(other_place(2, 1)),
    "powers: copy to cells of the stage before": copy_from((1 + B_PIECES) * 512),
    **rules_of("mx4", 2),
    "mx4: A's of other blocks of K": other_instruction("0x40000000"),
    "mx4: B's of other blocks of K": other_instruction("0x20"),
    "mx4: steps beyond the end of K": steps_beyond,
    **rules_of_end("mx4", 8),
    **rules_of("nv", 4),
    **rules_of_end("nv", 16),
    **rules_of("spread", 1),
    "shared cells: wait for no free ones": wait_before(CELLS, always_ready),
    "shared cells: wrong phase of free ones": wait_before(CELLS, wrong_parity),
    "shared cells: never given back": first_behind(COMMIT, SCALED, drop_text),
    "shared cells: given back before they are read": commit_early,
    "shared cells: to those of the stage before": rewrite(CELLS, offset_in_register(48)),
    "shared cells: A's of the stage before": other_cells(0, 48),
    "shared cells: B's of the stage before": other_cells(1, 48),
    "shared cells: copy to cells late": copy_late,
    "shared cells: over an accumulator": cells_over_accumulator(48),
    "spread: A's of another block of K": other_instruction("0x20000000"),
    "spread: B's of another block of K": other_instruction("0x10"),
    "spread: B is of A's type": other_instruction("0x1400"),
    "spread: B of other 16 elements": rewrite(SCALED, other_descriptor(2, "1")),
    "spread: gaps are announced": other_bytes(96 * 64),
    "pairs of scales: the odd CTA has those of other rows": piece_loads(
        other_place(2, "%cluster_ctarank")),
    "pairs of scales: the odd CTA has those of other blocks of K": piece_loads(
        other_place(1, "%cluster_ctarank")),
    "pairs of scales: bytes of the odd CTA are not announced": other_bytes(
        -4 * (1 + B_PIECES) * 512),
    **rules_of_end("pairs of scales", 16),
    "pairs of scales: the odd CTA's are left": clear_own,
    "pairs of scales: cleared scales are not released": first_behind(
        r"fence\.acq_rel\.cluster", CLEARED, drop_text),
    "pairs of scales: copy to cells of the stage before": copy_from(4 * (1 + B_PIECES) * 512),
    "pairs of scales: drop a copy to cells": drop(CELLS),
    "pairs of scales: copy to cells late": copy_late,
}
