"""Calls as they are made, so that they leave shape classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tapegrad as torch
from tapegrad._src.dispatch import shape_class
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.shape_class import ShapeClasses
from tapegrad._src.shipping.calls import LENGTHS, SAME, Specimen, calls
from tapegrad.ops.operator import TABLE


def run() -> dict[str, str]:
    """Make all calls at all shapes; what can't be made, and why."""
    shape_class.MOST_CLASSES, shape_class.MOST_TRIED = 1 << 10, 1 << 12
    torch.execution.set_cache_limit(entries=1 << 24, bytes=1 << 40)
    failed: dict[str, str] = {}
    fixed()
    few_symbols()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, call in enumerate(calls()):
            for same in variants(call):
                for lengths in LENGTHS:
                    try:
                        made(call, same, lengths, number)
                    except Exception as error:  # a shape that does not fit this call
                        failed[f"{call.code} {same}"] = f"{type(error).__name__}: {error}"
                forget_examples()
    return failed


def variants(call: Specimen) -> Iterator[dict[str, str]]:
    """Which letters are other ones, as far as that makes a difference."""
    names = {letter for name, shape in call.shapes.items() if used(name, call.code) for letter in shape}
    most = max(map(len, call.shapes.values()), default=0)
    for same in SAME[: len(SAME) if len(call.shapes) > 3 else 4 if most < 4 else 1]:
        if all(letter in names and (other in names or other == "1") for letter, other in same.items()):
            yield same


def used(name: str, code: str) -> bool:
    """Tell whether an expression names something."""
    return name in compile(code, "call", "eval").co_names


def made(call: Specimen, same: dict[str, str], lengths: dict[str, int], seed: int) -> None:
    """Make a call."""
    rng = np.random.default_rng(seed)
    sizes = {letter: lengths[same.get(letter, letter)] if same.get(letter) != "1" else 1 for letter in lengths}
    scope: dict[str, Any] = {"t": torch, "F": torch.nn.functional, **sizes}
    scope["r"] = 0.03 * lengths["a"]
    code = compile(call.code, call.code, "eval")
    leaves = []
    for name in code.co_names:
        if name in call.shapes:
            shape = [int(one) if one.isdigit() else sizes[one] for one in call.shapes[name]]
            scope[name] = argument(name, shape, sizes, rng)
            if scope[name].is_floating_point():
                leaves.append(scope[name].requires_grad_())
    output = eval(code, scope)
    if isinstance(output, torch.Tensor) and output.requires_grad:
        twice(leaves, output)


def argument(name: str, shape: Sequence[int], sizes: dict[str, int], rng: np.random.Generator) -> Any:
    """A tensor for a name: see ``Specimen``."""
    if name[0] == "i":
        return torch.tensor(rng.permutation(shape[0]))
    if name in ("j", "j1", "j0"):
        return torch.tensor(rng.integers(0, shape[name == "j1"], shape))
    if name == "k":
        return torch.tensor(rng.integers(0, sizes["b"], shape))
    if name == "d":
        found = rng.standard_normal(shape)
        return torch.tensor((found @ found.T + np.diag(np.arange(1.0, len(found) + 1))).astype("float32"))
    numbers = rng.uniform(0.5, 1.5, shape) if name == "y" else rng.standard_normal(shape)
    return torch.tensor(np.asarray(numbers, "float32"))


def twice(leaves: Sequence[Any], output: Any) -> None:
    """Differentiate by kernels, then by operators, and differentiate what comes out of these."""
    torch.autograd.grad(output, leaves, torch.ones_like(output), retain_graph=True, allow_unused=True)
    grads = torch.autograd.grad(output, leaves, torch.ones_like(output), create_graph=True, allow_unused=True)
    again = [grad for grad in grads if grad is not None and grad.requires_grad]
    if again:
        torch.autograd.grad(again, leaves, [torch.ones_like(grad) for grad in again], allow_unused=True)


def forget_examples() -> None:
    """Have what comes next compared with nothing before it."""
    for op in TABLE.values():
        for known in op.calls.classes.values():
            known.examples = []


def few_symbols() -> None:
    """Have small settings, as exponents are, never be symbols: other bits could come of it."""
    pattern_of = shape_class.pattern_of

    def found(before: Sequence[Any], now: Sequence[Any], count: int, *others: Any) -> Any:
        pairs = zip(before[count:], now[count:], strict=True)
        moves = any(old != new and type(old) is int and min(old, new) < SMALL for old, new in pairs)
        return None if moves else pattern_of(before, now, count, *others)

    shape_class.pattern_of = found  # type: ignore[assignment]


SMALL = 6
"""All lengths but 1 are as large."""


def fixed() -> None:
    """Have shape classes without symbols made of calls without lengths but one."""
    make = ShapeClasses.made

    def making(known: ShapeClasses, op: OperatorLike, specs: tuple, settings: dict, numbers: Sequence[Any]) -> Any:
        found = make(known, op, specs, settings, numbers)
        if found is None and tuple(numbers) not in known.tried:
            count = sum(spec.ndim for spec in specs if isinstance(spec, shape_class.Spec))
            if all(number == 1 for number in numbers[:count]) and all(number < 4 for number in numbers[count:]):
                known.tried.add(tuple(numbers))
                made = known._made(op, specs, settings, tuple(numbers), [])
                if made is not None:
                    known.classes.append(made)
                    return shape_class.ClassBinding(made, ())
        return found

    ShapeClasses.made = making  # type: ignore[method-assign, assignment]
