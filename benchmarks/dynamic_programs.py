"""Programs that are another one at each turn: shapes, settings, lengths of loops and graphs that change.

Each is ``program(torch, n)``, for whatever module speaks PyTorch's language, and returns a number that does not depend
on the library; ``n`` says how often something changes. Only NumPy is imported here, for a process must not have what it
does not measure. What somebody would write in JAX stands in ``dynamic_jax.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Tree = Any
"""A number of a word, or a pair of trees."""


def rng(seed: int = 0) -> np.random.Generator:
    """Random numbers, the same ones for everybody."""
    return np.random.default_rng(seed)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal floats."""
    return rng(seed).standard_normal(shape).astype("float32")


def shuffled(n: int) -> list[int]:
    """The numbers from 1 to n in some order."""
    return (rng().permutation(n) + 1).tolist()


def leaf(torch: Any, *shape: int, seed: int = 1) -> Any:
    """A parameter of small normal floats."""
    return torch.tensor(0.3 * numbers(*shape, seed=seed), requires_grad=True)


# -- shapes ------------------------------------------------------------------------------------------------------------


def lengths(torch: Any, n: int) -> float:
    """Three layers, a mean and the gradients, for each length up to n."""
    x, weights = numbers(n, 8), [leaf(torch, 8, 8, seed=seed) for seed in (1, 2, 3)]
    for length in shuffled(n):
        h = torch.tensor(x[:length])
        for w in weights:
            h = (h @ w).tanh()
        h.mean().backward()
    return weights[0].grad.sum().item()


def growing_cat(torch: Any, n: int) -> float:
    """Each of n tokens looks back at all those before it, kept in a tensor that grows."""
    x, w = torch.tensor(numbers(n, 16)), leaf(torch, 16, 16)
    kept, total = torch.zeros(0, 16), 0.0
    for i in range(n):
        kept = torch.cat([kept, x[i : i + 1] @ w])
        total = total + ((kept @ x[i]).softmax(0) @ kept).sum()
    total.backward()
    return w.grad.sum().item() / n


def slices(torch: Any, n: int) -> float:
    """Slices of many lengths, and their gradients."""
    x = leaf(torch, n)
    for start, stop in np.sort(rng().integers(0, n + 1, (n, 2))).tolist():
        (x[start:stop] ** 2).sum().backward()
    return x.grad.sum().item()


def boolean_masks(torch: Any, n: int) -> float:
    """What masks choose, of which there is another count each time."""
    x, noise = leaf(torch, 500), rng().random((n, 500)).astype("float32")
    for row, threshold in zip(noise, np.linspace(0.1, 0.9, n), strict=True):
        x[torch.tensor(row) > float(threshold)].exp().sum().backward()
    return x.grad.sum().item() / n


def batch_sizes(torch: Any, n: int) -> float:
    """Steps of training with n sizes of batches."""
    w, b, v = leaf(torch, 16, 8), leaf(torch, 16), leaf(torch, 3, 16)
    x, labels = numbers(2 * n, 8), rng().integers(0, 3, 2 * n)
    for size in shuffled(2 * n)[:n]:
        hidden = torch.nn.functional.linear(torch.tensor(x[:size]), w, b).relu()
        loss = torch.nn.functional.cross_entropy(hidden @ v.t(), torch.tensor(labels[:size]))
        loss.backward()
        with torch.no_grad():
            for parameter in (w, b, v):
                parameter -= 0.1 * parameter.grad
                parameter.grad = None
    return loss.item()


def double_backward(torch: Any, n: int) -> float:
    """The penalty of a gradient, differentiated, for each length up to n."""
    x, w = numbers(n, 8), leaf(torch, 8, 8)
    for length in shuffled(n):
        rows = torch.tensor(x[:length], requires_grad=True)
        (grad,) = torch.autograd.grad((rows @ w).tanh().sum(), rows, create_graph=True)
        ((grad.norm() - 1) ** 2).backward()
    return w.grad.sum().item() / n


def ragged_batches(torch: Any, n: int) -> float:
    """A classifier of bags of words, in n batches of sentences of any length."""
    table, w = leaf(torch, 50, 8), leaf(torch, 8, 3)
    for sentences, labels in ragged(n):
        rows = torch.stack([table[torch.tensor(words)].mean(0) for words in sentences])
        torch.nn.functional.cross_entropy(rows @ w, torch.tensor(labels)).backward()
    return table.grad[:5].sum().item() + w.grad[0, 0].item()


def ragged(n: int) -> list[tuple[list[np.ndarray], np.ndarray]]:
    """Batches of 8 sentences of 1 to 12 words out of 50, with labels."""
    words, random = [rng(seed).integers(0, 50, (8, 12)) for seed in range(n)], rng()
    counts, labels = random.integers(1, 13, (n, 8)), random.integers(0, 3, (n, 8))
    return [([row[:c] for row, c in zip(words[i], counts[i], strict=True)], labels[i]) for i in range(n)]


