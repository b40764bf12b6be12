"""The operator: one array function (the kernel), one formula for each differentiable input, and a kind.

Declare an operator by decorating its kernel with a kind. Positional parameters are arrays, keyword-only ones are
settings (hashable). The formulas are given by the name of the input they belong to::

    @elementwise(x=lambda g, y: g * conj(y), y=lambda g, x: g * conj(x))
    def mul(x, y):
        return jnp.multiply(x, y)

Note [What a formula may name]
The names of a formula's arguments say what it reads, and so what is saved for backward:

``g``               the gradient of the output (``g_NAME`` with several outputs)
an input            its value: saved. ``x_shape``, ``x_dtype``: only that, nothing saved
``out``             the output (or, with several, its name): saved
a setting           its value
``i``               for a variadic input ``*xs``: the position of the element whose gradient this is; ``xs``,
                    ``xs_shapes`` and ``xs_dtypes`` name all elements
``gs``              the gradients of all outputs, of which there may be any number

A formula is a lambda over operators of the table, ``+ - * / ** @`` and ``.shape .dtype .ndim``. It is run on arrays, on
tracers, and on tensors (``create_graph``), and must not tell the difference.

Note [Kinds]
The kind of an operator fixes what its formulas need not say: how arguments are promoted, that broadcasting is undone
and that a gradient has its input's dtype; and how the forward-mode derivative follows from the reverse-mode formulas.
elementwise: ``conj(f(conj(t)))``, summed over the inputs; linear: ``op(t)``; multilinear: the sum over the inputs of
``op`` with one replaced by its tangent; general: by a ``jvp=`` formula. A family may refine a kind (``Affine`` in
``matmul.py``, ``PointwiseLoss`` in ``losses.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from tapegrad import dispatch
from tapegrad.caches import Cache, Interned
from tapegrad.dispatch.operator_node import saved_properties
from tapegrad.dispatch.saved import NOTHING, SavedTensor
from tapegrad.errors import NO_FORWARD, NotDifferentiableError
from tapegrad.execution import dtypes
from tapegrad.execution.devices import device
from tapegrad.execution.host import filled
from tapegrad.execution.promotion import result_dtype
from tapegrad.ops.signatures import parameters_of
from tapegrad.tape.hooks import making
from tapegrad.tape.modes import thread
from tapegrad.tensor.geometry import elementwise_strides, preserved_strides
from tapegrad.tensor.spec import Spec, named_strides
from tapegrad.tensor.tensor import Tensor, wrap

TABLE: dict[str, Operator] = {}
"""Every operator of the house, by name. Tests are parametrized over it."""

PLAN = 16 << 10
"""About how many bytes a plan takes, with its runner, its kernels' traces and all: measured."""


class Formula:
    """A derivative: a function and the names of what it reads, taken from its signature once."""

    __slots__ = ("function", "names")

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.names = parameters_of(function).names

    @property
    def is_identity(self) -> bool:
        """Whether it is ``lambda g: g``."""
        code = getattr(self.function, "__code__", None)
        return self.names == ("g",) and code is not None and code.co_code == _IDENTITY


_IDENTITY = (lambda g: g).__code__.co_code


