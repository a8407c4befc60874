#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives capsules and `jit-gemm replay`. Prints TAP.

Usage: test_cli_capsule.py JIT_GEMM SOURCE_ROOT BROKEN_NVRTC

The last one is a library that looks like NVRTC, whose every compile breaks.
"""
import re
import shutil
import sys

from cli_harness import (ARCH, SMALL, Folder, expect, expect_exit, named_tests, need_compiler,
                         run_tests, tool)

BROKEN = sys.argv[3]
SECRET = "secret_place"
# The assembler knows no such rounding.
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) keep(.param .b32 a, .param .b32 b, .param .b32 c, .param .b32 d)
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [a];
    add.rx.f32 %f2, %f1, %f1;
    st.param.f32 [r], %f2;
    ret;
}
"""


def leave(folder, *words, variables=None):
    """A build that breaks; its capsules."""
    snippet = folder.path / SECRET / "my_snippet.cu"
    snippet.parent.mkdir(exist_ok=True)
    snippet.write_text("d = acc * 2.0f;\n", encoding="ascii")
    done = tool("build", *SMALL, *ARCH, "--nvrtc", BROKEN, "--epilogue-file", snippet, "-o",
                folder.path / "out.cubin", *words, cache=folder.cache,
                variables={"HOME": str(folder.path / SECRET), **(variables or {})})
    expect_exit(done, 1)
    expect("nvrtcCompileProgram failed: FAKE_ERROR" in done.stderr, "the error", done)
    capsules = folder.path / "capsules"
    return done, sorted(capsules.iterdir()) if capsules.exists() else []


def test_a_compile_that_breaks_leaves_a_capsule_that_replays():
    with Folder() as folder:
        done, found = leave(folder, "--capsule", folder.path / "capsules")
        expect(len(found) == 1, f"{found}", done)
        expect(f"jit-gemm replay {found[0]}" in done.stderr, "says so", done)
        replayed = tool("replay", found[0], "--nvrtc", BROKEN)
        expect_exit(replayed, 0)
        expect(replayed.stdout == "replay: same error; same library, same compiler, "
               "same device sources\n", "one line", replayed)
        expect(replayed.stderr == "", "silence", replayed)
        replayed = tool("replay", found[0], "--nvrtc", BROKEN, "--verbose")
        expect_exit(replayed, 0)
        expect("error: NVRTC: nvrtcCompileProgram failed: FAKE_ERROR (<path>)" in
               replayed.stderr, "the error", replayed)
        replayed = tool("replay", found[0], "--nvrtc", BROKEN, "--device", "emulator", "--arch", "sm_90a")
        expect_exit(replayed, 0)


def test_the_variable_names_the_folder_and_the_option_wins():
    with Folder() as folder:
        variable = {"JIT_GEMM_CAPSULES": str(folder.path / "capsules")}
        _, found = leave(folder, "--capsule", folder.path / "others", variables=variable)
        expect(not found and (folder.path / "others").exists(), "the option's")
        _, found = leave(folder, variables=variable)
        expect(len(found) == 1, f"{found}")
        shutil.rmtree(folder.path / "capsules")
        _, found = leave(folder)
        expect(not found, "none by default")


def test_no_path_of_the_user_is_in_a_capsule():
    with Folder() as folder:
        _, found = leave(folder, "--capsule", folder.path / "capsules")
        for path in found[0].iterdir():
            text = path.read_text(encoding="ascii")
            for secret in (str(folder.path), folder.path.name, SECRET, "my_snippet", BROKEN,
                           str(folder.cache)):
                expect(secret not in text, f"{path.name} has {secret}:\n{text}")


