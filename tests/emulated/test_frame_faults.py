#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in the frame around a snippet (jg/epilogue/user_epilogue.cuh), which the kernel and the
reference kernel share: `run --verify` has to see them by its second reading. And faults in random
numbers that are drawn before the products (jg/epilogue/drawn_numbers.cuh), which the reference kernel
does not share; and in a matrix that goes out beside D from fragments, and a D that warps
store. Prints TAP.

Usage: test_frame_faults.py JIT_GEMM SOURCE_ROOT EMULATOR NVRTC
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_harness import (emulator_by_name, expect, expect_exit, named_tests, need_compiler,  # noqa: E402
                         run_tests, tool)

EMULATOR = pathlib.Path(sys.argv[3]).resolve()
NVRTC = pathlib.Path(sys.argv[4]).resolve()
SNIPPET = "d = d + acc * 0.5f + bias + float(row - 2 * col) + 0.25f * float(M - N);"
WORDS = ["run", "96x64x64", "bf16", "d=f32", "--device", "emulator", "--arch", "sm_90a", "--no-cache",
         "--epilogue", SNIPPET, "--operand", "bias:row_vector:f32", "--verify"]
ROWS = [
    ("row and column are exchanged", "const int row, const int col,", "const int col, const int row,"),
    ("D is no result of the snippet", "JG_ACC_PARAMETERS, float &d,", "JG_ACC_PARAMETERS, float d,"),
    ("D does not begin as acc", "jg::f32 d = JG_ACC_FIRST;", "jg::f32 d = 0.0f;"),
    ("M and N are exchanged", "const int M, const int N,", "const int N, const int M,"),
    ("an accumulator is its double", "#define JG_ACC_VALUES                                          acc\n",
     "#define JG_ACC_VALUES                                          2.0f * acc\n"),
]
DRAWN_WORDS = ["run", "200x136x64", "bf16", "d=f32", "batch=2", "--config", "tile=128x128 cluster=1x1", "--device",
               "emulator", "--arch", "sm_90a", "--no-cache", "--epilogue", "d = acc + uniform(seed);",
               "--operand", "seed:scalar:f32", "--verify"]
DRAWN_ROWS = [
    ("all vectors have the words of the first", "= words_[i][element];", "= words_[0][element];"),
    ("the first passes have those of the last", "coord.row += i % kPasses * kPassRows;", "coord.row += 0;"),
    ("steps have those of the first", "first_coord(shape, tile, i / kPasses)", "first_coord(shape, tile, 0)"),
    ("a step's passes are counted from the first step", "drawn_.take(step * kPasses + ", "drawn_.take("),
    ("all batches have those of the first", "static_cast<int>(coord.batch), seed)", "0, seed)"),
    ("elements have those of the tile's first column", "vector_column(coord, element)", "element"),
    ("the seed is another", "const f32 seed = Epilogue", "const f32 seed = 1.0f + Epilogue"),
]
# Four multiprocessors have several tiles each.
ASSIGNED_WORDS = ["run", "136x200x64", "bf16", "batch=3", "--config", "tile=64x128 cluster=1x1", "--device",
                  "emulator", "--arch", "sm_90a", "--no-cache", "--epilogue", "aux = acc * 0.5f; d = relu(acc);",
                  "--operand", "aux:matrix:f16:out", "--verify"]
ASSIGNED_ROWS = [
    ("it goes to D", "store_.store_to(&params.operand_maps[Operands::kOutput]", "store_.store_to(&params.maps[kMapD]"),
    ("all batches have the first one's", "batch * params.operands[Operands::kOutput].batch_step", "0"),
    ("it has values of D's type", "take(FragmentWords<T>{values});", "take(FragmentWords<bf16>{values});"),
    ("pairs of groups have the last one's", "fragments_.store(buffer, fragment, pair, kept.packed[fragment][pair]);",
     "fragments_.store(buffer, fragment, pair, kept.packed[fragment][kGroups / 2 - 1]);"),
    ("elements of a pair have the second one's", "return values[at.group % 2][at.half][at.element];",
     "return values[at.group % 2][at.half][1];"),
]
# A CTA has one tile.
STORED_WORDS = ["run", "136x200x64", "bf16", "batch=2", "--config", "tile=64x128 cluster=1x1", "--device",
                "emulator", "--arch", "sm_90a", "--no-cache", "--epilogue", "d = relu(acc) + b;",
                "--operand", "b:row_vector:bf16", "--verify"]