class Operator:
    """An entry of the table. Call it on tensors and it records; call it on arrays or tracers and it computes.

    Args:
        function: the kernel.
        formulas: for each differentiable input, its derivative.
        jvp: forward-mode formula of the general kind; its arguments are named like a formula's, with ``t_NAME`` for the
            tangents (None for an input without one).
        outputs: the names of the outputs, when there are several.
        promote: ``"common"``: array arguments are cast to PyTorch's result type; ``"float"``: the same, and integers
            become the default floating type; ``"none"``: kernels get what the caller gave.
        node: PyTorch's name of the node, when it is not ``<Name>Backward0``.
        name: the operator's name, when it is not the function's.
        real: whether it takes no complex numbers.

    An operator without formulas (a comparison, argmax, ...) has outputs that never require grad.
    """

    kind = "general"
    shows = False
    """Whether the result shows its input's memory in a shape that may have more elements."""
    listed = True
    """Whether it belongs to the table."""
    joint = False
    """Whether ``gradients`` of its own gives the gradients of all inputs at once, where others have formulas."""
    by_jax: Callable | None = None
    """What its calls run in its place where jax's subgradients are chosen. See Note [Two conventions]."""
    looks = False
    """Whether its formulas look at the numbers of tensors, and so can't be run in one piece at a level."""
    flowing: int | None = None
    """How many of its outputs take gradients, if only the first of those that could do so."""
    broadcasts = False
    plain_inputs: frozenset[str] = frozenset()
    """Inputs that are plain numbers of the node (an index, a start): saved, but not freed after a backward."""
    wraps_numbers = False
    """Whether a Python number among the inputs is shown, and freed, as a tensor that was saved."""
    moves = False
    """Whether its arguments may be on several devices: it is run on that of the first."""
    numbers_are_tensors = False
    """Whether a Python number among the inputs counts as a tensor, made where the call is."""
    computed_fields: dict[str, Callable[[Any], Any]] = {}
    """PyTorch's names of saved fields that are computed from the plan of the call."""

    def __init__(
        self,
        function: Callable,
        formulas: dict[str, Callable],
        *,
        jvp: Callable | None = None,
        outputs: tuple[str, ...] | None = None,
        promote: str = "none",
        node: str | None = None,
        name: str | None = None,
        real: bool = False,
    ) -> None:
        parameters = parameters_of(function)
        self.function = function
        self.name = name or function.__name__.rstrip("_")
        self.inputs = parameters.positional
        self.variadic = parameters.variadic
        self.settings = parameters.keyword
        self.defaults = parameters.defaults
        self.outputs = outputs
        self.promote = promote
        self.real = real
        self.formulas = {key: Formula(formula) for key, formula in formulas.items()}
        self.jvp_formula = None if jvp is None else Formula(jvp)
        without = [getattr(formula.function, "underivable", None) for formula in self.formulas.values()]
        self.underivable = next(filter(None, without), None)  # PyTorch's name of what has no derivative
        self.node = node or "".join(part.capitalize() for part in self.name.split("_")) + "Backward0"
        self.remember_nothing()
        self.saved_names: dict[str, Any] = {}  # PyTorch's names of saved fields: our name, or what it always is
        self.keeps_layout = False  # whether an output lies in memory as the first input does
        self.records_integers = False  # whether integers that it gives require grad: see Note [Written integers]
        self._node_class: type | None = None
        self.__name__ = self.__qualname__ = self.name
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        unknown = set(self.formulas) - {*self.inputs, self.variadic}
        if unknown:
            raise TypeError(f"{self.name}: formulas for {sorted(unknown)}, but its inputs are {self.inputs}")
        if self.listed and TABLE.setdefault(self.name, self) is not self:
            raise TypeError(f"the operator {self.name} is declared twice")

    def remember_nothing(self) -> None:
        """Begin with nothing decided and compiled; whoever is made of another operator must not have its."""
        self.plan_cache = Cache("plans", PLAN)
        self.plans: dict[tuple, Callable] = self.plan_cache.recent
        self.kernels = Interned()
        self.families = Cache("structures")  # see Note [Structures] in ``dispatch/structures.py``

    def __call__(self, *args: Any, **settings: Any) -> Any:
        try:
            run = self.plans[thread.modes, *[arg._spec for arg in args], *settings.items()]
        except (KeyError, AttributeError):
            return self._call(args, settings)
        return run(*args)

    def with_numbers(self, x: Tensor, numbers: tuple, settings: dict) -> Any:
        """``self(x, *numbers, **settings)`` for a tensor: numbers, which have no spec, take no detour here."""
        run = self.plans.get((thread.modes, x._spec, *map(type, numbers), *settings.items()))
        return dispatch.call(self, (x, *numbers), settings) if run is None else run(x, *numbers)

    def _call(self, args: tuple, settings: dict) -> Any:
        """The slow path: no plan yet, or some argument is no tensor."""
        for arg in args:
            if isinstance(arg, Tensor):
                return dispatch.call(self, args, settings)
        return self.function(*args, **settings)

    # -- what dispatch asks of an operator -------------------------------------------------------------------------

    def input_name(self, position: int) -> str:
        """The name of the argument at ``position``; those of a variadic input share theirs."""
        return self.inputs[position] if position < len(self.inputs) else str(self.variadic)

    def differentiable(self, position: int) -> bool:
        """Whether there is a formula for the argument at ``position``."""
        return self.input_name(position) in self.formulas

    def formula(self, position: int) -> Formula:
        """The formula for the argument at ``position``."""
        return self.formulas[self.input_name(position)]

    def prepare(self, specs: Sequence, settings: dict) -> Callable:
        """Check the arguments and return the array function to compile, with settings bound and casts in place.

        Arguments that are None are left out when it is called.
        """
        function, promote = self.function, self.promote
        present = [spec for spec in specs if spec is not None]
        self.check(specs, settings)
        compute = None if promote == "none" else self.compute_dtype(present).numpy
        absent = [position for position, spec in enumerate(specs) if spec is None]

        def prepared(*values: Any) -> Any:
            arguments = list(values) if compute is None else [jnp.asarray(value, compute) for value in values]
            for position in absent:
                arguments.insert(position, None)
            return function(*arguments, **settings)

        return prepared

    def check(self, specs: Sequence, settings: dict) -> None:
        """Refuse arguments that the kernel can't take, before anything is run."""

    def compute_dtype(self, specs: Sequence) -> dtypes.dtype:
        """PyTorch's result type of the arguments, and floating if this operator asks for that."""
        result = result_dtype([(spec.dtype, spec.ndim) if isinstance(spec, Spec) else spec for spec in specs])
        if result is dtypes.complex32:
            raise NotImplementedError(
                f"{self.name}: the result would be complex32, of which there are no arrays here; "
                "cast to complex64 first"
            )
        return dtypes.get_default_dtype() if self.promote == "float" and result.category < 2 else result

    def is_wide(self, specs: Sequence, settings: dict) -> bool:
        """Whether the arguments are cast to a 64-bit type, or a setting asks for one."""
        present = [spec for spec in specs if spec is not None]
        if self.promote != "none" and self.compute_dtype(present).is_64bit:
            return True
        return any(isinstance(value, dtypes.dtype) and value.is_64bit for value in settings.values())

    def node_class(self, base: type, num_outputs: int) -> type:
        """The subclass of ``base`` which carries this operator's name."""
        with making:
            if self._node_class is None:
                name = self.node.rpartition("::")[2]
                own = {"__slots__": (), "__module__": "builtins", **saved_properties(self)}
                self._node_class = type(name, (base,), own)
            return self._node_class if num_outputs == 1 else _with_inputs(self._node_class, num_outputs)

    def locate(self, name: str, position: int, specs: Sequence, num_outputs: int) -> tuple[str, Any]:
        """Where the formula of the argument at ``position`` finds what it names. See Note [What a formula may name]."""
        outputs = self.outputs or ("out",)
        if name == "g":
            return ("grad", 0)
        if name == "gs":
            return ("grad", slice(None))
        if name == "i":
            return ("constant", position - len(self.inputs))
        if name.startswith("g_") and name[2:] in outputs:
            return ("grad", outputs.index(name[2:]))
        if name in self.inputs:
            index = self.inputs.index(name)
            return ("constant", None) if index >= len(specs) or specs[index] is None else ("input", index)
        if name == self.variadic:
            return ("inputs", tuple(range(len(self.inputs), len(specs))))
        if name in outputs:
            return ("output", outputs.index(name))
        if name in self.settings:
            return ("setting", name)
        for suffix, attribute in (("_shape", "shape"), ("_dtype", "dtype")):
            stem = name.removesuffix(suffix)
            if stem != name and stem in self.inputs:
                spec = specs[self.inputs.index(stem)]
                return ("constant", getattr(spec, attribute, () if attribute == "shape" else None))
            if name == f"{self.variadic}{suffix}s":
                return ("constant", tuple(getattr(spec, attribute) for spec in specs[len(self.inputs) :]))
        raise TypeError(f"{self.name}: a formula names {name!r}, which is no input, output or setting of it")

    def materialize(self, grads: Sequence, out_specs: Sequence[Spec]) -> Sequence:
        """Zeros for the undefined among the gradients of several outputs, where there can be a gradient."""
        if len(grads) == 1 or all(grad is not None for grad in grads):
            return grads
        model = next(grad for grad in grads if grad is not None)
        return [
            zeros_of(model, shape=tuple(spec.shape), dtype=spec.dtype)
            if grad is None and spec.dtype.category >= dtypes.FLOATING
            else grad
            for grad, spec in zip(grads, out_specs, strict=True)
        ]

    def gradient(self, position: int, arguments: Sequence, spec: Spec) -> Any:
        """The gradient of one input: its formula, with broadcasting undone and the dtype that of the input."""
        grad = self.formula(position).function(*arguments)
        return None if grad is None else self.restore(grad, spec)

    def passes(self, position: int, spec: Spec, out_specs: Sequence[Spec]) -> bool:
        """Whether the gradient of the argument at ``position`` is that of the output, as it is."""
        (out, *others) = out_specs
        same = spec.shape == out.shape and spec.dtype is out.dtype and not others
        return same and not self.joint and self.formula(position).is_identity

    def restore(self, grad: Any, spec: Spec) -> Any:
        """Give a gradient the dtype of the input it belongs to (and its shape, for kinds that broadcast)."""
        if self.broadcasts and tuple(grad.shape) != spec.shape:
            grad = sum_to(grad, shape=tuple(spec.shape))
        if dtypes.as_dtype(grad.dtype) is not spec.dtype:
            grad = cast(grad, dtype=spec.dtype)
        return grad

    def field(self, name: str) -> str:
        """PyTorch's name of a saved field, by ours."""
        return next((theirs for names in (self.saved_names, SAVED_NAMES) for theirs, ours in names.items()
                     if ours == name), name)  # fmt: skip

    def own_name(self, field: str) -> Any:
        """Our name of a saved field, or what it always is, by PyTorch's name."""
        return self.saved_names.get(field, SAVED_NAMES.get(field, field))

    def saved_index(self, plan: Any, name: str) -> Any:
        """Which of the saved items a name means: a number, a tuple of them for a variadic input, None for none."""
        if name == self.variadic:
            return tuple(index for index, i in enumerate(plan.saved_inputs) if self.input_name(i) == name)
        outputs = self.outputs or ("out",)
        names = [self.input_name(i) for i in plan.saved_inputs] + [outputs[i] for i in plan.saved_outputs]
        return names.index(name) if name in names else None

    def read_saved(self, node: Any, field: str) -> Any:
        """What ``node._saved_FIELD`` shows, by PyTorch's name of the field."""
        plan, name = node.plan, self.own_name(field)
        if field in self.computed_fields:
            return self.computed_fields[field](plan)
        if not isinstance(name, str):
            return name
        if name in self.settings:
            return plan.settings[name]
        index = self.saved_index(plan, name)
        if isinstance(index, tuple):
            return tuple(map(node.saved_item, index))
        if index is not None:
            return self.wrapped(node.saved_item(index))
        for stem, attribute in ((name.removesuffix("_shape"), "shape"), (name.removesuffix("_dtype"), "dtype")):
            if stem != name and stem in self.inputs:
                return getattr(plan.specs[self.inputs.index(stem)], attribute)
        if any(name in formula.names for formula in self.formulas.values()):
            return None
        raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{field}'")

    def read_raw_saved(self, node: Any, field: str) -> Any:
        """What ``node._raw_saved_FIELD`` shows: the saved tensor itself, a tuple of them, or one of nothing."""
        if field not in self.saved_tensor_fields(node):
            raise AttributeError(f"'{node.name()}' object has no attribute '_raw_saved_{field}'")
        index = self.saved_index(node.plan, self.own_name(field))
        if isinstance(index, tuple):
            return tuple(map(node.raw_saved_item, index))
        return SavedTensor.empty(NOTHING) if index is None else node.raw_saved_item(index)

    def wrapped(self, item: Any) -> Any:
        """A saved item as the user sees it: of some operators a number is a tensor of no dimensions."""
        return number_tensor(item) if self.wraps_numbers and isinstance(item, NUMBERS) else item

    def saved_fields(self) -> list[str]:
        """PyTorch's names of what the formulas read, as ``dir(node)`` shows them behind ``_saved_``."""
        read = {name for formula in self.formulas.values() for name in formula.names}
        named = {name for name in (*self.saved_names.values(), *SAVED_NAMES.values()) if isinstance(name, str)}
        shown = {*self.inputs, self.variadic, *self.settings, *(self.outputs or ("out",)), *named} & read
        shown |= named.intersection(self.settings)
        constants = [field for field, value in self.saved_names.items() if not isinstance(value, str)]
        fields = [self.field(name) for name in sorted(filter(None, shown))] + constants
        return [*fields, *(field for field in self.computed_fields if field not in fields)]

    def readable_fields(self) -> set[str]:
        """The names by which a node gives what was saved, ours and PyTorch's; ``dir(node)`` shows one of each."""
        read = {name for formula in self.formulas.values() for name in formula.names}
        aliases = {**SAVED_NAMES, **self.saved_names}
        return {*self.saved_fields(), *read, *self.settings, *aliases}

    def saved_tensor_fields(self, node: Any) -> list[str]:
        """Those of the fields that are tensors for this node, as ``dir(node)`` shows them behind ``_raw_saved_``."""
        read = {name for formula in self.formulas.values() for name in formula.names}
        outputs = self.outputs or ("out",)
        names = [name for name in (*self.inputs, self.variadic, *outputs) if name in read - self.plain_inputs]
        specs = dict(zip(self.inputs, node.plan.specs, strict=False))
        return [self.field(name) for name in names if self.wraps_numbers or not isinstance(specs.get(name), type)]

    # -- memory ----------------------------------------------------------------------------------------------------

    def output_strides(self, shape: tuple[int, ...], specs: Sequence) -> tuple[int, ...] | None:
        """How an output of this shape lies in memory; None for a contiguous one, as that of most operators is."""
        if not self.keeps_layout or specs[0].strides is None:
            return None
        return named_strides(shape, preserved_strides(tuple(shape), specs[0].strides))

    # -- forward mode ----------------------------------------------------------------------------------------------

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        """The tangent of the output, on arrays or tensors. ``tangents`` has None where an input has none.

        Raises:
            NotDifferentiableError: naming the operator, where forward mode has no formula.
        """
        if self.jvp_formula is None:
            raise NotDifferentiableError(NO_FORWARD.format(self.name))
        named = dict(zip(self.inputs, primals, strict=False)) | self.defaults | settings
        named |= {f"t_{name}": tangent for name, tangent in zip(self.inputs, tangents, strict=False)}
        if self.variadic:
            named |= {self.variadic: tuple(primals[len(self.inputs) :])}
            named |= {f"t_{self.variadic}": tuple(tangents[len(self.inputs) :])}
        named |= dict(zip(self.outputs, out, strict=True)) if self.outputs else {"out": out}
        return self.jvp_formula.function(*[named[name] for name in self.jvp_formula.names])

    def __repr__(self) -> str:
        return f"<{self.kind} operator {self.name}>"


