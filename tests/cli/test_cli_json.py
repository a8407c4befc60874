#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What every command prints with --json, against docs/json.schema.json. TAP.

Usage: test_cli_json.py JIT_GEMM SOURCE_ROOT COMPUTING_DRIVER BROKEN_NVRTC EMULATOR
"""
import json
import pathlib
import re
import sys

from cli_harness import (ARCH, ROOT, SMALL, Folder, emulator_by_name, expect, expect_exit, named_tests, need_compiler,
                         run_tests, tool)

DRIVER, BROKEN, EMULATOR = (str(pathlib.Path(word).resolve()) for word in sys.argv[3:6])
SCHEMA = json.loads((ROOT / "docs/json.schema.json").read_text(encoding="utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
SEEN = set()

try:
    import jsonschema
except ImportError:
    jsonschema = None


def is_of(value, name):
    if name in ("integer", "number"):
        return isinstance(value, int if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def fault(value, schema, where):
    """Why the value is none of the schema's, by those of its words that ours has; None if it is one."""
    if "$ref" in schema:
        return fault(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], where)
    if "anyOf" in schema:
        faults = [fault(value, one, where) for one in schema["anyOf"]]
        return None if None in faults else faults[0]
    if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
        return f"{where}: {value!r}"
    names = schema.get("type", [])
    names = names if isinstance(names, list) else [names]
    if names and not any(is_of(value, name) for name in names):
        return f"{where}: {value!r} is none of {names}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        return f"{where}: {value!r} is not of its form"
    if "minimum" in schema and value < schema["minimum"]:
        return f"{where}: {value!r} is too small"
    if isinstance(value, list):
        return next(filter(None, (fault(item, schema.get("items", {}), f"{where}[{i}]")
                                  for i, item in enumerate(value))), None)
    if isinstance(value, dict):
        missing = [name for name in schema.get("required", []) if name not in value]
        if missing:
            return f"{where}: {missing} are missing"
        others = schema.get("additionalProperties", {})
        for name, item in value.items():
            known = schema.get("properties", {}).get(name, others)
            found = f"{where}: {name} is not in the schema" if known is False else fault(item, known, f"{where}.{name}")
            if found:
                return found
    return None


def validate(value, name):
    SEEN.add(name)
    found = fault(value, SCHEMA["$defs"][name], name)
    expect(found is None, f"{found}\n{json.dumps(value)[:2000]}")
    if jsonschema is not None:
        jsonschema.Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{name}"}]}).validate(value)


def ask(name, *words, code=0, lines=False, **more):
    """What a command prints, valid by the definition."""
    done = tool(*words, "--json", **more)
    expect_exit(done, code)
    if lines:
        return [json.loads(line) for line in done.stdout.splitlines()]
    value = json.loads(done.stdout)
    validate(value, name)
    return value


def test_the_schema_is_one_and_refuses():
    if jsonschema is not None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
    value = ask("version", "version")
    for change in ({"version": 1}, {"archs": "sm_90a"}, {"more": 1}, {"command": "env"}):
        wrong = {**value, **change}
        expect(fault(wrong, SCHEMA["$defs"]["version"], "version"), f"{wrong} is taken")
        if jsonschema is not None:
            expect(not jsonschema.Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": "#/$defs/version"}]}).is_valid(wrong),
                   f"{wrong} is taken")


