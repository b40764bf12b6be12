"""Recurrent layers and cells."""

from __future__ import annotations

import math
import numbers
from typing import Any, ClassVar

from tapegrad._src.bindings.asked import _is_any_autocast_enabled
from tapegrad._src.functions.creation import empty, zeros
from tapegrad._src.functions.recurrent import (
    gru,
    gru_cell,
    lstm,
    lstm_cell,
    rnn_relu,
    rnn_relu_cell,
    rnn_tanh,
    rnn_tanh_cell,
)
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn import init
from tapegrad.nn.modules.module import Module
from tapegrad.nn.parameter import Parameter
from tapegrad.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
"""The number of sums that each mode has for each element of its state."""


def permuted(tensor: Tensor, permutation: Tensor | None) -> Tensor:
    """A state with its batch in another order."""
    return tensor if permutation is None else tensor.index_select(1, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """``tensor.index_select(dim, permutation)``, which is to be used instead."""
    warn("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead", FutureWarning)
    return tensor.index_select(dim, permutation)


def uniform_parameters(module: Any) -> None:
    """Draw parameters uniformly between plus and minus ``1 / sqrt(hidden_size)``."""
    bound = 1.0 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


def _check_type(name: str, value: Any, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise TypeError(f"{name} should be of type {wanted.__name__}, got: {type(value).__name__}")


class RNNBase(Module):
    """The base class of ``RNN``, ``LSTM`` and ``GRU``: layers, in one or two directions, and their parameters.

    Args:
        mode: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
        input_size, hidden_size: the number of features of the input, and of the state.
        num_layers: how many layers are stacked.
        bias: whether there are biases.
        batch_first: whether inputs and outputs are (batch, steps, features) rather than (steps, batch, features).
        dropout: with which probability results of layers but the last are dropped, in training.
        bidirectional: whether each layer runs over the steps in both directions.
        proj_size: of an LSTM, how wide its results are, if they are projected; 0 for not.

    Raises:
        TypeError, ValueError: arguments of wrong types, or out of range.

    >>> layers = torch.nn.RNNBase("GRU", 2, 3)
    >>> {name: tuple(weight.shape) for name, weight in layers.named_parameters()}
    {'weight_ih_l0': (9, 2), 'weight_hh_l0': (9, 3), 'bias_ih_l0': (9,), 'bias_hh_l0': (9,)}
    """

    __constants__: ClassVar = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
        "proj_size",
    ]  # fmt: skip
    __jit_unused_properties__: ClassVar = ["all_weights"]
    _shown: ClassVar[str] = ""
    """The message about an input with a wrong number of dimensions."""

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(1 + bool(bidirectional)):
                self._add_layer(layer, "_reverse" * direction, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
        if not is_number or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}"
            )
        _check_type("bias", self.bias, bool)
        _check_type("batch_first", self.batch_first, bool)
        for name in ("input_size", "hidden_size"):
            _check_type(name, getattr(self, name), int)
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def _add_layer(self, layer: int, suffix: str, options: dict[str, Any]) -> None:
        """Add the parameters of a layer in one direction."""
        rows, shown = GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        columns = shown * (1 + bool(self.bidirectional)) if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns), "weight_hh": (rows, shown)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (shown, self.hidden_size)
        names = [f"{kind}_l{layer}{suffix}" for kind in shapes]
        for name, shape in zip(names, shapes.values(), strict=True):
            setattr(self, name, Parameter(empty(shape, **options)))
        self._flat_weights_names.extend(names)
        self._all_weights.append(names)

    @property
    def _flat_weights(self) -> list[Any]:
        """The parameters, or what stands in their place, in the order in which functions take them."""
        known = self._parameters
        return [known[name] if name in known else getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: it is for a library that wants all parameters in one piece of memory."""

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniformly between plus and minus ``1 / sqrt(hidden_size)``."""
        uniform_parameters(self)

    # -- checks ----------------------------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input that doesn't fit.

        Raises:
            ValueError: its dtype is not that of the weights.
            RuntimeError: its number of dimensions, or of features, is wrong.

        Args:
            input: the input.
            batch_sizes: the sizes of a packed sequence, None for a padded one.
        """
        dtype = self._flat_weights[0].dtype
        if input.dtype is not dtype and not _is_any_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.ndim != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.ndim}")
        if self.input_size != input.shape[-1]:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _expected_size(self, input: Tensor, batch_sizes: Any, width: int) -> tuple[int, int, int]:
        batch = input.shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (1 + bool(self.bidirectional)), batch, width

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that a state must have, for this input.

        Args:
            input: the input.
            batch_sizes: the sizes of a packed sequence, None for a padded one.
        """
        return self._expected_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Refuse a state of another shape.

        Args:
            hx: the state.
            expected_hidden_size: the shape that it must have.
            msg: what is said, with places for both shapes.

        Raises:
            RuntimeError: it has another.
        """
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input, or a state, that doesn't fit.

        Args:
            input: the input.
            hidden: the state.
            batch_sizes: the sizes of a packed sequence, None for a padded one.

        Raises:
            RuntimeError, ValueError: as ``check_input`` and ``check_hidden_size`` do.
        """
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """A state with its batch in another order.

        Args:
            hx: the state.
            permutation: which sequence comes where; None leaves them.
        """
        return permuted(hx, permutation)

    # -- forward ---------------------------------------------------------------------------------------------------

    def _check_dims(self, hx: Any, dims: int) -> None:
        """Refuse a state whose number of dimensions is not that of the input."""
        if hx.ndim != dims:
            kind = "batched" if dims == 3 else "unbatched"
            raise RuntimeError(
                f"For {kind} {dims}-D input, hx should also be {dims}-D but got {hx.ndim}-D tensor"
            )

    def _each(self, hx: Any, change: Any) -> Any:
        """Each tensor of a state changed."""
        return change(hx)

    def _begin(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        """The state to begin with where none is given: zeros."""
        return zeros(
            self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype, device=input.device
        )

    def _run(self, function: Any, input: Any, hx: Any) -> tuple[Any, Any]:
        """The results and the last state, of a padded or a packed input, with a batch or without."""
        if isinstance(input, PackedSequence):
            x, batch_sizes, order, back = input
            hx = self._begin(x, batch_sizes) if hx is None else self.permute_hidden(hx, order)
            output, hidden = self._applied(function, x, hx, batch_sizes)
            return PackedSequence(output, batch_sizes, order, back), self.permute_hidden(hidden, back)
        if input.ndim not in (2, 3):
            raise ValueError(self._shown.format(input.ndim))
        if hx is not None:
            self._check_dims(hx, input.ndim)
        if input.ndim == 3:
            return self._applied(function, input, self._begin(input, None) if hx is None else hx, None)
        place = 0 if self.batch_first else 1
        x = input.unsqueeze(place)
        hx = self._begin(x, None) if hx is None else self._each(hx, lambda one: one.unsqueeze(1))
        output, hidden = self._applied(function, x, hx, None)
        return output.squeeze(place), self._each(hidden, lambda one: one.squeeze(1))

    def _applied(self, function: Any, x: Tensor, hx: Any, batch_sizes: Tensor | None) -> tuple[Tensor, Any]:
        self.check_forward_args(x, hx, batch_sizes)
        layers = (
            self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
        )  # fmt: skip
        if batch_sizes is None:
            output, *hidden = function(x, hx, *layers, self.batch_first)
        else:
            output, *hidden = function(x, batch_sizes, hx, *layers)
        return output, hidden[0] if len(hidden) == 1 else tuple(hidden)

    def extra_repr(self) -> str:
        """The arguments that are not the default ones."""
        shown = [f"{self.input_size}, {self.hidden_size}"]
        usual = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False,
        }  # fmt: skip
        shown += [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join(shown)


class RNN(RNNBase):
    """Layers of Elman's kind: ``h = tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)``, or relu in place of tanh.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: see ``RNNBase``.
        nonlinearity: ``"tanh"`` or ``"relu"``; the fourth argument by position.

    It is called with the input (steps, batch, input_size), one without the batch, or a ``PackedSequence``; and the
    state to begin with (num_layers * directions, batch, hidden_size), zeros by default. It gives the results of the
    last layer (steps, batch, directions * hidden_size), or packed ones, and the last state.

    Raises:
        ValueError: another ``nonlinearity``.

    >>> y, h = torch.nn.RNN(2, 3)(torch.ones(5, 1, 2))
    >>> y.shape, h.shape
    (torch.Size([5, 1, 3]), torch.Size([1, 1, 3]))
    """

    _shown = "RNN: Expected input to be 2D or 3D, got {}D tensor instead"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            args, nonlinearity = args[:3] + args[4:], args[3]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The results and the last state.

        Args:
            input: (length, batch, input_size), or a packed sequence.
            hx: the first state, (layers and directions, batch, hidden_size); zeros by default.
        """
        return self._run(rnn_tanh if self.mode == "RNN_TANH" else rnn_relu, input, hx)


class LSTM(RNNBase):
    """Layers of long short-term memory: see ``torch.lstm``.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size: see ``RNNBase``.

    It is called as ``RNN`` is, but states are pairs of ``h`` and ``c``. Results and ``h`` are ``proj_size`` wide, if
    that is not 0.

    >>> y, (h, c) = torch.nn.LSTM(2, 3, num_layers=2)(torch.ones(5, 1, 2))
    >>> y.shape, h.shape, c.shape
    (torch.Size([5, 1, 3]), torch.Size([2, 1, 3]), torch.Size([2, 1, 3]))
    """

    _shown = "LSTM: Expected input to be 2D or 3D, got {}D instead"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that ``c`` must have, for this input."""
        return self._expected_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input, or a state, that doesn't fit.

        Args:
            input: the input.
            hidden: the two states.
            batch_sizes: the sizes of a packed sequence, None for a padded one.

        Raises:
            RuntimeError, ValueError: as ``check_input`` and ``check_hidden_size`` do.
        """
        self.check_input(input, batch_sizes)
        h, c = hidden[0], hidden[1]
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(h, expected, "Expected hidden[0] size {}, got {}")
        if c is not h or self.proj_size:  # both are what ``_begin`` made
            expected = self.get_expected_cell_size(input, batch_sizes)
            self.check_hidden_size(c, expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """A state with its batch in another order.

        Args:
            hx: the two states.
            permutation: which one comes where; None leaves them.
        """
        return hx if permutation is None else self._each(hx, lambda one: permuted(one, permutation))

    def _each(self, hx: Any, change: Any) -> Any:
        return change(hx[0]), change(hx[1])

    def _check_dims(self, hx: Any, dims: int) -> None:
        if hx[0].ndim != dims or hx[1].ndim != dims:
            kind = "batched" if dims == 3 else "unbatched"
            raise RuntimeError(
                f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got ({hx[0].ndim}-D, "
                f"{hx[1].ndim}-D) tensors"
            )

    def _begin(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        h = super()._begin(input, batch_sizes)
        return h, zeros(self.get_expected_cell_size(input, batch_sizes), dtype=input.dtype, device=input.device)

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        """The results and the last states ``h`` and ``c``."""
        return self._run(lstm, input, hx)


class GRU(RNNBase):
    """Layers of gated recurrent units: see ``torch.gru``.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: see ``RNNBase``.

    It is called as ``RNN`` is.

    Raises:
        ValueError: ``proj_size``, which only an LSTM has; or what ``RNNBase`` refuses.

    >>> y, h = torch.nn.GRU(2, 3, bidirectional=True)(torch.ones(5, 1, 2))
    >>> y.shape, h.shape
    (torch.Size([5, 1, 6]), torch.Size([2, 1, 3]))
    """

    _shown = "GRU: Expected input to be 2D or 3D, got {}D instead"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The results and the last state."""
        return self._run(gru, input, hx)


class RNNCellBase(Module):
    """The base class of cells: their parameters.

    Args:
        input_size, hidden_size: the number of features of the input, and of the state.
        bias: whether there are biases.
        num_chunks: how many sums there are for each element of the state.

    >>> cell = torch.nn.RNNCellBase(2, 3, bias=True, num_chunks=4)
    >>> {name: tuple(weight.shape) for name, weight in cell.named_parameters()}
    {'weight_ih': (12, 2), 'weight_hh': (12, 3), 'bias_ih': (12,), 'bias_hh': (12,)}
    """

    __constants__: ClassVar = ["input_size", "hidden_size", "bias"]
    _shown: ClassVar[str] = ""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows, options = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(empty((rows, input_size), **options))
        self.weight_hh = Parameter(empty((rows, hidden_size), **options))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, **options)) if bias else None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        """The arguments that are not the default ones."""
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return shown if nonlinearity == "tanh" else f"{shown}, nonlinearity={nonlinearity}"

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniformly between plus and minus ``1 / sqrt(hidden_size)``."""
        uniform_parameters(self)

    def _check(self, x: Tensor, name: str) -> None:
        if x.dim() not in (1, 2):
            raise ValueError(f"{self._shown}: Expected {name} to be 1D or 2D, got {x.dim()}D instead")

    def _begin(self, input: Tensor) -> Tensor:
        return zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _one_state(self, function: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """The next state of a cell that has one, for an input with a batch or without."""
        self._check(input, "input")
        if hx is not None:
            self._check(hx, "hidden")
        if input.dim() == 2:
            return function(input, self._begin(input) if hx is None else hx, *self._weights())
        input = input.unsqueeze(0)
        hx = self._begin(input) if hx is None else hx.unsqueeze(0)
        return function(input, hx, *self._weights()).squeeze(0)


class RNNCell(RNNCellBase):
    """One step of Elman's kind: the next state (batch, hidden_size), from the input (batch, input_size) and the last.

    Args:
        input_size, hidden_size: the number of features of the input, and of the state.
        bias: whether there are biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.

    >>> torch.nn.RNNCell(2, 3)(torch.ones(5, 2)).shape
    torch.Size([5, 3])
    """

    __constants__: ClassVar = ["input_size", "hidden_size", "bias", "nonlinearity"]
    _shown = "RNNCell"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state, (batch, hidden_size).

        Args:
            input: (batch, input_size).
            hx: the last state; zeros by default.

        Raises:
            RuntimeError: ``nonlinearity`` is neither tanh nor relu.
        """
        kinds = {"tanh": rnn_tanh_cell, "relu": rnn_relu_cell}
        if self.nonlinearity not in kinds:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._one_state(kinds[self.nonlinearity], input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: the next states ``h`` and ``c`` (batch, hidden_size). See ``torch.lstm_cell``.

    Args:
        input_size, hidden_size: the number of features of the input, and of the states.
        bias: whether there are biases.

    >>> h, c = torch.nn.LSTMCell(2, 3)(torch.ones(5, 2))
    >>> h.shape, c.shape
    (torch.Size([5, 3]), torch.Size([5, 3]))
    """

    _shown = "LSTMCell"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next states; the last are zeros by default."""
        self._check(input, "input")
        for number, state in enumerate(hx or ()):
            self._check(state, f"hx[{number}]")
        is_batched = input.dim() == 2
        input = input if is_batched else input.unsqueeze(0)
        if hx is None:
            hx = (self._begin(input),) * 2
        elif not is_batched:
            hx = hx[0].unsqueeze(0), hx[1].unsqueeze(0)
        h, c = lstm_cell(input, hx, *self._weights())
        return (h, c) if is_batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of gated recurrent units: the next state (batch, hidden_size). See ``torch.gru_cell``.

    Args:
        input_size, hidden_size: the number of features of the input, and of the state.
        bias: whether there are biases.

    >>> torch.nn.GRUCell(2, 3)(torch.ones(5, 2)).shape
    torch.Size([5, 3])
    """

    _shown = "GRUCell"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state; the last is zeros by default."""
        return self._one_state(gru_cell, input, hx)
