"""The node of a custom function, which is also the ``ctx`` that its author works with.

Note [Custom functions]
``Function.apply`` makes a node of the class ``<Name>Backward`` (one class for each Function, made with it), hands it to
the user's ``forward`` as ``ctx``, and makes it the ``grad_fn`` of what forward returns. The forward half is in
``function_call.py``, forward mode in ``function_forward.py``, the backward half is here. What forward returns is
wrapped by these rules: an input as it is gives an alias of it; a tensor that was marked dirty stays itself and gets new
history; what can't or shouldn't be differentiated is detached; of what is no tensor the node only notes that it was
there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import WorkerOfDevice, takes_any_dtype
from tapegrad._src.dispatch.nodes.gradient_check import gradient_fitter
from tapegrad._src.dispatch.nodes.saved_tensor import SavedTensor, second_backward
from tapegrad._src.execution.array_functions.host import filled
from tapegrad._src.execution.data.dtypes import COMPLEX, FLOATING
from tapegrad._src.tape.hooks import HookDict, RemovableHandle, add_hook
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tape.node import Node, name_of
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, value_of, wrap
from tapegrad._src.warn import warn
from tapegrad.autograd.running import engine
from tapegrad.ops.kinds import cast

CLEARED: Any = object()
"""Stands in place of saved tensors that may be read only once, and have been."""


class FunctionCtx:
    """The context in which the author of a custom function talks to autograd, in ``forward`` or ``setup_context``."""

    to_save: Any
    saved_for_forward: Any
    dirty_tensors: Any
    non_differentiable: Any

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward, where ``saved_tensors`` gives them; what was kept before is dropped.

        They are checked when forward has returned: only tensors may be saved, and if one is written to in place before
        backward reads it, backward raises.

        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad_output):
        ...         return 2 * ctx.saved_tensors[0] * grad_output
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> Square.apply(x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for ``jvp``, where ``saved_tensors`` gives them.

        Raises:
            AssertionError: something else is among them.
        """
        for tensor in tensors:
            if not (tensor is None or isinstance(tensor, Tensor)):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    "on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward has written to in place. All of them must be among its outputs."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing: deprecated.

        Args:
            pairs: ignored.
        """
        warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs are not differentiable: they don't require grad, and backward gets zeros for them."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Tell whether backward and jvp get zeros, not None, where there is no gradient; by default they do.

        Args:
            value: whether they do.
        """
        self.materialize_grads = value


class HookMixin:
    """A private helper that libraries use to keep hooks in a dictionary of their own."""

    @staticmethod
    def _register_hook(backward_hooks: HookDict | None, hook: Any) -> tuple[HookDict, RemovableHandle]:
        hooks: HookDict = OrderedDict() if backward_hooks is None else backward_hooks
        return hooks, add_hook(hooks, hook)


class FunctionBase(Node):
    """The base class of custom functions and their nodes: the node's state.

    Attributes:
        to_save, non_differentiable, dirty_tensors: what the author marked, until forward has been dealt with.
        saved_for_forward: what ``jvp`` will read.
        needs_input_grad: for each argument, whether it is a tensor that requires grad.
        _arguments: for each argument of forward its spec, or None if it was no tensor.
        _outputs: the same for each output; ``_metadata_of_outputs`` has None for those without a gradient too.
        _saved: what is saved; None when it has been freed, by the backward call at ``_freed_by``.
    """

    __slots__ = (
        "to_save", "non_differentiable", "dirty_tensors", "saved_for_forward", "needs_input_grad",
        "_arguments", "_outputs", "_metadata_of_outputs", "_saved", "_freed_by", "_materialize",
        "_materialize_non_diff_grads", "_is_pure_view", "input_slots",
    )  # fmt: skip

    worker: Any = WorkerOfDevice()
    to_save: Any
    non_differentiable: Any
    dirty_tensors: Any
    saved_for_forward: Any
    needs_input_grad: tuple[bool, ...]
    clear_saved_tensors_on_access = False
    made = False
    """True if there has ever been a custom function in this process whose backward sees gradients."""
    _forward_cls: Any
    _arguments: tuple[Spec | None, ...]
    _outputs: tuple[Spec | None, ...]
    _metadata_of_outputs: tuple[Spec | None, ...]
    _saved: tuple[SavedTensor, ...] | None
    _freed_by: Any
    _materialize: bool
    _materialize_non_diff_grads: bool
    _is_pure_view: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> FunctionBase:
        """An instance with the state of a node that has saved nothing; nodes themselves are made by ``new_node``."""
        self = object.__new__(cls)
        self.next_edges = self._arguments = ()
        self.needs_input_grad = None  # type: ignore[assignment]
        self.sequence_nr = 0
        reset(self)
        return self

    @property
    def saved_tensors(self) -> tuple:
        """The saved tensors: inputs as they were given, outputs with this node as their ``grad_fn``.

        Raises:
            RuntimeError: the graph has been freed, or a tensor was written to since it was saved.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        saved = self._kept()
        if self._forward_cls.clear_saved_tensors_on_access:
            if saved is CLEARED:
                raise RuntimeError(
                    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                    "autograd.Function. Either access saved_tensors only once, or set "
                    "clear_saved_tensors_on_access=False."
                )
            self._saved = CLEARED
        return tuple([item.unpack(self) for item in saved])

    def _kept(self) -> tuple[SavedTensor, ...]:
        if self._saved is None:
            raise RuntimeError(second_backward(self._freed_by))
        return self._saved

    @property
    def saved_variables(self) -> tuple:
        """Deprecated name of ``saved_tensors``."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        saved = self._kept()
        return () if saved is CLEARED else saved

    def _set_materialize_grads(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)"
            )
        self._materialize = value

    def _no_reading(self) -> None:
        raise AttributeError("attribute 'materialize_grads' of 'torch._C._FunctionBase' objects is not readable")

    materialize_grads = property(_no_reading, _set_materialize_grads, doc="Write-only; see set_materialize_grads.")

    def release_variables(self) -> None:
        self._saved, self._freed_by = None, thread.backward_call

    def maybe_clear_saved_tensors(self) -> None:
        """Free what is saved, in a backward that does not keep the graph; elsewhere do nothing."""
        task = engine.current_task
        if task is not None and not task.keep_graph:
            self.release_variables()

    @property
    def _input_metadata(self) -> tuple[Spec | None, ...]:
        return self._metadata_of_outputs

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


