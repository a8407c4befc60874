#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives the built jit-gemm as a user would. Prints TAP.

Usage: test_cli.py JIT_GEMM SOURCE_ROOT

Nothing here needs a GPU. Tests that compile are skipped, with the library's own words, where
NVRTC is missing.
"""
import json
import re
import struct
import sys

from cli_harness import (ARCH, ROOT, SMALL, TOOL, Folder, Skip, expect, expect_exit, named_tests,
                         need_compiler, run_tests, tool)

COMMANDS = ["run", "build", "plan", "inspect", "trace", "prewarm", "verify-manifest", "cache", "epilogue", "bench",
            "doctor", "env", "version"]
SUBCOMMANDS = ["ls", "stat", "verify", "gc", "export", "import", "explain"]


# ------------------------------------------------------------------------ help and usage

def test_help_of_the_program_lists_every_command():
    done = tool("--help")
    expect_exit(done, 0)
    for name in COMMANDS:
        expect(re.search(rf"^  {name} ", done.stdout, re.M), f"{name} is not listed", done)


def test_help_of_every_command_shows_usage_and_goes_to_stdout():
    for words in [[name] for name in COMMANDS] + [["cache", name] for name in SUBCOMMANDS] + [["epilogue", "check"]]:
        done = tool(*words, "--help")
        expect_exit(done, 0)
        expect(done.stdout.startswith("usage: jit-gemm " + words[0]), "no usage", done)
        expect(done.stderr == "", "help wrote to stderr", done)


def test_help_of_the_working_commands_has_examples():
    for words in (["run"], ["build"], ["plan"], ["inspect"], ["trace"], ["prewarm"], ["verify-manifest"], ["bench"], ["doctor"], ["cache"],
                  ["epilogue"], ["epilogue", "check"], ["epilogue", "list"], ["epilogue", "show"], ["cache", "ls"], ["cache", "gc"], ["cache", "explain"],
                  ["cache", "export"], ["cache", "import"], ["cache", "verify"]):
        done = tool(*words, "--help")
        expect("examples:\n" in done.stdout, f"{words} has no examples", done)


def test_help_of_cache_lists_every_subcommand():
    done = tool("cache", "--help")
    for name in SUBCOMMANDS:
        expect(re.search(rf"^  {name} ", done.stdout, re.M), f"{name} is not listed", done)


def test_wrong_usage_is_exit_2_with_words_on_stderr():
    rows = [
        ([], "command is missing"),
        (["frobnicate"], "there is no command `jit-gemm frobnicate`"),
        (["cache"], "subcommand is missing"),
        (["cache", "frobnicate"], "there is no command `jit-gemm cache frobnicate`"),
        (["run", *SMALL, "--frobnicate"], "no option `--frobnicate`"),
        (["run"], "a problem is missing"),
        (["run", *SMALL, "--seed"], "--seed needs a value"),
        (["run", *SMALL, "--seed", "x"], "`x` is no whole number"),
        (["run", *SMALL, "--alpha", "x"], "`x` is no number"),
        (["run", *SMALL, "--verify=1"], "--verify takes no value"),
        (["run", *SMALL, "--device", "tpu"], "there is no `tpu`; did you mean gpu? use auto, gpu or emulator"),
        (["plan", *SMALL, "--device", "tpu"], "there is no `tpu`; did you mean gpu? use auto, gpu or emulator"),
        (["doctor", "--device", "tpu"], "there is no `tpu`; did you mean gpu? use auto, gpu or emulator"),
        (["run", *SMALL, "--device", "emulator", "--driver", "x.so"], "exclude each other"),
        (["bench", *SMALL, "--device", "emulator"], "say nothing of a GPU"),
        (["prewarm", "x", *ARCH, "--device", "auto"], "there is no `auto`; use gpu or emulator"),
        (["cache", "explain", *SMALL, *ARCH, "--device", "x"], "there is no `x`; use gpu or emulator"),
        (["run", *SMALL, "--beta", "2"], "--beta needs a C"),
        (["run", *SMALL, "--host-sizes"], "--host-sizes needs groups"),
        (["run", *SMALL, "groups=2", "group_by=rows", "--host-sizes"], "with group_by=rows the kernel reads"),
        (["run", *SMALL, "--repeat", "0"], "--repeat"),
        (["build", *SMALL, *ARCH], "-o FILE is missing"),
        (["build", *SMALL, *ARCH, "-o", "-", "--emit", "ltoir"], "there is no `ltoir`; use cubin, ptx or source"),
        (["build", *SMALL, *ARCH, "-o", "-", "--emit", "sass"], "there is no `sass`; did you mean cubin?"),
        (["plan", *SMALL, "--cache", "a", "--no-cache"], "exclude each other"),
        (["plan", *SMALL, "--epilogue", "d = acc;", "--epilogue-file", "x"],
         "exclude each other"),
        (["plan", *SMALL, "config=stages=4", "--config", "stages=4"], "exclude each other"),
        (["plan", *SMALL, "epilogue=nobody"], "epilogue=nobody: give its text"),
        (["prewarm"], "name one manifest file"),
        (["prewarm", "x", "--no-cache"], "leaves nothing to do"),
        (["verify-manifest", "x", "--no-cache"], "only what --cache-root names is read"),
        (["verify-manifest"], "verify-manifest: name one manifest file"),
        (["cache", "gc", "--max-bytes", "many"], "`many` is no size"),
        (["cache", "gc", "--max-age", "old"], "`old` is no age"),
        (["bench", *SMALL, "--against", "mkl"], "there is no `mkl`"),
        (["trace", *SMALL], "-o FILE is missing"),
        (["trace", *SMALL, "-o", "x.png"], "ends in .svg or .json"),
        (["trace", *SMALL, "-o", "x.svg", "--ctas", "0"], "--ctas"),
        (["trace", *SMALL, "-o", "x.svg", "--config", "trace=1"], "sets trace=1 itself"),
        (["bench", "256x64x64", "bf16", "groups=2", "group_by=rows", "--block-order", "sort"], "`sort` is no order"),
        (["bench", "256x64x64", "bf16", "groups=2", "--block-order", "sorted"], "needs group_by=rows"),
        (["bench", *SMALL, "--block-order", "sorted"], "--block-order needs groups"),
        (["bench", "m=512", "n=256", "k=512", "mxfp8", "d=bf16", "groups=4", "group_by=k_offsets"], "groups along K are measured with"),
        (["version", "now"], "takes no words"),
    ]
    for words, message in rows:
        done = tool(*words)
        expect(done.returncode == 2 and message in done.stderr and done.stdout == "",
               f"{words}: expected exit 2 and `{message}`", done)


def test_version_and_env():
    done = tool("version")
    expect(re.fullmatch(r"jit-gemm \d+\.\d+\.\d+, kernels for sm_90a, .*, (NVRTC \d+\.\d+|no NVRTC found)\n", done.stdout),
           "version", done)
    expect(tool("--version").stdout == done.stdout == tool("-V").stdout, "--version differs")
    bare = tool("version", variables={"JIT_GEMM_NVRTC": "/dev/null/libnvrtc.so"})
    expect(bare.stdout.endswith(", no NVRTC found\n"), "a compiler that is none", bare)
    done = tool("env", variables={"JIT_GEMM_ARCH": "sm_90a"})
    expect_exit(done, 0)
    expect("= sm_90a" in done.stdout, "the value is not shown", done)
    table = (ROOT / "lib/base/env.c").read_text(encoding="utf-8")
    names = set(re.findall(r'"(JIT_GEMM_[A-Z_]+)"', table))
    shown = set(re.findall(r"^(JIT_GEMM_[A-Z_]+)$", done.stdout, re.M))
    names.update(["JIT_GEMM_EMULATOR", "JIT_GEMM_NVDISASM", "JIT_GEMM_LIBRARY"])  # others read them
    expect(names == shown and len(names) > 1, f"read: {names}, env shows {shown}", done)


# -------------------------------------------------------------------------- problems

def test_a_problem_is_one_word_or_several():
    one = tool("plan", "512x256x128 f16", *ARCH)
    expect_exit(one, 0)
    expect(tool("plan", "512x256x128", "f16", *ARCH).stdout == one.stdout, "several words")
    expect(tool("plan", *ARCH, "m=512", "n=256", "k=128", "a=f16").stdout == one.stdout,
           "options first, long form")


def test_errors_in_a_problem_name_the_key():
    for words, message in [(["m=64 n=64 k=64 a=q7"], "q7"), (["m=64 n=64 kk=64"], "kk"),
                           (["64x64 bf16"], "64x64")]:
        done = tool("plan", *words, *ARCH)
        expect_exit(done, 2)
        expect("error: " in done.stderr and message in done.stderr, str(words), done)


def test_an_illegal_config_is_refused_with_the_reason():
    done = tool("plan", *SMALL, *ARCH, "--config", "tile=3x5")
    expect(done.returncode == 2 and "config" in done.stderr, "refused", done)


def test_no_architecture_and_no_driver_is_said():
    done = tool("plan", *SMALL, variables={"JIT_GEMM_DRIVER": "/dev/null/libcuda.so.1"})
    expect(done.returncode == 1 and "--arch" in done.stderr, "remedy", done)
    done = tool("plan", *SMALL, variables={"JIT_GEMM_ARCH": "sm_90a"})
    expect_exit(done, 0)


# ------------------------------------------------------------------------------- build

def test_build_source_needs_no_compiler():
    done = tool("build", *SMALL, *ARCH, "--emit", "source", "-o", "-", "--no-cache")
    expect_exit(done, 0)
    expect("struct Config" in done.stdout and 'extern "C" __global__' in done.stdout,
           "no source unit", done)


def test_build_writes_an_elf_file():
    need_compiler()
    with Folder() as folder:
        target = folder.path / "gemm.cubin"
        done = tool("build", *SMALL, *ARCH, "-o", target, cache=folder.cache)
        expect_exit(done, 0)
        expect(target.read_bytes()[:4] == b"\x7fELF", "no ELF file", done)
        again = tool("build", *SMALL, *ARCH, "-o", "-", cache=folder.cache, binary=True)
        expect(again.stdout == target.read_bytes(), "from the cache: other bytes")


def sections(elf):
    """The sections of a little-endian ELF64 file: name -> bytes."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<3H", elf, 0x3a)
    rows = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]

    def name_of(row):
        at = rows[names][4] + row[0]
        return elf[at:elf.index(b"\0", at)].decode()
    return {name_of(row): elf[row[4]:row[4] + row[5]] for row in rows}


