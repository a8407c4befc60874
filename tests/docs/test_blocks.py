#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles or runs every code block of the README and of the site's pages; blocks.py says how each kind is tested.

Usage: test_blocks.py SOURCE_ROOT BUILD_ROOT JIT_GEMM
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import blocks

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from strides import in_turn  # noqa: E402

ROOT, BUILD, TOOL = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
ALL = list(blocks.all_blocks(ROOT))
HERE = pathlib.Path(__file__).resolve().parent
MANIFEST = "jit_gemm manifest 1\narch sm_90a\nproblem 256x256x128 bf16\n"

# What must fail here: (words of the call, exit code, words of the error). The first that fits counts.
FAILS = [("--modelled", 0, ""), ("gelo", 1, 'identifier "gelo"'), ("bench ", 1, ""), ("tune ", 1, ""), ("doctor", 1, ""),
         ("leaky.ptx", 1, "leaky.ptx"), ("replay", 1, "capsule"), ("prefetch=b pdl=0", 2, "prefetch=b needs pdl=1")]

C_FRAME = """#include <jit_gemm/combine.h>
#include <jit_gemm/device.h>
#include <jit_gemm/family.h>
#include <jit_gemm/jit_gemm.h>
#include <jit_gemm/recipe.h>
#include <jit_gemm/scales.h>
#include <stdio.h>
void block(jit_gemm_context *context, jit_gemm_problem problem, jit_gemm *gemm, jit_gemm_args args,
           jit_gemm_context_options options, void *stream, uint64_t a, uint64_t b, uint64_t d, uint64_t bias,
           uint64_t scales, uint64_t packed, uint64_t y, uint64_t index, uint64_t shares, int64_t m, int64_t n,
           int64_t k, int64_t tokens, int64_t rows_of_this_batch);
void block(jit_gemm_context *context, jit_gemm_problem problem, jit_gemm *gemm, jit_gemm_args args,
           jit_gemm_context_options options, void *stream, uint64_t a, uint64_t b, uint64_t d, uint64_t bias,
           uint64_t scales, uint64_t packed, uint64_t y, uint64_t index, uint64_t shares, int64_t m, int64_t n,
           int64_t k, int64_t tokens, int64_t rows_of_this_batch)
{
    {
%s
    }
}
"""
# Operands that snippets of the pages name and do not declare.
OPERANDS = {"bias": "row_vector:f32", "residual": "matrix:f32", "r": "matrix:f32", "scale": "scalar:f32",
            "seed": "scalar:f32", "keep": "scalar:f32"}


def of_kind(kind):
    found = [block for block in ALL if block.kind == kind]
    if not found:
        raise AssertionError(f"the pages have no block of the kind {kind}")
    return found


def call(words, folder=None, **options):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, **options)


