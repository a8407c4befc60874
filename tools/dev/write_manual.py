#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the manual page and the completion of shells out of the command's own tables.

write_manual.py JIT_GEMM MAN BASH ZSH FISH

`JIT_GEMM describe` says as JSON what each command's --help says as text.
"""
import json
import pathlib
import re
import subprocess
import sys

from command_tables import Tool, one_line, option_key
from shell_completion import bash_completion, fish_completion, zsh_completion


def roff(text):
    for plain, escaped in (("\\", "\\e"), ("-", "\\-"), ("`", "\\(ga"), ("'", "\\(aq"),
                           ("^", "\\(ha"), ("~", "\\(ti")):
        text = text.replace(plain, escaped)
    return re.sub(r"^\.", "\\\\&.", text, flags=re.M)


def roff_as_is(text):
    return [".EX", roff(text.rstrip("\n")), ".EE"]


def roff_text(text):
    """Paragraphs are filled; indented lines stay as they are."""
    lines, block = [], []
    for line in text.rstrip("\n").split("\n") + [""]:
        if line.startswith("  "):
            block.append(line)
            continue
        if block:
            lines += roff_as_is("\n".join(block))
            block = []
        lines.append(roff(line) if line else ".PP")
    return lines[:-1]


def roff_option(option):
    value = f" \\fI{roff(option['value'])}\\fR" if "value" in option else ""
    return [".TP", f"\\fB{roff(option['name'])}\\fR{value}", roff(one_line(option["help"]))]


def roff_command(tool, command):
    data = command.data
    lines = [f".SS {roff(f'jit-gemm {command.name}')}"]
    lines += roff_as_is("jit-gemm " + "\n".join(
        line if at == 0 else "    " + line.strip() for at, line in enumerate(data["usage"].split("\n"))))
    lines += [".PP"] + roff_text(data["about"])
    if data["words"]:
        lines += [".PP", "PROBLEM is described below."]
    for option in command.options:
        if option_key(option) not in tool.common:
            lines += roff_option(option)
    shared = [one["name"] for one in command.options if option_key(one) in tool.common]
    if shared:
        lines += [".PP", "Also, as below: " + roff(", ".join(shared)) + "."]
    if data["examples"]:
        lines += [".PP", "Examples:"] + roff_as_is(data["examples"])
    return lines


def manual_page(tool):
    data = tool.data
    lines = [
        '.\\" Made of the tables of jit-gemm.',
        f'.TH JIT\\-GEMM 1 "" "jit_gemm {data["version"]}" "User Commands"',
        ".SH NAME",
        "jit\\-gemm \\- fused matrix multiplication on NVIDIA tensor cores",
        ".SH SYNOPSIS",
        "\\fBjit\\-gemm\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]",
        ".br",
        "\\fBjit\\-gemm\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR",
        ".SH DESCRIPTION",
        *roff_text(data["about"]),
        ".PP",
        *roff_text(data["closing"]),
        ".SH COMMANDS",
    ]
    for one in tool.top:
        lines += [".TP", f"\\fB{roff(one['name'])}\\fR", roff(one["summary"])]
    lines.append(".SH EACH COMMAND")
    for command in tool.commands:
        lines += roff_command(tool, command)
    problem_words = sorted({one.data["words"] for one in tool.commands if one.data["words"]})
    lines.append(".SH PROBLEM")
    for words in problem_words:
        lines += roff_as_is(words)
    lines.append(".SH COMMON OPTIONS")
    for option in tool.common.values():
        lines += roff_option(option)
    lines += roff_option({"name": "-h, --help", "help": "print the command's help"})
    lines.append(".SH ENVIRONMENT")
    for variable in data["variables"]:
        lines += [".TP", f"\\fB{roff(variable['name'])}\\fR", roff(variable["help"])]
    return "\n".join(lines) + "\n"


def main():
    program, *paths = sys.argv[1:]
    done = subprocess.run([program, "describe"], stdout=subprocess.PIPE, check=True)
    tool = Tool(json.loads(done.stdout))
    writers = (manual_page, bash_completion, zsh_completion, fish_completion)
    for write, path in zip(writers, paths, strict=True):
        pathlib.Path(path).write_text(write(tool), encoding="utf-8")


main()
