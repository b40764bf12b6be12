"""Calls: find the plan, run the kernel, wire the node, wrap the result.

Note [Runners are written]
What a call has to do is decided by its plan: which arguments are tensors, which of them need an edge, what is saved,
how many outputs there are. ``runner`` writes that down as a function of straight-line Python, without a loop or a
condition, and compiles it. ``print(source_of(plan))`` shows it; that of ``x * y`` where ``x`` requires grad reads::

    def run(x0, x1):
        value0 = forward(x0._value, x1._value)
        node = new(node_class)
        node.plan = plan
        node.next_edges = (x0._edge or leaf_edge(x0), None,)
        node.sequence_nr = next_sequence_nr()
        out0 = new(Tensor)
        out0._value = value0
        out0._spec = spec0
        out0._edge = (node, 0)
        node.saved = (x1,)
        return out0
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from tapegrad.caches import Cache
from tapegrad.dispatch.accumulation import leaf_edge, node_made
from tapegrad.dispatch.backward_code import first_applier
from tapegrad.dispatch.jvp import forwarding
from tapegrad.dispatch.kernels import has_structure
from tapegrad.dispatch.levels import is_level_call, levelled
from tapegrad.dispatch.looping import are_usual, looping_applier, looping_runner
from tapegrad.dispatch.lost_gradients import note_losses
from tapegrad.dispatch.moulds import Casting, Mould, MovingRunner, mould_key
from tapegrad.dispatch.operator_node import node_class_of
from tapegrad.dispatch.pieces import MANY
from tapegrad.dispatch.plan import Plan, check_devices
from tapegrad.dispatch.saved import held, snapshot
from tapegrad.dispatch.structures import Fit, Sought, without_numbers
from tapegrad.doors import Door
from tapegrad.errors import INFERENCE_SAVED
from tapegrad.execution.calls import program_for, recording_lines, recording_names
from tapegrad.execution.host import transfer
from tapegrad.execution.modes import computes_now
from tapegrad.execution.shared import Shared
from tapegrad.execution.sizes import MEMORY_ERRORS, is_symbolic, out_of_memory
from tapegrad.execution.tiers.settings import one_cpu
from tapegrad.execution.values import is_ready, quiet_numbers
from tapegrad.tape.mechanisms import DYNAMIC_SETTINGS, PLAN_TEMPLATES
from tapegrad.tape.modes import alone, switched, thread
from tapegrad.tape.node import HIGHEST_SEQUENCE_NR, next_sequence_nr
from tapegrad.tape.sources import code_of
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.storage import Storage
from tapegrad.tensor.tensor import Tensor, edge_of, materialize, new_tensor, version_of, window_operand

class_dispatcher: Door[Callable[..., Any]] = Door("class_dispatcher", filled_by="bindings/dispatching.py")
"""Runs an operator on tensors whose class has a ``__torch_dispatch__``."""

Argument = Any
"""An argument of an operator in the place of an array: a Tensor, a Python scalar, or None for an absent optional."""


def spec_of(argument: Argument) -> Any:
    """The part of an argument that a plan depends on: the spec of a tensor, the type of a scalar, None."""
    if isinstance(argument, Tensor):
        return argument._spec
    return None if argument is None else type(argument)


def call(op: Any, args: tuple, settings: dict) -> Any:
    """Run an operator on tensors (scalars and None may stand among them), recording it if a gradient may be wanted."""
    specs = tuple(map(spec_of, args))
    key = (thread.modes, *specs, *settings.items())
    run = op.plans.get(key) or op.plan_cache.get(key)
    if run is None:
        for spec in specs:  # a loop, as it calls nothing
            if type(spec) is Spec and spec.overrides == "dispatch":
                run = intercepted(op, settings) if thread.modes.intercepted else None
                return class_dispatcher.content(op, args, settings) if run is None else run(*args)
        if thread.modes.deferred and computes_now():
            return waiting_call(op, args, settings, key)
        run = moving(op, specs, settings) if op.has_moved else None
        if run is not None:
            return run(*args)
        plan = cast(op, specs, settings)
        if plan is not None:
            return op.plan_cache.keep(key, runner(plan))(*args)
        if thread.modes.function_modes:  # no plan is kept: see Note [Function modes] in ``tape/modes.py``
            with switched(function_modes=False):
                return call(op, args, settings)
        if any(type(value) is not value.__class__ for value in (*args, *settings.values())):
            return call(op, tuple(map(told, args)), {name: told(value) for name, value in settings.items()})
        if thread.modes.intercepted:
            run = op.plan_cache.keep(key, intercepted(op, settings))
        elif is_level_call(specs):
            run = op.plan_cache.keep(key, levelled(op, settings, call))
        elif op.by_jax is not None and thread.modes.subgradient == "jax":
            run = op.plan_cache.keep(key, op.by_jax(specs, settings))
        else:
            run = planned(op, specs, settings)
            if run is None:
                return call(op, args, settings)
            if forwards(specs):
                run = forwarding(op, settings, run)
            run = op.plan_cache.keep(key, run)
            with quiet_numbers():
                return run(*args)
    return run(*args)


def waiting_call(op: Any, args: tuple, settings: dict, key: tuple) -> Any:
    """A call that is new where nothing is recorded now: it is planned as in immediate mode, and made by that plan as
    long as it is so. See Note [What is worth recording] in ``execution/prospects.py``.
    """
    materialize_all(args)
    with switched(deferred=False):
        results = call(op, args, settings)
        run = op.plan_cache.get((thread.modes, *key[1:]))
    if run is not None:
        op.plan_cache.keep(key, waiting_runner(op, settings, key, run))
    return results


def waiting_runner(op: Any, settings: dict, key: tuple, run: Callable) -> Callable:
    """A function for a key of deferred mode: a runner of immediate mode, as long as nothing is recorded."""

    def waiting(*args: Any) -> Any:
        if computes_now():
            materialize_all(args)
            return run(*args)
        op.plan_cache.forget(key)
        return call(op, args, settings)

    return waiting


def materialize_all(args: tuple) -> None:
    """Let tensors among arguments have arrays that programs have computed: XLA refuses others, which takes long."""
    for x in args:
        if isinstance(x, Tensor):
            storage = x._storage
            if not (is_ready(x._value) and (storage is None or is_ready(storage.memory))):
                materialize(x)


def plan_of(op: Any, specs: tuple, settings: dict, fit: Fit | None = None) -> Plan:
    """The plan of a call, whose nodes are operators' nodes and apply themselves as ``backward_code.py`` writes it."""
    return Plan(op, specs, settings, thread.modes, node_class_of, first_applier, fit)