def test_a_cubin_has_lines_where_the_config_asks_for_them():
    need_compiler()
    with Folder() as folder:
        cubins = []
        for config in ("", "lineinfo=1"):
            done = tool("build", *SMALL, *ARCH, "--config", config, "-o", "-", cache=folder.cache, binary=True)
            expect_exit(done, 0)
            cubins.append(sections(done.stdout))
        plain, with_lines = cubins
        expect(".debug_line" not in plain, "lines that nobody asked for")
        expect(len(with_lines.get(".debug_line", b"")) > 1000, "no lines")
        code = {name: text for name, text in plain.items() if name.startswith(".text.")}
        expect(len(code) == 1, "one kernel")
        expect(all(with_lines[name] == text for name, text in code.items()), "other machine code")


def test_build_writes_ptx():
    need_compiler()
    done = tool("build", *SMALL, *ARCH, "--emit", "ptx", "-o", "-", "--no-cache")
    expect_exit(done, 0)
    expect(".target sm_90a" in done.stdout and ".entry" in done.stdout, "no PTX", done)


def test_products_and_sums_of_invariant_rows_are_no_single_operations():
    need_compiler()

    def operations(*words):
        done = tool("build", *SMALL, *words, *ARCH, "--emit", "ptx", "-o", "-", "--no-cache", "--epilogue",
                    "d = acc * s + bias;", "--operand", "s:scalar:f32", "--operand", "bias:row_vector:f32")
        expect_exit(done, 0)
        return set(re.findall(r"\b(?:add|sub|mul|fma)(?:\.rn)?\.f32\b", done.stdout))
    expect("fma.rn.f32" in operations(), "nothing is fused without the key: this test shows nothing")
    expect(operations("invariant=m") == {"add.rn.f32", "mul.rn.f32"}, operations("invariant=m"))


