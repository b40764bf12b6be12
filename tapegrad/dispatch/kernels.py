"""Compiled kernels of a call, whatever its flags."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from tapegrad.dispatch.keys import Rather, kept_from, place_of
from tapegrad.dispatch.levels import lifted_forward
from tapegrad.dispatch.pieces import host_function, shapes_of_many
from tapegrad.dispatch.structures import Fit, Sought
from tapegrad.execution.calls import Call
from tapegrad.execution.costs import NOTHING
from tapegrad.execution.devices import META
from tapegrad.execution.dtypes import from_numpy
from tapegrad.execution.kernel import Kernel, abstract
from tapegrad.execution.opaque import Meta
from tapegrad.execution.tiers.host_trace import HostFunction
from tapegrad.execution.values import aval
from tapegrad.tape.mechanisms import SHAPE_CLASSES
from tapegrad.tape.modes import thread
from tapegrad.tensor.spec import Spec

_making = threading.RLock()


def forward_kernel(op: Any, specs: tuple, settings: dict, wide: bool, known: Callable | None) -> Kernel:
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
        many: whether there are very many arguments or results. See Note [Many pieces].
        outputs: shape and dtype of each output; ``single`` tells one output from a tuple of one.
        wide: whether a 64-bit type is involved.
        backwards: the backward kernels, by (inputs that require grad, wanted inputs, defined gradients).
        fit: what they have in common with those of other lengths, if that is known. See Note [Structures].
    """

    __slots__ = (
        "_forward", "_make", "outputs", "single", "wide", "backwards", "fit", "many", "_recorded", "__weakref__",
    )  # fmt: skip

    def __init__(self, op: Any, specs: tuple, settings: dict, fit: Fit | None = None) -> None:
        self.backwards: dict[tuple, Any] = {}
        self._recorded: Call | None = None
        self._forward: Any = None
        self.fit = fit
        if self._in_pieces(op, specs, settings, shapes_of_many(op, specs, settings)):
            return
        sought = Sought.of(op, specs, settings) if fit is None and has_structure(specs) else None
        if sought is not None:
            self.fit = sought.known(op, specs, settings)
        if self.fit is not None:
            self._of_fit(op, specs, settings, self.fit)
            return
        arguments = [abstract_argument(spec) for spec in specs if spec is not None]
        function = op.prepare(specs, settings)
        if op.real:
            refuse_complex(op, specs)
        self.fit = None if sought is None else sought.made(op, specs, settings)
        traced = self.fit is None and is_run_here(specs) and op.variadic is None
        if traced and self._in_pieces(op, specs, settings, shapes_of_many(op, specs, settings, 0)):
            return
        place: Any = None
        found: Any = None
        trace: Any = None
        if self.fit is None:
            place = place_of("forward", op, specs, settings) if is_run_here(specs) else None
            found = None if place is None else place()
            trace = abstract(function, arguments) if found is None else None
            results, self.single = trace.results if found is None else found.results
            self.outputs = [(one[0], from_numpy(one[1])) for one in results if one is not None]
        else:
            self.single, self.outputs = self.fit.structure.single, self.fit.outputs
        self.wide = self._touches_64_bits(op, specs, settings)
        if any(isinstance(spec, Spec) and spec.level for spec in specs):
            self._forward = lifted_forward(op, specs, settings)
        elif any(isinstance(spec, Spec) and spec.device is META for spec in specs):
            self._forward = self._shapes
        else:
            known = self._known(op, specs, settings, place, found, trace)
            self._forward = Kernel(
                function, name=op.name, wide=self.wide, arguments=arguments, known=known, settings=settings
            )

    def _known(self, op: Any, specs: tuple, settings: dict, place: Any, found: Any, trace: Any) -> Callable | None:
        """A function that gives the function of the host: it was kept, or is written as it is traced in the mode of the
        kernel."""
        if self.fit is not None:
            return Rather(self.fit.forward, "fitting forward", op, specs, settings)
        if found is None and (self.wide or trace.is_narrow):
            return partial(kept_from, place, trace)
        if found is None and place is not None:
            place.keep(HostFunction(None, NOTHING, (), trace.results))
        if found is None or found.body is None:
            return None if place is None else place_of("narrow forward", op, specs, settings)
        return lambda: found

    def _in_pieces(self, op: Any, specs: tuple, settings: dict, shapes: list | None) -> bool:
        """Whether the call is one of pieces of these shapes: nothing is traced then."""
        self.many = shapes is not None
        if shapes is not None:
            self.single, self.outputs = op.variadic is not None, [(shape, specs[0].dtype) for shape in shapes]
            self.wide = self._touches_64_bits(op, specs, settings)
            given, dtype = [tuple(spec.shape) for spec in specs], specs[0].dtype.numpy
            known = partial(host_function, op.pieces.forward, given, shapes, self.single, dtype, settings)
            self._make = partial(forward_kernel, op, specs, settings, self.wide, known)
        return self.many

    @property
    def forward(self) -> Any:
        """See above."""
        if self._forward is None:
            with _making:  # all threads use the same one
                self._forward = self._forward or self._make()
        return self._forward

    def _of_fit(self, op: Any, specs: tuple, settings: dict, fit: Fit) -> None:
        """The same where there is a structure: nothing is traced, nor prepared before that is necessary."""
        op.check(specs, settings)
        structure = fit.structure
        self.single, self.outputs = structure.single, fit.outputs
        if structure.wide is None:
            structure.wide = self._touches_64_bits(op, specs, settings)
        self.wide = structure.wide
        known = Rather(fit.forward, "fitting forward", op, specs, settings)
        self._make = partial(forward_kernel, op, specs, settings, self.wide, known)

    def _touches_64_bits(self, op: Any, specs: tuple, settings: dict) -> bool:
        types = [spec.dtype for spec in specs if isinstance(spec, Spec)] + [dtype for _, dtype in self.outputs]
        return any(dtype.is_64bit for dtype in types) or op.is_wide(specs, settings)

    def _shapes(self, *values: Any) -> Any:
        """Stands for the results of a call where there is no data. See Note [Values without data]."""
        results = tuple(Meta(shape, dtype.numpy) for shape, dtype in self.outputs)
        return results[0] if self.single else results

    @classmethod
    def of(cls, op: Any, specs: tuple, settings: dict, fit: Fit | None = None) -> Kernels:
        """The kernels for arguments of these shapes and dtypes, which are known to fit a structure, or not."""
        bare = [spec.bare if isinstance(spec, Spec) else spec for spec in specs]
        key = (thread.modes.without, *bare, *settings.items())
        kernels = op.kernels.get(key)
        if kernels is None:
            kernels = op.kernels.only(key, cls(op, specs, settings, fit))  # all threads use the same ones
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


def has_structure(specs: tuple) -> bool:
    """Whether a call may share what is known of it with those of other lengths."""
    return is_run_here(specs) and not SHAPE_CLASSES.off


def is_run_here(specs: tuple) -> bool:
    """Whether a call is run here, on arrays of known lengths.

    Where the lengths are symbols a structure is being traced, of which calls that come later must not hear.
    """
    given = [spec for spec in specs if isinstance(spec, Spec)]
    run = all(spec.level == 0 and spec.device is not META for spec in given)
    return run and all(type(length) is int for spec in given for length in spec.shape)


def refuse_complex(op: Any, specs: tuple) -> None:
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