def test_a_capsule_of_another_compiler_is_compared_with_this_one():
    need_compiler()
    with Folder() as folder:
        _, found = leave(folder, "--capsule", folder.path / "capsules")
        replayed = tool("replay", found[0])
        expect_exit(replayed, 1)
        expect(replayed.stdout == "replay: compiles here; same library, other compiler, "
               "same device sources\n", "one line", replayed)
        expect("; here: nvrtc " in replayed.stderr, "versions", replayed)
        before = {path.name: path.read_bytes() for path in found[0].iterdir()}
        unit = found[0] / "unit.cu"
        unit.write_text(unit.read_text().replace("acc * 2.0f", "acc * 2.0g"))
        replayed = tool("replay", found[0])
        expect_exit(replayed, 1)
        expect(replayed.stdout.startswith("replay: other error; "), "other error", replayed)
        expect("error here: " in replayed.stderr, "error here", replayed)
        expect(sorted(before) == sorted(path.name for path in found[0].iterdir()), "writes")


def test_the_manifest_of_a_capsule_prewarms():
    need_compiler()
    with Folder() as folder:
        _, found = leave(folder, "--capsule", folder.path / "capsules")
        done = tool("prewarm", found[0] / "problem.manifest", *ARCH, cache=folder.cache)
        expect_exit(done, 0)
        expect("total=1 cached=0 compiled=1" in done.stdout, "summary", done)


def test_code_that_the_assembler_refuses_leaves_one_that_replays():
    need_compiler()
    with Folder() as folder:
        code = folder.path / SECRET / "keep.ptx"
        code.parent.mkdir()
        code.write_text(PTX)
        capsules = folder.path / "capsules"
        done = tool("build", *SMALL, *ARCH, "--epilogue-code", code, "--epilogue-symbol", "keep", "-o",
                    folder.path / "out.cubin", "--capsule", capsules, cache=folder.cache)
        expect_exit(done, 1)
        found = list(capsules.iterdir()) if capsules.exists() else []
        expect(len(found) == 1, f"{found}", done)
        for path in found[0].iterdir():
            expect(SECRET not in path.read_text(), f"{path.name} has {SECRET}")
        expect("ptxas" in (found[0] / "log.txt").read_text(), "the log")
        replayed = tool("replay", found[0])
        expect_exit(replayed, 0)
        expect(replayed.stdout.startswith("replay: same error; "), "same", replayed)


def launch_text():
    """What a capsule says of a launch with packed matrices."""
    def line(name, address):
        return f"{name} address={address} ld=0 batch_stride=0 value=0x00000000\n"
    return ("sizes m=0 n=0 k=0 batch=0\n"
            + "".join(line(name, "aligned:256") for name in "ab") + line("c", "none") + line("d", "aligned:256")
            + "".join(line(name, "none") for name in ("a_scale", "b_scale", "d_scale", "a_rows", "d_rows"))
            + "alpha value=none\nbeta value=none\nworkspace address=none bytes=0\n"
            + "".join(f"{name} address=none\n" for name in ("group_sizes", "a_lds", "b_lds", "c_lds", "d_lds", "group_ns",
                                                               "group_ks"))
            + "rows a=0 d=0\n")


