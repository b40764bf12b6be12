"""Whole programs: steps of all kinds, one after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import memory, orders, outputs, overriding, python, scattering, threads, training, transforming
from .playing import settle
from .steps import FEATURES, STEPS, WEIGHTS, function, leaf
from .writer import SHAPES, Writer

__all__ = ["Drawn", "draw", "memory", "orders", "outputs", "overriding", "python", "scattering", "smooth_program",
           "threads", "training", "transforming"]  # fmt: skip
SMOOTH = "smooth functions"
FEATURE_OF = {step.__name__: feature for feature, steps in FEATURES.items() for step in steps}


class Drawn(NamedTuple):
    """A program, and the features that it draws from."""

    text: str
    features: frozenset[str]


def smooth_program(writer: Writer) -> str:
    """Leaves, and a function of them that is smooth: what jax differentiates as we do."""
    count = writer.number(1, 2)
    for _ in range(count):
        shape = writer.choice(SHAPES[:7])
        writer.keep(f"{writer.new_name()} = {writer.literal(shape, writer.module.float64, ', requires_grad=True')}")
    found = function(
        writer,
        list(writer.world.pool),
        scalar=True,
        families=("smooth", "smooth", "smooth shapes", "smooth sums"),
        length=6,
    )
    if found is not None:
        writer.lines.append(found[1].replace(f"def {found[0]}(", "def smooth("))
    return "\n".join(writer.lines)


def draw(module: Any, chances: Any, only: frozenset[str] = frozenset()) -> Drawn:
    """One program: two leaves at least, then about ten steps. ``only`` names features to which steps are kept."""
    settle(module)
    writer = Writer(module, chances)
    if (chances.random() < 0.08 and not only) or "smooth" in only:
        return Drawn(smooth_program(writer), frozenset({SMOOTH}))
    writer = Writer(module, chances, plain=chances.random() < 0.6)
    weights = (
        [w * any(s in FEATURES[f] for f in only | {"leaves"}) for s, w in zip(STEPS, WEIGHTS, strict=True)]
        if only
        else WEIGHTS
    )
    writer.write([leaf], [1], chances.randint(1, 3))
    text = writer.write(STEPS, weights, chances.randint(4, 14))
    settle(module)
    return Drawn(text, frozenset(FEATURE_OF[step.__name__] for step in writer.written))
