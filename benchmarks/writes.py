"""Views and writes: what PyTorch does by changing memory, and JAX by making another array.

Each program starts from the same numbers, does ``TIMES`` writes or reads, and returns the result as an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

TIMES = 64
WIDTH = 16

Run = Callable[[], np.ndarray]


def data() -> dict[str, np.ndarray]:
    """A matrix of TIMES rows, and a row, with which it neither grows nor shrinks much."""
    rng = np.random.default_rng(0)
    return {
        "matrix": rng.standard_normal((TIMES, WIDTH)).astype("float32"),
        "row": np.full(WIDTH, 1.0001, "float32"),
    }


def in_place(torch: Any, x: Any, row: Any) -> Any:
    """One row added to all others, again and again."""
    for _ in range(TIMES):
        x.add_(row)
    return x


def assigned(torch: Any, x: Any, row: Any) -> Any:
    """A row put in place of each."""
    for i in range(TIMES):
        x[i] = row
    return x


def scaled(torch: Any, x: Any, row: Any) -> Any:
    """A view made of each row, read, and written through."""
    for i in range(TIMES):
        x[i].mul_(row)
    return x


def read(torch: Any, x: Any, row: Any) -> Any:
    """A view of memory that has been written to, read again and again, while nothing changes."""
    x.add_(row)
    view = x[3]
    for _ in range(TIMES):
        result = view * row
    return result


def recorded(torch: Any, x: Any, row: Any) -> Any:
    """Each row computed and put into a result, and the gradient of that: TIMES CopySlices in a row."""
    w = row.clone().requires_grad_()
    out = torch.zeros(TIMES, WIDTH)
    for i in range(TIMES):
        out[i] = w * x[i]
    out.backward(x)
    return w.grad


def filled(torch: Any, x: Any, row: Any) -> Any:
    """A buffer that NumPy fills, and a tensor on it that is computed with, again and again."""
    buffer, total = np.zeros((TIMES, WIDTH), "float32"), torch.zeros(())
    seen = torch.from_numpy(buffer)
    for i in range(TIMES):
        buffer[:] = 0.01 * i
        total = total + (seen * row).sum()
    return total


def _added(x: Any, row: Any) -> Any:
    for _ in range(TIMES):
        x = x + row
    return x


def _assigned(x: Any, row: Any) -> Any:
    for i in range(TIMES):
        x = x.at[i].set(row)
    return x


def _scaled(x: Any, row: Any) -> Any:
    for i in range(TIMES):
        x = x.at[i].multiply(row)
    return x


def _read(x: Any, row: Any) -> Any:
    view = (x + row)[3]
    for _ in range(TIMES):
        result = view * row
    return result


def _recorded(x: Any, row: Any) -> Any:
    def rows(w: Any) -> Any:
        out = jnp.zeros((TIMES, WIDTH))
        for i in range(TIMES):
            out = out.at[i].set(w * x[i])
        return out

    return jax.vjp(rows, row)[1](x)[0]


def _filled(x: Any, row: Any) -> Any:
    total = jnp.zeros(())
    for i in range(TIMES):
        total = total + (jnp.full((TIMES, WIDTH), 0.01 * i) * row).sum()
    return total


PROGRAMS: dict[str, tuple[Callable, Callable]] = {
    "x.add_(row)": (in_place, _added),
    "x[i] = row": (assigned, _assigned),
    "x[i].mul_(row)": (scaled, _scaled),
    "view * row, the view unchanged": (read, _read),
    "out[i] = w * x[i], and its backward": (recorded, _recorded),
    "(x * row).sum(), x filled by NumPy": (filled, _filled),
}
"""By title: the program in PyTorch's language, and what somebody writes in JAX, another array for each write."""


def program(torch: Any, title: str) -> Run:
    """The program for a module that speaks PyTorch's language."""
    function, arrays = PROGRAMS[title][0], data()

    def run() -> np.ndarray:
        x, row = (torch.tensor(array) for array in arrays.values())
        return function(torch, x, row).numpy()

    return run


def jax_program(title: str, *, compiled: bool) -> Run:
    """The program in JAX, one call at a time or compiled whole."""
    function, arrays = PROGRAMS[title][1], data()
    function = jax.jit(function) if compiled else function
    return lambda: np.asarray(function(*(jnp.asarray(array) for array in arrays.values())))
