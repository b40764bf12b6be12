"""``backward`` and ``grad``: check what the user gave, choose the gradient type, run the engine."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tapegrad._src.bindings.declaration.handing import asked, overridden, overriding
from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.dispatching import is_shown, sees_functions
from tapegrad._src.caches import memory, remembered
from tapegrad._src.dispatch import AccumulateGrad, gradient_edge
from tapegrad._src.dispatch.function_levels import is_answered, lift, live
from tapegrad._src.execution.array_functions.host import is_traced, ones
from tapegrad._src.execution.data.values import known_array
from tapegrad._src.execution.recording.execution_mode import is_recording, run_recorded
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.tape.hooks import NodeHooks
from tapegrad._src.tape.modes import everywhere, thread, up_to_date
from tapegrad._src.tape.node import Edge, Node
from tapegrad._src.tape.positions import here
from tapegrad._src.tensor.geometry import preserved_strides
from tapegrad._src.tensor.layout import preserve_format
from tapegrad._src.tensor.lifted import TOGETHER, Level
from tapegrad._src.tensor.refusals import refuse_in_transforms
from tapegrad._src.tensor.spec import Size, Spec, named_strides
from tapegrad._src.tensor.tensor import Tensor, value_of, wrap
from tapegrad._src.warn import warn
from tapegrad.autograd import backward_cache, source_lines
from tapegrad.autograd.edges import GradientEdge
from tapegrad.autograd.function_node import FunctionBase, broadcasts_to, reduced
from tapegrad.autograd.gradient_types import InferenceValues, RecordedValues, Tensors, Values
from tapegrad.autograd.graph_log import Logged, log
from tapegrad.autograd.laid_out import Laid, LaidOut, LaidOutTensors
from tapegrad.autograd.running import engine
from tapegrad.autograd.shown_backward import Shown, holds_dispatching
from tapegrad.autograd.shown_formulas import scalar as _  # noqa: F401 - it declares derivatives
from tapegrad.errors import warn_once
from tapegrad.ops.kinds import cast, zeros_of
from tapegrad.ops.levels import whole

Root = Tensor | GradientEdge
ROOTS, OPTIONAL_TENSOR = (Tensor, GradientEdge), (Tensor, type(None))
LAID_OUT_VALUES = LaidOut(Values)
"""The gradient type of most calls whose gradients somebody sees."""

IN_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
    "functorch.vjp instead or call backward() outside of functorch transforms."
)

CYCLE_WARNING = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the "
    "cycle and avoid the leak."
)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Accumulate into the leaves the gradients of the sum of ``tensors``, each weighted by its ``grad_tensors``.

    Args:
        tensors: one or several tensors (or gradient edges) to start from.
        grad_tensors: a gradient for each, of its shape; None for a real tensor of one element means 1.
        retain_graph: keep what the graph saved, so that it can be run again; by default, as ``create_graph``.
        create_graph: record the backward pass itself, for derivatives of higher order.
        grad_variables: deprecated name of ``grad_tensors``.
        inputs: accumulate only into these tensors (or the values of this dict), and run only the nodes which lead to
            them.

    Raises:
        RuntimeError: a tensor has no graph, a gradient doesn't fit, or the graph was freed; inside a function
            transform.
        TypeError: something of the wrong type.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.backward(x ** 3)
    >>> x.grad
    tensor(12.)
    """
    if thread.levels:
        refuse_in_transforms(IN_TRANSFORM)
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    targets = () if inputs is None else targets_of(inputs, "backward")
    roots = tensors if type(tensors) is tuple else as_tuple(tensors)
    if overriding.active and asked((roots, targets), {}):
        overridden(backward, (roots,), {
            "grad_tensors": grad_tensors, "retain_graph": retain_graph, "create_graph": create_graph,
            "inputs": None if inputs is None else targets,
        }, (roots, targets))  # fmt: skip
        return
    seeds = make_seeds(roots, None if grad_tensors is None else as_tuple(grad_tensors))
    if create_graph:
        warn_once(CYCLE_WARNING)
    run_backward(roots, seeds, retain_graph, create_graph, targets, accumulate_grad=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...] | dict[Any, Tensor | None]:
    """The gradients of the sum of ``outputs`` with respect to ``inputs``; no ``.grad`` is touched.

    Only the nodes on a path from ``outputs`` to ``inputs`` are run.

    Args:
        outputs: one or several tensors (or gradient edges).
        inputs: the tensors (or edges) to differentiate with respect to; for a dict of them the result is one.
        grad_outputs: a gradient for each output, as in ``backward``.
        retain_graph, create_graph: as in ``backward``.
        only_inputs: deprecated and ignored.
        allow_unused: give None for an input that the outputs don't depend on, instead of an error.
        is_grads_batched: the first dimension of each of ``grad_outputs`` is a batch; so is that of each result.
        materialize_grads: give zeros instead of None.

    Raises:
        RuntimeError: an input was not used, a gradient doesn't fit, or the graph was freed.
        ValueError: ``materialize_grads`` together with ``allow_unused=False``.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    roots, targets = as_tuple(outputs), targets_of(inputs, "grad")
    if overriding.active and asked((roots, targets), {}):
        results = overridden(grad, (roots, targets), {
            "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph,
            "only_inputs": only_inputs, "allow_unused": allow_unused, "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }, (roots, targets))  # fmt: skip
        return dict(zip(inputs, results, strict=True)) if type(inputs) is dict else results
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    given = None if grad_outputs is None else as_tuple(grad_outputs)
    if is_grads_batched:
        results = _batched(roots, given, targets, retain_graph, create_graph, allow_unused)
    else:
        seeds = make_seeds(roots, given)
        results = run_backward(roots, seeds, retain_graph, create_graph, targets, False, allow_unused=allow_unused)
    if materialize_grads:
        results = [
            unused(target, create_graph) if result is None else result
            for result, target in zip(results, targets, strict=True)
        ]
    return dict(zip(inputs, results, strict=True)) if type(inputs) is dict else tuple(results)


backward.torch_name, grad.torch_name = "torch.autograd.backward", "torch.autograd.grad"  # type: ignore[attr-defined]


def unused(target: Root, create_graph: bool) -> Tensor:
    """The gradient of an input that was not used, made zeros; it requires grad as the others do."""
    if isinstance(target, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    zeros = zeros_of(target, shape=tuple(target.shape), dtype=target.dtype)
    shape, strides = tuple(target.shape), target._spec.strides
    strides = None if strides is None else named_strides(shape, preserved_strides(shape, strides))
    zeros._spec = zeros._spec.replace(requires_grad=create_graph, strides=strides)
    return zeros


def targets_of(inputs: Any, function: str) -> tuple:
    """The ``inputs`` that ``function`` was given, as a tuple.
    Raises RuntimeError: there is nothing in it. TypeError: another mapping than a dict.
    """
    if type(inputs) is list or type(inputs) is tuple:
        targets = tuple(inputs)
    elif isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise TypeError(
                f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. Other Mapping types "
                "are not supported."
            )
        targets = tuple(inputs.values())
    else:
        targets = as_tuple(inputs)
    if not targets:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return targets


def as_tuple(given: Any) -> tuple:
    """One thing or a sequence of them as a tuple."""
    return (given,) if isinstance(given, ROOTS) else tuple(given)


def spec_at(root: Root) -> Spec:
    """The spec of what flows at a root."""
    if isinstance(root, Tensor):
        return root._spec
    if not isinstance(root, GradientEdge):
        raise AssertionError("Expected output to be a torch.Tensor")
    return root.node._input_metadata[root.output_nr]


def make_seeds(roots: Sequence[Root], given: Sequence[Any] | None, batched: bool = False) -> list[Tensor | None]:
    """A gradient for every root: what the user gave, checked, or ones where that is what None means."""
    given = (None,) * len(roots) if given is None else given
    for seed in given:
        if not isinstance(seed, OPTIONAL_TENSOR):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(seed).__name__}")
    if len(roots) > len(given):  # further gradients are ignored, as PyTorch does
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    seeds: list[Tensor | None] = []
    for root, seed in zip(roots, given, strict=False):
        spec = root._spec if isinstance(root, Tensor) else spec_at(root)
        if seed is not None:
            if batched and isinstance(root, GradientEdge) and row_of(seed, 0).shape != spec.shape:
                raise RuntimeError("Batched grads are not supported with GradientEdge")
            own = seed._spec
            if batched or own.shape != spec.shape or own.dtype is not spec.dtype or own.device is not spec.device.free:
                check_seed(seed, spec, len(seeds), batched)
        elif spec.requires_grad or isinstance(root, GradientEdge):
            seed = wrap(*unit_gradient(spec))
            if overriding.shows and isinstance(root, Tensor) and (is_shown((root,)) or is_answered(root)):
                seed = NAMESPACES["torch"]["ones_like"](live(root), memory_format=preserve_format)
        seeds.append(seed)
    return seeds


@remembered("constants")
def unit_gradient(spec: Spec) -> tuple[Any, Spec]:
    """The value and the spec of the gradient 1 of a real tensor of one element."""
    if spec.numel != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not spec.dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {spec.dtype}")
    bare = spec.bare
    return ones(tuple(spec.shape), spec.dtype, spec.device), bare.replace(level=0) if bare.level else bare


def check_seed(seed: Tensor, spec: Spec, index: int, batched: bool) -> None:
    """A given gradient must have its root's shape, and be complex exactly if the root is."""
    shape = row_of(seed, 0).shape if batched else seed.shape
    if shape != spec.shape:
        shown = Size(shape[1:]) if batched else shape  # PyTorch takes the batch dimension off twice
        where = f"grad_output[{index}] has a shape of {shown} and output[{index}] has a shape of {spec.shape}."
        if batched:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: {where} If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap."
            )
        raise RuntimeError(f"Mismatch in shape: {where}")
    if seed.dtype.is_complex != spec.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {seed.dtype} and output[{index}] has a dtype of {spec.dtype}."
        )
    if seed.device is not spec.device.free and (seed.ndim or not seed.device.is_host):
        raise RuntimeError(f"invalid gradient at index {index} - expected device {spec.device} but got {seed.device}")


