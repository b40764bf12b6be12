"""``torch.export.exported_program``: a module's program, and what is known of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from tapegrad._src.declaring import on_demand
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec
from tapegrad.errors import message
from tapegrad.export.calling import Expected, Symbol, ValueRanges, check_structure
from tapegrad.export.graph_signature import ExportGraphSignature, InputKind, InputSpec
from tapegrad.export.module import ExportedModule, on_tape
from tapegrad.nn import Parameter

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "default_decompositions"]


__getattr__, _ = on_demand(__name__, {})  # the graphs of the room above


@dataclass
class ModuleCallSignature:
    """The arguments and results of a module: their structures, and the names of the arguments."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: TreeSpec
    out_spec: TreeSpec
    forward_arg_names: list[str] | None = None


@dataclass
class ModuleCallEntry:
    """A module that was called: where it is, and, of the whole, its signature."""

    fqn: str
    signature: ModuleCallSignature | None = None


class CallSpec(NamedTuple):
    """The structures of ``(args, kwargs)`` and of what is returned."""

    in_spec: TreeSpec
    out_spec: TreeSpec


class CustomDecompTable(dict):
    """A table of decompositions, which is empty: a program is made of XLA's operations at once."""


def default_decompositions() -> CustomDecompTable:
    """The decompositions of ``run_decompositions``: none are left to be done.

    >>> default_decompositions()
    {}
    """
    return CustomDecompTable()


def without_places(program: str) -> Iterator[str]:
    """The lines of a program without the places in the source from which its operations come.

    >>> list(without_places("#loc = loc(unknown)\\n%0 = stablehlo.add %1, %2 loc(#loc)"))
    ['%0 = stablehlo.add %1, %2']
    """
    for line in program.splitlines():
        if not line.startswith("#loc"):
            yield re.sub(r" loc\((?:\"[^\"]*\"|[^()\"]*)\)", "", line)


def fixed(name: str) -> property:
    """An attribute that can't be set."""

    def refuse(self: Any, value: Any) -> NoReturn:
        raise RuntimeError(f"Unable to set ExportedProgram's {name} attribute.")

    return property(lambda self: getattr(self, f"_{name}"), refuse)


