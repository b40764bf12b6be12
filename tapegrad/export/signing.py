"""The signature of a program that was traced: see Note [Order of arguments] in ``graph_signature.py``."""

from __future__ import annotations

from typing import Any

from tapegrad._src.execution.data.sizes import SYMBOL
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
)
from tapegrad.export.lifting import PREFIXES
from tapegrad.export.naming import Names, Path
from tapegrad.export.tracing import TracedForward

KINDS = {
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION, InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}  # fmt: skip
"""The kind of the new value of an input."""


def signature_of(traced: TracedForward, paths: list[Path]) -> tuple[list[InputSpec], list[OutputSpec]]:
    """The inputs and the outputs of a program."""
    names = Names()
    users = users_of(traced, paths, names)  # these have the first choice of names
    owned = [
        InputSpec(one.kind, TensorArgument(names.of_target(PREFIXES[one.kind], one.target)), one.target, one.persistent)
        for one in traced.owned
    ]
    literals = [f"lifted_tensor_{number}" for number in range(len(traced.literals or ()))]
    constants = [
        InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(names.of_target("c_", name)), name) for name in literals
    ]
    key = [InputSpec(InputKind.TOKEN, TokenArgument(names.fresh("key")), None)] if traced.draws else []
    tensors = [*owned, *constants, *(spec for spec in users if isinstance(spec.arg, TensorArgument))]
    return [*owned, *constants, *key, *users], outputs_of(traced, tensors, names)


def users_of(traced: TracedForward, paths: list[Path], names: Names) -> list[InputSpec]:
    """The inputs that the user gives."""
    specs = []
    for leaf, path in zip(traced.leaves, paths, strict=True):
        name = names.of_input(path)
        argument = TensorArgument(name) if isinstance(leaf, Tensor) else ConstantArgument(name, leaf)
        specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
    return specs


def outputs_of(traced: TracedForward, tensors: list[InputSpec], names: Names) -> list[OutputSpec]:
    """The new values of what was written to, and what the user gets. One tensor has one name."""
    known: dict[int, str] = {id(tensor): spec.arg.name for tensor, spec in zip(traced.inputs, tensors, strict=True)}
    specs = []
    for number, after in traced.written:
        spec = tensors[number]
        known[id(after)] = name = names.fresh("output")
        target = spec.arg.name if spec.target is None else spec.target
        specs.append(OutputSpec(KINDS[spec.kind], TensorArgument(name), target))
    return [*specs, *(OutputSpec(OutputKind.USER_OUTPUT, argument_of(leaf, known, names), None)
                      for leaf in traced.results)]  # fmt: skip


def argument_of(leaf: Any, known: dict[int, str], names: Names) -> Any:
    """The name of a result, or its value if it is the same in each call."""
    if isinstance(leaf, Tensor):
        if id(leaf) not in known:
            known[id(leaf)] = names.fresh("output")
        return TensorArgument(known[id(leaf)])
    if type(leaf) is SYMBOL:
        return SymIntArgument(names.fresh("sym_size_int"))
    return ConstantArgument("", leaf)
