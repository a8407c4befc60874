# SPDX-License-Identifier: MIT
"""What `jit-gemm inspect` reads out of a cubin and out of a listing.

A stand-in for nvdisasm prints a listing of this file, so the counts are known by heart and no tool
of CUDA is needed; the cubin comes from NVRTC. Prints TAP.
"""
import json
import re
import struct
import sys

from cli_harness import (ARCH, SMALL, Folder, expect, expect_exit, named_tests, need_compiler,
                         run_tests, tool)

MOST_VARIABLES = 30  # 16 to 25 today; with constants of classes among them over 250
SECTION = '\t.section\t.text.NAME,"ax",@progbits\n.text.NAME:\n'
# A prologue of 2; a loop over tiles at 0x20 with one over K at 0x30, whose wait is repeated at the
# end of the code. Turn: 7 instructions, of which 2 multiply.
MMA_ROLE = """
        /*0000*/                   S2R R1, SR_TID.X ;
        /*0010*/              @!P0 BRA `(.L_x_9) ;
.L_x_1:
        /*0020*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2+URZ], R4 ;
.L_x_2:
        /*0030*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2+URZ+0x8], R4 ;
        /*0040*/              @!P0 BRA `(.L_x_7) ;
.L_x_3:
        /*0050*/                   UTCHMMA.2CTA gdesc[UR10], gdesc[UR12], tmem[UR24], UP0 ;
        /*0060*/                   UTCHMMA.2CTA gdesc[UR14], gdesc[UR16], tmem[UR24], UPT ;
        /*0070*/                   UTCBAR.2CTA.MULTICAST [UR8], URZ, UR9 ;
        /*0080*/                   ISETP.NE.AND P1, PT, R20, 0x40, PT ;
        /*0090*/               @P1 BRA `(.L_x_2) ;
        /*00a0*/                   UTCBAR.2CTA.MULTICAST [UR4], URZ, UR5 ;
        /*00b0*/              @!P2 BRA `(.L_x_1) ;
        /*00c0*/                   EXIT ;
"""
# A load loop that a branch of the uniform kind closes; a way through it leaves one out.
LOAD_ROLE = """
.L_x_9:
        /*00d0*/                   BRA.U !UP0, `(.L_x_10) ;
        /*00e0*/                   UTMALDG.3D.2CTA [UR8], [UR4] ;
.L_x_10:
        /*00f0*/                   UTMALDG.3D.MULTICAST.2CTA [UR8], [UR18], UR6 ;
        /*0100*/                   BRA.U UP1, `(.L_x_9) ;
        /*0110*/                   STL [R1], R2 ;
        /*0120*/                   EXIT ;
.L_x_7:
        /*0130*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2+URZ+0x8], R4 ;
        /*0140*/              @!P0 BRA `(.L_x_7) ;
        /*0150*/                   BRA `(.L_x_3) ;
"""
# Roles by a table: no branch names the labels where they begin.
TABLE = """
.L_x_20:
        /*0000*/                   BRX R2 -0x10 ;
.L_x_21:
        /*0010*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, UP0 ;
        /*0020*/               @P1 BRA `(.L_x_21) ;
        /*0030*/                   EXIT ;
.L_x_22:
        /*0040*/                   BSSY.RECONVERGENT B0, `(.L_x_25) ;
.L_x_23:
        /*0050*/                   UTMALDG.3D [UR8], [UR4] ;
.L_x_25:
        /*0060*/                   LDTM.x8 R4, tmem[UR12] ;
        /*0070*/               @P1 BRA `(.L_x_23) ;
        /*0080*/                   EXIT ;
"""
# Steps of an epilogue: each waits in its place, then turns through rows.
EPILOGUE_ROLE = """
        /*0000*/                   MOV R0, RZ ;
.L_x_30:
        /*0010*/                   LDTM.x8 R4, tmem[UR12] ;
.L_x_31:
        /*0020*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2+URZ], R4 ;
        /*0030*/              @!P0 BRA `(.L_x_31) ;
        /*0040*/                   STS [R3], R4 ;
.L_x_32:
        /*0050*/                   FFMA R4, R4, R5, R6 ;
        /*0060*/                   FFMA R5, R4, R5, R6 ;
        /*0070*/               @P1 BRA `(.L_x_32) ;
        /*0080*/               @P2 BRA `(.L_x_30) ;
        /*0090*/                   EXIT ;
"""
OTHER = '\t.section\t.text.other,"ax",@progbits\n        /*0000*/  LDL R1, [R2] ;\n'


