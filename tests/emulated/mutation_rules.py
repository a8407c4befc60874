# SPDX-License-Identifier: MIT
"""The ways in which test_mutations.py breaks a kernel's PTX. A rule is a function that finds its
places in a text: each gives the match, and a function from the text to the mutant. A rule whose
name begins with a kind, as in "scales: drop a copy", is for kernels of that kind only."""
import re


def statement(pattern):
    """A rule's pattern: one statement at the start of a line, perhaps guarded."""
    return re.compile(r"^(\s*(?:@!?%?\w+\s+)?)(" + pattern + r")([^;]*;)", re.M)


def replaced(match, text):
    return lambda ptx: ptx[:match.start()] + text + ptx[match.end():]


def drop(pattern):
    return rewrite(pattern, lambda guard, opcode, operands: "")


def some(places, first, step):
    """Every so many of a rule's places."""
    def chosen(ptx):
        return list(places(ptx))[first::step]
    return chosen


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


def drop_text(guard, opcode, operands):
    return ""


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


def one_more_wide(guard, opcode, operands):
    parts = operand_list(operands)
    was, parts[-1] = parts[-1], "mutant"
    return scoped(f".reg .b64 mutant;\nadd.u64 mutant, {was}, 1;", guard,
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


def first_rank(guard, opcode, operands):
    parts = operand_list(operands)
    return f"{guard}{opcode} {parts[0]}, 0;" if parts[1] == "%cluster_ctarank" else None


def fence_before_wait(ptx):
    """tcgen05.fence::after_thread_sync stands before the wait that it is for."""
    waits = list(statement(r"mbarrier\.try_wait[\w.:]*").finditer(ptx))
    for fence in statement(r"tcgen05\.fence::after_thread_sync").finditer(ptx):
        before = [wait.start() for wait in waits if wait.start() < fence.start()]
        if before:
            def moved(ptx, at=before[-1], fence=fence):
                return (ptx[:at] + fence.group(0).strip() + "\n" + ptx[at:fence.start()] +
                        ptx[fence.end():])
            yield fence, moved


def by_one_warp(first):
    """Only the first warp does it, or only the last."""
    def change(guard, opcode, operands):
        bound = "31;" if first else "%ntid.x;\nsub.u32 bound, bound, 32;"
        order = "le" if first else "ge"
        return scoped(f".reg .pred mutant;\n.reg .b32 thread, bound;\nmov.u32 thread, %tid.x;\n"
                      f"mov.u32 bound, {bound}\nsetp.{order}.u32 mutant, thread, bound;", "",
                      f"@mutant {opcode}{operands}")
    return change


RULES = {
    "drop fence.proxy.async": drop(r"fence\.proxy\.async[\w.:]*"),
    "drop fence.mbarrier_init": drop(r"fence\.mbarrier_init[\w.]*"),
    "drop wgmma.fence": drop(r"wgmma\.fence[\w.]*"),
    "drop wgmma.commit_group": drop(r"wgmma\.commit_group[\w.]*"),
    "drop wgmma.wait_group": drop(r"wgmma\.wait_group[\w.]*"),
    "wait for one wgmma group fewer": rewrite(r"wgmma\.wait_group[\w.]*", later_group),
    "drop tcgen05.fence": drop(r"tcgen05\.fence[\w.:]*"),
    "tcgen05.fence before the wait": fence_before_wait,
    "drop tcgen05.wait": drop(r"tcgen05\.wait[\w.:]*"),
    "drop tcgen05.commit": drop(r"tcgen05\.commit[\w.:]*"),
    "drop mbarrier.arrive": drop(r"mbarrier\.arrive\.(?!expect)[\w.:]*"),
    "drop expect_tx": drop(r"mbarrier\.arrive\.expect_tx[\w.:]*"),
    "expect 16 bytes more": rewrite(r"mbarrier\.arrive\.expect_tx[\w.:]*", more_bytes),
    "one arrival more": rewrite(r"mbarrier\.init[\w.:]*", one_more),
    "wait for nothing": rewrite(r"mbarrier\.try_wait[\w.:]*", always_ready),
    "wrong phase": rewrite(r"mbarrier\.try_wait[\w.:]*", wrong_parity),
    "drop bar.sync": drop(r"(?:bar\.sync|barrier\.sync)[\w.]*"),
    "drop bar.arrive": drop(r"bar\.arrive"),
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
    "lanes: drop bar.warp.sync": drop(r"bar\.warp\.sync"),
    "neighbours: wait for nothing": rewrite(r"mbarrier\.try_wait[\w.:]*", always_ready),
    "reductions: release and acquire made relaxed": rewrite(r"atom\.acq_rel[\w.]*", relaxed),
    "reductions: count one more": rewrite(r"atom\.acq_rel[\w.]*", one_more),
    "reductions: keep one's own": rewrite(r"shfl\.sync\.bfly[\w.]*", keep_own),
    "reductions: drop a store": drop(r"st\.global\.u32"),
    "reductions: drop a value for another warp": drop(r"st\.shared\.f32"),
    "reductions: drop bar.sync": drop(r"(?:bar\.sync|barrier\.sync)[\w.]*"),
    "parts: drop an arrival": drop(r"mbarrier\.arrive\.relaxed\.cluster[\w.:]*"),
    "parts: the next CTA's instead": rewrite(r"mapa[\w.:]*", one_more),
    "parts: wait for nothing": rewrite(r"mbarrier\.try_wait\.parity\.relaxed[\w.:]*",
                                       always_ready),
    "parts: drop fence.release": drop(r"fence\.release[\w.:]*"),
    "parts: drop fence.acquire": drop(r"fence\.acquire[\w.:]*"),
    "parts: drop a sum": drop(r"st\.async[\w.:]*"),
    "parts: drop expect_tx": drop(r"mbarrier\.arrive\.expect_tx[\w.:]*"),
    "parts: expect 16 bytes more": rewrite(r"mbarrier\.arrive\.expect_tx[\w.:]*", more_bytes),
    "parts: drop the cluster barrier": drop(r"barrier\.cluster\.(?:arrive|wait)[\w.]*"),
    "parts: drop bar.warp.sync": drop(r"bar\.warp\.sync"),
    "parts: drop bar.sync": drop(r"(?:bar\.sync|barrier\.sync)[\w.]*"),
    "parts: drop a store of a vector": drop(r"st\.shared\.v4\.u32"),
    "parts: drop a load of a vector": drop(r"ld\.shared::cluster\.v4\.f32"),
    "parts: all have the first": rewrite(r"mov\.u32", first_rank),
    "parts: release made relaxed": rewrite(r"red\.release[\w.]*", relaxed),
    "parts: acquire made relaxed": rewrite(r"ld\.acquire[\w.]*", relaxed),
    "parts: drop the count of a part": drop(r"red\.release[\w.]*"),
    "parts: drop the clearing of a lock": drop(r"st\.global\.u32"),
    "parts: drop a vector of sums": drop(r"(?:st\.global|ld\.global)\.v4\.f32"),
    "shares: release and acquire made relaxed": rewrite(r"atom\.acq_rel[\w.]*", relaxed),
    "shares: count one more": rewrite(r"atom\.acq_rel[\w.]*", one_more_wide),
    "shares: acquire made relaxed": rewrite(r"ld\.acquire[\w.]*", relaxed),
    "shares: drop the clearing of a word": drop(r"st\.global\.u64"),
    "shares: drop a copy": drop(r"cp\.async\.bulk\.global[\w.:]*"),
    "shares: drop the wait for copies": drop(r"cp\.async\.bulk\.wait_group"),
    "shares: drop fence.proxy.async": drop(r"fence\.proxy\.async[\w.:]*"),
    "shares: drop bar.warp.sync": drop(r"bar\.warp\.sync"),
    "shares: drop a barrier": drop(r"bar\.(?:sync|arrive)[\w.]*"),
    "shares: drop a load": drop(r"ld\.global(?:\.v[24])?\.f32"),
    "shares: another lane's sum": rewrite(r"shfl\.sync\.idx[\w.]*", keep_own),
    "back to back: drop griddepcontrol.wait": drop(r"griddepcontrol\.wait"),
    "back to back: only the first warp waits": rewrite(r"griddepcontrol\.wait", by_one_warp(True)),
    "back to back: only the last warp waits": rewrite(r"griddepcontrol\.wait", by_one_warp(False)),
    "other stride of B": rewrite(r"wgmma\.mma_async[\w.]*",
                                 other_descriptor(2, "0x0000000800000000")),
}


def are_for(rule):
    """The kind of kernels that a rule is for; "" means all others."""
    kind, found, _ = rule.partition(": ")
    return kind if found else ""
