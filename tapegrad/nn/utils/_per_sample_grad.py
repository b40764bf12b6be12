"""``call_for_per_sample_grads``: gradients of a module's parameters, sample by sample. opacus asks for it.

Note [Expanded weights]
While a module is called its parameters are ``ExpandedWeight``s, which override functions. The functions of layers that
treat the samples of a batch one by one are run as a custom function: its backward differentiates the function at each
sample, mapped over the batch, and puts what comes out in ``grad_sample`` of the parameter, whose ``grad`` stays as it
is. PyTorch has a formula for each of these functions; here it is the function's own, under ``vmap``. Recurrent layers,
which PyTorch takes apart, are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.function import Function
from tapegrad.func import functional_call, vjp, vmap
from tapegrad.nn import functional as F
from tapegrad.nn.modules.module import Module
from tapegrad.utils import _pytree as pytree


class ExpandedWeight(Tensor):
    """A parameter that is to get its gradients by sample: see Note [Expanded weights]."""

    orig_weight: Tensor
    batch_size: int
    loss_reduction: str

    @staticmethod
    def of(weight: Tensor, batch_size: int, loss_reduction: str) -> Tensor:
        """Stand for a parameter, if it requires grad; otherwise it is itself."""
        if not weight.requires_grad:
            return weight
        made = Tensor._make_subclass(ExpandedWeight, weight, True)
        made.orig_weight, made.batch_size, made.loss_reduction = weight, batch_size, loss_reduction
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") == "__get__":
            return func(args[0].orig_weight, *args[1:])
        if not treats_samples_apart(func):
            raise RuntimeError(f"Expanded Weights encountered but cannot handle function {func.__name__}")
        names = tuple(kwargs or ())
        return _PerSample.apply(func, names, *args, *(kwargs or {}).values())


def treats_samples_apart(func: Any) -> bool:
    """Tell whether a function of layers treats the samples of a batch one by one."""
    return func in (
        F.linear, F.conv1d, F.conv2d, F.conv3d, F.embedding, F.layer_norm, F.group_norm, F.instance_norm
    )  # fmt: skip


def original(value: Any) -> Any:
    """The parameter that a value stands for, or the value itself."""
    return value.orig_weight if isinstance(value, ExpandedWeight) else value


class _PerSample(Function):
    """A function of layers; its backward gives gradients of parameters by sample."""

    @staticmethod
    def forward(ctx: Any, func: Callable, names: tuple[str, ...], *values: Any) -> Tensor:
        _check(func, values)
        ctx.func, ctx.names, ctx.values = func, names, values
        return _called(func, names, [original(value) for value in values])

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        func, names, values = ctx.func, ctx.names, ctx.values
        plain = [original(value) for value in values]
        places = [place for place, value in enumerate(values) if isinstance(value, ExpandedWeight)]

        def of_sample(sample: Tensor, grad: Tensor) -> Any:
            def at(*weights: Tensor) -> Tensor:
                given = dict(zip(places, weights, strict=True))
                first = sample.unsqueeze(0)
                if func is F.embedding:  # PyTorch gives gradients of what is padding, too
                    return func(first, given[1])
                return _called(func, names, [first, *[given.get(k, v) for k, v in enumerate(plain)][1:]])

            return vjp(at, *[plain[place].detach() for place in places])[1](grad.unsqueeze(0))

        for place, grads in zip(places, vmap(of_sample)(values[0].detach(), grad_output), strict=True):
            _add_samples(values[place], grads)
        if not values[0].requires_grad:
            return (None,) * (2 + len(values))
        (grad_input,) = vjp(lambda x: _called(func, names, [x, *plain[1:]]), values[0].detach())[1](grad_output)
        return None, None, grad_input, *[None] * (len(values) - 1)


def _called(func: Callable, names: tuple[str, ...], values: list[Any]) -> Tensor:
    """Call a function, whose last arguments are those of these names."""
    count = len(values) - len(names)
    return func(*values[:count], **dict(zip(names, values[count:], strict=True)))


def _add_samples(weight: Any, grads: Tensor) -> None:
    """Add gradients by sample to those that a parameter has."""
    if weight.loss_reduction == "mean":
        grads = grads * weight.batch_size
    before = getattr(weight.orig_weight, "grad_sample", None)
    weight.orig_weight.grad_sample = grads if before is None else before + grads


def _check(func: Callable, values: tuple[Any, ...]) -> None:
    """Refuse inputs without samples, or with another number of them. PyTorch's errors."""
    first = values[0]
    kind, name = type(first).__name__, func.__name__
    if isinstance(first, ExpandedWeight):
        raise RuntimeError(
            "Expanded Weights do not support inputs that are also ExpandedWeights. "
            f"Input must be a Tensor, got {kind} in function {name}"
        )
    if func is F.linear and first.ndim <= 1:
        raise RuntimeError(
            "Input does not have a batch dimension. Expanded Weights expected input "
            f"of at least rank 2, got of rank {first.ndim}"
        )
    if not first.ndim:
        raise RuntimeError(f"Expanded Weights requires a batch dimension but got an input of size 0 in function {name}")
    if not first.shape[0]:
        raise RuntimeError(
            f"0 is not a valid batch size for Expanded Weights but got input tensor of {first} in function {name}"
        )
    for value in values:
        if isinstance(value, ExpandedWeight) and value.batch_size != first.shape[0]:
            raise RuntimeError(
                "Expected ExpandedWeights to have batch size matching input but got "
                f"input batch size of {first.shape[0]} with ExpandedWeight of batch size {value.batch_size}"
            )


