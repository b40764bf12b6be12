"""``torch.fx.experimental.proxy_tensor``: ``make_fx``, which traces functions into graphs of operators.

Note [Graphs of operators]
The function is run on its arguments, under a dispatch mode that sees each operator below autograd (Note [Dispatch] in
``bindings/dispatching.py``), in the forward pass and in backward passes; each call becomes a node. Which node has made
a tensor is known by the tensor's identity, and by that of its value, for in a backward pass other tensors have it. A
tensor that was there before is a constant of the graph. With ``tracing_mode="fake"`` the function runs in a capture,
which computes nothing and writes to nothing (``fx/_shadows.py``).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.dispatching import hidden, sees_functions
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.graph_task import _current_autograd_node
from tapegrad.errors import message
from tapegrad.fx._arguments import PH
from tapegrad.fx._composites import CompositeCall, Composites, OpenCall, WholeCalls
from tapegrad.fx._shadows import ShadowCapture
from tapegrad.fx._tracer import Tracer
from tapegrad.fx.graph_module import GraphModule
from tapegrad.fx.node import Node
from tapegrad.fx.passes.shape_prop import _extract_tensor_metadata
from tapegrad.fx.proxy import Proxy
from tapegrad.nn import Module, Parameter
from tapegrad.ops.overloads import OpOverload, aten, identity, remember_call
from tapegrad.ops.wording import Worded
from tapegrad.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from tapegrad.utils._pytree import tree_flatten, tree_leaves, tree_map

__getattr__ = refusing(__name__)
__all__ = ["ProxyTorchDispatchMode", "PythonKeyTracer", "get_innermost_proxy_mode", "get_proxy_mode", "make_fx"]

MODES = ("real", "fake", "symbolic")

FURTHER: dict[str, tuple[str, int, dict[int, int]]] = {
    "native_layer_norm_backward": ("native_layer_norm", 1, {3: 1, 4: 2}),
    "nll_loss_backward": ("nll_loss_forward", 1, {6: 1}),
    "nll_loss2d_backward": ("nll_loss2d_forward", 1, {6: 1}),
}
"""For backward operators the forward one, the place of its first argument, and arguments that are its results."""

VIEWS = ("slice", "select", "t", "transpose", "permute", "expand", "as_strided", "diagonal")
"""Operators whose results may lie in memory in another way than in a row."""

LITERALS = ("lift_fresh",)
"""Operators whose argument is new, and a constant."""

READS = (
    "It appears that you're trying to get value out of a tracing tensor with {} - erroring out! It's likely that this "
    "is caused by data-dependent control flow or similar.  It may be possible to trace this with dynamic shapes; try "
    "setting tracing_mode='symbolic' in your make_fx call."
)


def refuse_levels(given: Any) -> None:
    """Refuse tensors of function transforms. Raises NotImplementedError: there is one."""
    if any(isinstance(one, Tensor) and one._spec.level for one in tree_leaves(given)):
        raise NotImplementedError("make_fx traces no function transforms but torch.func.grad, grad_and_value and vjp")


class PythonKeyTracer(Tracer):
    """The tracer of operators: modules are looked into, and tensors that were there before are constants."""

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of ``forward``."""
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """The attribute itself."""
        return attr_val

    def create_arg(self, a: Any) -> Any:
        """The argument of a node: parameters are constants, too."""
        if isinstance(a, Parameter):
            for name, one in self.root.named_parameters():
                if one is a:
                    return self.create_node("get_attr", name, (), {})
            path = self.get_fresh_qualname("_param_constant")
            setattr(self.root, path, a)
            return self._constant(path, a)
        if isinstance(a, Tensor):
            if a not in self.tensor_attrs:
                self.tensor_attrs[a] = self.get_fresh_qualname("_tensor_constant")
                setattr(self.root, self.tensor_attrs[a], a)
            return self._constant(self.tensor_attrs[a], a)
        return super().create_arg(a)

    def _constant(self, path: str, tensor: Tensor) -> Node:
        node = self.create_node("get_attr", path, (), {})
        node.meta["val"] = tensor
        return node