def build(folder):
    need_compiler()
    path = folder.path / "gemm.cubin"
    expect_exit(tool("build", *SMALL, *ARCH, "-o", path, cache=folder.cache), 0)
    bare = {"PATH": "/nowhere", "CUDA_HOME": "/nowhere", "CUDA_PATH": "",
            "JIT_GEMM_NVDISASM": ""}
    name = json.loads(tool("inspect", path, "--json", variables=bare).stdout)["kernel"]
    return path, name


def stand_in(folder, listing, status=0):
    text = folder.path / "listing.txt"
    text.write_text(listing, encoding="ascii")
    program = folder.path / "nvdisasm"
    program.write_text(f"#!/bin/sh\n[ $# = 3 ] && [ -s \"$3\" ] || exit 9\n"
                       f"cat '{text}'\nexit {status}\n", encoding="ascii")
    program.chmod(0o755)
    return {"JIT_GEMM_NVDISASM": str(program)}


def test_the_file_alone_says_what_the_kernel_needs():
    with Folder() as folder:
        path, name = build(folder)
        done = tool("inspect", path, "--json",
                    variables={"PATH": "/nowhere", "CUDA_HOME": "", "CUDA_PATH": ""})
        expect_exit(done, 0)
        state = json.loads(done.stdout)
        expect(state["kernel"] == name and name.startswith("jit_gemm_sm90a"), "name", done)
        expect(state["local_bytes"] == 0 and state["max_threads"] == 384 and
               state["allowed_registers"] == 168 and state["registers"] == 168 and
               state["static_smem_bytes"] == 1024 and state["tensor_group"] == 0, "facts", done)
        if "mix" not in state:
            expect("no nvdisasm" in done.stderr and "JIT_GEMM_NVDISASM" in done.stderr,
                   "nobody says which tool would show more", done)


def test_a_problem_has_a_plan_too():
    need_compiler()
    done = tool("inspect", "512x512x512", "bf16", "--arch", "sm_100a", "--config",
                "mma=256x128 cta_group=2 cluster=2x1 acc_stages=2", "--json")
    expect_exit(done, 0)
    state = json.loads(done.stdout)
    expect(state["tmem_columns"] == 256 and state["tensor_group"] == 2 and
           state["arch"] == "sm_100a" and "mma=256x128" in state["config"] and
           state["smem_bytes"] > 100000 and state["max_threads"] == 192, "facts", done)
    again = tool("inspect", "512x512x512", "bf16", "--arch", "sm_100a")
    expect_exit(again, 0)
    expect("local memory:  0 bytes per thread, no spills\n" in again.stdout and
           "tensor memory: " in again.stdout, "text", again)


