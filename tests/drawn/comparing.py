"""Where two runs of a program differ first.

Note [Tolerances]
Two libraries round differently. An array may differ from another by ``TOLERANCES`` of its dtype, times the largest
number that the program has met (what cancels keeps the error of what was large), and no more: draws keep numbers
small, so that a wrong formula is far beyond. Programs at a jump (a comparison of what was rounded, a sorted tie) are
recognized by ``nudged``: the right module itself gives other numbers if leaves change in their last digits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from random import Random
from typing import Any

import numpy as np

from .playing import Account, Bfloat

TOLERANCES = {
    np.dtype("float64"): 1e-9, np.dtype("complex128"): 1e-9, np.dtype("float32"): 5e-5, np.dtype("complex64"): 5e-5,
    np.dtype("float16"): 1e-2,
}  # fmt: skip
BFLOAT = 8e-2


@dataclass
class Difference:
    """Where and how a run differs from the right one.

    Attributes:
        kind: what differs: "raised", "numbers", "log", "grad", or a mark such as "stride".
        statement: the source of the statement after which it does.
        what: both sides, to read.
        key: what of it stays the same if the program is made smaller.
    """

    kind: str
    statement: str
    what: str
    key: str


def first_difference(ours: tuple, theirs: tuple) -> Difference | None:
    """Compare what ``play`` gave for two modules, the right one second."""
    (our_account, our_numbers), (their_account, their_numbers) = ours, theirs
    found = difference_of_accounts(our_account, their_account)
    if found is not None:
        return found
    scale = max([1.0, *magnitudes(their_numbers)])
    for name in {**their_numbers, **our_numbers}:
        pair = our_numbers.get(name, "nothing"), their_numbers.get(name, "nothing")
        for where, what, key in differences(*pair, name, scale):
            kind = "log" if name == "log" else "grad" if name.endswith(".grad") else "numbers"
            return Difference(kind, origin(their_account, name), f"{where}: {what}", f"{kind}: {key}")
    return None


def difference_of_accounts(ours: Account, theirs: Account) -> Difference | None:
    for (source, raised, marks), (_, expected_raised, expected_marks) in zip(ours, theirs, strict=True):
        if raised != expected_raised:
            key = f"raised {normal(raised)} for {normal(expected_raised)}"
            return Difference("raised", source, f"{shown(raised)}, expected {shown(expected_raised)}", key)
        for name in {**expected_marks, **marks}:
            pair = marks.get(name, "nothing"), expected_marks.get(name, "nothing")
            for where, what, key in differences(*pair, name, 1.0):
                kind = re.sub(r"^[\w.]*?(\[\d+\])*\.", "", where)
                return Difference(kind, source, f"{where}: {what}", f"{kind}: {key}")
    return None


def shown(raised: Any) -> str:
    return "no error" if raised is None else f"{raised[1]}: {raised[2]}"


def normal(raised: Any) -> str:
    """An error without the numbers and names in it."""
    return "nothing" if raised is None else f"{raised[1]}: {re.sub(r'[0-9]+', '#', raised[2])[:90]}"


def origin(account: Account, name: str) -> str:
    """The last statement that speaks of a name."""
    letter = name.partition(".")[0]
    return next((source for source, _, _ in reversed(account) if re.search(rf"\b{letter}\b", source)), account[-1][0])


def differences(ours: Any, theirs: Any, where: str, scale: float) -> Iterator[tuple[str, str, str]]:
    """Where two accounts differ, how, and what of that does not depend on numbers."""
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        how = far_apart(ours, theirs, scale)
        if how:
            yield where, f"{how}: {text_of(ours)}, expected {text_of(theirs)}", how
    elif isinstance(theirs, dict) and isinstance(ours, dict):
        for key in {**theirs, **ours}:
            yield from differences(ours.get(key, "nothing"), theirs.get(key, "nothing"), f"{where}.{key}", scale)
    elif isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)) and is_nest(theirs) and is_nest(ours):
        if len(ours) != len(theirs):
            yield where, f"{len(ours)} items, expected {len(theirs)}: {ours!r}, expected {theirs!r}", "length"
            return
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, f"{where}[{number}]", scale)
    elif isinstance(theirs, float) and isinstance(ours, float):
        if abs(ours - theirs) > 1e-5 * scale or (ours != ours) != (theirs != theirs):
            yield where, f"{ours!r}, expected {theirs!r}", "float"
    elif type(ours) is not type(theirs) or ours != theirs:
        yield where, f"{text_of(ours)}, expected {text_of(theirs)}", kinds_of(ours, theirs)


def is_nest(item: Any) -> bool:
    """Whether a list or tuple has things in it that are to be compared one by one."""
    return any(isinstance(part, (list, tuple, dict, np.ndarray, float)) for part in item)


def kinds_of(ours: Any, theirs: Any) -> str:
    """What two accounts are, or, of lists of plain things, what differs first in them."""
    lists = isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple))
    if lists and ours[:1] != ("raised",) != theirs[:1]:
        pairs = zip_longest(ours, theirs)
        return next((kinds_of(*pair) for pair in pairs if repr(pair[0]) != repr(pair[1])), "list for list")
    return f"{kind_of(ours)} for {kind_of(theirs)}"


def kind_of(item: Any) -> str:
    """What an account is, without what differs from program to program."""
    if isinstance(item, tuple) and item[:1] == ("raised",):
        return normal(item)
    if isinstance(item, (np.ndarray, dict)):
        return type(item).__name__
    return re.sub(r"[0-9]+", "#", repr(item)) if isinstance(item, (str, bool, type(None))) else type(item).__name__


def text_of(item: Any) -> str:
    text = str(item.tolist()) if isinstance(item, np.ndarray) else repr(item)
    return text if len(text) < 300 else text[:300] + "…"


def far_apart(ours: np.ndarray, theirs: np.ndarray, scale: float) -> str:
    """How two arrays differ; nothing if they are near. See Note [Tolerances]."""
    if ours.dtype != theirs.dtype:
        return "dtype"
    if ours.shape != theirs.shape:
        return "shape"
    if ours.tobytes() == theirs.tobytes():
        return ""
    if theirs.dtype not in TOLERANCES:
        return "" if (ours == theirs).all() else "numbers"
    odd = ~np.isfinite(ours) | ~np.isfinite(theirs)
    if odd.any() and not np.array_equal(ours[odd], theirs[odd], equal_nan=True):
        return "not finite"
    tolerance = BFLOAT if isinstance(theirs, Bfloat) else TOLERANCES[theirs.dtype]
    apart = np.abs(ours[~odd].astype(complex) - theirs[~odd]).max(initial=0) / scale
    if apart <= tolerance:
        return ""
    return "digits of float32" if tolerance < 1e-6 and apart <= 1e-6 else "numbers"


def magnitudes(item: Any) -> Iterator[float]:
    """The size of the largest number of each array."""
    if isinstance(item, np.ndarray) and item.dtype.kind in "fc" and item.size:
        finite = np.abs(item)[np.isfinite(item)]
        yield float(finite.max()) if finite.size else 0.0
    elif isinstance(item, dict):
        for part in item.values():
            yield from magnitudes(part)
    elif isinstance(item, (list, tuple)):
        for part in item:
            yield from magnitudes(part)


NUDGES = {"float64": 1e-11, "complex128": 1e-11, "float16": 1e-3, "bfloat16": 1e-2}


class Nudge(ast.NodeTransformer):
    """Changes the numbers of tensors that are written down in their last digits, some up and some down."""

    def __init__(self, seed: int) -> None:
        self.by, self.chances = 0.0, Random(seed)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) != "torch.tensor":
            return self.generic_visit(node)
        dtype = next((ast.unparse(k.value).rpartition(".")[2] for k in node.keywords if k.arg == "dtype"), "float32")
        before, self.by = self.by, NUDGES.get(dtype, 1e-6)
        self.generic_visit(node)
        self.by = before
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if self.by and isinstance(node.value, (float, complex)):
            return ast.Constant(node.value * (1 + self.by * self.chances.choice((-1.5, -1, 1, 1.5))))
        return node


def nudged(program: str, seed: int = 0) -> str:
    """The program with leaves that differ a little. See Note [Tolerances]."""
    return ast.unparse(Nudge(seed).visit(ast.parse(program)))
