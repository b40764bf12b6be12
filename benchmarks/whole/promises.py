"""The targets of whole models: times beside PyTorch eager and ``jax.jit``, memory, and what they were before."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from benchmarks.contest import COMPILED, DEFERRED, EAGER, IMMEDIATE, JAX_JIT
from benchmarks.targets import Row, row
from benchmarks.whole.contestants import OURS
from benchmarks.whole.measuring import Found

TIMES = (
    (IMMEDIATE, EAGER, "median", median, 1.0),
    (IMMEDIATE, EAGER, "worst", max, 1.4),
    (COMPILED, EAGER, "median", median, 0.75),
    (COMPILED, EAGER, "worst", max, 1.0),
    (COMPILED, JAX_JIT, "worst", max, 1.05),
)
"""A contestant, its peer, and what its steps take at most of the peer's on all cores, over all models."""

MEMORY = ((IMMEDIATE, EAGER, 1.1), (DEFERRED, EAGER, 1.2), (COMPILED, JAX_JIT, 1.0))
"""A contestant, its peer, and how much of its memory the process takes at most, whatever the model."""

WORSE = 1.03
"""How many times as long as before, beside PyTorch's, nothing takes on one core."""


def rows(measured: Mapping[str, Found], one_core: bool, before: Mapping[str, Found]) -> list[Row]:
    """All promises: ``measured[model][contestant]``, and the same of an earlier run."""
    times = no_worse(measured, before) if one_core else all_cores(measured)
    return times + memory(measured)


def all_cores(measured: Mapping[str, Found]) -> list[Row]:
    """The promises about all models together."""
    promised = []
    for mode, peer, what, of, bound in TIMES:
        ratios = [found[mode]["ratios"][peer] for found in measured.values() if {mode, peer} <= found.keys()]
        promised += [row(f"models, all cores, {what}: {mode} / {peer}", of(ratios), bound)] if ratios else []
    return promised


def memory(measured: Mapping[str, Found]) -> list[Row]:
    """The promises about the memory of each model."""
    return [
        row(f"{name}, MiB: {mode} / {peer}", found[mode]["process"] / found[peer]["process"], bound)
        for mode, peer, bound in MEMORY
        for name, found in measured.items()
        if {mode, peer} <= found.keys()
    ]


def no_worse(measured: Mapping[str, Found], before: Mapping[str, Found]) -> list[Row]:
    """The promises that nothing of ours takes longer than it did, as a multiple of PyTorch's time."""

    def ratio(found: Mapping[str, Any], who: str) -> float | None:
        return found.get(who, {}).get("ratios", {}).get(EAGER)

    compared = [
        (f"{name}, one core, times before: {who}", ratio(found, who), ratio(before.get(name, {}), who))
        for name, found in measured.items()
        for who in OURS
    ]
    return [row(what, now / then, WORSE) for what, now, then in compared if now and then]
