"""The forward half of a custom function: run the user's code, then wire what it returned.

See Note [Custom functions] in ``function_node.py``.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from tapegrad._src.bindings.viewing import as_view, move_of
from tapegrad._src.dispatch.function_levels import live
from tapegrad._src.dispatch.nodes.accumulate_grad import gradient_edge, node_made
from tapegrad._src.dispatch.nodes.saved_tensor import NOTHING, SavedTensor
from tapegrad._src.dispatch.view_history import refuse_view, take_history
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tape.node import next_sequence_nr
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import (
    Tensor,
    count_write,
    counter_of,
    passes_for_leaf,
    refuse_inference,
    value_of,
    version_of,
    wrap,
)
from tapegrad._src.warn import warn
from tapegrad.autograd.function_forward import give_tangents, tangents_of
from tapegrad.autograd.function_node import (
    BackwardCFunction,
    FunctionBase,
    among,
    constant_tensors,
    dirty_tensors,
    marked,
    reset,
    restore_grad,
)
from tapegrad.errors import VIEW_OF_LEAF
from tapegrad.ops.shape import view

SAVED_AS_IS = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
    "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup "
    "ctx inside the forward function itself."
)

WRITTEN_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)


@cache
def unrecorded(modes: Modes) -> Modes:
    """The modes in which forward runs."""
    return modes.replace(grad=False, forward_grad=False)


def requiring_grad(spec: Spec) -> Spec:
    """The spec of a tensor that requires grad."""
    return spec.replace(requires_grad=True)


def run_function(cls: Any, args: tuple, with_setup: bool) -> Any:
    """Call a custom function: make the node, run forward, put what it returns into the graph."""
    modes = thread.modes
    inputs = [arg for arg in args if isinstance(arg, Tensor)]
    if not modes.level and any([x._spec.level for x in inputs]):
        return run_function(cls, tuple([live(arg) if isinstance(arg, Tensor) else arg for arg in args]), with_setup)
    node = new_node(cls, args)
    recorded = modes.grad and True in node.needs_input_grad
    node.next_edges = tuple(map(edge_of, inputs)) if recorded else ()
    if modes.watched:
        node_made(node)
    tangents = tangents_of(args) if modes.forward_level >= 0 and modes.forward_grad else None
    if modes.intercepted:
        run = partial(run_forward, cls, node, args, with_setup)
        for watcher in reversed(thread.function_watchers):
            run = partial(watcher, cls.__name__, args, node if recorded else None, run)
        output = run()
    else:
        output = run_forward(cls, node, args, with_setup)
    raw = output if isinstance(output, tuple) else (output,)
    outputs = wired(node, inputs, raw, recorded, with_setup)
    if tangents is not None:
        give_tangents(node, args, tangents, raw, outputs)
    if recorded:
        FunctionBase.made = True
        save(node)
    node.to_save = node.non_differentiable = node.dirty_tensors = node.saved_for_forward = None
    return tuple(outputs) if isinstance(output, tuple) else outputs[0]


def new_node(cls: Any, args: tuple) -> BackwardCFunction:
    """The node for a call, as ``forward`` finds it."""
    node: BackwardCFunction = object.__new__(cls._backward_cls)
    node._arguments = specs = tuple([arg._spec if isinstance(arg, Tensor) else None for arg in args])
    node.needs_input_grad = tuple([spec is not None and spec.requires_grad for spec in specs])
    node.sequence_nr = next_sequence_nr()
    reset(node)
    return node


def edge_of(tensor: Tensor) -> Any:
    """The edge along which the gradient of an input goes; None if it needs none."""
    return gradient_edge(tensor) if tensor._spec.requires_grad else None


def run_forward(cls: Any, node: BackwardCFunction, args: tuple, with_setup: bool) -> Any:
    """Run the user's forward and give its result; nothing in it is recorded."""
    modes = thread.modes
    off = thread.modes = unrecorded(modes)
    try:
        if with_setup:
            output = cls.forward(*args)
            cls.setup_context(node, args, output)
        else:
            output = cls.forward(node, *args)
    finally:
        if thread.modes is off:
            thread.modes = modes
        else:
            restore_grad(modes)
    return output


def save(node: BackwardCFunction) -> None:
    """Keep what forward asked to save. Raises TypeError: it is no tensor."""
    saved, dirty = [], dirty_tensors(node)
    for position, tensor in enumerate(marked(node, "to_save")):
        if isinstance(tensor, Tensor):
            edge = gradient_edge(tensor)
            own = edge is not None and (edge[0] is node or (tensor._view is not None and among(tensor, dirty)))
            saved.append(SavedTensor.of(tensor, edge, is_output=own))
        elif tensor is None:
            saved.append(SavedTensor.empty(NOTHING))
        else:
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} is of type {type(tensor).__name__}"
            )
    node._saved = tuple(saved)


