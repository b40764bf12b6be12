"""``prune``: parts of a parameter are zero, and stay so: a mask is multiplied with it before each call.

Note [Pruned parameters]
A pruned parameter ``name`` is the parameter ``name_orig`` times the buffer ``name_mask``; a hook puts the product in
its place before each call. To prune it again keeps what is zero: a ``PruningContainer`` has all methods that were
applied, and combines their masks.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from tapegrad._src.functions.creation import ones_like, zeros_like
from tapegrad._src.functions.norms import norm
from tapegrad._src.functions.random import rand, rand_like
from tapegrad._src.functions.sorting import kthvalue, topk
from tapegrad.nn.utils.convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """A way to prune: a class says by ``compute_mask`` what stays, and by ``PRUNING_TYPE`` what it looks at.

    That is ``"unstructured"`` for single elements, of which those that are zero already don't count; ``"structured"``
    for slices along the attribute ``dim``; or ``"global"`` for all elements.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask: 1 for what stays, 0 for what goes.

        Args:
            t: the importance of each element.
            default_mask: the mask before.
        """

    def apply_mask(self, module: Any) -> Any:
        """The parameter of a module as its mask leaves it.

        Raises:
            AssertionError: it was not pruned.
        """
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module: Note [Pruned parameters].

        Args:
            module: the module.
            name: the parameter.
            args, kwargs: what the class is made with.
            importance_scores: the importance of each element; the parameter itself if None.

        Returns:
            the hook.

        Raises:
            AssertionError: the importances have another shape.
        """
        method = composite(module, name, cls(*args, **kwargs))
        original, is_first = getattr(module, name), not isinstance(method, PruningContainer)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {original.shape}"
            )
        scores = original if importance_scores is None else importance_scores
        if is_first:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        mask = ones_like(original) if is_first else getattr(module, name + "_mask").detach().clone()
        try:
            module.register_buffer(name + "_mask", method.compute_mask(scores, default_mask=mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if is_first:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A tensor times its mask.

        Args:
            t: the tensor.
            default_mask: the mask before; ones if None.
            importance_scores: the importance of each element; the tensor itself if None.

        Raises:
            AssertionError: ``importance_scores`` has another shape than ``t``.
        """
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs {t.shape}"
            )
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Let what is zero be zero for good, and the parameter an ordinary one.

        Args:
            module: the module.

        Raises:
            AssertionError: it was not pruned.
        """
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def composite(module: Any, name: str, method: Any) -> Any:
    """A pruning ``method`` together with those that the parameter ``name`` of ``module`` has been pruned by.

    Their hook is taken off.

    Raises:
        AssertionError: the parameter has several such hooks.
    """
    method._tensor_name = name
    hooks = module._forward_pre_hooks
    found = [key for key, hook in hooks.items() if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
    if len(found) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
        )
    if not found:
        return method
    before = hooks.pop(found[0])
    container = before if isinstance(before, PruningContainer) else PruningContainer(before)
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """Several methods by which one parameter was pruned, one after the other.

    Args:
        args: the methods, of parameters of one name.
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method.

        Raises:
            TypeError: it is none.
            ValueError: it is one of a parameter of another name.
        """
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask when the last method has been applied to what the mask before has left."""
        method = self._pruning_methods[-1]
        mask, part = default_mask.to(dtype=t.dtype, copy=True), part_seen(method, t, default_mask)
        mask[part] = method.compute_mask(t[part], default_mask=default_mask[part]).to(dtype=mask.dtype)
        return mask


def part_seen(method: Any, t: Any, mask: Any) -> Any:
    """The index of the part of a tensor ``t`` that a ``method`` looks at, ``mask`` being what is left of it so far.

    Raises:
        ValueError: an unknown ``PRUNING_TYPE``.
        AttributeError: a structured method without ``dim``.
        IndexError: no such dimension.
    """
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.ndim
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    dim = method.dim + t.ndim if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.ndim}")
    kept = mask.sum(dim=[other for other in range(t.ndim) if other != dim]) != 0
    return along(t, dim, kept)


def along(t: Any, dim: int, index: Any) -> tuple:
    """The index of those slices of a tensor ``t`` along ``dim`` that ``index`` chooses."""
    slices: list[Any] = [slice(None)] * t.ndim
    slices[dim] = index
    return tuple(slices)


# The methods ----------------------------------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prunes nothing, but makes a parameter a pruned one."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask

    @classmethod
    def apply(cls, module: Any, name: str) -> Any:  # type: ignore[override]
        return super().apply(module, name)


class _Unstructured(BasePruningMethod):
    """Prunes single elements.

    Args:
        amount: how many, or which share of them.
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        check_amount(amount)
        self.amount = amount

    def chosen(self, t: Any, count: int) -> Any:
        """The indices, among all elements, of those that go."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = count_of(self.amount, t.nelement())
        mask = default_mask.clone()
        if count != 0:
            mask.view(-1)[self.chosen(t, count)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes single elements by chance.

    Args:
        amount: how many, or which share of them.
    """

    def chosen(self, t: Any, count: int) -> Any:
        """The places of ``count`` elements of ``t``, in one row: any."""
        return topk(rand_like(t).view(-1), k=count).indices

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any) -> Any:  # type: ignore[override]
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes the elements of the smallest magnitude.

    Args:
        amount: how many, or which share of them.
    """

    def chosen(self, t: Any, count: int) -> Any:
        """The places of the ``count`` smallest elements of ``t``, in one row."""
        return topk(t.abs().view(-1), k=count, largest=False).indices

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:  # type: ignore[override]
        """Prune a parameter of a module, as ``l1_unstructured`` does.

        >>> layer = torch.nn.Linear(4, 1)
        >>> torch.nn.utils.prune.L1Unstructured.apply(layer, "weight", 2) and int((layer.weight == 0).sum())
        2
        """
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(BasePruningMethod):
    """Prunes slices along a dimension.

    Args:
        amount: how many, or which share of them.
        dim: the dimension.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        check_amount(amount)
        self.amount, self.dim = amount, dim

    def kept(self, t: Any, count: int) -> Any:
        """The index of the slices that stay when ``count`` of them go."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = count_of(self.amount, t.shape[self.dim])
        if count == 0:
            return default_mask
        mask: Any = zeros_like(t)
        mask[along(t, self.dim, self.kept(t, count))] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices along a dimension by chance.

    Args:
        amount: how many, or which share of them.
        dim: the dimension.
    """

    def kept(self, t: Any, count: int) -> Any:
        """Which slices of ``t`` are left, when ``count`` are chosen by chance."""
        chances: Any = rand(t.shape[self.dim])
        return chances > kthvalue(chances, k=count).values

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any, dim: int = -1) -> Any:  # type: ignore[override]
        """Prune a parameter of a module, as ``random_structured`` does.

        >>> layer = torch.nn.Linear(4, 1)
        >>> torch.nn.utils.prune.RandomStructured.apply(layer, "weight", 2, dim=1) and int((layer.weight == 0).sum())
        2
        """
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices along a dimension that have the smallest norm.

    Args:
        amount: how many, or which share of them.
        n: the order of the norm.
        dim: the dimension.
    """

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def kept(self, t: Any, count: int) -> Any:
        """The slices of ``t`` that are left, when the ``count`` shortest go."""
        dim = range(t.ndim)[self.dim]
        lengths = norm(t, p=self.n, dim=[other for other in range(t.ndim) if other != dim])
        return topk(lengths, k=t.shape[dim] - count, largest=True).indices

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
    ) -> Any:
        """Prune a parameter of a module, as ``ln_structured`` does.

        >>> layer = torch.nn.Linear(4, 1)
        >>> torch.nn.utils.prune.LnStructured.apply(layer, "weight", 2, n=2, dim=1) and int((layer.weight == 0).sum())
        2
        """
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given.

    Args:
        mask: the mask.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask that was given, where there is none before.

        Raises:
            AssertionError: it has another shape than that before.
        """
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Any, name: str, mask: Any) -> Any:  # type: ignore[override]
        return super().apply(module, name, mask=mask)


