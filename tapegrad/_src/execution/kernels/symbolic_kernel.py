"""Kernels that are shared: one function of the host for all lengths of a structure.

Note [Symbolic kernels]
What is written for a shape class (Note [Shape classes] in ``dispatch/shape_class.py``) takes what its symbols and
floats are before the kernel's own arguments. So where the host would run the kernel anyway, because arrays are small,
lengths that are new need no kernel of their own: plans call the one function with their numbers. That of a ``relu`` of
``n0`` rows reads::

    def run(k0, x0):
        if type(x0) is ndarray:
            try:
                return quietly(body, k0, x0)
            except Exception:
                return None

Where arrays are large, or XLA would be quicker, it is still the host's turn while calls are cold (``CountedKernel``):
lengths that don't come back are never compiled.

``None`` says that this call is not for it (other values than NumPy's arrays, an error, another tier): whoever called
has a kernel made, which knows what to do (Note [Tiers] in ``tiers/tiered_kernel.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.execution.tiers.costs import is_worth_strips
from tapegrad._src.execution.tiers.entry import Nothing, is_concrete, quietly, quietly_with
from tapegrad._src.execution.tiers.host_trace import separated
from tapegrad._src.execution.tiers.settings import Tier, awaiting_decisions, hosted, settings
from tapegrad._src.execution.tiers.symbolic_trace import GeneralTrace
from tapegrad._src.tape.kept import defined

asarray = np.asarray

SMALL = 4096
"""Up to so many elements an array is small: it may be kept alive by a view of a part of it."""


class SymbolicKernel:
    """A kernel of a structure, for the host.

    Args:
        general: what was written.
        names: the symbols and floats of the structure.
        examples: the arguments as ``Kernel`` describes them; of shapes only the number is read.
        checked: how many of the first arguments may yet be arrays of other types than that.

    Attributes:
        run: ``run(*keys, *arguments)``: the results, or None if another one has to compute them.
        key_names: what plans call the keys.
    """

    __slots__ = ("run", "key_names", "tier", "_general", "_free", "_floats", "_checked", "_counted", "_pays",
                 "__weakref__")  # fmt: skip
    counts = False
    quietly: Callable = staticmethod(quietly)  # type: ignore[arg-type]

    def __init__(self, general: GeneralTrace, names: Sequence[str], examples: Sequence[Any], checked: int = 0) -> None:
        self._general, self._checked = general, checked
        self._counted: Any = partial(CountedKernel, general, names, examples, checked)
        self._pays = self.cold_calls(0) == self.cold_calls(2.0**40) == math.inf  # whatever the lengths
        self._free = [names.index(name) for name in general.free]
        self._floats = [index for index, name in enumerate(names) if name[0] == "p"]
        self.key_names = [f"k{i}" for i in range(checked + len(self._free) + len(self._floats))]
        self.run = defined(shared_lines(examples, self.key_names, checked, self.counts), "run", {
            "quietly": self.quietly, "body": general.body, "array": np.array, "asarray": asarray,
            "is_concrete": is_concrete,
            **{f"dtype{i}": dtype for i, dtype in enumerate(general.dtypes)},
            **{example.__name__: example for example in examples if isinstance(example, type)},
        })  # fmt: skip
        self.key_names = ["left", *self.key_names] if self.counts else self.key_names
        self.tier = Tier.NEW
        self.reset()
        awaiting_decisions.add(self)

    def keys(self, numbers: Sequence[Any], shapes: Sequence[Any] = (), size: Any = None) -> list[Any]:
        """The numbers given before the arguments: what symbols and floats are, and the shapes of checked arguments."""
        number = numbers.__getitem__
        floats = map(asarray, map(number, self._floats))
        return [*shapes[: self._checked], *map(number, self._free), *floats]

    def cold_calls(self, growth: float) -> float:
        """The number of calls that the host runs before it is worth to have XLA compile it."""
        least, cost = self._general.least, self._general.cost
        lost = least.host - least.xla + (cost.host - least.host - cost.xla + least.xla) * growth
        return math.inf if lost <= 0 else (least.compile + (cost.compile - least.compile) * growth) / lost

    def host_cost(self, growth: float) -> float:
        """The nanoseconds that a call takes on the host."""
        least, cost = self._general.least.host, self._general.cost.host
        return least + (cost - least) * growth

    def fitting(self, growth: float, small: bool) -> SymbolicKernel | None:
        """Itself, if the host runs it whatever comes; what counts calls, if that runs the first of them."""
        if small and self._pays:
            return self
        cold = self.cold_calls(growth)
        if small and cold == math.inf:
            return self
        if isinstance(self._counted, partial):
            self._counted = self._counted()
        return self._counted if cold >= FEW else None

    def reset(self) -> None:
        """See to it that the host runs nothing where all is XLA's."""
        self.tier = Tier.HOST if self._is_host() else Tier.XLA
        self.run.__globals__["ndarray"] = np.ndarray if self._is_host() else Nothing

    def _is_host(self) -> bool:
        return hosted()


