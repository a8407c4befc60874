#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bundles as a user would drive them: export, import, verify, prewarm, roots. Prints TAP.

Usage: test_cli_bundle.py JIT_GEMM SOURCE_ROOT EMULATOR

Nothing here needs a GPU. Tests that compile are skipped, with the library's own words, where
NVRTC is missing.
"""
import json
import pathlib
import re
import sys

from cli_harness import (ARCH, Folder, emulator_by_name, expect, expect_exit, named_tests,
                         need_compiler, run_tests, tool)

EMULATOR = pathlib.Path(sys.argv[3]).resolve()
NO_COMPILER = {"JIT_GEMM_NVRTC": "/dev/null/libnvrtc.so"}
SIZES = (128, 192)


def write_manifest(path, sizes=SIZES):
    path.write_text("jit_gemm manifest 1\n" + "".join(f"problem {m}x128x64 bf16\n" for m in sizes))
    return path


def filled(folder):
    """A manifest, and a bundle of its kernels that prewarm wrote."""
    need_compiler()
    manifest = write_manifest(folder.path / "two.manifest")
    bundle = folder.path / "two.jgb"
    done = tool("prewarm", manifest, *ARCH, "--bundle", bundle, cache=folder.cache)
    expect_exit(done, 0)
    expect(re.search(rf"^bundle: kernels=2 bytes={bundle.stat().st_size} {bundle}$", done.stdout, re.M),
           "what prewarm says", done)
    return manifest, bundle


def test_a_builder_without_the_gpu_names_the_one_that_serves():
    need_compiler()
    problem = ["256x256x512", "bf16", "--device", "emulator", "--arch", "sm_90a"]
    server = {"JIT_GEMM_EMULATOR": "sms=8"}
    with Folder() as folder:
        manifest = folder.path / "one.manifest"
        manifest.write_text("jit_gemm manifest 1\nproblem 256x256x512 bf16\n")
        build = ["prewarm", manifest, *ARCH, "--device", "emulator"]
        done = tool("doctor", "--device", "emulator", "--arch", "sm_90a", cache=folder.cache, variables=server)
        words = re.search(r"^plan for: (cc=9\.0 sm_count=8 .*smem_bytes=\d+) \(", done.stdout, re.M)
        expect(words, "doctor's words", done)
        # What is built for another device is not what the server looks for.
        done = tool(*build, "--plan-for", "h200", cache=folder.cache)
        expect_exit(done, 0)
        expect("--plan-for" not in done.stderr, "nothing is left to say", done)
        done = tool("run", *problem, cache=folder.path / "other", variables=server)
        expect_exit(done, 0)
        config = re.search("^config .*$", done.stdout, re.M)[0]
        done = tool("run", *problem, "--cache-root", folder.cache, "--no-cache", variables=server)
        expect("origin=disk" not in done.stdout, "another kernel", done)
        done = tool(*build, "--plan-for", words[1], cache=folder.cache)
        expect_exit(done, 0)
        expect("compiled=1" in done.stdout, "one more", done)
        done = tool("run", *problem, "--verify", "--cache-root", folder.cache, "--no-cache", variables=server)
        expect("origin=disk" in done.stdout and config in done.stdout, "the same kernel", done)
        # Without a word it is said what is planned for, and a line of the manifest is such a word.
        done = tool(*build, cache=folder.cache)
        expect("kernels for sm_90a are chosen for cc=9.0 sm_count=132 " in done.stderr, "a note", done)
        manifest.write_text(f"jit_gemm manifest 1\nplan_for {words[1]} # the server\nproblem 256x256x512 bf16\n")
        done = tool("verify-manifest", manifest, *ARCH, "--device", "emulator", cache=folder.cache)
        expect(done.returncode == 0 and "cached=1" in done.stdout, "the manifest's", done)
        expect(done.stderr.count("\n") == 1 and f"kernels for sm_90a are chosen for {words[1]} " in done.stderr and
               ", which the manifest names;" in done.stderr, "a line", done)


def test_prewarm_and_verify_say_whose_device_they_choose_for():
    """What is here goes before the manifest's line, and the line says so: a program asks for what is here."""
    manifest_text = "jit_gemm manifest 1\n  plan_for {} # the server\nproblem 256x256x512 bf16\n"
    here = {"JIT_GEMM_DRIVER": "emulator", **emulator_by_name(EMULATOR, "show=errors")}
    none = {"JIT_GEMM_DRIVER": "/no/such/driver"}
    with Folder() as folder:
        manifest = folder.path / "one.manifest"
        for command in (["prewarm", "--estimate"], ["verify-manifest"]):
            for device, variables, words, text in (
                    ("b200 sm_count=8", here, [],
                     r"sm_100a are chosen for cc=10\.0 sm_count=148 .*\(Emulated B200\), which is here, and not for "
                     r"the manifest's plan_for cc=10\.0 sm_count=8 .*\(NVIDIA B200\); --plan-for names another"),
                    ("h100", here, [], r"sm_100a are chosen for cc=10\.0 .*\(Emulated B200\), which is here; "),
                    ("h100", none, ARCH, r"sm_90a are chosen for cc=9\.0 .*\(NVIDIA H100.*\), which the manifest names; "),
                    ("h200", none, ARCH, r"sm_90a are chosen for cc=9\.0 .*\(NVIDIA H200\), which the manifest names; "),
                    ("b200", none, ARCH, r"sm_90a are chosen for cc=9\.0 .*\(NVIDIA H200\); "),
                    ("h200", {**none, "JIT_GEMM_PLAN_FOR": "h100"}, ARCH,
                     r"sm_90a are chosen for .*\(NVIDIA H100.*\), which was named, and not for the manifest's "
                     r"plan_for .*\(NVIDIA H200\); ")):
                manifest.write_text(manifest_text.format(device))
                done = tool(*command, manifest, *words, cache=folder.cache, variables=variables)
                expect(re.search(f"^jit-gemm: kernels for {text}", done.stderr, re.M), f"{device}: {text}", done)
                expect(done.stderr.count("are chosen for") == 1, "one line", done)
            # Without a GPU and a word for it, the manifest's device has the architecture, and never an emulator.
            manifest.write_text(manifest_text.format("h100"))
            done = tool(*command, manifest, cache=folder.cache, variables={"JIT_GEMM_DRIVER": ""})
            expect("Emulated" not in done.stderr, "no emulator", done)
            if "(NVIDIA H100" in done.stderr:
                expect("kernels for sm_90a " in done.stderr, "its architecture", done)
            manifest.write_text("jit_gemm manifest 1\nproblem 256x256x512 bf16\n")
            done = tool(*command, manifest, cache=folder.cache, variables={"JIT_GEMM_DRIVER": ""})
            expect("Emulated" not in done.stderr, "nor here", done)


