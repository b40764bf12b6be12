"""Recurrent layers and cells, of one operator for each layer and direction. See Note [Recurrence] in ``ops``.

Note [States of other dtypes]
What is added to a state meets it at the wider dtype: the cell of an LSTM; under autocast, where products alone are
cast, the state of a GRU, too. The kernel computes all of it in that dtype then. So a state that is handed over in
float32, as the first one is, stays in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad._src.bindings.declaration.registry import caster, public
from tapegrad._src.execution.data.dtypes import bfloat16, float32, int64
from tapegrad._src.execution.data.promotion import promote_types
from tapegrad._src.functions.dropout import torch_dropout
from tapegrad._src.functions.packing import Packing, checked_sizes
from tapegrad._src.functions.shape import transpose
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import recurrent
from tapegrad.ops.checks import cpp_name
from tapegrad.ops.joining import cat, stack
from tapegrad.ops.operator import Operator
from tapegrad.ops.slicing import select


class Layers(NamedTuple):
    """The arguments of a call of ``lstm`` and its like, in their words."""

    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool


class Weights(NamedTuple):
    """The parameters of one layer in one direction."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None = None
    b_hh: Tensor | None = None
    w_hr: Tensor | None = None


def _weights(params: Sequence[Tensor], has_biases: bool, projected: bool) -> list[Weights]:
    """The parameters of all layers. Raises RuntimeError: their number is wrong."""
    count = 2 + 2 * has_biases + projected
    if len(params) % count:
        raise RuntimeError("got an incorrect number of RNN parameters")
    groups = [params[start : start + count] for start in range(0, len(params), count)]
    biases = 2 * has_biases
    return [Weights(*group[: 2 + biases])._replace(w_hr=group[-1] if projected else None) for group in groups]


def _check_counts(layers: Layers, states: int, weights: int) -> None:
    if layers.bidirectional and (states % 2 or weights % 2):
        raise RuntimeError("Odd number of params or hiddens given to a bidirectional RNN")
    directions = 1 + layers.bidirectional
    for name, count in (("hidden states", states), ("weights", weights)):
        if count != layers.num_layers * directions:
            raise RuntimeError(f"Expected more {name} in stacked_rnn")


def _check_product(x: Tensor, weight: Tensor, rows: int) -> None:
    """Refuse what can't be multiplied by a transposed weight. Raises RuntimeError: PyTorch's messages."""
    if x.dtype is not weight.dtype:
        names = (x.dtype.scalar_name, weight.dtype.scalar_name)
        raise RuntimeError("mat1 and mat2 must have the same dtype, but got {} and {}".format(*names))
    if x.shape[-1] != weight.shape[1]:
        shapes = f"{rows}x{x.shape[-1]} and {weight.shape[1]}x{weight.shape[0]}"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")


def _check_biases(weights: Weights, rows: int) -> None:
    for bias in (weights.b_ih, weights.b_hh):
        length = weights.w_ih.shape[0]
        if bias is not None and tuple(bias.shape) != (length,):
            raise RuntimeError(
                f"The expanded size of the tensor ({length}) must match the existing size ({bias.shape[-1]}) at "
                f"non-singleton dimension 1.  Target sizes: [{rows}, {length}].  Tensor sizes: {list(bias.shape)}"
            )


def _check_layer(x: Tensor, states: Sequence[Tensor], weights: Weights) -> None:
    steps, batch = x.shape[:2]
    _check_product(x, weights.w_ih, steps * batch)
    _check_product(states[0], weights.w_hh, states[0].shape[0])
    _check_biases(weights, steps * batch)
    for state in states:
        if state.shape[0] == 1 != batch:
            width = state.shape[1]
            raise RuntimeError(f"output with shape [1, {width}] doesn't match the broadcast shape [{batch}, {width}]")
        if state.shape[0] != batch:
            raise RuntimeError(
                f"The size of tensor a ({state.shape[0]}) must match the size of tensor b ({batch}) at non-singleton "
                "dimension 0"
            )


