"""Parametrizations of weights: as orthogonal matrices, by direction and length, with a largest singular value of 1."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.comparison import allclose
from tapegrad._src.functions.creation import eye, zeros_like
from tapegrad._src.functions.joining import cat
from tapegrad._src.functions.matmul import mv, vdot
from tapegrad._src.functions.matrix_functions import matrix_exp
from tapegrad._src.functions.norms import _weight_norm, norm_except_dim
from tapegrad._src.functions.qr import geqrf, householder_product
from tapegrad._src.functions.random import randn
from tapegrad._src.functions.similarities import normalize
from tapegrad._src.functions.solving import solve
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn.modules.module import Module
from tapegrad.nn.utils.parametrize import register_parametrization
from tapegrad.nn.utils.spectral_norm import output_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(q: Any) -> bool:
    """Tell whether the columns of matrices are orthonormal, but for rounding."""
    n, k = q.shape[-2:]
    return allclose(q.mH @ q, eye(k, dtype=q.dtype, device=q.device), atol=10.0 * n * finfo(q.dtype).eps)


def _make_orthogonal(a: Any) -> Any:
    """Orthonormal columns that span the same as those of matrices, which they are near to if these are nearly so."""
    x, tau = geqrf(a)
    return householder_product(x, tau) * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Any matrix as one with orthonormal columns, or rows where there are fewer of these.

    Args:
        weight: a tensor of the shape and dtype that it will be used with.
        orthogonal_map: by the exponential of a skew matrix, Cayley's map of it, or a product of reflections.
        use_trivialization: whether the result is a base, which assignments set, times what the map gives.
    """

    base: Any

    def __init__(self, weight: Any, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        transposed = X.size(-2) < X.size(-1)
        x = X.mT if transposed else X
        q = self._reflected(x) if self.orthogonal_map is _OrthMaps.householder else self._rotated(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if transposed else q

    def _rotated(self, x: Any) -> Any:
        """The first columns of a rotation, whose logarithm (or the like) has a lower part that is given."""
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            x = cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
        skew = x - x.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            q = matrix_exp(skew)
        else:
            unit: Any = eye(n, dtype=skew.dtype, device=skew.device)
            q = solve(unit.add(skew, alpha=-0.5), unit.add(skew, alpha=0.5))
        return q if n == k else q[..., :k]

    def _reflected(self, x: Any) -> Any:
        """A product of reflections along the columns below the diagonal, with the signs that are on the diagonal."""
        vectors = x.tril(diagonal=-1)
        q: Any = householder_product(vectors, 2.0 / (1.0 + (vectors * vectors).sum(dim=-2)))
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, Q: Any) -> Any:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        transposed = Q.size(-2) < Q.size(-1)
        q = Q.mT if transposed else Q
        if hasattr(self, "base"):
            self.base = completed(q)
            unit = zeros_like(Q)
            unit.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return unit
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        a, tau = geqrf(q)
        a.diagonal(dim1=-2, dim2=-1).sign_()
        a.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
        return a.mT if transposed else a


def completed(q: Any) -> Any:
    """Orthogonal matrices whose first columns are those given, made orthonormal if they aren't."""
    n, k = q.shape[-2:]
    if n == k:
        return q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
    more = randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
    return _make_orthogonal(cat([q, more], dim=-1))


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Let a weight of a module be a matrix with orthonormal columns (or rows), or a batch of them.

    Args:
        module: the module, which is returned.
        name: the weight's name.
        orthogonal_map: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``; by default the first for square or complex
            matrices and the last for others.
        use_trivialization: whether a matrix can be assigned, with the maps of which it is not the last.

    Raises:
        ValueError: there is no such weight, it is no matrix, or there is no such map.

    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 2))
    >>> (layer.weight @ layer.weight.T).round(decimals=2).abs()
    tensor([[1., 0.],
            [0., 1.]], grad_fn=<AbsBackward0>)
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        is_square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if is_square or weight.dtype.is_complex else "householder"
    kind = getattr(_OrthMaps, orthogonal_map, None)
    if kind is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, kind, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    """A weight as its direction times its length.

    Args:
        dim: the dimension over which there are several lengths; None for a single one.
    """

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> Any:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Let a weight of a module be a direction times a length, which are ``original1`` and ``original0``.

    Args:
        module: the module, which is returned.
        name: the weight's name.
        dim: the dimension over which there are several lengths; None for a single one.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *rest: Any) -> None:
        """Take the names that ``nn.utils.weight_norm`` gives for those that parametrizations give."""
        if f"{prefix}{name}_g" in state_dict and f"{prefix}{name}_v" in state_dict:
            for end, original in (("g", "original0"), ("v", "original1")):
                state_dict[f"{prefix}parametrizations.{name}.{original}"] = state_dict.pop(f"{prefix}{name}_{end}")

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight over its largest singular value, which the power method finds from call to call in training.

    Args:
        weight: a tensor of the shape and dtype that it will be used with; of a vector the length is meant.
        n_power_iterations: how many steps of the power method are made in each call.
        dim: the dimension that has the outputs.
        eps: the smallest length that vectors are divided by.
    """

    _u: Any
    _v: Any

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            height, width = matrix.size()
            u, v = matrix.new_empty(height).normal_(0, 1), matrix.new_empty(width).normal_(0, 1)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Any) -> Any:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(dim for dim in range(weight.ndim) if dim != self.dim))
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, weight_mat: Any, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            normalize(mv(weight_mat, self._v), dim=0, eps=self.eps, out=self._u)
            normalize(mv(weight_mat.mH, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # later calls write to those that backward needs
        return weight / vdot(u, mv(matrix, v))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Let a weight of a module be divided by its largest singular value.

    Args:
        module: the module, which is returned.
        name: the weight's name.
        n_power_iterations: how many steps of the power method are made each time it is read in training.
        eps: the smallest length that vectors are divided by.
        dim: the dimension that has the outputs; that of the module's kind, if None.

    Raises:
        ValueError: there is no such weight, or the number of steps is not positive.
        IndexError: there is no such dimension.

    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(2, 2), n_power_iterations=50)
    >>> round(torch.linalg.matrix_norm(layer.weight, 2).item(), 2)
    1.0
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    made = _SpectralNorm(weight, n_power_iterations, output_dim(module, dim), eps)
    return register_parametrization(module, name, made)
