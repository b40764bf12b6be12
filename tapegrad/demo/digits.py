"""Scikit-learn's handwritten digits: 1,797 pictures of 8 by 8 pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tapegrad.errors import message


class MissingExtraError(ImportError):
    """A package that the demo needs is not installed; the text names the extra that brings it."""


@dataclass(frozen=True)
class Digits:
    """Pictures (count, 1, 8, 8) in float32 between 0 and 1, and labels (count,) in int64."""

    pictures: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def batches(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Digits]:
        """Batches of ``size``, shuffled if ``rng`` is given; pictures that do not fill a last batch are left out.

        Batches of one size share their compiled kernels.
        """
        order = np.arange(len(self)) if rng is None else rng.permutation(len(self))
        for start in range(0, len(self) - size + 1, size):
            chosen = order[start : start + size]
            yield Digits(self.pictures[chosen], self.labels[chosen])


def missing(package: str, error: ImportError) -> MissingExtraError:
    """The message to somebody who lacks a package of the demo."""
    return MissingExtraError(
        message(f"the demo needs {package}, which is not installed", hint="pip install 'tapegrad[demo]' brings it"),
        name=error.name,
    )


def load(rng: np.random.Generator, *, test_share: float = 0.2) -> tuple[Digits, Digits]:
    """The digits, split at random into pictures to learn from and pictures to be tested on.
    Raises MissingExtraError: without scikit-learn.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise missing("scikit-learn", error) from error
    data = load_digits()
    order = rng.permutation(len(data.target))
    pictures = (data.images[order, None] / 16).astype(np.float32)
    labels = data.target[order].astype(np.int64)
    kept = round(len(labels) * (1 - test_share))
    return Digits(pictures[:kept], labels[:kept]), Digits(pictures[kept:], labels[kept:])