def end_of_largest_entry(data):
    """Kernels are larger than the record of their compiler."""
    rows = [data[at:at + 64] for at in range(128, 128 + 64 * int.from_bytes(data[24:28], "little"), 64)]
    sizes = [tuple(int.from_bytes(row[at:at + 8], "little") for at in (24, 16)) for row in rows]
    return sum(max(sizes))


def test_prewarm_writes_a_bundle_that_is_all_a_server_needs():
    with Folder() as folder:
        manifest, bundle = filled(folder)
        bundle.chmod(0o444)
        done = tool("verify-manifest", manifest, *ARCH, "--cache-root", bundle, "--no-cache",
                    variables=NO_COMPILER)
        expect(done.returncode == 0 and done.stdout == "verify-manifest: total=2 cached=2 failed=0\n",
               "without compiler and cache folder", done)
        done = tool("doctor", "--cache-root", bundle, cache=folder.cache)
        expect(f"cache root 1: {bundle}, a bundle, read-only, trusted: " in done.stdout, "doctor", done)
        other = write_manifest(folder.path / "three.manifest", (128, 192, 256))
        done = tool("verify-manifest", other, *ARCH, "--cache-root", bundle, "--no-cache")
        expect_exit(done, 1)
        expect("total=3 cached=2 failed=1" in done.stdout and ", nor in a read-only root" in done.stderr,
               "one is missing", done)