def test_every_key_of_a_problem_is_in_the_help():
    done = tool("plan", *SMALL, *ARCH, "no_key=1")
    keys = done.stderr.partition("keys: ")[2].splitlines()[0].split()
    expect(len(keys) > 10, "the message lists the keys", done)
    text = tool("plan", "--help").stdout
    for key in keys:
        expect(re.search(rf"[ `]{key}=", text), f"no word of {key}=")


def test_help_of_a_command_by_another_way():
    expect(tool("help", "cache").stdout == tool("cache", "--help").stdout, "help cache")
    expect_exit(tool("help", "frobnicate"), 2)


def test_every_key_of_a_config_is_documented():
    done = tool("plan", *SMALL, *ARCH, "--config", "no_key=1")
    keys = done.stderr.partition("keys: ")[2].splitlines()[0].split()
    expect(len(keys) > 10, "the message lists the keys", done)
    rows = [line for line in (ROOT / "docs" / "config.md").read_text().splitlines()
            if line.startswith("| `")]
    for key in keys:
        expect(any(f"`{key}`" in row.split("|")[1] for row in rows), f"no row of {key}", done)


def test_prefetch_stands_before_the_wait_for_the_grid_before():
    need_compiler()
    for value, copies in [("none", 0), ("a", 1), ("b", 1)]:
        done = tool("build", "512x512x512 bf16", "--arch", "sm_100a", "--config",
                    f"prefetch={value}", "--emit", "ptx", "-o", "-", "--no-cache")
        expect_exit(done, 0)
        before, wait, after = done.stdout.partition("griddepcontrol.wait")
        opcode = "cp.async.bulk.prefetch.tensor"
        expect(wait and before.count(opcode) == copies and opcode not in after,
               f"prefetch={value}: {before.count(opcode)} before the wait", done)


