"""States of modules and optimizers by the names of parameters, whatever wraps the module and whatever mesh it is on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tapegrad._src.absent import refusing
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.functions.creation import zeros, zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributed.collectives import of_first
from tapegrad.distributed.data_parallel import DistributedDataParallel
from tapegrad.distributed.parts import each
from tapegrad.distributed.tensor.dtensor import DTensor, distribute_tensor, full_tensor, placements_of
from tapegrad.errors import message
from tapegrad.nn.modules.module import Module
from tapegrad.optim.optimizer import Optimizer

__getattr__ = refusing(__name__)
__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

State = dict[str, Any]


@dataclass
class StateDictOptions:
    """Options for how states are given and taken.

    Attributes:
        full_state_dict: whether tensors are whole; else they are on the mesh.
        cpu_offload: whether they are moved to the host; of whole ones the first process alone gets any.
        ignore_frozen_params: whether parameters that require no gradient are left out.
        keep_submodule_prefixes, dsd_fqn_modifiers: accepted.
        strict: whether names must be the same.
        broadcast_from_rank0: whether the first process alone has what is to be set.
        flatten_optimizer_state_dict: whether an optimizer's state has one level: ``state.NAME.KEY``.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _inner(model: Module) -> Module:
    while isinstance(model, DistributedDataParallel):
        model = model.module
    return model


def _given(tree: Any, options: StateDictOptions) -> Any:
    """The parts of a state that are given: whole tensors, or as they are."""
    if options.full_state_dict:
        tree = each(lambda x: full_tensor(x).detach() if isinstance(x, DTensor) else x, tree)
    if options.cpu_offload:
        tree = each(lambda x: x if isinstance(x, DTensor) else x.cpu(), tree)
    alone = options.full_state_dict and options.cpu_offload and processes.rank > 0
    return {} if alone else tree