def planned(op: Any, specs: tuple, settings: dict) -> Callable | None:
    """The runner of a call that is new; None if one for all settings has been made instead."""
    plan = plan_for(op, specs, settings)
    if plan.mould is not None:
        return None if begins_to_move(plan) else runner(plan)
    if plan.kernels.many and are_usual(plan.modes):
        plan.applier = looping_applier
        return looping_runner(plan, runner)
    return runner(plan)


def plan_for(op: Any, specs: tuple, settings: dict) -> Plan:
    """The plan of a call that is new: cast, if there is a mould, which is left for others, if there may be one."""
    modes = thread.modes
    if not one_cpu() or not has_structure(specs):
        return plan_of(op, specs, settings)
    if not op.moves:
        check_devices(specs)
    fit = Sought.of(op, specs, settings).known(op, specs, settings) if len(specs) <= MANY else None
    key = mould_key(specs, settings, modes, [])
    mould = None if fit is None else fit.structure.moulds.get(key)
    if mould is not None:
        return mould.cast(specs, settings, fit)
    plan = plan_of(op, specs, settings, fit)
    if plan.fit is not None and not PLAN_TEMPLATES.off:
        plan.mould = plan.fit.structure.moulds[key] = Mould(plan)
        if not plan.fit.structure.moving and not forwards(specs):
            (op.families.get(key) or op.families.keep(key, [])).append(plan.mould)
    return plan


