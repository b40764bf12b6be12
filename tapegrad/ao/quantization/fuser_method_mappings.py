"""Functions that make one layer of several in a row, by the classes of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad import nn
from tapegrad.ao.nn import intrinsic as nni
from tapegrad.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_linear_bn", "get_fuser_method"]

WITH_NORM: dict[type, Any] = {nn.Conv1d: nni.ConvBn1d, nn.Conv2d: nni.ConvBn2d, nn.Conv3d: nni.ConvBn3d}
WITH_BOTH: dict[type, Any] = {
    nn.Conv1d: nni.ConvBnReLU1d, nn.Conv2d: nni.ConvBnReLU2d, nn.Conv3d: nni.ConvBnReLU3d
}  # fmt: skip
WITH_RELU: dict[type, Any] = {nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d}


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """A convolution and a batch norm as one layer.

    Args:
        is_qat: whether they are to be trained on; one convolution does what both do otherwise.
        conv, bn: the layers.

    Raises:
        AssertionError: one of them is in training mode and the other is not; a batch norm of another size, without
            parameters or running statistics.
        NotImplementedError: there is no such layer.
    """
    check_modes("Conv and BN", conv, bn)
    if not is_qat:
        return fuse_conv_bn_eval(conv, bn)
    check_norm("Output channel of Conv2d must match num_features of BatchNorm2d.", "2d", conv.out_channels, bn)
    return made_of(WITH_NORM, "train", conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """A convolution, a batch norm and a ReLU as one layer.

    Args:
        is_qat: whether they are to be trained on; a convolution with a ReLU does what all do otherwise.
        conv, bn, relu: the layers.

    Raises:
        AssertionError, NotImplementedError: as ``fuse_conv_bn``.
    """
    check_modes("Conv and BN", conv, bn, relu)
    if is_qat:
        check_norm("Output channel of Conv2d must match num_features of BatchNorm2d", "2d", conv.out_channels, bn)
        return made_of(WITH_BOTH, "train", conv, bn, relu)
    if type(conv) not in WITH_RELU:
        raise NotImplementedError(f"Cannot fuse eval modules: {(conv, bn, relu)}")
    return WITH_RELU[type(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """A linear layer and a batch norm as one layer.

    Args:
        is_qat: whether they are to be trained on; one linear layer does what both do otherwise.
        linear, bn: the layers.

    Raises:
        AssertionError: as ``fuse_conv_bn``.
    """
    check_modes("Linear and BN", linear, bn)
    if not is_qat:
        return fuse_linear_bn_eval(linear, bn)
    check_norm("Output features of Linear must match num_features of BatchNorm1d", "1d", linear.out_features, bn)
    return nni.LinearBn1d(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """A transposed convolution that does what one and the batch norm after it do.

    Args:
        is_qat: must be false.
        convt, bn: the layers, in evaluation mode.

    Raises:
        AssertionError: one of them is in training mode.
        Exception: they are to be trained on.
    """
    check_modes("ConvTranspose and BN", convt, bn)
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def check_modes(names: str, *layers: Any) -> None:
    """Refuse layers of which some are in training mode, and some are not."""
    if len({layer.training for layer in layers}) > 1:
        raise AssertionError(f"{names} both must be in the same mode (train or eval).")


def check_norm(problem: str, dims: str, size: int, bn: Any) -> None:
    """Refuse batch norms that can't be one with the layer before."""
    if bn.num_features != size:
        raise AssertionError(problem)
    if not bn.affine:
        raise AssertionError(f"Only support fusing BatchNorm{dims} with affine set to True")
    if not bn.track_running_stats:
        raise AssertionError(f"Only support fusing BatchNorm{dims} with tracking_running_stats set to True")


def made_of(kinds: dict[type, Any], mode: str, *layers: Any) -> Any:
    """The layer that some are, by the class of the first one."""
    if type(layers[0]) not in kinds:
        raise NotImplementedError(f"Cannot fuse {mode} modules: {layers}")
    return kinds[type(layers[0])](*layers)


def in_a_row(kind: Any) -> Callable:
    """A function that makes a layer of two, whether they are to be trained on or not."""
    return lambda is_qat, first, second: kind(first, second)


METHODS: dict[tuple, Callable] = {
    (nn.Conv1d, nn.BatchNorm1d): fuse_conv_bn,
    (nn.Conv1d, nn.BatchNorm1d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn,
    (nn.Conv2d, nn.BatchNorm2d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv3d, nn.BatchNorm3d): fuse_conv_bn,
    (nn.Conv3d, nn.BatchNorm3d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv1d, nn.ReLU): in_a_row(nni.ConvReLU1d),
    (nn.Conv2d, nn.ReLU): in_a_row(nni.ConvReLU2d),
    (nn.Conv3d, nn.ReLU): in_a_row(nni.ConvReLU3d),
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): in_a_row(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): in_a_row(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): in_a_row(nni.BNReLU3d),
    (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
    (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
    (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
}


def get_fuser_method(op_list: tuple, additional_fuser_method_mapping: dict | None = None) -> Callable:
    """The function that makes one of layers of these classes: of whether it is to be trained on, and the layers.

    Args:
        op_list: the classes.
        additional_fuser_method_mapping: more functions, by classes.

    Raises:
        AssertionError: there is none.
    """
    found = {**METHODS, **(additional_fuser_method_mapping or {})}.get(op_list)
    if found is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return found
