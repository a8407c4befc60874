# SPDX-License-Identifier: MIT
"""Lines of files of problems: as few as have between them what all lines have.

A line's facts are the value of each constant of its unit (sizes and counts are 0, 1 or more), beside each
width of A how inputs are loaded and whether K ends inside of a block or of a quarter, which one
instruction multiplies, kind and type of its operands, the functions that its snippet calls, options
of the launch, settings of the emulator, and the comment above it, which says what a group of lines
is about. No unit is compiled for that.
"""
import collections
import concurrent.futures
import os
import re
import shlex
import subprocess

from strides import stride

OF_THE_PROBLEM = {"--config", "--epilogue", "--operand"}  # other options are the launch's
FLAGS = {"--back-to-back"}  # options without a value
SIZES = {"kM", "kN", "kK", "kBatch", "kGroups", "kRowBlocks", "kSmemBytes", "kParamsBytes",
         "kLeadStages", "kSplitTail", "kSumsBytes", "kALoadedRows", "kBLoadedRows", "kHostGroups"}  # of these 0, 1 and more are facts
UNLIKE_OTHERS = ("seed=", "refuse=", "resident=")  # settings whose every value is another
OF_INPUTS = ("kThreadLoads", "kInputAlignment", "kAKMajor", "kBKMajor")  # each width has a way of its own
BITS = {"jg::e2m1": 4, "jg::e4m3": 8, "jg::e5m2": 8, "jg::s8": 8, "jg::bf16": 16, "jg::f16": 16, "jg::tf32": 32}
COMPILE = 1 << 25  # multiplications that the emulator does while a kernel is compiled

Line = collections.namedtuple("Line", "path text facts cost")


def read(path, is_for=lambda line: True):
    """(text, number of the comment above) of each line that `is_for` takes."""
    group = 0
    for text in path.read_text(encoding="utf-8").splitlines():
        group += text.startswith("#")
        if text.strip() and not text.startswith("#") and is_for(text):
            yield text, group


def split_words(words):
    """(words of the problem, options of the launch)"""
    problem, launch, rest = [], set(), iter(words)
    for word in rest:
        if word.startswith("--") and word not in OF_THE_PROBLEM:
            launch.add(word)
            if word not in FLAGS:
                next(rest)
        else:
            problem.append(word)
    return problem, launch


def facts_of_inputs(constants, a, k, is_copied):
    """`k`: of the launch; `is_copied`: are A and B, before it?"""
    block = int(constants["kBlockK"])
    if block == 0:
        yield a, "reference"
        return
    yield from ((a, name, constants.get(name)) for name in OF_INPUTS)
    yield a, "copied", is_copied
    yield "copied", is_copied, constants["kPdl"], constants["kSplitK"] != "1"
    yield a, "K", constants["kK"] == "0", k % block != 0, k % (block // 4) != 0


def facts_of_unit(unit, k):
    constants = dict(re.findall(r"(?:enum :|static constexpr) \S+ (?:{ )?(\w+) = (.*?)(?: })?;", unit))
    for name, value in constants.items():
        yield name, value if name not in SIZES or value in ("0", "1") else "more"
    yield from facts_of_inputs(constants, BITS[re.search(r"using A = ([^;]*);", unit)[1]], k,
                               "jit_gemm_repack" in unit)
    if constants.get("kClusterParts", "1") != "1":
        yield "parts of a cluster", *(constants[name] for name in ("kDividesOutput", "kWholeRows", "kWholeCols"))
    yield from re.findall(r"using (\w+) = ([^;]*);", unit)
    yield from (("operand", row) for row in re.findall(r"JG_ROW\(\w+, \w+, ([^)]*)\)", unit))
    snippet = unit[unit.index("\nJG_EPILOGUE_BEGIN"):unit.index("\nJG_EPILOGUE_END")]
    yield from (("call", name) for name in re.findall(r"\b([a-z]\w*)\(", snippet))


def facts_of_c(unit, launch):
    """Is there a C that is read, and does it come by a ring of its own?"""
    has_c, own_ring = ("kHasC = true" in unit, re.search(r"kEpilogueLoadStages = [1-9]", unit) is not None)
    return "C", has_c, own_ring, has_c and "--beta" in launch


def look(tool, arch, path, text, group, has_settings):
    words = shlex.split(text)
    settings = words.pop(0).split(",") if has_settings else []
    problem, launch = split_words(words)
    done = subprocess.run([tool, "build", *problem, "--arch", arch, "--emit", "source", "-o", "-"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"Bail out! {path.name}: {text}: {done.stderr}")
    m, n, k, batch = (max(1, int(re.search(rf" {name}=(\d+)", done.stdout)[1])
                          if f" {name}=" in done.stdout else 1) for name in ("m", "n", "k", "batch"))
    if "--k" in words:
        k = int(words[words.index("--k") + 1])
    facts = {*facts_of_unit(done.stdout, k), facts_of_c(done.stdout, launch), *launch, (path.name, group),
             *(word for word in settings if not word.startswith(UNLIKE_OTHERS))}
    return Line(path, text, frozenset(facts), 1 + m * n * k * batch / COMPILE)


def cover(lines):
    """Lines that have all facts: always the one that adds most for its cost; and none in vain."""
    left, taken = set().union(*(line.facts for line in lines)), []
    while left:
        taken.append(max(lines, key=lambda line: len(line.facts & left) / line.cost))
        left -= taken[-1].facts
    counts = collections.Counter(fact for line in taken for fact in line.facts)
    for line in list(taken):
        if all(counts[fact] > 1 for fact in line.facts):
            taken.remove(line)
            counts.subtract(line.facts)
    return [line for line in lines if line in taken]


def grid_lines(paths, tool, arch, has_settings=False, is_for=lambda line: True):
    """Pairs of a path and a line. JIT_GEMM_TEST_EVERY=1 takes all, as `scripts/check --full` does."""
    texts = [(path, text, group) for path in paths for text, group in read(path, is_for)]
    if stride(0) == 1:
        return [(path, text) for path, text, _ in texts]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        lines = list(pool.map(lambda row: look(str(tool), arch, *row, has_settings), texts))
    return [(line.path, line.text) for line in cover(lines)]
