"""Calls: what came before is found again; what is new is planned, written and kept.

Note [Call caches]
A call is a *signature* and *numbers* (Note [Keys of calls] in ``call_keys.py``). Each operator has a ``CallCache``.
What runs a call of which the very like came before is found there by its key. If only numbers are new, its signature
leads to the shape classes and plan templates of calls like it: one that fits is *bound* to the numbers, which gives a
plan. If nothing fits, the call is planned; once two calls have shown what changes, a shape class is made of them, and
the plan is left as a template. What becomes of a result, if it is no new tensor, is a part of the key. Public functions
have a cache, too, of what their calls came down to (Note [Calls of functions] in ``bindings/function_calls.py``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from tapegrad._src.caches import Cache, Interned
from tapegrad._src.dispatch.call_keys import REPLAY, key_of, signature_of, spec_of
from tapegrad._src.dispatch.codegen.backward import first_applier
from tapegrad._src.dispatch.codegen.forward_ad import forwarding
from tapegrad._src.dispatch.codegen.runner import has_tangents, runner, runner_of_all
from tapegrad._src.dispatch.function_levels import is_level_call, levelled
from tapegrad._src.dispatch.kernels import may_be_symbolic
from tapegrad._src.dispatch.many_operands import MANY
from tapegrad._src.dispatch.many_operands_code import are_usual, looping_applier, looping_runner
from tapegrad._src.dispatch.nodes.operator import node_class_of
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.dispatch.plan_template import DynamicRun, Template, dynamic_forward
from tapegrad._src.dispatch.planning import plan_call
from tapegrad._src.dispatch.shape_class import sought
from tapegrad._src.doors import Door
from tapegrad._src.execution.data.devices import only_device
from tapegrad._src.execution.data.sizes import SYMBOL
from tapegrad._src.execution.data.values import is_ready, quiet_numbers
from tapegrad._src.execution.recording.capturing import capturing, unwatched
from tapegrad._src.execution.recording.execution_mode import computes_now
from tapegrad._src.tape.mechanisms import DYNAMIC_SETTINGS, PLAN_TEMPLATES
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, materialize

class_dispatcher: Door[Callable[..., Any]] = Door("class_dispatcher", filled_by="bindings/dispatching.py")
"""Runs an operator on tensors whose class has a ``__torch_dispatch__``."""

PLAN = 16 << 10
"""About how many bytes a plan takes, with its runner, its kernels' traces and all: measured."""


class CallCache:
    """A table of the calls of an operator. See Note [Call caches].

    Attributes:
        exact: what runs each call, by its key; hot paths read its ``recent`` themselves.
        templates: what is known of calls with other numbers, by signatures: ``Known``.
        classes: the ``ShapeClasses`` among it, of which there are one for all flags.
    """

    __slots__ = ("exact", "templates", "classes")

    def __init__(self) -> None:
        self.exact = Cache("plans", PLAN)
        self.templates = Cache("shape classes")
        self.classes = Interned()

    def clear(self) -> None:
        """Forget all entries."""
        self.exact.clear()
        self.templates.clear()
        self.classes.clear()


def call(op: OperatorLike, args: tuple, settings: dict) -> Any:
    """Run an operator on tensors (scalars and None may stand among them), recording it if a gradient may be wanted."""
    specs = tuple([None if x is None else x._spec if isinstance(x, Tensor) else type(x) for x in args])
    key = (thread.modes, *specs, *settings.items())
    run = op.plans.get(key)
    if run is None and op.calls.exact.older:
        run = op.calls.exact.get(key)
    return new_call(op, args, settings, specs, key) if run is None else run(*args)