def test_commands_that_need_nothing():
    env = ask("env", "env", variables={"JIT_GEMM_ARCH": "sm_90a"})
    values = {item["name"]: item["value"] for item in env["variables"]}
    expect(values["JIT_GEMM_ARCH"] == "sm_90a" and values["JIT_GEMM_NVRTC"] is None, f"{values}")
    odd = ask("env", "env", variables={"JIT_GEMM_PLAN_FOR": "a\"\\\n\x01b\udcff"})
    values = {item["name"]: item["value"] for item in odd["variables"]}
    expect(values["JIT_GEMM_PLAN_FOR"] == "a\"\\\n\x01b\ufffd", "bytes that are none of a text")
    plan = ask("plan", "plan", *SMALL, *ARCH)
    expect(plan["candidates"][0]["verdict"] == "chosen", "the first one is chosen")
    ask("plan_sweep", "plan", "n=4096", "k=4096", "a=bf16", "dynamic=m", "--sweep", "m=1..256", *ARCH)
    expect(len(ask("epilogue_list", "epilogue", "list")) > 30, "all of them")
    ask("named_epilogue", "epilogue", "show", "swiglu")
    wrong = ask("epilogue_check", "epilogue", "check", "--epilogue", "d = acc +;\x02", code=1)
    expect(not wrong["ok"] and wrong["diagnostics"][0]["line"] == 1, "an error has its place")
    ask("doctor", "doctor", *ARCH, code=1, variables={"JIT_GEMM_DRIVER": "/dev/null/libcuda.so.1"})
    ask("doctor", "doctor", "--device", "emulator", *ARCH, variables=emulator_by_name(pathlib.Path(EMULATOR), "seed=1"))


def test_building_and_the_cache():
    need_compiler()
    with Folder() as folder:
        def cached(name, *words, **more):
            return ask(name, *words, cache=folder.cache, **more)

        cubin = folder.path / "k.cubin"
        built = cached("build", "build", *SMALL, *ARCH, "-o", cubin)
        expect(built["bytes"] == cubin.stat().st_size and built["form"] == "cubin", f"{built}")
        cached("inspect", "inspect", cubin)
        cached("inspect", "inspect", *SMALL, *ARCH)
        checked = cached("epilogue_check", "epilogue", "check", "--epilogue", "d = gelu(acc);")
        expect(checked["checked"] == "compiled", f"{checked}")
        manifest = folder.path / "m.txt"
        manifest.write_text("jit_gemm manifest 1\nproblem 256x256x128 bf16\nproblem 256x256x64 f16\n", encoding="ascii")
        missing = cached("prewarm", "prewarm", manifest, *ARCH, "--estimate")
        expect(missing["missing"] == 1 and missing["cached"] == 1, f"{missing}")
        lacking = cached("verify-manifest", "verify-manifest", manifest, *ARCH, code=1)
        expect(lacking["failed"] == 1 and lacking["error"], f"{lacking}")
        filled = cached("prewarm", "prewarm", manifest, *ARCH, "--bundle", folder.path / "k.jgb")
        expect(filled["compiled"] == 1 and filled["bundle"]["kernels"] == 2, f"{filled}")
        expect(cached("verify-manifest", "verify-manifest", manifest, *ARCH)["cached"] == 2, "all are there")
        entries = cached("cache_ls", "cache", "ls")
        expect(len(entries) == 2 and len(cached("cache_ls", "cache", "ls", "--all")) > 2, "kernels, then all")
        expect(cached("cache_stat", "cache", "stat")["kernels"] == 2, "stat")
        there = cached("cache_explain", "cache", "explain", *SMALL, *ARCH)
        expect(there["cached"] and there["keys"][0] in [entry["key"] for entry in entries], f"{there}")
        absent = cached("cache_explain", "cache", "explain", "256x256x192", "bf16", *ARCH, code=1)
        expect(not absent["cached"] and absent["reason"] and absent["near"], f"{absent}")
        expect(cached("cache_explain_key", "cache", "explain", there["keys"][0])["entries"][0]["key"] == there["keys"][0],
               "the entry of the key")
        bundle = folder.path / "all.jgb"
        expect(cached("cache_export", "cache", "export", "-o", bundle)["bundle"]["kernels"] == 2, "export")
        cached("cache_export_manifest", "cache", "export", manifest, *ARCH, "-o", folder.path / "m.jgb")
        key = cached("cache_keygen", "cache", "keygen", "-o", folder.path / "release")["key"]
        signed = cached("cache_sign", "cache", "sign", bundle, "--key", folder.path / "release", "--serial", "3")
        verified = cached("cache_verify", "cache", "verify", bundle)
        expect(signed["key"] == key and verified["signature"] == {"serial": 3, "key": key}, f"{verified}")
        imported = ask("cache_import", "cache", "import", bundle, cache=folder.path / "other")
        expect(imported["stored"] == 2, f"{imported}")
        victim = next(path for path in folder.cache.rglob("*") if path.is_file() and
                      there["keys"][0] in str(path.relative_to(folder.cache)).replace("/", ""))
        victim.write_bytes(victim.read_bytes()[:-3] + b"xyz")
        bad = cached("cache_verify", "cache", "verify", "--remove", code=1)
        expect(bad["bad"] == 1 and bad["faults"][0]["key"] == there["keys"][0] and bad["removed"], f"{bad}")
        expect(cached("cache_gc", "cache", "gc", "--max-age", "0s")["whole"], "gc")