def wired(node: BackwardCFunction, inputs: list[Tensor], raw: tuple, recorded: bool, with_setup: bool) -> list:
    """The outputs of forward with their places in the graph."""
    dirty, constant = dirty_tensors(node), constant_tensors(node)
    for tensor in dirty:
        refuse_inference(tensor)
        count_write(tensor)
    forbidden = marked(node, "to_save") if with_setup else ()
    node.input_slots = len(raw)
    outputs: list[Any] = []
    metadata: list[Spec | None] = []
    for position, out in enumerate(raw):
        spec = None
        if isinstance(out, Tensor):
            is_input, is_dirty = among(out, inputs), among(out, dirty)
            if not recorded or out._spec.dtype.category < FLOATING or among(out, constant):
                out = unconnected(out, is_input, is_dirty, forbidden)
            elif is_dirty:
                spec = (out := rewritten(out, node, position, is_input, len(raw)))._spec
            else:
                spec = (out := connected(alias_of(out, forbidden) if is_input else out, node, position))._spec
        outputs.append(out)
        metadata.append(spec)
    check_marks(node, inputs, raw, dirty)
    flag_views(outputs, dirty, len(raw) - metadata.count(None) > 1)
    node._metadata_of_outputs = tuple(metadata)
    node._outputs = tuple([out._spec if isinstance(out, Tensor) else None for out in outputs])
    return outputs


def check_marks(node: BackwardCFunction, inputs: list[Tensor], raw: tuple, dirty: tuple) -> None:
    """Refuse marks that don't go with what forward returned."""
    if dirty and not all(among(tensor, raw) for tensor in dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
    if node._is_pure_view and (len(inputs) != 1 or len(raw) != 1):
        raise RuntimeError(
            "Pure view custom Function can only have one input Tensor and one output Tensor. Open an issue if you need "
            "to support more."
        )


def unconnected(out: Tensor, is_input: bool, is_dirty: bool, forbidden: tuple) -> Tensor:
    """An output that gets no place in the graph."""
    if not out._spec.requires_grad:
        return alias_of(out, forbidden) if is_input and not is_dirty else out
    if is_input:
        check_not_saved(out, forbidden)
        return out.detach()
    return out if out._view is not None else out.detach_()


def rewritten(out: Tensor, node: BackwardCFunction, position: int, is_input: bool, count: int) -> Tensor:
    """An output that was marked dirty: itself, with new history.
    Raises RuntimeError: it is a leaf that requires grad or a view of one, or a view created in a way that forbids it,
    or a view and not the only output.
    """
    if out._spec.requires_grad and passes_for_leaf(out):
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if not is_input:
        warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
            "should be passed to ctx.mark_dirty()."
        )
    if out._view is not None:
        if count > 1:
            raise RuntimeError(WRITTEN_VIEW)
        refuse_view(out)
        base = out._view.base
        if (base._spec.requires_grad or out._spec.requires_grad) and base._edge is None:
            raise RuntimeError(VIEW_OF_LEAF)
    take_history(out, (node, position))
    out._grad = None  # it was that of what the tensor was before
    return out


def connected(out: Tensor, node: BackwardCFunction, position: int) -> Tensor:
    """An output whose gradient goes to the node."""
    out._edge = edge = (node, position)
    out._spec = requiring_grad(out._spec)
    if out._view is not None:
        out._view.version = version_of(out)
    if out._storage is not None:
        out._storage.comes_from(edge, counter_of(out))
    return out


def check_not_saved(tensor: Tensor, forbidden: tuple) -> None:
    """Refuse an input that is returned as it is and saved, where that can't be told apart from saving the output."""
    if among(tensor, forbidden):
        raise RuntimeError(SAVED_AS_IS)


def alias_of(tensor: Tensor, forbidden: tuple) -> Tensor:
    """A view of a whole input, on the same storage; of its class, if that overrides functions."""
    check_not_saved(tensor, forbidden)
    if tensor._spec.overrides:
        return tensor.view_as(tensor)
    spec = tensor._spec.replace(requires_grad=False, plain=True, window=False, dual=False)
    strides, _, _ = move_of(view, spec, (), {"shape": tuple(tensor.shape)})  # as view_as gives them
    return as_view(tensor, wrap(value_of(tensor), spec.replace(strides=strides)), strides, tensor._offset)


def flag_views(outputs: list, dirty: tuple, several: bool) -> None:
    """Let outputs that are views refuse to be written to in place: that would pass the function's backward by.

    ``several`` outputs have a gradient.
    """
    for out in outputs:
        if isinstance(out, Tensor) and out._view is not None and (several or not among(out, dirty)):
            out._view.creation = "multi_output" if several else "function"
