# SPDX-License-Identifier: MIT
"""Epilogues and their operands, and what the library has of its own."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import hashlib
import re
from typing import Any

from . import _abi
from ._abi import Dtype, OperandKind, OperandRole
from ._errors import check, refuse
from ._library import library

KINDS = {kind.name.lower().removeprefix("block_"): kind for kind in OperandKind}
ROLES = {role.name.lower(): role for role in OperandRole}
ROLES["out"] = ROLES.pop("output")
ROLE_NAMES = {int(role): name for name, role in ROLES.items()}
KIND_NAMES = {int(kind): name for name, kind in KINDS.items()}
DTYPE_NAMES = {int(dtype): dtype.name.lower() for dtype in Dtype}
BLOCK_COLUMNS = {"1x128": 128, "1x32": 32, "1x16": 16}


@dataclasses.dataclass(frozen=True)
class Operand:
    """One operand of an epilogue, as in the text form `bias:row_vector:bf16`.

    `kind`: scalar, row_vector (a value per column of D), column_vector (a value per row),
    matrix, pair_vector (a value per column of B), or of reductions 1x128, 1x32, 1x16. `role`:
    input, out, sum, max or min.
    """

    name: str
    kind: str
    dtype: str = "f32"
    role: str = "input"

    @classmethod
    def parse(cls, text: str) -> Operand:
        """Reads `NAME:KIND:TYPE` and `:out`, `:sum`, `:max` or `:min` behind it."""
        words = text.split(":")
        if not 3 <= len(words) <= 4:
            refuse("operand", f"'{text}' is not NAME:KIND:TYPE", "such as bias:row_vector:bf16")
        return cls(*words)

    def __post_init__(self) -> None:
        for field, value, known in (
            ("kind", self.kind, list(KINDS)),
            ("role", self.role, list(ROLES)),
            ("type", self.dtype, [name for name in DTYPE_NAMES.values() if name != "none"]),
        ):
            if value not in known:
                refuse(
                    f"operand {self.name}",
                    f"there is no {field} '{value}'",
                    "one of " + ", ".join(known),
                )

    def __str__(self) -> str:
        role = "" if self.role == "input" else f":{self.role}"
        return f"{self.name}:{self.kind}:{self.dtype}{role}"

    @property
    def is_read(self) -> bool:
        return self.role == "input"

    @property
    def is_reduction(self) -> bool:
        return self.role in ("sum", "max", "min")


@dataclasses.dataclass(frozen=True)
class Epilogue:
    """A snippet and its operands, or a compiled device function (`code` and `symbol`).

    `source_name` and `first_line` say where the snippet stands in a file of yours: errors
    come back in its lines. Without a name it gets one from its text.
    """

    source: str = ""
    operands: tuple[Operand, ...] = ()
    name: str = ""
    source_name: str = ""
    first_line: int = 1
    code: bytes = b""
    symbol: str = ""

    def __post_init__(self) -> None:
        given = tuple(
            Operand.parse(operand) if isinstance(operand, str) else operand
            for operand in self.operands
        )
        object.__setattr__(self, "operands", given)
        if not self.source and not self.code:
            refuse("epilogue", "it has no text", "such as d = relu(acc);")
        for field, text in (("epilogue", self.source), ("epilogue.source_name", self.source_name)):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                refuse(field, f"its character {error.start} is half of a surrogate pair")
        if not self.name:
            words = [self.source, *map(str, given), self.source_name, str(self.first_line)]
            words.append(self.symbol)
            digest = hashlib.blake2b("\0".join(words).encode() + self.code, digest_size=12)
            object.__setattr__(self, "name", "py_" + digest.hexdigest())

    @functools.cached_property
    def is_gated(self) -> bool:
        """Does it make a column of D of two columns of B?"""
        return is_gated(self.source)

    def as_struct(self) -> tuple[_abi.Epilogue, Any]:
        """The C struct, and what it borrows."""
        rows = (_abi.Operand * max(len(self.operands), 1))()
        for row, operand in zip(rows, self.operands):
            row.name = operand.name.encode()
            row.kind = KINDS[operand.kind]
            row.dtype = Dtype[operand.dtype.upper()]
            row.role = ROLES[operand.role]
        code = ctypes.create_string_buffer(self.code, len(self.code)) if self.code else None
        source = self.source.encode()
        struct = _abi.Epilogue(
            struct_size=ctypes.sizeof(_abi.Epilogue),
            name=self.name.encode(),
            source=source if not self.code else None,
            source_size=len(source) if not self.code else 0,
            source_name=(self.source_name or "epilogue").encode(),
            first_line=self.first_line,
            operand_count=len(self.operands),
            operands=rows,
        )
        if code is not None:
            struct.code = ctypes.cast(code, ctypes.c_void_p)
            struct.code_size = len(self.code)
            struct.symbol = self.symbol.encode()
        return struct, (rows, code)


def is_gated(source: str) -> bool:
    """A snippet that names acc0 or acc1, outside of comments, is gated."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.S)
    return re.search(r"\bacc[01]\b", text) is not None


@dataclasses.dataclass(frozen=True)
class NamedEpilogue:
    """One of the library's own epilogues. Operands of type `as_d` have D's type."""

    name: str
    math: str
    cublaslt: str
    source: str
    operands: tuple[tuple[str, str, str, str], ...]  # name, kind, type or as_d, role

    @property
    def is_gated(self) -> bool:
        return is_gated(self.source)

    def operands_for(self, d: str) -> tuple[Operand, ...]:
        """The operands of a problem whose D has this type."""
        found = _read_named(d)[self.name]
        return tuple(Operand(*words) for words in found.operands)


@functools.lru_cache(maxsize=None)
def _read_named(d: str) -> dict[str, NamedEpilogue]:
    lib = library()
    found = {}
    for index in range(lib.jit_gemm_epilogue_named_count()):
        raw = _abi.NamedEpilogue(struct_size=ctypes.sizeof(_abi.NamedEpilogue))
        number = Dtype[d.upper()] if d else Dtype.NONE
        check(lib.jit_gemm_epilogue_named(index, number, ctypes.byref(raw)))
        operands = []
        for operand in raw.operands[: raw.operand_count]:
            dtype = DTYPE_NAMES[operand.dtype] if operand.dtype else "as_d"
            operands.append(
                (operand.name.decode(), KIND_NAMES[operand.kind], dtype, ROLE_NAMES[operand.role])
            )
        found[raw.name.decode()] = NamedEpilogue(
            raw.name.decode(),
            raw.math.decode(),
            raw.cublaslt.decode(),
            raw.source.decode(),
            tuple(operands),
        )
    return found


def named_epilogues() -> dict[str, NamedEpilogue]:
    """The library's own epilogues by name."""
    return dict(_read_named(""))
