# SPDX-License-Identifier: MIT
"""Completion of jit-gemm in bash, zsh and fish, as texts.

A metavariable decides what a value is completed with: words, as in auto|gpu|emulator; files or folders;
or nothing.
"""
import re

from command_tables import choices, completes, one_line

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
