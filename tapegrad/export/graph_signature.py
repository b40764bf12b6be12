"""``torch.export.graph_signature``: what goes into an exported program and what comes out of it, in which order.

Note [Order of arguments]
An exported program takes arrays one by one: parameters, buffers, constant tensors, the key of random numbers if it
draws any, and what the user gives, taken out of its containers. What is no tensor among the latter is no argument of
the program. It gives the new values of parameters, buffers and arguments that ``forward`` writes to, and then what the
user gets. An ``ExportGraphSignature`` lists both, in this order, with PyTorch's names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import Any

__all__ = [
    "ConstantArgument", "CustomObjArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind",
    "InputSpec", "OutputKind", "OutputSpec", "SymBoolArgument", "SymFloatArgument", "SymIntArgument",
    "TensorArgument",
]  # fmt: skip


@dataclass
class TensorArgument:
    """A tensor."""

    name: str


@dataclass
class TokenArgument:
    """Something that the program takes for itself: here a key of random numbers."""

    name: str


@dataclass
class SymIntArgument:
    """A length that may be another one in each call."""

    name: str


@dataclass
class SymFloatArgument:
    """A number that follows from lengths, in PyTorch; here it is a tensor or a constant."""

    name: str


@dataclass
class SymBoolArgument:
    """A condition on lengths, in PyTorch; here it is a constant."""

    name: str


@dataclass
class CustomObjArgument:
    """An object of a class of C++, in PyTorch; there are none here."""

    name: str
    class_fqn: str
    fake_val: Any = None


@dataclass
class ConstantArgument:
    """A number, a string or None, which is the same in each call."""

    name: str
    value: int | float | bool | str | None


NAMED = (TensorArgument, SymIntArgument, SymFloatArgument, SymBoolArgument, CustomObjArgument, TokenArgument)
ARGUMENTS = (*NAMED, ConstantArgument)


class InputKind(Enum):
    """The kinds of inputs."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """The kinds of outputs."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


@dataclass
class InputSpec:
    """An input.

    Attributes:
        kind: what it is.
        arg: its name, and whether it is a tensor.
        target: where the module has it: ``"layer.weight"``; None for what the user gives.
        persistent: of a buffer, whether it is in the state dict.

    >>> print(InputSpec(InputKind.PARAMETER, TensorArgument("p_weight"), "weight"))
    p_weight: PARAMETER target='weight'
    """

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind == InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")
        if not isinstance(self.arg, ARGUMENTS):
            raise AssertionError(f"expected valid arg type, got {type(self.arg)}")

    def __str__(self) -> str:
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return described(self) + persistent


@dataclass
class OutputSpec:
    """An output: what it is, its name, and, of a new value, where that belongs.

    >>> print(OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument("add"), "count"))
    add: BUFFER_MUTATION target='count'
    """

    kind: OutputKind
    arg: Any
    target: str | None

    def __post_init__(self) -> None:
        if not isinstance(self.arg, ARGUMENTS):
            raise AssertionError(f"expected valid arg type, got {self.arg}")

    def __str__(self) -> str:
        return described(self)


def described(spec: InputSpec | OutputSpec) -> str:
    """The name of an input or an output, what it is, and where it belongs."""
    target = "" if spec.target is None else f" target='{spec.target}'"
    return f"{spec.arg.name}: {spec.kind.name}{target}"


@dataclass
class ExportBackwardSignature:
    """The outputs that are gradients, in PyTorch's joint graphs; here a program's gradient is a program of its own."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class ExportGraphSignature:
    """All inputs and outputs of a program. See Note [Order of arguments].

    >>> spec = InputSpec(InputKind.BUFFER, TensorArgument("b_count"), "count", persistent=True)
    >>> ExportGraphSignature([spec], []).inputs_to_buffers["b_count"]
    'count'
    """

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(spec.target for spec in self.input_specs if spec.kind == kind and spec.target is not None)

    def _homes(self, specs: Iterable[Any], kind: Any) -> Mapping[str, str]:
        return MappingProxyType({spec.arg.name: spec.target for spec in specs if spec.kind == kind})

    @property
    def parameters(self) -> Collection[str]:
        """The parameters, by their place in the module."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> Collection[str]:
        """The buffers, by their place in the module."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> Collection[str]:
        """The buffers that are in no state dict."""
        buffers = [spec for spec in self.input_specs if spec.kind == InputKind.BUFFER]
        return tuple(str(spec.target) for spec in buffers if not spec.persistent)

    @property
    def lifted_tensor_constants(self) -> Collection[str]:
        """The tensors that are neither parameters nor buffers."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def lifted_custom_objs(self) -> Collection[str]:
        """Nothing: there are no objects of classes of C++."""
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def user_inputs(self) -> Collection[Any]:
        """The names of what the user gives; of what is no tensor, the value."""
        return tuple(map(shown, (spec for spec in self.input_specs if spec.kind == InputKind.USER_INPUT)))

    @property
    def user_outputs(self) -> Collection[Any]:
        """The names of what the user gets; of what is no tensor, the value."""
        kinds = OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT
        return tuple(map(shown, (spec for spec in self.output_specs if spec.kind in kinds)))

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """The place of each parameter, by the name of the input."""
        return self._homes(self.input_specs, InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """The place of each buffer, by the name of the input."""
        return self._homes(self.input_specs, InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """The place of each constant, by the name of the input."""
        return self._homes(self.input_specs, InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        """Nothing: there are no objects of classes of C++."""
        return self._homes(self.input_specs, InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """The buffers that are written to, by the name of the output."""
        return self._homes(self.output_specs, OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> Mapping[str, str]:
        """The parameters that are written to, by the name of the output."""
        return self._homes(self.output_specs, OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """The inputs of the user that are written to, by the name of the output."""
        return self._homes(self.output_specs, OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """None: no output is a gradient."""
        return None

    @property
    def assertion_dep_token(self) -> Mapping[int, str] | None:
        """None."""
        return None

    @property
    def input_tokens(self) -> Collection[str]:
        """The name of the key of random numbers, if there is one."""
        return tuple(spec.arg.name for spec in self.input_specs if spec.kind == InputKind.TOKEN)

    @property
    def output_tokens(self) -> Collection[str]:
        """Nothing: no state of random numbers comes out."""
        return tuple(spec.arg.name for spec in self.output_specs if spec.kind == OutputKind.TOKEN)

    def _arguments(self) -> Iterator[Any]:
        yield from (spec.arg for spec in self.output_specs)
        yield from (spec.arg for spec in self.input_specs)

    def replace_all_uses(self, old: str, new: str) -> None:
        """Give what has one name another one.

        Args:
            old, new: the names.

        Raises:
            AssertionError: these are no strings.
        """
        for what, name in (("old", old), ("new", new)):
            if not isinstance(name, str):
                raise AssertionError(f"expected {what} to be str, got {type(name)}")
        for argument in self._arguments():
            if isinstance(argument, NAMED) and argument.name == old:
                argument.name = new

    def __str__(self) -> str:
        inputs, outputs = ("\n".join(map(str, specs)) for specs in (self.input_specs, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def shown(spec: InputSpec | OutputSpec) -> Any:
    """The name of an argument, or its value if it has one."""
    return spec.arg.value if isinstance(spec.arg, ConstantArgument) else spec.arg.name
