"""What is seen of a program after a call, and how two of them differ.

Exact types count: a number that isn't the user's own must never be found in what is theirs. Numbers that were computed
are compared up to rounding, also in texts. Things that are met again are said to be the same.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import itertools
import os
import random
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tapegrad as torch

LONE = (bool, int, float, complex, str, bytes, type(None))
OPAQUE = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, type, types.GeneratorType)


def name_of(kind: type) -> str:
    """The name of a class, from where it was written."""
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__qualname__}"


def seen(thing: Any, met: dict[int, Any] | None = None) -> tuple:
    """What a user can see of a thing: the name of its class, and what it has, down to numbers and arrays."""
    met = {} if met is None else met
    kind = type(thing)
    if kind in LONE or kind is Elements:
        return kind.__name__, thing
    if id(thing) in met:
        return "again", list(met).index(id(thing))
    if not isinstance(thing, (*OPAQUE, tuple, frozenset, np.generic)):  # nobody sees whether these are the same ones
        met[id(thing)] = thing
    for kinds, parts in PARTS:
        if isinstance(thing, kinds):
            return name_of(kind), [(name, seen(part, met)) for name, part in parts(thing)]
    if isinstance(thing, OPAQUE):
        return name_of(kind), getattr(thing, "__qualname__", getattr(thing, "__name__", ""))
    return name_of(kind), [(name, seen(part, met)) for name, part in of_object(thing)]


def of_tensor(tensor: Any) -> Iterator[tuple[str, Any]]:
    """What a tensor is and has."""
    yield "elements", np.array(tensor.detach().cpu().numpy()) if tensor.dtype != torch.bfloat16 else str(tensor)
    node = None if tensor.grad_fn is None else type(tensor.grad_fn).__name__
    yield "marks", (str(tensor.dtype), tensor.requires_grad, tensor.is_leaf, tensor.is_inference(), node)
    if tensor.is_leaf and tensor.grad is not None:
        yield "grad", tensor.grad
    yield from ((key, value) for key, value in vars(tensor).items() if not key.startswith("_"))


def of_module(module: Any) -> Iterator[tuple[str, Any]]:
    """The parameters, buffers and attributes of a module; of those inside it their modes, and the user's attributes."""
    yield from module.named_parameters()
    yield from module.named_buffers()
    for path, inner in module.named_modules():
        own = {key: value for key, value in vars(inner).items() if not key.startswith("_")}
        plain = type(inner).__module__.startswith(("tapegrad.", "torch."))
        kept = ("training",) if plain else [key for key in own if not isinstance(own[key], torch.nn.Module)]
        yield from ((f"{path}.{key}", own[key]) for key in kept)


def of_optimizer(optimizer: Any) -> Iterator[tuple[str, Any]]:
    """The groups without their parameters, and the state of each parameter, in order."""
    for number, group in enumerate(optimizer.param_groups):
        yield f"group {number}", {key: value for key, value in group.items() if key != "params"}
        for position, parameter in enumerate(group["params"]):
            yield f"state {number}.{position}", dict(optimizer.state.get(parameter, {}))


def of_object(thing: Any) -> Iterator[tuple[str, Any]]:
    """Attributes and slots."""
    for base in type(thing).__mro__:
        for name, value in vars(base).items():
            if isinstance(value, types.MemberDescriptorType) and hasattr(thing, name):
                yield name, getattr(thing, name)
    yield from getattr(thing, "__dict__", {}).items()


def of_dict(thing: Any) -> Iterator[tuple[str, Any]]:
    for number, (key, value) in enumerate(thing.items()):
        yield f"key {number}", key
        yield f"[{key!r}]", value


def items(thing: Any) -> Iterator[tuple[str, Any]]:
    return ((f"[{number}]", one) for number, one in enumerate(thing))


PARTS: list[tuple[Any, Callable[[Any], Any]]] = [
    (torch.nn.Module, of_module),
    (torch.optim.Optimizer, of_optimizer),
    (torch.Tensor, of_tensor),
    (torch.Generator, lambda one: [("state", one.get_state())]),
    (torch.Size, items),
    (np.ndarray, lambda one: [("dtype", str(one.dtype)), ("elements", Elements(one.copy()))]),
    (np.generic, lambda one: [("", one.item())]),
    (np.random.Generator, lambda one: [("state", repr(one.bit_generator.state))]),
    (np.random.RandomState, lambda one: [("state", repr(one.get_state()))]),
    (random.Random, lambda one: [("state", hash(one.getstate()))]),
    (itertools.count, lambda one: [("", repr(one))]),
    (enum.Enum, lambda one: [("name", one.name)]),
    (dict, of_dict),
    ((list, tuple, collections.deque), items),
    ((set, frozenset), lambda one: [("", item) for item in sorted(one, key=repr)]),
    (BaseException, lambda one: [("text", str(one))]),
]
"""What there is to see of instances of some classes: pairs of a name and something."""


