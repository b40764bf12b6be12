"""The module that an exported program is: ``ExportedProgram.module()``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import jax
import numpy as np

from tapegrad._src.bindings.state.generator import default_generator
from tapegrad._src.functions.construction import from_numpy
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.errors import message
from tapegrad.export.calling import check_structure, checked
from tapegrad.export.graph_signature import ConstantArgument, InputKind, OutputKind, SymIntArgument
from tapegrad.export.lifting import attribute
from tapegrad.interop.from_jax import from_jax
from tapegrad.nn import Module, Parameter

MUTATIONS = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION)


class ExportedModule(Module):
    """A module that runs an exported program: parameters and buffers are where the module had them that was exported.

    Arguments are checked as ``export`` has supposed them. What ``forward`` wrote to, buffers or arguments, is
    written to here, too. Gradients flow as they did.

    Raises, when it is called:
        AssertionError: a tensor has another shape or dtype than it may have, or another number is given.
        ValueError: the arguments are in other containers than those of the example.
    """

    def __init__(self, program: Any, validate_inputs: bool = True) -> None:
        super().__init__()
        self.program, self.validate_inputs = program, validate_inputs
        for spec in program._graph_signature.input_specs:
            if spec.target is not None:
                place(self, spec, program.tensor_of(spec))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        program, given = self.program, {}
        users = iter(self.users_of(args, kwargs))
        for spec in program._graph_signature.input_specs:
            if isinstance(spec.arg, ConstantArgument):
                continue
            if spec.kind == InputKind.TOKEN:
                given[spec.arg.name] = from_numpy(fresh_key())
            else:
                given[spec.arg.name] = next(users) if spec.target is None else attribute(self, spec.target)
        needed = {name for names in program.sources for name in names}
        with switched(surviving=True):  # what is saved of a tensor that is written to below is what was given
            outputs = program.run(*(one if name in needed else one.detach() for name, one in given.items()))
        return self._results([
            out if any(given[name].requires_grad for name in names) else out.detach()
            for out, names in zip(outputs, program.sources, strict=True)
        ], given)  # fmt: skip

    def users_of(self, args: tuple, kwargs: dict[str, Any]) -> list[Tensor]:
        """The tensors among the arguments of a call, which are checked."""
        flat = check_structure(args, kwargs, self.program.call_spec.in_spec)
        return checked(flat, self.program.expected, self.program.range_constraints if self.validate_inputs else None)

    def _results(self, outputs: Sequence[Tensor], given: dict[str, Tensor]) -> Any:
        """The user's part of what the program gives; the rest is written where it belongs."""
        computed = iter(outputs)
        written: dict[str, Tensor] = {}
        leaves: list[Any] = []
        for spec in self.program._graph_signature.output_specs:
            if spec.kind in MUTATIONS:
                written[spec.arg.name] = self._write(spec, next(computed), given)
            elif isinstance(spec.arg, ConstantArgument):
                leaves.append(spec.arg.value)
            else:
                result = next(computed)
                whole = isinstance(spec.arg, SymIntArgument)
                leaves.append(int(result) if whole else written.get(spec.arg.name, result))
        return self.program.call_spec.out_spec.unflatten(leaves)

    def _write(self, spec: Any, value: Tensor, given: dict[str, Tensor]) -> Tensor:
        """Write a new value where it belongs."""
        if spec.kind == OutputKind.USER_INPUT_MUTATION:
            return given[spec.target].copy_(value)
        with no_grad():
            return attribute(self, spec.target).copy_(value)

    def train(self, mode: bool = True) -> NoReturn:
        """Refused: the mode was decided when the module was exported."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> NoReturn:
        """Refused: the mode was decided when the module was exported."""
        raise NotImplementedError("Calling eval() is not supported yet.")

    def _get_name(self) -> str:
        return "GraphModule"


def place(module: Module, spec: Any, tensor: Tensor) -> None:
    """Put a tensor where its module had it."""
    *path, name = spec.target.split(".")
    for step in path:
        if step not in module._modules:
            module.add_module(step, Module())
        module = module._modules[step]
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor, persistent=bool(spec.persistent))


def fresh_key() -> np.ndarray:
    """A key of random numbers from the default generator.
    Raises NotImplementedError: its numbers are those of PyTorch, of which there are no keys.
    """
    if not default_generator.stream.has_keys:
        raise NotImplementedError("an exported program draws what jax draws: call torch.random.use('jax') before")
    return np.array(default_generator.stream.next_key())


def on_tape(exported: Any, has_gradient: bool) -> Any:
    """An exported program of jax as a function on tensors, that gives a list of tensors."""
    if not exported.out_avals:
        return lambda *tensors: []
    function = exported.call if has_gradient else without_gradient(exported)
    call = from_jax(function, name="exported_program", node="ExportedProgramBackward0")

    def run(*tensors: Tensor) -> list[Tensor]:
        with jax.enable_x64(True):
            return list(flat_results(call(*tensors)))

    return run


def without_gradient(exported: Any) -> Any:
    """A program that says what to do where its gradient is wanted, which isn't in its file."""

    @jax.custom_vjp
    def call(*arrays: Any) -> Any:
        return exported.call(*arrays)

    def refuse(residuals: Any, cotangents: Any) -> NoReturn:
        raise RuntimeError(message(
            "the gradient of this exported program is not in its file", hint="torch.export.save(ep, f, vjp_order=1)"
        ))  # fmt: skip

    call.defvjp(lambda *arrays: (call(*arrays), None), refuse)
    return call


def flat_results(results: Any) -> Iterable[Tensor]:
    """The tensors that a program gives."""
    return results if isinstance(results, (tuple, list)) else (results,)
