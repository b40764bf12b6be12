"""Sample inputs for every operator of the table. ``tests/ops/test_every_op.py`` runs all oracles over them.

Each family of operators has a file with a list ``SAMPLES``, and, where operators have kinks, a table ``KINKS``. Arrays
are shared and small (shapes such as (2, 3), (3,), (1, 3), (), (0, 3)), so that compiled kernels are shared too.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """One call of an operator of the table, on NumPy arrays.

    Attributes:
        op: the operator's name in ``tapegrad.ops.operator.TABLE``.
        args: float64/complex128/integer/bool arrays, Python scalars, or None for an absent optional.
        settings: the operator's keyword settings.
        smooth: whether every differentiable input is away from kinks, so that finite differences apply.
        second: whether second derivatives are checked by finite differences too.
        twice: whether there is a second derivative (otherwise it must raise, as PyTorch does).
        forward: whether forward mode is expected to work (otherwise it must raise, naming the operator).
        oracle: an array function to differentiate with ``jax.vjp`` instead of the kernel itself, where the kernel's own
            jax derivative is not the convention wanted; it is called as the kernel is, ``oracle(*arrays, **settings)``.
            None for the kernel.
        derivable: False where PyTorch records the operator but has no derivative: backward and forward mode must raise.
        constants: names of floating inputs which have no formula, though the result depends on them, as in PyTorch.
        directions: what makes of random tangents and cotangents such as the operator is made for: Hermitian tangents of
            a Hermitian matrix, cotangents of eigenvectors that don't ask for their phases. It is called
            ``directions(outputs, tangents, cotangents)``, with the kernel's outputs, and gives both. None: any.
        note: what is special about it, shown in the test's id.
    """

    op: str
    args: tuple[Any, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    smooth: bool = True
    second: bool = True
    twice: bool = True
    forward: bool = True
    oracle: Any = None
    derivable: bool = True
    constants: tuple[str, ...] = ()
    directions: Any = None
    note: str = ""

    def __str__(self) -> str:
        settings = ",".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{self.op}({','.join(map(_shown, self.args))}{';' if settings else ''}{settings}){self.note}"


def _shown(arg: Any) -> str:
    if not isinstance(arg, np.ndarray):
        return repr(arg)
    shape = "x".join(map(str, arg.shape)) or "0d"
    return shape if arg.dtype == np.float64 else f"{shape}{arg.dtype.kind}"


def array(*shape: int, low: float = -2.0, high: float = 2.0, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    """A reproducible array of distinct numbers, away from zero and from one another, between ``low`` and ``high``."""
    count = int(np.prod(shape, dtype=int))
    generator = np.random.default_rng(seed + 97 * count)
    values = np.linspace(low, high, 2 * count + 3)[1:-1:2][:count] + 0.01 * (high - low) / max(count, 1)
    values = generator.permutation(values).reshape(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.permutation(values.ravel()).reshape(shape) if shape else values + 0.5j
    return np.asarray(values, dtype)


def families() -> dict[str, ModuleType]:
    """The modules of all families, by their names."""
    names = sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - {"__init__"})
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}


def all_samples() -> Iterator[Sample]:
    """The samples of all families."""
    for family in families().values():
        yield from family.SAMPLES
