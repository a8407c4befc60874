#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the library's own epilogues are embedded, and that the manual has the table of them.

Usage: test_embed_epilogues.py SCRIPT MANUAL EPILOGUE...
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from tap import named_tests, run_tests  # noqa: E402

SCRIPT, MANUAL, EPILOGUES = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
GOOD = "// d = acc * s\n// cuBLASLt: none\n// operand s:scalar:f32  factor\nd = acc * s;\n"


def embed(*words):
    return subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True,
                          text=True, check=False)


def embed_text(text):
    """What the script says of a file with this text, and the C file that it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / "name.epi", pathlib.Path(folder) / "out.c"
        source.write_text(text, encoding="ascii")
        done = embed("--output", target, source)
        return done, target.read_text(encoding="ascii") if target.exists() else ""


def expect_refused(text, words):
    done, written = embed_text(text)
    assert done.returncode != 0 and not written, "it was taken"
    assert words in done.stderr, done.stderr


def test_manual_has_the_table_of_all():
    done = embed(*EPILOGUES)
    assert done.returncode == 0 and done.stdout.count("\n") == len(EPILOGUES) + 2, done.stderr
    table = MANUAL.read_text(encoding="utf-8").split("writes this table -->\n")[1].split("\n\n")[0]
    assert table + "\n" == done.stdout, f"docs/epilogues.md should have\n{done.stdout}"


def test_a_file_becomes_a_row():
    done, written = embed_text(GOOD)
    assert done.returncode == 0, done.stderr
    for words in ('{"name", "d = acc * s",', '"none",', '"d = acc * s;\\n"', "1u, operands_of_name",
                  '{"s", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_INPUT, 0}'):
        assert words in written, written


def test_order_of_arguments_does_not_matter():
    assert embed(*EPILOGUES).stdout == embed(*reversed(EPILOGUES)).stdout


def test_comments_behind_the_head_belong_to_the_snippet():
    _, written = embed_text(GOOD.replace("\nd = acc", "\n// twice\nd = acc"))
    assert '"// twice\\nd = acc * s;\\n"' in written, written


def test_operand_that_cannot_be_read_is_refused():
    expect_refused(GOOD.replace("s:scalar:f32  factor", "s:scalar:f32"), "is not `operand NAME")
    expect_refused(GOOD.replace("scalar", "vector"), "`vector` is none of")
    expect_refused(GOOD.replace("f32", "f64"), "`f64` is none of")
    expect_refused(GOOD.replace("f32", "f32:in"), "`in` is none of")


def test_head_that_lacks_a_part_is_refused():
    expect_refused("d = acc;\n", "needs its math")
    expect_refused("// d = acc\nd = acc;\n", "needs its math")
    expect_refused("// d = acc\n// cuBLASLt: none\n", "needs its math")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
