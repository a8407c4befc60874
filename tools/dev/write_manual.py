#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the manual page and the completion of shells out of the command's own tables.

write_manual.py JIT_GEMM MAN BASH ZSH FISH

`JIT_GEMM describe` says as JSON what each command's --help says as text. A metavariable decides
what a value is completed with: words, as in auto|gpu|emulator; files or folders; or nothing.
"""
import json
import pathlib
import re
import subprocess
import sys

# An option that as many commands have is described once.
COMMON_FROM = 6

FILES = {"FILE", "FILE.svg", "FILE.json", "PATH", "SECRETFILE", "MANIFEST"}
FOLDERS = {"DIR"}


class Command:
    """One that does something: `run`, or `cache ls`."""

    def __init__(self, words, data):
        self.words = words
        self.name = " ".join(words)
        self.summary = data["summary"]
        self.data = data
        self.options = data["options"]
        self.takes = self.find_files()

    def find_files(self):
        """FILE, DIR or None: what the usage says that other words are."""
        tokens = re.findall(r"[^\s\[\]|]+", self.data["usage"])[len(self.words):]
        for before, token in zip([""] + tokens, tokens):
            if not before.startswith("-") and token in FILES | FOLDERS:
                return "DIR" if token in FOLDERS else "FILE"
        return None


class Tool:
    """All that `describe` says."""

    def __init__(self, data):
        self.data = data
        self.top = data["commands"]
        self.families = {one["name"]: one for one in self.top if "commands" in one}
        self.commands = []
        for one in self.top:
            for leaf in one.get("commands", [one]):
                words = [one["name"]] + ([leaf["name"]] if "commands" in one else [])
                self.commands.append(Command(words, leaf))
        self.common = self.find_common()

    def find_common(self):
        """Options that many commands have, word for word."""
        count, found = {}, {}
        for command in self.commands:
            for option in command.options:
                key = option_key(option)
                count[key] = count.get(key, 0) + 1
                found[key] = option
        return {key: found[key] for key in found if count[key] >= COMMON_FROM}


def option_key(option):
    return option["name"], option.get("value"), option["help"]


def choices(option):
    """Words that an option's value is one of; none if it is no list of words."""
    value = option.get("value", "")
    return value.split("|") if re.fullmatch(r"[a-z0-9_|]+", value) else []


def completes(option):
    """FILE, DIR, WORDS, NONE (there is a value of another kind) or FLAG."""
    value = option.get("value")
    if value is None:
        return "FLAG"
    if value in FILES:
        return "FILE"
    if value in FOLDERS:
        return "DIR"
    return "WORDS" if choices(option) else "NONE"


def one_line(text):
    return " ".join(text.split())


# ------------------------------------------------------------------------ manual page


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


# ------------------------------------------------------------------------------- bash


def shell_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


BASH_BODY = r"""
# Words of the command line: the command is the first, with the second behind it in a family.
_jit_gemm()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= options= takes= value=NONE
    COMPREPLY=()
    # Bash cuts --option=value at its `=`.
    if [ "$word" = = ]; then
        word=
    elif [ "$before" = = ]; then
        before=${COMP_WORDS[COMP_CWORD-2]}
    fi
    if [ "$COMP_CWORD" -gt 1 ]; then
        command=${COMP_WORDS[1]}
    fi
    case $command in
    @FAMILIES@)
        if [ "$COMP_CWORD" -gt 2 ]; then
            command="$command ${COMP_WORDS[2]}"
        fi
        ;;
    esac
    case $command in
@COMMANDS@
    *)
        return
        ;;
    esac
    case "$command $before" in
@VALUES@
    *)
        value=WORD
        ;;
    esac
    case $value in
    WORD)
        if [ "${word#-}" = "$word" ] && [ -n "$takes" ]; then
            value=$takes
        fi
        ;;
    esac
    case $value in
    WORD)
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        ;;
    FILE)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        ;;
    DIR)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        ;;
    NONE) ;;
    *)
        COMPREPLY=($(compgen -W "$value" -- "$word"))
        ;;
    esac
}
complete -F _jit_gemm jit-gemm
"""


def bash_completion(tool):
    """Nothing of the package bash-completion is needed."""
    def entry(pattern, options, takes):
        takes = f"\n        takes={takes}" if takes else ""
        return f"    {pattern})\n        options={shell_quote(' '.join(options))}{takes}\n        ;;"

    top = [one["name"] for one in tool.top]
    commands = [entry("''", top + ["help", "--help", "--version"], None), entry("help", top, None)]
    for name, family in tool.families.items():
        commands.append(entry(name, [one["name"] for one in family["commands"]] + ["--help"], None))
    values = {}
    for command in tool.commands:
        names = [one["name"] for one in command.options] + ["--help"]
        commands.append(entry(shell_quote(command.name), names, command.takes))
        for option in command.options:
            kind = completes(option)
            if kind != "FLAG":
                kind = " ".join(choices(option)) or kind
                values.setdefault(kind, []).append(shell_quote(f"{command.name} {option['name']}"))
    cases = []
    for kind, patterns in values.items():
        joined = " | \\\n    ".join(patterns)
        cases.append(f"    {joined})\n        value={shell_quote(kind)}\n        ;;")
    body = BASH_BODY.replace("@FAMILIES@", " | ".join(tool.families))
    body = body.replace("@COMMANDS@", "\n".join(commands)).replace("@VALUES@", "\n".join(cases))
    return "# Completion of jit-gemm in bash; made of the command's tables." + body


