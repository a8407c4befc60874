# SPDX-License-Identifier: MIT
"""The part of the project's C dialect that text shows; check_style.py asks it.

CONTRIBUTING.md has the rules. A pointer is known by its declaration in the same function, or
as a member that no struct of the tree declares as anything else: no name is guessed.
"""
import re

# Folders and files that are held. One that is converted is added here, and stays.
HELD = (
    "bench/",
    "cache/",
    "emulator/",
    "examples/",
    "include/",
    "lib/",
    "tests/",
    "tools/",
    "verify/",
)

NOT_A_TYPE = {"return", "else", "case", "goto", "sizeof", "do", "in", "typedef"}
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
                    r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.S | re.M)
FUNCTION = re.compile(r"^(?=\S)[^;{}#]*\)\s*\{.*?^\}", re.S | re.M)
RECORD = re.compile(r"\b(?:struct|union)\s+\w*\s*\{([^{}]*)\}")
# The formatter writes `char *name` where it declares and `a * b` where it multiplies.
POINTER = re.compile(r"\b(\w+) (?:const )?(\*+)(?:const |restrict )?(\w+)(?=\s*(?:[=;,):]|(\[)))")
VALUE = re.compile(r"\b(\w+) (\w+)(?=\s*[=;,)\[:])")
LIST = re.compile(r"^ +(?:(?:const|static|struct|union|enum|unsigned|long) )*\w+ \*?\w+(?: = [^,;()]+)?"
                  r"((?:, \*?\w+(?: = [^,;()]+)?)+);", re.M)
IN_LIST = re.compile(r", (\*?)(\w+)")
# An operand: names, members and indices, but no call.
OPERAND = re.compile(r"(?<![\w.>])(?:\w+(?:->|\.|\[[^\[\]]*\]))*\w+(?:\[[^\[\]]*\])*(?![\w(.\[]|->)")
BEFORE_TRUTH = re.compile(r"(?:(?:^|[^=!<>])=|[(,?;{}:]|&&|\|\||\breturn)\s*$")
IN_CONDITION = re.compile(r"\b(?:if|while|cr_assert|cr_expect|assert)\s*\($")
SIZEOF = re.compile(r"\bsizeof\b(?!\()")
NULL_FIRST = re.compile(r"\bNULL\s*[!=]=")
INT_TRUTH = re.compile(r"\bint \*?((?:ret_)?(?:is|has|was|can|may|must|needs|wants)_\w+)")
INT_FUNCTION = re.compile(r"(?:static )?(?:inline )?int (\w+)\(")
RETURNED = re.compile(r"\breturn ([^;]*);")


def is_held(name):
    return name.endswith((".c", ".h")) and name.startswith(HELD)


def visible(text):
    """The text with comments, literals and preprocessor lines blanked; line ends stay."""
    return HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def declared(text):
    """(names of pointers, names of arrays of pointers, names of anything else)"""
    pointers, arrays, values = set(), set(), set()
    for kind, _, name, bracket in POINTER.findall(text):
        if kind not in NOT_A_TYPE:
            (arrays if bracket else pointers).add(name)
    for kind, name in VALUE.findall(text):
        if kind not in NOT_A_TYPE:
            values.add(name)
    for names in LIST.findall(text):
        for star, name in IN_LIST.findall(names):
            (pointers if star else values).add(name)
    return pointers, arrays, values


def pointer_members(texts):
    """Members that every struct of these texts declares as pointers."""
    pointers, values = set(), set()
    for text in texts:
        for body in RECORD.findall(visible(text)):
            found, _, others = declared(body)
            pointers |= found
            values |= others
    return pointers - values


def is_truth(before, after):
    """Is what stands between these texts used as a truth value?"""
    if before.endswith("!"):
        return True
    if IN_CONDITION.search(before) and re.match(r"\s*[,)]", after):
        return True
    if re.search(r"(?:&&|\|\|)\s*$", before):
        return re.match(r"\s*(?:[);,?:]|&&|\|\|)", after) is not None
    if re.search(r";\s*$", before) and re.match(r"\s*;", after):
        return True  # the condition of a for
    return BEFORE_TRUTH.search(before) is not None and \
        re.match(r"\s*(?:&&|\|\||\?)", after) is not None


def pointer_truths(function, members):
    """(offset, operand) of pointers that a function uses as truth values or compares to 0."""
    pointers, arrays, values = declared(function)
    pointers -= values
    arrays -= values
    for match in OPERAND.finditer(function):
        operand = match.group(0)
        last = re.split(r"->|\.", operand)[-1]
        name = last.split("[")[0]
        known = members if last != operand else arrays if last.endswith("]") else pointers
        if name not in known or (last.endswith("]") and known is not arrays):
            continue
        before = function[max(0, match.start() - 40):match.start()]
        after = function[match.end():match.end() + 40]
        if before.endswith("*"):  # what it points to
            continue
        if is_truth(before, after) or re.match(r"\s*[!=]= 0\b", after):
            yield match.start(), operand


def returns_truth(function, code):
    """The name of an int function whose every result is 0 or 1, or None. One that is handed
    to somebody as a value has the type that he wants."""
    match = INT_FUNCTION.match(function)
    if match is None or match.group(1) == "main":
        return None
    if re.search(rf"\b{match.group(1)}\b(?!\()", code):
        return None
    return match.group(1) if set(RETURNED.findall(function)) == {"0", "1"} else None


def check(name, text, members):
    """(line, message) of what a held file says in another dialect."""
    if not is_held(name):
        return
    code = visible(text)
    found = [(match.start(), "sizeof without parentheses") for match in SIZEOF.finditer(code)]
    found += [(match.start(), "NULL stands on the right of a comparison")
              for match in NULL_FIRST.finditer(code)]
    found += [(match.start(), f"{match.group(1)} is a truth value: bool, not int")
              for match in INT_TRUTH.finditer(code)]
    for function in FUNCTION.finditer(code):
        truth = returns_truth(function.group(0), code)
        if truth is not None:
            found.append((function.start(), f"{truth}() returns a truth value: bool, not int"))
        for offset, operand in pointer_truths(function.group(0), members):
            found.append((function.start() + offset,
                          f"the pointer {operand} is compared with == NULL or != NULL"))
    for offset, message in sorted(found):
        yield code.count("\n", 0, offset) + 1, message
