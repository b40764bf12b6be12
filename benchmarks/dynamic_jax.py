"""The dynamic programs as somebody would write them in JAX: padded and masked, settings as arguments, compiled once.

Where there is no such way, or XLA would compile for minutes, there is none here: trees, data-dependent results and
loops that are differentiated. Thousands of separate arrays are computed with one call at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dynamic_programs import fractions, numbers, ragged, rng, sequences, shapes, shuffled


def leaf(*shape: int, seed: int = 1) -> Any:
    """A parameter of small normal floats."""
    return jnp.asarray(0.3 * numbers(*shape, seed=seed))


def total(terms: list) -> Any:
    """The sum of gradients."""
    return jax.tree.map(lambda *each: sum(each), *terms)


# -- shapes ------------------------------------------------------------------------------------------------------------


def lengths(jax: Any, n: int) -> float:
    """Rows behind the length do not count."""
    x, weights = numbers(n, 8), [leaf(8, 8, seed=seed) for seed in (1, 2, 3)]

    @jax.jit
    @jax.grad
    def gradient(weights: list, x: Any, length: Any) -> Any:
        for w in weights:
            x = jnp.tanh(x @ w)
        return jnp.sum(x, where=jnp.arange(n)[:, None] < length) / (8 * length)

    return float(total([gradient(weights, x, length) for length in shuffled(n)])[0].sum())


def growing_cat(jax: Any, n: int) -> float:
    """Tokens that are still to come are masked."""
    x, w = numbers(n, 16), leaf(16, 16)

    @jax.jit
    @jax.grad
    def gradient(w: Any) -> Any:
        kept = x @ w
        scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), x @ kept.T, -jnp.inf)
        return (jax.nn.softmax(scores) @ kept).sum()

    return float(gradient(w).sum()) / n


def slices(jax: Any, n: int) -> float:
    """Elements outside do not count."""
    x, places = leaf(n), jnp.arange(n)

    @jax.jit
    @jax.grad
    def gradient(x: Any, start: Any, stop: Any) -> Any:
        return jnp.sum(x**2, where=(start <= places) & (places < stop))

    bounds = np.sort(rng().integers(0, n + 1, (n, 2))).tolist()
    return float(total([gradient(x, *bound) for bound in bounds]).sum())


def boolean_masks(jax: Any, n: int) -> float:
    """What is masked does not count."""
    x, noise = leaf(500), rng().random((n, 500)).astype("float32")
    gradient = jax.jit(jax.grad(lambda x, mask: jnp.sum(jnp.exp(x), where=mask)))
    thresholds = np.linspace(0.1, 0.9, n)
    return float(total([gradient(x, row > t) for row, t in zip(noise, thresholds, strict=True)]).sum()) / n


def batch_sizes(jax: Any, n: int) -> float:
    """Batches are padded."""
    parameters = [leaf(16, 8), leaf(16), leaf(3, 16)]
    x, labels = numbers(2 * n, 8), rng().integers(0, 3, 2 * n)

    @jax.jit
    def step(parameters: list, size: Any) -> tuple[list, Any]:
        def loss(parameters: list) -> Any:
            w, b, v = parameters
            scores = jax.nn.log_softmax(jax.nn.relu(x @ w.T + b) @ v.T)
            right = jnp.take_along_axis(scores, labels[:, None], 1)[:, 0]
            return -jnp.sum(right, where=jnp.arange(2 * n) < size) / size

        value, grads = jax.value_and_grad(loss)(parameters)
        return [p - 0.1 * g for p, g in zip(parameters, grads, strict=True)], value

    for size in shuffled(2 * n)[:n]:
        parameters, value = step(parameters, size)
    return float(value)


def double_backward(jax: Any, n: int) -> float:
    """Rows behind the length have no gradient."""
    x, w = numbers(n, 8), leaf(8, 8)

    @jax.jit
    @jax.grad
    def gradient(w: Any, length: Any) -> Any:
        inner = jax.grad(lambda rows: jnp.sum(jnp.tanh(rows @ w), where=jnp.arange(n)[:, None] < length))(x)
        return (jnp.sqrt(jnp.sum(inner**2)) - 1) ** 2

    return float(total([gradient(w, length) for length in shuffled(n)]).sum()) / n


def ragged_batches(jax: Any, n: int) -> float:
    """Sentences are padded."""
    parameters = [leaf(50, 8), leaf(8, 3)]

    @jax.jit
    @jax.grad
    def gradient(parameters: list, words: Any, counts: Any, labels: Any) -> Any:
        table, w = parameters
        mask = jnp.arange(12) < counts[:, None]
        rows = jnp.sum(table[words], 1, where=mask[:, :, None]) / counts[:, None]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(rows @ w), labels[:, None], 1))

    grads = []
    for sentences, labels in ragged(n):
        padded = np.stack([np.pad(words, (0, 12 - len(words))) for words in sentences])
        grads.append(gradient(parameters, padded, np.array([len(words) for words in sentences]), labels))
    table, w = total(grads)
    return float(table[:5].sum() + w[0, 0])


# -- settings ----------------------------------------------------------------------------------------------------------


def of_settings(settings: list, function: Callable[[Any, Any], Any]) -> float:
    """A setting is an argument like others."""
    x = leaf(100)
    gradient = jax.jit(jax.grad(lambda x, setting: function(x, setting).sum()))
    return float(total([gradient(x, setting) for setting in settings]).sum()) / len(settings)


def dropout(jax: Any, n: int) -> float:
    """The probability is an argument."""
    x, key = jnp.ones(1000), jax.random.key(0)

    @jax.jit
    @jax.grad
    def gradient(x: Any, key: Any, p: Any) -> Any:
        return jnp.sum(jnp.where(jax.random.bernoulli(key, 1 - p, x.shape), x / (1 - p), 0))

    scales = 0.0
    for p in fractions(n):
        key, now = jax.random.split(key)
        scales += float(gradient(x, now, 0.9 * p).max())
    return scales / n


def softplus(jax: Any, n: int) -> float:
    """``beta`` is an argument."""
    return of_settings(fractions(n), lambda x, beta: jax.nn.softplus(beta * x) / beta)


def huber_loss(jax: Any, n: int) -> float:
    """``delta`` is an argument."""
    target = numbers(100)

    def loss(x: Any, delta: Any) -> Any:
        far = jnp.abs(x - target)
        return jnp.where(far < delta, 0.5 * far**2, delta * (far - 0.5 * delta)).mean()

    return of_settings(fractions(n), loss)


def clamp(jax: Any, n: int) -> float:
    """Bounds are arguments."""
    return of_settings(fractions(n), lambda x, bound: jnp.clip(x, -bound, bound / 2))


def topk(jax: Any, n: int) -> float:
    """All are sorted, and k of them count."""
    return of_settings(
        [1 + k % 100 for k in range(n)], lambda x, k: jnp.where(jnp.arange(100) < k, jnp.sort(x)[::-1], 0)
    )


def roll(jax: Any, n: int) -> float:
    """The shift is an argument."""
    weights = numbers(100)
    return of_settings(list(range(n)), lambda x, shift: jnp.roll(x, shift) * weights)


def exponents(jax: Any, n: int) -> float:
    """The exponent is an argument."""
    return of_settings(fractions(n), lambda x, p: (x * x + 1) ** p)


# -- many of them ------------------------------------------------------------------------------------------------------


def iterated(jax: Any, n: int) -> float:
    """A scan."""

    def last(x: Any) -> Any:
        return jax.lax.scan(lambda state, row: (jnp.tanh(0.5 * state + row), None), jnp.zeros(4), x)[0].sum()

    return float(jax.jit(jax.grad(last))(leaf(n, 4)).sum())


def unbind_and_stack(jax: Any, n: int) -> float:
    """All rows at once."""
    x = leaf(n, 8)

    @jax.jit
    @jax.grad
    def gradient(x: Any, rows: Any) -> Any:
        return jnp.sum(jnp.square(x * x.sum(1, keepdims=True)), where=jnp.arange(n)[:, None] < rows)

    return float(total([gradient(x, rows) for rows in range(max(n - 9, 1), n + 1)]).sum()) / n


def many_leaves(jax: Any, n: int) -> float:
    """A tree of arrays, one call at a time."""
    leaves = [jnp.asarray(row) for row in numbers(n, 3)]
    for _ in range(2):
        loss, grads = jax.value_and_grad(lambda leaves: sum((one * one).sum() for one in leaves))(leaves)
        leaves = jax.tree.map(lambda one, grad: one - 0.1 * grad, leaves, grads)
    return float(loss) / n


def fan_in(jax: Any, n: int) -> float:
    """One call at a time."""

    def loss(x: Any) -> Any:
        h, total = jnp.tanh(x), 0.0
        for i in range(n):
            total = total + h * (i / n)
        return jnp.sum(total)

    return float(jax.grad(loss)(leaf(4)).sum()) / n


def parameters_by_hand(jax: Any, n: int) -> float:
    """A tree of parameters, compiled as a whole."""
    leaves = [leaf(*shape) for shape in shapes(n)]

    @jax.jit
    def update(step: Any, leaves: list, means: list, squares: list) -> tuple[Any, list, list, list]:
        loss, grads = jax.value_and_grad(lambda leaves: sum((one**2).sum() for one in leaves))(leaves)
        means = [0.9 * mean + 0.1 * grad for mean, grad in zip(means, grads, strict=True)]
        squares = [0.999 * square + 0.001 * grad**2 for square, grad in zip(squares, grads, strict=True)]

        def moved(one: Any, mean: Any, square: Any) -> Any:
            return one - 0.01 / (1 - 0.9**step) * mean / (jnp.sqrt(square / (1 - 0.999**step)) + 1e-8)

        return loss, jax.tree.map(moved, leaves, means, squares), means, squares

    means = squares = [jnp.zeros_like(one) for one in leaves]
    for step in range(1, 6):
        loss, leaves, means, squares = update(step, leaves, means, squares)
    return float(loss) / n


# -- loops -------------------------------------------------------------------------------------------------------------


def scalar_loop(jax: Any, n: int) -> float:
    """A loop of XLA's."""

    def last(r: Any) -> Any:
        return jax.lax.fori_loop(0, n, lambda i, x: r * x * (1 - x), jnp.float32(0.3))

    value, grad = jax.jit(jax.value_and_grad(last))(2.5)
    return float(value + grad)


