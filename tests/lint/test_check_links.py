#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants broken links in a site of two pages: the checker of links names each."""
import pathlib
import subprocess
import sys
import tempfile

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "dev" / "check_links.py"


def said(body):
    """What the checker says of a page with this body."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "more").mkdir()
        (root / "more" / "b.html").write_text('<h1 id="there">B</h1>', encoding="utf-8")
        (root / "a.html").write_text(f"<p id='here'>\n{body}</p>", encoding="utf-8")
        done = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


for link in ("#here", "more/b.html", "more/b.html#there", "https://example.org/absent", "a.html?x=1#here"):
    code, text = said(f'<a href="{link}">x</a><a href="#here">y</a>')
    assert code == 0, (link, text)
for link, words in (("#absent", "no such anchor"), ("more/c.html", "no such file"),
                    ("more/b.html#here", "no such anchor"), ("more/", "no such file"), ("../x.html", "no such file")):
    code, text = said(f'<a href="{link}">x</a>')
    assert code == 1 and f"a.html:2: {link}: there is {words}" in text, (link, text)
code, text = said('<img src="absent.svg">')
assert code == 1 and "absent.svg" in text, text
code, text = said("no links at all")
assert code == 1, text
print("links that lead nowhere are found")