def _for_products(*tensors: Any) -> tuple[Any, ...]:
    """The factors of products with weights, and these, as autocast has them."""
    cast = caster.content("linear", tensors, {}) if thread.modes.autocast else None
    return tensors if cast is None else cast[0]


def _check_meeting(x: Tensor, state: Tensor, projected: bool) -> None:
    """Refuse a cell that makes a state wider than the weights that it is multiplied by in the next step."""
    wide = promote_types(x.dtype, state.dtype)
    if projected and wide is not x.dtype:
        names = f"{cpp_name(wide)} != {cpp_name(x.dtype)}"
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names}")
    if x.shape[0] > 1 and wide is not x.dtype:
        names = f"{wide.scalar_name} and {x.dtype.scalar_name}"
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {names}")


def _computed(
    operator: Operator, x: Tensor, states: Sequence[Tensor], weights: Weights, *more: Any, **settings: Any
) -> tuple[Tensor, ...]:  # fmt: skip
    """The results of the operator of a layer or a cell, at the dtype at which the last state is met.

    See Note [States of other dtypes].
    """
    *products, cell = states
    wide = promote_types(x.dtype, cell.dtype)
    given = (x, *products, cell, *weights[: 5 if products and more else 4])
    return operator(*[one if one is None or one.dtype is wide else one.to(wide) for one in given], *more, **settings)