class ExportedProgram:
    """A module's ``forward`` as a program of XLA, with its weights apart. ``torch.export.export`` makes it.

    To run it, call what ``module()`` gives. ``print`` shows it as StableHLO.

    Attributes:
        exported: the program itself, a ``jax.export.Exported``: its arguments and results are those of
            ``graph_signature``, one by one (Note [Order of arguments] in ``graph_signature.py``).
        graph_signature: what goes in and what comes out.
        state_dict: parameters and buffers by their place in the module: the module's own tensors.
        constants: the other tensors that go in, and buffers that no state dict has.
        range_constraints: for each length that may change its bounds.
        module_call_graph: the modules inside, the whole first.
        expected: of each argument of the user, what is checked.
        has_gradient: whether it can be differentiated; what comes from a file can if that was asked for.
        sources: for each result that is computed the names of the inputs from which it is.

    >>> ep = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),))
    >>> ep.graph_signature.user_inputs, [name for name, _ in ep.named_parameters()]
    (('input',), ['weight', 'bias'])
    >>> ep.module()(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self, exported: Any, graph_signature: ExportGraphSignature, state_dict: dict[str, Tensor],
        range_constraints: dict[Symbol, ValueRanges], module_call_graph: list[ModuleCallEntry],
        expected: Sequence[Expected], example_inputs: Any = None, constants: dict[str, Tensor] | None = None, *,
        sources: Sequence[Sequence[str]] = (), has_gradient: bool = True, watched: Callable | None = None,
    ) -> None:  # fmt: skip
        self._watched, self._graphed = watched, None
        self.exported, self.expected, self.sources = exported, list(expected), list(map(tuple, sources))
        self._graph_signature, self._state_dict = graph_signature, state_dict
        self._range_constraints, self._module_call_graph = range_constraints, module_call_graph
        self._example_inputs, self._constants = example_inputs, constants or {}
        self.has_gradient = has_gradient
        self.run: Callable = on_tape(exported, has_gradient)

    state_dict = fixed("state_dict")
    range_constraints = fixed("range_constraints")
    module_call_graph = fixed("module_call_graph")
    constants = fixed("constants")
    tensor_constants = fixed("constants")
    dialect = fixed("dialect")
    call_spec = fixed("call_spec")
    graph_module = fixed("graph_module")
    graph = fixed("graph")

    _dialect = "STABLEHLO"
    """The language of the program, where PyTorch's are ``TRAINING`` and ``ATEN``."""

    @property
    def _call_spec(self) -> CallSpec:
        signature = self._module_call_graph[0].signature
        assert signature is not None
        return CallSpec(signature.in_spec, signature.out_spec)

    @property
    def _graph_module(self) -> Any:
        """The graph above autograd, which is made when somebody asks for it; outputs are named by its nodes then.

        Raises:
            NotImplementedError: the program comes from a file.
        """
        if self._graphed is None:
            if self._watched is None:
                raise NotImplementedError(message(
                    "an exported program that comes from a file is no graph of torch.fx but StableHLO",
                    hint="print(ep) and ep.exported.mlir_module() show it",
                ))  # fmt: skip
            self._graphed = __getattr__("graph_of")(self, self._watched)
        return self._graphed

    @property
    def _graph(self) -> Any:
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """The inputs and outputs; these have the names of the graph's nodes."""
        if self._watched is not None and self._graphed is None:
            with suppress(Exception):
                self._graph_module  # noqa: B018 - it names the outputs
        return self._graph_signature

    @graph_signature.setter
    def graph_signature(self, value: Any) -> NoReturn:
        raise RuntimeError("Unable to set ExportedProgram's graph_signature attribute.")

    @property
    def example_inputs(self) -> Any:
        """The arguments that the module was exported with: ``(args, kwargs)``, or None.

        Raises, when it is set:
            ValueError: something else, or arguments of another structure.
        """
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value: Any) -> None:
        if value is not None:
            pair = isinstance(value, tuple) and len(value) == 2
            if not (pair and isinstance(value[0], tuple) and isinstance(value[1], dict)):
                raise ValueError(
                    "Example inputs should be a tuple containing example arguments (as a tuple), and example kwargs "
                    "(as a dictionary)."
                )
            check_structure(value[0], value[1], self._call_spec.in_spec)
        self._example_inputs = value

    def tensor_of(self, spec: InputSpec) -> Tensor:
        """The tensor of an input that the user doesn't give.

        Args:
            spec: one of those of the signature, with a target.
        """
        assert spec.target is not None
        kept = spec.kind == InputKind.CONSTANT_TENSOR or spec.persistent is False
        return (self._constants if kept else self._state_dict)[spec.target]

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters of the module, with their places."""
        for name in self._graph_signature.parameters:
            yield name, self._state_dict[name]  # type: ignore[misc]

    def parameters(self) -> Iterator[Parameter]:
        """The parameters of the module."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers of the module, with their places."""
        for spec in self._graph_signature.input_specs:
            if spec.kind == InputKind.BUFFER:
                assert spec.target is not None
                yield spec.target, self.tensor_of(spec)

    def buffers(self) -> Iterator[Tensor]:
        """The buffers of the module."""
        for _, buffer in self.named_buffers():
            yield buffer

    def flat_inputs(self, args: tuple, kwargs: Mapping[str, Any] | None = None) -> list[Tensor]:
        """The tensors that the program takes of these arguments, which are checked.

        Args:
            args, kwargs: those of a call.

        Raises:
            AssertionError, ValueError: as ``module()`` when it is called.
        """
        return self.module().users_of(args, dict(kwargs or {}))

    def module(self, check_guards: bool = True) -> ExportedModule:
        """A module that runs the program, with the program's own parameters and buffers.

        Args:
            check_guards: whether the shapes of arguments are checked before they are given to XLA, which checks them,
                too, in its own words.
        """
        return ExportedModule(self, check_guards)

    def run_decompositions(
        self, decomp_table: Mapping | None = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """The program itself: it is functional, and made of XLA's operations, from the beginning.

        Args:
            decomp_table: None or an empty one.
            decompose_custom_triton_ops: ignored.

        Raises:
            NotImplementedError: the table has something in it.
        """
        if decomp_table:
            raise NotImplementedError(message(
                "operators of an exported program are not decomposed by functions of the user",
                hint="it is made of XLA's operations, which ep.exported.mlir_module() shows",
            ))  # fmt: skip
        signature = self._graph_signature
        copied = ExportGraphSignature(list(signature.input_specs), list(signature.output_specs))
        return ExportedProgram(
            self.exported, copied, self._state_dict, self._range_constraints, self._module_call_graph, self.expected,
            self._example_inputs, self._constants, sources=self.sources,
            has_gradient=self.has_gradient, watched=self._watched,
        )  # fmt: skip

    def validate(self) -> None:
        """Check that the signature is that of the program. Raises AssertionError: it is not."""
        ends = self._graph_signature.input_specs, self._graph_signature.output_specs
        counts = [sum(not hasattr(spec.arg, "value") for spec in specs) for specs in ends]
        if counts != [len(self.exported.in_avals), len(self.exported.out_avals)]:
            raise AssertionError(f"the signature has {counts[0]} inputs and {counts[1]} outputs that are computed with")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused, as PyTorch does."""
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        program = "\n".join(f"    {line}" for line in self._lines())
        signature = str(self._graph_signature).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n{program}\nGraph signature: {signature}\n"
            f"Range constraints: {self._range_constraints}\n"
        )

    def _lines(self) -> Iterator[str]:
        """The lines of the graph's code; those of StableHLO where there is no graph."""
        graphed = None
        if self._watched is not None:
            with suppress(Exception):
                graphed = self._graph_module
        if graphed is None:
            yield from without_places(self.exported.mlir_module())
            yield ""
        else:
            yield from graphed.print_readable(print_output=False).split("\n")
