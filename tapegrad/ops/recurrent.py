"""Recurrent layers, each one kernel over all steps; and cells, which are layers of one step.

Note [Recurrence]
A layer goes over the steps of ``x`` (steps, batch, features) and carries a state (batch, width) along. What does not
depend on the state is computed of all steps at once: ``x @ w_ih.T``; in the backward pass the rates at which a step's
state changes with what came into it, and, of the gradients ``g`` of all sums before activation, those of the weights
(``g.T @ x``, one product) and of ``x`` (``g @ w_ih``). In between there is one loop (``over_time``), with one product.

Forward, backward and tangent are written once, in operators of the table. On arrays the loop is ``lax.scan``. On
tensors, where a gradient is differentiated again, it is a loop of operators: the states are computed once more from the
inputs, so that all derivatives of higher order are recorded, and are right.

Note [Padded steps]
Sequences of different lengths are padded. ``active`` (steps, batch, 1) says which steps count; at others a state is
held: its rates are 0, and its gradient passes. LayerGradients of what is put out there are to be 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.sizes import is_symbolic
from tapegrad._src.execution.tiers.host_trace import scan
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.foreign import Foreign
from tapegrad.ops.joining import cat, split, stack
from tapegrad.ops.kinds import General, cast, zeros_of
from tapegrad.ops.matmul import matmul, mm
from tapegrad.ops.operator import Formula
from tapegrad.ops.reductions import sum
from tapegrad.ops.selection import where
from tapegrad.ops.shape import permute, transpose, unsqueeze, view
from tapegrad.ops.slicing import select, slice_
from tapegrad.ops.unary import sigmoid, tanh


class Inputs(NamedTuple):
    """The inputs that a layer is computed from; None for what it has not."""

    x: Any
    h: Any
    w_ih: Any
    w_hh: Any
    b_ih: Any = None
    b_hh: Any = None
    active: Any = None
    c: Any = None
    w_hr: Any = None


# -- loops -------------------------------------------------------------------------------------------------------------


def over_time(step: Callable, carry: Any, inputs: tuple, reverse: bool) -> tuple:
    """``step(carry, inputs of a step)`` over the first dimension of the inputs, of which some may be None.

    A step gives what it carries on, and a tuple of results. Gives the last of what is carried, and the results of all
    steps, each in the place of its inputs.
    """
    given = next(one for one in inputs if one is not None)
    length = given.shape[0]
    if isinstance(given, Tensor) or (isinstance(length, int) and length == 1):
        return _unrolled(step, carry, inputs, range(length)[::-1] if reverse else range(length))
    return scan(step, carry, inputs, reverse=reverse)


def _unrolled(step: Callable, carry: Any, inputs: tuple, order: range) -> tuple:
    results: dict[int, tuple] = {}
    for index in order:
        now = tuple(None if one is None else select(one, index, axis=0) for one in inputs)
        carry, results[index] = step(carry, now)
    columns = zip(*[results[index] for index in sorted(results)], strict=True)
    return carry, tuple(None if column[0] is None else stack(*column, axis=0) for column in columns)


def before(first: Any, states: Any, reverse: bool) -> Any:
    """The state before each step, by the first one and those after each step."""
    first, length = unsqueeze(first, axis=0), states.shape[0]
    if isinstance(length, int) and length == 1:
        return first
    others = slice_(states, int(reverse), axis=0, length=length - 1, step=1)
    return cat(others, first, axis=0) if reverse else cat(first, others, axis=0)


# -- products ----------------------------------------------------------------------------------------------------------


def _turned(weight: Any) -> Any:
    return transpose(weight, axis0=0, axis1=1)


def _product(x: Any, weight: Any) -> Any:
    """``x @ weight.T`` of all steps."""
    return matmul(x, _turned(weight))


def _weight_gradient(g: Any, x: Any) -> Any:
    """``g.T @ x``, summed over steps and batch."""
    rows = g.shape[0] * g.shape[1]
    return mm(permute(view(g, shape=(rows, g.shape[2])), axes=(1, 0)), view(x, shape=(rows, x.shape[2])))


def _total(*terms: Any) -> Any:
    """The sum of those that there are; None if there are none."""
    total = None
    for term in terms:
        total = term if total is None else total if term is None else total + term
    return total


def _projected(n: Inputs, *biases: Any) -> Any:
    return _total(_product(n.x, n.w_ih), _total(*biases))


def _where_active(active: Any, value: Any, otherwise: float) -> Any:
    return value if active is None or value is None else where(active, value, otherwise)


def _held(active: Any, like: Any) -> Any:
    """1 where a state is held, 0 elsewhere; None if it never is."""
    return None if active is None else where(active, 0.0, ones_like(like))


def ones_like(x: Any) -> Any:
    """Ones of the shape and dtype of ``x``."""
    return zeros_of(x, shape=tuple(x.shape), dtype=dtypes.as_dtype(x.dtype)) + 1


def _zeros_like(x: Any) -> Any:
    return zeros_of(x, shape=tuple(x.shape), dtype=dtypes.as_dtype(x.dtype))


def _chosen(active: Any, new: Any, old: Any) -> Any:
    return new if active is None else where(active, new, old)


# -- kinds of layers ---------------------------------------------------------------------------------------------------


class LayerGradients(NamedTuple):
    """The gradients of the sums before activation, of the input's part and the state's; and of what a layer began with.

    Attributes:
        projection: what ``w_hr`` was multiplied with, and the gradient of the product.
    """

    input: Any
    state: Any
    h: Any
    c: Any = None
    projection: tuple[Any, Any] | None = None


class Elman:
    """``h = activation(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)``."""

    gates = 1
    states = ("h",)
    saves: tuple[str, ...] = ()

    def __init__(self, is_relu: bool) -> None:
        self.is_relu = is_relu

    def _activation(self, x: Any) -> Any:
        return where(x > 0, x, 0) if self.is_relu else tanh(x)

    def forward(self, n: Inputs, reverse: bool) -> tuple:
        """The results of all steps, and the last state."""
        back = _turned(n.w_hh)

        def step(h: Any, now: tuple) -> tuple:
            a, active = now
            h = _chosen(active, self._activation(a + mm(h, back)), h)
            return h, (h,)

        h, (y,) = over_time(step, n.h, (_projected(n, n.b_ih, n.b_hh), n.active), reverse)
        return y, h

    def _rates(self, n: Inputs, y: Any) -> Any:
        rates = where(y > 0, ones_like(y), 0) if self.is_relu else 1 - y * y
        return _where_active(n.active, rates, 0)

    def backward(self, n: Inputs, outputs: Sequence, grads: Sequence, reverse: bool) -> LayerGradients:
        """The gradients by those of the results."""
        (y, _), (g_y, g_h) = outputs, grads

        def step(g: Any, now: tuple) -> tuple:
            g_y, rate, held = now
            g = g + g_y
            g_a = g * rate
            back = mm(g_a, n.w_hh)
            return back if held is None else back + held * g, (g_a,)

        first, (g_a,) = over_time(step, g_h, (g_y, self._rates(n, y), _held(n.active, y)), not reverse)
        return LayerGradients(g_a, g_a, first)

    def tangent(self, n: Inputs, t: Inputs, outputs: Sequence, reverse: bool) -> tuple:
        """The tangents of the results by those of the inputs."""
        y, back = outputs[0], _turned(n.w_hh)
        moved = _of_all_steps(_total(*_moved(n, t, n.h, y, reverse)), y, y.shape[2])

        def step(t_h: Any, now: tuple) -> tuple:
            t_a, rate, held = now
            new = (t_a + mm(t_h, back)) * rate
            new = new if held is None else new + held * t_h
            return new, (new,)

        first = _zeros_like(n.h) if t.h is None else t.h
        t_h, (t_y,) = over_time(step, first, (moved, self._rates(n, y), _held(n.active, y)), reverse)
        return t_y, t_h


def _moved(n: Inputs, t: Inputs, first: Any, y: Any, reverse: bool) -> tuple[Any, Any]:
    """The change of the sums before activation, but for the change of states: the input's part, and the state's."""
    by_input = _total(
        None if t.x is None else _product(t.x, n.w_ih), None if t.w_ih is None else _product(n.x, t.w_ih), t.b_ih
    )
    by_state = _total(None if t.w_hh is None else _product(before(first, y, reverse), t.w_hh), t.b_hh)
    return by_input, by_state


def _of_all_steps(part: Any, y: Any, width: int) -> Any:
    """A part of the sums of all steps, (steps, batch, ``width``): zeros for None, and a bias repeated."""
    if part is not None and part.ndim == 3:
        return part
    zeros = zeros_of(y, shape=(*y.shape[:2], width), dtype=dtypes.as_dtype(y.dtype))
    return zeros if part is None else zeros + part


class Gru:
    """Of the sums ``a = x @ w_ih.T + b_ih`` and ``b = h @ w_hh.T + b_hh``, in three parts each: ``r = sigmoid(a_r +
    b_r)``, ``z = sigmoid(a_z + b_z)``, ``n = tanh(a_n + r b_n)``, ``h = n + z (h - n)``.

    ``gates`` is r, z, b_n and n of all steps.
    """

    gates = 3
    states = ("h",)
    saves = ("gates",)

    def forward(self, n: Inputs, reverse: bool) -> tuple:
        """The results of all steps, the last state, and the gates."""
        back, width = _turned(n.w_hh), n.h.shape[1]

        def step(h: Any, now: tuple) -> tuple:
            a, active = now
            b = mm(h, back) if n.b_hh is None else mm(h, back) + n.b_hh
            a_gates, a_new = _cut(a, 2 * width, width)
            b_gates, q = _cut(b, 2 * width, width)
            gates = _sigmoid(a_gates + b_gates)
            r, z = _cut(gates, width, width)
            new = tanh(a_new + r * q)
            h = _chosen(active, new + z * (h - new), h)
            return h, (h, cat(gates, q, new, axis=1))

        h, (y, gates) = over_time(step, n.h, (_projected(n, n.b_ih), n.active), reverse)
        return y, h, gates

    def _rates(self, n: Inputs, y: Any, gates: Any, reverse: bool) -> tuple[Any, Any]:
        """The rates of a state with a_r + b_r, a_z + b_z, b_n and a_n, side by side; and with the state before."""
        r, z, q, new = split(gates, axis=2, size=y.shape[2])
        of_new = (1 - z) * (1 - new * new)
        of_q = of_new * r
        of_z = (before(n.h, y, reverse) - new) * z * (1 - z)
        rates = cat(of_q * q * (1 - r), of_z, of_q, of_new, axis=2)
        return _where_active(n.active, rates, 0), _where_active(n.active, z, 1)

    def backward(self, n: Inputs, outputs: Sequence, grads: Sequence, reverse: bool) -> LayerGradients:
        """The gradients by those of the results."""
        (y, _, gates), (g_y, g_h, *_) = outputs, grads
        steps, batch, width = y.shape
        rates, kept = self._rates(n, y, gates, reverse)

        def step(g: Any, now: tuple) -> tuple:
            g_y, rates, kept = now
            g = g + g_y
            all_four = view(unsqueeze(g, axis=1) * rates, shape=(batch, 4 * width))
            by_state, _ = _cut(all_four, 3 * width, width)
            return mm(by_state, n.w_hh) + g * kept, (all_four,)

        rates = view(rates, shape=(steps, batch, 4, width))
        first, (g_a,) = over_time(step, g_h, (g_y, rates, kept), not reverse)
        g_gates, g_q, g_new = _cut(g_a, 2 * width, width, width)
        return LayerGradients(cat(g_gates, g_new, axis=2), cat(g_gates, g_q, axis=2), first)

    def tangent(self, n: Inputs, t: Inputs, outputs: Sequence, reverse: bool) -> tuple:
        """The tangents of the results by those of the inputs."""
        y, _, gates = outputs
        batch, width = n.h.shape
        rates, kept = self._rates(n, y, gates, reverse)
        back = _turned(n.w_hh)
        of_gates, of_q, of_new = _cut(rates, 2 * width, width, width)
        by_input, by_state = (_of_all_steps(one, y, 3 * width) for one in _moved(n, t, n.h, y, reverse))
        moved = cat(of_gates, of_new, axis=2) * by_input + cat(of_gates, of_q, axis=2) * by_state
        moved = sum(view(moved, shape=(*y.shape[:2], 3, width)), axis=(2,))

        def step(t_h: Any, now: tuple) -> tuple:
            moved, rates, kept = now
            through = view(mm(t_h, back) * rates, shape=(batch, 3, width))
            new = moved + sum(through, axis=(1,)) + kept * t_h
            return new, (new,)

        first = _zeros_like(n.h) if t.h is None else t.h
        t_h, (t_y,) = over_time(step, first, (moved, cat(of_gates, of_q, axis=2), kept), reverse)
        return t_y, t_h, None


class Lstm:
    """Of the sums ``x @ w_ih.T + b_ih + h @ w_hh.T + b_hh``, in four parts: ``i``, ``f`` and ``o`` their sigmoids,
    ``g`` their tanh; ``c = f c + i g`` and ``h = o tanh(c)``, times ``w_hr.T`` if there is one.

    ``cells`` and ``gates`` are c, and i, f, g and o, of all steps.
    """

    gates = 4
    states = ("h", "c")
    saves = ("cells", "gates")

    def forward(self, n: Inputs, reverse: bool) -> tuple:
        """The results of all steps, the last states, the cells and the gates."""
        activated, given, back = _lstm_gates(_projected(n, n.b_ih, n.b_hh), _turned(n.w_hh), n.c.shape[1])
        projection = None if n.w_hr is None else _turned(n.w_hr)

        def step(carry: tuple, now: tuple) -> tuple:
            (h, c), (a, active) = carry, now
            gates = activated(a + mm(h, back))
            i, f, g, o = split(gates, axis=1, size=c.shape[1])
            new = f * c + i * g
            shown = o * tanh(new)
            shown = shown if projection is None else mm(shown, projection)
            h, c = _chosen(active, shown, h), _chosen(active, new, c)
            return (h, c), (h, c, gates)

        (h, c), (y, cells, gates) = over_time(step, (n.h, n.c), (given, n.active), reverse)
        return y, h, c, cells, gates

    def _rates(self, n: Inputs, cells: Any, gates: Any, reverse: bool) -> tuple:
        """The rates of a cell with the sums of i, f and g, of what is shown with those of o and with the cell, and the
        cell with the one before."""
        i, f, g, o = split(gates, axis=2, size=cells.shape[2])
        shown = tanh(cells)
        of_sums = cat(g * i * (1 - i), before(n.c, cells, reverse) * f * (1 - f), i * (1 - g * g), axis=2)
        of_output, of_cell = shown * o * (1 - o), o * (1 - shown * shown)
        masked = [_where_active(n.active, one, 0) for one in (of_sums, of_output, of_cell)]
        return (*masked, _where_active(n.active, f, 1), o * shown)

    def backward(self, n: Inputs, outputs: Sequence, grads: Sequence, reverse: bool) -> LayerGradients:
        """The gradients by those of the results."""
        (y, _, _, cells, gates), (g_y, g_h, g_c, *_) = outputs, grads
        steps, batch, width = cells.shape
        of_sums, of_output, of_cell, kept, shown = self._rates(n, cells, gates, reverse)

        def step(carry: tuple, now: tuple) -> tuple:
            (g, g_c), (g_y, of_sums, of_output, of_cell, kept, held) = carry, now
            g = g + g_y
            g_shown = g if n.w_hr is None else mm(g, n.w_hr)
            g_c = g_c + g_shown * of_cell
            three = view(unsqueeze(g_c, axis=1) * of_sums, shape=(batch, 3 * width))
            g_a = cat(three, g_shown * of_output, axis=1)
            back = mm(g_a, n.w_hh)
            back = back if held is None else back + held * g
            return (back, g_c * kept), (g_a, None if n.w_hr is None else g)

        of_sums = view(of_sums, shape=(steps, batch, 3, width))
        given = (g_y, of_sums, of_output, of_cell, kept, _held(n.active, y))
        (first, first_c), (g_a, g_all) = over_time(step, (g_h, g_c), given, not reverse)
        projection = None if n.w_hr is None else (shown, _where_active(n.active, g_all, 0))
        return LayerGradients(g_a, g_a, first, first_c, projection)

    def tangent(self, n: Inputs, t: Inputs, outputs: Sequence, reverse: bool) -> tuple:
        """The tangents of the results by those of the inputs."""
        y, _, _, cells, gates = outputs
        batch, width = n.c.shape
        of_sums, of_output, of_cell, kept, shown = self._rates(n, cells, gates, reverse)
        back = _turned(n.w_hh)
        moved = _of_all_steps(_total(*_moved(n, t, n.h, y, reverse)), y, 4 * width)
        turned = None if t.w_hr is None else _where_active(n.active, _product(shown, t.w_hr), 0)

        def step(carry: tuple, now: tuple) -> tuple:
            (t_h, t_c), (moved, rates, of_cell, kept, held, turned) = carry, now
            changes = (moved + mm(t_h, back)) * rates
            three, by_output = _cut(changes, 3 * width, width)
            t_c = kept * t_c + sum(view(three, shape=(batch, 3, width)), axis=(1,))
            new = of_cell * t_c + by_output
            new = new if n.w_hr is None else mm(new, _turned(n.w_hr))
            new = _total(new, turned, None if held is None else held * t_h)
            return (new, t_c), (new,)

        first = tuple(_zeros_like(p) if one is None else one for p, one in ((n.h, t.h), (n.c, t.c)))
        given = (moved, cat(of_sums, of_output, axis=2), of_cell, kept, _held(n.active, y), turned)
        (t_h, t_c), (t_y,) = over_time(step, first, given, reverse)
        return t_y, t_h, t_c, None, None


def _cut(x: Any, *sizes: int) -> tuple:
    """``x`` in pieces of these lengths, along the last dimension."""
    axis, start, pieces = x.ndim - 1, 0, []
    for size in sizes:
        pieces.append(slice_(x, start, axis=axis, length=size, step=1))
        start += size
    return tuple(pieces)


def _sigmoid(x: Any) -> Any:
    """The sigmoid; of arrays in three steps."""
    return sigmoid(x) if isinstance(x, Tensor) else 0.5 * jnp.tanh(0.5 * x) + 0.5


def _lstm_gates(a: Any, back: Any, width: Any) -> tuple[Callable, Any, Any]:
    """The activations that make sums gates; and what is to be summed, which may be scaled.

    Of arrays all gates are computed at once: ``sigmoid(x) == tanh(x / 2) / 2 + 1 / 2``.
    """
    if isinstance(a, Tensor):
        return _lstm_gates_of_tensor, a, back
    scale = jnp.repeat(np.asarray([0.5, 0.5, 1.0, 0.5], a.dtype), width)
    each = jnp.broadcast_to(scale, a.shape[1:])  # NumPy multiplies arrays of one shape in half the time, at each step
    shift = 1 - each
    return (lambda x: jnp.tanh(x) * each + shift), a * scale, back * scale


def _lstm_gates_of_tensor(x: Tensor) -> Any:
    i, f, g, o = split(x, axis=1, size=x.shape[1] // 4)
    return cat(sigmoid(i), sigmoid(f), tanh(g), sigmoid(o), axis=1)


# -- operators ---------------------------------------------------------------------------------------------------------


class ReadingOrder(Formula):
    """Stands for a formula where ``gradients`` gives the gradients of all inputs: the names of what it reads."""

    __slots__ = ()

    def __init__(self, names: tuple[str, ...], function: Callable) -> None:
        self.names, self.function = names, function


class Recurrent(General):
    """A layer, or a cell, of one kind. See Note [Recurrence]."""

    kind = "recurrent"
    joint = True

    def __init__(self, function: Callable, layer: Any, is_cell: bool, **facts: Any) -> None:
        self.layer, self.is_cell = layer, is_cell
        outputs = (*(() if is_cell else ("y",)), *(f"{name}_n" for name in layer.states), *layer.saves)
        facts["flowing"] = len(outputs) - len(layer.saves)
        super().__init__(function, {}, outputs=outputs, real=True, **facts)
        reading = ReadingOrder((*self.inputs, *outputs), layer.backward)
        self.formulas = {name: reading for name in self.inputs if name != "active"}

    def __repr__(self) -> str:
        return f"<recurrent operator {self.name}>"

    def gradients(self, plan: Any, grads: Sequence, saved: Sequence, wanted: tuple[bool, ...]) -> tuple:
        """The gradients of the wanted arguments, None for the others: on arrays by a loop, on tensors recorded."""
        items = dict(zip([self.inputs[i] for i in plan.saved_inputs], saved, strict=False))
        outputs = saved[len(plan.saved_inputs) :]
        n = self._inputs(items)
        reverse = plan.settings.get("reverse", False)
        if isinstance(n.h, Tensor) or any(isinstance(grad, Tensor) for grad in grads):
            outputs = self.layer.forward(n, reverse)
        elif self.is_cell:
            outputs = self._with_steps(outputs)
        names = [self.inputs[i] for i, want in zip(plan.positions, wanted, strict=True) if want]
        sums = self.layer.backward(n, outputs, self._grads(grads, outputs), reverse)
        found = _gradients(sums, n, outputs, names, reverse)
        return tuple(
            self.restore(self._of_cell(found[self.inputs[i]], self.inputs[i]), plan.specs[i]) if want else None
            for i, want in zip(plan.positions, wanted, strict=True)
        )

    def _inputs(self, items: dict[str, Any]) -> Inputs:
        """The inputs of a layer: 16-bit types in 32 bits, and the input of a cell as one step."""
        wide = {name: _wide(item) for name, item in items.items()}
        if self.is_cell and wide["x"] is not None:
            wide["x"] = unsqueeze(wide["x"], axis=0)
        return Inputs(**wide)

    def _with_steps(self, outputs: Sequence) -> tuple:
        """The outputs of a cell as those of a layer of one step."""
        count = len(self.layer.states)
        saved = [unsqueeze(one, axis=0) for one in outputs[count:]]
        return (unsqueeze(_wide(outputs[0]), axis=0), *outputs[:count], *saved)

    def _grads(self, grads: Sequence, outputs: Sequence) -> list:
        wide = [_wide(grad) for grad in grads]
        return [_zeros_like(outputs[0]), *wide] if self.is_cell else wide

    def _of_cell(self, grad: Any, name: str) -> Any:
        return select(grad, 0, axis=0) if self.is_cell and name == "x" else grad

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        """The tangents of the outputs, on arrays or tensors: of as many steps as nobody knows by jax."""
        if isinstance(primals[0], Tensor) and is_symbolic(primals[0].shape):
            return self._jvp_by_jax(primals, tangents, out, settings)
        n = self._inputs(dict(zip(self.inputs, primals, strict=False)))
        t = dict(zip(self.inputs, tangents, strict=False)) | {"active": None}
        moved = self._inputs({name: t.get(name) for name in Inputs._fields})
        reverse = settings.get("reverse", False)
        if isinstance(n.h, Tensor):
            outputs = self.layer.forward(n, reverse)
        else:
            outputs = self._with_steps(out) if self.is_cell else out
        found = self.layer.tangent(n, moved, outputs, reverse)
        found = found[1:] if self.is_cell else found
        return tuple(one if one is None else _as(one, given) for one, given in zip(found, out, strict=True))

    def _jvp_by_jax(self, primals: Sequence, tangents: Sequence, out: Any, settings: dict) -> Any:
        there = [primal is not None for primal in primals]

        def layer(*arrays: Any) -> Any:
            given = iter(arrays)
            return self.function(*(next(given) if is_there else None for is_there in there), **settings)

        present = [(p, t) for p, t in zip(primals, tangents, strict=True) if p is not None]
        return Foreign(layer, self.name).jvp([p for p, _ in present], [t for _, t in present], out)


def _wide(x: Any) -> Any:
    """An array of a 16-bit type as one of float32."""
    if x is None or dtypes.as_dtype(x.dtype).category != 2 or x.dtype.itemsize != 2:
        return x
    return cast(x, dtype=dtypes.float32)


def _as(x: Any, like: Any) -> Any:
    dtype = dtypes.as_dtype(like.dtype)
    return x if dtypes.as_dtype(x.dtype) is dtype else cast(x, dtype=dtype)


def _gradients(g: LayerGradients, n: Inputs, outputs: Sequence, names: Sequence[str], reverse: bool) -> dict[str, Any]:
    """The gradients of the inputs of these names."""
    rules: dict[str, Callable] = {
        "x": lambda: matmul(g.input, n.w_ih),
        "h": lambda: g.h,
        "c": lambda: g.c,
        "w_ih": lambda: _weight_gradient(g.input, n.x),
        "w_hh": lambda: _weight_gradient(g.state, before(n.h, outputs[0], reverse)),
        "b_ih": lambda: sum(g.input, axis=(0, 1)),
        "b_hh": lambda: sum(g.state, axis=(0, 1)),
        "w_hr": lambda: _weight_gradient(g.projection[1], g.projection[0]),  # type: ignore[index]
    }
    return {name: rules[name]() for name in names}


def _layer(layer: Any, **facts: Any) -> Callable[[Callable], Recurrent]:
    """Declare the operator of a kind of layers; the function only says what it takes."""

    def declare(function: Callable) -> Recurrent:
        return Recurrent(function, layer, is_cell=function.__name__.endswith("_cell"), **facts)

    return declare


def _run(layer: Any, x: Any, reverse: bool, **inputs: Any) -> tuple:
    """The outputs of a layer: results and states in the dtype of ``x``."""
    outputs = layer.forward(Inputs(x=_wide(x), **{name: _wide(one) for name, one in inputs.items()}), reverse)
    count = len(layer.states) + 1
    return (*(_as(one, x) for one in outputs[:count]), *outputs[count:])


LSTM, GRU, TANH, RELU = Lstm(), Gru(), Elman(is_relu=False), Elman(is_relu=True)

_BIASES_FIRST = ("b_hh", "w_hh", "b_ih", "w_ih", "x", "h")
"""The turns of layers that PyTorch computes step by step. See Note [Turns] in ``engine/turns.py``."""


def _in_turn(x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, *others: Any) -> tuple[str, ...]:
    """Of LSTMs that project: others are one node of PyTorch's."""
    return ("w_hr", *_BIASES_FIRST, "c") if len(others) > 2 and others[2] is not None else ()