def _run(
    operator: Operator, x: Tensor, states: Sequence[Tensor], params: Sequence[Tensor], layers: Layers,
    packing: Packing | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The results of the last layer (steps, batch, directions * width), and the last states of all.

    Args:
        x: (steps, batch, features), or packed.
        states: one or two tensors (layers * directions, batch, width).
        params: those of ``w_ih``, ``w_hh``, ``b_ih``, ``b_hh`` and ``w_hr`` that there are, for each layer and
            direction.
    """
    projected = len(states) == 2 and states[0].shape[2] != states[1].shape[2]
    weights = _weights(params, layers.has_biases, projected)
    _check_counts(layers, states[0].shape[0], len(weights))
    for state in states[1:]:
        if state.shape[0] < states[0].shape[0]:
            where = f"index {state.shape[0]} out of range for tensor of size {list(state.shape)} at dimension 0"
            raise IndexError(f"select(): {where}")
    if packing is not None:
        x = packing.padded(x)
    if not x.shape[0]:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    active = None if packing is None else packing.active
    last: list[list[Tensor]] = [[] for _ in states]
    for number in range(layers.num_layers):
        results = []
        for reverse in (False, True)[: 1 + layers.bidirectional]:
            place = number * (1 + layers.bidirectional) + reverse
            h, *cells = (select(state, place, axis=0) for state in states)
            low, shown, *own = _for_products(x, h, *weights[place])
            _check_layer(low, [shown, *cells], Weights(*own))
            if not thread.modes.autocast:
                _check_meeting(low, [h, *cells][-1], projected)
            y, *found = _computed(operator, low, [shown, *cells] if cells else [h], Weights(*own), active,
                                  reverse=reverse)  # fmt: skip
            if projected:
                y, found[0] = y.to(low.dtype), found[0].to(low.dtype)
            results.append(y)
            for kept, state in zip(last, found, strict=False):
                kept.append(state)
        x = results[0] if len(results) == 1 else cat(*results, axis=2)
        if layers.dropout and layers.train and number < layers.num_layers - 1:
            x = _dropped(x, layers.dropout, packing)
    if packing is not None:
        x = packing.packed(x)
    return (x, *(stack(*kept, axis=0) for kept in last))


def _dropped(x: Tensor, p: float, packing: Packing | None) -> Tensor:
    """The results of a layer with some dropped: of packed ones all that is no padding, as PyTorch draws for them."""
    return torch_dropout(x, p, True) if packing is None else packing.padded(torch_dropout(packing.packed(x), p, True))


def _layers(operator: Operator, args: dict[str, Any], states: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results of a call whose arguments are these, padded or packed."""
    layers = Layers(*[args[name] for name in Layers._fields])
    if "data" in args:
        if args["batch_sizes"].dtype is not int64:
            raise RuntimeError(f"expected scalar type Long but found {args['batch_sizes'].dtype.scalar_name}")
        sizes = checked_sizes(args["batch_sizes"])
        return _run(operator, args["data"], states, args["params"], layers, Packing.of(sizes, args["data"]))
    x = args["input"]
    if x.ndim != 3:  # an IndexError, if there are fewer
        x.select(0, 0).size(1)
    x = transpose(x, 0, 1) if args["batch_first"] else x
    y, *last = _run(operator, x, states, args["params"], layers, None)
    return (transpose(y, 0, 1) if args["batch_first"] else y, *last)


PADDED = ("input", "hx", "params", *Layers._fields, "batch_first")
PACKED = ("data", "batch_sizes", "hx", "params", *Layers._fields)


def _named(args: tuple, kwargs: dict[str, Any], packed: bool) -> dict[str, Any]:
    """The arguments by their names."""
    return dict(zip(PACKED if packed else PADDED, args, strict=False)) | kwargs


def _is_packed(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Tell whether a call is one of packed sequences: the third argument is the state then, and no list of
    parameters."""
    return "data" in kwargs or "batch_sizes" in kwargs or (len(args) > 2 and isinstance(args[1], Tensor) and (
        isinstance(args[2], Tensor) or not isinstance(args[3] if len(args) > 3 else True, bool)))  # fmt: skip


def is_whole(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Tell whether a call of ``lstm`` is one that PyTorch leaves to another library, with all its layers."""
    if _is_packed(args, kwargs):
        return False
    given = _named(args, kwargs, False)
    h, c = given["hx"]
    return given["input"].dtype in (float32, bfloat16) and h.shape[-1] == c.shape[-1]


@public("torch")
def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """A stack of LSTM layers: the results of the last, and the last states h and c of all layers and directions.

    ``lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``, or
    ``lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)`` of packed sequences:
    see ``torch.nn.LSTM``. ``params`` are w_ih, w_hh, b_ih and b_hh (and w_hr) for each layer and direction.

    Raises:
        RuntimeError: numbers of states or parameters, shapes or dtypes that don't fit.

    >>> weights, states = [torch.zeros(4, 2), torch.zeros(4, 1)], [torch.zeros(1, 1, 1)] * 2
    >>> y, h, c = torch.lstm(torch.ones(3, 1, 2), states, weights, False, 1, 0.0, False, False, False)
    >>> y.shape, h.shape, c.shape
    (torch.Size([3, 1, 1]), torch.Size([1, 1, 1]), torch.Size([1, 1, 1]))
    """
    given = _named(args, kwargs, _is_packed(args, kwargs))
    if len(given["hx"]) != 2:
        raise RuntimeError("lstm expects two hidden states")
    return _layers(recurrent.lstm_layer, given, given["hx"])  # type: ignore[return-value]


@public("torch")
def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """A stack of layers of gated recurrent units: the results of the last, and the last states of all.

    ``hx`` is one tensor; otherwise it is called as ``lstm`` is. See ``torch.nn.GRU``.
    """
    given = _named(args, kwargs, _is_packed(args, kwargs))
    return _layers(recurrent.gru_layer, given, [given["hx"]])  # type: ignore[return-value]


@public("torch")
def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """A stack of layers of Elman's kind with tanh; called as ``gru`` is. See ``torch.nn.RNN``."""
    given = _named(args, kwargs, _is_packed(args, kwargs))
    return _layers(recurrent.rnn_tanh_layer, given, [given["hx"]])  # type: ignore[return-value]


@public("torch")
def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """A stack of layers of Elman's kind with relu; called as ``gru`` is. See ``torch.nn.RNN``."""
    given = _named(args, kwargs, _is_packed(args, kwargs))
    return _layers(recurrent.rnn_relu_layer, given, [given["hx"]])  # type: ignore[return-value]


# -- cells -------------------------------------------------------------------------------------------------------------


def _check_cell(x: Tensor, states: Sequence[Tensor], weights: Weights, gates: int) -> None:
    """Refuse what a cell of so many gates can't take. Raises IndexError, RuntimeError: PyTorch's messages."""
    w_ih, w_hh = weights[:2]
    if x.size(1) != w_ih.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {w_ih.shape[1]}")
    for number, state in enumerate(states):
        if x.shape[0] != state.shape[0]:
            raise RuntimeError(
                f"Input batch size {x.shape[0]} doesn't match hidden{number} batch size {state.shape[0]}"
            )
        if state.size(1) != w_hh.shape[1]:
            raise RuntimeError(
                f"hidden{number} has inconsistent hidden_size: got {state.shape[1]}, expected {w_hh.shape[1]}"
            )
        length = gates * state.shape[1]
        for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
            if weight.shape[0] != length:
                raise RuntimeError(
                    f"{name} first dim must be {gates} * hidden_size = {length}, but got {weight.shape[0]}"
                )
    _check_product(x, w_ih, x.shape[0])
    _check_product(states[0], w_hh, x.shape[0])
    _check_biases(weights, x.shape[0])


@public("torch")
def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One step of an LSTM: the states h and c (batch, width) from ``input`` (batch, features) and those before.

    Args:
        hx: ``(h, c)``, of shape (batch, width) each.
        w_ih, w_hh: (4 width, features) and (4 width, width): the input gate's rows, then forget, cell, output.
        b_ih, b_hh: (4 width,) each, or None.

    Raises:
        RuntimeError: shapes or dtypes that don't fit.

    >>> state = torch.zeros(2, 1), torch.zeros(2, 1)
    >>> h, c = torch.lstm_cell(torch.ones(2, 3), state, torch.ones(4, 3), torch.ones(4, 1))
    >>> h.shape, c.shape
    (torch.Size([2, 1]), torch.Size([2, 1]))
    """
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    low, h, *weights = _for_products(input, hx[0], w_ih, w_hh, b_ih, b_hh)
    _check_cell(low, (h, hx[1]), Weights(*weights), 4)
    h, c, *_ = _computed(recurrent.lstm_cell, low, (h, hx[1]), Weights(*weights))
    return h, c


@public("torch")
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of gated recurrent units: the state (batch, width) from ``input`` (batch, features) and that before.

    Args:
        hx: the state (batch, width).
        w_ih, w_hh: (3 width, features) and (3 width, width): the reset gate's rows, then update, new.
        b_ih, b_hh: (3 width,) each, or None.

    Raises:
        RuntimeError: shapes or dtypes that don't fit.

    >>> torch.gru_cell(torch.ones(2, 3), torch.zeros(2, 1), torch.ones(3, 3), torch.ones(3, 1)).shape
    torch.Size([2, 1])
    """
    low, h, *weights = _for_products(input, hx, w_ih, w_hh, b_ih, b_hh)
    _check_cell(low, [h], Weights(*weights), 3)
    return _computed(recurrent.gru_cell, low, [hx], Weights(*weights))[0]


@public("torch")
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of Elman's kind: ``tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)``.

    Args:
        hx: the state (batch, width).
        w_ih, w_hh: (width, features) and (width, width).
        b_ih, b_hh: (width,) each, or None.

    Raises:
        RuntimeError: shapes or dtypes that don't fit.

    >>> torch.rnn_tanh_cell(torch.ones(2, 3), torch.zeros(2, 1), torch.zeros(1, 3), torch.ones(1, 1))
    tensor([[0.],
            [0.]])
    """
    _check_cell(input, [hx], Weights(w_ih, w_hh, b_ih, b_hh), 1)
    return recurrent.rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih, b_hh)[0]


@public("torch")
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of Elman's kind with relu. See ``rnn_tanh_cell``.

    Args:
        hx, w_ih, w_hh, b_ih, b_hh: as for ``rnn_tanh_cell``.

    Raises:
        RuntimeError: shapes or dtypes that don't fit.

    >>> torch.rnn_relu_cell(torch.ones(2, 3), torch.zeros(2, 1), torch.ones(1, 3), torch.ones(1, 1))
    tensor([[3.],
            [3.]])
    """
    _check_cell(input, [hx], Weights(w_ih, w_hh, b_ih, b_hh), 1)
    return recurrent.rnn_relu_cell(input, hx, w_ih, w_hh, b_ih, b_hh)[0]
