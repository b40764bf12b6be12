"""Calls: find the plan, run the kernel, wire the node, wrap the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.dispatch.nodes import leaf_edge
from tapegrad.dispatch.plan import Plan
from tapegrad.tape.modes import thread
from tapegrad.tape.node import next_sequence_nr
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.tensor import Tensor, new_tensor, value_of, wrap

Argument = Any
"""What an operator takes for an array: a Tensor, a Python scalar, or None for an absent optional."""


def spec_of(argument: Argument) -> Any:
    """What a plan knows of an argument: the spec of a tensor, the type of a scalar, None."""
    if isinstance(argument, Tensor):
        return argument._spec
    return None if argument is None else type(argument)


def call(op: Any, args: tuple, settings: dict) -> Any:
    """Run an operator on tensors (scalars and None may stand among them), recording it if a gradient may be wanted."""
    specs = tuple(map(spec_of, args))
    key = (thread.modes, *specs, *settings.items())
    run = op.plans.get(key)
    if run is None:
        run = op.plans[key] = make_runner(Plan(op, specs, settings, thread.modes))
    return run(*args)


def make_runner(plan: Plan) -> Callable:
    """The straight-line code of a plan: a function of the arguments."""
    plain = all(isinstance(spec, Spec) and spec.plain for spec in plan.specs)
    if not any(plan.needed):
        return _unrecorded_plain(plan) if plain and plan.single else _unrecorded(plan)
    if plain and plan.single and len(plan.specs) == 1:
        return _recorded_unary(plan)
    if plain and plan.single and plan.positions == (0, 1) and len(plan.specs) == 2:
        return _recorded_binary(plan)
    return _recorded(plan)


def _unrecorded(plan: Plan) -> Callable:
    forward, specs, single = plan.forward, plan.out_specs, plan.single
    out_spec = specs[0]

    def run(*args: Argument) -> Any:
        values = [value_of(arg) if isinstance(arg, Tensor) else arg for arg in args if arg is not None]
        result = forward(*values)
        if single:
            return wrap(result, out_spec)
        return tuple(map(wrap, result, specs))

    return run


def _unrecorded_plain(plan: Plan) -> Callable:
    forward, spec = plan.forward, plan.out_specs[0]

    def run(*args: Tensor) -> Tensor:
        out = new_tensor(Tensor)
        out._value = forward(*[arg._value for arg in args])
        out._spec = spec
        out._edge = None
        return out

    return run


def _recorded_unary(plan: Plan) -> Callable:
    forward, spec, node_class = plan.forward, plan.out_specs[0], plan.node_class
    saves_input, saves_output = bool(plan.saved_inputs), bool(plan.saved_outputs)

    def run(x: Tensor) -> Tensor:
        value = forward(x._value)
        node = new_tensor(node_class)
        node.plan = plan
        node.next_edges = (x._edge or leaf_edge(x),)
        node.sequence_nr = next_sequence_nr()
        if saves_input:
            node.saved = (x, value) if saves_output else (x,)
        else:
            node.saved = (value,) if saves_output else ()
        out = new_tensor(Tensor)
        out._value = value
        out._spec = spec
        out._edge = (node, 0)
        return out

    return run


def _recorded_binary(plan: Plan) -> Callable:
    forward, spec, node_class = plan.forward, plan.out_specs[0], plan.node_class
    needs_x, needs_y = plan.needed
    inputs, saves_output = plan.saved_inputs, bool(plan.saved_outputs)

    def run(x: Tensor, y: Tensor) -> Tensor:
        value = forward(x._value, y._value)
        node = new_tensor(node_class)
        node.plan = plan
        node.next_edges = (
            (x._edge or leaf_edge(x)) if needs_x else None,
            (y._edge or leaf_edge(y)) if needs_y else None,
        )
        node.sequence_nr = next_sequence_nr()
        if inputs == (0, 1):
            saved: tuple = (x, y)
        elif inputs:
            saved = (y,) if inputs[0] else (x,)
        else:
            saved = ()
        node.saved = (*saved, value) if saves_output else saved
        out = new_tensor(Tensor)
        out._value = value
        out._spec = spec
        out._edge = (node, 0)
        return out

    return run


def _recorded(plan: Plan) -> Callable:
    forward, specs, node_class, single = plan.forward, plan.out_specs, plan.node_class, plan.single
    saved_inputs, saved_outputs = plan.saved_inputs, plan.saved_outputs
    ends = [position if need else None for position, need in zip(plan.positions, plan.needed, strict=True)]
    plain = all(spec.plain for spec in plan.specs if isinstance(spec, Spec))

    def run(*args: Argument) -> Any:
        values = [value_of(arg) if isinstance(arg, Tensor) else arg for arg in args if arg is not None]
        result = forward(*values)
        results = (result,) if single else result
        node = new_tensor(node_class)
        node.plan = plan
        node.next_edges = tuple(
            [None if position is None else args[position]._edge or leaf_edge(args[position]) for position in ends]
        )
        node.sequence_nr = next_sequence_nr()
        node.saved = (*[args[i] for i in saved_inputs], *[results[i] for i in saved_outputs])
        if not plain:
            node.versions = tuple([args[i]._version if isinstance(args[i], Tensor) else 0 for i in saved_inputs])
        outs = tuple(
            [
                wrap(value, spec, (node, position) if spec.requires_grad else None)
                for position, (value, spec) in enumerate(zip(results, specs, strict=True))
            ]
        )
        return outs[0] if single else outs

    return run