class Blocks(unittest.TestCase):
    def expect(self, block, done):
        self.assertEqual(done.returncode, 0, f"{block.page}:{block.line}\n{done.stdout}{done.stderr}")

    def test_each_block_has_a_kind(self):
        unknown = [f"{block.page}:{block.line}: {block.text.splitlines()[0]}" for block in ALL if block.kind is None]
        self.assertEqual(unknown, [], "name their kind in tests/docs/blocks.py")
        self.assertGreater(len(ALL), 100)

    def test_c_compiles(self):
        for block in of_kind("c"):
            whole = block.text if "int main" in block.text else C_FRAME % block.text
            done = call(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused", f"-I{ROOT}/include",
                         "-Wno-unused-parameter", f"-I{BUILD}/include", "-fsyntax-only", "-x", "c", "-"], input=whole)
            self.expect(block, done)

    def test_cpp_compiles(self):
        for block in of_kind("c++"):
            self.expect(block, call(["g++", "-D__device__=", "-fsyntax-only", "-Wall", "-Werror", "-x", "c++", "-"],
                                    input=block.text))

    def test_python_runs(self):
        for block in of_kind("python"):
            compile(block.text, f"{block.page}:{block.line}", "exec")
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("there is no numpy")
        env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "JIT_GEMM_LIBRARY": f"{BUILD}/lib/libjit_gemm.so"}
        for page in ("docs/index.md", "docs/start.md"):
            (block,) = [block for block in of_kind("python") if block.page == page]
            self.expect(block, call([sys.executable, "-c", block.text], env=env))

    def test_snippets_are_right(self):
        for block in of_kind("snippet"):
            text = block.text
            if text.startswith("for ("):
                text = "float x = acc; float weights[2] = {1.0f, 2.0f}; d = acc;\n" + re.sub(
                    r"( *//.*)?\n", " x += 1.0f;\n", text)
            declared = dict(re.findall(r"// (\w+):(\S+)", text))
            declared.update({name: kind for name, kind in OPERANDS.items()
                             if re.search(rf"\b{name}\b", re.sub("//.*", "", text))})
            words = [word for name, kind in declared.items() for word in ("--operand", f"{name}:{kind}")]
            self.expect(block, call([TOOL, "epilogue", "check", "--epilogue", text, *words]))

    def test_manifests_and_recipes_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            for block in of_kind("manifest"):
                text = block.text if block.text.startswith("jit_gemm manifest") else f"jit_gemm manifest 1\n{block.text}"
                self.expect(block, call([TOOL, "prewarm", "-", "--arch", "sm_90a", "--estimate"], folder, input=text))
            for block in of_kind("recipe"):
                pathlib.Path(folder, "r.recipe").write_text(block.text, encoding="utf-8")
                done = call([TOOL, "plan", "4096x4096x4096", "bf16", "--arch", "sm_90a", "--recipe", "r.recipe"], folder)
                self.expect(block, done)
                self.assertIn("measured by hand", done.stdout)

    def test_builds_name_what_there_is(self):
        tests = json.loads((BUILD / "meson-info" / "intro-tests.json").read_text())
        names = {test["name"] for test in tests}
        targets = json.loads((BUILD / "meson-info" / "intro-targets.json").read_text())
        built = {os.path.relpath(name, BUILD) for target in targets for name in target["filename"]}
        suites = {suite.rpartition(":")[2] for test in tests for suite in test["suite"]} | {"fuzz"}
        for block in of_kind("build"):
            self.expect(block, call(["bash", "-n"], input=block.text))
            for line in block.text.replace("\\\n", " ").splitlines():
                words = [word.strip("'\"`;") for word in line.partition(" #")[0].split()]
                for i, word in enumerate(words):
                    place = f"{block.page}:{block.line}: {word}"
                    if re.match(r"(\./)?(scripts|tests|tools|bench|python|emulator)/[\w/.]+$", word):
                        self.assertTrue((ROOT / word).exists(), place)
                    if re.match(r"build/\w+/", word):
                        self.assertIn(word.partition("/")[2], built, place)
                    if word == "test" and words[i - 1] == "meson" and "build-fuzz" not in words:
                        for name in re.sub(r"-[Ct] \S+|&&.*", "", " ".join(words[i + 1:])).replace("--suite ", "--").split():
                            known = suites if name.startswith("--") else names
                            self.assertIn(name.removeprefix("--"), known, place)  # Meson before 1.2 takes no patterns

    def test_commands_run(self):
        if call([TOOL, "build", "64x64x64", "bf16", "--arch", "sm_90a", "--no-cache", "-o", "/dev/null"]).returncode:
            self.skipTest("nothing can be compiled here")
        with tempfile.TemporaryDirectory() as scratch:
            folder, log = pathlib.Path(scratch), pathlib.Path(scratch, "calls")
            (folder / "bin").mkdir()
            (folder / "bin" / "jit-gemm").symlink_to(HERE / "small_jit_gemm.py")
            env = {key: value for key, value in os.environ.items()
                   if not key.startswith("JIT_GEMM_") or key in ("JIT_GEMM_NVRTC", "JIT_GEMM_NVDISASM")}
            env.update(JIT_GEMM_DRIVER="/absent", PATH=f"{folder}/bin:{env['PATH']}", REAL_JIT_GEMM=str(TOOL), SMALL_JIT_GEMM_LOG=str(log),
                       JIT_GEMM_CACHE_DIR=str(folder / "cache"))
            found = of_kind("sh")
            others = sorted({block.page for block in found} - {"README.md"})
            pages = {"README.md", *in_turn(others)}
            for block in found:
                if block.page in pages:
                    self.run_block(block, folder / f"{pathlib.Path(block.page).stem}", env, log)

    def test_named_epilogues_are_called_as_their_page_says(self):
        sys.path.insert(0, str(ROOT / "docs"))
        import build_site

        page = "\n".join(build_site.named_epilogues())
        found = [block.text for block in blocks.blocks_of("named-epilogues", page) if block.kind == "sh"]
        self.assertEqual(len(found), len(list((ROOT / "lib" / "epilogues").glob("*.epi"))))
        for i, line in enumerate(found):
            words = line.replace(" --verify", " --arch sm_90a").split()
            if i == 0:
                words += ["--verify", "--device", "emulator"]
            else:
                words[1] = "plan"
            done = call([TOOL, *words[1:]])
            self.assertEqual(done.returncode, 0, f"{line}{done.stderr}")

    def run_block(self, block, folder, env, log):
        """In a folder of its page, where files are that the text takes for granted."""
        if not folder.exists():
            folder.mkdir()
            (folder / "bench").symlink_to(ROOT / "bench")
            (folder / "srv").mkdir()
            recipe = of_kind("recipe")[0].text
            for name, text in (("manifest.txt", MANIFEST), ("model.manifest", MANIFEST), ("h200.recipe", recipe),
                               ("model.txt", "4096x4096x4096 bf16\n")):
                (folder / name).write_text(text, encoding="utf-8")
        log.write_text("", encoding="utf-8")
        lines = [line for line in block.text.splitlines()
                 if not line.startswith(("...", "emu-run ", "LD_LIBRARY_PATH=", "ptxas ", "bench/plot_ratios", "python3 "))
                 and "./my_program" not in line]
        text = "\n".join(lines).replace("/var/tmp/units", f"{folder}/units").replace(
            "workspace=64m -o h200.recipe", "workspace=64m -o new.recipe")
        said = call(["bash", "-c", text], folder, env=env).stdout
        calls = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        place = f"{block.page}:{block.line}"
        self.assertGreaterEqual(len(calls), len(re.findall(r"^ *(?:\w+=\S+ |time )*jit-gemm", text, re.M)), place)
        for quoted in re.findall(r"^jit-gemm plan .*\n\.\.\. (.*)", block.text, re.M):
            self.assertIn(quoted, " ".join(said.split()), place)
        for one in calls:
            words = " ".join(one["words"])
            _, code, error = next((fails for fails in FAILS if fails[0] in words), ("", 0, ""))
            with self.subTest(place=place, words=words):
                self.assertEqual(one["code"], code, one["error"])
                self.assertIn(error, one["error"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