class Elementwise(Operator):
    """Acts on each element by itself, after broadcasting."""

    kind = "elementwise"
    broadcasts = True

    def check(self, specs: Sequence, settings: dict) -> None:
        broadcast_shapes([spec.shape for spec in specs if isinstance(spec, Spec)])

    def output_strides(self, shape: tuple[int, ...], specs: Sequence) -> tuple[int, ...] | None:
        if not any(isinstance(spec, Spec) and spec.strides is not None for spec in specs):
            return None
        operands = [
            (tuple(spec.shape), spec.layout) if isinstance(spec, Spec) else ((), ())
            for name, spec in zip(self.inputs, specs, strict=False)
            if isinstance(spec, Spec) or (spec is not None and name not in PARAMETERS)
        ]
        return named_strides(shape, elementwise_strides(tuple(shape), operands))

    def promoted(self, specs: Sequence) -> list:
        named = zip(self.inputs, specs, strict=False)
        return [spec for name, spec in named if spec is not None and name not in MASKS]

    def prepare(self, specs: Sequence, settings: dict) -> Callable:
        """As every operator's, but masks are not cast, and halves are computed in float32 and rounded once."""
        if self.promote == "none":
            return super().prepare(specs, settings)
        self.check(specs, settings)
        masks = [self.inputs[position] in MASKS for position in range(len(specs))]
        result = self.compute_dtype(self.promoted(specs))
        half = result.category == 2 and result.itemsize == 2
        compute = jnp.float32 if half else result.numpy
        function, present = self.function, [spec is not None for spec in specs]

        def prepared(*values: Any) -> Any:
            given = iter(values)
            arguments = [
                None if not here else next(given) if mask else jnp.asarray(next(given), compute)
                for here, mask in zip(present, masks, strict=True)
            ]
            out = function(*arguments, **settings)
            return out.astype(result.numpy) if half and out.dtype == compute else out

        return prepared

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        if self.jvp_formula is not None:
            return super().jvp(primals, tangents, out, **settings)
        named = dict(zip(self.inputs, primals, strict=True)) | settings | {"out": out}
        total, foreign = None, False  # whether a tangent was given another dtype than its primal's: it keeps it
        for position, tangent in enumerate(tangents):
            if tangent is None or not self.differentiable(position):
                continue
            formula = self.formula(position)
            if hasattr(formula.function, "underivable"):
                what = formula.function.underivable
                raise NotDifferentiableError(f"Trying to use forward AD with {what} that does not support it.")
            foreign = foreign or tangent.dtype != primals[position].dtype
            names = {"g": conj(tangent if foreign else _as_dtype_of(out, tangent)), **named}
            part = conj(formula.function(*[_named(names, name) for name in formula.names]))
            total = part if total is None else total + part
        if total is None:
            return None
        total = total if tuple(total.shape) == tuple(out.shape) else broadcast_to(total, shape=tuple(out.shape))
        return total if foreign else _as_dtype_of(out, total)


