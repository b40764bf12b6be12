"""``torch.export.export``: makes the program of a module's ``forward``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax

from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec, flatten
from tapegrad.errors import message
from tapegrad.export.calling import Expected, ExpectedTensor, ExpectedValue, Symbol, ValueRanges
from tapegrad.export.dimensions import Dim
from tapegrad.export.dynamic_shapes import wanted_lengths
from tapegrad.export.errors import (
    DRAFT,
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
    UserError,
    UserErrorType,
)
from tapegrad.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from tapegrad.export.graph_signature import ConstantArgument, ExportGraphSignature, InputKind
from tapegrad.export.lengths import NAMED, Lengths, read_lengths
from tapegrad.export.lifting import Owned, owned_by, snapshot
from tapegrad.export.naming import Path, forward_names, paths_of, shown
from tapegrad.export.signing import signature_of
from tapegrad.export.solving import Solution, Solver, bounds_of, refuse_violations
from tapegrad.export.tracing import CONSTANTS, KEY, TracedForward
from tapegrad.interop.tape_rules import by_tape
from tapegrad.interop.to_jax import to_jax
from tapegrad.nn import Module

log = logging.getLogger(__name__)

PLATFORMS = ("cpu", "cuda", "tpu")
"""The platforms that a program is made for, whichever is here."""

ELEMENTS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
"""The errors of jax for who asks for the elements of what is traced."""


def export(
    mod: Module, args: tuple, kwargs: Mapping[str, Any] | None = None, *, dynamic_shapes: Any = None,
    strict: bool = False, preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False, platforms: Sequence[str] = PLATFORMS,
) -> ExportedProgram:  # fmt: skip
    """The program of a module's ``forward``, traced with examples of its arguments: StableHLO, with the weights apart.

    It is functional: what ``forward`` writes to (running statistics, arguments) comes out as results, and is written
    back by what ``ep.module()`` gives. ``torch.export.save`` writes it to a file, which jax alone can run.

    Args:
        mod: the module, in the mode in which it is to run.
        args, kwargs: examples of the arguments. Tensors are arguments of the program, all else is the same in each
            call.
        dynamic_shapes: which lengths may be others in each call: a dict or a tuple like the arguments, with a dict of
            dimensions, or a tuple for all of them, in place of each tensor. A length is a ``Dim``, ``Dim.AUTO``,
            ``Dim.DYNAMIC``, or ``Dim.STATIC``.
        strict, prefer_deferred_runtime_asserts_over_guards: accepted; programs are traced in one way.
        preserve_module_call_signature: must be empty: a program is flat.
        platforms: what it is made for: jax's names. All of them can be made on any machine.

    Raises:
        ValueError: no module, an argument of an unknown kind, or a ``Dim.DYNAMIC`` of length 0 or 1.
        torch._dynamo.exc.UserError: lengths that were to change don't; ``dynamic_shapes`` says what can't be.
        RuntimeError: Python asks for elements of tensors, a constant is written to, or a result is of an unknown kind.
        NotImplementedError: a platform has no algorithm for an operator.

    >>> batch = torch.export.Dim("batch")
    >>> ep = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes={"input": {0: batch}})
    >>> ep.range_constraints, ep.module()(torch.ones(9, 3)).shape
    ({batch: VR[0, int_oo]}, torch.Size([9, 2]))
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if preserve_module_call_signature:
        raise NotImplementedError("export: preserve_module_call_signature is not in tapegrad: a program is flat")
    try:
        return exported(mod, args, dict(kwargs or {}), dynamic_shapes, tuple(platforms))
    except (UserError, ConstraintViolationError, GuardOnDataDependentSymNode) as error:
        error.args = (f"{error}\n\n{DRAFT}",)
        raise


def draft_export(
    mod: Module, args: tuple, kwargs: Mapping[str, Any] | None = None, *, dynamic_shapes: Any = None, **options: Any
) -> ExportedProgram:
    """``export``, which gives a program also where lengths can't change that were to: they are then fixed.

    Args:
        mod, args, kwargs, dynamic_shapes: as for ``export``.
        options: the others.

    Raises:
        RuntimeError: what no other shapes can mend.

    >>> rows = torch.nn.Unflatten(0, (2, 2))
    >>> draft_export(rows, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("batch")},)).range_constraints
    {}
    """
    try:
        return export(mod, args, kwargs, dynamic_shapes=dynamic_shapes, **options)
    except (UserError, ConstraintViolationError) as error:
        if dynamic_shapes is None:
            raise
        log.warning("%s", str(error).removesuffix(DRAFT))
        return export(mod, args, kwargs, dynamic_shapes=relaxed(dynamic_shapes), **options)


def relaxed(shapes: Any) -> Any:
    """``dynamic_shapes`` in which all lengths that are to change may do so if they can."""
    if isinstance(shapes, dict):
        return {key: relaxed(value) for key, value in shapes.items()}
    if isinstance(shapes, (tuple, list)):
        return type(shapes)(map(relaxed, shapes))
    return shapes if shapes is None or isinstance(shapes, int) or shapes == Dim.STATIC else Dim.AUTO


