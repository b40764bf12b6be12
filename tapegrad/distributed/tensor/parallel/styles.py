"""Styles by which modules are split: ``parallelize_module``.

A style says how parameters are placed, and how inputs and outputs are. What a module is given that lies on no mesh is
this process's part of a tensor which is placed as the style says; what it gives is so again, unless
``use_local_output=False``. In a process that has all devices of the mesh there are no parts: its tensors stay on it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributed.device_mesh import DeviceMesh
from tapegrad.distributed.tensor.dtensor import DTensor, redistribute, to_local
from tapegrad.distributed.tensor.modules import distribute_module, distributed
from tapegrad.distributed.tensor.placement_types import Placement, Replicate, Shard
from tapegrad.errors import message
from tapegrad.nn.modules.linear import Linear
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.sparse import Embedding

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel", "parallelize_module",
]  # fmt: skip


class ParallelStyle:
    """The way in which a module is split. ``_apply(module, mesh)`` does it."""

    src_data_rank: int | None = 0

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        raise NotImplementedError


def _on_mesh(x: Any, mesh: DeviceMesh, given: Placement | None, wanted: Placement | None) -> Any:
    """A tensor on the mesh, as it is wanted."""
    if not isinstance(x, Tensor) or given is None:
        return x
    if not isinstance(x, DTensor):
        x = DTensor.from_local(x, mesh, (given,))
    return x if wanted is None else redistribute(x, mesh, (wanted,))


def _given_out(y: Any, mesh: DeviceMesh, wanted: Placement | None, local: bool) -> Any:
    if not isinstance(y, DTensor) or wanted is None:
        return y
    y = redistribute(y, mesh, (wanted,))  # type: ignore[arg-type]
    return to_local(y) if local and mesh.jax.local_mesh != mesh.jax else y


class _SplitLayer(ParallelStyle):
    """A layer with parameters, one input and one output."""

    splits: dict[type, dict[str, Placement]]
    wanted: Placement = Replicate()

    def __init__(self, inputs: Placement, outputs: Placement, use_local_output: bool) -> None:
        self.input_layouts, self.output_layouts, self.use_local_output = (inputs,), (outputs,), use_local_output

    def _wanted(self, module: Module) -> Placement:
        return self.wanted

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        split = next((found for kind, found in self.splits.items() if isinstance(module, kind)), None)
        if split is None:
            known = " and ".join(kind.__name__ for kind in self.splits)
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.{known}!")

        def partition(name: str, part: Module, mesh: DeviceMesh) -> None:
            for key, parameter in part._parameters.items():
                if parameter is not None:
                    placed = distributed(parameter, mesh, (split.get(key, Replicate()),))
                    part._parameters[key] = placed

        wanted = self._wanted(module)
        join = lambda own, inputs, mesh: (_on_mesh(inputs[0], mesh, self.input_layouts[0], wanted), *inputs[1:])
        give = lambda own, y, mesh: _given_out(y, mesh, self.output_layouts[0], self.use_local_output)
        return distribute_module(module, device_mesh, partition, join, give)


class ColwiseParallel(_SplitLayer):
    """The columns of a layer's matrix, as it is transposed, are split: each device computes some of the outputs.

    Args:
        input_layouts: how the input is placed; on each device, by default.
        output_layouts: how the output is; split along its last dimension, by default.
        use_local_output: whether it is this process's part, or the tensor on the mesh.
    """

    splits = {Linear: {"weight": Shard(0), "bias": Shard(0)}, Embedding: {"weight": Shard(1)}}

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output)


class RowwiseParallel(_SplitLayer):
    """The rows of a layer's matrix, as it is transposed, are split: each device computes a summand of the outputs.

    Args:
        input_layouts: how the input is placed; split along its last dimension, by default.
        output_layouts: how the output is; on each device, by default.
        use_local_output: whether it is this process's part, or the tensor on the mesh.
    """

    splits = {Linear: {"weight": Shard(1)}, Embedding: {"weight": Shard(0)}}

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output)

    def _wanted(self, module: Module) -> Placement:
        return Replicate() if isinstance(module, Embedding) else Shard(-1)


class SequenceParallel(_SplitLayer):
    """A layer whose parameters are on each device, and whose input and output are split along a dimension.

    Args:
        sequence_dim: the dimension.
        use_local_output: whether the output is this process's part, or the tensor on the mesh.
    """

    splits = {Module: {}}

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        super().__init__(Shard(sequence_dim), Shard(sequence_dim), use_local_output)
        self.wanted = Shard(sequence_dim)


def _row(given: Any) -> tuple:
    return given if isinstance(given, tuple) else (given,)


class PrepareModuleInput(ParallelStyle):
    """Inputs of a module are placed.

    Args:
        input_layouts: how each input is placed that lies on no mesh; None for one that is left alone.
        desired_input_layouts: how each is to be placed.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same of those that are given by name.
        use_local_output: whether the module is given this process's parts.

    Raises:
        AssertionError: there are not as many of both.
    """

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_output: bool = False,
    ) -> None:  # fmt: skip
        self.input_layouts = None if input_layouts is None else _row(input_layouts)
        self.desired_input_layouts = None if desired_input_layouts is None else _row(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            assert self.desired_input_layouts is not None, "desired module inputs should not be None!"
            assert len(self.input_layouts) == len(self.desired_input_layouts), (
                "input_layouts and desired_input_layouts should have same length!"
            )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def placed(x: Any, given: Placement | None, wanted: Placement | None) -> Any:
            y = _on_mesh(x, device_mesh, given, wanted)
            return _given_out(y, device_mesh, wanted, True) if self.use_local_output else y

        def join(own: Module, inputs: tuple, kwargs: dict[str, Any]) -> tuple:
            if self.input_layouts is not None:
                if len(inputs) != len(self.input_layouts):
                    raise ValueError("module inputs and input_layouts should have same length!")
                rows = zip(inputs, self.input_layouts, self.desired_input_layouts or (), strict=True)
                inputs = tuple(placed(*row) for row in rows)
            known, wanted = self.input_kwarg_layouts, self.desired_input_kwarg_layouts
            return inputs, {key: placed(x, known.get(key), wanted.get(key)) for key, x in kwargs.items()}

        module.register_forward_pre_hook(join, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Outputs of a module are placed.

    Args:
        output_layouts: how each output is placed that lies on no mesh; None for one that is left alone.
        desired_output_layouts: how each is to be placed.
        use_local_output: whether they are this process's parts then.
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _row(output_layouts), _row(desired_output_layouts)
        self.use_local_output = use_local_output
        assert len(self.output_layouts) == len(self.desired_output_layouts), (
            "output_layouts and desired_output_layouts should have same length!"
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def give(own: Module, inputs: Any, outputs: Any) -> Any:
            rows = _row(outputs)
            if len(rows) != len(self.output_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            found = tuple(
                _given_out(_on_mesh(y, device_mesh, given, wanted), device_mesh, wanted, self.use_local_output)
                for y, given, wanted in zip(rows, self.output_layouts, self.desired_output_layouts, strict=True)
            )
            return found if isinstance(outputs, tuple) else found[0]

        module.register_forward_hook(give)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """``PrepareModuleInput`` and ``PrepareModuleOutput`` together."""

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: Any = None,
        desired_input_kwarg_layouts: Any = None, use_local_input: bool = False, output_layouts: Any,
        desired_output_layouts: Any, use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.inputs = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts, desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )  # fmt: skip
        self.outputs = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        return self.outputs._apply(self.inputs._apply(module, device_mesh), device_mesh)


def parallelize_module(
    module: Module, device_mesh: DeviceMesh | None = None, parallelize_plan: Any = None, *,
    src_data_rank: int | None = 0,
) -> Module:  # fmt: skip
    """Split modules as a plan says, in place.

    Args:
        module: the module.
        device_mesh: of one dimension.
        parallelize_plan: a style for the module, or styles for modules in it by their paths; ``*`` in a path stands for
            any name.
        src_data_rank: accepted; parameters are those of the first process.

    Raises:
        ValueError: no mesh, or one of several dimensions.
        TypeError: no plan.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 2))
    >>> plan = {"0": ColwiseParallel(), "1": RowwiseParallel()}
    >>> parallelize_module(net, DeviceMesh("cpu", [0]), plan)[1].weight.placements
    (Shard(dim=1),)
    """
    if device_mesh is None or device_mesh.ndim != 1:
        raise ValueError(message("a module is split over a mesh of one dimension", got=device_mesh,
                                 hint='give it a part, such as mesh["tp"]'))  # fmt: skip
    if isinstance(parallelize_plan, ParallelStyle):
        return parallelize_plan._apply(module, device_mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError("Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
                        f"{type(parallelize_plan)} found!")  # fmt: skip
    for path, style in parallelize_plan.items():
        for found in _found(module, path):
            parallelize_module(found, device_mesh, style)
    return module


def _found(module: Module, path: str) -> Sequence[Module]:
    found = [module]
    for part in path.split(".") if path else ():
        found = [child for one in found for name, child in one.named_children() if fnmatch.fnmatch(name, part)]
    return found
