# SPDX-License-Identifier: MIT
"""The code blocks of the pages, each with its kind. A block of no known kind is an error: whoever writes it says
here what it is, and with that how it is tested.

kind        tested by
c           compiled, in a function that has what the page's text has named
c++         compiled
python      run (python.md and README.md by python_docs), or, of an indented one, compiled
sh          run by bash with a `jit-gemm` that takes smaller sizes and the emulator (test_blocks.py)
build       syntax, and what it names: files of the tree, programs of the build, tests and suites
recipe      read by `jit-gemm plan --recipe`
manifest    read by `jit-gemm prewarm --estimate`
snippet     `jit-gemm epilogue check`
text        pictures, formulas and output: nothing
site        directives of the site, which its build reads
cluster     multi-gpu.md: docs_multi_gpu runs them
"""
import collections
import re

PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/*.md", "emulator/*.md", "bench/README.md"]
Block = collections.namedtuple("Block", "page line kind text")

# By the first line of an indented block.
KINDS = [(re.compile(pattern), kind) for pattern, kind in (
    (r"jit_gemm manifest 1$|problem m=", "manifest"),
    (r"jit_gemm recipe 1$", "recipe"),
    (r"const jit_gemm_scale |jit_gemm_combiner ", "c"),
    (r"context\.write_manifest|jit_gemm\.gemm\(|import jit_gemm", "python"),
    (r"(\./)?scripts/|apt-get |meson |ninja |cc |python3 |pip |cp |nvcc |build(-fuzz)?/|CC=|([A-Z_]+=\S+ +)+(meson|build/|python3|\./)"
     r"|export JIT_GEMM_TEST|JIT_GEMM_TEST_WRAPPER|CUDA_VISIBLE", "build"),
    (r"(d|const float \w+|float \w+) = .*;|for \(", "snippet"),
    (r"export |for |config=|time ", "sh"),
    (r"A( \(K x M\))? +(B|index)|CTA \d|c\[t\] \+|the matrix,|piece  |modelled from |row +blocks|8x4: |part = |sum = |acc = |float symbol|1:5: error"
     r"|tune: |recipe: |args\.(a\.pointer|group_sizes)|epilogue NAME|kernels for sm_90a are|D \(M x N|rows +0 to ", "text"),
)]


def kind_of(page, info, text):
    """The kind of a block, by what is behind its fence, or by its first line; None if it has none."""
    if page == "docs/multi-gpu.md":
        return "cluster"
    if info is not None:
        if info.startswith("{"):
            return "site"
        return {"": "text", "c": "c", "c++": "c++", "python": "python", "sh": "sh"}.get(info)
    lines = text.splitlines()
    if any(re.match(r"([A-Z_]+=\S+ )*jit-gemm ", line) for line in lines):
        return "sh"
    return next((kind for pattern, kind in KINDS if pattern.match(lines[0])), None)


def blocks_of(page, text):
    """Fenced and indented blocks of a page."""
    lines, i, before = text.split("\n"), 0, ""
    while i < len(lines):
        fence = re.match(r"```(\S*)", lines[i])
        begin = i + 1
        if fence:
            end = next(j for j in range(begin, len(lines)) if lines[j].startswith("```"))
            block, info, i = lines[begin:end], fence[1], end + 1
        elif re.match(r" {4}\S", lines[i]) and not before.strip():
            end = i
            while end < len(lines) and (lines[end].startswith("    ") or
                                        not lines[end] and lines[end + 1:end + 2] and
                                        lines[end + 1].startswith("    ")):
                end += 1
            block, info, i = [line[4:] for line in lines[begin - 1:end]], None, end
        else:
            before, i = lines[i], i + 1
            continue
        body = "\n".join(block) + "\n"
        yield Block(page, begin, kind_of(page, info, body), body)
        before = lines[i - 1]


def all_blocks(root):
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            page = str(path.relative_to(root))
            yield from blocks_of(page, path.read_text(encoding="utf-8"))