def written_places(torch: Any, n: int) -> float:
    """Results written into a tensor at places of many sizes, and the gradient of that."""
    x, out = leaf(torch, n), torch.zeros(n)
    for start, stop in np.sort(rng().integers(0, n + 1, (n, 2))).tolist():
        out[start:stop] = 2 * x[start:stop] + out[start:stop]
    (out * out).mean().backward()
    return x.grad.abs().sum().item() / n**2


def unique_places(torch: Any, n: int) -> float:
    """The places that occur, which only the numbers tell."""
    x = leaf(torch, 200)
    for bound in shuffled(n):
        places, counts = torch.tensor(rng(bound).integers(0, 200, bound)).unique(return_counts=True)
        more = counts > 1
        (x[places] * counts).sum().backward()
        (x[places[more]] ** 2).sum().backward()
        x.grad[more.nonzero()[:, 0]] *= 0.5
    return x.grad.sum().item() / n


# -- settings ----------------------------------------------------------------------------------------------------------


def fractions(n: int) -> list[float]:
    """n numbers between 0 and 1, as Python has them."""
    return [(i + 1) / (n + 1) for i in range(n)]


def of_settings(torch: Any, settings: list, function: Callable[[Any, Any], Any]) -> float:
    """The gradient of a function's sum, for each of its settings."""
    x = leaf(torch, 100)
    for setting in settings:
        function(x, setting).sum().backward()
    return x.grad.sum().item() / len(settings)


def dropout(torch: Any, n: int) -> float:
    """``dropout(p)``; what is returned is the scale of what remains."""
    x, scales = torch.ones(1000, requires_grad=True), 0.0
    for p in fractions(n):
        x.grad = None
        torch.nn.functional.dropout(x, 0.9 * p).sum().backward()
        scales += x.grad.max().item()
    return scales / n


def softplus(torch: Any, n: int) -> float:
    """``softplus(beta)``."""
    return of_settings(torch, fractions(n), lambda x, beta: torch.nn.functional.softplus(x, beta))


def huber_loss(torch: Any, n: int) -> float:
    """``huber_loss(delta)``."""
    target = torch.tensor(numbers(100))
    huber = torch.nn.functional.huber_loss
    return of_settings(torch, fractions(n), lambda x, delta: huber(x, target, delta=delta))


def clamp(torch: Any, n: int) -> float:
    """``clamp`` with other bounds each time."""
    return of_settings(torch, fractions(n), lambda x, bound: x.clamp(-bound, bound / 2))


def topk(torch: Any, n: int) -> float:
    """``topk(k)``."""
    return of_settings(torch, [1 + k % 100 for k in range(n)], lambda x, k: x.topk(k)[0])


def roll(torch: Any, n: int) -> float:
    """``roll(shifts)``."""
    weights = torch.tensor(numbers(100))
    return of_settings(torch, list(range(n)), lambda x, shift: x.roll(shift) * weights)


def exponents(torch: Any, n: int) -> float:
    """Powers, each by another number."""
    return of_settings(torch, fractions(n), lambda x, p: (x * x + 1) ** p)


# -- many of them ------------------------------------------------------------------------------------------------------


def iterated(torch: Any, n: int) -> float:
    """A state that goes through the n rows of a tensor."""
    x = leaf(torch, n, 4)
    state = torch.zeros(4)
    for row in x:
        state = (0.5 * state + row).tanh()
    state.sum().backward()
    return x.grad.sum().item()


def unbind_and_stack(torch: Any, n: int) -> float:
    """Up to n rows, each scaled by its sum, and put together again; ten times, with another count each."""
    x = leaf(torch, n, 8)
    for rows in range(max(n - 9, 1), n + 1):
        torch.stack([row * row.sum() for row in x[:rows].unbind()]).square().sum().backward()
    return x.grad.sum().item() / n


def split_and_cat(torch: Any, n: int) -> float:
    """n pieces of several sizes, each turned around, and put together again; ten times, with other sizes."""
    sizes = rng().integers(1, 5, (10, n))
    x = leaf(torch, 4 * n)
    for row in sizes.tolist():
        pieces = x[: sum(row)].split(row)
        torch.cat([piece.flip(0) * number for number, piece in enumerate(pieces)]).square().mean().backward()
    return x.grad.sum().item() / n


def many_leaves(torch: Any, n: int) -> float:
    """Two steps of gradient descent of n parameters of three floats."""
    leaves = [torch.tensor(row, requires_grad=True) for row in numbers(n, 3)]
    for _ in range(2):
        loss = sum((one * one).sum() for one in leaves)
        loss.backward()
        with torch.no_grad():
            for one in leaves:
                one.sub_(one.grad, alpha=0.1)
                one.grad = None
    return loss.item() / n


def fan_in(torch: Any, n: int) -> float:
    """One tensor that n operators use, each with another number."""
    x = leaf(torch, 4)
    h, total = x.tanh(), 0.0
    for i in range(n):
        total = total + h * (i / n)
    total.sum().backward()
    return x.grad.sum().item() / n