# -------------------------------------------------------------------------------- zsh


def zsh_text(text):
    """In a specification of _arguments, a quoted word of the shell."""
    return re.sub(r"([\[\]:\\])", r"\\\1", one_line(text))


def zsh_action(kind, words):
    return {"FILE": "_files", "DIR": "_files -/", "NONE": " "}.get(kind) or f"({' '.join(words)})"


def zsh_option(option):
    kind, name = completes(option), option["name"]
    again = "*" if option["kind"] == "list" else ""
    text = f"{again}{name}"
    if kind == "FLAG":
        text += f"[{zsh_text(option['help'])}]"
    else:
        text += "=" if name.startswith("--") else ""
        text += f"[{zsh_text(option['help'])}]:{zsh_text(option['value'])}"
        text += f":{zsh_action(kind, choices(option))}"
    return shell_quote(text)


def zsh_list(label, entries):
    rows = [shell_quote(f"{one['name']}:{one['summary']}") for one in entries]
    return f"local -a entries=({' '.join(rows)}); _describe {label} entries"


def zsh_completion(tool):
    out = ["#compdef jit-gemm", "# Completion of jit-gemm in zsh; made of the command's tables.", ""]

    def branch(name, entries, functions):
        out.extend([f"{name}()", "{", "    local state",
                    "    _arguments -C '(-h --help)'{-h,--help}'[print the help]' '1:command:->command' '*::word:->word'",
                    "    case $state in", f"    command) {zsh_list('command', entries)} ;;",
                    "    word)", "        case $words[1] in"])
        out.extend(f"        {word}) {function} ;;" for word, function in functions)
        out.extend(["        esac", "        ;;", "    esac", "}", ""])

    def function_name(words):
        return "_jit-gemm_" + "_".join(words)

    for command in tool.commands:
        specs = [zsh_option(option) for option in command.options]
        specs.append("'(-h --help)'{-h,--help}'[print the help]'")
        if command.takes:
            specs.append(shell_quote("*:word:" + zsh_action(command.takes, [])))
        joined = " \\\n        ".join(specs)
        out.extend([f"{function_name(command.words)}()", "{", f"    _arguments {joined}", "}", ""])
    for name, family in tool.families.items():
        branch(function_name([name]), family["commands"],
               [(one["name"], function_name([name, one["name"]])) for one in family["commands"]])
    branch("_jit-gemm", tool.top, [(one["name"], function_name([one["name"]])) for one in tool.top])
    out.append('_jit-gemm "$@"')
    return "\n".join(out) + "\n"


# ------------------------------------------------------------------------------- fish


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


FISH_HEAD = """# Completion of jit-gemm in fish; made of the command's tables.
function __jit_gemm_at --description 'the words behind jit-gemm begin so'
    set -l words (commandline -opc)
    set -e words[1]
    test (count $words) -ge (count $argv); and test "$words[1..$(count $argv)]" = "$argv"
end
function __jit_gemm_word --description 'the word to complete is of this number'
    test (count (commandline -opc)) -eq $argv[1]
end
complete -c jit-gemm -f
"""


def fish_option(condition, option):
    name, kind = option["name"], completes(option)
    word = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
    value = {"FLAG": "", "FILE": " -r -F", "NONE": " -x",
             "DIR": " -x -a '(__fish_complete_directories)'",
             "WORDS": f" -x -a {fish_quote(' '.join(choices(option)))}"}[kind]
    return (f"complete -c jit-gemm -n {fish_quote(condition)} {word}{value}"
            f" -d {fish_quote(one_line(option['help']))}")


def fish_completion(tool):
    lines = []

    def word(condition, entry):
        lines.append(f"complete -c jit-gemm -n {fish_quote(condition)} -a {entry['name']}"
                     f" -d {fish_quote(entry['summary'])}")

    for one in tool.top:
        word("__jit_gemm_word 1", one)
    for name, family in tool.families.items():
        for one in family["commands"]:
            word(f"__jit_gemm_at {name}; and __jit_gemm_word 2", one)
    for command in tool.commands:
        condition = f"__jit_gemm_at {command.name}"
        for option in command.options:
            lines.append(fish_option(condition, option))
        if command.takes:
            lines.append(f"complete -c jit-gemm -n {fish_quote(condition)} -F")
    return FISH_HEAD + "\n".join(lines) + "\n"


def main():
    program, *paths = sys.argv[1:]
    done = subprocess.run([program, "describe"], stdout=subprocess.PIPE, check=True)
    tool = Tool(json.loads(done.stdout))
    writers = (manual_page, bash_completion, zsh_completion, fish_completion)
    for write, path in zip(writers, paths, strict=True):
        pathlib.Path(path).write_text(write(tool), encoding="utf-8")


main()
