"""Drawing many programs, and making a few groups of those that differ."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial, wraps
from random import Random
from typing import Any

import tapegrad

from .comparing import Difference
from .left import left_out
from .modes import MODES, at_a_jump, modes_of
from .playing import HELPERS, attempt, quiet
from .programs import Drawn, draw
from .shrinking import smallest


def right_module() -> Any:
    """PyTorch, or, where it is not installed, tapegrad as it computes at once."""
    if importlib.util.find_spec("torch") is None:
        return tapegrad
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)  # of several writes to one place the last is then always the same
    for module in (torch, tapegrad):  # warns once in a process; a program is run by PyTorch when it is drawn, too
        with quiet():
            module.ones(1).storage().size()
    register = torch.Tensor.register_hook
    if not hasattr(register, "looks"):
        torch.Tensor.register_hook = hook_that_looks(torch, register)
    return torch


def hook_that_looks(torch: Any, register: Callable) -> Callable:
    """``register_hook`` that asks for the node first: PyTorch crashes where a view was written to since then."""

    @wraps(register)
    def looking(self: Any, hook: Callable) -> Any:
        with torch._C.DisableTorchFunction():
            attempt(lambda: self.grad_fn)
        return register(self, hook)

    looking.looks = True  # type: ignore[attr-defined]
    return looking


QUICK = ("at once", "deferred")
"""Modes that compile nothing but kernels; in the others fewer smaller programs are tried."""


ENDLESS = re.compile(r"(\w)\.register_hook\(.*\b\1\b(?!\.detach|\.grad\b).*backward\(")
"""A hook that runs backward through its own tensor: PyTorch starts threads for that until none are left."""


@dataclass
class Group:
    """Programs that differ for one reason, as far as can be told.

    Attributes:
        mode, key: where, and how they differ.
        program: the smallest that is known.
        what: both sides, to read.
        seeds: which programs they were.
        left: why it is left as it is, if it is.
    """

    mode: str
    key: str
    program: str
    what: str
    seeds: list[str] = field(default_factory=list)
    left: str | None = None

    def text(self) -> str:
        """To be pasted into a shell."""
        told = "\n".join(f"# {line}" for line in f"{self.mode}: {self.what}".splitlines())
        return f"{told}\n{runnable(self.program)}"


class Hunt:
    """A run of the machine.

    Attributes:
        module: the right one.
        groups: what was found, by key.
        tell: is told each program before it is run.
        drawn: how many programs there were; ``runs`` counts them by mode, ``differing`` those that differ.
        features: how many programs draw from a feature; ``differ_by``, ``left_by``: how many of these differ, and how
            many in a way that is left as it is.
    """

    def __init__(self, module: Any, only: frozenset[str] = frozenset(), shrink: int = 160) -> None:
        self.module, self.only, self.shrink = module, only, shrink
        self.groups: dict[str, Group] = {}
        self.known: dict[str, list[Group]] = {}
        self.drawn = self.differing = 0
        self.tell: Callable[[str, str], None] = lambda seed, text: None
        self.runs: Counter[str] = Counter()
        self.features, self.differ_by, self.left_by = Counter[str](), Counter[str](), Counter[str]()

    def kept(self) -> dict[str, Any]:
        """What was found so far, to go on with in another process."""
        return {name: item for name, item in vars(self).items() if name not in ("module", "only", "shrink", "tell")}

    def found(self, kept: dict[str, Any]) -> None:
        """Go on with what another process has found."""
        vars(self).update(kept)

    def program(self, seed: str) -> str:
        """The program of a seed."""
        return self.draw(seed).text

    def draw(self, seed: str) -> Drawn:
        """The program of a seed, and what it draws from."""
        return draw(self.module, Random(seed), self.only)

    def examine(self, seed: str) -> Group | None:
        """Draw one program and run it in every mode; the group that it belongs to, if it differs."""
        self.drawn += 1
        try:
            text, features = self.draw(seed)
        except Exception as error:  # whatever it is: a long run goes on
            return self.put(seed, "drawing", "", machine_fault("", error))
        self.features.update(features)
        self.tell(seed, text)
        group = self.compare(seed, text)
        if group is not None:
            self.differing += 1
            (self.differ_by if group.left is None else self.left_by).update(features)
        return group

    def compare(self, seed: str, text: str) -> Group | None:
        """Run a program in the modes that its seed says; the group that it belongs to, if it differs."""
        for mode in modes_of(seed):
            run, _ = MODES[mode]
            self.runs[mode] += 1
            found = examined(run, self.module, text)
            if found is not None:
                return self.put(seed, mode, text, found)
        return None

    def put(self, seed: str, mode: str, text: str, found: Difference) -> Group:
        """Find the group of a program that differs, or make one."""
        coarse = f"{mode}: {found.key}: {calls_in(found.statement)}"
        known = self.known.setdefault(coarse, [])
        if len(known) >= 2:
            known[-1].seeds.append(seed)
            return known[-1]
        hurry = 1 + 2 * len(known) + len(self.groups) // 60
        program, found = (text, found) if mode == "drawing" else self.shrunk(mode, text, found, hurry)
        key = f"{mode}: {found.key}: {calls_in(program)}"
        left = left_out(program, found) or self.jumps(program, found)
        group = self.groups.setdefault(key, Group(mode, found.key, program, found.what, left=left))
        if len(program) < len(group.program):
            group.program, group.what = program, found.what
        group.seeds.append(seed)
        known.append(group)
        return group

    def jumps(self, program: str, found: Difference) -> str | None:
        """Why programs need not agree, if they need not. See Note [Tolerances]."""
        return "at a jump" if at_a_jump(self.module, program, found.kind) else None

    def shrunk(self, mode: str, text: str, found: Difference, hurry: int = 1) -> tuple[str, Difference]:
        """The program made small, and how that differs. ``hurry``: by how much fewer tries."""
        run = partial(examined, MODES[mode][0])
        last = [found]

        def still(candidate: str) -> bool:
            if ENDLESS.search(candidate):
                return False
            other = run(self.module, candidate)
            same = other is not None and other.key == found.key
            if same and other is not None:
                last[0] = other
            return same

        return smallest(text, still, self.shrink // (hurry if mode in QUICK else 3 * hurry)), last[0]


def examined(run: Callable, module: Any, text: str) -> Difference | None:
    """Run a program in a mode; that the machine itself fails is a difference, too."""
    try:
        return run(module, text)
    except Exception as error:  # whatever it is: a long run goes on
        return machine_fault(text, error)


def machine_fault(text: str, error: Exception) -> Difference:
    """What is told of an error of the machine's own."""
    place = "".join(traceback.format_tb(error.__traceback__)[-2:])
    return Difference("machine", text, f"{error!r}\n{place}", f"machine: {type(error).__name__}")


