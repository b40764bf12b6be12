"""``Variable``, as tensors that require grad were once called, and the engine as it is known by that name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tapegrad._src.functions.construction import tensor
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.differentiate import engine, run_backward
from tapegrad.autograd.graph_task import is_checkpoint_valid

__all__ = ["Variable", "VariableMeta", "variable"]


class ImperativeEngine:
    """The engine, under the names of its methods in PyTorch."""

    @staticmethod
    def run_backward(
        tensors: Sequence[Any], grad_tensors: Sequence[Any], keep_graph: bool, create_graph: bool,
        inputs: Sequence[Any] = (), allow_unreachable: bool = False, accumulate_grad: bool = False,
    ) -> tuple:  # fmt: skip
        """Run backward from tensors that all have a gradient; see ``autograd.grad``, which makes those and checks."""
        results = run_backward(
            tensors, grad_tensors, keep_graph, create_graph, inputs, accumulate_grad, allow_unreachable
        )
        return tuple(results)

    @staticmethod
    def queue_callback(callback: Callable[[], None]) -> None:
        """Run ``callback`` when the backward call that runs now has finished.

        Raises:
            RuntimeError: outside a backward call.
        """
        engine.queue_callback(callback)

    is_checkpoint_valid = staticmethod(is_checkpoint_valid)


class VariableMeta(type):
    """Every tensor is an instance of ``Variable``."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """The tensors of old: calling it gives a tensor on the data of another one.

    Args:
        volatile: ignored, as further arguments are.

    >>> x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    >>> x, type(x).__name__, isinstance(x, torch.autograd.Variable)
    (tensor([1., 1.], requires_grad=True), 'Tensor', True)
    """

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: Any = False, volatile: Any = False, **ignored: Any) -> Any:
        if data is None:
            data = tensor([])
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        result = data.detach()
        result.requires_grad = bool(requires_grad)
        return result


def variable(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse the call that made tensors before ``torch.tensor`` did.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


variable.Variable = Variable  # type: ignore[attr-defined]  # it hides this module