def cast(op: Any, specs: tuple, settings: dict) -> Plan | None:
    """The plan of a call that is new in lengths alone, if there is a mould for such; nothing else is asked then."""
    numbers: list[Any] = []
    key = mould_key(specs, settings, thread.modes, numbers)
    if is_symbolic(numbers):  # lengths that are not known are no lengths of others
        return None
    for mould in op.families.recent.get(key) or op.families.get(key) or ():
        found = mould.structure.read(*numbers)
        if found is not None:
            return mould.cast(specs, settings, Fit(mould.structure, found))
    return None


def moving(op: Any, specs: tuple, settings: dict) -> Callable | None:
    """The runner of a call that is new in numbers alone that move. See Note [Moving settings] in ``moulds.py``."""
    skeleton, numbers = without_numbers(settings)
    if not numbers:
        return None
    key = (thread.modes, *specs, skeleton)
    found = op.plans.get(key) or op.plan_cache.get(key)
    return None if found is None else found.runner(settings, numbers)


def begins_to_move(plan: Plan) -> bool:
    """Have one runner for all settings made, if the plan before this one differed in settings alone."""
    mould, op = plan.mould, plan.op
    same, mould.last = mould.last == plan.specs, plan.specs
    if not same or DYNAMIC_SETTINGS.off or plan.modes.deferred or not plan.fit.structure.moving or forwards(plan.specs):
        return False
    skeleton, numbers = without_numbers(plan.given)
    key = (plan.modes, *plan.specs, skeleton)
    if not numbers or op.plan_cache.get(key) is not None:
        return False
    shared = mould.moving_forward(plan)
    if shared is None:
        return False
    op.plan_cache.keep(key, MovingRunner(plan, sharing_runner(plan, shared), shared))
    op.has_moved = True
    return True


def told(value: Any) -> Any:
    """The number that a stand-in stands for: Note [Numbers that move] in ``compiler/capture/moving.py``."""
    return value if type(value) is value.__class__ else value.__class__(value)


def forwards(specs: tuple) -> bool:
    """Whether an argument may have a tangent that is to be propagated."""
    modes = thread.modes
    return modes.forward_level >= 0 and modes.forward_grad and any(isinstance(s, Spec) and s.dual for s in specs)


def intercepted(op: Any, settings: dict) -> Callable:
    """In place of a runner: give the call to the thread's innermost interceptor.

    It is called ``interceptor(op, args, settings)`` and returns the results; if it calls ``op`` itself, the next one
    gets the call, and after the last the operator runs. See Note [Watchers] in ``tape/modes.py``.
    """

    def run(*args: Any) -> Any:
        interceptors, modes = thread.interceptors, thread.modes
        thread.interceptors = interceptors[:-1]
        thread.modes = modes.replace(intercepted=len(interceptors) > 1)
        try:
            if not interceptors:  # all have had the call; outside of a level are the modes from before it began
                return op(*args, **settings)
            return interceptors[-1](op, args, settings)
        finally:
            thread.interceptors, thread.modes = interceptors, modes

    return run


class _Replayed(threading.local):
    values: Callable[[], Any] | None = None


_replayed = _Replayed()
"""The value that ``replay`` has been given."""


def replay(op: Any, args: tuple, settings: dict, values: Callable[[], Any]) -> Any:
    """Record a call as ``call`` does, with the outputs' values from ``values()`` where the kernel would have run."""
    specs = tuple(map(spec_of, args))
    key = ("replay", thread.modes, *specs, *settings.items())
    run = op.plan_cache.get(key)
    if run is None:
        plan = cast(op, specs, settings) or plan_for(op, specs, settings)
        run = op.plan_cache.keep(key, runner(plan, lambda: _replayed.values()))  # type: ignore[misc]
    outer, _replayed.values = _replayed.values, values
    try:
        return run(*args)
    finally:
        _replayed.values = outer


def unread_runner(op: Any, args: tuple, settings: dict) -> Callable:
    """The runner of such a call that computes nothing: its output is to be read from the memory that it shows."""
    specs = tuple(map(spec_of, args))
    return runner(cast(op, specs, settings) or plan_for(op, specs, settings), lambda: None)