def _as_dtype_of(out: Any, tangent: Any) -> Any:
    """A tangent with the dtype of the output."""
    return tangent if tangent.dtype == out.dtype else cast(tangent, dtype=dtypes.as_dtype(out.dtype))


class Linear(Operator):
    """Linear in its first input (or jointly in a variadic one); the others are indices, masks and settings."""

    kind = "linear"

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        if self.jvp_formula is not None:
            return super().jvp(primals, tangents, out, **settings)
        arguments = [
            primal if not self.differentiable(position) else _zero_like(primal) if tangent is None else tangent
            for position, (primal, tangent) in enumerate(zip(primals, tangents, strict=True))
        ]
        return self(*arguments, **settings)


def _zero_like(primal: Any) -> Any:
    """The tangent of an argument that has none, which may be a number."""
    if isinstance(primal, (bool, int, float, complex)):
        return 0
    return zeros_of(primal, shape=tuple(primal.shape), dtype=dtypes.as_dtype(primal.dtype))


class Multilinear(Operator):
    """Linear in each differentiable input while the others are held fixed: products."""

    kind = "multilinear"

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        total = None
        for position, tangent in enumerate(tangents):
            if tangent is not None and self.differentiable(position):
                part = self(*primals[:position], tangent, *primals[position + 1 :], **settings)
                total = part if total is None else total + part
        return total