FunctionBase._forward_cls = FunctionBase


class BackwardCFunction(FunctionBase, FunctionCtx, HookMixin):
    """The base of the node classes of custom functions; ``_forward_cls`` is the Function."""

    __slots__ = ()

    def apply(self, *args: Any) -> Any:
        """Run the user's backward on gradients, one for each output.

        The engine calls it as it calls every node, with a list of gradients and what is needed of the results.
        """
        if len(args) == 2 and isinstance(args[0], list):
            return gradients(self, args[0])
        return run_backward(self, args)

    def apply_jvp(self, *args: Any) -> Any:
        """Run the user's jvp on the tangents of the arguments."""
        return self._forward_cls.jvp(self, *args)

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """The gradients of the inputs, as values: the author's ``backward`` of ``grads``, of which None stands for
        zeros."""
        results = gradients(self, as_tensors(self, grads))
        return [None if grad is None else value_of(grad) for grad in results]


# What follows are no methods, so that the author's attributes on ctx can't stand in their place.


def gradients(node: BackwardCFunction, grads: Sequence) -> list[Tensor | None]:
    """One gradient, or None, for each edge: the author's ``backward`` of ``grads``, of which None stands for zeros."""
    tensors = [missing(node, position) if grad is None else grad for position, grad in enumerate(grads)]
    return checked(node, run_backward(node, tensors))


def as_tensors(node: BackwardCFunction, values: Sequence) -> list[Tensor | None]:
    """Values of gradients as the author's ``backward`` sees them."""
    specs = node._outputs
    return [None if value is None else wrap(value, specs[i].bare) for i, value in enumerate(values)]  # type: ignore[union-attr]


def run_backward(node: BackwardCFunction, grads: Sequence) -> Any:
    """Run the user's backward on these gradients of the outputs."""
    modes = thread.modes
    try:
        return call_backward(node._forward_cls, node, grads)
    finally:
        if thread.modes is not modes:
            restore_grad(modes)


def call_backward(function: Any, ctx: Any, grads: Sequence) -> Any:
    """Call the ``backward`` of a function, or its ``vjp``. Raises RuntimeError: it has both."""
    backward, vjp = function.backward, function.vjp
    if vjp is not no_backward:
        if backward is not no_backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        backward = vjp
    if function.boxed_grads_call:
        grads = (list(grads),)
    return backward(ctx, *grads)


def missing(node: BackwardCFunction, position: int) -> Tensor | None:
    """The gradient that backward gets for an output whose gradient did not arrive."""
    spec = node._outputs[position]
    if spec is None or not node._materialize:
        return None
    if node._metadata_of_outputs[position] is None and not node._materialize_non_diff_grads:
        return None
    return zeros(spec.bare)


def checked(node: BackwardCFunction, results: Any) -> list[Tensor | None]:
    """One gradient, or None, for each edge, of the shape, dtype and device of what it is a gradient of.
    Raises RuntimeError: what backward returned doesn't fit.
    """
    results = counted(node, results)
    grads: list[Tensor | None] = []
    for position, (grad, spec) in enumerate(zip(results, node._arguments, strict=True)):
        if spec is None:
            if grad is not None:
                raise RuntimeError(
                    f"function {type(node).__name__} returned a gradient different than None at position "
                    f"{position + 1}, but the corresponding forward input was not a Variable"
                )
        elif grad is None:
            grads.append(None)
        elif isinstance(grad, Tensor):
            wanted = node.next_edges[len(grads)] is not None
            grads.append(fitted(node, grad, spec, len(grads)) if wanted else grad)
        else:
            raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
    return grads