class ProxyTorchDispatchMode(TorchDispatchMode):
    """A context in which operators become nodes of a graph.

    Args:
        tracer: puts them there.
        tracing_mode: ``"real"``, ``"fake"`` or ``"symbolic"``.
        decomposition_table: what is called in the place of operators, by these.
    """

    traces = True
    """Gradients of transforms are those of the tape, whose operators it sees."""

    def __init__(
        self, tracer: PythonKeyTracer, tracing_mode: str = "real",
        decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.tracer, self.tracing_mode = tracer, tracing_mode
        self.decomposition_table = dict(decomposition_table or {})
        self._known: dict[int, tuple[Any, Any]] = {}
        self._made: dict[Any, list[Proxy]] = {}
        self._constants: dict[int, Any] = {}
        self._decomposing: list[Any] = []
        self._call: OpenCall | None = None
        self._own: tuple[OperatorLike, dict] | None = None
        self._transformed = False
        self._numbers: set[int] = set()

    def track(self, tensor: Tensor, proxy: Proxy) -> None:
        """Note what a tensor is in the graph.

        Args:
            tensor: the tensor.
            proxy: the proxy of its node.
        """
        for one in (tensor, value_of(tensor)):
            self._known[id(one)] = one, proxy  # held, so that the identity stays its own
        proxy.node.meta["val"] = tensor.detach()
        proxy.node.meta["tensor_meta"] = _extract_tensor_metadata(tensor)

    def proxy_of(self, value: Any) -> Any:
        """The proxy of a tensor that the graph has made; any other value as it is."""
        if not isinstance(value, Tensor):
            return value
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        known = self._known.get(id(value_of(value)))
        return value if known is None else known[1]

    def handle(self, op: OperatorLike, func: Any, args: tuple, settings: dict) -> Any:
        refuse_levels(args)
        before, self._latest = self._latest, None
        self._single = not getattr(op, "outputs", None)
        result = super().handle(op, func, args, settings)
        proxies = self._latest if isinstance(self._latest, list) else [self._latest]
        for one, proxy in zip(result if isinstance(result, tuple) else (result,), proxies, strict=False):
            if proxy is not None:
                self._known[id(one)] = one, proxy
        self._latest = before
        return result

    _latest: Any = None
    _single = False

    def same(self, given: Tensor, made: Tensor) -> None:
        """Note that a tensor is another one in the graph.

        Args:
            given: the one that the graph knows.
            made: the other one.
        """
        self._transformed = True  # what transforms save is not shown as detached
        proxy = self.proxy_of(given)
        if isinstance(proxy, Proxy):
            self._known[id(made)] = made, proxy
            self._known[id(value_of(made))] = value_of(made), proxy

    def worded(self, op: OperatorLike, func: OpOverload, args: tuple, settings: dict) -> Worded:
        found = super().worded(op, func, args, settings)
        is_other = func is aten.bmm.default and any(one.ndim != 3 for one in args)  # our product of any dimensions
        self._own = None if found.is_in_schema and not is_other else (op, settings)
        return found

    def show_saved(self, result: Any) -> None:
        if not self._transformed:
            super().show_saved(result)

    def is_innermost(self) -> bool:
        """Tell whether it is given the operators that are called now."""
        return get_proxy_mode() is self and sees_functions()

    def whole(self, call: OpenCall, func: Any, args: tuple, kwargs: dict[str, Any], run: Callable[[], Any]) -> Any:
        """Run a public function; it is one node if its operators can't be in the graph.

        Args:
            call: the call in words of ``aten``.
            func, args, kwargs: as it is made.
            run: makes it.
        """
        words = call.call or CompositeCall(func, args, kwargs)
        given, named = tree_map(self.proxy_of, words.args), tree_map(self.proxy_of, words.kwargs)
        last, attributes = next(iter(reversed(self.tracer.graph.nodes)), None), dict(self.tracer.tensor_attrs)
        outer, self._call = self._call, call
        try:
            out = run()
        finally:
            self._call = outer
        if call.whole or self._is_unseen(out, call):
            self._forget_since(last, attributes)
            with hidden():
                self._track_all(out, self._node(words.func, given, named))
        return out

    def _is_unseen(self, out: Any, call: OpenCall) -> bool:
        """Tell whether a function of tensors in the graph has given a tensor that is in none of its nodes."""
        made = [one for one in tree_leaves(out) if isinstance(one, Tensor) and id(one) not in call.tensors]
        if not any(isinstance(self.proxy_of(one), Proxy) for one in call.held):
            return False
        return any(not isinstance(self.proxy_of(one), Proxy) for one in made)

    def _forget_since(self, last: Node | None, attributes: dict[Any, str]) -> None:
        """Take the nodes out that were made after another, and the constants that are theirs alone."""
        graph, erased = self.tracer.graph, set()
        for node in reversed(graph.nodes):
            if node is last:
                break
            erased.add(node)
        self._known = {key: one for key, one in self._known.items() if one[1].node not in erased}
        self._made = {key: one for key, one in self._made.items() if one[0].node not in erased}
        for node in reversed([one for one in graph.nodes if one in erased]):
            graph.erase_node(node)
        for tensor in self.tracer.tensor_attrs.keys() - attributes.keys():
            delattr(self.tracer.root, self.tracer.tensor_attrs.pop(tensor))

    def _besides(self, func: Any, args: tuple, given: list[Any]) -> None:
        """Put in what a backward operator takes of its forward operator's further results, which are none here."""
        forward, where, places = FURTHER.get(func._opname, ("", 1, {}))
        made = self._made.get((forward, getattr(given[where], "node", None))) if forward else None
        for place, one in enumerate(args):
            if made is not None and place in places and isinstance(one, Tensor) and not isinstance(given[place], Proxy):
                given[place] = made[places[place]]

    def _admit(self, func: Any, given: Any) -> None:
        """Let tensors that are in no node be constants, if they were there before.

        Raises:
            NotImplementedError: one was computed in a backward pass, or for it, by what the graph has not.
        """
        call, is_backward = self._call, _current_autograd_node() is not None
        for one in tree_leaves(given):
            if not isinstance(one, Tensor) or id(value_of(one)) in self._constants:
                continue
            if is_backward:
                raise NotImplementedError(message(
                    f"make_fx: {func} takes what its forward operator has computed besides its result",
                    hint="trace the forward pass alone, or write the gradient in the function",
                ))  # fmt: skip
            if call is None or id(one) in call.tensors or func._opname in LITERALS:
                self._constants[id(value_of(one))] = value_of(one)
            else:
                call.whole = True

    def __torch_dispatch__(self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs, single, self._single = kwargs or {}, self._single, False
        simpler = self.decomposition_table.get(func)
        if simpler is not None and func not in self._decomposing:
            found = self._simpler(func, simpler, args, kwargs)
            if found is not NotImplemented:
                return found[0] if single and isinstance(found, tuple) else found
        own, self._own = self._own, None
        if func is aten.view.default and _current_autograd_node() is not None:
            taken = getattr(getattr(self.proxy_of(args[0]), "node", None), "target", None)
            if getattr(taken, "_opname", "") in VIEWS:  # what is saved lies in a row here, and may not in the graph
                node = self._node(aten.reshape.default, (self.proxy_of(args[0]), args[1]), {})
                out = func(*args, **kwargs)
                self._latest = self._track_all(out, node)
                return out
        if func is aten.detach.default and self._transformed and self._call is None:
            return args[0]
        given, named = tree_map(self.proxy_of, args), tree_map(self.proxy_of, kwargs)
        if func._opname == "_local_scalar_dense" and isinstance(given[0], Proxy):
            raise RuntimeError(READS.format(func))
        given = list(self._as_given(func, given))
        self._besides(func, args, given)
        self._admit(func, (given, named))
        if own is not None and self._is_whole():
            assert self._call is not None
            self._call.whole = True
        elif own is not None:
            out = func(*args, **kwargs)
            node = self._node(identity("tapegrad", own[0].name, "default"), tuple(given), dict(own[1]))
            self._latest = self._track_all(out, node)
            return out
        proxy = self._node(aten.lift_fresh_copy.default if func._opname == "lift_fresh" else func, tuple(given), named)
        remember_call(func, args, kwargs)
        out = func(*args, **kwargs)
        if self._has_more(func, out):
            assert self._call is not None
            self._call.whole = True
        if func is aten.detach.default and out is args[0]:  # its own node saves it
            self._known[id(value_of(out))] = value_of(out), proxy
            return out
        self._latest = self._track_all(out, proxy)
        if isinstance(self._latest, list) and given:
            self._made[func._opname, getattr(given[0], "node", None)] = self._latest
        return out

    def _has_more(self, func: OpOverload, out: Any) -> bool:
        """Tell whether an operator gives more here than PyTorch's, and can be one node with what calls it."""
        return isinstance(out, tuple) and func._schema is not None and len(out) > len(func._schema.returns) and (
            func._schema.returned[-1] != "]" and self._is_whole()
        )  # fmt: skip

    def _as_given(self, func: OpOverload, args: tuple) -> tuple:
        """Arguments with numbers as the program has written them, also where a gradient multiplies with them."""
        if _current_autograd_node() is None:
            self._numbers.update(one for one in args if type(one) is int)
            return args
        if func not in (aten.mul.Tensor, aten.div.Tensor):
            return args
        return tuple(int(one) if type(one) is float and one in self._numbers else one for one in args)

    def _is_whole(self) -> bool:
        """Tell whether the call that is open can be one node."""
        return self._call is not None and _current_autograd_node() is None

    def composite(self, call: CompositeCall, run: Callable[[], Any]) -> Any:
        """Record a call that is taken apart below autograd, and give its result.

        Args:
            call: the call.
            run: makes it.
        """
        refuse_levels((call.args, call.kwargs))
        given, named = tree_map(self.proxy_of, call.args), tree_map(self.proxy_of, call.kwargs)
        proxy = self._node(call.func, given, named)
        with hidden(), switched(function_modes=False):
            out = run()
            self._track_all(out, proxy)
        return out

    def _node(self, func: Any, args: Any, kwargs: Any) -> Any:
        name = self.tracer.graph._target_to_str(getattr(func, "_opname", None) or func.__name__)
        return self.tracer.create_proxy("call_function", func, args, kwargs, name=name)

    def _simpler(self, func: Any, simpler: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        self._decomposing.append(func)
        try:
            with self:
                return simpler(*args, **kwargs)
        finally:
            self._decomposing.pop()

    def _track_all(self, out: Any, proxy: Any) -> Any:
        """Note what the results of an operator are; gives the proxy, or those of each of several results."""
        if isinstance(proxy, list):
            for one, each in zip(out if isinstance(out, (tuple, list)) else (out,), proxy, strict=False):
                self.track(one, each)
            return proxy
        schema = getattr(proxy.node.target, "_schema", None)
        several = 0 if schema is None else len(schema.returns)
        if isinstance(out, Tensor) and several < 2:
            self.track(out, proxy)
            return proxy
        outs = [one for one in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(one, Tensor)]
        return self._track_all(outs, [proxy[place] for place in range(max(several, len(outs)))])


def make_fx(
    f: Callable[..., Any], decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real", _allow_non_fake_inputs: bool = False, *, pre_dispatch: bool = False,
    record_module_stack: bool = False, _allow_fake_constant: bool = False, _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False, proxy_module_inputs: bool = False, _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., GraphModule]:  # fmt: skip
    """A function that traces ``f`` with its arguments, and gives the graph of operators that it is.

    Args:
        f: a function of tensors, or of trees of them, or a module; what it differentiates is in the graph, too.
        decomposition_table: functions by the operators in whose place they are called
            (``torch._decomp.get_decompositions``).
        tracing_mode: ``"real"`` runs ``f``; ``"fake"`` computes nothing, and leaves all tensors as they are; so does
            ``"symbolic"``, and lengths are numbers there, too.
        pre_dispatch: whether the graph is that above autograd, where functions have not been taken apart (Note [Graphs
            above autograd] in ``fx/_composites.py``).
        record_module_stack, record_stack_traces, proxy_module_inputs, _allow_non_fake_inputs, _allow_fake_constant,
            _error_on_data_dependent_ops, _disable_torch_fn_metadata_mode: accepted, without effect.

    Raises:
        RuntimeError: ``f`` asks for the elements of what it computes.
        AssertionError: there is no such tracing mode.

    >>> gm = make_fx(lambda x: (x.sin() * 2).sum())(torch.ones(3))
    >>> print(gm.code.strip())
    def forward(self, x_1):
        sin = torch.ops.aten.sin.default(x_1);  x_1 = None
        mul = torch.ops.aten.mul.Tensor(sin, 2);  sin = None
        sum_1 = torch.ops.aten.sum.default(mul);  mul = None
        return sum_1
    """
    if tracing_mode not in MODES:
        raise AssertionError(f"Expected tracing_mode to be one of {MODES}, got {tracing_mode}")

    @functools.wraps(f)
    def wrapped(*args: Any) -> GraphModule:
        tracer = PythonKeyTracer()
        mode = ProxyTorchDispatchMode(tracer, tracing_mode, decomposition_table)
        marks = tree_map(lambda _: PH, args)
        traced = _traced(_with_names(f, len(args)), args, mode, pre_dispatch)
        graph = tracer.trace(traced, marks)
        return GraphModule(tracer.root, graph, getattr(f, "__name__", type(f).__name__))

    return wrapped


def _with_names(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function, with names for as many arguments as it is given."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    if code is not None and not code.co_flags & inspect.CO_VARARGS:
        return f
    names = ", ".join(f"arg{number}" for number in range(count))
    made: Callable[..., Any] = eval(f"lambda {names}: f({names})", {"f": f})
    return made


def _traced(f: Callable[..., Any], args: tuple, mode: ProxyTorchDispatchMode, above: bool) -> Callable[..., Any]:
    """A function of proxies, which calls ``f`` with the arguments that they stand for, and gives proxies.

    Args:
        f: the function.
        args: the arguments.
        mode: records operators.
        above: whether the graph is that above autograd.
    """

    @functools.wraps(f)
    def traced(*proxies: Any) -> Any:
        given = args if mode.tracing_mode == "real" else tree_map(_copied, args)
        for one, proxy in zip(tree_flatten(given)[0], tree_flatten(proxies)[0], strict=True):
            if isinstance(one, Tensor):
                mode.track(one, proxy)

        def call() -> Any:
            calls, grad = (Composites, switched(grad=False)) if above else (WholeCalls, nullcontext())
            with mode, calls(mode), grad:
                return tree_map(mode.proxy_of, f(*given))

        return call() if mode.tracing_mode == "real" else _uncomputed(call)

    return traced


def _copied(value: Any) -> Any:
    """A tensor that may be written to in the place of another one; any other value as it is."""
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


def _uncomputed(call: Callable[[], Any]) -> Any:
    """The result of a call that computes nothing, after which all tensors are what they were.

    Raises:
        RuntimeError: it asks for elements.
    """
    capture = ShadowCapture(lambda: None)
    try:
        was_made, result = capture.made(call)
    finally:
        capture.undo()
    if not was_made:
        raise RuntimeError(READS.format("aten._local_scalar_dense.default"))
    return result


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode that traces operators in this thread, or None.

    >>> get_proxy_mode() is None
    True
    """
    modes = [one for one in _get_current_dispatch_mode_stack() if isinstance(one, ProxyTorchDispatchMode)]
    return modes[-1] if modes else None


get_innermost_proxy_mode = get_proxy_mode
