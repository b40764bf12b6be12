"""The loss of connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.bounds import differs, negative, numbers, outside, refuse_elements
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.writes.in_place import before_write
from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.execution.kernels.deferred_checks import Finding
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.losses import resolve_reduction
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arithmetic, ctc, reductions, selection
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.comparison import eq
from tapegrad.ops.kinds import cast
from tapegrad.ops.shape import view

REDUCTIONS = ("none", "mean", "sum")
"""PyTorch's numbers of reductions are their places here."""

WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _lengths(given: Any, name: str, device: Any) -> Tensor:
    """Lengths as a tensor of integers. Raises RuntimeError: other numbers."""
    if isinstance(given, Tensor):
        if given.dtype.category > 1:
            raise RuntimeError(f"{name} must be integral")
        return given if given.dtype is int64 else cast(given, dtype=int64)
    if not isinstance(given, Sequence):
        raise TypeError(f"ctc_loss(): argument '{name}' must be tuple of ints, not {type(given).__name__}")
    return tensor(list(given), dtype=int64, device=device)


def _check(log_probs: Tensor, targets: Tensor, steps: Tensor, lengths: Tensor, blank: int) -> int:
    """Refuse what doesn't fit; the greatest number of labels. Raises RuntimeError: PyTorch's messages."""
    refuse_dtypes("ctc_loss_cpu", log_probs._spec, bool=True, integral=True, complex=True)
    if log_probs.dtype.itemsize == 2:
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{log_probs.dtype.scalar_name}'")
    if log_probs.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for argument #1 'log_probs' "
            + WHERE
        )
    if targets.ndim not in (1, 2):
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets' {WHERE}"
        )
    batch = log_probs.shape[1]
    if not 0 <= blank < log_probs.shape[2]:
        raise RuntimeError("blank must be in label range")
    for name, one in (("input_lengths", steps), ("target_lengths", lengths)):
        if one._spec.numel != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    _refuse_lengths("target_lengths", lengths)
    counts = numbers(lengths)
    if counts is None:
        _check_targets_later(targets, lengths)
    size = targets.shape[-1] if counts is None else int(counts.max(initial=0))
    _check_targets(targets, batch, size, None if counts is None else int(counts.sum()))
    _check_steps(steps, log_probs.shape[0])
    return size


def _check_targets(targets: Tensor, batch: int, size: int, total: int | None) -> None:
    if targets.ndim == 2:
        if targets.shape[0] != batch:
            raise RuntimeError(
                f"Expected tensor to have size {batch} at dimension 0, but got size {targets.shape[0]} for argument #2 "
                f"'targets' {WHERE}"
            )
        if targets.shape[1] < size:
            raise RuntimeError(
                f"Expected tensor to have size at least {size} at dimension 1, but got size {targets.shape[1]} for "
                f"argument #2 'targets' {WHERE}"
            )
    elif total is not None and targets.shape[0] != total:
        raise RuntimeError(
            f"Expected tensor to have size {total} at dimension 0, but got size {targets.shape[0]} for argument #2 "
            f"'targets' {WHERE}"
        )


def _check_targets_later(targets: Tensor, lengths: Tensor) -> None:
    """The part of ``_check_targets`` that depends on lengths that are not known yet."""
    size, fits = targets.shape[-1], "size at least" if targets.ndim == 2 else "size"
    text, which = f"Expected tensor to have {fits}", targets.ndim - 1

    def complaint(found: Finding) -> Exception:
        got = f"but got size {size} for argument #2 'targets' {WHERE}"
        return RuntimeError(f"{text} {found.number} at dimension {which}, {got}")

    if targets.ndim == 2:
        refuse_elements(lengths, outside, 0, size + 1, complaint=complaint)
    else:
        refuse_elements(reductions.sum_all(lengths), differs, size, complaint=complaint)


def _check_steps(steps: Tensor, longest: int) -> None:
    _refuse_lengths("input_lengths", steps)
    text = f"Expected input_lengths to have value at most {longest}, but got value"
    refuse_elements(
        steps, outside, 0, longest + 1, complaint=lambda found: RuntimeError(f"{text} {found.number} {WHERE}")
    )


def _refuse_lengths(name: str, lengths: Tensor) -> None:
    text = f"Expected {name} to have value at least 0, but got value"
    refuse_elements(lengths, negative, complaint=lambda found: RuntimeError(f"{text} {found.number} {WHERE}"))


@public("torch")
def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The loss of each sequence, and the logarithms from which it and its gradient are computed."""
    steps = _lengths(input_lengths, "input_lengths", log_probs.device)
    lengths = _lengths(target_lengths, "target_lengths", log_probs.device)
    if not log_probs._spec.numel:
        raise RuntimeError("log_probs tensor must not be empty")
    longest = _check(log_probs, targets, steps, lengths, blank)
    targets = targets if targets.dtype is int64 else cast(targets, dtype=int64)
    steps, lengths = map(before_write, (steps, lengths))  # PyTorch takes them as numbers: no write reaches them
    steps, lengths = (view(one, shape=(one._spec.numel,)) if one.ndim != 1 else one for one in (steps, lengths))
    settings = {"longest": longest, "blank": blank, "zero_infinity": bool(zero_infinity)}
    return ctc.ctc_loss(log_probs, targets, steps, lengths, **settings)


@public("torch", name="ctc_loss")
def torch_ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """See ``torch.nn.functional.ctc_loss``; ``reduction`` is 0 (which PyTorch takes without one, whatever its
    signature says) for none, 1 for the mean, 2 for the sum."""
    batched = log_probs.ndim == 3
    if not batched and log_probs.ndim == 2:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.ndim == 1 else targets
    loss = _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = selection.where(eq(loss, float("inf")), 0.0, loss)
    if reduction == 1:
        lengths = _lengths(target_lengths, "target_lengths", log_probs.device)
        return reductions.mean_all(arithmetic.div(loss, selection.clamp_min(lengths, 1)))
    if reduction == 2:
        return reductions.sum_all(loss)
    return loss if batched else loss.squeeze(0)


@public("nn.functional")
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of how likely labels are, over all ways to spread them over time.

    ``log_probs`` is (steps, batch, classes), results of ``log_softmax``, or without the batch; ``targets`` (batch, S),
    or all labels behind one another. Of these, ``input_lengths`` steps and ``target_lengths`` labels count. The mean is
    that of losses over the number of labels. ``zero_infinity`` makes impossible ones 0, without gradient.

    Args:
        log_probs, targets, input_lengths, target_lengths, blank, zero_infinity: as there.

    Raises:
        RuntimeError: shapes or lengths that don't fit, a ``blank`` that is no class.
        NotImplementedError: dtypes other than float32 and float64.
        ValueError: an unknown ``reduction``.

    >>> even = torch.zeros(2, 1, 2).log_softmax(2)
    >>> torch.nn.functional.ctc_loss(even, torch.tensor([[1]]), [2], [1]).exp()
    tensor(1.3333)
    >>> torch.ctc_loss(torch.zeros(2, 1, 3), torch.tensor([[1]]), (2,), (1,), 0, 2)
    tensor(-1.0986)
    """
    number = REDUCTIONS.index(resolve_reduction(reduction))
    return torch_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)
