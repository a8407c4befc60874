#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The style checker against a small tree: one that is right, and one for each violation."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/dev"))
from check_style import check_tree  # noqa: E402

HEAD = "/* SPDX-License-Identifier: MIT */\n"
# Only what is held is checked; what looks like a violation and is none stands here too.
GOOD = {
    "lib/base/node.h": "struct node {\n    struct node *next;\n    char *label;\n    int *label_size;\n"
                       "    int count;\n    void *place;\n};\nstruct box {\n    int label;\n"
                       "    unsigned long long size, place;\n};\n",
    "lib/base/good.c": """
/* if (!p) and sizeof p and NULL == p */
static const char text[] = "!p sizeof p";
static bool is_near(const struct node *a, int label)
{
    const char *end = text;
    if (a == NULL || (label && !a->count) || *end == 0 || *a->label_size == 0) {
        return false;
    }
    return a->next != NULL && end[0] && a->label && a->place;
}
static int compare(const void *a, const void *b)
{
    if (a < b) {
        return 0;
    }
    return 1;
}
static void sort(int *numbers, size_t count)
{
    qsort(numbers, count, sizeof(*numbers), compare);
}
""",
    "kernel_src/jg/good.cuh": "struct Tile {\n    enum : u32 { kRows = 64 };\n"
                              "    static constexpr char kText[] = \"text\";\n};\n"
                              "template <class T>\nconstexpr u32 kBits = 8 * sizeof(T);\n",
    "sketches/other.c": "static int is_free(char *p)\n{\n    return !p || sizeof p == 0;\n}\n",
}
# What is planted in a function whose p is a pointer, and the words that the checker must say.
IN_FUNCTION = [
    ("if (!p) {}", "the pointer p is compared with"),
    ("if (p) {}", "the pointer p is compared with"),
    ("while (n > 0 && p) {}", "the pointer p is compared with"),
    ("return p ? 1 : 2;", "the pointer p is compared with"),
    ("return n > 0 || !node->next;", "the pointer node->next is compared with"),
    ("for (; p; n++) {}", "the pointer p is compared with"),
    ("if (p == 0) {}", "the pointer p is compared with"),
    ("cr_assert(p, \"text\");", "the pointer p is compared with"),
    ("const char *names[2] = {p, p};\n    if (names[n]) {}", "the pointer names[n] is compared with"),
    ("struct node a, *b = node;\n    if (b && a.count) {}", "the pointer b is compared with"),
    ("if (NULL == p) {}", "NULL stands on the right"),
    ("return sizeof p;", "sizeof without parentheses"),
    ("return sizeof (p);", "sizeof without parentheses"),
    ("int is_done = n > 0;", "is_done is a truth value"),
]
ELSEWHERE = [
    ("static int has_room(int n)\n{\n    return n > 0;\n}\n", "has_room is a truth value"),
    ("static void ask(int *ret_is_full)\n{\n    *ret_is_full = 0;\n}\n",
     "ret_is_full is a truth value"),
    ("static int fits(int n)\n{\n    if (n) {\n        return 0;\n    }\n    return 1;\n}\n",
     "fits() returns a truth value"),
    ("int x;\t\n", "tab"),
    ("int x; \n", "trailing blanks"),
    ("int x;", "no newline at the end"),
    ("// %s\n" % ("TO" + "DO"), "unfinished mark"),
    ("int x;\n" * 801, "802 lines; at most 800"),
]
ON_DEVICE = ["struct Tile {\n    static constexpr u32 kRows = 64;\n};\n",
             "struct Tile {\n    static constexpr bool kIsWhole = true;\n};\n", "constexpr u32 kRows = 64;\n"]


def problems_of(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(HEAD + text, encoding="utf-8")
        return "\n".join(check_tree(pathlib.Path(folder))[1])


def main():
    failures = []
    text = problems_of(GOOD)
    if text:
        failures.append(f"the good tree was refused:\n{text}")
    bad = list(ELSEWHERE)
    for line, words in IN_FUNCTION:
        bad.append(("static int f(const char *p, struct node *node, int n)\n{\n"
                    f"    {line}\n    return n;\n}}\n", words))
    bad = [("lib/base/bad.c", planted, words) for planted, words in bad]
    bad += [("kernel_src/jg/bad.cuh", planted, "becomes a variable of the kernel") for planted in ON_DEVICE]
    for name, planted, words in bad:
        text = problems_of({**GOOD, name: planted})
        if words not in text or f"{name}:" not in text:
            failures.append(f"{planted!r}: expected '{words}', got:\n{text}")
    for failure in failures:
        print(failure)
    print(f"{len(bad) + 1 - len(failures)} of {len(bad) + 1} as expected")
    sys.exit(1 if failures else 0)


main()
