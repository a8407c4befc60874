#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each page of docs/ is at most two links from README.md, and what pages link to is there.

Usage: test_pages.py SOURCE_ROOT
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from tap import named_tests, run_tests  # noqa: E402

ROOT = pathlib.Path(sys.argv[1]).resolve()
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)")
MOST_LINKS = 2
# The site's own: its first page, and pages that are made when it is.
OF_SITE = {ROOT / "docs" / name for name in ("index.md", "named-epilogues.md", "environment.md", "error-codes.md")}


def links_of(page):
    return {(page.parent / link).resolve() for link in LINK.findall(page.read_text(encoding="utf-8"))}


def distances(first):
    """How many links each page is away from the first one."""
    found, left = {first: 0}, [first]
    for page in left:
        new = [link for link in links_of(page) if link.suffix == ".md" and link.is_file() and link not in found]
        found.update((link, found[page] + 1) for link in new)
        left += new
    return found


def test_each_page_is_two_links_from_the_readme_at_most():
    found = distances(ROOT / "README.md")
    pages = set((ROOT / "docs").glob("*.md")) - OF_SITE
    assert len(pages) > 30, pages
    far = sorted(page.name for page in pages if found.get(page, MOST_LINKS + 1) > MOST_LINKS)
    assert not far, f"link them from README.md, or from a page that it links to: {', '.join(far)}"


def test_what_pages_link_to_is_there():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "emulator").glob("*.md")]
    missing = [f"{page.relative_to(ROOT)}: {link}" for page in pages for link in sorted(links_of(page) - OF_SITE)
               if not link.exists()]
    assert not missing, "; ".join(missing)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