def test_a_launch_is_made_again_on_the_device_that_runs_it():
    need_compiler()
    with Folder() as folder:
        _, found = leave(folder, "--capsule", folder.path / "capsules")
        record, launch = found[0] / "capsule.txt", found[0] / "launch.txt"
        launch.write_text(launch_text())
        text = re.sub("^status .*", "status LAUNCH", record.read_text(), flags=re.M)
        record.write_text(re.sub("^launch.txt .*", f"launch.txt {launch.stat().st_size}", text, flags=re.M))
        replayed = tool("replay", found[0])
        expect(replayed.stdout.startswith("replay: compiles here; "), "without a device", replayed)
        # The capsule has the architecture, which is not that of the emulator's first device.
        replayed = tool("replay", found[0], "--device", "emulator")
        expect_exit(replayed, 1)
        expect(replayed.stdout.startswith("replay: runs here; "), "with one", replayed)
        given_up = {"JIT_GEMM_EMULATOR": "max_steps=1,show=none"}
        replayed = tool("replay", found[0], "--device", "emulator", variables=given_up)
        expect_exit(replayed, 1)
        expect(replayed.stdout.startswith("replay: other error; ") and
               "(CUDA_ERROR_LAUNCH_TIMEOUT, 702)" in replayed.stderr, "an error of its own", replayed)
        error = re.search("^error here: (.*)$", replayed.stderr, re.M)[1]
        (found[0] / "error.txt").write_text(error + "\n")
        record.write_text(re.sub("^error.txt .*", f"error.txt {len(error) + 1}", record.read_text(), flags=re.M))
        replayed = tool("replay", found[0], "--device", "emulator", variables=given_up)
        expect_exit(replayed, 0)
        expect(replayed.stdout.startswith("replay: same error; "), "the same", replayed)
        launch.write_text(launch_text().replace("b address=aligned:256", "b address=aligned:2  "))
        replayed = tool("replay", found[0], "--device", "emulator")
        expect_exit(replayed, 2)
        expect("launch.txt: line 3 is nothing that a capsule has" in replayed.stderr, "hostile", replayed)


def test_the_callers_own_error_leaves_none():
    need_compiler()
    with Folder() as folder:
        done = tool("build", *SMALL, *ARCH, "--epilogue", "d = acc + nothing;", "-o", "-",
                    "--capsule", folder.path / "capsules", cache=folder.cache)
        expect(done.returncode != 0 and "1:11: error:" in done.stderr, "the error", done)
        expect(not (folder.path / "capsules").exists(), "a folder")


def test_words_of_replay_are_checked():
    with Folder() as folder:
        folder.path.joinpath("empty").mkdir()
        for words, code, text in (
                ([], 2, "name the folder of one capsule"),
                (["a", "b"], 2, "name the folder of one capsule"),
                ([folder.path / "empty"], 2, "capsule.txt: is not there"),
                ([folder.path / "none"], 1, "cannot be opened"),
                (["--device", "x", "y"], 2, "there is no `x`; use auto, gpu or emulator"),
                (["--capsule", "x", "y"], 2, "--capsule")):
            done = tool("replay", *words, "--nvrtc", BROKEN)
            expect_exit(done, code)
            expect(text in done.stderr and done.stdout == "", text, done)
        done = tool("replay", "--help")
        expect_exit(done, 0)
        expect("Exit code 0" in done.stdout, "help", done)


def test_another_format_is_refused():
    with Folder() as folder:
        _, found = leave(folder, "--capsule", folder.path / "capsules")
        record = found[0] / "capsule.txt"
        record.write_text(record.read_text().replace("capsule 2", "capsule 1"))
        done = tool("replay", found[0], "--nvrtc", BROKEN)
        expect_exit(done, 2)
        expect("reads format 2" in done.stderr, "words", done)


def test_doctor_and_env_tell_of_the_folder():
    with Folder() as folder:
        done = tool("doctor", *ARCH, cache=folder.cache)
        expect("\ncapsules: none are left\n" in done.stdout, "none", done)
        leave(folder, "--capsule", folder.path / "capsules")
        done = tool("doctor", *ARCH, "--capsule", folder.path / "capsules", cache=folder.cache)
        expect(f"\ncapsules: {folder.path}/capsules, 1 of at most 16\n" in done.stdout, "one",
               done)
        (folder.path / "capsules").chmod(0o777)
        done = tool("doctor", *ARCH, cache=folder.cache,
                    variables={"JIT_GEMM_CAPSULES": str(folder.path / "capsules")})
        expect("\ncapsules: none can be left in " in done.stdout and
               "others may write in it" in done.stdout, "not trusted", done)
        done = tool("env", variables={"JIT_GEMM_CAPSULES": "/there"})
        expect("JIT_GEMM_CAPSULES\n" in done.stdout and "= /there" in done.stdout, "env", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
