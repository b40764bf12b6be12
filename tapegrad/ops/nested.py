"""Operators of nested tensors: those that stand in the graph for what becomes of their values."""

from __future__ import annotations

from tapegrad.ops.kinds import same_values


@same_values(node="NestedViewFromJaggedBackward0")
def nested_view_from_jagged(x):
    """The values that a nested tensor shows."""
    return x


@same_values(node="NestedGetValuesBackward0")
def nested_get_values(x):
    """The values of a nested tensor of the jagged layout, as a dense one."""
    return x


@same_values(node="ValuesBackwardAutogradNestedTensor0")
def nested_values(x):
    """The values of a nested tensor of the strided layout, as a dense one."""
    return x


@same_values(node="NestedTensorFromTensorListBackward0")
def nested_tensor_from_tensor_list(x):
    """The elements that a nested tensor of the strided layout is made of."""
    return x
