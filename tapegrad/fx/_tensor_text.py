"""Dtype and shape of what a node gives, as verbose code tells them: ``f32[2, 3]``."""

from __future__ import annotations

from typing import Any

ABBREVIATIONS = {
    "bfloat16": "bf16", "float64": "f64", "float32": "f32", "float16": "f16", "complex32": "c32", "complex64": "c64",
    "complex128": "c128", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "bool": "b8", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip


def annotation_of(node: Any, stride: bool, device: bool) -> str | None:
    """Dtype and shape of what a node gives, if a pass has noted them; and its strides and device.

    >>> node = torch.fx.Graph().placeholder("x")
    >>> node.meta["val"] = torch.ones(2, 3)
    >>> annotation_of(node, False, True)
    'f32[2, 3]cpu'
    """
    noted: Any = next((node.meta[key] for key in ("val", "tensor_meta", "example_value") if key in node.meta), None)
    if not (hasattr(noted, "shape") and hasattr(noted, "dtype")):
        return None
    text = ABBREVIATIONS.get(str(noted.dtype).rpartition(".")[2], str(noted.dtype)) + str(list(noted.shape))
    if stride:
        text += str(list(noted.stride() if callable(noted.stride) else noted.stride))
    return text + (str(noted.device) if device and hasattr(noted, "device") else "")