def get_model_state_dict(model: Module, *, submodules: Any = None, options: StateDictOptions | None = None) -> State:
    """The state of a module. All processes call it.

    >>> list(get_model_state_dict(torch.nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    options = options or StateDictOptions()
    own = _inner(model)
    found = own.state_dict()
    if options.ignore_frozen_params:
        frozen = {name for name, p in own.named_parameters() if not p.requires_grad}
        found = {name: value for name, value in found.items() if name not in frozen}
    return _given(dict(found), options)


def set_model_state_dict(model: Module, model_state_dict: State, *, options: StateDictOptions | None = None) -> Any:
    """Put a state into a module, in the layouts that its tensors have. All processes call it.

    Args:
        model: the module.
        model_state_dict: its state; whole tensors are split as the module's are.
        options: with ``broadcast_from_rank0`` the first process alone has it.

    Returns:
        the names that are missing, and those that nobody knows.
    """
    options = options or StateDictOptions()
    own = _inner(model)
    targets = own.state_dict()
    return own.load_state_dict(_placed(model_state_dict, targets, options), strict=options.strict)


def _placed(state: State, targets: State, options: StateDictOptions) -> State:
    """A state whose tensors lie where those do that they are for."""
    if not options.broadcast_from_rank0 or processes.count < 2:
        return {name: _like_target(value, targets.get(name), None) for name, value in state.items()}
    own = state if processes.rank == 0 else {}
    made = {name: own[name] if name in own else zeros(tuple(t.shape), dtype=t.dtype) for name, t in targets.items()}
    return {name: _of_first(_like_target(value, targets[name], 0)) for name, value in made.items()}


def _of_first(tensor: Tensor) -> Tensor:
    """A tensor that is on no mesh, as the first process has it."""
    return tensor if isinstance(tensor, DTensor) else of_first(tensor)


def _like_target(value: Any, target: Any, source: int | None) -> Any:
    if not isinstance(value, Tensor) or not isinstance(target, DTensor) or value.shape != target.shape:  # type: ignore[attr-defined]
        return value
    mesh = target.device_mesh  # type: ignore[attr-defined]
    return distribute_tensor(value.detach(), mesh, placements_of(target, mesh), src_data_rank=source)  # type: ignore[arg-type]


# Optimizers -----------------------------------------------------------------------------------------------------------


def _names(model: Module) -> dict[int, str]:
    return {id(p): name for name, p in _inner(model).named_parameters()}


def _each_optimizer(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _begun(optimizer: Optimizer) -> None:
    """Let an optimizer that has not stepped yet have its state, as PyTorch does: by a step that changes nothing."""
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p.grad is not None for p in parameters):
        raise RuntimeError("state_dict can only be used if the optimizer states are initialized (usually after one "
                           "step() with gradients) or gradients are None.")  # fmt: skip
    rates = [group["lr"] for group in optimizer.param_groups]
    with no_grad():
        for p in parameters:
            if p.requires_grad:
                p.grad = zeros_like(p)
    try:
        for group in optimizer.param_groups:
            group["lr"] = zeros_like(group["lr"]) if isinstance(group["lr"], Tensor) else 0.0
        optimizer.step(closure=None)
    finally:
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> State:
    """The state of optimizers, by the names of parameters. All processes call it."""
    options = options or StateDictOptions()
    names = _names(model)
    found: State = {"state": {}, "param_groups": []}
    for optimizer in _each_optimizer(optimizers):
        _begun(optimizer)
        for p, state in optimizer.state.items():
            found["state"][names[id(p)]] = dict(state)
        for group in optimizer.param_groups:
            found["param_groups"].append({**group, "params": [names[id(p)] for p in group["params"]]})
    given = _given(found, options)
    return _flattened(given) if options.flatten_optimizer_state_dict and given else given


def _flattened(state: State) -> State:
    found = {f"state.{name}.{key}": value for name, of in state["state"].items() for key, value in of.items()}
    for group in state["param_groups"]:
        for name in group["params"]:
            found |= {f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"}
    return found


def _unflattened(state: State, optimizer: Optimizer, names: dict[int, str]) -> State:
    found: State = {"state": {}, "param_groups": []}
    for group in optimizer.param_groups:
        own = [names[id(p)] for p in group["params"]]
        keys = [key for key in group if key != "params"]
        known = {key: state.get(f"param_groups.{own[0]}.{key}", group[key]) for key in keys}
        found["param_groups"].append(known | {"params": own})
        for p in group["params"]:
            start = f"state.{names[id(p)]}."
            of = {key[len(start) :]: value for key, value in state.items() if key.startswith(start)}
            if of:
                found["state"][names[id(p)]] = of
    return found


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: State, *, options: StateDictOptions | None = None
) -> None:
    """Put a state by the names of parameters into optimizers. All processes call it.

    Raises:
        RuntimeError: it has none of a parameter's group.
    """
    options = options or StateDictOptions()
    names = _names(model)
    if options.broadcast_from_rank0 and processes.count > 1:
        raise NotImplementedError(message("an optimizer's state is set by each process from what it has",
                                          hint="load it on all of them, or by checkpoint.load"))  # fmt: skip
    for optimizer in _each_optimizer(optimizers):
        given = optim_state_dict
        if "state" not in given or "param_groups" not in given:
            given = _unflattened(given, optimizer, names)
        optimizer.load_state_dict(_numbered(given, optimizer, names))


def _numbered(given: State, optimizer: Optimizer, names: dict[int, str]) -> State:
    """A state by names as an optimizer has it, by numbers."""
    state, groups, number = {}, [], 0
    for group in optimizer.param_groups:
        own = [names[id(p)] for p in group["params"]]
        known = next((of for of in given["param_groups"] if {*own} <= {*of["params"]}), None)
        if known is None:
            raise RuntimeError(message("the state has no such group of parameters", got=own))
        groups.append({**known, "params": list(range(number, number + len(own)))})
        for p in group["params"]:
            if names[id(p)] in given["state"]:
                of = given["state"][names[id(p)]]
                state[number] = {key: _like_target(value, p, None) for key, value in of.items()}
            number += 1
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[State, State]:
    """The states of a module and of its optimizers."""
    own = [] if optimizers is None else optimizers
    return (get_model_state_dict(model, options=options), get_optimizer_state_dict(model, own, options=options))


def set_state_dict(
    model: Module, optimizers: Any, *, model_state_dict: State, optim_state_dict: State,
    options: StateDictOptions | None = None,
) -> Any:  # fmt: skip
    """Put states into a module and its optimizers."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