@_layer(LSTM, aten="mkldnn_rnn_layer", turns=_in_turn)
def lstm_layer(x, h, c, w_ih, w_hh, b_ih=None, b_hh=None, w_hr=None, active=None, *, reverse):
    """An LSTM over ``x`` (steps, batch, features): its results (steps, batch, width), the last states h and c, and what
    its gradients are computed from. See ``Lstm`` and Note [Padded steps]."""
    weights = {"w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh, "w_hr": w_hr}
    return _run(LSTM, x, reverse, h=h, c=c, active=active, **weights)


@_layer(GRU, aten="gru.input", turns=_BIASES_FIRST)
def gru_layer(x, h, w_ih, w_hh, b_ih=None, b_hh=None, active=None, *, reverse):
    """A layer of gated recurrent units: its results, the last state, and the gates. See ``Gru``."""
    return _run(GRU, x, reverse, h=h, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh, active=active)


@_layer(TANH, aten="rnn_tanh.input", turns=_BIASES_FIRST)
def rnn_tanh_layer(x, h, w_ih, w_hh, b_ih=None, b_hh=None, active=None, *, reverse):
    """A layer of Elman's kind with tanh: its results and the last state."""
    return _run(TANH, x, reverse, h=h, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh, active=active)


@_layer(RELU, aten="rnn_relu.input", turns=_BIASES_FIRST)
def rnn_relu_layer(x, h, w_ih, w_hh, b_ih=None, b_hh=None, active=None, *, reverse):
    """A layer of Elman's kind with relu: its results and the last state."""
    return _run(RELU, x, reverse, h=h, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh, active=active)


def _one_step(layer: Any, x: Any, **inputs: Any) -> tuple:
    _, *outputs = _run(layer, unsqueeze(x, axis=0), False, **inputs)
    count = len(layer.states)
    return (*outputs[:count], *(select(one, 0, axis=0) for one in outputs[count:]))


@_layer(LSTM, node="MulBackward0", turns=("c", "b_ih", "x", "w_ih", "b_hh", "h", "w_hh"))
def lstm_cell(x, h, c, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an LSTM for ``x`` (batch, features): h and c, and what their gradients are computed from."""
    return _one_step(LSTM, x, h=h, c=c, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh)


@_layer(GRU, node="AddBackward0", turns=("b_hh", "h", "w_hh", "b_ih", "x", "w_ih"))
def gru_cell(x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of gated recurrent units: h, and the gates."""
    return _one_step(GRU, x, h=h, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh)


@_layer(TANH, node="TanhBackward0", turns=("b_ih", "x", "w_ih", "b_hh", "h", "w_hh"))
def rnn_tanh_cell(x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of Elman's kind with tanh."""
    return _one_step(TANH, x, h=h, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh)


@_layer(RELU, node="ReluBackward0", turns=("b_ih", "x", "w_ih", "b_hh", "h", "w_hh"))
def rnn_relu_cell(x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of Elman's kind with relu."""
    return _one_step(RELU, x, h=h, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh)
