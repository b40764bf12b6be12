"""``python -m benchmarks.tiers``: what kernels cost on the host and by XLA, beside what the cost model says.

The kernels are those of the workloads and operators of the other benchmarks. A row says how long a call takes, at
least, in microseconds, what the model says, and how many times as long the tier that the model chooses takes as the
other. Where that is more than a little above one, the figures in ``tapegrad/_src/execution/tiers/costs.py`` are to be
mended: see
Note [Costs] there. They are for one core: ``taskset -c 0 python -m benchmarks.tiers``. ``--only TEXT`` takes what has
TEXT in its name, and ``--all`` shows all rows and not only those of wrong choices.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks import operators, workloads
from benchmarks.contest import IMMEDIATE, MODES

SECONDS = 0.02
"""How long a kernel is measured, on each tier."""

WRONG = 1.2
"""From what quotient on a choice is shown."""


class Measured(NamedTuple):
    """What a kernel costs, in microseconds: measured and estimated, on the host and by XLA."""

    name: str
    shapes: str
    host: float
    xla: float
    host_estimate: float
    xla_estimate: float

    @property
    def loss(self) -> float:
        """How many times as long the tier takes that the model chooses as the other one."""
        return self.host / self.xla if self.host_estimate <= self.xla_estimate else self.xla / self.host


def least(run: Callable[[], object]) -> float:
    """The microseconds of the quickest call."""
    run()
    found: list[float] = []
    end = perf_counter() + SECONDS
    while len(found) < 5 or perf_counter() < end:
        start = perf_counter()
        run()
        found.append(perf_counter() - start)
    return 1e6 * min(found)


def value(example: Any, rng: np.random.Generator) -> Any:
    """What a kernel may be given."""
    if isinstance(example, type):
        return None if example is type(None) else example(1)
    shape, dtype = example
    if dtype.kind in "iub":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.uniform(0.5, 1.5, shape).astype(dtype)


def measured(tiered: Any) -> Measured:
    """Measure a kernel on both tiers."""
    from tapegrad._src.execution.tiers.xla_copies import aligned

    rng = np.random.default_rng(0)
    values = [value(example, rng) for example in tiered.examples]
    given = [aligned(one) if isinstance(one, np.ndarray) else one for one in values]
    arrays = [one for one in given if one is not None]
    host = least(lambda: tiered.quietly(tiered.body, *arrays))
    xla = least(lambda: jax.block_until_ready(tiered.kernel.xla(*given)))
    shapes = " ".join("x".join(map(str, np.shape(one))) or "-" for one in values)
    return Measured(tiered.kernel.name, shapes, host, xla, tiered.cost.host / 1e3, tiered.cost.xla / 1e3)


def kernels(run: Callable[[], object]) -> Iterator[Any]:
    """The kernels that something has made, which the host can run."""
    import tapegrad as torch
    from tapegrad._src.execution.tiers.settings import awaiting_decisions
    from tapegrad._src.execution.tiers.tiered_kernel import Tiered

    torch.execution.clear_caches()
    before = set(map(id, awaiting_decisions))
    known = list(awaiting_decisions)
    kept = run()
    for one in list(awaiting_decisions):
        if isinstance(one, Tiered) and id(one) not in before and one.body is not None:
            yield one
    del kept, known


def run_workload(workload: Any) -> object:
    """A step, operators computed at once."""
    return MODES[IMMEDIATE](workload, IMMEDIATE).run()


def run_operator(*of: Any) -> object:
    """An operator."""
    return operators.torch_run(*of)()


def programs(only: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """What makes the kernels."""
    import tapegrad as torch

    for name, workload in workloads.workloads().items():
        if only in name:
            yield name, partial(run_workload, workload)
    for family in operators.PROGRAMS.values():
        for name, program in family.items():
            for floats in operators.SIZES if only in name else ():
                for backward in (False, True)[: 1 + program.differentiable]:
                    title = f"{name}, {operators.SIZES[floats]}"
                    yield title, partial(run_operator, torch, program, floats, backward)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    seen: set[tuple] = set()
    count = wrong = 0
    print("kernel | shapes | of | host (estimate) | XLA (estimate) | loss")
    for title, run in programs(options.only):
        for tiered in kernels(run):
            key = tiered.kernel.name, tiered.examples
            if key in seen:
                continue
            seen.add(key)
            found = measured(tiered)
            count, wrong = count + 1, wrong + (found.loss > WRONG)
            if options.all or found.loss > WRONG:
                print(f"{found.name} | {found.shapes} | {title} | {found.host:.1f} ({found.host_estimate:.1f}) | "
                      f"{found.xla:.1f} ({found.xla_estimate:.1f}) | {found.loss:.2f}", flush=True)  # fmt: skip
    print(f"{wrong} of {count} kernels are left to the slower tier")


if __name__ == "__main__":
    main()
