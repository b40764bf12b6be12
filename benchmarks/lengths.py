"""Steps of training whose shapes are new: what a length costs that was not seen before, and one that was, and memory.

Six nets are trained, each in a fresh process, on as many batches as there are *lengths*: sizes of batches, lengths of
sequences, ragged words, and trees, of which no two are alike. All are taken once, and then twice more; those of the
third time are *known*. Seconds are those of the CPU, all threads together, on one core (``fresh.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.dynamic_programs import drawn_tree, leaf, numbers, rng, shuffled
from benchmarks.fresh import EAGER, JAX, cpu_seconds, found, nurseries, resident, serve, started

Step = Callable[[int], float]
"""Trains on the batch of a length, and returns the loss."""

Lived = dict[str, float]

COUNT, FIRST = 200, 10
"""How many lengths there are, and after how many memory is looked at for the first time."""

LIMIT = 30.0
"""Seconds after which no new lengths are begun."""

MLP, ATTENTION, RNN, TREES = "MLP", "attention block", "character RNN, ragged words", "net of trees"
LSTM, GRU = "LSTM module", "GRU module, packed sequences"


# -- the nets ----------------------------------------------------------------------------------------------------------


def updated(torch: Any, parameters: list, loss: Any) -> float:
    """A step of gradient descent; returns the loss."""
    loss.backward()
    with torch.no_grad():
        for parameter in parameters:
            parameter.sub_(parameter.grad, alpha=0.01)
            parameter.grad = None
    return loss.item()


def mlp(torch: Any) -> Step:
    """Three layers, on batches of any size."""
    shapes = ((64, 32), (64,), (64, 64), (64,), (10, 64), (10,))
    parameters = [leaf(torch, *shape, seed=seed) for seed, shape in enumerate(shapes)]
    linear, cross_entropy = torch.nn.functional.linear, torch.nn.functional.cross_entropy

    def step(length: int) -> float:
        x, labels = (torch.tensor(array) for array in labelled(length))
        for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            x = linear(x, weight, bias).relu()
        return updated(torch, parameters, cross_entropy(linear(x, *parameters[-2:]), labels))

    return step


def labelled(length: int) -> tuple[np.ndarray, np.ndarray]:
    """A batch and its labels."""
    return numbers(length, 32, seed=length), rng(length).integers(0, 10, length)


def attention(torch: Any) -> Step:
    """Causal attention with four heads and a layer behind it, on sequences of any length."""
    parameters = [leaf(torch, *shape, seed=seed) for seed, shape in enumerate(((96, 32), (32, 32), (64, 32), (32, 64)))]
    functional = torch.nn.functional

    def step(length: int) -> float:
        x = torch.tensor(numbers(length, 32, seed=length))
        w_in, w_out, w_up, w_down = parameters
        q, k, v = functional.linear(x, w_in).view(length, 3, 4, 8).permute(1, 2, 0, 3).unbind()
        scores = (q @ k.transpose(1, 2) / 8**0.5).masked_fill(torch.ones(length, length).triu(1) > 0, -float("inf"))
        x = x + functional.linear((scores.softmax(-1) @ v).transpose(0, 1).reshape(length, 32), w_out)
        x = functional.layer_norm(x, (32,))
        x = x + functional.linear(functional.gelu(functional.linear(x, w_up)), w_down)
        return updated(torch, parameters, (x * x).mean())

    return step


def character_rnn(torch: Any) -> Step:
    """A recurrent net over four words of 2 to 15 letters; of those that have ended nothing is computed any more."""
    shapes = ((26, 16), (16, 32), (32, 32), (32, 26))
    parameters = [leaf(torch, *shape, seed=seed) for seed, shape in enumerate(shapes)]

    def step(length: int) -> float:
        table, w, u, v = parameters
        h, states, following = torch.zeros(4, 32), [], []
        for now, after in letters(drawn_words(length)):
            h = (table[torch.tensor(now)] @ w + h[: len(now)] @ u).tanh()
            states.append(h)
            following += after
        loss = torch.nn.functional.cross_entropy(torch.cat(states) @ v, torch.tensor(following))
        return updated(torch, parameters, loss)

    return step


def recurrent(torch: Any, kind: str) -> Any:
    """A recurrent layer as a module, whose first parameters are the same for all."""
    layer = getattr(torch.nn, kind)(32, 64)
    with torch.no_grad():
        for seed, parameter in enumerate(layer.parameters()):
            parameter.copy_(torch.tensor(numbers(*parameter.shape, seed=seed)) * 0.1)
    return layer


def lstm(torch: Any) -> Step:
    """A recurrent layer as a module, and a linear one, on sequences of any length."""
    layer, out = recurrent(torch, "LSTM"), leaf(torch, 8, 64)
    parameters = [*layer.parameters(), out]

    def step(length: int) -> float:
        y = layer(torch.tensor(numbers(length, 4, 32, seed=length)))[0]
        return updated(torch, parameters, torch.nn.functional.linear(y, out).square().mean())

    return step


def gru(torch: Any) -> Step:
    """A recurrent layer as a module, on four sequences of different lengths."""
    layer = recurrent(torch, "GRU")
    parameters = list(layer.parameters())

    def step(length: int) -> float:
        lengths = sorted(rng(length).integers(1, length + 1, 4).tolist(), reverse=True)
        x = torch.tensor(numbers(lengths[0], 4, 32, seed=length))
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths)
        return updated(torch, parameters, layer(packed)[0].data.square().mean())

    return step


def drawn_words(seed: int) -> list[list[int]]:
    """Four words, the longest first."""
    random = rng(seed)
    lengths = sorted(random.integers(2, 16, 4).tolist(), reverse=True)
    return [random.integers(0, 26, length).tolist() for length in lengths]


def letters(words: list[list[int]]) -> list[tuple[list[int], list[int]]]:
    """At each place the letters of the words that go on, and those that follow.

    >>> letters([[1, 2, 3], [4, 5]])
    [([1, 4], [2, 5]), ([2], [3])]
    """
    places = range(len(words[0]) - 1)
    going_on = [[word for word in words if len(word) > place + 1] for place in places]
    return [([w[i] for w in some], [w[i + 1] for w in some]) for i, some in zip(places, going_on, strict=True)]


def net_of_trees(torch: Any) -> Step:
    """A recursive net, whose graph is another one for each tree of 2 to 24 leaves."""
    parameters = [leaf(torch, 20, 16), leaf(torch, 16, 32), leaf(torch, 16), leaf(torch, 2, 16)]
    linear = torch.nn.functional.linear
    table, weight, bias, out = parameters

    def encoded(tree: Any) -> Any:
        if isinstance(tree, int):
            return table[tree]
        return linear(torch.cat([encoded(part) for part in tree]), weight, bias).tanh()

    def step(length: int) -> float:
        random = rng(length)
        scores = linear(encoded(drawn_tree(random, int(random.integers(2, 25)))), out)
        return updated(torch, parameters, torch.nn.functional.cross_entropy(scores, torch.tensor(length % 2)))

    return step


PROGRAMS: dict[str, Callable[[Any], Step]] = {
    MLP: mlp,
    ATTENTION: attention,
    RNN: character_rnn,
    TREES: net_of_trees,
    LSTM: lstm,
    GRU: gru,
}
"""By what the report calls them."""


# -- in the fresh process ----------------------------------------------------------------------------------------------


def answer(who: str, name: str, count: int, limit: float) -> Lived:
    """Train on all lengths three times, and say what it took; nothing where JAX has no such net."""
    library, programs = started(who), PROGRAMS
    if who == JAX:
        from benchmarks.lengths_jax import PURE as programs
    return lived(programs[name](library), count, limit) if name in programs else {}


def lived(step: Step, count: int, limit: float) -> Lived:
    """Train on all lengths three times, as long as there is time.

    Returns:
        ``lengths`` that there was time for, CPU seconds of the median one and of the mean one while ``new``, of the
        median one when ``known``, MiB that the process had before them, after the first ``FIRST``, after all, and at
        last, and the first loss.
    """
    loss = 0.0
    memory: list[float] = []

    def seconds(length: int) -> float:
        nonlocal loss
        start = cpu_seconds()
        loss = step(length)
        return cpu_seconds() - start

    def taken(lengths: list[int]) -> list[float]:
        found: list[float] = []
        for length in lengths:
            if sum(found) < limit:
                found.append(seconds(length))
                memory.append(resident())
        return found

    lengths = shuffled(count)
    first_loss = step(lengths[0])
    before = resident()
    new = taken(lengths[1:])
    seen = lengths[1 : len(new) + 1]
    after = {"before": before, "first": memory[min(FIRST, len(memory)) - 1], "all": memory[-1]}
    taken(seen)
    known = taken(seen)
    times = {"new": median(new), "mean new": mean(new), "known": median(known)}
    return {"lengths": len(new), **times, **after, "at last": memory[-1], "loss": first_loss}


# -- in the process that measures --------------------------------------------------------------------------------------


def lengths(count: int = COUNT, limit: float = LIMIT) -> dict[str, dict[str, Lived | None]]:
    """Measure all nets and print a table for each; None for who has not ended."""
    measured: dict[str, dict[str, Lived | None]] = {}
    with nurseries(__name__, found()) as opened:
        for name in PROGRAMS:
            answers = {who: one.ask(5 * limit, name, count, limit) for who, one in opened.items()}
            measured[name] = {who: one for who, one in answers.items() if one != {}}
            print(table(name, measured[name], count), end="\n\n", flush=True)
    return measured


def grown(one: Lived) -> float:
    """MiB that were taken after the ``FIRST`` new lengths; infinite for who had not the time for more."""
    return one["at last"] - one["first"] if one["lengths"] > FIRST else inf


def table(name: str, found: dict[str, Lived | None], count: int) -> str:
    """A net: milliseconds a step, times PyTorch's, and memory.

    >>> times, memory = {"new": 2e-3, "mean new": 3e-3, "known": 1e-3}, {"before": 30.0, "first": 50.0, "at last": 61.0}
    >>> one = {"lengths": 19, **times, **memory, "all": 60.0}
    >>> print(table("a net", {EAGER: one, "mine": {**one, "lengths": 3}, JAX: None}, 20))
    a net, 20 lengths      new, ms      mean     times  known, ms     times  MiB a length  after 10, in all
      PyTorch eager          2.000     3.000      1.00      1.000      1.00          1.58                11
      mine                   2.000     3.000      1.00      1.000      1.00         10.00              3 lengths in time
      JAX                 not ended
    """
    heads = f"{'new, ms':>10}{'mean':>10}{'times':>10}{'known, ms':>11}{'times':>10}"
    told = [f"{f'{name}, {count} lengths':45}{heads}{'MiB a length':>14}{f'after {FIRST}, in all':>18}"]
    peer = found.get(EAGER)
    for who, one in found.items():
        if one is None:
            told.append(f"  {who:43} not ended")
            continue
        new, known = (f"{one[what] / peer[what]:10.2f}" if peer else f"{'':10}" for what in ("new", "known"))
        times = f"{one['new'] * 1e3:10.3f}{one['mean new'] * 1e3:10.3f}{new}{one['known'] * 1e3:11.3f}{known}"
        more = f"{grown(one):.0f}" if one["lengths"] > FIRST else ""
        memory = f"{(one['all'] - one['before']) / one['lengths']:14.2f}{more:>18}"
        ended = f"  {one['lengths']} lengths in time" if one["lengths"] < count - 1 else ""
        told.append(f"  {who:43}{times}{memory}{ended}")
    return "\n".join(told)


if __name__ == "__main__":
    serve(answer)
