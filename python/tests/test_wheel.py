# SPDX-License-Identifier: MIT
"""The wheel in an empty environment: pip installs it, and it multiplies on the emulator."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

from support import ROOT, main

BUILD = os.environ.get("JIT_GEMM_TEST_BUILD")
PROGRAM = """
import sys
import jit_gemm

a = memoryview(bytearray(16 * 8 * 4)).cast("B").cast("f", (16, 8))
b = memoryview(bytearray(8 * 16 * 4)).cast("B").cast("f", (8, 16))
for i in range(8):
    b[i, i] = 2
    for j in range(16):
        a[j, i] = j - i
try:
    d = jit_gemm.gemm(jit_gemm.tf32(a), jit_gemm.tf32(b), "d = relu(acc);", device="emulator")
except jit_gemm.NoCompilerError as error:
    sys.exit(f"no compiler: {error}")
assert [d[5, j] for j in range(8)] == [10, 8, 6, 4, 2, 0, 0, 0], d.tolist()
maps = open("/proc/self/maps").read()
for name in ("libjit_gemm.so.0", "libjit_gemm_emulator.so", "libxxhash.so.0", "libsodium.so"):
    places = {line.split()[-1] for line in maps.splitlines() if name in line}
    assert places and all(place.startswith(sys.prefix) for place in places), (name, places)
print("installed", jit_gemm.__file__)
"""


def run(*words, **variables):
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("JIT_GEMM_LIBRARY", "PYTHON", "LD_LIBRARY"))
    }
    words = [str(word) for word in words]
    return subprocess.run(
        words, env={**kept, **variables}, capture_output=True, text=True, check=False
    )


@unittest.skipUnless(BUILD, "JIT_GEMM_TEST_BUILD names no folder of meson's")
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        cls.wheel = cls.build("first")

    @classmethod
    def build(cls, name):
        done = run(
            sys.executable, ROOT / "python/build_wheel.py", "--build", BUILD, "-o", cls.path / name
        )
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        (wheel,) = (cls.path / name).glob("*.whl")
        return wheel

    def test_it_has_all_that_it_needs_and_the_notices(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        for word in (
            "jit_gemm/py.typed",
            "jit_gemm/torch.py",
            "lib/libjit_gemm_emulator.so",
            "lib/libsodium.so",
            "licenses/LICENSE",
            "licenses/libsodium",
            "licenses/libxxhash",
        ):
            self.assertTrue(any(word in name for name in names), word)
        self.assertFalse([name for name in names if "test" in name or "__pycache__" in name])
        self.assertRegex(self.wheel.name, r"^jit_gemm-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl$")

    def test_it_says_what_it_consists_of(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            (name,) = (one for one in wheel.namelist() if one.endswith("sboms/jit_gemm.spdx.json"))
            path = wheel.extract(name, self.path)
        version = self.wheel.name.split("-")[1]
        check = ROOT / "tests/install/check_sbom.py"
        done = run(sys.executable, check, path, version, "xxHash", "libsodium", "glibc")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = json.loads(pathlib.Path(path).read_text(encoding="ascii"))
        names = {one["SPDXID"]: one["name"] for one in document["packages"]}
        contained = {
            names[one["relatedSpdxElement"]]
            for one in document["relationships"]
            if one["relationshipType"] == "CONTAINS"
        }
        self.assertLessEqual({"xxHash", "libsodium", "libjit_gemm_emulator.so"}, contained)

    def test_the_same_inputs_give_the_same_bytes(self):
        self.assertEqual(self.build("second").read_bytes(), self.wheel.read_bytes())

    def test_pip_installs_it_and_it_multiplies_on_the_emulator(self):
        environment = self.path / "environment"
        made = run(sys.executable, "-m", "venv", environment)
        if made.returncode != 0:
            self.skipTest("no venv: " + (made.stdout + made.stderr).strip().split("\n")[0])
        python = environment / "bin" / "python"
        done = run(python, "-m", "pip", "install", "--no-index", "--quiet", self.wheel)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = run(python, "-I", "-c", PROGRAM, JIT_GEMM_CACHE_DIR=str(self.path / "cache"))
        if "no compiler" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(environment), done.stdout)


if __name__ == "__main__":
    main()
