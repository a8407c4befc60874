#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Signed bundles as a user would make and verify them. Prints TAP.

Usage: test_cli_sign.py JIT_GEMM SOURCE_ROOT

Nothing here needs a GPU or a compiler: the bundles have no entries. test_cli_bundle.py signs one
with kernels.
"""
import hashlib
import os
import re
import subprocess
import sys

from cli_harness import Folder, TOOL, expect, expect_exit, named_tests, run_tests, tool

DIGITS = "[0-9a-f]{64}"


def write_bundle(path):
    """A bundle without entries, which every reader takes."""
    head = bytearray(128)
    head[:16] = b"\x89JGB\r\n\x1a\n" + bytes([1, 0, 0, 0, 1, 0, 0, 0])
    head[16:24] = len(head).to_bytes(8, "little")
    head[96:] = hashlib.sha256(head[:96]).digest()
    path.write_bytes(head)
    path.chmod(0o644)
    return path


def keygen(path):
    done = tool("cache", "keygen", "-o", path)
    expect_exit(done, 0)
    return path, path.with_name(path.name + ".pub")


def test_a_key_pair_signs_and_verifies():
    with Folder() as folder:
        bundle = write_bundle(folder.path / "model.jgb")
        plain = bundle.read_bytes()
        secret, public = keygen(folder.path / "release")
        done = tool("cache", "verify", bundle, "--key", public)
        expect(done.returncode == 1 and f"{bundle} cannot be used as a bundle (untrusted): the bundle is "
               "not signed, and a trusted key must have signed it" in done.stderr, "unsigned", done)

        done = tool("cache", "sign", bundle, "--key", secret, "--serial", 7)
        key = public.read_text().strip()
        expect(done.returncode == 0 and done.stdout == f"sign: kernels=0 serial=7 key={key} {bundle}\n",
               "sign", done)
        signed = bundle.read_bytes()
        expect(len(signed) == len(plain) + 64, "size")
        for words in ([], ["--key", public], ["--key", key], ["--key", key.upper()],
                      ["--key", "0" * 64, "--key", public], ["--key", public, "--least-serial", 7]):
            done = tool("cache", "verify", bundle, *words)
            expect(done.returncode == 0 and done.stdout == f"signature: serial=7 key={key}\n"
                   "verify: good=0 bad=0\n", str(words), done)

        expect_exit(tool("cache", "sign", bundle, "--key", secret, "--serial", 8), 0)
        expect(bundle.read_bytes() != signed, "another serial number")
        expect_exit(tool("cache", "sign", bundle, "--key", secret, "--serial", 7), 0)
        expect(bundle.read_bytes() == signed, "the same signature is the same file")
        expect_exit(tool("cache", "sign", bundle, "--key", secret), 0)
        expect("signature: serial=0 " in tool("cache", "verify", bundle, "--key", public).stdout, "default")


def test_what_is_not_as_demanded_is_refused():
    with Folder() as folder:
        bundle = write_bundle(folder.path / "model.jgb")
        secret, public = keygen(folder.path / "release")
        _, other = keygen(folder.path / "other")
        expect_exit(tool("cache", "sign", bundle, "--key", secret, "--serial", 7), 0)
        key = public.read_text().strip()
        for words, text in (
                (["--key", other], f"the bundle is signed by {key}, which is no trusted key"),
                (["--key", public, "--least-serial", 8],
                 "the bundle has serial number 7, and the least is 8")):
            done = tool("cache", "verify", bundle, *words)
            expect(done.returncode == 1 and text in done.stderr and not done.stdout, text, done)
        data = bytearray(bundle.read_bytes())
        data[-1] ^= 1
        bundle.write_bytes(data)
        for words in (["verify", bundle], ["verify", bundle, "--key", public],
                      ["import", bundle, "--cache", folder.cache], ["sign", bundle, "--key", secret]):
            done = tool("cache", *words)
            expect(done.returncode == 1 and "(damaged): the signature of the bundle does not hold: copy it "
                   "again" in done.stderr, str(words), done)
        expect(bundle.read_bytes() == data, "a refused bundle was changed")


def test_keygen_makes_files_that_others_cannot_read_and_replaces_none():
    with Folder() as folder:
        secret = folder.path / "release"
        before = os.umask(0)
        try:
            done = tool("cache", "keygen", "-o", secret)
        finally:
            os.umask(before)
        public = folder.path / "release.pub"
        expect(done.returncode == 0 and re.search(
            rf"^keygen: key={DIGITS} secret={secret} public={public}\n$", done.stdout), "keygen", done)
        expect(secret.stat().st_mode & 0o7777 == 0o600, "mode of the secret key")
        expect(public.stat().st_mode & 0o7777 == 0o644, "mode of the public key")
        expect(re.fullmatch(rf"jit_gemm-secret-key-1 {DIGITS}\n", secret.read_text()), "secret key")
        expect(re.fullmatch(rf"{DIGITS}\n", public.read_text()), "public key")
        expect(secret.read_text().split()[1] not in done.stdout + done.stderr, "the secret was printed")
        kept = secret.read_text()
        done = tool("cache", "keygen", "-o", secret)
        expect(done.returncode == 1 and f"{secret} cannot be made: File exists" in done.stderr, "twice", done)
        secret.unlink()
        done = tool("cache", "keygen", "-o", secret)
        expect(done.returncode == 1 and f"{public} cannot be made: File exists" in done.stderr and
               not secret.exists(), "a public key that is there", done)
        expect(public.read_text() and keygen(folder.path / "other")[0].read_text() != kept, "same keys")


def test_a_secret_key_that_is_none_is_refused():
    with Folder() as folder:
        bundle = write_bundle(folder.path / "model.jgb")
        before = bundle.read_bytes()
        secret, public = keygen(folder.path / "release")
        text = secret.read_text()
        for mode in (0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o777):
            secret.chmod(mode)
            done = tool("cache", "sign", bundle, "--key", secret)
            expect(done.returncode == 1 and f"{secret} is open to others (mode {mode:04o})" in done.stderr,
                   f"mode {mode:o}", done)
        secret.chmod(0o600)
        public.chmod(0o600)
        wrong = folder.path / "wrong"
        for content in (text[:-1], text + "\n", text + text, text.replace("key-1", "key-2"), "",
                        text[:-2] + "g\n", text.split()[1] + "\n", text[:-1] + "\0"):
            wrong.write_text(content)
            wrong.chmod(0o600)
            done = tool("cache", "sign", bundle, "--key", wrong)
            expect(done.returncode == 1 and f"{wrong} holds no secret key" in done.stderr, content, done)
        for path, reason in ((public, "holds no secret key"), (folder.path, "is no file"),
                             (folder.path / "none", "cannot be opened: No such file")):
            done = tool("cache", "sign", bundle, "--key", path)
            expect(done.returncode == 1 and f"{path} {reason}" in done.stderr, reason, done)
        if os.geteuid() == 0:
            os.chown(secret, 65534, 65534)
            done = tool("cache", "sign", bundle, "--key", secret)
            expect(done.returncode == 1 and f"{secret} belongs to user 65534" in done.stderr, "owner", done)
            os.chown(secret, 0, 0)
        done = tool("cache", "verify", bundle, "--key", secret)
        expect(done.returncode == 1 and f"{secret} holds no public key" in done.stderr and
               text.split()[1] not in done.stderr, "a secret key in the public one's place", done)
        expect(bundle.read_bytes() == before, "the bundle was changed")
        secret.chmod(0o400)
        expect_exit(tool("cache", "sign", bundle, "--key", secret), 0)


def test_a_public_key_that_is_none_is_refused():
    with Folder() as folder:
        bundle = write_bundle(folder.path / "model.jgb")
        _, public = keygen(folder.path / "release")
        text = public.read_text()
        for content in (text[:-1], text + "\n", text + text, text[1:], "x" + text[1:], "", " " + text):
            public.write_text(content)
            done = tool("cache", "verify", bundle, "--key", public)
            expect(done.returncode == 1 and f"{public} holds no public key: 64 hexadecimal digits" in
                   done.stderr, repr(content), done)
        done = tool("cache", "verify", bundle, "--key", "d7" * 31)
        expect(done.returncode == 1 and "No such file" in done.stderr, "62 digits", done)


def test_a_bundle_that_others_may_write_is_not_signed():
    with Folder() as folder:
        bundle = write_bundle(folder.path / "model.jgb")
        secret, _ = keygen(folder.path / "release")
        bundle.chmod(0o666)
        done = tool("cache", "sign", bundle, "--key", secret)
        expect(done.returncode == 1 and "may be written by others" in done.stderr, "writable", done)


def test_roots_are_held_to_keys():
    with Folder() as folder:
        bundle = write_bundle(folder.path / "model.jgb")
        secret, public = keygen(folder.path / "release")
        _, other = keygen(folder.path / "other")
        key = public.read_text().strip()
        words = ["doctor", "--cache-root", bundle]
        asked = f"cache roots must be signed by: {key}, least serial number "
        done = tool(*words, "--cache-key", public, cache=folder.cache)
        expect(asked + "0\n" in done.stdout and f"cache root 1: {bundle}, not used: the bundle is not signed"
               in done.stdout, "unsigned", done)
        expect_exit(tool("cache", "sign", bundle, "--key", secret, "--serial", 7), 0)
        used = (f"cache root 1: {bundle}, a bundle, signed by {key} with serial number 7, read-only, trusted: ")
        for more, variables, text in (
                ([], {}, used),
                (["--cache-key", public, "--cache-least-serial", 7], {}, asked + "7\n" + used),
                (["--cache-key", key], {"JIT_GEMM_CACHE_LEAST_SERIAL": "7"}, asked + "7\n" + used),
                ([], {"JIT_GEMM_CACHE_KEYS": key}, asked + "0\n" + used),
                (["--cache-key", other], {"JIT_GEMM_CACHE_KEYS": key}, "not used: the bundle is signed by"),
                (["--cache-least-serial", 8], {"JIT_GEMM_CACHE_KEYS": key}, "number 7, and the least is 8")):
            done = tool(*words, *more, cache=folder.cache, variables=variables)
            expect(text in done.stdout, text, done)
        build = ["build", "256x256x128", "bf16", "--arch", "sm_90a", "--emit", "source", "-o", "-"]
        done = tool(*build, "--cache-root", bundle, "--cache-key", other, cache=folder.cache)
        expect(done.returncode == 1 and f"{bundle} cannot be used: the bundle is signed by {key}, which is no "
               "trusted key" in done.stderr, "named", done)
        expect_exit(tool(*build, "--cache-root", bundle, "--cache-key", public, cache=folder.cache), 0)
        for more, variables, text in (
                (["--cache-least-serial", 1], {}, "options.cache_least_serial: a serial number means nothing"),
                (["--cache-key", secret], {}, f"{secret} holds no public key"),
                ([], {"JIT_GEMM_CACHE_KEYS": "x"}, "JIT_GEMM_CACHE_KEYS: entry 1 is no key")):
            for command in (words, build):
                done = tool(*command, *more, cache=folder.cache, variables=variables)
                expect(done.returncode != 0 and text in done.stderr, text, done)
        done = tool("env", variables={"JIT_GEMM_CACHE_KEYS": key, "JIT_GEMM_CACHE_LEAST_SERIAL": "7"})
        expect("JIT_GEMM_CACHE_KEYS\n" in done.stdout and f"= {key}\n" in done.stdout and
               "JIT_GEMM_CACHE_LEAST_SERIAL\n" in done.stdout and "= 7\n" in done.stdout, "env", done)


def test_an_import_is_held_to_keys():
    with Folder() as folder:
        bundle = write_bundle(folder.path / "model.jgb")
        secret, public = keygen(folder.path / "release")
        _, other = keygen(folder.path / "other")
        key = public.read_text().strip()
        words = ["cache", "import", bundle, "--cache", folder.cache]
        unsigned = "(untrusted): the bundle is not signed, and a trusted key must have signed it"
        for more, variables in ((["--cache-key", public], {}), ([], {"JIT_GEMM_CACHE_KEYS": f":{key}"})):
            done = tool(*words, *more, variables=variables)
            expect(done.returncode == 1 and unsigned in done.stderr, "unsigned", done)
        expect_exit(tool("cache", "sign", bundle, "--key", secret, "--serial", 7), 0)
        for more, variables, text in (
                (["--cache-key", other], {}, f"the bundle is signed by {key}, which is no trusted key"),
                (["--cache-key", other], {"JIT_GEMM_CACHE_KEYS": key}, "which is no trusted key"),
                (["--cache-key", key, "--cache-least-serial", 8], {}, "serial number 7, and the least is 8"),
                (["--cache-key", key], {"JIT_GEMM_CACHE_LEAST_SERIAL": "8"}, "and the least is 8"),
                (["--cache-least-serial", 7], {}, "--cache-least-serial needs the key that signs"),
                ([], {"JIT_GEMM_CACHE_KEYS": f"{key}:x"}, "JIT_GEMM_CACHE_KEYS: entry 2 is no public key"),
                ([], {"JIT_GEMM_CACHE_KEYS": "::"}, "JIT_GEMM_CACHE_KEYS: entry 1 is no public key"),
                ([], {"JIT_GEMM_CACHE_KEYS": key, "JIT_GEMM_CACHE_LEAST_SERIAL": "7x"},
                 "JIT_GEMM_CACHE_LEAST_SERIAL: `7x` is no serial number")):
            done = tool(*words, *more, variables=variables)
            expect(done.returncode != 0 and text in done.stderr and not folder.cache.exists(), text, done)
        for more in ([], ["--cache-key", public, "--cache-least-serial", 7],
                     ["--cache-key", other, "--cache-key", key]):
            done = tool(*words, *more)
            expect(done.returncode == 0 and done.stdout.startswith("import: kernels=0 "), str(more), done)


def test_wrong_words_are_named():
    with Folder() as folder:
        for words, text in (
                (["keygen"], "cache keygen: name the file of the secret key with -o NAME"),
                (["keygen", "a", "-o", "b"], "cache keygen: name the file"),
                (["keygen", "-o", ""], "cache keygen: name the file"),
                (["keygen", "-o", "a" * 5000], "-o: the path is too long"),
                (["sign"], "cache sign: name one bundle"),
                (["sign", "a", "b", "--key", "c"], "cache sign: name one bundle"),
                (["sign", "a"], "cache sign: name the secret key's file with --key FILE"),
                (["sign", "a", "--key", "b", "--serial", "-1"], "--serial: `-1` is no whole number"),
                (["sign", "a", "--key", "b", "--serial", "x"], "--serial: `x` is no whole number"),
                (["verify", "--key", "a"], "cache verify: only a bundle has a signature: name one"),
                (["verify", "--least-serial", "1"], "cache verify: only a bundle has a signature"),
                (["verify", "a", "--least-serial", "1"], "--least-serial needs the key that signs")):
            done = tool("cache", *words, cache=folder.cache)
            expect(done.returncode == 2 and text in done.stderr, str(words), done)
        long = folder.path / ("n" * 253)
        done = tool("cache", "keygen", "-o", long)
        expect(done.returncode == 1 and "File name too long" in done.stderr and not long.exists(),
               "no place for the public key", done)
        done = subprocess.run([str(TOOL), "cache", "sign", "--help"], capture_output=True, check=True)
        expect(b"--serial N" in done.stdout, "help")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