@dataclasses.dataclass(eq=False)
class Elements:
    """An array that is compared up to rounding."""

    array: np.ndarray


class Differs(AssertionError):
    """Two things that were seen differ."""


def agree(ours: Any, plain: Any, where: str, rtol: float) -> None:
    """Compare what was seen.

    Raises:
        Differs: it says where, and what was expected.
    """
    if ours[0] != plain[0]:
        raise Differs(f"{where} is a {ours[0]} {briefly(ours[1])}, expected a {plain[0]} {briefly(plain[1])}")
    if isinstance(ours[1], list):
        if [name for name, _ in ours[1]] != [name for name, _ in plain[1]]:
            missing = [name for name, _ in plain[1]]
            raise Differs(f"{where} has {[name for name, _ in ours[1]]}, expected {missing}")
        for (name, mine), (_, its) in zip(ours[1], plain[1], strict=True):
            agree(mine, its, f"{where}{name if name[:1] == '[' else '.' + name}", rtol)
    elif not alike(ours[1], plain[1], rtol):
        raise Differs(f"{where} is {briefly(ours[1])}, expected {briefly(plain[1])}")


def briefly(thing: Any) -> str:
    """So much of it that one sees what it is."""
    thing = thing.array if isinstance(thing, Elements) else thing
    text = " ".join(repr(thing).split())
    return text if len(text) < 160 else f"{text[:160]}..."


def alike(mine: Any, its: Any, rtol: float) -> bool:
    """Whether numbers are the same up to rounding, and all else exactly."""
    if isinstance(its, Elements):
        a, b = mine.array, its.array
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return np.array_equal(a, b) if b.dtype.kind not in "fc" else np.allclose(a, b, rtol, rtol / 5, equal_nan=True)
    if isinstance(its, float | complex):
        return bool(np.isclose(mine, its, rtol, rtol / 5, equal_nan=True))
    if isinstance(its, str):
        return mine == its or alike_texts(mine, its, rtol)
    return mine == its


DECIMAL = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")


def alike_texts(mine: str, its: str, rtol: float) -> bool:
    """Whether texts differ in the last digits of numbers only."""
    if DECIMAL.split(mine) != DECIMAL.split(its):
        return False
    for a, b in zip(DECIMAL.findall(mine), DECIMAL.findall(its), strict=True):
        if unit(a) != unit(b) and max(unit(a), unit(b)) > 1e-5:  # rounded to so many places, which are others
            return False
        if abs(float(a) - float(b)) > rtol * abs(float(b)) + 1.5 * unit(b):
            return False
    return True


def unit(number: str) -> float:
    """What the last digit of a decimal stands for."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def surroundings() -> dict[str, Any]:
    """The state of generators, settings and modes, and what lies in the working directory."""
    files = {}
    for folder, _, names in sorted(os.walk(".")):
        files |= {os.path.join(folder, name): contents(os.path.join(folder, name)) for name in sorted(names)}
    return {
        "torch random": torch.get_rng_state(), "numpy random": repr(np.random.get_state()),
        "random": hash(random.getstate()), "settings": settings(), "files": files,
        "environment": {key: value for key, value in os.environ.items() if key.startswith("STEP_")},
    }  # fmt: skip


def contents(path: str) -> Any:
    """The lines of a text; of what is written in binary only that it is there."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode().splitlines()
    except UnicodeDecodeError:
        return "binary"


def settings() -> dict[str, Any]:
    """What programs can set."""
    return {
        "grad enabled": torch.is_grad_enabled(), "dtype": str(torch.get_default_dtype()),
        "threads": torch.get_num_threads(), "precision": torch.get_float32_matmul_precision(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "benchmark": torch.backends.cudnn.benchmark, "inference": torch.is_inference_mode_enabled(),
        "errors": repr(np.geterr()), "printing": str(torch.tensor(1 / 3)),
    }  # fmt: skip