def test_a_budget_is_compared_with_what_is_reported():
    need_compiler()
    table = "float t[16]; for (int i = 0; i < 16; ++i) { t[i] = acc * float(i); } d = t[col & 15];"
    with Folder() as folder:
        def build_with(budget, *more):
            return tool("build", *SMALL, *budget.split(), *ARCH, "-o", folder.path / "gemm.cubin",
                        *more, cache=folder.cache)

        expect_exit(build_with("max_registers=168 local_memory=none"), 0)
        for _ in range(2): # what the disk has is compared too
            done = build_with("max_registers=167")
            expect_exit(done, 1)
            expect("has 168 registers a thread, 167 are allowed\n    hint: raise it" in done.stderr,
                   "text", done)
            done = build_with("local_memory=none", "--epilogue", table)
            expect_exit(done, 1)
            expect(re.search(r"has [1-9]\d* bytes of local memory a thread, none are allowed\n",
                             done.stderr), "text", done)
        expect_exit(build_with("", "--epilogue", table), 0)
        done = tool("run", *SMALL, "max_registers=168", *ARCH, "--device", "emulator")
        expect(done.returncode == 2 and "not machine code" in done.stderr, "PTX is taken", done)


def test_instructions_are_counted_by_kind():
    with Folder() as folder:
        path, name = build(folder)
        listing = SECTION.replace("NAME", name) + MMA_ROLE + LOAD_ROLE + OTHER
        done = tool("inspect", path, "--json", variables=stand_in(folder, listing))
        expect_exit(done, 0)
        state = json.loads(done.stdout)
        mix = {kind: count for kind, count in state["mix"].items() if count}
        expect(state["instructions"] == 22 and mix == {
            "mma": 2, "mma_commit": 2, "tma_load": 2, "mbarrier": 3, "local_store": 1},
               "mix", done)
        expect(state["opcodes"]["UTCHMMA"] == 2 and "LDL" not in state["opcodes"], "opcodes",
               done)


def test_loops_are_those_of_one_block_of_k():
    with Folder() as folder:
        path, name = build(folder)
        listing = OTHER + SECTION.replace("NAME", name) + MMA_ROLE + LOAD_ROLE
        variables = stand_in(folder, listing)
        done = tool("inspect", path, "--json", variables=variables)
        expect_exit(done, 0)
        expect(json.loads(done.stdout)["loops"] == [
            {"address": 0x30, "outer": 0, "instructions": 7, "multiplications": 2, "tma_loads": 0,
             "commits": 1, "tmem_loads": 0},
            {"address": 0xd0, "outer": 0, "instructions": 4, "multiplications": 0, "tma_loads": 2,
             "commits": 0, "tmem_loads": 0}], "loops", done)
        done = tool("inspect", path, variables=variables)
        expect("loop at 0x0030: 7 instructions per turn, 2 multiplications, 0 TMA loads; "
               "3.5 instructions per multiplication\n" in done.stdout, "text", done)


def test_roles_behind_an_indirect_branch_are_found():
    with Folder() as folder:
        path, name = build(folder)
        listing = SECTION.replace("NAME", name) + TABLE.replace(
            ".L_x_21:", ".L_x_24:\n.L_x_21:")
        done = tool("inspect", path, "--json", variables=stand_in(folder, listing))
        expect_exit(done, 0)
        loops = json.loads(done.stdout)["loops"]
        expect([loop["address"] for loop in loops] == [0x10, 0x50] and
               [loop["instructions"] for loop in loops] == [2, 3] and
               [loop["tmem_loads"] for loop in loops] == [0, 1], "loops", done)


def test_a_loop_inside_of_one_that_works_is_counted_by_itself():
    with Folder() as folder:
        path, name = build(folder)
        variables = stand_in(folder, SECTION.replace("NAME", name) + EPILOGUE_ROLE)
        done = tool("inspect", path, "--json", variables=variables)
        expect_exit(done, 0)
        expect([(loop["address"], loop["outer"], loop["instructions"], loop["tmem_loads"])
                for loop in json.loads(done.stdout)["loops"]] ==
               [(0x10, 0, 5, 1), (0x50, 0x10, 3, 0)], "loops", done)
        done = tool("inspect", path, variables=variables)
        expect("1 loads of tensor memory\n    in each of its turns a loop at 0x0050: 3 instructions "
               "per turn\n" in done.stdout, "text", done)