def exported(module: Module, args: tuple, kwargs: dict, shapes: Any, platforms: tuple[str, ...]) -> ExportedProgram:
    """``export`` without what is said of its errors."""
    if not isinstance(args, tuple):
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}",
        )
    flat, spec = flatten((args, kwargs))
    for leaf in flat:
        refuse_input(leaf)
    paths = paths_of(module, flat, spec)
    lengths = read_lengths(wanted_lengths(module, args, kwargs, shapes, flat, spec), flat, paths)
    tracer = ProgramTracer(module, flat, spec, platforms)
    solution = Solver(lengths, tracer.program).solved()
    refuse_violations(lengths, solution)
    return assembled(tracer, lengths, solution, paths, (args, kwargs))


def refuse_input(leaf: Any) -> None:
    """Refuse an argument that is neither a tensor nor a constant."""
    if not isinstance(leaf, (Tensor, *CONSTANTS)):
        raise ValueError(
            f"Unsupported input type {type(leaf)}. Export only supports pytree containers of basic types (Tensor, int, "
            "float, ...) as input. To register a custom dataclass, use torch.export.register_dataclass. To register a "
            "custom container type, use torch.utils._pytree.register_pytree_node. To register a constant input, use "
            "torch.utils._pytree.register_constant"
        )


@contextmanager
def elements_refused() -> Iterator[None]:
    """Say in PyTorch's words that Python asked for elements of tensors."""
    try:
        yield
    except ELEMENTS as error:
        raise GuardOnDataDependentSymNode(
            "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)"
            "\n\nPython asked for the elements of a tensor, which are not known while a program is exported; "
            "torch.cond and torch.where choose by them inside the program"
        ) from error


class ProgramTracer:
    """A maker of programs of one module for one example.

    Args:
        module: the module.
        flat: the leaves of the arguments.
        spec: their structure.
        platforms: what the programs are made for.
    """

    def __init__(self, module: Module, flat: list, spec: TreeSpec, platforms: tuple[str, ...]) -> None:
        self.module, self.flat, self.spec, self.platforms = module, flat, spec, platforms
        self.owned = owned_by(module)
        self.copy = snapshot(module)

    def program(self, lengths: dict[tuple[int, int], Any]) -> tuple[TracedForward, Any]:
        """The program for these lengths, and what was seen when it was traced."""
        with elements_refused(), jax.enable_x64(True):
            owned, first = self.seen(lengths)
            for literals in (first.made, []) if first.made else ([],):
                changed = numbers_in(first, owned, len(literals))
                traced = TracedForward(self.copy, owned, literals, first.used, self.flat, self.spec, changed)
                traced.lengths = lengths
                traced.sources = [{first.arguments[number] for number in one} for one in first.sources]
                try:
                    return traced, self.lowered(traced, lengths)
                except ELEMENTS:
                    if not literals:
                        raise
        raise AssertionError

    def seen(self, lengths: dict[tuple[int, int], Any]) -> tuple[list[Owned], TracedForward]:
        """The tensors of the module that the program takes, and what it is found to do with them."""
        traced = TracedForward(self.copy, self.owned, None, True, self.flat, self.spec)
        jaxpr = jax.make_jaxpr(to_jax(traced))(*self.arguments(traced, lengths)).jaxpr
        for number, _ in traced.written:
            if number < len(self.owned) and self.owned[number].kind == InputKind.CONSTANT_TENSOR:
                raise RuntimeError(
                    f"Constant {self.owned[number].target} is mutated in the forward method. Pls register it as buffer"
                )
        traced.sources = sources_of(jaxpr)
        read = {id(one) for equation in jaxpr.eqns for one in equation.invars} | set(map(id, jaxpr.outvars))
        is_taken = lambda one, variable: one.kind != InputKind.CONSTANT_TENSOR or id(variable) in read
        return [one for one, variable in zip(self.owned, jaxpr.invars, strict=False) if is_taken(one, variable)], traced

    def arguments(self, traced: TracedForward, lengths: dict[tuple[int, int], Any]) -> list[jax.ShapeDtypeStruct]:
        """The shapes and dtypes of all that a program takes."""
        tensors = [*(one.tensor for one in traced.owned), *(traced.literals or ())]
        fixed = [jax.ShapeDtypeStruct(tuple(one.shape), one.dtype.numpy) for one in tensors]
        users = [
            jax.ShapeDtypeStruct(
                tuple(lengths.get((index, axis), length) for axis, length in enumerate(self.flat[index].shape)),
                self.flat[index].dtype.numpy,
            )
            for index in traced.places
        ]
        return [*fixed, *([KEY] if traced.draws else []), *users]

    def watched(self, traced: TracedForward, watching: Callable) -> TracedForward:
        """A program traced once more in a context.

        Args:
            traced: the program.
            watching: makes the context, of what traces it.
        """
        again = TracedForward(self.copy, traced.owned, traced.literals, traced.draws, self.flat, self.spec,
                              traced.changed)  # fmt: skip
        again.watching = watching
        with elements_refused(), jax.enable_x64(True):
            jax.make_jaxpr(to_jax(again))(*self.arguments(traced, traced.lengths))
        return again

    def lowered(self, traced: TracedForward, lengths: dict[tuple[int, int], Any]) -> Any:
        """The program, in StableHLO."""
        arguments, function = self.arguments(traced, lengths), jax.jit(by_tape(traced))
        try:
            return jax.export.export(function, platforms=self.platforms)(*arguments)
        except NotImplementedError as error:
            raise NotImplementedError(message(
                f"export: {error}", hint="leave out of platforms= what has no such algorithm"
            )) from error  # fmt: skip


