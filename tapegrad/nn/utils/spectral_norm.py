"""``spectral_norm``: a weight over its largest singular value, which the power method finds from call to call."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.matmul import dot, multi_dot, mv
from tapegrad._src.functions.similarities import normalize
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn import modules
from tapegrad.nn.parameter import Parameter, UninitializedParameter

__all__ = [
    "SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm",
    "spectral_norm",
]  # fmt: skip

TRANSPOSED = "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"
"""Modules whose weights have the outputs in their second dimension."""


def output_dim(module: Any, dim: int | None) -> int:
    """The dimension of a module's weight that has the outputs, if it is not given."""
    kinds = tuple(getattr(modules, name) for name in TRANSPOSED)
    return (1 if isinstance(module, kinds) else 0) if dim is None else dim


class SpectralNorm:
    """The hook that divides a weight by its largest singular value, once it has made the estimate of that better.

    Args:
        name: the weight's name; as it was it is the parameter ``name_orig``, the singular vectors are buffers
            ``name_u`` and ``name_v``.
        n_power_iterations: how many steps of the power method are made in each call in training.
        dim: the dimension that has the outputs.
        eps: the smallest length that vectors are divided by.

    Raises:
        ValueError: the number of steps is not positive.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> [type(hook).__name__ for hook in layer._forward_pre_hooks.values()], layer.weight_u.shape
    (['SpectralNorm'], torch.Size([3]))
    """

    _version: int = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """The weight with the outputs as rows."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *[dim for dim in range(weight.dim()) if dim != self.dim])
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The weight as it is now; the singular vectors are improved in place first, if need be.

        Args:
            module: the module.
            do_power_iteration: whether to improve them.
        """
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    normalize(mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    normalize(mv(matrix, v), dim=0, eps=self.eps, out=u)
                u, v = u.clone(), v.clone()  # later calls write to those that backward needs
        return weight / dot(u, mv(matrix, v))

    def remove(self, module: Any) -> None:
        """Give a module the weight as it is now for a parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Any, u: Any, sigma: Any) -> Any:
        """The right singular vector that belongs to a left one and a singular value."""
        v = multi_dot([matrix.t().mm(matrix).pinverse(), matrix.t(), u.unsqueeze(1)]).squeeze(1)
        return v.mul_(sigma / dot(u, mv(matrix, v)))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Give a module a weight that is divided by its largest singular value.

        Raises:
            RuntimeError: it has one already.
            ValueError: there is no weight, or one whose shape isn't known yet.
        """
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with no_grad():
            height, width = hook.reshape_weight_to_matrix(weight).size()
            u = normalize(weight.new_empty(height).normal_(0, 1), dim=0, eps=eps)
            v = normalize(weight.new_empty(width).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Makes of a state dict of the oldest version, which lacks a singular vector, one of this version.

    ``fn`` is the ``SpectralNorm`` of the module.
    """

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, state_dict: Any, prefix: str, local_metadata: dict, strict: bool, missing_keys: list, *rest: Any
    ) -> None:
        name = prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version", None)
        if version is not None and version >= 1:
            return
        has_all = all(name + end in state_dict for end in ("_orig", "_u", "_v"))
        if version is None and has_all and name not in state_dict:
            return  # of this version, without metadata
        missing = [name + end for end in ("_orig", "", "_u") if name + end not in state_dict]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            weight, original = state_dict.pop(name), state_dict[name + "_orig"]
            matrix, sigma = self.fn.reshape_weight_to_matrix(original), (original / weight).mean()
            state_dict[name + "_v"] = self.fn._solve_v_and_rescale(matrix, state_dict[name + "_u"], sigma)


class SpectralNormStateDictHook:
    """Writes into a state dict of which version it is; ``fn`` is the ``SpectralNorm`` of the module."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: dict) -> None:
        versions, key = local_metadata.setdefault("spectral_norm", {}), self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Let a weight of a module be divided by its largest singular value, worked out before each call.

    Args:
        module: the module, which is returned.
        name: the weight's name.
        n_power_iterations: how many steps of the power method are made in each call in training.
        eps: the smallest length that vectors are divided by.
        dim: the dimension that has the outputs; that of the module's kind, if None.

    Raises:
        RuntimeError: this has been done before.
        ValueError: the weight has no shape yet, or the number of steps is not positive.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2), n_power_iterations=50)
    >>> y = layer(torch.ones(1, 2))
    >>> round(torch.linalg.matrix_norm(layer.weight, 2).item(), 2)
    1.0
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module, dim), eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Let a weight of ``module``, that called ``name``, be a parameter again, divided by the last estimate.

    Raises:
        ValueError: it is none that ``spectral_norm`` has changed.
    """
    key = key_of(module._forward_pre_hooks, lambda hook: hook, SpectralNorm, name)
    if key is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(key).remove(module)
    for hooks, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        hooks.pop(key_of(hooks, lambda hook: hook.fn, kind, name), None)
    return module


def key_of(hooks: dict, norm_of: Any, kind: type, name: str) -> int | None:
    """The key of the hook of a kind that belongs to a weight."""
    for key, hook in hooks.items():
        hook = getattr(hook, "hook", hook)
        if isinstance(hook, kind) and norm_of(hook).name == name:
            return key
    return None