def runner(plan: Plan, forward: Callable | None = None) -> Callable:
    """The function that makes the calls of a plan. See Note [Runners are written].

    ``forward`` is run in place of the plan's kernel, if it is given.
    """
    mould = plan.mould
    shared = None if mould is None or forward is not None or plan.modes.deferred else mould.shared_forward(plan)
    if mould is not None and shared is not None:
        run = mould.runs.get(shared)
        if run is None:
            run = mould.runs[shared] = sharing_runner(plan, shared)
        return partial(run, plan, *plan.out_specs, *shared.keys(plan.fit.numbers, size=plan.size))
    names = {} if plan.recorded is None else recording_names(plan.recorded)
    names |= {"plan": plan, **{f"spec{i}": spec for i, spec in enumerate(plan.out_specs)}}
    if forward is not None or plan.recorded is None:
        names["forward"] = forward or plan.kernels.at_once
    if mould is None:
        return casting_of(plan, forward is not None).made(names)
    if forward is not None:
        mould.replayer = mould.replayer or casting_of(plan, True)
        return mould.replayer.made(names)
    mould.runner = mould.runner or casting_of(plan)
    return mould.runner.made(names)


def sharing_runner(plan: Plan, shared: Shared) -> Callable:
    """A function that makes the calls of a plan, and of all that share its kernel: ``run(plan, *specs, *keys,
    *arguments)``."""
    return casting_of(plan, shared=shared).made({"shared": shared.run})


def casting_of(plan: Plan, replayed: bool = False, shared: Shared | None = None) -> Casting:
    """A function that makes a plan's runner: see ``source_of``."""
    if plan.recorded is not None:
        code = code_of(source_of(plan, replayed, shared))
    else:
        key = (*decisive(plan, replayed), None if shared is None else tuple(shared.key_names))
        code = _codes.get(key) or _codes.keep(key, code_of(source_of(plan, replayed, shared)))
    return Casting("run", code, {**_NAMES, "node_class": plan.node_class})


_codes = Cache("written code", nbytes=8 << 10)
"""The code of runners, by what it depends on: it takes longer to write the same again."""


def decisive(plan: Plan, replayed: bool) -> tuple:
    """The parts of a plan that the source of its runner depends on, if its calls are not recorded."""
    specs = [spec.flags if isinstance(spec, Spec) else spec is None for spec in plan.specs]
    saved = [spec is None or spec.flags for spec in plan.saved_specs]
    return (
        plan.modes, replayed, plan.single, plan.mixed, plan.level, plan.level and bool(plan.op.again),
        plan.saves_inference, plan.op.underivable is None,
        plan.positions, plan.needed, plan.saved_inputs, plan.saved_outputs, *specs, None,
        *[spec.flags for spec in plan.out_specs], None, *saved,
    )  # fmt: skip


def operator_ran(plan: Plan, args: tuple, results: tuple) -> None:
    """Tell this thread's watchers of an operator that was run. See Note [Watchers] in ``tape/modes.py``."""
    for watcher in thread.result_watchers:
        watcher(plan, args, results)


def source_of(plan: Plan, replayed: bool = False, shared: Shared | None = None) -> str:
    """The source of a plan's runner.

    ``replayed``: something else is run in place of the kernel. ``shared`` is tried before it: Note [Shared kernels] in
    ``execution/shared.py``.
    """
    specs = [f"spec{i}" for i in range(plan.num_outputs)]
    given = [] if shared is None else ["plan", *specs, *shared.key_names]
    arguments = ", ".join([*given, *(f"x{i}" for i in range(len(plan.specs)))])
    return f"def run({arguments}):\n" + "".join(f"    {line}\n" for line in _lines(plan, replayed, shared))


