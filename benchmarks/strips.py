"""Kernels by NumPy, whole and by strips, on one thread and on all, and by XLA: ``python -m benchmarks.strips``.

For a quiet machine: each figure is the least of many rounds, in microseconds of the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import tapegrad as torch

ROUNDS, CALLS = 30, 16
"""How often a call is measured, and after how many its kernel has been cut, or compiled."""

F = torch.nn.functional
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, w: x + x,
    "exp": lambda x, w: x.exp(),
    "gelu": lambda x, w: F.gelu(x),
    "softmax": lambda x, w: x.softmax(-1),
    "layer norm": lambda x, w: F.layer_norm(x, (1024,), w, w),
    "sums of rows": lambda x, w: x.sum(-1),
    "mean": lambda x, w: x.mean(),
    "sorted rows": lambda x, w: x.sort(-1),
    "dropout": lambda x, w: F.dropout(x, 0.1),
    "embedding": lambda x, w: F.embedding(torch.arange(len(x)), x),
    "copy": lambda x, w: x.clone(),
}


def least(call: Callable[[], Any]) -> float:
    """The microseconds of the quickest of many calls, after the first ones."""
    for _ in range(CALLS):
        call()
    torch.execution.wait_for_compiler()
    taken = []
    for _ in range(ROUNDS):
        start = perf_counter()
        call()
        taken.append(perf_counter() - start)
    return 1e6 * min(taken)


def main() -> None:
    """Measure, and print a table."""
    threads = torch.get_num_threads()
    print(f"| rows of 1024 | program | whole | strips, 1 thread | strips, {threads} | XLA |\n| - | - | - | - | - | - |")
    for rows in (256, 1024, 4096):
        x, w = torch.rand(rows, 1024), torch.rand(1024)
        for name, program in PROGRAMS.items():
            call = lambda program=program, x=x, w=w: program(x, w)
            found = []
            with torch.execution.tiers("host"):
                torch.set_num_threads(1)
                with torch.execution.without("strips"):
                    found.append(least(call))
                found.append(least(call))
                torch.set_num_threads(threads)
                found.append(least(call))
            with torch.execution.tiers("xla"):
                found.append(least(lambda call=call: torch.utils._pytree.tree_map(torch.Tensor.numpy, call())))
            print(f"| {rows} | {name} | {' | '.join(f'{one:.0f}' for one in found)} |", flush=True)


if __name__ == "__main__":
    main()
