# SPDX-License-Identifier: MIT
"""Trees with one thing wrong each, which a checker of tools/dev has to name. The program runs without a process of its own."""
import contextlib
import io
import pathlib
import sys
import tempfile


def run(checker, files):
    """The checker's exit status and what it says of a tree of these files."""
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        try:
            sys.argv = [checker.__name__, folder]
            with contextlib.redirect_stdout(said):
                checker.main()
        except SystemExit as end:
            # A text is what python prints on the error stream before it exits with 1.
            code = 1 if isinstance(end.code, str) else end.code
            return code, said.getvalue() + (end.code if isinstance(end.code, str) else "")
    return None, said.getvalue()


def report(checker, good, bad):
    """Whether the good tree passes, and each text of `bad`, planted in its place, is told of by its words; ends the
    process."""
    failures = []
    code, text = run(checker, good)
    if code != 0:
        failures.append(f"the good tree was refused:\n{text}")
    for place, planted, words in bad:
        code, text = run(checker, {**good, place: planted})
        if code != 1 or words not in text:
            failures.append(f"{place} with {planted!r}: expected {words!r}, got {code}:\n{text}")
    for failure in failures:
        print(failure)
    print(f"{len(bad) + 1 - len(failures)} of {len(bad) + 1} as expected")
    sys.exit(1 if failures else 0)
