"""Loaders of data: samples per second, and how long the first batch takes, beside PyTorch's.

Each loader runs in a fresh process, which imports one library. PyTorch's workers are forked, which costs a hundredth of
what it costs to spawn ours: that is seen in the first batch, and paid once with ``persistent_workers``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

LIBRARIES = ("tapegrad", "torch")
PASSES = 3


class Images:
    """Images that cost some work to read: a few passes of NumPy over each."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        image = np.full((3, 96, 96), index % 7, np.float32)
        for _ in range(8):
            image = np.tanh(image + 0.1)
        return image, index % 10


def rows(torch: Any, count: int) -> Any:
    """Rows of tensors."""
    return torch.utils.data.TensorDataset(torch.zeros(count, 64), torch.zeros(count, dtype=torch.int64))


LOADERS: dict[str, tuple[Callable[[Any, int], Any], int, dict]] = {
    "rows of tensors": (rows, 20_000, {}),
    "images": (lambda torch, count: Images(count), 1_000, {}),
    "images, 2 workers": (
        lambda torch, count: Images(count),
        1_000,
        {"num_workers": 2, "persistent_workers": True},
    ),
}


def measured(library: str, name: str, quick: bool) -> dict[str, float]:
    """Run a loader in this process: seconds to the first batch, and samples per second of later passes."""
    torch = import_module(library)
    dataset, count, more = LOADERS[name]
    count = count // 20 if quick else count
    loader = torch.utils.data.DataLoader(dataset(torch, count), 64, shuffle=True, **more)
    began = perf_counter()
    batches = iter(loader)
    next(batches)
    first = perf_counter() - began
    sum(1 for _ in batches)
    return {"first batch": first, "samples per second": count / median(seconds(loader) for _ in range(PASSES))}


def seconds(loader: Any) -> float:
    """How long a pass takes."""
    began = perf_counter()
    for _ in loader:
        pass
    return perf_counter() - began


def in_fresh_process(*arguments: str) -> dict[str, float]:
    """The same, by another process."""
    command = [sys.executable, "-m", "benchmarks.loading", *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def loading(libraries: tuple[str, ...] = LIBRARIES, quick: bool = False) -> list[dict[str, Any]]:
    """All loaders; prints a row for each as it comes."""
    found = []
    for name in LOADERS:
        taken = {one: in_fresh_process(one, name, *(["--quick"] if quick else [])) for one in libraries}
        found.append({"loader": name, **taken})
        print(f"{name:20}", *(f"{one}: {row_of(taken[one])}" for one in taken), sep="  ")
    return found


def row_of(taken: dict[str, float]) -> str:
    """One library's part of a row.

    >>> row_of({"first batch": 0.25, "samples per second": 12345.6})
    'first batch 0.250 s, 12346 samples/s'
    """
    return f"first batch {taken['first batch']:.3f} s, {taken['samples per second']:.0f} samples/s"


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(measured(sys.argv[1], sys.argv[2], "--quick" in sys.argv)))
    else:
        loading(quick="--quick" in sys.argv)
