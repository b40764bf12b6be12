"""Compiled kernels of a call, whatever its flags."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from tapegrad._src.dispatch.call_keys import Rather, kept_entry, kept_from, key_of
from tapegrad._src.dispatch.function_levels import lifted_forward
from tapegrad._src.dispatch.many_operands import host_function, shapes_of_many
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.shape_class import ClassBinding, Sought, sought
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.dtypes import from_numpy
from tapegrad._src.execution.data.opaque import Meta
from tapegrad._src.execution.data.values import aval
from tapegrad._src.execution.kernels.kernel import Kernel, abstract
from tapegrad._src.execution.recording.recorded_call import Call
from tapegrad._src.execution.tiers.costs import NOTHING
from tapegrad._src.execution.tiers.host_trace import HostFunction
from tapegrad._src.tape.mechanisms import SHAPE_CLASSES
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.spec import Spec

_making = threading.RLock()


def forward_kernel(op: OperatorLike, specs: tuple, settings: dict, wide: bool, known: Callable | None) -> Kernel:
    """A forward kernel, for which nothing has been prepared yet."""

    def function(*values: Any) -> Any:
        return op.prepare(specs, settings)(*values)

    arguments = [abstract_argument(spec) for spec in specs if spec is not None]
    return Kernel(function, name=op.name, wide=wide, arguments=arguments, known=known, settings=settings)


class Kernels:
    """The compiled side of a call, shared by all plans that differ only in flags (what requires grad, what is plain).

    Attributes:
        forward: the forward kernel, made when somebody asks; of a call on lifted tensors, or on tensors without data, a
            function.
        many: whether there are very many arguments or results. See Note [Many operands].
        outputs: shape and dtype of each output; ``single`` tells one output from a tuple of one.
        wide: whether a 64-bit type is involved.
        backwards: the backward kernels, by (inputs that require grad, wanted inputs, defined gradients).
        binding: the shape class that they fit, if there is one. See Note [Shape classes].
    """

    single: Any
    __slots__ = (
        "_forward", "_make", "outputs", "single", "wide", "backwards", "binding", "many", "_recorded", "__weakref__",
    )  # fmt: skip

    def __init__(
        self, op: OperatorLike, specs: tuple, settings: dict, binding: ClassBinding | None = None,
        among: Sought | None = None,
    ) -> None:
        self.backwards: dict[tuple, Any] = {}
        self._recorded: Call | None = None
        self._forward: Any = None
        self.binding = binding
        call = op, specs, settings
        self.many = False
        if op.loop is not None and self._by_loop(*call, shapes_of_many(*call)):
            return
        if binding is None and among is None and may_be_symbolic(specs):
            among = sought(*call)
            self.binding = among[0].classes.bound(*call, among[1])
        if self.binding is not None:
            self._of_class(*call, self.binding)
            return
        function = op.prepare(specs, settings)
        if op.real:
            refuse_complex(op, specs)
        self.binding = None if among is None else among[0].classes.made(*call, among[1])
        here = among is not None or is_run_here(specs)
        anew = here and self.binding is None
        if anew and op.loop and op.variadic is None and self._by_loop(*call, shapes_of_many(*call, 0)):
            return
        arguments = [abstract_argument(spec) for spec in specs if spec is not None]
        entry = kept_entry("forward", *call) if anew else None
        kept: Any = None if entry is None else entry()
        trace: Any = abstract(function, arguments) if self.binding is None and kept is None else None
        if self.binding is None:
            results, self.single = (kept or trace).results
            self.outputs = [(one[0], from_numpy(one[1])) for one in results if one is not None]
        else:
            self.single, self.outputs = self.binding.shape_class.single, self.binding.outputs
        self.wide = self._touches_64_bits(*call)
        if not here and any([isinstance(spec, Spec) and spec.level for spec in specs]):
            self._forward = lifted_forward(*call)
        elif not here and any([isinstance(spec, Spec) and spec.device is META for spec in specs]):
            self._forward = self._shapes
        else:
            known = self._known(*call, entry, kept, trace)
            self._forward = Kernel(
                function, name=op.name, wide=self.wide, arguments=arguments, known=known, settings=settings
            )

    def _known(
        self, op: OperatorLike, specs: tuple, settings: dict, entry: Any, kept: Any, trace: Any
    ) -> Callable | None:
        """A function that gives the function of the host: it was kept, or is written as it is traced in the mode of the
        kernel."""
        if self.binding is not None:
            return Rather(self.binding.forward, "fitting forward", op, specs, settings)
        if kept is None and (self.wide or trace.is_narrow):
            return partial(kept_from, entry, trace)
        if kept is None and entry is not None:
            entry.keep(HostFunction(None, NOTHING, (), trace.results))
        if kept is None or kept.body is None:
            return None if entry is None else kept_entry("narrow forward", op, specs, settings)
        return lambda: kept

    def _by_loop(self, op: OperatorLike, specs: tuple, settings: dict, shapes: list | None) -> bool:
        """Tell whether the call is made by a loop, with results of these shapes: nothing is traced then."""
        self.many = shapes is not None
        if shapes is not None:
            self.single, self.outputs = op.variadic is not None, [(shape, specs[0].dtype) for shape in shapes]
            self.wide = self._touches_64_bits(op, specs, settings)
            given, dtype = [tuple(spec.shape) for spec in specs], specs[0].dtype.numpy
            known = partial(host_function, op.loop.forward, given, shapes, self.single, dtype, settings)
            self._make = partial(forward_kernel, op, specs, settings, self.wide, known)
        return self.many

    @property
    def forward(self) -> Any:
        """See above."""
        if self._forward is None:
            with _making:  # all threads use the same one
                self._forward = self._forward or self._make()
        return self._forward

    def _of_class(self, op: OperatorLike, specs: tuple, settings: dict, binding: ClassBinding) -> None:
        """The same where there is a shape class: nothing is traced, nor prepared before that is necessary."""
        op.check(specs, settings)
        shape_class = binding.shape_class
        self.single, self.outputs = shape_class.single, binding.outputs
        if shape_class.wide is None:
            shape_class.wide = self._touches_64_bits(op, specs, settings)
        self.wide = shape_class.wide
        known = Rather(binding.forward, "fitting forward", op, specs, settings)
        self._make = partial(forward_kernel, op, specs, settings, self.wide, known)

    def _touches_64_bits(self, op: OperatorLike, specs: tuple, settings: dict) -> bool:
        types = [spec.dtype for spec in specs if isinstance(spec, Spec)] + [dtype for _, dtype in self.outputs]
        return any([dtype.is_64bit for dtype in types]) or op.is_wide(specs, settings)

    def _shapes(self, *values: Any) -> Any:
        """Stands for the results of a call where there is no data. See Note [Values without data]."""
        results = tuple(Meta(shape, dtype.numpy) for shape, dtype in self.outputs)
        return results[0] if self.single else results

    @classmethod
    def of(
        cls, op: OperatorLike, specs: tuple, settings: dict, binding: ClassBinding | None = None,
        among: Sought | None = None,
    ) -> Kernels:
        """The kernels for arguments of these shapes and dtypes.

        Args:
            op, specs, settings: the operator, the specs of its arguments, its settings.
            binding: the shape class that they fit, if that is known; ``among``: what is known of calls like it.
        """
        bare = [spec.bare if isinstance(spec, Spec) else spec for spec in specs]
        key = key_of((thread.modes.without, *bare), settings)
        kernels = op.kernels.get(key)
        if kernels is None:
            kernels = op.kernels.only(key, cls(op, specs, settings, binding, among))  # all threads use the same ones
        return kernels

    @property
    def at_once(self) -> Callable:
        """The function of values that computes a call's results now."""
        if not isinstance(self.forward, Kernel):
            return self.forward
        self.forward.note_run()
        return self.forward.run

    def recorded(self, arity: int) -> Call | None:
        """The recorded form of calls; None where lifted arguments take care of themselves."""
        if self._recorded is None and isinstance(self.forward, Kernel):
            avals = tuple(aval(shape, dtype.numpy) for shape, dtype in self.outputs)
            self._recorded = Call(self.forward, avals, self.single, arity)
        return self._recorded


