"""``associative_scan``: what a function of two makes of the first slices, for each number of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.functions.arrangement import flip
from tapegrad._src.functions.joining import cat, stack
from tapegrad._src.functions.shape import movedim
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import flatten, map_leaves, unflatten
from tapegrad.func.mapping import vmap

TOO_FEW = "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"


def associative_scan(
    combine_fn: Callable, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """The slices of ``xs``, each combined with all before it, in as many rounds as the number of slices has bits.

    Neighbours are combined, the half as many results are scanned, and what is between is combined with them: the
    scheme of Blelloch. Each round is a ``vmap`` of ``combine_fn``, so that all of it can be differentiated, transformed
    and compiled.

    Args:
        combine_fn: an associative function of two trees of slices, that returns such a tree.
        xs: a tree of tensors with as many slices each.
        dim: the dimension of the slices.
        reverse: whether each is combined with all behind it.
        combine_mode: ``"generic"``; ``"pointwise"`` is for graphics cards alone.

    Raises:
        ValueError: what can't be called, another mode, leaves that are no tensors, no slices.
        RuntimeError: ``reverse`` is no bool.

    >>> from tapegrad._higher_order_ops import associative_scan
    >>> associative_scan(torch.mul, torch.arange(1.0, 6.0), 0, combine_mode="generic")
    tensor([  1.,   2.,   6.,  24., 120.])
    """
    leaves, spec = flatten(xs)
    dim = wrap_dim(dim, leaves[0].ndim)
    check(combine_fn, leaves, dim, reverse, combine_mode)
    leaves = [movedim(leaf, dim, 0) for leaf in leaves]
    leaves = [flip(leaf, [0]) for leaf in leaves] if reverse else leaves
    mapped = vmap(combine_fn)

    def combine(left: Sequence[Tensor], right: Sequence[Tensor]) -> list[Tensor]:
        results = flatten(mapped(unflatten(left, spec), unflatten(right, spec)))[0]
        if len(results) != len(leaves):
            expected, got = 2 * len(leaves), len(results) + len(results if left[0].shape[0] > 1 else leaves)
            raise AssertionError(f"Combine_fn received wrong number of arguments, expected {expected}, but got {got}")
        return results

    results = scanned(combine, leaves)
    results = [flip(leaf, [0]) for leaf in results] if reverse else results
    return map_leaves(lambda leaf: movedim(leaf, 0, dim), unflatten(results, spec))


def check(combine_fn: Any, leaves: Sequence[Any], dim: int, reverse: Any, combine_mode: Any) -> None:
    """Refuse what PyTorch refuses, in its words and order."""
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if combine_mode == "pointwise" and not all(leaf.device.type in ("cuda", "xpu") for leaf in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    if any(not isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if any(leaf.ndim <= dim or leaf.shape[dim] == 0 for leaf in leaves):
        raise ValueError(TOO_FEW)


def scanned(combine: Callable, leaves: Sequence[Tensor]) -> list[Tensor]:
    """The scan over the first dimension."""
    rounds = []
    while leaves[0].shape[0] > 1:  # neighbours are combined, until one is left
        rounds.append(leaves)
        leaves = combine([leaf[:-1:2] for leaf in leaves], [leaf[1::2] for leaf in leaves])
    odd = list(leaves)
    for whole in reversed(rounds):
        odd = between(combine, whole, odd)
    return odd


def between(combine: Callable, whole: Sequence[Tensor], odd: Sequence[Tensor]) -> list[Tensor]:
    """The scan of all slices, given that of the pairs, which is right at odd places."""
    behind = [leaf[2::2] for leaf in whole]
    if not behind[0].shape[0]:
        return [interleaved(leaf[:1], results) for leaf, results in zip(whole, odd, strict=True)]
    even = combine([leaf[: len(behind[0])] for leaf in odd], behind)
    heads = [cat([leaf[:1], results]) for leaf, results in zip(whole, even, strict=True)]
    return [interleaved(*pair) for pair in zip(heads, odd, strict=True)]


def interleaved(even: Tensor, odd: Tensor) -> Tensor:
    """Slices in turns; of the first there may be one more."""
    pairs = stack([even[: len(odd)], odd], dim=1).flatten(0, 1)
    return cat([pairs, even[-1:]]) if len(even) > len(odd) else pairs
