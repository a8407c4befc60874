#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Usage: check_sbom.py FILE VERSION NAME...

Is FILE a document of SPDX 2.3 that describes jit_gemm VERSION, with packages of these names? What the
specification demands is looked at here; the package spdx-tools looks at it as well where it is installed.
"""
import json
import re
import sys

PACKAGE_FIELDS = {"SPDXID", "name", "downloadLocation", "filesAnalyzed", "licenseConcluded",
                  "licenseDeclared", "copyrightText"}
RELATIONS = {"DESCRIBES", "CONTAINS", "DYNAMIC_LINK", "DEPENDS_ON", "OPTIONAL_DEPENDENCY_OF",
             "BUILD_DEPENDENCY_OF"}
IDENTIFIER = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")


def expect(condition, text):
    if not condition:
        sys.exit(f"{sys.argv[1]}: {text}")


def check_document(document, version, names):
    for name, pattern in (("spdxVersion", r"SPDX-2\.3"), ("dataLicense", r"CC0-1\.0"),
                          ("SPDXID", "SPDXRef-DOCUMENT"), ("name", r"jit_gemm-[\d.]+"),
                          ("documentNamespace", r"https://[^\s#]+")):
        expect(re.fullmatch(pattern, document.get(name, "")), f"{name}: {document.get(name)}")
    created = document["creationInfo"]
    expect(re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z", created["created"]), f"{created}")
    expect(all(re.match("(Tool|Person|Organization): ", one) for one in created["creators"])
           and created["creators"], f"{created}")
    packages = {one["SPDXID"]: one for one in document["packages"]}
    expect(len(packages) == len(document["packages"]), "an identifier is there twice")
    for key, package in packages.items():
        expect(IDENTIFIER.fullmatch(key), f"{key} is no identifier")
        expect(PACKAGE_FIELDS <= package.keys(), f"{key} lacks {PACKAGE_FIELDS - package.keys()}")
    known = packages.keys() | {"SPDXRef-DOCUMENT"}
    for relation in document["relationships"]:
        ends = {relation["spdxElementId"], relation["relatedSpdxElement"]}
        expect(ends <= known and relation["relationshipType"] in RELATIONS, f"{relation}")
    roots = [one["relatedSpdxElement"] for one in document["relationships"]
             if one["relationshipType"] == "DESCRIBES"]
    expect(len(roots) == 1 and packages[roots[0]]["name"] == "jit_gemm" and
           packages[roots[0]]["versionInfo"] == version, f"it describes {roots}")
    found = {one["name"] for one in packages.values()}
    expect(set(names) <= found, f"{set(names) - found} are missing in {sorted(found)}")


def check_by_tools(path):
    try:
        from spdx_tools.spdx.parser.parse_anything import parse_file
        from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    except ImportError:
        return "spdx-tools is not installed"
    messages = validate_full_spdx_document(parse_file(path))
    expect(not messages, "\n".join(one.validation_message for one in messages))
    return "spdx-tools finds nothing"


def main():
    path, version, *names = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    check_document(document, version, names)
    print(f"{path}: {len(document['packages'])} packages; {check_by_tools(path)}")


main()
