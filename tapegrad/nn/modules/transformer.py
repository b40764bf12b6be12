"""Transformers: encoders, decoders, and their layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

from tapegrad._src.functions.creation import full
from tapegrad._src.functions.multihead import _canonical_mask, _none_or_dtype
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.grad_mode import is_grad_enabled
from tapegrad.nn import functional as F
from tapegrad.nn.init import xavier_uniform_
from tapegrad.nn.modules.activation import GELU, ReLU
from tapegrad.nn.modules.attention import MultiheadAttention
from tapegrad.nn.modules.container import ModuleList
from tapegrad.nn.modules.dropout import Dropout
from tapegrad.nn.modules.linear import Linear
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.normalization import LayerNorm

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
]  # fmt: skip

Activation = str | Callable[[Tensor], Tensor]


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """(sz, sz), -inf where a key is after the query, 0 elsewhere."""
    return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(diagonal=1)


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Tell whether a mask leaves out later keys, and nothing else; if nobody says so, its elements are looked at."""
    if is_causal is not None or mask is None:
        return is_causal is True
    size = mask.size(-2) if size is None else size
    causal = _generate_square_subsequent_mask(size, device=mask.device, dtype=mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


def both_masks(mask: Tensor | None, name: str, padding: Tensor | None, dtype: Any) -> tuple[Any, Any]:
    """A mask and one of padding, of which booleans become -inf and 0."""
    padding = _canonical_mask(padding, "src_key_padding_mask", _none_or_dtype(mask), name, dtype)
    return _canonical_mask(mask, name, None, "", dtype, check_other=False), padding


def _get_seq_len(x: Tensor, batch_first: bool) -> int | None:
    """The number of elements of a sequence, with a batch or without; None of a nested tensor, which has several."""
    return None if x.is_nested else x.size(1 if x.dim() > 2 and batch_first else 0)


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """An activation by its name. Raises RuntimeError: another name than ``"relu"`` and ``"gelu"``."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def activation_of(activation: Activation) -> Callable[[Tensor], Tensor]:
    """An activation by its name, or as it is."""
    return _get_activation_fn(activation) if isinstance(activation, str) else activation


def _get_clones(module: Module, N: int) -> ModuleList:
    """Copies of a module."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


class _Layer(Module):
    """The base class of layers of encoders and decoders: attention, and two linear layers."""

    __constants__: ClassVar = ["norm_first"]

    self_attn: MultiheadAttention
    activation: Any

    def _add_linear(self, width: int, inner: int, dropout: float, bias: bool, options: dict[str, Any]) -> None:
        self.linear1 = Linear(width, inner, bias=bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(inner, width, bias=bias, **options)

    def _add_norms(self, count: int, width: int, norm_first: bool, dropout: float, settings: dict[str, Any]) -> None:
        """``norm1`` and so on, and as many dropouts."""
        self.norm_first = norm_first
        for number in range(1, count + 1):
            setattr(self, f"norm{number}", LayerNorm(width, **settings))
        for number in range(1, count + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"activation": F.relu, **state})

    def _attended(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        return self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )[0]

    def _inner(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear layers, each with a residual connection and a normalization.

    Args:
        d_model: the width of inputs and results.
        nhead: how many heads there are.
        dim_feedforward: the width between the linear layers.
        dropout: the probability with which elements are dropped, in training.
        activation: between the linear layers: ``"relu"``, ``"gelu"``, or a function.
        layer_norm_eps: added to variances.
        batch_first: whether inputs are (batch, length, width) rather than (length, batch, width).
        norm_first: whether normalizations come before attention and the linear layers.
        bias: whether linear layers and normalizations have biases.

    Raises:
        RuntimeError: another name of an activation.

    >>> torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)(torch.ones(3, 1, 4)).shape
    torch.Size([3, 1, 4])
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        options = {"device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **options
        )
        self._add_linear(d_model, dim_feedforward, dropout, bias, options)
        self._add_norms(2, d_model, norm_first, dropout, {"eps": layer_norm_eps, "bias": bias, **options})
        activation = activation_of(activation)
        is_relu, is_gelu = activation is F.relu or isinstance(activation, ReLU), isinstance(activation, GELU)
        self.activation_relu_or_gelu = 1 if is_relu else 2 if is_gelu or activation is F.gelu else 0
        self.activation = activation

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The next sequence, from ``src`` (length, batch, width).

        Args:
            src_mask: (length, length), which elements don't count for an element: True, or -inf.
            src_key_padding_mask: (batch, length), which don't count for any.
            is_causal: whether ``src_mask`` says that no element sees later ones.
        """
        mask, padding = both_masks(src_mask, "src_mask", src_key_padding_mask, src.dtype)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        return self.dropout1(self._attended(x, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._inner(x))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory and two linear layers, each with a residual connection and a norm.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: see
            ``TransformerEncoderLayer``.

    >>> torch.nn.TransformerDecoderLayer(4, 2, dim_feedforward=8)(torch.ones(3, 1, 4), torch.ones(5, 1, 4)).shape
    torch.Size([3, 1, 4])
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        options = {"device": device, "dtype": dtype}
        super().__init__()
        settings = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **options}
        self.self_attn = MultiheadAttention(d_model, nhead, **settings)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **settings)
        self._add_linear(d_model, dim_feedforward, dropout, bias, options)
        self._add_norms(3, d_model, norm_first, dropout, {"eps": layer_norm_eps, "bias": bias, **options})
        self.activation = activation_of(activation)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The next sequence, from ``tgt`` (length, batch, width) and ``memory`` (S, batch, width).

        Args:
            tgt, memory: the sequence, and what was encoded.
            tgt_mask, memory_mask: what no position may look at; see ``TransformerEncoderLayer``.
            tgt_key_padding_mask, memory_key_padding_mask: positions that nobody may look at, (batch, length) and
                (batch, S).
            tgt_is_causal, memory_is_causal: whether the masks are those of what comes later.
        """
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        return self.dropout1(self._attended(x, attn_mask, key_padding_mask, is_causal))

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        found = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal,
            need_weights=False,
        )  # fmt: skip
        return self.dropout2(found[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._inner(x))


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer, with a normalization at its end, if one is given.

    Args:
        encoder_layer: what is copied.
        num_layers: how often.
        norm: the normalization.
        enable_nested_tensor: whether padding may be left out where nothing is recorded, in evaluation: it is computed
            here all the same, but comes out as 0 (before the normalization), as in PyTorch.
        mask_check: whether to look first if all padding is at the end.

    >>> layer = torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.ones(1, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    __constants__: ClassVar = ["norm"]

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = why_padding_stays(encoder_layer)
        if enable_nested_tensor and reason:
            warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}")
            self.use_nested_tensor = False

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:  # fmt: skip
        """The sequence behind all layers; see ``TransformerEncoderLayer``.

        Args:
            src: the sequence, (length, batch, width).
            mask: what no position may look at, (length, length).
            src_key_padding_mask: positions that nobody may look at, (batch, length).
            is_causal: whether ``mask`` is that of what comes later; found out if it is None.
        """
        mask, padding = both_masks(mask, "mask", src_key_padding_mask, src.dtype)
        first = self.layers[0]
        is_causal = _detect_is_causal_mask(mask, is_causal, _get_seq_len(src, first.self_attn.batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._leaves_out(src, padding, first):
            output = output.masked_fill(padding.ne(0).unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _leaves_out(self, src: Tensor, padding: Tensor, first: Any) -> bool:
        """Tell whether PyTorch leaves padding out, and gives 0 for it."""
        if not self.use_nested_tensor or first.training or src.dim() != 3:
            return False
        if is_grad_enabled() and any(x.requires_grad for x in (src, *first.parameters())):
            return False
        there = padding.eq(0)
        return not self.mask_check or bool((there[:, 1:] <= there[:, :-1]).all() and there[:, 0].all())


def why_padding_stays(layer: Any) -> str:
    """Why PyTorch does not leave padding out with such a layer; nothing, if it does."""
    name = "encoder_layer"
    if not isinstance(layer, TransformerEncoderLayer):
        return f"{name} was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        f"{name}.norm_first was True": layer.norm_first,
        f"{name}.self_attn.batch_first was not True(use batch_first for better inference performance)": (
            not attention.batch_first
        ),
        f"{name}.self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        f"{name}.self_attn was passed bias=False": attention.in_proj_bias is None,
        f"{name}.activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        f"{name}.norm1.eps was not equal to {name}.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        f"{name}.self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer, with a normalization at its end, if one is given.

    Args:
        decoder_layer: what is copied.
        num_layers: how often.
        norm: the normalization.
    """

    __constants__: ClassVar = ["norm"]

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The sequence behind all layers; see ``TransformerDecoderLayer``.

        Args:
            tgt: the sequence, (T, batch, width).
            memory: what was encoded, (S, batch, width).
            tgt_mask, memory_mask: what no position may look at, (T, T) and (T, S).
            tgt_key_padding_mask, memory_key_padding_mask: positions that nobody may look at, (batch, T) and (batch, S).
            tgt_is_causal, memory_is_causal: whether the masks are those of what comes later; that of ``tgt`` is found
                out if it is None.

        >>> layer = torch.nn.TransformerDecoderLayer(4, 2, 8)
        >>> torch.nn.TransformerDecoder(layer, 2)(torch.ones(3, 1, 4), torch.ones(5, 1, 4)).shape
        torch.Size([3, 1, 4])
        """
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        tgt_is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder, and a decoder that attends to what it gives.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: see
            ``TransformerEncoderLayer``.
        num_encoder_layers, num_decoder_layers: how many layers there are.
        custom_encoder, custom_decoder: what to use in their place.

    >>> model = torch.nn.Transformer(4, 2, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
    >>> model(torch.ones(1, 3, 4), torch.ones(1, 5, 4)).shape
    torch.Size([1, 5, 4])
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
        custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        options = {"device": device, "dtype": dtype}
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(
                TransformerEncoderLayer(*settings, **options), num_encoder_layers, norm()
            )
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(
                TransformerDecoderLayer(*settings, **options), num_decoder_layers, norm()
            )
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The decoded sequence (T, batch, width), from ``src`` (S, batch, width) and ``tgt`` (T, batch, width).

        Args:
            src, tgt: the sequences; the batch is first with ``batch_first``.
            src_mask, tgt_mask, memory_mask: what no position may look at, of ``src`` (S, S), ``tgt`` (T, T), and by
                ``tgt`` of what was encoded (T, S); booleans, or numbers that are added.
            src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask: positions that nobody may look at,
                (batch, S) or (batch, T).
            src_is_causal, tgt_is_causal, memory_is_causal: whether the mask beside is that of what comes later; found
                out where it is None.

        Raises:
            RuntimeError: batches of different sizes, or another width than ``d_model``.
        """
        place = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(place) != tgt.size(place):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
        """(size, size), -inf where a key is after the query, 0 elsewhere."""
        return _generate_square_subsequent_mask(size, device=device, dtype=dtype)

    def _reset_parameters(self) -> None:
        """Draw all weights anew, by ``xavier_uniform_``."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)