def _lines(plan: Plan, replayed: bool, shared: Shared | None) -> Iterator[str]:
    values = [_value(i, spec, plan.mixed) for i, spec in enumerate(plan.specs) if spec is not None]
    outputs = range(plan.num_outputs)
    if plan.saves_inference:
        yield f"refuse_inference({_tuple(_edge(i, plan.specs[i]) for i in _sources(plan))})"
    hooked = any(plan.needed) and plan.modes.saved_hooks  # hooks on inputs come before the kernel, and may prevent it
    if hooked:
        yield from _node_lines(plan)
        yield f"node.save_inputs({_tuple(f'x{i}' for i in plan.saved_inputs)})"
    targets = ", ".join(f"value{i}" for i in outputs) + ("" if plan.single else ",")
    if shared is None:
        yield from _forward_lines(plan, targets, values, replayed)
    else:
        yield f"found = shared({', '.join([*shared.key_names, *values])})"
        yield "if found is None:"
        yield "    forward = plan.kernels.at_once"
        yield from (f"    {line}" for line in _forward_lines(plan, "found", values, replayed))
        yield f"{targets} = found"
    if any(plan.needed) and not hooked:
        yield from _node_lines(plan)
    for i in outputs:
        yield f"out{i} = new(Tensor)"
        yield f"out{i}._value = value{i}"
        yield f"out{i}._spec = spec{i}"
        yield f"out{i}._edge = {f'(node, {i})' if plan.out_specs[i].requires_grad else None}"
    if any(plan.needed) and not hooked:
        yield from _save_lines(plan)
    if hooked and plan.saved_outputs and not forwards(plan.specs):  # else hooks get them with their tangents, later
        yield f"node.save_outputs({_tuple(f'out{i}' for i in plan.saved_outputs)})"
    if any(plan.needed) and plan.modes.watched:
        yield "made(node)"
    arguments, results = _tuple(f"x{i}" for i in range(len(plan.specs))), _tuple(f"out{i}" for i in outputs)
    met = (*plan.specs, *plan.out_specs)
    if plan.modes.recording and any(isinstance(spec, Spec) and not spec.requires_grad for spec in met):
        yield f"note_losses(plan, {arguments}, {results})"
    if plan.modes.results_watched:
        yield f"ran(plan, {arguments}, {results})"
    yield "return out0" if plan.single else f"return {_tuple(f'out{i}' for i in outputs)}"


def _forward_lines(plan: Plan, targets: str, values: Sequence[str], replayed: bool) -> Iterator[str]:
    """Run the kernel. What a program has computed in the meantime it does not take as it is, and says so for free."""
    called = f"{targets} = forward({'' if replayed else ', '.join(values)})"
    if plan.recorded is not None and not replayed:
        yield from _recording_lines(plan, targets, values)
    elif plan.level or replayed:
        yield called
    else:
        tensors = _tuple(f"x{i}" for i, spec in enumerate(plan.specs) if isinstance(spec, Spec))
        yield from ("try:", f"    {called}", "except TypeError:", f"    materialize({tensors})", f"    {called}")
        yield from ("except MEMORY_ERRORS as error:", "    raise out_of_memory(error) from None")


def _recording_lines(plan: Plan, targets: str, values: Sequence[str]) -> Iterator[str]:
    """Append the kernel call to the thread's program."""
    assert plan.recorded is not None
    operands = [f"v{i}" for i in range(len(values))]
    yield from (f"{operand} = {value}" for operand, value in zip(operands, values, strict=True))
    yield from (f"program = {program_for('plan.device')}", "try:")
    results = [f"value{i}" for i in range(plan.num_outputs)]
    yield from (f"    {line}" for line in recording_lines(plan.recorded, operands, results))
    yield from ("except Traced:", f"    {targets} = call.at_once({', '.join(operands)})")


def materialize_or_raise(tensors: tuple) -> None:
    """Let tensors whose values have been deferred have arrays; called while a kernel's error is handled.

    Raises:
        TypeError: that error, if none has, and there is no other thread that may have been first.
    """
    if not any([materialize(tensor) for tensor in tensors]) and alone():  # noqa: C419 - all of them
        raise  # noqa: PLE0704 - it is called in an except clause


