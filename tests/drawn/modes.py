"""The modes in which a program is run here, each beside the right module.

Note [Repeatable programs]
A program is compiled as a step: its first statements make leaves, the others are the body of a function that gives all
that they made. The function is called four times, with leaves made anew each time, or always with the same ones; the
same function is called as often on the right module. Programs that raise are not compiled: what a step leaves that
fails half-way is a matter of its own.

Note [What is compiled here]
To compile takes longer than all else. So a piece of what is deferred is compiled when it comes for the third time, in
any programs or in one that is run four times ("remembered"), and never before that because its kernels are new.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import inf
from random import Random
from typing import Any

import jax
import numpy as np

import tapegrad
from tapegrad._src.execution.programs import subprogram
from tapegrad._src.execution.recording.program import recording
from tapegrad.interop import to_jax

from .comparing import Difference, differences, first_difference, magnitudes, nudged
from .playing import HIDDEN, Account, Player, play, quiet, sentence, settle, statements

CALLS = 4
NUDGES = 8
"""How often leaves are changed a little: half of the changes may leave what was rounded on the same side of a jump."""


@lru_cache(maxsize=8)
def right(module: Any, text: str, watched: bool = True) -> Any:
    """What a run on the right module gives, which several modes are compared with."""
    return play(Player(module), text, watched)


def at_once(module: Any, text: str) -> Difference | None:
    """Computed at once, looked at after each statement. Without PyTorch that is what is right."""
    return None if module is tapegrad else first_difference(play(Player(tapegrad), text), right(module, text))


def deferred(module: Any, text: str) -> Difference | None:
    """Deferred, looked at in the end only."""
    return repeated(module, text, 1)


def remembered(module: Any, text: str) -> Difference | None:
    """Deferred, so often that what is deferred is compiled."""
    return repeated(module, text, CALLS)


def repeated(module: Any, text: str, times: int) -> Difference | None:
    watched = len(text) % 2 == 0
    expected = right(module, text, watched)
    with as_deferred():
        for _ in range(times):
            found = first_difference(play(Player(tapegrad), text, watched), expected)
            if found is not None:
                return found
    return None


@contextmanager
def as_deferred() -> Iterator[None]:
    """What is called here is deferred; what is left so is not run."""
    tapegrad.set_execution("deferred")
    before, subprogram.SECONDS_PER_SUBPROGRAM = subprogram.SECONDS_PER_SUBPROGRAM, inf  # Note [What is compiled here]
    try:
        yield
    finally:
        subprogram.SECONDS_PER_SUBPROGRAM = before
        recording.__init__()  # type: ignore[misc]
        tapegrad.set_execution("immediate")


# -- compiled ----------------------------------------------------------------------------------------------------------


def compiled(module: Any, text: str) -> Difference | None:
    """As a step that is compiled. See Note [Repeatable programs]."""
    program = step_of(module, text)
    if program is None:
        return None
    setup, step, fresh = program
    theirs = calls_of(module, setup, step, fresh, lambda function: function)
    if theirs is None:
        return None
    ours = calls_of(tapegrad, setup, step, fresh, lambda function: tapegrad.compile(function, fullgraph=False)) or []
    for number, pair in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(pair[0], str):
            return Difference("raised", f"step() # call {number}", pair[0], f"compiled: {pair[0][:60]}")
        scale = max([100.0, *magnitudes(pair[1])])
        for name in {**pair[1], **pair[0]}:
            values = pair[0].get(name, "nothing"), pair[1].get(name, "nothing")
            for where, what, key in differences(*values, name, scale):
                return Difference("compiled", f"step() # call {number}", f"{where}: {what}", f"compiled: {key}")
    return None


def calls_as_step(module: Any, text: str, wrap: Callable) -> list[Any] | None:
    """What can be seen of a program as a step, where it can be one."""
    program = step_of(module, text)
    return program and calls_of(module, *program, wrap)


def step_of(module: Any, text: str) -> tuple[str, str, bool] | None:
    """A program that doesn't raise as a step: see ``as_step``."""
    player = Player(module)
    if any(raised for _, raised, _ in play(player, text, watched=False)[0]):
        return None
    alone = len(text) % 5 > 0
    made = {
        name: f"{name}.detach().clone()" if alone and isinstance(item, module.Tensor) else name
        for name, item in sorted(player.pool.items())
    }
    return as_step(text, made)


MAKES_LEAF = re.compile(r"^\w = torch\.tensor\((?!.*requires_grad_\(\)\.clone)")


