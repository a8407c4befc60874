# SPDX-License-Identifier: MIT
"""The programs in docs/python.md, and that of the README, run as they are printed."""

import contextlib
import io
import re

from support import ROOT, CompilerTest, main, needs_numpy

TEXT = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


@needs_numpy
class Docs(CompilerTest):
    def test_its_programs_run_one_after_the_other(self):
        blocks = re.findall(r"```python\n(.*?)```", TEXT, re.S)
        self.assertGreaterEqual(len(blocks), 4)
        names = {}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for block in blocks:
                exec(compile(block, "docs/python.md", "exec"), names)
        self.assertIn("(96, 80) (96,)", printed.getvalue())
        self.assertIn("1 5\n  d = gelo(acc + bias);\n      ^\n", printed.getvalue())

    def test_the_program_of_the_readme_runs(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        (block,) = re.findall(r"```python\n(.*?)```", text, re.S)
        names = {}
        exec(compile(block, "README.md", "exec"), names)
        self.assertEqual(names["d"].shape, (96, 80))

    def test_it_names_all_that_there_is(self):
        import jit_gemm

        for name in jit_gemm.__all__:
            if name[0].islower() or name.endswith("Error"):
                self.assertTrue(name in TEXT, name)

    def test_problems_that_docstrings_name_are_problems(self):
        import jit_gemm

        texts = []
        for name in jit_gemm.__all__:
            thing = getattr(jit_gemm, name)
            for doc in [thing.__doc__] + [getattr(part, "__doc__", None) for part in vars(thing).values()]:
                texts += re.findall(r'"([^"]*\bk=\d[^"]*)"', doc or "")
        self.assertGreaterEqual(len(texts), 1)
        with jit_gemm.Context("none", arch="sm_90a") as context:
            for text in texts:
                self.assertIn("chosen:", context.plan(text), text)


if __name__ == "__main__":
    main()
