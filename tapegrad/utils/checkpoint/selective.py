"""Selective checkpoints: a policy says which results of operators are kept and not computed again.

Note [Kept results]
In the first run each operator's result is shown to the policy. Those to be kept are stored detached, by the operator's
name and by how often it ran before. When the function runs again, such a call is recorded as always, but its values
come out of the storage (``dispatch.call.replay``); each can be taken once.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tapegrad._src.dispatch.call_cache import replay
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor, value_of, version_of
from tapegrad.ops.overloads import OpOverload, OpOverloadPacket, aten, prim
from tapegrad.utils.operator_modes import OperatorMode, each_output, in_pytorch_words

SAC_IGNORED_OPS = {aten.detach.default, prim.device.default}
"""Operators that are neither shown to policies nor counted: the two runs differ in them."""

_RECOMPUTE, _CONSUMED = object(), object()

_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class CheckpointPolicy(enum.Enum):
    """The fate of an operator's result. ``MUST_`` and ``PREFER_`` mean the same here.

    ``SAVE``: it is kept. ``RECOMPUTE``: it is computed again. ``CPU_OFFLOAD``: it is computed again too.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """The facts that a policy learns besides the operator and its arguments.

    Attributes:
        is_recompute: False: policies are asked in the first run only.
        op_output: the operator's result, detached.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """A result, and its version when it was kept."""

    def __init__(self, val: Tensor) -> None:
        self.val = val
        self.version = version_of(val)

    def value(self, allow_mutation: bool) -> Any:
        if version_of(self.val) != self.version and not allow_mutation:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return value_of(self.val)


Storage = dict[OpOverload, dict[int, Any]]


class _CachingTorchDispatchMode(OperatorMode):
    """The context of the first run: asks the policy, and fills the storage. See Note [Kept results]."""

    def __init__(self, policy_fn: Callable, storage: Storage) -> None:
        super().__init__()
        self.policy_fn, self.storage = policy_fn, storage
        self.func_counter: dict[OpOverload, int] = defaultdict(int)

    def handle(self, op: OperatorLike, func: OpOverload, args: tuple, settings: dict) -> Any:
        out = op(*args, **settings)
        if func in SAC_IGNORED_OPS:
            return out
        index = self.func_counter[func]
        self.func_counter[func] += 1
        seen = each_output(out, lambda tensor: tensor.detach())
        context = SelectiveCheckpointContext(is_recompute=False, op_output=seen)
        policy = self.policy_fn(context, func, *args, **in_pytorch_words(settings))
        keep = policy is True or policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
        self.storage[func][index] = each_output(seen, _Kept) if keep else _RECOMPUTE
        return out


class _CachedTorchDispatchMode(OperatorMode):
    """The context of the second run: takes results out of the storage. See Note [Kept results]."""

    def __init__(self, policy_fn: Any, storage: Storage, allow_cache_entry_mutation: bool = False) -> None:
        super().__init__()
        self.storage, self.allow_cache_entry_mutation = storage, allow_cache_entry_mutation
        self.func_counter: dict[OpOverload, int] = defaultdict(int)

    def __enter__(self) -> _CachedTorchDispatchMode:
        self.func_counter.clear()
        super().__enter__()
        return self

    def handle(self, op: OperatorLike, func: OpOverload, args: tuple, settings: dict) -> Any:
        if func in SAC_IGNORED_OPS:
            return op(*args, **settings)
        index = self.func_counter[func]
        self.func_counter[func] += 1
        if self.storage.get(func, {}).get(index) is _RECOMPUTE:
            return op(*args, **settings)
        if thread.writing is not None:
            thread.writing.replayed = True
        return replay(op, args, settings, lambda: self._take(func, index))

    def _take(self, func: OpOverload, index: int) -> Any:
        """The value of a kept result, or of several, which leave the storage."""
        entries = self.storage.get(func)
        if entries is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        entry = entries.get(index)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {index} encountered during backward but not found in storage. {_MISMATCH}"
            )
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        entries[index] = _CONSUMED
        return each_output(entry, lambda kept: kept.value(self.allow_cache_entry_mutation))


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[_CachingTorchDispatchMode, _CachedTorchDispatchMode]:
    """Contexts for ``checkpoint(context_fn=...)`` under which some results are kept and not computed again.

    Policies are asked for operators as they run here, by PyTorch's names, such as ``torch.ops.aten.mm.default``.

    Args:
        policy_fn_or_list: a function ``policy(ctx, op, *args, **kwargs)`` of a ``SelectiveCheckpointContext``, an
            operator's identity and its arguments, which returns a ``CheckpointPolicy`` (or a bool: whether to keep
            the result); or a list of the operators whose results are kept.
        allow_cache_entry_mutation: take kept results also if they have been written to since.

    Raises:
        ValueError: a list of something else than overloads, such as ``torch.ops.aten.mm.default``.
        TypeError: neither a function nor a list.

    >>> import functools
    >>> from tapegrad.utils.checkpoint import checkpoint
    >>> x = torch.eye(2, requires_grad=True)
    >>> keep = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> y = checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=keep)
    >>> y.sum().backward()
    >>> x.grad.shape
    torch.Size([2, 2])
    """
    if isinstance(policy_fn_or_list, list):
        policy = _policy_of(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: Storage = defaultdict(dict)
    return (
        _CachingTorchDispatchMode(policy, storage),
        _CachedTorchDispatchMode(None, storage, allow_cache_entry_mutation),
    )


def _policy_of(ops: list) -> Callable:
    """The policy that keeps the results of these operators."""
    for op in ops:
        if not isinstance(op, OpOverload):
            hint = ""
            if isinstance(op, OpOverloadPacket):
                hint = (
                    "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
                    "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                )
            raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}")

    def policy(context: SelectiveCheckpointContext, op: OpOverload, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if op in ops else CheckpointPolicy.PREFER_RECOMPUTE

    return policy
