"""tapegrad beside JAX: the same gradients, and how long a step takes."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad.demo import network


def jax_gradients(arrays: network.Arrays, pictures: np.ndarray, labels: np.ndarray) -> network.Arrays:
    """The gradients of ``jax.grad`` of the same function of the same numbers."""
    grads = jax.grad(network.jax_loss)(*jax_arguments(arrays, pictures, labels))
    return {name: np.asarray(grad) for name, grad in grads.items()}


def jax_arguments(arrays: network.Arrays, pictures: np.ndarray, labels: np.ndarray) -> tuple:
    """Parameters, pictures and labels as JAX arrays."""
    parameters = {name: jnp.asarray(array) for name, array in arrays.items()}
    return parameters, jnp.asarray(pictures), jnp.asarray(labels, jnp.int32)


def jax_step(arrays: network.Arrays, pictures: np.ndarray, labels: np.ndarray, lr: float) -> Callable[[], object]:
    """A step of gradient descent in eager JAX: ``jax.value_and_grad``, not compiled as a whole."""
    state, x, targets = jax_arguments(arrays, pictures, labels)

    def run() -> object:
        _, grads = jax.value_and_grad(network.jax_loss)(state, x, targets)
        for name, grad in grads.items():
            state[name] = state[name] - lr * grad
        return jax.block_until_ready(state)

    return run


def differences(ours: network.Arrays, theirs: network.Arrays) -> list[tuple[str, float, float, float]]:
    """For each parameter: its name, the largest gradient, and the largest difference, absolute and relative to that."""
    rows = []
    for name, grad in ours.items():
        largest = float(np.abs(theirs[name]).max())
        difference = float(np.abs(grad - theirs[name]).max())
        rows.append((name, largest, difference, difference / largest if largest else difference))
    return rows


def gradient_table(rows: list[tuple[str, float, float, float]]) -> str:
    """The differences as text."""
    lines = [f"{'parameter':16}{'shape':>18}{'largest |grad|':>16}{'abs. difference':>17}{'rel. difference':>17}"]
    for name, largest, absolute, relative in rows:
        shape = str(network.SHAPES[name])
        lines.append(f"{name:16}{shape:>18}{largest:16.3e}{absolute:17.1e}{relative:17.1e}")
    return "\n".join(lines)


def milliseconds(steps: dict[str, Callable[[], object]], *, rounds: int = 20, warmups: int = 2) -> dict[str, float]:
    """Median milliseconds of each step; they take turns, after all have warmed up."""
    for run in steps.values():
        for _ in range(warmups):
            run()
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, run in steps.items():
            start = perf_counter()
            run()
            taken[name].append(1e3 * (perf_counter() - start))
    return {name: median(times) for name, times in taken.items()}
