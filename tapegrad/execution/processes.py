"""Several processes of one program: which of them this is, and whether they are about to do the same.

Note [Agreement]
Processes that hand XLA different programs get one another's numbers, and no error. So before a program is compiled that
spans several, and before a backward pass, they compare what they are about to do, by a list of lines that each has
written down (``agree``): operators and shapes. Where one differs, all of them raise. A compiled program is compared
once; backward passes are compared as often as ``every`` says, counted alike by all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax


class Processes:
    """The processes that compute together.

    Attributes:
        rank: which of them this is.
        count: how many there are; 0 if they have not met.
        compare: compares lines with those of the others; None where there are no others.
        every: how many backward passes there are for each that is compared.
    """

    rank = count = passes = 0
    every = 100
    compare: Callable[[str, list[str]], None] | None = None

    def agree(self, what: str, values: Iterable[Any], lines: Callable[[], list[str]]) -> None:
        """Compare what is about to be done, if that spans several processes.

        Args:
            what: what it is called, in messages.
            values: what it is done with.
            lines: gives what it is, a line for each operator.

        Raises:
            RuntimeError: another process is about to do something else.
        """
        if self.compare is not None and any(map(spans, values)):
            self.compare(what, lines())

    def agree_on_pass(self, values: Iterable[Any], lines: Callable[[], list[str]]) -> None:
        """``agree``, for a backward pass: the first one, and one of so many."""
        if self.compare is None or not any(map(spans, values)):
            return
        self.passes += 1
        if (self.passes - 1) % self.every == 0:
            self.compare("a backward pass", lines())


def spans(value: Any) -> bool:
    """Whether an array is spread over devices of several processes.

    >>> spans(jax.numpy.ones(2)), spans(3)
    (False, False)
    """
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and not value.is_fully_addressable


processes = Processes()
"""Those that this process has met."""