def test_build_into_a_missing_folder_fails():
    need_compiler()
    done = tool("build", *SMALL, *ARCH, "--emit", "source", "-o", "/dev/null/x", "--no-cache")
    expect(done.returncode == 1 and "/dev/null/x" in done.stderr, "message", done)


def test_a_file_beyond_the_limit_on_sizes_fails_with_words():
    with Folder() as folder:
        words = ["-c", 'ulimit -f 1; exec "$0" "$@"', TOOL, "build", *SMALL, *ARCH, "--emit", "source", "-o",
                 folder.path / "unit.cu", "--no-cache"]
        done = tool(*words, program="/bin/sh")
        expect(done.returncode == 1 and "File too large" in done.stderr, "it should say so", done)


def test_a_limit_on_addresses_fails_with_words():
    need_compiler()

    def limited(kibibytes, *words):
        return tool("-c", f'ulimit -v {kibibytes}; exec "$0" "$@"', TOOL, *words, program="/bin/sh")

    if limited(200000, "--version").returncode != 0:
        raise Skip("this build maps more than it needs, as sanitizers do")
    refused = 0
    for kibibytes in range(160000, 360001, 40000):  # the compiler's library itself is 100 MB
        done = limited(kibibytes, "build", *SMALL, *ARCH, "-o", "/dev/null", "--no-cache")
        expect(done.returncode == 1 and "jit-gemm: error: " in done.stderr, f"{kibibytes}: words", done)
        refused += "MiB of address space" in done.stderr and "RLIMIT_AS" in done.stderr
    expect(refused > 3, f"{refused} times refused")
    expect_exit(limited(1000000, "build", *SMALL, *ARCH, "-o", "/dev/null", "--no-cache"), 0)


# -------------------------------------------------------------------------- exit codes

def test_what_is_asked_for_and_wrong_or_not_supported_is_exit_2():
    help_text = tool("--help").stdout
    expect("2 what was asked for is\nwrong or not supported" in help_text, help_text)
    for words in (["plan", *SMALL, "--arch", "sm_13"], ["plan", "256x256x256", "bf17", *ARCH],
                  ["plan", "256x256x256", "s8", "--arch", "sm_103a"],
                  ["plan", *SMALL, *ARCH, "--config", "tile=3x3"],
                  ["build", *SMALL, "--arch", "sm_13", "-o", "/dev/null"],
                  ["prewarm", "/dev/null", "--arch", "sm_13"], ["inspect", *SMALL, "--arch", "sm_13"]):
        done = tool(*words)
        expect(done.returncode == 2 and "hint: " in done.stderr, f"{words}", done)


# ---------------------------------------------------------------------------- snippets

def test_a_refused_snippet_begins_with_line_and_column():
    done = tool("plan", *SMALL, *ARCH, "--epilogue", "d = acc;\n  asm(\"\");")
    expect(done.returncode == 1, "refused", done)
    lines = done.stderr.splitlines()
    expect(lines[0].startswith("2:3: error: "), "line and column", done)
    expect(lines[1].strip() == 'asm("");' and lines[2].index("^") == 6, "caret", done)


