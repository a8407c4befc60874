#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the documentation site: the pages of the tree, those that are generated, and the reference.

Usage: build_site.py DOXYGEN_XML JIT_GEMM OUTPUT

Pages keep their places, so that links between them are the same in the tree and on the site. Generated are:
a chapter for each of the library's own epilogues (lib/epilogues), the codes of errors (status.h), the
environment variables (`jit-gemm env`), and a page of the reference for each public header. Warnings are errors.
Needs the packages of scripts/site.txt.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/*.md", "emulator/*.md",
         "bench/README.md", "bench/results/README.md"]
# What pages show or lead to that is no page.
BESIDE = ["docs/static/*", "docs/json.schema.json", "docs/pictures/*", "bench/results/*.svg", "examples/*.c", "examples/*/*.[ch]",
          "python/examples/*.py", "include/jit_gemm/*.h"]
sys.path.insert(0, str(ROOT / "tools" / "dev"))
import embed_epilogues  # noqa: E402


def named_epilogues():
    """The guide's chapters: what it computes, its operands, its text, how to call it."""
    yield "# The library's own epilogues\n"
    yield ("Each is taken by its name, without registration: `epilogue=NAME` in a problem's text,\n"
           "`jit_gemm_problem.epilogue` in C, `epilogue=\"NAME\"` in Python. [Epilogues](epilogues.md) has what a snippet\n"
           "may say. Operands of the type `as_d` have D's type, or bf16 where D is e4m3 or e5m2, and f32 where it is s32.\n")
    for path in sorted((ROOT / "lib" / "epilogues").glob("*.epi")):
        one = embed_epilogues.Epilogue(str(path))
        yield f"## {one.name}\n\n`{one.math}`\n"
        if one.operands:
            yield "| Operand | Kind | Type | Role | What |\n|---|---|---|---|---|"
            for name, kind, dtype, role, about in map(operand_words, path.read_text().splitlines()):
                if name:
                    yield f"| `{name}` | `{kind}` | `{dtype}` | {role or 'input'} | {about} |"
            yield ""
        yield f"```c\n{one.source.rstrip()}\n```\n\ncuBLASLt: {one.cublaslt}\n"
        yield f"    jit-gemm run 256x256x256 bf16 epilogue={one.name} --verify\n"


def operand_words(line):
    match = embed_epilogues.OPERAND.fullmatch(line.removeprefix("// "))
    return match.groups() if match else (None,) * 5


def error_codes():
    text = (ROOT / "include" / "jit_gemm" / "status.h").read_text(encoding="utf-8")
    (body,) = re.findall(r"typedef enum jit_gemm_status \{(.*?)\} jit_gemm_status;", text, re.S)
    rows = re.findall(r"(JIT_GEMM_\w+) =\s+(-?\d+),?\s*/\*\*<(.*?)\*/", body, re.S)
    if len(rows) != body.count("/**<"):
        sys.exit("build_site: include/jit_gemm/status.h: a status is not `NAME = NUMBER, /**< what it means. */`")
    yield "# Error codes\n"
    yield ("A function that can fail returns a `jit_gemm_status`. `jit_gemm_last_error()` has the text: the field, the\n"
           "fact and the remedy. Values never change. In Python each is [a class](python.md#errors).\n")
    yield "| Status | Value | Means |\n|---|---|---|"
    for name, value, about in rows:
        yield f"| `{name}` | {value} | {' '.join(about.split())} |"


def environment(tool):
    """Names and meanings are the command's; what is set here is nobody's business."""
    done = subprocess.run([tool, "env"], capture_output=True, text=True, check=True)
    rows = re.findall(r"^(\w+)\n((?:    .*\n)+)", done.stdout, re.M)
    if not any(name == "JIT_GEMM_CACHE_DIR" for name, _ in rows):
        sys.exit("build_site: `jit-gemm env` does not print its variables as NAME, meaning and value, a line each")
    yield "# Environment variables\n"
    yield ("The library reads them when a context is created, and the command some of its own. Options of a context\n"
           "win over variables. Programs that run with raised rights ignore them. `jit-gemm env` prints this list\n"
           "with the values of your shell.\n")
    yield "| Variable | Means |\n|---|---|"
    for name, lines in rows:
        meaning = " ".join(line.strip() for line in lines.splitlines()[:-1])
        yield f"| `{name}` | {meaning.replace('|', chr(92) + '|')} |"


def reference(staged):
    """A page for each public header."""
    headers = sorted(path.name for path in (ROOT / "include" / "jit_gemm").glob("*.h")) + ["version.h"]
    for name in headers:
        write(staged / "docs" / "api" / f"{name[:-2]}.md",
              [f"({name[:-2].replace('_', '__')}_8h)=\n# {name}\n", f"```{{doxygenfile}} {name}\n:project: jit_gemm\n```"])
    write(staged / "docs" / "api" / "index.md",
          ["# The headers\n", "C11, without a CUDA header; `jit_gemm.h` includes all but those of one purpose.\n",
           "```{toctree}\n:maxdepth: 1\n", *[name[:-2] for name in headers], "```"])


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def stage(staged, tool):
    shutil.rmtree(staged, ignore_errors=True)
    for pattern in PAGES + BESIDE:
        found = sorted(ROOT.glob(pattern))
        if not found:
            sys.exit(f"build_site: there is no {pattern}")
        for path in found:
            target = staged / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)
    write(staged / "docs" / "named-epilogues.md", named_epilogues())
    write(staged / "docs" / "error-codes.md", error_codes())
    write(staged / "docs" / "environment.md", environment(tool))
    reference(staged)


def main():
    xml, tool, output = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    stage(output / "source", tool)
    env = {**os.environ, "JIT_GEMM_DOXYGEN_XML": str(xml), "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["-b", "html", "-W", "--keep-going", "-q", "-j", "2", "-c", str(output / "source" / "docs"),
             "-d", str(output / "doctrees"), str(output / "source"), str(output / "html")]
    (output / "source" / "docs" / "conf.py").symlink_to(ROOT / "docs" / "conf.py")
    code = subprocess.run([sys.executable, "-m", "sphinx", *words], env=env, check=False).returncode
    write(output / "html" / "index.html", [  # the site begins at docs/index.html
        '<!doctype html><meta charset="utf-8"><title>jit_gemm</title>',
        '<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">jit_gemm</a>'])
    return code


if __name__ == "__main__":
    sys.exit(main())