def calls_in(program: str) -> str:
    """The names that a program calls or reads of things, sorted: what it is about."""
    names = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Attribute) and node.attr not in ("tensor", "autograd", "func", "graph", "sum", "nn"):
            names.add(node.attr)
        elif isinstance(node, (ast.Subscript, ast.BinOp, ast.AugAssign, ast.With)):
            names.add(type(getattr(node, "op", node)).__name__)
    return " ".join(sorted(names))


def runnable(program: str) -> str:
    """A program with what it uses of the preamble."""
    needed: list[str] = []
    waiting = [name for name in HELPERS if re.search(rf"\b{name}\b", program)]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.append(name)
            source = ast.unparse(HELPERS[name])
            waiting += [other for other in HELPERS if other != name and re.search(rf"\b{other}\b", source)]
    helpers = "\n".join(ast.unparse(HELPERS[name]) for name in HELPERS if name in needed)
    lines = [f"import {name}" for name in ("random", "threading", "warnings") if f"{name}." in helpers]
    lines += ["import torch  # or: import tapegrad as torch"]
    lines += ["F = torch.nn.functional"] * ("F." in program) + ["forward_ad = torch.autograd.forward_ad"] * (
        "forward_ad." in program
    )
    lines += ["seen = []"] * ("seen" in helpers)
    return "\n".join([*lines, *filter(None, [helpers]), program])


def hunt(
    hunting: Hunt,
    seeds: Iterator[str],
    minutes: float | None = None,
    progress: Callable[[Hunt, str, Group | None], None] | None = None,
) -> Hunt:
    """Examine programs until there are no more seeds, or no more time."""
    end = None if minutes is None else time.monotonic() + 60 * minutes
    for seed in seeds:
        if end is not None and time.monotonic() > end:
            break
        group = hunting.examine(seed)
        if progress is not None:
            progress(hunting, seed, group)
    return hunting