def _engine_run_backward(
    t_outputs: Sequence[Root],
    grad_tensors: Sequence[Tensor | None],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Root] = (),
    allow_unreachable: bool = False,
    accumulate_grad: bool = False,
) -> tuple[Tensor | None, ...]:
    """The call of the engine that ``backward`` and ``grad`` come down to, for libraries that make it themselves.

    Args:
        t_outputs, grad_tensors: tensors (or gradient edges), and the gradient of each.
        keep_graph, create_graph: as in ``backward``.
        inputs: what to differentiate with respect to; all leaves, if there are none.
        allow_unreachable: give None for an input that the outputs don't depend on, instead of an error.
        accumulate_grad: whether gradients are added to ``.grad``, or given back.
    """
    roots, seeds, targets = tuple(t_outputs), tuple(grad_tensors), tuple(inputs)
    return tuple(run_backward(roots, seeds, keep_graph, create_graph, targets, accumulate_grad, allow_unreachable))


def run_backward(
    roots: Sequence[Root],
    seeds: Sequence[Tensor | None],
    retain_graph: bool | None,
    create_graph: bool,
    targets: Sequence[Root],
    accumulate_grad: bool,
    allow_unused: bool = True,
) -> list[Any]:
    """Translate tensors to edges, run the engine in the right gradient type, and translate back."""
    create_graph = create_graph if type(create_graph) is bool else flag(create_graph)
    allow_unused = allow_unused if type(allow_unused) is bool else flag(allow_unused)
    keep_graph = create_graph if retain_graph is None else flag(retain_graph)
    previous, hooks = thread.modes, thread.saved_hooks
    if previous.anomaly is not everywhere.anomaly:
        previous = up_to_date(previous)
    root_edges: list[Any] = []
    specs: list[Any] = []
    level = previous.level
    for root in roots:
        edge, spec = (gradient_edge(root), root._spec) if isinstance(root, Tensor) else (root[:2], spec_at(root))
        if edge is None:
            raise RuntimeError(source_lines.without_graph(len(specs), root))
        root_edges.append(edge)
        specs.append(spec)
        level = level or spec.level
    target_edges = [target_edge(target, accumulate_grad) for target in targets] if targets else []
    if level:
        gradient_ops: Any = Tensors
    elif overriding.shows and not create_graph and (sees_functions() or holds_dispatching(root_edges)):
        gradient_ops = Shown
    else:
        seen = bool(NodeHooks.made or FunctionBase.made or (targets and not accumulate_grad))
        gradient_ops = gradient_ops_for(create_graph, seen)
    try:
        thread.modes = previous.with_grad(create_graph)
        inputs: list[Any] = []
        for root, edge, spec, seed in zip(roots, root_edges, specs, seeds, strict=True):
            if isinstance(root, Tensor) and root._storage is not None:
                spec = made_spec(root, edge, len(inputs))
                if seed is not None and seed.shape != spec.shape:
                    seed = reduced(seed, spec.shape)
            if seed is not None:
                seed = seed if seed._spec.dtype is spec.dtype else cast(seed, dtype=spec.dtype)
                seed = gradient_ops.seed(seed)
            inputs.append(seed)
        traced = partial(are_traced, roots, seeds)
        captured = execute(
            root_edges, inputs, keep_graph, create_graph, accumulate_grad, target_edges, gradient_ops, traced
        )
        results: list[Any] = []
        several = len(target_edges) > 1 and len(set(target_edges)) < len(target_edges)
        for value in captured:
            if several and (first := target_edges.index(target_edges[len(results)])) < len(results):
                value = results[first]  # of what is asked for twice there is one gradient
            elif value is not None:
                value = gradient_ops.to_hook(value)
            elif not allow_unused:
                raise RuntimeError(source_lines.unused(len(results), targets[len(results)], roots))
            results.append(value)
        return results
    finally:  # not ``switched``: an interrupt could come when its ``__exit__`` begins
        thread.modes, thread.saved_hooks = previous, hooks
        if previous.anomaly is not everywhere.anomaly:
            thread.modes = up_to_date(previous)


