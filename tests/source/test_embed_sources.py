#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/dev/embed_sources.py: what it writes and what it refuses."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv.pop(1)


class EmbedSources(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = os.path.join(self.folder.name, "root")
        self.output = os.path.join(self.folder.name, "out.c")
        os.makedirs(os.path.join(self.root, "jg"))

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, data):
        path = os.path.join(self.root, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def embed(self, *inputs):
        return subprocess.run([sys.executable, SCRIPT, "--root", self.root, "--output",
                               self.output, *inputs], capture_output=True, text=True)

    def read_output(self):
        with open(self.output, encoding="ascii") as file:
            return file.read()

    def test_order_of_arguments_does_not_matter(self):
        a = self.write("jg/a.cuh", b"int a;\n")
        b = self.write("jg/b.cuh", b"int b;\n")
        self.assertEqual(self.embed(a, b).returncode, 0)
        first = self.read_output()
        self.assertEqual(self.embed(b, a).returncode, 0)
        self.assertEqual(first, self.read_output())
        self.assertLess(first.index('"jg/a.cuh"'), first.index('"jg/b.cuh"'))

    def test_bytes_are_kept_and_terminated(self):
        a = self.write("jg/a.cuh", b"x\t\n")
        self.assertEqual(self.embed(a).returncode, 0)
        self.assertIn("120, 9, 10, 0,", self.read_output())
        self.assertIn('{"jg/a.cuh", file_0, 3u}', self.read_output())

    def test_non_ascii_is_refused_with_its_place(self):
        a = self.write("jg/a.cuh", b"int a;\n// caf\xc3\xa9\n")
        result = self.embed(a)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("a.cuh:2:7: byte 0xc3 is not plain ASCII", result.stderr)
        self.assertFalse(os.path.exists(self.output))

    def test_carriage_return_and_zero_are_refused(self):
        for byte in (b"\r", b"\0"):
            a = self.write("jg/a.cuh", b"int a;" + byte + b"\n")
            result = self.embed(a)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("a.cuh:1:7:", result.stderr)

    def test_file_outside_of_the_root_is_refused(self):
        path = os.path.join(self.folder.name, "b.cuh")
        with open(path, "wb") as file:
            file.write(b"int b;\n")
        result = self.embed(path)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("not below the root", result.stderr)

    def test_same_file_twice_is_refused(self):
        a = self.write("jg/a.cuh", b"int a;\n")
        result = self.embed(a, a)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("given twice", result.stderr)


if __name__ == "__main__":
    unittest.main()