def as_step(text: str, made: dict[str, str]) -> tuple[str, str, bool] | None:
    """A program as the making of leaves, and a function ``step`` of them, which gives what the program made;
    and whether leaves are made for each call.

    Args:
        made: what the step gives, expressions by name: copies mostly, for a step that gives away a tensor with a
            history, or one that it shares, is run by Python each time.
    """
    body = ast.parse(text).body
    count = 0
    while count < len(body) and MAKES_LEAF.search(ast.unparse(body[count])):
        count += 1
    if not count or count == len(body):
        return None
    leaves = [ast.unparse(node.targets[0]) for node in body[:count]]  # type: ignore[attr-defined]
    inside = "\n".join(ast.unparse(node) for node in body[count:])
    fresh = len(text) % 3 > 0
    results = f"return {{{', '.join(f'{name!r}: {made[name]}' for name in made)}}}"
    if not fresh:  # leaves stay what they are, and what the body gives their names is its own
        again = {node.id for part in body[count:] for node in ast.walk(part) if isinstance(node, ast.Name)
                 and isinstance(node.ctx, (ast.Store, ast.Del))}  # fmt: skip
        fresh = bool(again & set(leaves))
    head = f"def step({', '.join(leaves) if fresh else ''}):"
    lines = "\n".join(f"    {line}" for line in f"{inside}\n{results}".splitlines())
    return "\n".join(ast.unparse(node) for node in body[:count]), f"{head}\n{lines}", fresh


def calls_of(module: Any, setup: str, step: str, fresh: bool, wrap: Callable) -> list[Any] | None:
    """What can be seen after each call of a step; None if the right module raises."""
    player = Player(module)
    settle(module)
    found: list[Any] = []
    with quiet():
        try:
            exec(setup, player.names)
            leaves = dict(player.pool)
            exec(step, player.names)
            function = wrap(player.names["step"])
            for _ in range(CALLS):
                player.names["seen"].clear()
                if fresh:
                    exec(setup, player.names)
                    leaves = player.pool
                given = function(*[leaves[name] for name in arguments_of(step)])
                settle(module)
                found.append(after_call(player, leaves, {**leaves, **given}))
        except Exception as error:
            if module is not tapegrad or function is player.names["step"]:
                return None
            found.append(f"{type(error).__name__}: {sentence(error)}")
    return found


def after_call(player: Player, leaves: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """What can be seen of leaves, of what a step gave, and of what hooks were given."""
    with player.module._C.DisableTorchFunctionSubclass():
        marks = {name: player.marks_of(item, (*HIDDEN, "grad_fn")) for name, item in result.items()}
        numbers = {name: player.numbers_of(item) for name, item in result.items()}
        grads = {f"{name}.grad": player.gradient(item.grad) for name, item in leaves.items()}
        kept = {"log": player.numbers_of(player.names["seen"]), "kept": player.kept()}
        return {"marks": marks, **numbers, **grads, **kept}


def arguments_of(step: str) -> list[str]:
    head = step.partition("(")[2].partition(")")[0]
    return [name.strip() for name in head.split(",") if name.strip()]


# -- jax ---------------------------------------------------------------------------------------------------------------


def by_jax(module: Any, text: str) -> Difference | None:
    """The gradients of the smooth functions of a program by our formulas, and by jax's: see ``smooth_program``."""
    if "def smooth(" not in text:
        return None
    player = Player(tapegrad)
    with quiet():
        for _, code in statements(text):
            if player.run(code) is not None:
                return None
        function, leaves = player.names["smooth"], [x for x in player.pool.values() if x.is_leaf and x.requires_grad]
        with jax.enable_x64(True):
            arrays = [x.detach().numpy() for x in leaves]
            theirs = jax.grad(to_jax(function), argnums=tuple(range(len(leaves))))(*arrays)
        ours = tapegrad.autograd.grad(function(*leaves), leaves, materialize_grads=True)
    scale = max(1.0, *magnitudes([np.asarray(g) for g in theirs]))
    for pair in zip(ours, theirs, strict=True):
        for where, what, key in differences(pair[0].numpy(), np.asarray(pair[1]), "gradient", scale):
            return Difference("jax", text, f"{where}: {what}", f"jax: {key}")
    return None


def at_a_jump(module: Any, text: str, kind: str) -> bool:
    """Whether the right module itself differs so for leaves that differ a little: see Note [Tolerances]."""
    once = play(Player(module), text)
    for seed in range(NUDGES):
        other = play(Player(module), nudged(text, seed))
        found = first_difference((renumbered(once[0], other[0]), other[1]), once)
        if found is not None and (found.kind == kind or kind == "compiled"):
            return True
    return False


def renumbered(account: Account, other: Account) -> Account:
    """What happened in a run, beside the statements of another."""
    return [(source, *seen) for (source, *_), (_, *seen) in zip(account, other, strict=True)]  # type: ignore[misc]


MODES: dict[str, tuple[Callable[[Any, str], Difference | None], int]] = {
    "at once": (at_once, 1), "deferred": (deferred, 1), "remembered": (remembered, 12), "compiled": (compiled, 8),
    "jax": (by_jax, 3),
}  # fmt: skip
"""What runs a program; and of how many programs one is run so."""


def modes_of(seed: str) -> list[str]:
    """In which modes the program of a seed is run."""
    chances = Random(f"modes {seed}")
    return [mode for mode, (_, one_of) in MODES.items() if not chances.randrange(one_of)]