def made_spec(root: Tensor, edge: Edge, index: int) -> Spec:
    """The spec of a root as its node made it: ``.data`` may have been set to something else since.
    Raises RuntimeError: of another shape, which its own doesn't broadcast to.
    """
    node, output_nr = edge
    metadata = getattr(node, "_input_metadata", ())
    spec = metadata[output_nr] if output_nr < len(metadata) else None
    if spec is None or spec is root._spec:
        return root._spec
    if spec.shape != root.shape and not broadcasts_to(spec.shape, root.shape):
        raise RuntimeError(
            f"invalid gradient at index {index} - got {list(root.shape)} but expected shape compatible with "
            f"{list(spec.shape)}"
        )
    return spec


def flag(given: Any) -> bool:
    """An argument that says yes or no. Raises TypeError: neither a bool nor an integer."""
    return operator.index(given) != 0


def gradient_ops_for(create_graph: bool, seen: bool = False) -> Any:
    """The gradient type of a backward call that is made now, and is done with it; ``seen``: by somebody."""
    modes = thread.modes
    gradient_ops: Any = Values
    tensors = create_graph or modes.forward_level >= 0
    if tensors:
        gradient_ops = LaidOutTensors if seen else Tensors
    elif modes.inference:
        gradient_ops = InferenceValues
    elif modes.deferred and is_recording():
        gradient_ops = RecordedValues
    for watcher in thread.backward_watchers:
        gradient_ops = watcher(gradient_ops)
    if log.isEnabledFor(logging.DEBUG):
        gradient_ops = Logged(gradient_ops)
    if tensors or not seen:
        return gradient_ops
    return LAID_OUT_VALUES if gradient_ops is Values else LaidOut(gradient_ops)