def test_export_of_a_manifest_takes_the_configs_of_a_recipe():
    need_compiler()
    with Folder() as folder:
        manifest = write_manifest(folder.path / "one.manifest", (128,))
        recipe = folder.path / "one.recipe"
        recipe.write_text("jit_gemm recipe 1\nproblem sm_90a 128x128x64 bf16 config=tile=64x256\n")
        expect_exit(tool("prewarm", manifest, *ARCH, "--recipe", recipe, cache=folder.cache), 0)
        bundle = folder.path / "one.jgb"
        words = ["cache", "export", manifest, *ARCH, "-o", bundle]
        done = tool(*words, cache=folder.cache)
        expect_exit(done, 1)  # the model's config was not built
        done = tool(*words, "--recipe", recipe, cache=folder.cache)
        expect_exit(done, 0)
        expect("bundle: kernels=1 " in done.stdout, "export", done)
        done = tool("cache", "export", "-o", folder.path / "all.jgb", "--recipe", recipe, cache=folder.cache)
        expect_exit(done, 2)
        expect("leave out --recipe" in done.stderr, "all", done)


def test_run_tells_that_a_kernel_is_of_a_bundle():
    need_compiler()
    with Folder() as folder:
        manifest = write_manifest(folder.path / "one.manifest", (128,))
        bundle = folder.path / "one.jgb"
        done = tool("prewarm", manifest, *ARCH, "--device", "emulator", "--bundle", bundle,
                    cache=folder.cache)
        expect_exit(done, 0)
        words = ["run", "128x128x64", "bf16", *ARCH, "--device", "emulator", "--verify", "--cache-root",
                 bundle, "--cache", folder.path / "own"]
        variables = emulator_by_name(EMULATOR, "")
        done = tool(*words, variables=variables)
        expect(done.returncode == 0 and " origin=bundle kernel_us=" in done.stdout, "origin", done)
        done = tool(*words, "--json", variables=variables)
        expect(json.loads(done.stdout)["origin"] == "bundle", "origin in JSON", done)


def test_export_import_and_export_again_give_the_same_file():
    with Folder() as folder:
        manifest, bundle = filled(folder)
        first, second, third = (folder.path / name for name in ("a.jgb", "b.jgb", "c.jgb"))
        other = folder.path / "other"
        done = tool("cache", "export", "-o", first, cache=folder.cache)
        expect(done.returncode == 0 and
               done.stdout == f"bundle: kernels=2 bytes={first.stat().st_size} {first}\n", "export", done)
        expect(first.read_bytes() == bundle.read_bytes(), "prewarm and export write the same")
        done = tool("cache", "verify", first)
        expect(done.returncode == 0 and done.stdout == "verify: good=3 bad=0\n",
               "two kernels and their compiler", done)
        done = tool("cache", "import", first, "--cache", other)
        expect(done.returncode == 0 and
               done.stdout == f"import: kernels=2 stored=2 present=0 {other}/v1\n", "import", done)
        done = tool("cache", "import", first, "--cache", other)
        expect(done.stdout == f"import: kernels=2 stored=0 present=2 {other}/v1\n", "again", done)
        expect_exit(tool("cache", "export", "-o", second, "--cache", other), 0)
        expect(second.read_bytes() == first.read_bytes(), "export, import, export")
        done = tool("cache", "export", manifest, *ARCH, "-o", third, "--cache", other)
        expect(done.returncode == 0 and "cache export: total=2 cached=2 failed=0\nbundle: kernels=2 "
               in done.stdout, "of a manifest", done)
        expect(third.read_bytes() == first.read_bytes(), "export of a manifest")
        done = tool("verify-manifest", manifest, *ARCH, "--cache", other, variables=NO_COMPILER)
        expect(done.returncode == 0, "the folder knows the compiler", done)


def test_a_bundle_can_be_listed_and_made_of_another_one():
    with Folder() as folder:
        manifest, bundle = filled(folder)
        rows = json.loads(tool("cache", "ls", "--json", "--cache", bundle).stdout)
        expect(len(rows) == 2 and all(row["state"] == "ok" for row in rows), str(rows))
        done = tool("cache", "stat", "--cache", bundle)
        expect(f"folder   {bundle}\n" in done.stdout and "2 kernels" in done.stdout, "stat", done)
        done = tool("cache", "explain", rows[0]["key"][:12], "--cache", bundle)
        expect(done.returncode == 0 and f"key={rows[0]['key']}" in done.stdout, "explain", done)
        copy = folder.path / "copy.jgb"
        done = tool("cache", "export", manifest, *ARCH, "--no-cache", "--cache-root", bundle, "-o", copy)
        expect_exit(done, 0)
        expect(copy.read_bytes() == bundle.read_bytes(), "the copy differs")


