# SPDX-License-Identifier: MIT
"""The names of the C interface here are those of the headers, in their order."""

import ctypes
import re
import unittest

from support import ROOT, main

from jit_gemm import _abi

SCALARS = {
    ctypes.c_int: "int",
    ctypes.c_int32: "int",
    ctypes.c_uint32: "uint32_t",
    ctypes.c_int64: "int64_t",
    ctypes.c_uint64: "uint64_t",  # and size_t, which ctypes does not tell apart
    ctypes.c_ubyte: "unsigned char",
}


def read_headers():
    """The text of all public headers, without comments."""
    paths = sorted((ROOT / "include" / "jit_gemm").glob("*.h"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


HEADERS = read_headers()


def fields_of(name):
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), HEADERS, re.S)[1]
    return [
        re.search(r"(\w+)\s*(?:\[\w+\])?$", entry.strip())[1]
        for entry in body.split(";")
        if entry.strip()
    ]


def enumerators_of(name):
    body = re.search(r"typedef enum %s \{(.*?)\} %s;" % (name, name), HEADERS, re.S)[1]
    return set(re.findall(r"(JIT_GEMM_\w+)\s*=", body))


def parameter_kind(text):
    """A pointer, or the type of a number; enums are ints."""
    if "*" in text:
        return "pointer"
    words = " ".join(text.split()[:-1]).removeprefix("const ")
    if words.startswith("jit_gemm_"):
        return "int"
    return {"int32_t": "int", "size_t": "uint64_t"}.get(words, words)


class Abi(unittest.TestCase):
    def test_structs_have_the_fields_of_the_headers_in_their_order(self):
        for name, struct in _abi.STRUCTS.items():
            self.assertEqual(fields_of(name), [field for field, *_ in struct._fields_], name)

    def test_enums_have_all_enumerators(self):
        for enum, prefix in _abi.ENUMS.items():
            name = "jit_gemm" + re.sub(r"([A-Z])", r"_\1", enum.__name__).lower()
            own = {prefix + member.name for member in enum if member is not _abi.Status.OK}
            self.assertEqual(enumerators_of(name) - {"JIT_GEMM_OK"}, own, name)

    def test_functions_take_what_the_headers_say(self):
        for name, (_, *parameters) in _abi.FUNCTIONS.items():
            found = re.search(r"JIT_GEMM_API[^;]*?\bjit_gemm_%s\(([^;]*?)\);" % name, HEADERS)
            self.assertIsNotNone(found, name)
            given = [] if found[1].strip() == "void" else found[1].split(",")
            wanted = [SCALARS.get(parameter, "pointer") for parameter in parameters]
            self.assertEqual([parameter_kind(text) for text in given], wanted, name)


if __name__ == "__main__":
    main()