def parameters_by_hand(torch: Any, n: int) -> float:
    """Adam, written as a loop over n parameters of many shapes, five times."""
    leaves = [leaf(torch, *shape) for shape in shapes(n)]
    means, squares = ([torch.zeros_like(one) for one in leaves] for _ in range(2))
    for step in range(1, 6):
        loss = sum((one**2).sum() for one in leaves)
        loss.backward()
        with torch.no_grad():
            for one, mean, square in zip(leaves, means, squares, strict=True):
                mean.mul_(0.9).add_(one.grad, alpha=0.1)
                square.mul_(0.999).addcmul_(one.grad, one.grad, value=0.001)
                scale = (square / (1 - 0.999**step)).sqrt().add_(1e-8)
                one.addcdiv_(mean, scale, value=-0.01 / (1 - 0.9**step))
                one.grad = None
    return loss.item() / n


def shapes(n: int) -> list[list[int]]:
    """n shapes of matrices."""
    return rng().integers(1, 13, (n, 2)).tolist()


# -- loops and graphs --------------------------------------------------------------------------------------------------


def scalar_loop(torch: Any, n: int) -> float:
    """A recurrence of single numbers, n steps of it."""
    r = torch.tensor(2.5, requires_grad=True)
    x = torch.tensor(0.3)
    for _ in range(n):
        x = r * x * (1 - x)
    x.backward()
    return x.item() + r.grad.item()


def while_item(torch: Any, n: int) -> float:
    """Newton's method from n starts, until it is near enough, and the derivative of what it found."""
    a = torch.tensor(2.0, requires_grad=True)
    for start in fractions(n):
        x = 0.5 + 5 * start + 0 * a
        while (x * x - a).abs().item() > 1e-3:
            x = x - (x * x - a) / (2 * x)
        x.backward()
    return a.grad.item() / n


def random_loops(torch: Any, n: int) -> float:
    """A recurrent net over n sequences of 1 to 40 vectors."""
    w, u = leaf(torch, 8, 8), leaf(torch, 8, 8, seed=2)
    for xs in sequences(n):
        h = torch.zeros(8)
        for x in torch.tensor(xs):
            h = (x @ w + h @ u).tanh()
        (h * h).sum().backward()
    return (w.grad.sum() + u.grad.sum()).item() / n


def sequences(n: int) -> list[np.ndarray]:
    """Sequences of 1 to 40 vectors of 8 floats."""
    return [numbers(length, 8, seed=i) for i, length in enumerate(rng().integers(1, 41, n).tolist())]


def trees(torch: Any, n: int) -> float:
    """A recursive net over n trees of 1 to 16 words, no two alike."""
    table, w = leaf(torch, 20, 8), leaf(torch, 16, 8)

    def encoded(tree: Tree) -> Any:
        if isinstance(tree, int):
            return table[tree]
        return (torch.cat([encoded(part) for part in tree]) @ w).tanh()

    for seed in range(n):
        random = rng(seed)
        encoded(drawn_tree(random, int(random.integers(1, 17)))).square().sum().backward()
    return w.grad.sum().item() / n


def drawn_tree(random: np.random.Generator, words: int) -> Tree:
    """A tree of some words out of 20."""
    if words == 1:
        return int(random.integers(0, 20))
    left = int(random.integers(1, words))
    return drawn_tree(random, left), drawn_tree(random, words - left)


# -- all of them -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dynamic:
    """A program, how often something changes in it, and how often in a test."""

    run: Callable[[Any, int], float]
    n: int = 200
    few: int = 3


PROGRAMS = {
    "lengths 1 to 200": Dynamic(lengths),
    "a cat that grows to 400": Dynamic(growing_cat, 400),
    "slices of 1,000 lengths": Dynamic(slices, 1000),
    "600 boolean masks": Dynamic(boolean_masks, 600),
    "200 batch sizes": Dynamic(batch_sizes),
    "double backward, 200 lengths": Dynamic(double_backward),
    "200 ragged batches": Dynamic(ragged_batches, 200, 1),
    "writes to 600 places": Dynamic(written_places, 600),
    "unique and nonzero, 200 times": Dynamic(unique_places),
    "dropout(p), 600 of them": Dynamic(dropout, 600),
    "softplus(beta), 600": Dynamic(softplus, 600),
    "huber_loss(delta), 600": Dynamic(huber_loss, 600),
    "clamp to 600 bounds": Dynamic(clamp, 600),
    "topk(k), 600": Dynamic(topk, 600),
    "roll by 600 shifts": Dynamic(roll, 600),
    "600 exponents": Dynamic(exponents, 600),
    "iteration over 2,000 rows": Dynamic(iterated, 2000),
    "unbind and stack of 400": Dynamic(unbind_and_stack, 400),
    "split and cat of 300": Dynamic(split_and_cat, 300),
    "10,000 leaves": Dynamic(many_leaves, 10_000),
    "a fan-in of 10,000": Dynamic(fan_in, 10_000),
    "Adam by hand, 300 shapes": Dynamic(parameters_by_hand, 300),
    "a loop of 5,000 scalars": Dynamic(scalar_loop, 5000),
    "while item(), 400 times": Dynamic(while_item, 400),
    "200 loops of random lengths": Dynamic(random_loops, 200, 1),
    "200 trees": Dynamic(trees, 200, 2),
}
"""By what the report calls them."""
