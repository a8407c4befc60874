# SPDX-License-Identifier: MIT
"""What `jit-gemm describe` says: commands and their options, for write_manual.py."""
import re

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