# As functions ---------------------------------------------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Make the parameter ``name`` of a module a pruned one, of which nothing is pruned; returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements of a parameter by chance.

    Args:
        module: the module, which is returned.
        name: the parameter.
        amount: how many elements, or which share of them.
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of a parameter that have the smallest magnitude.

    Args:
        module: the module, which is returned.
        name: the parameter.
        amount: how many elements, or which share of them.
        importance_scores: the magnitudes; those of the parameter if None.

    >>> module = torch.nn.Module()
    >>> module.weight = torch.nn.Parameter(torch.tensor([3.0, -1.0, 2.0]))
    >>> l1_unstructured(module, "weight", 1).weight
    tensor([3., -0., 2.], grad_fn=<MulBackward0>)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune slices of a parameter by chance.

    Args:
        module: the module, which is returned.
        name: the parameter.
        amount: how many slices, or which share of them.
        dim: the dimension along which they are slices.

    >>> layer = torch.nn.utils.prune.random_structured(torch.nn.Linear(3, 4), "weight", amount=2, dim=0)
    >>> int((layer.weight == 0).all(1).sum())
    2
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the slices of a parameter that have the smallest norm.

    Args:
        module: the module, which is returned.
        name: the parameter.
        amount: how many slices, or which share of them.
        n: the order of the norm.
        dim: the dimension along which they are slices.
        importance_scores: what the norm is taken of; the parameter if None.

    >>> layer = torch.nn.Linear(2, 2, bias=False)
    >>> layer.weight.data = torch.tensor([[3.0, 4.0], [1.0, 1.0]])
    >>> torch.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight.detach()
    tensor([[3., 4.],
            [0., 0.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune the parameter ``name`` of a module by a ``mask`` of its shape, zero where it is pruned; returns the module.
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: type, importance_scores: dict | None = None, **kwargs: Any
) -> None:
    """Prune several parameters as if they were one.

    Args:
        parameters: pairs of a module and the name of its parameter.
        pruning_method: an unstructured method, as ``L1Unstructured``.
        importance_scores: the importance of each element, by such a pair; the parameters themselves if there are none.
        kwargs: what the method is made with.

    Raises:
        TypeError: these are no pairs, or the method is no unstructured one.

    >>> one, two = torch.nn.Linear(2, 1, bias=False), torch.nn.Linear(2, 1, bias=False)
    >>> one.weight.data, two.weight.data = torch.tensor([[1.0, 9.0]]), torch.tensor([[2.0, 8.0]])
    >>> prune = torch.nn.utils.prune
    >>> prune.global_unstructured([(one, "weight"), (two, "weight")], prune.L1Unstructured, amount=2)
    >>> one.weight.detach(), two.weight.detach()
    (tensor([[0., 9.]]), tensor([[0., 8.]]))
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    tensors = [getattr(module, name) for module, name in parameters]
    importance = parameters_to_vector([scores.get(key, x) for key, x in zip(parameters, tensors, strict=True)])
    masks = [getattr(key[0], key[1] + "_mask", ones_like(x)) for key, x in zip(parameters, tensors, strict=True)]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    mask, start = PruningContainer(method).compute_mask(importance, parameters_to_vector(masks)), 0
    for (module, name), x in zip(parameters, tensors, strict=True):
        end = start + x.numel()
        custom_from_mask(module, name, mask=mask[start:end].view_as(x))
        start = end


def remove(module: Any, name: str) -> Any:
    """Let the pruned parameter ``name`` of ``module`` be an ordinary one, with zeros where it was pruned.

    Raises:
        ValueError: it is not pruned.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Tell whether a parameter of a module, or of one below it, is pruned."""
    hooks = (hook for part in module.modules() for hook in part._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)


# How much -------------------------------------------------------------------------------------------------------------


def check_amount(amount: Any) -> None:
    """Refuse an ``amount`` that is no number of elements, nor a share of them.
    Raises TypeError: no number. ValueError: a negative int, or a float outside [0, 1].
    """
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    is_count = isinstance(amount, numbers.Integral)
    if amount < 0 or (not is_count and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def count_of(amount: Any, size: int) -> int:
    """The number of ``size`` elements that are to go: ``amount`` of them, or that share.

    Raises:
        ValueError: more than there are.

    >>> count_of(0.5, 6), count_of(2, 6)
    (3, 2)
    """
    count = int(amount) if isinstance(amount, numbers.Integral) else round(amount * size)
    if count > size:
        raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
    return count