def new_call(op: OperatorLike, args: tuple, settings: dict, specs: tuple, key: tuple) -> Any:
    """Run a call of which the very like has not come before."""
    modes, calls = thread.modes, op.calls
    for spec in specs:  # a loop, as it calls nothing
        if type(spec) is Spec and spec.overrides == "dispatch":
            run = intercepted(op, settings) if modes.intercepted else None
            if run is None and is_level_call(specs):  # of another level: its class is asked further out
                run = levelled(op, settings, call)
            return class_dispatcher.content(op, args, settings) if run is None else run(*args)
    if modes.deferred and computes_now():
        return waiting_call(op, args, settings, key)
    taken = signature, _, numbers = signature_of(specs, settings)
    known = calls.templates.recent.get(signature) or calls.templates.get(signature)
    for template in () if known is None or SYMBOL in map(type, numbers) else known.templates:
        symbols = template.read(*numbers)
        if symbols is not None:
            if template.shape_class.dynamic or modes.forward_level >= 0:
                return bound_run(op, specs, settings, key, template, symbols)(*args)
            return calls.exact.keep(key, runner(template.bind(specs, settings, symbols)))(*args)
    if modes.function_modes:  # no plan is kept: see Note [Function modes] in ``tape/modes.py``
        with switched(function_modes=False):
            return call(op, args, settings)
    for value in (*args, *settings.values()):
        if type(value) is not value.__class__:
            return call(op, tuple(map(told, args)), {name: told(value) for name, value in settings.items()})
    if modes.intercepted:
        run = intercepted(op, settings)
    elif is_level_call(specs):
        run = levelled(op, settings, call)
    elif op.by_jax is not None and modes.subgradient == "jax":
        run = op.by_jax(specs, settings)
    else:
        with nullcontext() if capturing.tracer is None else unwatched(op.is_own(settings)):
            run = planned_run(op, specs, settings, key, taken)
        with quiet_numbers():
            return run(*args)
    return calls.exact.keep(key, run)(*args)


def bound_run(
    op: OperatorLike, specs: tuple, settings: dict, key: tuple, template: Template, numbers: tuple,
    plan: Plan | None = None,
) -> Callable:
    """Make the function that runs a call which a template fits, with these numbers; by a plan, if there is one."""
    if template.shape_class.dynamic:
        positions = template.shape_class.pinned
        pinned = (template, specs, *[numbers[position] for position in positions]) if positions else (template, specs)
        dynamic = op.plans.get(pinned)
        if dynamic is None:
            plan = plan or template.bind(specs, settings, numbers)
            dynamic = begun_dynamic(template, pinned, plan)
        run = None if dynamic is NEVER else dynamic.bind(settings, numbers)
        if run is not None:
            return run
    run = runner(plan or template.bind(specs, settings, numbers))
    return op.calls.exact.keep(key, run if thread.modes.forward_level < 0 else with_tangents(op, specs, settings, run))


def planned_run(op: OperatorLike, specs: tuple, settings: dict, key: tuple, taken: tuple) -> Callable:
    """Make the function that runs a call which no template fits."""
    plan = new_plan(op, specs, settings, taken)
    if plan.template is not None:
        return bound_run(op, specs, settings, key, plan.template, plan.binding.numbers, plan)
    if plan.kernels.many and are_usual(plan.modes):
        plan.late.applier = looping_applier
        run = looping_runner(plan, runner)
    else:
        run = runner(plan)
    return op.calls.exact.keep(key, run if thread.modes.forward_level < 0 else with_tangents(op, specs, settings, run))


def begun_dynamic(template: Template, pinned: tuple, plan: Plan) -> Any:
    """The runner for all settings of calls like that of a plan, from then on: Note [Dynamic settings].

    ``NEVER`` if such calls get plans as others have: unless a call on the same specs came just before.
    """
    calls, specs = plan.op.calls.exact, plan.specs
    run = calls.get(pinned)
    if run is None:
        same, template.last = template.last == specs, specs
        if not same or DYNAMIC_SETTINGS.off or thread.modes.deferred or has_tangents(specs):
            return NEVER
        kernel = dynamic_forward(plan)
        made = NEVER if kernel is None else DynamicRun(plan, runner_of_all(plan, kernel), kernel)
        run = calls.keep(pinned, made)
    return run


def with_tangents(op: OperatorLike, specs: tuple, settings: dict, run: Callable) -> Callable:
    """A function that runs a call and propagates the tangents of its arguments, if they may have some."""
    return forwarding(op, settings, run) if has_tangents(specs) else run