STORED_ROWS = [
    ("chunks lie as if nothing permuted them", "const u32 swizzled = chunk ^ store_tile_swizzle<kRowBytes>(at);",
     "const u32 swizzled = chunk;"),
    ("passes have the rows of the first", "const u32 at = own + i * kPassRows;", "const u32 at = own;"),
    ("passes go to the rows of the first", "const u32 below = i * kPassRows;", "const u32 below = 0;"),
    ("warps have the first one's rows", "const u32 own = first + lane / kChunks;", "const u32 own = lane / kChunks;"),
    ("rows behind the last one are stored", "(Config::kWholeRows || row + own + below < shape.m)", "true"),
    ("columns behind the last one are stored", "Config::kWholeCols || col + chunk * 8 < shape.n;", "true;"),
    ("all batches have the first one's", "row + own, col + chunk * 8, batch);", "row + own, col + chunk * 8, 0);"),
    ("lanes do not wait for each other", "float4 chunks[kPasses];\n    __syncwarp();", "float4 chunks[kPasses];"),
    ("vectors are those of the first store tile", "ahead_[i].load(params, coord_of(shape, tile, i));",
     "ahead_[i].load(params, coord_of(shape, WorkTile(), i));"),
]


def run_with(before, after, words=tuple(WORDS), settings="show=errors"):
    variables = emulator_by_name(EMULATOR, settings)
    return tool(*words, "--nvrtc", NVRTC, variables={**variables, "MUTATE_FROM": before, "MUTATE_TO": after})


def test_without_a_fault_it_passes():
    need_compiler()
    done = run_with("JG_EPILOGUE_END", "JG_EPILOGUE_END")
    expect_exit(done, 0)
    expect(done.stdout.splitlines()[-1].startswith("PASS "), "no PASS", done)


def test_each_fault_of_the_frame_is_seen():
    need_compiler()
    for name, before, after in ROWS:
        done = run_with(before, after)
        expect(done.returncode == 1 and "D: the reference is wrong" in done.stderr, name, done)
        expect(done.stdout.splitlines()[-1].startswith("FAIL "), name, done)


def test_each_fault_of_drawn_numbers_is_seen():
    need_compiler()
    done = run_with("JG_EPILOGUE_END", "JG_EPILOGUE_END", DRAWN_WORDS)
    expect_exit(done, 0)
    for name, before, after in DRAWN_ROWS:
        done = run_with(before, after, DRAWN_WORDS)
        expect(done.returncode == 1 and done.stdout.splitlines()[-1].startswith("FAIL "), name, done)


def test_each_fault_of_an_assigned_matrix_is_seen():
    need_compiler()
    done = run_with("JG_EPILOGUE_END", "JG_EPILOGUE_END", ASSIGNED_WORDS, "show=errors,sms=4")
    expect_exit(done, 0)
    for name, before, after in ASSIGNED_ROWS:
        done = run_with(before, after, ASSIGNED_WORDS, "show=errors,sms=4")
        is_seen = "\nFAIL " in done.stdout or "\nerror [" in done.stdout + done.stderr
        expect(done.returncode == 1 and is_seen, name, done)


def test_each_fault_of_rows_that_warps_store_is_seen():
    need_compiler()
    done = run_with("JG_EPILOGUE_END", "JG_EPILOGUE_END", STORED_WORDS)
    expect_exit(done, 0)
    for name, before, after in STORED_ROWS:
        done = run_with(before, after, STORED_WORDS)
        is_seen = "\nFAIL " in done.stdout or "\nerror [" in done.stdout + done.stderr
        expect(done.returncode == 1 and is_seen, name, done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