def test_a_compile_error_is_in_the_users_coordinates():
    need_compiler()
    with Folder() as folder:
        snippet = folder.path / "epilogue.txt"
        snippet.write_text("float x = acc;\nd = x + bias * bais;\n", encoding="ascii")
        done = tool("build", *SMALL, *ARCH, "--epilogue-file", snippet, "--operand",
                    "bias:row_vector:f32", "-o", "-", "--no-cache")
        expect_exit(done, 1)
        lines = done.stderr.splitlines()
        expect(re.match(r"2:16: error: .*bais", lines[0]), "line and column", done)
        expect(lines[1] == "    d = x + bias * bais;" and lines[2] == " " * 19 + "^", "caret", done)
        expect("jg/" not in done.stderr, "generated code shows", done)


def test_a_variable_makes_any_program_log():
    with Folder() as folder:
        done = tool("plan", *SMALL, *ARCH, variables={"JIT_GEMM_LOG": "info"})
        expect(done.returncode == 0 and "jit_gemm: info: no device: " in done.stderr, "standard error", done)
        path = folder.path / "log"
        done = tool("plan", *SMALL, *ARCH, variables={"JIT_GEMM_LOG": f"info:{path}"})
        expect(done.returncode == 0 and done.stderr == "", "a file", done)
        expect("jit_gemm: info: no device: " in path.read_text(encoding="ascii"), "lines")
        done = tool("plan", *SMALL, *ARCH, variables={"JIT_GEMM_LOG": "warn"})
        expect(done.returncode == 2 and "JIT_GEMM_LOG: there is no level 'warn'" in done.stderr, "no level", done)


def test_env_lists_every_variable_that_is_read():
    read = set()
    for folder in ("lib", "cache", "tools", "emulator/cudart"):
        for path in (ROOT / folder).rglob("*.c"):
            text = path.read_text(encoding="utf-8")
            read |= set(re.findall(r'getenv\("(\w+)"\)', text))
            if "getenv(" in text:
                read |= set(re.findall(r'"(JIT_GEMM_[A-Z_]+)"', text))
            for table in re.findall(r"homes\[\] = \{([^}]*)\}", text):
                read |= set(re.findall(r'"(\w+)"', table))
    for path in (ROOT / "python" / "jit_gemm").rglob("*.py"):
        read |= set(re.findall(r'environ(?:\.get\(|\[)"(\w+)"', path.read_text(encoding="utf-8")))
    read |= set(re.findall(r'VARIABLE "(\w+)"', (ROOT / "tools" / "disassembler.h").read_text(encoding="utf-8")))
    listed = set(re.findall(r"^([A-Z_]+)$", tool("env").stdout, re.M))
    expect({"JIT_GEMM_NVRTC", "CUDA_HOME", "CUDA_PATH", "HOME", "JIT_GEMM_NVDISASM", "JIT_GEMM_LIBRARY"} <= read,
           f"read: {read}")
    expect(read <= listed, f"not listed: {sorted(read - listed)}")


def test_a_file_to_write_is_told_of_first_and_only_a_file_is_removed():
    with Folder() as folder:
        link = folder.path / "link.svg"
        link.symlink_to("/dev/full")
        picture = ["plan", "m=64", "n=64", "k=64", "bf16", "dynamic=m", "--sweep", "m=1..64", *ARCH, "-o"]
        source = ["build", *SMALL, *ARCH, "--emit", "source", "-o"]
        for words in (picture, source):
            done = tool(*words, link)
            expect(done.returncode == 1 and f"-o: {link} cannot be written: No space left" in done.stderr, words, done)
            expect(link.is_symlink(), "a link to a device stays", done)
            done = tool(*words, folder.path / "absent" / "x.svg")
            expect(done.returncode == 1 and "absent/x.svg cannot be written: No such file" in done.stderr, words, done)
            expect(done.stdout == "", "before any work", done)
        for words in (["run", *SMALL, "--save"], ["trace", *SMALL, "-o"]):
            done = tool(*words, "/absent/x.svg", "--driver", "/absent/driver.so")
            expect(f"{words[-1]}: /absent/x.svg cannot be written" in done.stderr, words, done)


def test_numbers_are_decimal():
    for value, code in (("0100", 0), ("08", 0), ("0x10", 2), (" 5", 2), ("+4", 2), ("-0", 2), ("1e3", 2)):
        done = tool("build", *SMALL, *ARCH, "--emit", "source", "-o", "-", "--compile-limit", value)
        expect(done.returncode == code, value, done)
        expect(code == 0 or f"--compile-limit: `{value}` is no whole number" in done.stderr, value, done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