def random_loops(jax: Any, n: int) -> float:
    """A scan over padded sequences, in which the state stays as it is behind the end."""
    parameters = leaf(8, 8), leaf(8, 8, seed=2)

    @jax.jit
    @jax.grad
    def gradient(parameters: tuple, xs: Any, length: Any) -> Any:
        w, u = parameters

        def step(h: Any, given: Any) -> Any:
            i, x = given
            return jnp.where(i < length, jnp.tanh(x @ w + h @ u), h), None

        h, _ = jax.lax.scan(step, jnp.zeros(8), (jnp.arange(40), xs))
        return (h * h).sum()

    found = sequences(n)
    grads = [gradient(parameters, np.pad(xs, ((0, 40 - len(xs)), (0, 0))), len(xs)) for xs in found]
    return float(sum(grad.sum() for grad in total(grads))) / n


PURE = {
    "lengths 1 to 200": lengths,
    "a cat that grows to 400": growing_cat,
    "slices of 1,000 lengths": slices,
    "600 boolean masks": boolean_masks,
    "200 batch sizes": batch_sizes,
    "double backward, 200 lengths": double_backward,
    "200 ragged batches": ragged_batches,
    "dropout(p), 600 of them": dropout,
    "softplus(beta), 600": softplus,
    "huber_loss(delta), 600": huber_loss,
    "clamp to 600 bounds": clamp,
    "topk(k), 600": topk,
    "roll by 600 shifts": roll,
    "600 exponents": exponents,
    "iteration over 2,000 rows": iterated,
    "unbind and stack of 400": unbind_and_stack,
    "10,000 leaves": many_leaves,
    "a fan-in of 10,000": fan_in,
    "Adam by hand, 300 shapes": parameters_by_hand,
    "a loop of 5,000 scalars": scalar_loop,
    "200 loops of random lengths": random_loops,
}
"""By the name of the program."""
