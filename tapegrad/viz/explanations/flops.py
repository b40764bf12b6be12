"""``torch.utils.flop_counter``: how many multiplications and additions the products of a block take.

As in PyTorch only matrix products, convolutions and attention are counted, two for each pair of numbers that are
multiplied. The backward pass multiplies once more for each operand that wants a gradient: that is counted by a hook on
the node, when it runs in the block.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Self
from weakref import WeakKeyDictionary

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn.modules.hooks import register_module_forward_hook, register_module_forward_pre_hook
from tapegrad.ops.overloads import OpOverloadPacket, aten
from tapegrad.utils._pytree import tree_leaves, tree_map
from tapegrad.utils.operator_modes import OperatorMode

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict[Any, Callable[..., int]] = {}
"""For operators that programs have registered the functions that count."""


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable], Callable]:
    """Decorate a function that tells how many operations an operator takes.

    Args:
        targets: an operator, such as ``torch.ops.mylib.f``, or several in a list.
        get_raw: whether the function is given the operator's arguments and, as ``out_val``, its result; otherwise it
            is given the shapes of those that are tensors, and ``out_shape``.

    Raises:
        ValueError: something is no operator.
        RuntimeError: it has such a function.
    """

    def register(formula: Callable) -> Callable:
        counts = formula if get_raw else of_shapes(formula)
        for target in tree_leaves(targets):
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got {target} which is of type "
                    f"{type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = counts
        return counts

    return register


def of_shapes(formula: Callable) -> Callable:
    """A function of tensors that gives their shapes to another one."""

    def counts(*args: Any, out_val: Any = None, **settings: Any) -> int:
        args, settings, out = tree_map(shape_if_tensor, (args, settings, out_val))
        return formula(*args, out_shape=out, **settings)

    return counts


def shape_if_tensor(value: Any) -> Any:
    """The shape of a tensor; anything else as it is."""
    return value.shape if isinstance(value, Tensor) else value


def _product(op: OperatorLike, kind: str, out: Any, args: tuple, settings: dict) -> tuple[int, Sequence[Any]] | None:
    """The number of pairs of numbers that a product multiplies, and its operands; None if the operator is no
    product."""
    given = dict(zip(op.inputs, args, strict=False))
    if "equation" in settings:
        terms = settings["equation"].partition("->")[0].split(",")
        sizes = dict(pair for term, one in zip(terms, args, strict=True) for pair in zip(term, one.shape, strict=True))
        return math.prod(sizes.values()), args
    if kind.endswith("_for_cpu"):  # PyTorch counts no attention that one kernel of a CPU computes
        return None
    if "attention" in kind:
        q, k, v = (given[name] for name in "qkv")
        return math.prod(q.shape[:-1]) * k.shape[-2] * (q.shape[-1] + v.shape[-1]), (q, k)
    if "convolution" in kind:
        x, weight = given["x"], given["weight"]
        return (x if "output_size" in settings else out).numel() * math.prod(weight.shape[1:]), (x, weight)
    if kind.removeprefix("aten.") in ("mm", "addmm", "bmm", "baddbmm"):
        x, y = given["x"], given["y"] if "y" in given else given["weight"]
        return out.numel() * x.shape[-1], (x, y)
    return None


SUFFIXES = ("", "K", "M", "B", "T")


class FlopCounterMode(OperatorMode):
    """A context that counts: in all (``"Global"``), and for each module that is called meanwhile.

    Args:
        mods: nothing; PyTorch needs it no longer.
        depth: how deep modules may lie that are shown.
        display: whether a table is printed in the end; it needs the package tabulate.
        custom_mapping: for more operators functions that count, as ``register_flop_formula`` takes them; one that is to
            be given tensors has an attribute ``_get_raw``.

    >>> with FlopCounterMode(display=False) as counter:
    ...     torch.nn.Linear(3, 2)(torch.ones(5, 3)).sum().backward()
    >>> counter.get_total_flops(), counter.get_flop_counts()["Linear"]
    (120, {<OpOverloadPacket(op='aten.addmm')>: 60, <OpOverloadPacket(op='aten.mm')>: 60})
    """

    def __init__(
        self, mods: Any = None, depth: int | None = 2, display: bool = True, custom_mapping: dict | None = None
    ) -> None:
        super().__init__()
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        self.depth, self.display = depth, display
        self._formulas = {
            target: formula if getattr(formula, "_get_raw", False) else of_shapes(formula)
            for target, formula in (custom_mapping or {}).items()
        }
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._within = ["Global"]

    def handle(self, op: OperatorLike, func: Any, args: tuple, settings: dict) -> Any:
        """Compute, and count."""
        out = op(*args, **settings)
        kind, result = str(func.overloadpacket), out[0] if isinstance(out, tuple) else out
        if self.notify(func, args, settings, out):
            return out
        counted = _product(op, kind, result, args, settings)
        if counted is not None:
            flops, within = 2 * counted[0], list(self._within)
            name = "bmm" if "attention" in kind else kind.removeprefix("aten.")
            plain = name.removeprefix("b" * name.startswith("badd") + "add")
            backward = "convolution_backward" if name == "convolution" else plain
            self._add(within, getattr(aten, name), flops)
            grouped = settings.get("groups", 1) if "convolution" in kind else 1
            x, *weights = counted[1]  # for gradients of weights PyTorch counts groups as if all channels met
            wanted = x.requires_grad + grouped * sum(one.requires_grad for one in weights)
            if wanted and result.grad_fn is not None:
                result.grad_fn.register_prehook(lambda _: self._add(within, getattr(aten, backward), wanted * flops))
        return out

    def notify(self, func: Any, args: tuple, kwargs: dict, out: Any) -> bool:
        """Count a call of an operator by the formula that a program has for it; False if it has none."""
        formula = self._formulas.get(func.overloadpacket) or flop_registry.get(func.overloadpacket)
        if formula is not None:
            self._add(self._within, func.overloadpacket, formula(*args, **kwargs, out_val=out))
        return formula is not None

    def _add(self, within: list[str], kind: Any, flops: int) -> None:
        if self._entered:
            for name in within:
                self.flop_counts[name][kind] += flops

    def _begin(self, module: Any, given: Any) -> None:
        own = self._names.setdefault(module, type(module).__name__)
        for name, child in module.named_children():
            self._names.setdefault(child, f"{own}.{name}")
        self._within.append(own)

    def _end(self, module: Any, given: Any, result: Any) -> None:
        self._within.pop()

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self._handles = register_module_forward_pre_hook(self._begin), register_module_forward_hook(self._end)
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        for handle in self._handles:
            handle.remove()
        del self._within[1:]  # what an exception has left
        if self.display:
            print(self.get_table())

    def get_total_flops(self) -> int:
        """All of them."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """For each module, and ``"Global"``, how many there were of each kind."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Give the counts as a table.

        Args:
            depth: how deep modules may lie; None for that of the counter.
        """
        import tabulate  # type: ignore[import-untyped]

        tabulate.PRESERVE_WHITESPACE = True
        depth, total = depth or self.depth or 999999, self.get_total_flops()
        names = sorted(name for name in self.flop_counts if name != "Global" and name.count(".") < depth)
        whole = any(sum(self.flop_counts[name].values()) >= total for name in names)
        rows = [row for name in names for row in self._rows(name, " " * (name.count(".") + (not whole)), total)]
        rows = rows if whole else self._rows("Global", "", total) + rows
        return tabulate.tabulate(rows or [["Global", "0", "0%"]], headers=["Module", "FLOP", "% Total"],
                                 colalign=("left", "right", "right"))  # fmt: skip

    def _rows(self, name: str, indent: str, total: int) -> list[list[str]]:
        power = max(0, min(len(SUFFIXES) - 1, (len(str(total)) - 2) // 3))
        counts = self.flop_counts[name]
        return [
            [indent + label, f"{flops / 1000**power:.3f}{SUFFIXES[power]}", f"{flops / total:.2%}" if total else "0%"]
            for label, flops in [(name, sum(counts.values())), *((f" - {kind}", n) for kind, n in counts.items())]
        ]