def _batch_size_of(args: Any, kwargs: Any, batch_first: bool) -> int:
    """The number of samples of the tensors among arguments."""
    found = None
    for leaf in pytree.tree_leaves((args, kwargs)):
        if isinstance(leaf, Tensor):
            size = leaf.shape[0] if batch_first else leaf.shape[1]
            if found is not None and found != size:
                raise RuntimeError(
                    "When computing batch size, found at least one input with batch size "
                    f"{found} and one with batch size {size}. Please specify it "
                    "explicitly using the batch size kwarg in call_for_per_sample_grads"
                )
            found = size
    if found is None:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able "
            "and so ExpandedWeights cannot compute the batch size from the inputs. Please specify "
            "it explicitly"
        )
    return found


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """Give the forward function of a module, whose backward pass gives gradients by sample.

    They are in ``grad_sample`` of each parameter, whose shape has the batch in front; ``grad`` stays as it is.

    Args:
        module: layers that treat samples one by one: linear, convolutions, embeddings, layer, group and instance norms.
        batch_size: the number of samples; None takes it from the arguments.
        loss_reduction: ``"mean"`` multiplies the gradients by the number of samples; or ``"sum"``.
        batch_first: whether the first dimension of the arguments counts the samples, or the second.

    Raises:
        RuntimeError: no module, or another reduction; parameters have ``grad_sample`` already; when it is called: the
            number of samples isn't known, or a layer is of another kind.

    >>> layer = torch.nn.Linear(2, 1)
    >>> call_for_per_sample_grads(layer)(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    >>> layer.weight.grad_sample.tolist(), layer.weight.grad
    ([[[1.0, 2.0]], [[3.0, 4.0]]], None)
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple "
                f"calls without clearing gradients. Please clear out the grad_sample parameter of {weight} or "
                "post an issue to pytorch/pytorch to prioritize correct behavior"
            )

    @wraps(module.forward)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        size = _batch_size_of(args, kwargs, batch_first) if batch_size is None else batch_size
        weights = {name: ExpandedWeight.of(value, size, loss_reduction) for name, value in module.named_parameters()}
        return functional_call(module, weights, args, kwargs)

    return wrapper