def counted(node: BackwardCFunction, results: Any) -> tuple:
    """The results of backward as a tuple with one for each argument of forward."""
    if not isinstance(results, tuple):
        results = (results,)
    expected = len(node._arguments)
    if len(results) > expected and all(extra is None for extra in results[expected:]):
        results = results[:expected]
    if len(results) != expected:
        raise RuntimeError(
            f"function {type(node).__name__} returned an incorrect number of gradients "
            f"(expected {expected}, got {len(results)})"
        )
    return results


def marked(node: BackwardCFunction, name: str) -> tuple:
    """The tensors that the author has put into one of the attributes of ctx. Raises RuntimeError: no tuple."""
    value = getattr(node, name, None)
    if not (value is None or isinstance(value, tuple)):
        raise RuntimeError(f"autograd internal error: {name} attribute is expected to be a tuple but is ")
    return value or ()


def dirty_tensors(node: BackwardCFunction) -> tuple[Tensor, ...]:
    """The tensors marked dirty."""
    tensors = marked(node, "dirty_tensors")
    if not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise RuntimeError("mark_dirty can only accept variables, but argument ")
    return tensors


def constant_tensors(node: BackwardCFunction) -> tuple[Tensor, ...]:
    """The outputs marked as not differentiable."""
    tensors = marked(node, "non_differentiable")
    if not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise RuntimeError("mark_non_differentiable only accepts variable arguments, but got ")
    return tensors


def fitted(node: Node, grad: Tensor, spec: Spec, index: int) -> Tensor:
    """A gradient as the engine wants it: summed where it was broadcast, of the input's dtype, on its device.
    Raises RuntimeError: it does not fit.
    """
    if grad._spec is spec.bare:
        return grad
    name = name_of(node)
    if grad.shape != spec.shape:
        if not broadcasts_to(spec.shape, grad.shape):
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {index} - got {list(grad.shape)} but expected "
                f"shape compatible with {list(spec.shape)}"
            )
        grad = reduced(grad, spec.shape)
    if grad.dtype is not spec.dtype and not takes_any_dtype(node.next_edges[index]):
        if grad.dtype.category != FLOATING and (grad.dtype.category == COMPLEX) != (spec.dtype.category == COMPLEX):
            raise RuntimeError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but "
                "got false.  (Could this error message be improved?  If so, please report an enhancement request to "
                "PyTorch.)"
            )
        grad = cast(grad, dtype=spec.dtype)
    if grad.device is not spec.device.free:
        if grad.ndim:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {index} - expected device {spec.device} but "
                f"got {grad.device}"
            )
        grad = grad.to(spec.device)
    return grad


gradient_fitter.fill(fitted)


def reduced(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """A gradient summed over the dimensions in which its tensor was broadcast, by the operators that PyTorch uses."""
    if not shape:
        return grad.sum()
    extra = grad.ndim - len(shape)
    grown = [extra + i for i, length in enumerate(shape) if length == 1 != grad.shape[extra + i]]
    grad = grad.sum([*range(extra), *grown], keepdim=True)
    return grad.view(shape) if extra else grad


def among(tensor: Any, tensors: Sequence) -> bool:
    """Tell whether this very object is in a sequence."""
    return any([tensor is other for other in tensors]) if tensors else False


def broadcasts_to(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Tell whether something of one shape can be expanded to the other."""
    extra = len(other) - len(shape)
    return extra >= 0 and all(a in (1, b) for a, b in zip(shape, other[extra:], strict=True))


def zeros(spec: Spec) -> Tensor:
    """A tensor of zeros."""
    value = filled(tuple(spec.shape), 0, spec.dtype, spec.device)
    return fresh(value, spec.replace(level=0)) if spec.level else wrap(value, spec)


def reset(node: FunctionBase) -> None:
    """Put a node into the state in which forward finds it."""
    node.input_slots = 0
    node._outputs = node._metadata_of_outputs = node._saved = ()
    node._materialize = node._materialize_non_diff_grads = True
    node._is_pure_view = False
    node.to_save = node.non_differentiable = node.dirty_tensors = node.saved_for_forward = None


def restore_grad(modes: Modes) -> None:
    """Give the thread the grad modes of ``modes``, whatever user code left behind."""
    thread.modes = thread.modes.replace(grad=modes.grad_enabled, forward_grad=modes.forward_grad)


def no_backward(ctx: Any, *grad_outputs: Any) -> Any:
    """Differentiate the function in reverse mode: the gradients of ``forward``'s inputs from those of its outputs.

    To be overridden: as many arguments as forward returned outputs, as many results as it took inputs, each a tensor or
    None.
    """
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
        "backward mode AD."
    )