def _sources(plan: Plan) -> list[int]:
    """The arguments that a gradient may be wanted for."""
    return [position for position, needed in zip(plan.positions, plan.needed, strict=True) if needed]


def refuse_inference(edges: tuple) -> None:
    """Refuse to save an inference tensor, unless no gradient goes anywhere: as of views that nothing recorded.

    Raises:
        RuntimeError: PyTorch's message.
    """
    if any(edge is not None for edge in edges):
        raise RuntimeError(INFERENCE_SAVED)


def _node_lines(plan: Plan) -> Iterator[str]:
    yield "node = new(node_class)"
    yield "node.plan = plan"
    ends = zip(plan.positions, plan.needed, strict=True)
    edges = (_edge(i, plan.specs[i]) if need else "None" for i, need in ends)
    yield f"node.next_edges = {_tuple(edges)}"
    if plan.level and plan.op.again:
        yield f"node.inputs = {_tuple(f'x{i}' for i in plan.positions)}"
    number = HIGHEST_SEQUENCE_NR if plan.op.underivable else "next_sequence_nr()"
    yield f"node.sequence_nr = {number}"


def _save_lines(plan: Plan) -> Iterator[str]:
    """Keep what backward reads. An output that does not require grad is kept as the tensor that it is."""
    outputs = (f"{'value' if plan.out_specs[i].requires_grad else 'out'}{i}" for i in plan.saved_outputs)
    if plan.modes.surviving:
        inputs = [f"snapshot(x{i})" if isinstance(plan.specs[i], Spec) else f"x{i}" for i in plan.saved_inputs]
        yield f"node.saved = {_tuple([*inputs, *outputs])}"
        return
    inputs = [_saved(i, plan.specs[i]) for i in plan.saved_inputs]
    yield f"node.saved = {_tuple([*inputs, *outputs])}"
    if any(isinstance(spec, Spec) and not spec.plain for spec in plan.saved_specs):
        versions = (_version(i, plan.specs[i]) for i in plan.saved_inputs)
        yield f"node.versions = {_tuple(versions)}"


def _saved(position: int, spec: Any) -> str:
    """Code of what is saved of an argument: the tensor, but of memory that NumPy sees what is there now."""
    x = f"x{position}"
    return f"{x} if type({x}._storage) is Storage else held({x})" if isinstance(spec, Spec) and not spec.plain else x


def _version(position: int, spec: Any) -> str:
    """Code that counts the writes to an argument."""
    if not isinstance(spec, Spec) or spec.plain:
        return f"version_of(x{position})" if isinstance(spec, Spec) else "0"
    place = f"x{position}"
    return f"version_of({place})" if spec.inference else f"({place}._counter or {place}._storage.counter).version"


def _tuple(items: Iterable[str]) -> str:
    return f"({''.join(f'{item}, ' for item in items)})".replace(", )", ",)")


def _edge(position: int, spec: Spec) -> str:
    """Code of the edge that the gradient of an argument goes along."""
    return f"{f'edge_of(x{position})' if spec.window else f'x{position}._edge'} or leaf_edge(x{position})"


def _value(position: int, spec: Any, mixed: bool) -> str:
    """Code that reads an argument's value."""
    if not isinstance(spec, Spec):
        return f"x{position}"
    value = f"x{position}._value" if spec.plain else f"x{position}._storage.operand"
    value = f"window_operand(x{position})" if spec.window else value
    return f"transfer({value}, plan.device)" if mixed else value


_NAMES: dict[str, Any] = {
    "materialize": materialize_or_raise, "new": new_tensor, "Tensor": Tensor, "leaf_edge": leaf_edge,
    "next_sequence_nr": next_sequence_nr, "transfer": transfer, "made": node_made, "window_operand": window_operand,
    "edge_of": edge_of, "version_of": version_of, "snapshot": snapshot, "held": held, "Storage": Storage,
    "refuse_inference": refuse_inference, "MEMORY_ERRORS": MEMORY_ERRORS, "out_of_memory": out_of_memory,
    "note_losses": note_losses, "ran": operator_ran,
}  # fmt: skip
"""The names that runners refer to."""