def test_a_listing_without_the_kernel_is_an_error():
    with Folder() as folder:
        path, name = build(folder)
        for listing, message in [(OTHER, "does not have the kernel"),
                                 (SECTION.replace("NAME", name), "is empty")]:
            done = tool("inspect", path, variables=stand_in(folder, listing))
            expect(done.returncode == 1 and message in done.stderr, message, done)
        done = tool("inspect", path, variables=stand_in(folder, OTHER, status=3))
        expect(done.returncode == 1 and "failed" in done.stderr, "its failure is told", done)


def test_a_wrong_variable_is_named():
    with Folder() as folder:
        path, _ = build(folder)
        for value in ("/nowhere/nvdisasm", str(folder.path)):
            done = tool("inspect", path, variables={"JIT_GEMM_NVDISASM": value})
            expect(done.returncode == 1 and "JIT_GEMM_NVDISASM: " + value in done.stderr,
                   value, done)


def test_files_that_are_no_cubins_are_refused():
    with Folder() as folder:
        path, _ = build(folder)
        whole = path.read_bytes()
        broken = folder.path / "broken.cubin"
        for data in (b"", b"text\n", whole[:40], whole[:70], whole[:len(whole) // 2],
                     whole[:18] + b"\x3e\x00" + whole[20:]):
            broken.write_bytes(data)
            done = tool("inspect", broken)
            expect(done.returncode == 1 and "broken.cubin: it" in done.stderr,
                   f"{len(data)} bytes", done)
        done = tool("inspect", folder.path / "none.cubin")
        expect(done.returncode == 1 and "none.cubin: " in done.stderr, "no file", done)


def test_damaged_facts_are_refused_not_read():
    with Folder() as folder:
        path, _ = build(folder)
        whole = bytearray(path.read_bytes())
        broken = folder.path / "broken.cubin"
        variables = stand_in(folder, OTHER)
        refused = 0
        for at in range(0, len(whole), 997):
            changed = bytearray(whole)
            changed[at:at + 8] = b"\xff" * 8
            broken.write_bytes(changed)
            done = tool("inspect", broken, variables=variables)
            expect(done.returncode in (0, 1), f"crashed with byte {at} changed", done)
            refused += done.returncode
        expect(refused > 0, "no change was noticed")


def variables_of(cubin):
    """Names of what has a place in memory, by the table of symbols of an ELF file of 64 bits."""
    (offset,) = struct.unpack_from("<Q", cubin, 0x28)
    (count,) = struct.unpack_from("<H", cubin, 0x3C)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + 64 * i) for i in range(count)]
    (symbols,) = [section for section in sections if section[1] == 2]
    names = sections[symbols[6]][4]
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", cubin, at)
        if info % 16 == 1 and section != 0:
            yield cubin[names + name:cubin.index(b"\0", names + name)].decode()


def test_constants_of_classes_leave_no_variables():
    need_compiler()
    with Folder() as folder:
        for arch in ("sm_90a", "sm_100a"):
            for words in ([], ["epilogue=bias_residual"]):
                path = folder.path / "kernel.cubin"
                expect_exit(tool("build", *SMALL, *words, "--arch", arch, "-o", path), 0)
                found = list(variables_of(path.read_bytes()))
                # What has a type of its own, texts of instructions, and a few of namespaces.
                expect(any("kScheduler" in name for name in found), f"{arch}: {found}")
                expect(len(found) <= MOST_VARIABLES, f"{arch} {words}: {len(found)}: {found}")


def test_a_recipe_is_obeyed():
    need_compiler()
    with Folder() as folder:
        path = folder.path / "hand.recipe"
        path.write_text("jit_gemm recipe 1\nproblem sm_90a 256x256x128 bf16 config=tile=64x128 cluster=1x1\n",
                        encoding="ascii")
        state = json.loads(tool("inspect", *SMALL, *ARCH, "--recipe", path, "--json").stdout)
        expect(state["recipe"] == f"{path}:2" and "tile=64x128" in state["config"], str(state))


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