NEVER: Any = ()
"""In place of what would run calls: there is no such."""


def plan_for(op: OperatorLike, specs: tuple, settings: dict) -> Plan:
    """The plan of a call: that of a template, if one fits, or a new one."""
    taken = signature, _, numbers = signature_of(specs, settings)
    known = op.calls.templates.get(signature)
    for template in () if known is None or SYMBOL in map(type, numbers) else known.templates:
        symbols = template.read(*numbers)
        if symbols is not None:
            return template.bind(specs, settings, symbols)
    return new_plan(op, specs, settings, taken)


def new_plan(op: OperatorLike, specs: tuple, settings: dict, taken: tuple) -> Plan:
    """The plan of a call that no template fits, which is left as one for others, if it has a shape class.

    Its nodes are operators' nodes, and apply themselves as ``codegen/backward.py`` writes it.
    """
    binding, among = None, None
    alone = only_device() is not None
    if alone and len(specs) <= MANY and may_be_symbolic(specs) and SYMBOL not in map(type, taken[2]):
        known, numbers = among = sought(op, specs, settings, taken)
        binding = known.classes.bound(op, specs, settings, numbers)
    plan = plan_call(op, specs, settings, None, node_class_of, binding, among)
    plan.late.applier = first_applier
    if among is not None and plan.binding is not None and not PLAN_TEMPLATES.off:
        template = Template(plan)
        plan, late = template.plan.replace(), plan.late
        plan.late.applier, plan.late.kernels = late.applier, late.kernels
        known.templates.append(template)
    return plan


def waiting_call(op: OperatorLike, args: tuple, settings: dict, key: tuple) -> Any:
    """A call that is new where nothing is recorded now: it is planned as in immediate mode, and made by that plan as
    long as it is so. See Note [What is worth recording] in ``execution/recording/recording_policy.py``.
    """
    materialize_all(args)
    with switched(deferred=False):
        results = call(op, args, settings)
        run = op.calls.exact.get((thread.modes, *key[1:]))
    if run is not None:
        op.calls.exact.keep(key, waiting_runner(op, settings, key, run))
    return results


def waiting_runner(op: OperatorLike, settings: dict, key: tuple, run: Callable) -> Callable:
    """A function for a key of deferred mode: a runner of immediate mode, as long as nothing is recorded."""

    def waiting(*args: Any) -> Any:
        if computes_now():
            materialize_all(args)
            return run(*args)
        op.calls.exact.forget(key)
        return call(op, args, settings)

    return waiting


def materialize_all(args: tuple) -> None:
    """Let tensors among arguments have arrays that programs have computed: XLA refuses others, which takes long."""
    for x in args:
        if isinstance(x, Tensor):
            storage = x._storage
            if not (is_ready(x._value) and (storage is None or is_ready(storage.memory))):
                materialize(x)


def told(value: Any) -> Any:
    """The number that a stand-in stands for: Note [Dynamic numbers] in ``compiler/capture/dynamic_number.py``."""
    return value if type(value) is value.__class__ else value.__class__(value)


def intercepted(op: OperatorLike, settings: dict) -> Callable:
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


def replay(op: OperatorLike, args: tuple, settings: dict, values: Callable[[], Any]) -> Any:
    """Record a call as ``call`` does, with the outputs' values from ``values()`` where the kernel would have run."""
    specs = tuple(map(spec_of, args))
    key = key_of((REPLAY, thread.modes, *specs), settings)
    run = op.calls.exact.get(key)
    if run is None:
        plan = plan_for(op, specs, settings)
        run = op.calls.exact.keep(key, runner(plan, lambda: _replayed.values()))  # type: ignore[misc]
    outer, _replayed.values = _replayed.values, values
    try:
        return run(*args)
    finally:
        _replayed.values = outer


def unread_runner(op: OperatorLike, args: tuple, settings: dict) -> Callable:
    """The runner of such a call that computes nothing: its output is to be read from the memory that it shows."""
    return runner(plan_for(op, tuple(map(spec_of, args)), settings), lambda: None)
