#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what a build consists of, and what it needs, as SPDX 2.3 in JSON.

write_sbom.py --version V --output FILE [--cuda VERSION] [--package NAME=VERSION]... [--bundled FILE]... FILE...

FILE... are the libraries and programs that are installed. What they are linked with is read from
themselves; --package says which version of it this is, by its name for pkg-config. --bundled are
libraries of others that go along, as in a wheel. The time is SOURCE_DATE_EPOCH, or that of the newest
file, so that the same inputs give the same bytes.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

NONE = "NOASSERTION"
# By the begin of a library's name: package, name for pkg-config, licence, repository.
KNOWN = {
    "libxxhash.so": ("xxHash", "libxxhash", "BSD-2-Clause", "github/cyan4973/xxhash"),
    "libsodium.so": ("libsodium", "libsodium", "ISC", "github/jedisct1/libsodium"),
}
GLIBC = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux[\w-]*)\.so")
OURS = ("libjit_gemm", "libcudart.so.13")


def read_elf(path, *options):
    done = subprocess.run(["readelf", "-W", *options, path], stdout=subprocess.PIPE, text=True,
                          check=True, env={**os.environ, "LC_ALL": "C"})
    return done.stdout


def needed(path):
    """Names of the libraries that a program or shared library is linked with."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", read_elf(path, "-d"))


def glibc_version(path):
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", read_elf(path, "-V"))
    return max(((int(major), int(minor)) for major, minor in found), default=(0, 0))


def element_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name.replace("_", "."))


class Document:
    def __init__(self, words):
        self.words = words
        self.versions = dict(one.split("=", 1) for one in words.package)
        self.packages, self.relations = {}, []
        self.glibc = max((glibc_version(path) for path in words.files if is_elf(path)), default=(0, 0))

    def add(self, name, version, licence, **more):
        key = element_id(name)
        if name != self.packages.get(key, {"name": name})["name"]:
            sys.exit(f"{name} and {self.packages[key]['name']} are both {key}")
        self.packages.setdefault(key, {
            "SPDXID": key, "name": name, **({"versionInfo": version} if version else {}),
            "downloadLocation": NONE, "filesAnalyzed": False, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": NONE, "supplier": NONE, **more})
        return key

    def relate(self, one, kind, other):
        relation = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        if relation not in self.relations:
            self.relations.append(relation)

    def add_library(self, soname):
        """The package that a library belongs to."""
        for begin, (name, pkgconfig, licence, purl) in KNOWN.items():
            if soname.startswith(begin):
                version = self.versions[pkgconfig]
                reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                             "referenceLocator": f"pkg:{purl}@{version}"}
                return self.add(name, version, licence, externalRefs=[reference])
        if GLIBC.match(soname):
            return self.add("glibc", f"{self.glibc[0]}.{self.glibc[1]}", "LGPL-2.1-or-later",
                            comment="this version or a newer one")
        return self.add(soname, None, NONE)

    def add_component(self, path, whole):
        ours = self.add(path.name, self.words.version, "MIT", primaryPackagePurpose="LIBRARY" if
                        path.name.startswith("lib") else "APPLICATION")
        self.relate(whole, "CONTAINS", ours)
        if not is_elf(path):  # a static library: whoever links it links these too
            for soname in KNOWN:
                self.relate(ours, "DEPENDS_ON", self.add_library(soname))
            return
        for soname in needed(path):
            if not soname.startswith(OURS):
                self.relate(ours, "DYNAMIC_LINK", self.add_library(soname))

    def fill(self):
        whole = self.add("jit_gemm", self.words.version, "MIT", copyrightText=copyright_line())
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", whole)
        for path in self.words.files:
            self.add_component(path, whole)
        for path in self.words.bundled:
            self.relate(whole, "CONTAINS", self.add_library(path.name))
        driver = self.add("CUDA driver", None, NONE, comment="opened at run time where there is one")
        compiler = self.add("NVRTC", None, NONE, comment="opened at run time where a kernel is compiled")
        self.relate(driver, "OPTIONAL_DEPENDENCY_OF", whole)
        self.relate(compiler, "OPTIONAL_DEPENDENCY_OF", whole)
        if self.words.cuda:
            headers = self.add("CUDA headers", self.words.cuda, NONE, comment="types and constants only")
            self.relate(headers, "BUILD_DEPENDENCY_OF", whole)

    def text(self):
        self.fill()
        files = [*self.words.files, *self.words.bundled]
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
        name = f"jit_gemm-{self.words.version}"
        seconds = os.environ.get("SOURCE_DATE_EPOCH") or max(int(path.stat().st_mtime) for path in files)
        created = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
        return json.dumps({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": name,
            "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "creators": [f"Tool: jit_gemm-write_sbom-{self.words.version}"]},
            "packages": list(self.packages.values()), "relationships": self.relations,
        }, indent=2) + "\n"


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def copyright_line():
    text = (pathlib.Path(__file__).resolve().parents[1] / "LICENSE").read_text(encoding="utf-8")
    return re.search(r"^Copyright.*$", text, re.M)[0]


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--cuda")
    parser.add_argument("--package", action="append", default=[])
    parser.add_argument("--bundled", type=pathlib.Path, action="append", default=[])
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    words = parser.parse_args()
    words.output.write_text(Document(words).text(), encoding="utf-8")


main()