FEW, MANY = 4, 8
"""The part of the cold calls of one length that is counted here is the ``FEW``th, of at most ``MANY`` calls."""


class CountedKernel(SymbolicKernel):
    """The same for large arrays: calls have one key more, which counts those that are left to it.

    What XLA has computed is read where it lies.
    """

    __slots__ = ()
    counts = True

    @staticmethod
    def quietly(body: Callable, *values: Any) -> Any:
        """The results of ``body``, which are no views of small parts of large arguments."""
        largest = max([value.nbytes for value in values if type(value) is np.ndarray])
        return separated(quietly_with(largest)(body, *values), largest)

    def keys(self, numbers: Sequence[Any], shapes: Sequence[Any] = (), size: Any = None) -> list[Any]:
        """As above, with how many calls are left to it."""
        cold = self.cold_calls(size[0])
        whole = cold == math.inf and not is_worth_strips(self.host_cost(size[0]))  # strips are for what comes back
        return [[cold if whole else min(cold / FEW, MANY)], *super().keys(numbers, shapes)]

    def _is_host(self) -> bool:
        return hosted() and not settings.deterministic


class FloatKernel:
    """A kernel that takes the floats among settings as arguments, where others are too large to be shared.

    Args:
        kernel: takes the floats first.
        names: the symbols and floats of the structure.

    Attributes:
        run, key_names: as ``SymbolicKernel`` has them; the keys are the floats.
    """

    __slots__ = ("key_names", "_run", "_floats")

    def __init__(self, kernel: Kernel, names: Sequence[str]) -> None:
        self._run = kernel.run
        self._floats = [index for index, name in enumerate(names) if name[0] == "p"]
        self.key_names = [f"k{i}" for i in range(len(self._floats))]

    def run(self, *values: Any) -> Any:
        """The results, or None if another one has to compute them."""
        try:
            return self._run(*values)
        except Exception:
            return None

    def keys(self, numbers: Sequence[Any], shapes: Sequence[Any] = (), size: Any = None) -> list[Any]:
        """The floats."""
        return [numbers[index] for index in self._floats]


Symbolic = SymbolicKernel | FloatKernel


def shared_lines(examples: Sequence[Any], keys: Sequence[str], checked: int, counts: bool = False) -> list[str]:
    """The source of a shared entry.

    >>> print("\\n".join(shared_lines([((3,), "f"), float], ["k0"], 0)[:4]))
    def run(k0, x0, x1):
        if type(x0) is ndarray and type(x1) is float:
            try:
                return quietly(body, k0, x0, array(x1, dtype1))
    """
    arguments = [f"x{i}" for i in range(len(examples))]
    checks, given, dtype = [], [], 0
    for name, example in zip(arguments, examples, strict=True):
        if example is type(None):
            checks.append(f"{name} is None")
            continue
        number = isinstance(example, type)
        checks.append(f"type({name}) is {example.__name__ if number else 'ndarray'}")
        given.append(f"array({name}, dtype{dtype})" if number else name)
        dtype += 1
    checks.sort(key=lambda check: not check.endswith("ndarray"))
    checks += [f"{arguments[i]}.dtype is dtype{i} and {arguments[i]}.shape == k{i}" for i in range(checked)]
    arrays = [x for x, example in zip(arguments, examples, strict=True) if not isinstance(example, type)]
    counting = ["    if left[0] < 1:", "        return None", "    left[0] -= 1"] if counts else []
    reading = [f"    {x} = {x} if type({x}) is ndarray or not is_concrete({x}) else asarray({x})" for x in arrays]
    return [
        f"def run({', '.join([*(['left'] if counts else []), *keys, *arguments])}):",
        *(counting + reading if counts else []),
        f"    if {' and '.join(checks)}:",
        "        try:",
        f"            return quietly({', '.join(['body', *keys[checked:], *given])})",
        "        except Exception:",
        "            return None",
    ]