def are_lifted(roots: Sequence[Root]) -> bool:
    """Tell whether a backward call from there runs at a level: operators compute its gradients then, Note [Levels]."""
    return bool(thread.modes.level or max([spec_at(root).level for root in roots], default=0))


def are_traced(roots: Sequence[Root], seeds: Sequence[Tensor | None]) -> bool:
    """Tell whether JAX traces this backward call: tracers belong to the thread that traces."""
    return any(isinstance(tensor, Tensor) and is_traced(value_of(tensor)) for tensor in (*roots, *seeds))


def graph_lines(roots: Sequence[Edge]) -> list[str]:
    """A line for each node of a graph, from its roots on, under one with the line that calls backward."""
    found, stack, known = [f"called at {thread.backward_call}"], [edge[0] for edge in reversed(roots)], set()
    while stack:
        node = stack.pop()
        if node in known:
            continue
        known.add(node)
        shapes = [tuple(spec.shape) for spec in getattr(node, "_input_metadata", ()) if spec is not None]
        found.append(f"{node.name()} {shapes}")
        stack.extend(edge[0] for edge in reversed(node.next_edges) if edge is not None)
    return found


def execute(
    roots: list[Edge],
    seeds: list[Any],
    keep_graph: bool,
    create_graph: bool,
    accumulate_grad: bool,
    outputs: list[Edge],
    gradient_ops: Any,
    single_thread: Callable[[], bool],
) -> list[Any]:
    """Run the engine, or what is remembered of a pass before: Note [Cached backward passes].

    The graph that is freed remembers where the call was made: Note [Positions].
    """
    outer, captured = thread.backward_call, None
    plain = False
    if thread.modes.deferred and (
        gradient_ops is RecordedValues or getattr(gradient_ops, "values", None) is RecordedValues
    ):
        plain = len(roots) == 1 and seeds[0] is not None and type(seeds[0]) is not Laid
        plain = plain and not (outputs and accumulate_grad) and engine.current_task is None
    try:
        thread.backward_call = here(4)  # behind this, ``run_backward``, and who calls that
        if processes.compare is not None:
            given = [value_of(seed) if isinstance(seed, Tensor) else known_array(seed) for seed in seeds]
            processes.agree_on_pass(given, lambda: graph_lines(roots))
        if plain:
            captured = backward_cache.run(roots[0], seeds[0], keep_graph, outputs, single_thread)
        if captured is None:
            captured = engine.execute(
                roots, seeds, keep_graph, create_graph, accumulate_grad, outputs, gradient_ops, single_thread
            )
    finally:
        thread.backward_call = outer
    if engine.current_task is None:
        memory.steps += 1
        modes = thread.modes
        if (modes.deferred or modes.deferred_enabled) and not modes.level:
            run_recorded()
    return captured


