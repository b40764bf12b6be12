"""Run the same short program on tapegrad and on PyTorch, and compare what a user can see.

A program is a function of the module (``torch``) and some tensors::

    same(lambda torch, x, y: torch.atan2(x, y).sum(0), A, B)

``same`` compares values, dtypes, shapes, ``requires_grad``, the name of ``grad_fn``, gradients and second-order ones;
``same_error`` compares the type and the text of the exception. ``agree`` compares what a longer program says it saw.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch as pytorch

import tapegrad

pytorch.set_num_threads(1)  # of several writes to one place the last is then always the same


def leaf(torch: Any, *values: Any, **options: Any) -> Any:
    """A leaf of one value as ``torch.tensor`` takes it, of several numbers in a row, or of 1, 2 and 3."""
    return torch.tensor(values[0] if len(values) == 1 else values or (1.0, 2.0, 3.0), requires_grad=True, **options)


def tensors(module: Any, inputs: Sequence[Any], grads: bool) -> list[Any]:
    """The inputs as tensors of a module; floating and complex ones require grad. Non-arrays stay as they are."""
    made = []
    for item in inputs:
        if isinstance(item, np.ndarray):
            made.append(module.tensor(item.tolist(), dtype=getattr(module, item.dtype.name)).reshape(item.shape))
            if grads and item.dtype.kind in "fc":
                made[-1] = made[-1].detach().requires_grad_()
        else:
            made.append(item)
    return made


def to_numpy(value: Any) -> Any:
    """Tensors as arrays (bfloat16 as float32, complex32 as complex64); structures and plain values as they are."""
    if isinstance(value, (pytorch.Tensor, tapegrad.Tensor)):
        value = value.detach()
        module = pytorch if isinstance(value, pytorch.Tensor) else tapegrad
        if module is pytorch and value._is_zerotensor():
            value = pytorch.zeros(value.shape, dtype=value.dtype)
        value = value.resolve_neg() if module is pytorch else value
        wide = {module.bfloat16: module.float32, module.complex32: module.complex64}.get(value.dtype)
        return (value if wide is None else value.to(wide)).resolve_conj().numpy()
    if isinstance(value, (tuple, list)):
        return [to_numpy(item) for item in value]
    return value


def flat_outputs(value: Any) -> list[Any]:
    if isinstance(value, (pytorch.Tensor, tapegrad.Tensor)):
        return [value]
    if isinstance(value, (tuple, list)):
        return [item for part in value for item in flat_outputs(part)]
    return []


def describe(value: Any) -> Any:
    """What can be seen of a result apart from its numbers."""
    if isinstance(value, (pytorch.Tensor, tapegrad.Tensor)):
        name = value.grad_fn.name() if value.grad_fn is not None else None
        return (str(value.dtype).split(".")[-1], tuple(value.shape), value.requires_grad, name)
    if isinstance(value, (tuple, list)):
        return [describe(item) for item in value]
    return (type(value).__name__, value)


def run(module: Any, program: Callable, inputs: Sequence[Any], grads: bool, second: bool, names: bool) -> dict:
    """Run a program on one module and collect all that is compared."""
    given = tensors(module, inputs, grads)
    result = program(module, *given)
    seen: dict[str, Any] = {"values": to_numpy(result), "kind": describe(result)}
    if not names:
        seen["kind"] = [part[:3] for part in map(describe, flat_outputs(result))]
    leaves = [x for x in given if isinstance(x, module.Tensor) and x.requires_grad]
    outputs = [out for out in flat_outputs(result) if out.requires_grad]
    if not (grads and leaves and outputs):
        return seen
    rng = np.random.default_rng(0)

    def cotangent(out: Any) -> Any:
        values = rng.uniform(0.5, 1.5, tuple(out.shape))
        if out.dtype.is_complex:
            values = values + 1j * rng.uniform(-1.5, -0.5, tuple(out.shape))
        return module.tensor(values.tolist(), dtype=out.dtype).reshape(out.shape)

    seeds = [cotangent(out) for out in outputs]
    first = module.autograd.grad(outputs, leaves, seeds, create_graph=second, allow_unused=True)
    seen["grads"] = [to_numpy(g) for g in first]
    if second:
        differentiable = [g for g in first if g is not None and g.requires_grad]
        if differentiable:
            seeds = [cotangent(g) for g in differentiable]
            twice = module.autograd.grad(differentiable, leaves, seeds, allow_unused=True, materialize_grads=True)
            seen["second"] = [to_numpy(g) for g in twice]
        else:
            seen["second"] = [np.zeros(x.shape) for x in to_numpy(leaves)]
    return seen


def identical(ours: Any, theirs: Any) -> bool:
    """Whether two things, lists aside, are known to be the same to the last bit: quicker than whether they are close.

    >>> identical(np.zeros(2), np.zeros(2)), identical(np.zeros(2), np.zeros(2, "int64")), identical(1.0, 1)
    (True, False, False)
    """
    if type(ours) is not type(theirs) or isinstance(theirs, list):
        return False
    if isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()
    return ours == theirs


def close(ours: Any, theirs: Any, rtol: float, atol: float, where: str) -> None:
    if isinstance(theirs, list):
        assert isinstance(ours, list) and len(ours) == len(theirs), f"{where}: {ours}, expected {theirs}"
        for position, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if not identical(a, b):
                close(a, b, rtol, atol, f"{where}[{position}]")
    elif isinstance(theirs, np.ndarray):
        assert ours is not None, f"{where}: tapegrad gives None"
        assert ours.dtype == theirs.dtype, f"{where}: dtype {ours.dtype}, expected {theirs.dtype}"
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True, err_msg=where, strict=True)
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True, err_msg=where)
    else:
        assert ours == theirs, f"{where}: {ours!r}, expected {theirs!r}"


def same(
    program: Callable, *inputs: Any, grads: bool = True, second: bool = True, names: bool = True,
    rtol: float = 1e-7, atol: float = 1e-9,
) -> None:  # fmt: skip
    """Assert that a program does the same on tapegrad as on PyTorch."""
    theirs = run(pytorch, program, inputs, grads, second, names)
    ours = run(tapegrad, program, inputs, grads, second, names)
    assert ours["kind"] == theirs["kind"], f"kind: {ours['kind']}, expected {theirs['kind']}"
    for key in ("values", "grads", "second"):
        assert (key in ours) == (key in theirs), key
        if key in theirs:
            close(ours[key], theirs[key], rtol, atol, key)


def sentence(error: Exception) -> str:
    """The text of an exception up to what tapegrad adds to PyTorch's: Note [Where] in ``tape/positions.py``."""
    return str(error).partition("\nWhere:\n")[0]


