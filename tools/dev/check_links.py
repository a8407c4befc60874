#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Follows every link of a built site that leads to a place of its own: files must be there, and anchors in them.

Usage: check_links.py FOLDER

Links to other sites are not followed: nothing here needs a network.
"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """Names that a link may lead to, and links with their lines."""

    def __init__(self, path):
        super().__init__()
        self.names, self.links = {"", "top"}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key == "id" or (key == "name" and tag == "a"):
                self.names.add(value)
            elif key in ("href", "src") and value is not None:
                self.links.append((self.getpos()[0], value))


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    count, problems = 0, []
    for path, page in pages.items():
        for line, link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            place = urllib.parse.unquote(parts.path)
            target = (path.parent / place).resolve() if place else path
            if not target.is_file() or root not in target.parents:
                problems.append(f"{path.relative_to(root)}:{line}: {link}: there is no such file")
            elif target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].names:
                problems.append(f"{path.relative_to(root)}:{line}: {link}: there is no such anchor")
    print("\n".join(problems + [f"{len(pages)} pages, {count} links, {len(problems)} problems"]))
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