def target_edge(target: Root, accumulate_grad: bool) -> Edge:
    """The edge at which a gradient is wanted. A non-leaf gets its ``.grad`` through ``retain_grad``."""
    if not isinstance(target, Tensor):
        return edge_of_pair(target)
    if accumulate_grad:
        target.retain_grad()
    if not target._spec.requires_grad:
        raise RuntimeError(source_lines.without_grad(target))
    return gradient_edge(target) or (AccumulateGrad(target), 0)  # of a view that nothing recorded: nothing leads there


def edge_of_pair(target: Any) -> Edge:
    """The edge at which a gradient is wanted that was named as a pair."""
    if not isinstance(target, GradientEdge):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(target).__name__}")
    if not isinstance(target.node, Node):
        kind = type(target.node).__name__
        raise RuntimeError(f"GradientEdge's first object must be an autograd.graph.Node but got {kind}")
    return (target.node, target.output_nr)


def _batched(
    roots: Sequence[Root],
    given: Sequence[Any] | None,
    targets: Sequence[Root],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
) -> list[Any]:
    """One backward for all elements of the batch, at a level that maps over them: Note [Levels]."""
    seeds = make_seeds(roots, given, batched=True)
    size = batch_size([seed for seed in seeds if seed is not None])
    with Level(size, TOGETHER) as level:
        row = [None if seed is None else lift(seed, level, batched=True) for seed in seeds]
        results = run_backward(roots, row, retain_graph, create_graph, targets, False, allow_unused)
        return [None if result is None else whole(result, level) for result in results]


def row_of(batch: Any, index: int) -> Tensor:
    """One gradient of a batch."""
    return batch[index]


def batch_size(seeds: Sequence[Tensor]) -> int:
    """The number of gradients in each of these batches.
    Raises ValueError: one that is no batch, or batches of different sizes.
    """
    if any(seed.ndim == 0 for seed in seeds):
        raise ValueError(
            "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
            "dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
        )
    sizes = [len(seed) for seed in seeds]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0] if sizes else 0
