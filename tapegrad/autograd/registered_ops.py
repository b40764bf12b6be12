"""Operators that programs register, with a schema and a function for each kind of device: what a call of one does.

Note [Registered operators]
An operator is known by ``namespace::name`` and an overload, and has kernels by PyTorch's dispatch keys: of a device
(``CPU``, ``CUDA``, ``Meta``), of all (``CompositeExplicitAutograd``, or the function of a ``custom_op``), one that is
made of other operators (``CompositeImplicitAutograd``), and one that records (``Autograd``), which calls the operator
again below itself. A call with a derivative of its own (``register_autograd``) is one node; the others are recorded as
what their kernel calls. Below what records dispatch modes and classes are shown it (Note [Dispatch]), and what it
writes to counts one write more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tapegrad._src.bindings.dispatching import is_shown, show
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.tensor import Tensor, counter_of
from tapegrad._src.tensor.trees import flatten
from tapegrad.autograd.custom_op_node import CustomOpNode, OperatorCall
from tapegrad.autograd.grad_mode import is_grad_enabled, no_grad
from tapegrad.ops.overloads import REGISTERED, identity, namespace
from tapegrad.ops.schemas import Argument, Schema

BACKENDS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xla": "XLA", "mps": "MPS", "xpu": "XPU"}
"""The dispatch keys of types of devices."""

EXPLICIT, IMPLICIT = "CompositeExplicitAutograd", "CompositeImplicitAutograd"
RECORDING = ("Autograd", "AutogradCPU", "AutogradCUDA")

KEYS = frozenset((*BACKENDS.values(), EXPLICIT, IMPLICIT, *RECORDING, "ADInplaceOrView", "AutocastCPU", "AutocastCUDA",
                  "CompositeExplicitAutogradNonFunctional", "PrivateUse1", "SparseCPU", "FuncTorchBatched",
                  "BackendSelect", "Python", "Functionalize", "AutogradMeta", "Undefined"))  # fmt: skip
"""The dispatch keys whose kernels may be registered. Those that nothing here asks for are kept, and never called."""


class _BelowRecording(threading.local):
    recording = False


_below = _BelowRecording()
"""True if operators are called below what records: by a kernel for ``Autograd``."""


@contextmanager
def below_autograd() -> Iterator[None]:
    """A block in which operators that programs registered are not asked what records them, and nothing is recorded."""
    before, _below.recording = _below.recording, True
    try:
        with no_grad():
            yield
    finally:
        _below.recording = before


class RegisteredOperator:
    """An operator that a program has registered. See Note [Registered operators].

    Args:
        schema: what it takes and gives, with its name.
    """

    records_kernel = True
    """True if what its kernel calls is recorded where it has no derivative of its own."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._namespace, self._name = schema.name.split("::")
        self._overload = schema.overload_name or "default"
        self._kernels: dict[str, Callable] = {}
        self._fake: Callable | None = None
        self._backward: Callable | None = None
        self._setup_context: Callable | None = None
        self._vmap: Callable | None = None
        self._autocast: dict[str, dtype] = {}
        self._shown: dict[type, Callable] = {}
        node = f"GeneratedBackwardFor_{self._namespace}_{self._name}_{self._overload}"
        self._node: type[CustomOpNode] = type(node, (CustomOpNode,), {"op": self})

    @property
    def identity(self) -> Any:
        """The name that policies and logs call it by: ``torch.ops.NAMESPACE.NAME.OVERLOAD``."""
        return identity(self._namespace, self._name, self._overload)

    @property
    def written(self) -> list[int | str]:
        """The places, or the names, of the arguments that it writes to."""
        marked = [one.alias_info is not None and one.alias_info.is_write for one in self._schema.arguments]
        return [
            one.name if one.kwarg_only else place
            for place, (one, writes) in enumerate(zip(self._schema.arguments, marked, strict=True)) if writes
        ]  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = bound(self._schema, args, kwargs)
        tensors = tensors_of([*args, *kwargs.values()])
        cast = self._autocast and thread.modes.autocast and self._cast_to(tensors)
        if cast:
            args, kwargs = cast_all(args, cast), {name: cast_all(one, cast) for name, one in kwargs.items()}
            with switched(autocast=()):
                return self(*args, **kwargs)
        if not _below.recording:
            recording = next((self._kernels[key] for key in RECORDING if key in self._kernels), None)
            if recording is not None:
                return recording(*args, **kwargs)
        if self._has_node(tensors):
            leaves, spec = flatten(args)
            call = OperatorCall(kwargs, spec)
            return call.output_of(self._node.apply(call, *leaves))
        return self._computed(args, kwargs)

    def _has_node(self, tensors: list[Tensor]) -> bool:
        """Tell whether a call is one node of the graph, or one function at a level."""
        own = self._backward is not None or not self.records_kernel
        if any(one._spec.level for one in tensors):
            return own or self._vmap is not None or IMPLICIT not in self._kernels
        return own and not _below.recording and is_grad_enabled() and any(one.requires_grad for one in tensors)

    def _cast_to(self, tensors: list[Tensor]) -> dtype | None:
        on = {name for name, _ in thread.modes.autocast}
        return next((kind for where, kind in self._autocast.items()
                     if where in on and any(one.device.type == where for one in tensors)), None)  # fmt: skip

    def _computed(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The output, below what records, as modes and classes are shown it."""
        given = (*args, *kwargs.values())
        if is_shown(given):
            return show(self.identity, *self._in_words(args, kwargs), self._run_whole, self._shown)
        out = self._run(*args, **kwargs)
        if thread.modes.intercepted:
            for interceptor in thread.interceptors:
                notify = getattr(getattr(interceptor, "__self__", None), "notify", None)
                if notify is not None:
                    notify(self.identity, args, kwargs, out)
        return out

    def _in_words(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments of a call without those that are as by default, as modes and kernels get them."""
        names = [one.name for one in self._schema.arguments if not one.kwarg_only]
        return self._schema.shown(dict(zip(names, args, strict=True)) | kwargs)

    def _run_whole(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = bound(self._schema, args, kwargs)
        return self._run(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """The output of the kernel for these arguments; what it writes to counts a write more."""
        function = self._function_for(tensors_of([*args, *kwargs.values()]))
        given, named = self._in_words(args, kwargs)
        output = returned(self._schema, function(*given, **named))
        for place in self.written:
            one = kwargs.get(place) if isinstance(place, str) else args[place] if place < len(args) else None
            for tensor in tensors_of([one]):
                counter_of(tensor).version += 1
        return output

    def _function_for(self, inputs: list[Tensor]) -> Callable:
        """The kernel for tensors on a device.

        Raises:
            NotImplementedError: there is none.
        """
        where = inputs[0].device if inputs else None
        if where is META and "Meta" not in self._kernels:
            computes = IMPLICIT in self._kernels or (EXPLICIT in self._kernels and self.records_kernel)
            if self._fake is None and not computes:
                raise self.without_fake()
            if self._fake is not None:
                return self._fake
        key = BACKENDS.get(where.type if where else "cpu", "CPU")
        for name in (key, EXPLICIT, IMPLICIT):
            if name in self._kernels:
                return self._kernels[name]
        raise NotImplementedError(
            f"Could not run '{self._schema.name}' with arguments from the '{key}' backend. This could be because the "
            "operator doesn't exist for this backend, or was omitted during the selective/custom build process (if "
            f"using custom build). '{self._schema.name}' is only available for these backends: "
            f"[{', '.join(sorted(self._kernels))}]."
        )

    def without_fake(self) -> Exception:
        """The error where there is no function for tensors without data. PyTorch's message."""
        return NotImplementedError(
            f"{self._schema.name}: attempted to run this operator with Meta tensors, but there was no fake impl or "
            "Meta kernel registered. You may have run into this message while using an operator with PT2 compilation "
            "APIs (torch.compile/torch.export); in order to use this operator with those APIs you'll need to add a "
            "fake impl. Please see the following for next steps:  "
            "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
        )

    def register(self) -> None:
        """Let ``torch.ops`` have it."""
        REGISTERED.setdefault(self._schema.name, {})[self._overload] = self
        namespace(self._namespace)

    def __repr__(self) -> str:
        return f"<RegisteredOperator({self._schema.name}.{self._overload})>"


# -- what is registered ------------------------------------------------------------------------------------------------


class FakeImplCtx:
    """The context of a function for tensors without data: what ``torch.library.get_ctx`` gives in it."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Refuse a length that depends on data: here lengths are numbers.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "a tensor on meta has a size that is known: one that depends on data can't be given. Compute this operator "
            "on tensors with data"
        )

    new_unbacked_symint = new_dynamic_size

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> int:
        """``new_dynamic_size``, by its old name."""
        return self.new_dynamic_size(min=min, max=max)


class _FakeRunning(threading.local):
    context: FakeImplCtx | None = None


_fake = _FakeRunning()


def get_ctx() -> FakeImplCtx | None:
    """The context of the function for tensors without data that runs now; None outside of one.

    >>> get_ctx() is None
    True
    """
    return _fake.context


def in_fake(function: Callable) -> Callable:
    """A function for tensors without data, which may ask for its context."""

    def run(*args: Any, **kwargs: Any) -> Any:
        before, _fake.context = _fake.context, FakeImplCtx()
        try:
            return function(*args, **kwargs)
        finally:
            _fake.context = before

    return run


DEVICES = frozenset("""cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia
    privateuseone""".split())  # noqa: SIM905 - shorter


def checked_device(name: str) -> str:
    """A type of devices. Raises RuntimeError: there is none of that name. PyTorch's message."""
    if name not in DEVICES:
        order = ("cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, "
                 "meta, hpu, mtia, privateuseone")  # fmt: skip
        raise RuntimeError(f"Expected one of {order} device type at start of device string: {name}")
    return name


def register_shown(op: RegisteredOperator, cls: type, function: Callable | None = None) -> Callable:
    """Register what answers for a dispatch mode, or a class of tensors, where it is shown an operator."""

    def register(function: Callable) -> Callable:
        op._shown[cls] = function
        return function

    return register if function is None else register(function)


def tensors_of(given: Any) -> list[Tensor]:
    """The tensors among arguments or results, those in lists, too."""
    found = []
    for one in given:
        if isinstance(one, Tensor):
            found.append(one)
        elif isinstance(one, (list, tuple)):
            found += tensors_of(one)
    return found


def cast_all(given: Any, kind: dtype) -> Any:
    """Arguments, with floating tensors in another dtype; those in float64 stay as they are."""
    if isinstance(given, (list, tuple)):
        return type(given)(cast_all(one, kind) for one in given)
    wanted = isinstance(given, Tensor) and given.is_floating_point() and given.dtype.name != "float64"
    return given.to(kind) if wanted else given


# -- arguments ---------------------------------------------------------------------------------------------------------


def bound(schema: Schema, args: Sequence, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments of a call as a schema has them, with its defaults.

    Raises:
        RuntimeError: they don't fit. PyTorch's messages.
    """
    positional = [one for one in schema.arguments if not one.kwarg_only]
    by_name = [one for one in schema.arguments if one.kwarg_only]
    if len(args) > len(positional):
        raise RuntimeError(too_many(schema, len(positional), len(args), bool(by_name)))
    given = dict(zip([one.name for one in positional], args, strict=False)) | kwargs
    unknown = kwargs.keys() - {one.name for one in schema.arguments}
    missing = [one.name for one in schema.arguments if one.name not in given and not one.has_default_value()]
    if missing:
        raise RuntimeError(
            f"{schema.name}() is missing value for argument '{missing[0]}'. Declaration: {schema}"
        )
    if unknown:
        raise RuntimeError(f"Unknown keyword argument '{min(unknown)}' for operator '{schema.name}'. Schema: {schema}")
    values = {
        one.name: checked(schema, place, one, given[one.name]) if one.name in given else one.default_value
        for place, one in enumerate(schema.arguments)
    }
    return tuple([values[one.name] for one in positional]), {one.name: values[one.name] for one in by_name}


def too_many(schema: Schema, taken: int, given: int, by_name: bool) -> str:
    """PyTorch's words for too many arguments."""
    if by_name:
        return (f"{schema.name}() takes {taken} positional argument(s) but {given} was/were given.  Declaration: "
                f"{schema}")  # fmt: skip
    return (f"{schema.name}() expected at most {taken} argument(s) but received {given} argument(s). Declaration: "
            f"{schema}")  # fmt: skip


TYPES: dict[str, Any] = {
    "Tensor": Tensor, "int": int, "SymInt": int, "float": (int, float), "bool": bool, "str": str,
    "Scalar": (bool, int, float, complex),
}  # fmt: skip


def checked(schema: Schema, place: int, argument: Argument, given: Any) -> Any:
    """An argument, if it is of its type. Raises RuntimeError: it is not. PyTorch's message."""
    if is_of_type(argument.type, given):
        return given
    told = spelled(argument.type)
    why = f"Unable to cast {given} to Tensor" if told == "Tensor" else (
        f"Unable to cast Python instance of type {type(given)} to C++ type '?' (#define "
        "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
    )  # fmt: skip
    raise RuntimeError(
        f"{schema.name}() Expected a value of type '{told}' for argument '{argument.name}' but instead found type "
        f"'{type(given).__name__}'.\nPosition: {place}\nValue: {given!r}\nDeclaration: {schema}\nCast error details: "
        f"{why}"
    )


def returned(schema: Schema, output: Any) -> Any:
    """The results of a schema, of what a kernel gave.

    Raises:
        RuntimeError, TypeError: it is of another kind. PyTorch's messages.
    """
    kinds = [one.type for one in schema.returns]
    if not kinds and output is not None:
        raise RuntimeError(f"Expected PythonKernelHolder for {schema.name} to return None but it returned something "
                           "else instead.")  # fmt: skip
    if len(kinds) < 2:
        return as_result(kinds[0], output) if kinds else None
    given = output[0] if isinstance(output, (tuple, list)) and len(output) == 1 else output
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"Object of type '{type(given).__name__}' is not an instance of 'sequence'")
    if len(given) != len(kinds):
        raise RuntimeError(f"{schema.name}: expected {len(kinds)} results, as its schema says, but got {len(given)}")
    return tuple(map(as_result, kinds, given))


def as_result(kind: str, value: Any) -> Any:
    """One result of a kernel, if it is of its type. Raises RuntimeError: it is not."""
    if kind == "Tensor" and not isinstance(value, Tensor) and value is not None:
        raise RuntimeError(f"Unable to cast {value} to Tensor")
    of_several = kind == "Tensor[]"
    wrong = not isinstance(value, (list, tuple)) or not all(isinstance(one, Tensor) for one in value)
    if (of_several and wrong) or (kind in ("int", "SymInt") and isinstance(value, float)):
        raise RuntimeError(
            f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define "
            "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
        )
    if kind == "float" and type(value) is int:
        return float(value)
    return list(value) if of_several else value


def is_of_type(kind: str, given: Any) -> bool:
    """Tell whether something is of a type of schemas."""
    if kind.endswith("?"):
        return given is None or is_of_type(kind[:-1], given)
    if "[" in kind:
        inner = kind.partition("[")[0]
        return (isinstance(given, (list, tuple)) and all(is_of_type(inner, one) for one in given)) or (
            kind[-2].isdigit() and is_of_type(inner, given)
        )
    wanted = TYPES.get(kind)
    if wanted is int and isinstance(given, bool):
        return True
    return wanted is None or isinstance(given, wanted) or (kind != "Tensor" and hasattr(given, "__index__"))


def spelled(kind: str) -> str:
    """A type as messages spell it: ``Optional[List[int]]``."""
    if kind.endswith("?"):
        return f"Optional[{spelled(kind[:-1])}]"
    if "[" in kind:
        return f"List[{spelled(kind.partition('[')[0])}]"
    return {"Scalar": "number", "SymInt": "int"}.get(kind, kind)
