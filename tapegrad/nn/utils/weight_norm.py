"""``weight_norm``: a weight as its direction times its length, worked out before each call."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.norms import _weight_norm, norm_except_dim
from tapegrad._src.warn import warn
from tapegrad.nn.parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook that works out a weight from its direction and its length.

    Args:
        name: the weight's name; direction and length are parameters ``name_v`` and ``name_g``.
        dim: the dimension over which there are several lengths; None for a single one.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """The weight as it is now."""
        return _weight_norm(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Give a module direction and length instead of a weight.

        Raises:
            RuntimeError: it has them already.
            ValueError: the weight's shape isn't known yet.
        """
        warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook, weight = WeightNorm(name, dim), getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Any) -> None:
        """Give a module the weight as it is now for a parameter."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Let a weight of a module be a direction ``name_v`` times a length ``name_g``, which are parameters instead of it.

    Args:
        module: the module, which is returned.
        name: the weight's name.
        dim: the dimension over which there are several lengths; None for a single one.

    Raises:
        RuntimeError: this has been done before.
        ValueError: the weight has no shape yet.
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Let a weight of ``module``, that called ``name``, be a parameter again: what direction and length make of it.

    Raises:
        ValueError: it is none that ``weight_norm`` has changed.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
