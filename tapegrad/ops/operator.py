"""The operator: one array function (the kernel), one formula for each differentiable input, facts, and a kind.

Declare an operator by decorating its kernel with a kind (Note [Kinds] in ``kinds.py``). Positional parameters are
arrays, keyword-only ones are settings (hashable). The formulas are given by the name of the input they belong to, facts
by their own (Note [Facts] in ``facts.py``)::

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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp

from tapegrad._src import dispatch
from tapegrad._src.caches import Cache, Interned
from tapegrad._src.dispatch.call_cache import CallCache
from tapegrad._src.dispatch.nodes.operator import saved_properties
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.promotion import result_dtype
from tapegrad._src.execution.tiers.host_trace import flat
from tapegrad._src.tape.hooks import making
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.spec import Spec, named_strides
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import ComplexHalfError
from tapegrad.ops.facts import FACTS, node_name
from tapegrad.ops.fallbacks import on_host
from tapegrad.ops.overloads import declare
from tapegrad.ops.saved_fields import SavedFields
from tapegrad.ops.signatures import parameters_of

TABLE: dict[str, Operator] = {}
"""Every operator of the house, by name. Tests are parametrized over it."""

HOME = "tapegrad.ops."
"""The module paths of the functions of the table."""


class Formula:
    """A derivative: a function and the names of what it reads, taken from its signature once."""

    __slots__ = ("function", "names")

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.names = parameters_of(function).names

    @property
    def is_identity(self) -> bool:
        """True if it is ``lambda g: g``."""
        code = getattr(self.function, "__code__", None)
        return self.names == ("g",) and code is not None and code.co_code == _IDENTITY


_IDENTITY = (lambda g: g).__code__.co_code


class Operator(SavedFields):
    """An entry of the table. Call it on tensors and it records; call it on arrays or tracers and it computes.

    Args:
        function: the kernel.
        formulas: for each differentiable input, its derivative.
        jvp: forward-mode formula of the general kind; its arguments are named like a formula's, with ``t_NAME`` for the
            tangents (None for an input without one).
        outputs: the names of the outputs, when there are several.
        promote: ``"common"``: array arguments are cast to PyTorch's result type; ``"float"``: the same, and integers
            become the default floating type; ``"none"``: kernels get what the caller gave.
        node: PyTorch's name of the node, or the number at its end. See Note [Facts].
        name: the operator's name, when it is not the function's.
        real: whether it takes no complex numbers.
        facts: by the names of ``Facts``.

    An operator without formulas (a comparison, argmax, ...) has outputs that never require grad.
    """

    kind = "operator"
    listed = True
    """True if it belongs to the table."""
    joint = False
    """True if ``gradients`` of its own gives the gradients of all inputs at once, where others have formulas."""
    broadcasts = False
    """True if inputs are broadcast, which a gradient has to undo."""

    materialize: Callable[..., Sequence]
    gradient: Callable[..., Any]
    gradients: Callable[..., Any]
    gradient_strides: Callable[..., tuple[int, ...] | None]
    passes: Callable[..., bool]
    widened: Callable[..., Sequence]
    jvp: Callable[..., Any]
    """The ways in which a kind applies formulas: see ``kinds.py``, and ``OperatorLike`` for what each gives."""

    def __init__(
        self, function: Callable, formulas: dict[str, Callable], *, jvp: Callable | None = None,
        outputs: tuple[str, ...] | None = None, promote: str = "none", node: str | int = 0, name: str | None = None,
        real: bool = False, **facts: Any,
    ) -> None:  # fmt: skip
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
        unknown = formulas.keys() - {*self.inputs, self.variadic}
        if unknown:
            raise TypeError(f"{self.name}: formulas for {sorted(unknown)}, but its inputs are {self.inputs}")
        self.formulas = {key: Formula(formula) for key, formula in formulas.items()}
        self.jvp_formula = None if jvp is None else Formula(jvp)
        without = [getattr(formula.function, "underivable", None) for formula in self.formulas.values()]
        self.underivable = next(filter(None, without), None)  # PyTorch's name of what has no derivative
        if not facts.keys() <= FACTS:
            raise TypeError(f"{self.name}: {sorted(facts.keys() - FACTS)} are no facts of an operator")
        vars(self).update(facts)
        if self.on_host and self.xla != "pure_callback":  # which is on the host everywhere
            self.function = on_host(function, self.on_host)
        named, self.aten = declare(self.name, self.family, self.aten) if self.listed else (self.name, None)
        self.node = node_name(named, node)
        self.remember_nothing()
        self._node_class: type | None = None
        self.__name__ = self.__qualname__ = self.name
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        if self.listed and TABLE.setdefault(self.name, self) is not self:
            raise TypeError(f"the operator {self.name} is declared twice")

    def remember_nothing(self) -> None:
        """Begin with nothing decided and compiled; whoever is made of another operator must not have its."""
        self.calls = CallCache()
        self.plans: dict[tuple, Callable] = self.calls.exact.recent
        self.kernels = Interned()

    def __call__(self, *args: Any, **settings: Any) -> Any:
        try:
            run = self.plans[thread.modes, *[None if arg is None else arg._spec for arg in args], *settings.items()]
        except (KeyError, AttributeError):
            for arg in args:  # no plan yet, or some argument is no tensor
                if isinstance(arg, Tensor):
                    return dispatch.call(self, args, settings)
            return self.function(*args, **settings)
        return run(*args)

    def with_numbers(self, x: Tensor, numbers: tuple, settings: dict) -> Any:
        """``self(x, *numbers, **settings)`` for a tensor: numbers, which have no spec, take no detour here."""
        run = self.plans.get((thread.modes, x._spec, *map(type, numbers), *settings.items()))
        return dispatch.call(self, (x, *numbers), settings) if run is None else run(x, *numbers)

    @property
    def lasting_name(self) -> str | None:
        """Its name, if that is the name of the same operator in each process: Note [Kept functions] in ``kept.py``."""
        return self.name if TABLE.get(self.name) is self and self.function.__module__.startswith(HOME) else None

    @property
    def by_jax(self) -> Callable | None:
        """A function that its calls run in its place where jax's subgradients are chosen. See Note [Two
        conventions]."""
        return None if self.convention is None else self.convention.instead_of(self)

    # -- what dispatch asks of an operator -------------------------------------------------------------------------

    def differentiable(self, position: int) -> bool:
        """Tell whether there is a formula for the argument at ``position``."""
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

        @partial(flat, own=self.is_own(settings))
        def prepared(*values: Any) -> Any:
            arguments = list(values) if compute is None else [jnp.asarray(value, compute) for value in values]
            for position in absent:
                arguments.insert(position, None)
            return function(*arguments, **settings)

        return prepared

    def is_own(self, settings: dict) -> bool:
        """Tell whether its kernel and its formulas run nothing but our own code."""
        own = self.listed and str(getattr(self.function, "__module__", "")).startswith("tapegrad.")
        return own and not any(map(callable, settings.values()))

    def check(self, specs: Sequence, settings: dict) -> None:
        """Refuse arguments that the kernel can't take, before anything is run."""

    def compute_dtype(self, specs: Sequence) -> dtypes.dtype:
        """PyTorch's result type of the arguments, and floating if this operator asks for that."""
        result = result_dtype([(spec.dtype, spec.ndim) if isinstance(spec, Spec) else spec for spec in specs])
        if result is dtypes.complex32:
            raise ComplexHalfError(self.name)
        return dtypes.get_default_dtype() if self.promote == "float" and result.category < 2 else result

    def is_wide(self, specs: Sequence, settings: dict) -> bool:
        """Tell whether the arguments are cast to a 64-bit type, or a setting asks for one."""
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
        """Find what the formula of the argument at ``position`` names. See Note [What a formula may name]."""
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

    # -- memory ----------------------------------------------------------------------------------------------------

    def output_strides(self, shape: tuple[int, ...], specs: Sequence) -> tuple[int, ...] | None:
        """The strides of an output of this shape in memory; None for a contiguous one, as that of most operators is."""
        strides = None if self.lies is None else self.lies(tuple(shape), *specs)
        return named_strides(shape, strides) if strides else None

    def __repr__(self) -> str:
        return f"<{self.kind} operator {self.name}>"


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


function_calls = Cache("calls of functions")
"""The functions that run calls of public functions: Note [Calls of functions] in ``bindings/function_calls.py``."""


def forget_plans() -> None:
    """Forget all that was decided and compiled for calls; it is made again when it is needed."""
    for operator in TABLE.values():
        operator.calls.clear()
        operator.kernels.clear()
        operator.__dict__.pop("variants", None)
    function_calls.clear()


dtypes.default_dtype_listener.fill(forget_plans)