def test_export_takes_architectures_and_devices():
    need_compiler()
    with Folder() as folder:
        manifest = write_manifest(folder.path / "one.manifest", (128,))
        for words in (["--arch", "sm_90a,sm_100a"], [*ARCH, "--device", "emulator"]):
            expect_exit(tool("prewarm", manifest, *words, cache=folder.cache), 0)
        bundle = folder.path / "some.jgb"
        for words, kernels in (([], 3), (["--arch", "sm_90a"], 2), (["--arch", "sm_100a,sm_90a"], 3),
                               (["--device", "emulator"], 1), ([*ARCH, "--device", "gpu"], 1)):
            done = tool("cache", "export", "-o", bundle, *words, cache=folder.cache)
            expect(done.returncode == 0 and f"bundle: kernels={kernels} " in done.stdout, str(words), done)
        bundle.unlink()
        done = tool("cache", "export", "-o", bundle, "--arch", "sm_103a", cache=folder.cache)
        expect(done.returncode == 1 and "has no such kernel: no bundle was written" in done.stderr,
               "none", done)
        expect(not bundle.exists(), "an empty bundle was written")


def test_what_is_missing_or_bad_leaves_no_bundle():
    with Folder() as folder:
        manifest, bundle = filled(folder)
        before = bundle.read_bytes()
        more = write_manifest(folder.path / "more.manifest", (128, 256))
        done = tool("cache", "export", more, *ARCH, "-o", bundle, cache=folder.cache)
        expect_exit(done, 1)
        expect("m=256" in done.stderr and "no bundle was written" in done.stderr and
               "cache export: total=2 cached=1 failed=1\n" in done.stdout, "missing", done)
        done = tool("verify-manifest", "/dev/zero", *ARCH, cache=folder.cache)
        expect(done.returncode == 1 and "/dev/zero: more than 64 MiB are read of no file" in done.stderr,
               "a file without an end", done)
        kept = sorted(folder.cache.rglob("*.jgk"))
        done = tool("prewarm", more, *ARCH, "--bundle", folder.path / "none" / "two.jgb",
                    cache=folder.cache)
        expect(sorted(folder.cache.rglob("*.jgk")) == kept, "compiled for a bundle that has no place", done)
        expect(done.returncode == 1 and "two.jgb cannot be written: cannot open the folder of the bundle: "
               "No such file or directory" in done.stderr and "no bundle was written" in done.stderr,
               "no folder", done)
        file = max(folder.cache.rglob("*.jgk"), key=lambda path: path.stat().st_size)
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
        done = tool("cache", "export", "-o", bundle, cache=folder.cache)
        expect(done.returncode == 1 and f"{file.parent.name}{file.stem} damaged\n" in done.stdout and
               "bad entries: 1; remove them with `jit-gemm cache verify --remove`" in done.stderr,
               "damaged", done)
        expect(bundle.read_bytes() == before, "the old bundle is gone")
        expect(not list(folder.path.glob("*.tmp-*")), "a temporary file is left")


def test_a_damaged_bundle_is_named_and_never_used():
    with Folder() as folder:
        manifest, bundle = filled(folder)
        whole = bundle.read_bytes()
        own = folder.path / "own"
        bundle.write_bytes(whole[:-64])
        for words in (["cache", "verify", bundle], ["cache", "import", bundle, "--cache", own]):
            done = tool(*words)
            expect(done.returncode == 1 and f"{bundle} cannot be used as a bundle (damaged): the bundle "
                   f"has {len(whole) - 64} bytes and should have {len(whole)}: copy it again"
                   in done.stderr, "cut", done)
        words = ["verify-manifest", manifest, *ARCH, "--cache", own]
        done = tool(*words, "--cache-root", bundle)
        expect(done.returncode == 1 and f"{bundle} cannot be used: the bundle has " in done.stderr,
               "named", done)
        done = tool(*words, variables={"JIT_GEMM_CACHE_ROOTS": bundle})
        expect(done.returncode == 1 and f"cache root {bundle} is not used: the bundle has " in done.stderr
               and "cached=0 failed=2" in done.stdout, "of the environment", done)
        data = bytearray(whole)
        data[end_of_largest_entry(whole) - 1] ^= 1
        bundle.write_bytes(data)
        done = tool("cache", "verify", bundle)
        expect(done.returncode == 1 and re.search(r"^[0-9a-f]{32} damaged\nverify: good=2 bad=1\n$",
                                                  done.stdout), "one entry", done)
        done = tool("cache", "import", bundle, "--cache", own)
        expect(done.returncode == 1 and f"bad entries of {bundle}: 1; copy it again; nothing was "
               "imported" in done.stderr, "import", done)
        expect(json.loads(tool("cache", "ls", "--json", "--cache", own).stdout) == [], "imported")
        done = tool("verify-manifest", manifest, *ARCH, "--cache", own, "--cache-root", bundle)
        expect("total=2 cached=1 failed=1" in done.stdout and " refused in " in done.stderr,
               "the good one is used", done)