def test_a_capsule():
    need_compiler()
    with Folder() as folder:
        done = tool("build", *SMALL, *ARCH, "-o", folder.path / "x", "--capsule", folder.path, "--nvrtc", BROKEN,
                    "--no-cache")
        expect_exit(done, 1)
        capsule = next(folder.path.glob("capsule-*"))
        expect(ask("replay", "replay", capsule, "--nvrtc", BROKEN)["same_error"], "the same compiler")
        expect(not ask("replay", "replay", capsule, code=1)["same_error"], "another one")


def test_runs_and_traces_on_the_emulator():
    need_compiler()
    more = {"variables": emulator_by_name(pathlib.Path(EMULATOR), "seed=1")}
    with Folder() as folder:
        words = [*SMALL, "--device", "emulator", *ARCH]
        result = ask("run", "run", *words, "--verify", cache=folder.cache, **more)
        expect(result["result"] == "PASS" and result["kernel_us"] is None, f"{result}")
        traced = ask("trace", "trace", *words, "-o", folder.path / "t.json", cache=folder.cache, **more)
        expect(traced["unit"] == "steps" and traced["events"] > 0, f"{traced}")
        for chip in ([], ["--chip", "h100", "--mhz", "1500"]):
            for line in ask("bench", "bench", *words, "--modelled", *chip, lines=True, cache=folder.cache, **more):
                validate(line, "bench_modelled")
                expect(line["command"] == "bench", f"{line}")


def test_times_of_a_device():
    need_compiler()
    words = ["16x16x64", "bf16", "--config", "swap_ab=0", "--rounds", "1", "--driver", DRIVER]
    more = {"variables": {"COMPUTING_DRIVER": "bf16 bf16 none", "COMPUTING_CLOCK": "1"}}
    with Folder() as folder:
        for line in ask("bench", "bench", *words, "--round-ms", "1", "--warmup-ms", "1", lines=True, **more):
            validate(line, "bench")
            expect(line["command"] == "bench", f"{line}")
        groups = ["m=32", "n=48", "k=64", "a=bf16", "groups=2", *words[2:], "--group-sizes", "16,16"]
        more["variables"]["COMPUTING_GROUPS"] = "offsets 48"
        for line in ask("bench", "bench", *groups, "--round-ms", "1", "--warmup-ms", "1", lines=True, **more):
            validate(line, "bench")
            expect(line["groups"] != "", f"{line}")
        del more["variables"]["COMPUTING_GROUPS"]
        *problems, summary = ask("tune", "tune", *words, "--candidates", "2", "-o", folder.path / "r", lines=True, **more)
        expect(len(problems) == 1, f"{problems}")
        validate(problems[0], "tune")
        validate(summary, "tune_summary")
        ask("run", "run", *words[:4], "--driver", DRIVER, **more)


def test_every_definition_was_printed_by_a_command():
    """The last one: what no test has seen, no test holds."""
    need_compiler()
    printed = {item["$ref"].rsplit("/", 1)[1] for item in SCHEMA["anyOf"]}
    expect(printed == SEEN, f"not seen: {sorted(printed - SEEN)}; not listed: {sorted(SEEN - printed)}")
    page = (ROOT / "docs/json.md").read_text(encoding="utf-8")
    expect(not [name for name in printed if f"`{name}`" not in page], "the page lacks a definition")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