MASKS = frozenset(("condition", "mask"))
"""Inputs of elementwise operators with these names are boolean and take no part in promotion."""

PARAMETERS = frozenset(("alpha", "min", "max", "value", "weight"))
"""Inputs of elementwise operators with these names have no say in how the result lies in memory if they are numbers;
any other number counts as a tensor without dimensions."""

SAVED_NAMES: dict[str, str] = {
    "self": "x", "self_sym_sizes": "x_shape", "other": "y", "result": "out", "dim": "axis", "dims": "axes",
    "keepdim": "keepdims",
    "dim0": "axis0", "dim1": "axis1", "dim2": "axis2",
    "dimension": "axis", "split_size": "size", "split_sizes": "sizes",
}  # fmt: skip
"""PyTorch's names of saved fields, and ours, where an operator has no ``saved_names`` of its own."""


def _named(names: dict[str, Any], name: str) -> Any:
    if name in names:
        return names[name]
    stem, _, attribute = name.rpartition("_")
    return getattr(names[stem], attribute)


NUMBERS = (bool, int, float, complex)


def number_tensor(number: Any) -> Tensor:
    """A Python number as the tensor of no dimensions that PyTorch makes of it."""
    kinds = {bool: dtypes.bool, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}
    kind, cpu = kinds[type(number)], device("cpu")
    return wrap(filled((), number, kind, cpu), Spec.of((), kind, cpu))