def same_error(program: Callable, *inputs: Any, match: str | None = None) -> None:
    """Assert that a program raises the same on both: the type, and the text (or only the part given by ``match``)."""
    caught = []
    for module in (pytorch, tapegrad):
        try:
            program(module, *tensors(module, inputs, grads=True))
        except Exception as error:  # what it raises is what is compared
            caught.append(error)
        else:
            raise AssertionError(f"{module.__name__} raised nothing")
    theirs, ours = caught
    assert type(ours).__name__ == type(theirs).__name__, f"{ours!r}, expected {theirs!r}"
    if match is None:
        assert sentence(ours) == str(theirs)
    else:
        assert match in str(theirs), f"PyTorch says: {theirs}"
        assert match in str(ours), f"tapegrad says: {ours}"


def told(value: Any) -> Any:
    """A program's account of what it saw, in terms that both modules share."""
    if isinstance(value, (pytorch.Tensor, tapegrad.Tensor)):
        return ["tensor", to_numpy(value), *describe(value)]
    if isinstance(value, dict):
        return [[key, told(item)] for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return [told(item) for item in value]
    return value if isinstance(value, (bool, int, float, complex, str, type(None))) else type(value).__name__


def attempt(action: Callable[[], Any]) -> Any:
    """What an action gives, or the type and the text of what it raises."""
    try:
        return action()
    except Exception as error:  # what it raises is what is compared
        return ["raised", type(error).__name__, sentence(error)]


@contextlib.contextmanager
def recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """All warnings that are given, but for JAX's where another process is writing what it wants to read."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "Error reading persistent compilation cache entry")
        yield caught


def warned(action: Callable[[], Any]) -> list[list[str]]:
    """The warnings that an action gives: category and first line, without the place in PyTorch's source."""
    with recorded_warnings() as caught:
        action()
    lines = [str(item.message).splitlines()[0].split(" (Triggered internally")[0] for item in caught]
    return [[item.category.__name__, line] for item, line in zip(caught, lines, strict=True)]


def watching_class(torch: Any, calls: list[str]) -> type:
    """A class of tensors that puts the name of each function called with them into a list."""

    class Watching(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            calls.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    return Watching


def agree(program: Callable[[Any], Any], rtol: float = 1e-6, atol: float = 1e-9) -> None:
    """Assert that a program, a function of the module only, gives the same account on tapegrad as on PyTorch."""
    theirs, ours = told(program(pytorch)), told(program(tapegrad))
    close(ours, theirs, rtol, atol, "account")


class Programs(list):
    """A list that collects programs, functions of the module which tell what they saw, as a decorator::

        PROGRAMS = program = Programs()

        @program
        def an_example(torch): ...
    """

    def __call__(self, function: Callable) -> Callable:
        self.append(function)
        return function