def sources_of(jaxpr: Any) -> list[set[int]]:
    """For each output of a jaxpr the numbers of the inputs from which it is computed."""
    known: dict[int, set[int]] = {id(one): {number} for number, one in enumerate(jaxpr.invars)}
    none: set[int] = set()
    for equation in jaxpr.eqns:
        found = none.union(*(known.get(id(one), none) for one in equation.invars))
        known.update((id(one), found) for one in equation.outvars)
    return [known.get(id(one), none) for one in jaxpr.outvars]


def numbers_in(first: TracedForward, owned: list[Owned], literals: int) -> list[int]:
    """The numbers of what is written to among the arguments of a program, by those where all constants were taken."""
    before = {id(one): number for number, one in enumerate(owned)}
    shift = len(owned) + literals - len(first.owned)
    return [
        before[id(first.owned[number])] if number < len(first.owned) else number + shift
        for number, _ in first.written
    ]  # fmt: skip


def assembled(
    tracer: ProgramTracer, lengths: Lengths, solution: Solution, paths: list[Path], example: tuple
) -> ExportedProgram:
    """All that is known of a program."""
    traced, program = solution.made
    ranges = {Symbol(name): ranges_of(lengths, solution, name) for name in lengths.variables}
    ranges = {name: found for name, found in ranges.items() if solution.stands[name] == name}
    input_specs, output_specs = signature_of(traced, paths)
    signature = ExportGraphSignature(input_specs, output_specs)
    kept = {one.target: one.tensor for one in traced.owned}
    literals = {f"lifted_tensor_{number}": tensor for number, tensor in enumerate(traced.literals or ())}
    constants = {name: kept[name] for name in signature.lifted_tensor_constants if name in kept}
    constants |= literals | {name: kept[name] for name in signature.non_persistent_buffers}
    call = ModuleCallSignature(
        [], [], tracer.spec, traced.out_spec, forward_names(tracer.module, *example)
    )  # fmt: skip
    inside = [ModuleCallEntry(name) for name, _ in tracer.module.named_modules() if name]
    return ExportedProgram(
        program, signature, {name: tensor for name, tensor in kept.items() if name not in constants}, ranges,
        [ModuleCallEntry("", call), *inside], expected_of(tracer.flat, lengths, solution, paths), example, constants,
        sources=named_sources(traced, signature),
        watched=lambda watching: tracer.watched(traced, watching),
    )  # fmt: skip


def named_sources(traced: TracedForward, signature: ExportGraphSignature) -> list[tuple[str, ...]]:
    """For each output that is computed the names of the inputs from which it is."""
    specs = [spec for spec in signature.input_specs if not isinstance(spec.arg, ConstantArgument)]
    users = iter(spec.arg.name for spec in specs if spec.kind == InputKind.USER_INPUT)
    names: dict[Any, str] = {spec.target: spec.arg.name for spec in specs if spec.target is not None}
    names |= dict(zip(traced.places, users, strict=True))
    return [tuple(sorted(names[one] for one in found if one in names)) for found in traced.sources]


def ranges_of(lengths: Lengths, solution: Solution, name: str) -> ValueRanges:
    """The bounds of a variable."""
    variable = lengths.variables[name]
    least, most = bounds_of(variable, solution.constraints)
    named = variable.said == NAMED
    taken = max(least, variable.least if variable.least > 2 else 1), min(most, variable.most)
    shown = (variable.least, variable.most) if named else (max(least, variable.least), taken[1])
    return ValueRanges(*shown, max(taken[0], 1), taken[1])


def expected_of(flat: list, lengths: Lengths, solution: Solution, paths: list[Path]) -> list[Expected]:
    """The checks of each argument."""
    found: list[Expected] = []
    for index, (leaf, path) in enumerate(zip(flat, paths, strict=True)):
        if not isinstance(leaf, Tensor):
            found.append(ExpectedValue(shown(path), leaf))
            continue
        shape: list[Any] = list(leaf.shape)
        for axis in range(leaf.ndim):
            linear = lengths.places.get((index, axis))
            stand = None if linear is None else solution.stands[linear.variable.name]
            if linear is not None and isinstance(stand, str):
                shape[axis] = stand, linear.factor, linear.offset
        found.append(ExpectedTensor(shown(path), tuple(shape), leaf.dtype))
    return found