def _with_inputs(node_class: type, input_slots: int) -> type:
    """``node_class`` for nodes which take several gradients; one class for each number, all of one name."""
    variants = node_class.__dict__.get("variants")
    if variants is None:
        variants = {}
        node_class.variants = variants  # type: ignore[attr-defined]
    if input_slots not in variants:
        variants[input_slots] = type(node_class.__name__, (node_class,), {"__slots__": (), "__module__": "builtins",
                                                                        "input_slots": input_slots})  # fmt: skip
    return variants[input_slots]


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of operands.

    Raises:
        RuntimeError: PyTorch's message, when two lengths differ and neither is 1.

    >>> broadcast_shapes([(3, 1), (4,)])
    (3, 4)
    """
    result: tuple[int, ...] = ()
    for shape in shapes:
        ndim = max(len(result), len(shape))
        left = (1,) * (ndim - len(result)) + tuple(result)
        right = (1,) * (ndim - len(shape)) + tuple(shape)
        for axis in reversed(range(ndim)):
            a, b = left[axis], right[axis]
            if a != b and a != 1 and b != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                    f"{axis}"
                )
        result = tuple(b if a == 1 else a for a, b in zip(left, right, strict=True))
    return result


def _kind(cls: type[Operator], promote: str) -> Callable:
    def decorator_factory(
        *,
        jvp: Callable | None = None,
        outputs: tuple[str, ...] | None = None,
        promote: str = promote,
        node: str | None = None,
        name: str | None = None,
        real: bool = False,
        **formulas: Callable,
    ) -> Callable[[Callable], Operator]:
        def decorate(function: Callable) -> Operator:
            return cls(function, formulas, jvp=jvp, outputs=outputs, promote=promote, node=node, name=name, real=real)

        return decorate

    return decorator_factory


elementwise = _kind(Elementwise, "common")
linear = _kind(Linear, "none")
multilinear = _kind(Multilinear, "none")
general = _kind(Operator, "none")


# -- the operators that the kinds themselves speak ---------------------------------------------------------------------


class Conjugate(Elementwise):
    """Of a real tensor, the tensor itself: formulas that say ``conj`` cost nothing where there is nothing to do."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        (x,) = args
        return x if isinstance(x, Tensor) and not x._spec.dtype.is_complex else super().__call__(x)