def test_kernels_of_a_signed_bundle_are_used_and_a_new_bundle_is_unsigned():
    with Folder() as folder:
        manifest, bundle = filled(folder)
        plain = bundle.read_bytes()
        key = folder.path / "release"
        expect_exit(tool("cache", "keygen", "-o", key), 0)
        words = ["verify-manifest", manifest, *ARCH, "--no-cache", "--cache-root", bundle]
        trust = ["--cache-key", f"{key}.pub", "--cache-least-serial", 7]
        done = tool(*words, *trust, variables=NO_COMPILER)
        expect(done.returncode == 1 and "the bundle is not signed" in done.stderr, "unsigned", done)
        done = tool("cache", "sign", bundle, "--key", key, "--serial", 7)
        expect(done.returncode == 0 and done.stdout.startswith("sign: kernels=2 serial=7 "), "sign", done)
        for more in (trust, []):
            done = tool(*words, *more, variables=NO_COMPILER)
            expect(done.returncode == 0 and "total=2 cached=2 failed=0" in done.stdout, str(more), done)
        done = tool("cache", "export", manifest, *ARCH, "--no-cache", "--cache-root", bundle, *trust,
                    "-o", bundle)
        expect(done.returncode == 0 and bundle.read_bytes() == plain, "a bundle of a signed one", done)
        expect_exit(tool(*words, *trust), 1)
        data = bytearray(plain)
        data[end_of_largest_entry(plain) - 1] ^= 1
        bundle.write_bytes(data)
        done = tool("cache", "sign", bundle, "--key", key)
        expect(done.returncode == 1 and f"bad entries of {bundle}: 1; " in done.stderr and
               "it was not signed" in done.stderr and bundle.read_bytes() == data, "a bad entry", done)


def test_wrong_words_are_named():
    with Folder() as folder:
        for words, text in (
                (["cache", "export"], "cache export: name the file to write with -o FILE"),
                (["cache", "export", "a", "b", "-o", "c"], "cache export: name one manifest, or none"),
                (["cache", "export", "-o", "c", "--no-cache"], "leave out --no-cache"),
                (["cache", "export", "-o", "c", "--cache-root", "d"], "leave out --cache-root"),
                (["cache", "export", "-o", "c", "--device", "tpu"], "there is no `tpu`; did you mean gpu?"),
                (["cache", "import"], "cache import: name one bundle"),
                (["cache", "verify", "a", "b"], "cache verify: name one bundle, or none"),
                (["cache", "verify", "a", "--remove"], "leave out --remove"),
                (["cache", "verify", "a", "--cache", "b"], "leave out --cache"),
                (["verify-manifest", "a", "--bundle", "b"], "--bundle")):
            done = tool(*words, cache=folder.cache)
            expect(done.returncode == 2 and text in done.stderr, str(words), done)
        done = tool("cache", "verify", folder.path)
        expect(done.returncode == 1, "a folder that is no cache", done)
        (folder.cache / "v1").mkdir(parents=True, mode=0o700)
        folder.cache.chmod(0o700)
        done = tool("cache", "import", folder.cache)
        expect(done.returncode == 1 and "is a folder and no bundle: name it with --cache" in done.stderr,
               "a folder", done)
        done = tool("cache", "verify", folder.path / "none.jgb")
        expect(done.returncode == 1 and "none.jgb cannot be used as a bundle (no folder): " in done.stderr
               and "No such file or directory" in done.stderr, "missing", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
