"""``HalfComplex``: what a tensor of complex halves is, and who answers for it.

Note [Complex halves]
Neither NumPy nor JAX has complex numbers of half precision. A tensor of them has an ordinary one, its parts: halves,
with a last dimension for the real and the imaginary part, in the memory that PyTorch has them in. All that is
differentiable is the parts. The class takes part in functions as any class can (Note [Overriding functions] in
``bindings/subclass.py``), and there are three kinds of answers. A view is made of a tensor of complex64 without
elements that lies in the same way, and then of the parts (``views.py``). Numbers are computed in complex64, as by
PyTorch's kernels, and rounded (``computing.py``). Where PyTorch has no kernel, its words are said (``refusals.py``).

Functions of other tensors whose result is of this dtype raise ``ComplexHalfError`` where they find that out; ``public``
then hands the call to ``asked_for``. As long as nobody has asked there is no such class, and programs ask nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.handing import torch_name_of
from tapegrad._src.bindings.state.storages import tensor_on
from tapegrad._src.execution.data.dtypes import complex32, complex64, float16, float32
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.functions.retyping import conj, resolve_conj, view_as_complex, view_as_real
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.geometry import Geometry
from tapegrad._src.tensor.spec import Spec, named_strides
from tapegrad._src.tensor.tensor import Tensor, new_tensor
from tapegrad.errors import warn_once


class HalfValue(Opaque):
    """The value of a tensor of complex halves.

    Attributes:
        parts: real and imaginary parts, along the last dimension: halves, which lie side by side.
        conjugated: whether it shows the conjugates of these numbers.
        node: the node that computed the numbers, and the version that the parts had then; None if they were not.
    """

    __slots__ = ("parts", "conjugated", "node", "shape", "dtype", "__weakref__")

    below = None
    nbytes = 0

    def __init__(self, parts: Tensor, conjugated: bool = False, node: Any = None) -> None:
        self.parts, self.conjugated = parts, conjugated
        self.node = None if node is None else (node, parts._version)
        self.shape, self.dtype = tuple(parts._spec.shape[:-1]), complex32.numpy

    @property
    def layout(self) -> tuple[int, ...]:
        """The strides, in complex numbers."""
        return tuple([stride // 2 for stride in self.parts._spec.layout[:-1]])

    @property
    def spec(self) -> Spec:
        """The spec of such a tensor."""
        parts, strides = self.parts._spec, named_strides(self.shape, self.layout)
        return Spec.of(self.shape, complex32, parts.device.free, parts.requires_grad, overrides=True, strides=strides)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.parts._spec.numel // 2

    def as_tensor(self) -> HalfComplex:
        """A tensor with this value."""
        made = new_tensor(HalfComplex)
        made._value, made._spec, made._edge = self, self.spec, None
        return made

    def run(self, function: Callable, values: tuple) -> Any:
        raise NotImplementedError("a tensor of complex32 does not take part in this: cast it to complex64")


ANSWERS: dict[str, Callable] = {}
"""The functions that answer for functions of PyTorch's, by their names; for an attribute, by ``"shape.__get__"``."""

FROM_SPEC = frozenset(
    f"{name}.__get__" for name in """shape dtype device ndim is_cuda is_cpu is_xla is_mps is_meta is_quantized is_mkldnn
    is_nested is_xpu is_ipu is_vulkan is_maia is_mtia is_sparse is_sparse_csr layout itemsize __dict__
    names""".split()  # noqa: SIM905 - shorter
) | frozenset("""dim ndimension size numel nelement is_complex is_floating_point is_signed element_size __len__
    get_device is_same_size __hash__ has_names is_neg __dir__ stride""".split())  # noqa: SIM905 - shorter # fmt: skip
"""The attributes that are the same of any tensor: its spec tells."""


def answers(*names: str) -> Callable[[Callable], Callable]:
    """Declare what is done for functions of these names if an argument is of complex halves."""

    def declare(function: Callable) -> Callable:
        ANSWERS.update(dict.fromkeys(names, function))
        return function

    return declare


def name_of(function: Any) -> str:
    """The name under which an answer is looked for."""
    name = torch_name_of(function)
    is_getter = isinstance(getattr(function, "__self__", None), property)
    return ".".join(name.split(".")[-2:]) if is_getter else name.rpartition(".")[2]


FALLBACKS: dict[str, Callable] = {}
"""The functions that answer for the others: one for views, and one for what computes."""


class HalfComplex(Tensor):
    """A tensor of complex halves. See Note [Complex halves].

    >>> torch.view_as_complex(torch.zeros(1, 2, dtype=torch.float16))
    tensor([0.+0.j], dtype=torch.complex32)
    """

    __slots__ = ()

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Answer for a function, if anything does."""
        if any(issubclass(kind, Tensor) and kind.__torch_function__ not in _KNOWN for kind in types):
            return NotImplemented
        return answered(func, args, kwargs or {})


def answered(func: Any, args: tuple, kwargs: dict) -> Any:
    """The result of a function that was called with complex halves."""
    name = name_of(func)
    answer = ANSWERS.get(name)
    if answer is not None:
        return answer(*args, **kwargs)
    if name in FROM_SPEC:
        with switched(torch_function=False):
            return func(*args, **kwargs)
    found = FALLBACKS["views"](func, name, args, kwargs)
    return FALLBACKS["computing"](func, name, args, kwargs) if found is NotImplemented else found


HalfComplex.__name__ = HalfComplex.__qualname__ = "Tensor"  # what users see of the class
HalfComplex.__module__ = Tensor.__module__
_KNOWN = (HalfComplex.__torch_function__, Tensor.__torch_function__)  # type: ignore[attr-defined]


def state_of(tensor: Tensor) -> HalfValue:
    """The parts of a tensor of complex halves."""
    return tensor._value


def is_half(x: Any) -> bool:
    """Tell whether something is a tensor of complex halves."""
    return isinstance(x, HalfComplex)


EXPERIMENTAL = "ComplexHalf support is experimental and many operators don't support it yet."


def widened(tensor: Tensor) -> Tensor:
    """The numbers in complex64."""
    state = state_of(tensor)
    wide = view_as_complex(state.parts.to(float32))
    return conj(wide) if state.conjugated else wide


def narrowed(numbers: Tensor) -> Tensor:
    """Numbers as complex halves: each part is rounded."""
    warn_once(EXPERIMENTAL)
    node = numbers.grad_fn
    wide = resolve_conj(numbers.to(complex64))
    return HalfValue(view_as_real(wide).to(float16), node=node).as_tensor()


def of_parts(parts: Tensor, like: HalfValue) -> Tensor:
    """The tensor with these parts, conjugated as another is."""
    return HalfValue(parts, like.conjugated).as_tensor()


def become(tensor: Tensor, value: HalfValue) -> Tensor:
    """Give a tensor of complex halves another value, in place."""
    tensor._value, tensor._spec = value, value.spec
    return tensor


def require_grad(tensor: Tensor, requires_grad: bool = True) -> Tensor:
    """Have gradients accumulated in a leaf, or not."""
    state = state_of(tensor)
    state.parts.requires_grad_(requires_grad)
    tensor._spec = state.spec
    return tensor


def shown_on(storage: Any, geometry: Geometry, requires_grad: bool = False, conj: bool = False) -> Tensor:
    """A leaf that shows a part of a storage, which the caller has seen to lie inside."""
    shape, strides, offset = geometry
    spot = Geometry((*shape, 2), (*(2 * stride for stride in strides), 1), 2 * offset)
    return HalfValue(tensor_on(storage, float16, spot, requires_grad), conj).as_tensor()
