"""Models that are made larger in one direction: each size is double the one before."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.whole.images import conv_net
from benchmarks.whole.model import Model
from benchmarks.whole.models import MODELS, SMALL
from benchmarks.whole.sequences import gpt
from benchmarks.whole.small import mlp

DOUBLINGS = 4

Sizes = dict[str, int]

NETS: dict[str, tuple[Callable[..., Model], Sizes]] = {
    "MLP": (
        lambda batch, width, depth: mlp((width, *depth * [width], 10), batch),
        {"batch": 32, "width": 128, "depth": 2},
    ),
    "GPT": (
        lambda batch, width, depth, length: gpt(depth, width, 4, length, batch, 256),
        {"batch": 2, "width": 64, "depth": 1, "length": 32},
    ),
    "conv net": (
        lambda batch, width, depth, length: conv_net(depth, width, length, batch),
        {"batch": 4, "width": 8, "depth": 2, "length": 16},
    ),
}
"""Nets by name: what makes one of some sizes, and the smallest ones. The length of pictures is that of their sides."""


def title(net: str, sizes: Sizes) -> str:
    """The name of a net in some sizes.

    >>> title("MLP", {"batch": 32, "width": 256})
    'MLP of batch 32, width 256'
    """
    return f"{net} of {', '.join(f'{axis} {size}' for axis, size in sizes.items())}"


def sizes_of(name: str) -> tuple[str, Sizes]:
    """A net and sizes by their title.

    >>> sizes_of("MLP of batch 32, width 256")
    ('MLP', {'batch': 32, 'width': 256})
    """
    net, _, sizes = name.partition(" of ")
    return net, {axis: int(size) for axis, size in (one.split() for one in sizes.split(", "))}


def grown(net: str, axis: str, doublings: int = DOUBLINGS) -> list[Sizes]:
    """The sizes of a net that is doubled so often in a direction, the smallest first."""
    smallest = NETS[net][1]
    return [smallest | {axis: smallest[axis] << times} for times in range(doublings + 1)]


def named(name: str, quick: bool) -> Model:
    """A model by its name: one of those that are measured, or a net of ``NETS`` in some sizes."""
    if name in MODELS:
        return (SMALL if quick else MODELS)[name]()
    net, sizes = sizes_of(name)
    return NETS[net][0](**sizes)