def may_be_symbolic(specs: tuple) -> bool:
    """Tell whether a call may share what is known of it with those of other lengths."""
    return is_run_here(specs) and not SHAPE_CLASSES.off


def is_run_here(specs: tuple) -> bool:
    """Tell whether a call is run here, on arrays of known lengths.

    Where the lengths are symbols a shape class is being made, of which calls that come later must not hear.
    """
    for spec in specs:
        if isinstance(spec, Spec):
            if spec.level or spec.device is META:
                return False
            for length in spec.shape:
                if type(length) is not int:
                    return False
    return True


def refuse_complex(op: OperatorLike, specs: tuple) -> None:
    """Refuse complex arguments of an operator that is declared real, where its function did not.

    Raises:
        NotImplementedError: as PyTorch says it of a type that it has no kernel for.
    """
    for spec in specs:
        if isinstance(spec, Spec) and spec.dtype.is_complex:
            raise NotImplementedError(f"\"{op.name}\" not implemented for '{spec.dtype.scalar_name}'")


def abstract_argument(spec: Spec | type | None) -> Any:
    """The description of an argument for shape inference: shape and dtype of a tensor, the type of a scalar."""
    return (tuple(spec.shape), spec.dtype.numpy) if isinstance(spec, Spec) else spec or type(None)