@_kind(Conjugate, "common")(x=lambda g: conj(g), node="ConjBackward0")
def conj(x):
    """The complex conjugate; of a real array, the array."""
    if isinstance(x, complex):
        return x.conjugate()
    return jnp.conj(x) if jnp.iscomplexobj(x) else x


@linear(x=lambda g, x_dtype: cast(g, dtype=x_dtype), node="ToCopyBackward0")
def cast(x, *, dtype):
    """``x`` in another dtype; from complex to real the imaginary part is dropped."""
    if jnp.iscomplexobj(x) and dtype.category != 3:
        x = jnp.real(x) if dtype is not dtypes.bool else x
    return x.astype(dtype.numpy) if hasattr(x, "astype") else jnp.asarray(x, dtype.numpy)


cast.keeps_layout = True


@linear(x=lambda g, x_shape: sum_to(g, shape=tuple(x_shape)), node="ExpandBackward0")
def broadcast_to(x, *, shape):
    """``x`` repeated along new dimensions in front, and along those of length 1."""
    return jnp.broadcast_to(x, shape)


broadcast_to.shows = True


@linear(x=lambda g, x_shape: broadcast_to(g, shape=tuple(x_shape)))
def sum_to(x, *, shape):
    """The adjoint of ``broadcast_to``: summed over the dimensions in which ``shape`` was broadcast."""
    extra = x.ndim - len(shape)
    axes = (
        *range(extra),
        *(extra + axis for axis, length in enumerate(shape) if length == 1 and x.shape[extra + axis] != 1),
    )
    return jnp.sum(x, axis=axes).reshape(shape)


@general()
def zeros_of(x, *, shape, dtype):
    """Zeros of any shape and dtype, where ``x`` lives."""
    return jnp.zeros(shape, dtype.numpy)


def forget_plans() -> None:
    """Forget all that was decided and compiled for calls; it is made again when it is needed."""
    for operator in TABLE.values():
        operator.plan_cache.clear()
        operator.kernels.clear()
        operator.families.clear()
        operator.__dict__.pop("variants", None)


dtypes.default_dtype_listener.fill(forget_plans)
