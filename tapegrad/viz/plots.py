"""Pictures of the elements of a tensor: a histogram, or an image."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tapegrad._src.execution.array_functions.host import is_traced, to_host
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.errors import message
from tapegrad.viz.describing import short
from tapegrad.viz.raster import png_from

WIDTH, HEIGHT, RIM = 360, 120, 24


class ElementsPicture:
    """A picture that shows itself in notebooks.

    Attributes:
        caption: what it is of.
        content: an SVG, or the bytes of a PNG file.
    """

    def __init__(self, caption: str, content: str | bytes) -> None:
        self.caption, self.content = caption, content

    def _repr_html_(self) -> str:
        if isinstance(self.content, str):
            return f"<div>{escape(self.caption)}</div>{self.content}"
        data = b64encode(self.content).decode()
        style = "image-rendering: pixelated; min-width: 128px"
        return f'<div>{escape(self.caption)}</div><img style="{style}" src="data:image/png;base64,{data}">'

    def save(self, path: str | Path) -> Path:
        """Write it to a file: ``.svg`` of a histogram, ``.png`` of an image. Raises ValueError: another suffix."""
        path, suffix = Path(path), ".svg" if isinstance(self.content, str) else ".png"
        if path.suffix.lower() != suffix:
            raise ValueError(message("save(): what kind of file?", expected=suffix, got=repr(path.suffix)))
        path.write_bytes(self.content.encode() if isinstance(self.content, str) else self.content)
        return path

    def __repr__(self) -> str:
        return f"<picture: {self.caption}>"


def numbers_of(tensor: Any, function: str) -> np.ndarray:
    """The elements as real numbers; of complex ones their size.
    Raises TypeError: no tensor. ValueError: it has no elements that could be read.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(message(f"{function}()", expected="a tensor", got=type(tensor).__name__))
    value = value_of(tensor)
    if isinstance(value, Opaque) or is_traced(value):
        raise ValueError(f"{function}(): the tensor has no elements yet: it is inside a transform, or on meta")
    array = to_host(value)
    return np.abs(array) if np.iscomplexobj(array) else array.astype(np.float64)


def histogram(tensor: Any, bins: int = 40) -> ElementsPicture:
    """Draw how the elements are distributed; what is not finite is counted beside it.

    Args:
        tensor: of any shape; of complex elements the size is taken.
        bins: how many bars there are.

    Raises:
        TypeError: no tensor.
        ValueError: no elements to be read, or no bars.

    >>> torch.viz.histogram(torch.tensor([1.0, 2.0, 2.0]))
    <picture: f32[3], 1 to 2>
    """
    numbers = numbers_of(tensor, "histogram")
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(message("histogram(): bins", expected="1 or more", got=repr(bins)))
    finite = numbers[np.isfinite(numbers)]
    others = f", {numbers.size - finite.size} not finite" if finite.size < numbers.size else ""
    if not finite.size:
        return ElementsPicture(f"{short(tensor)}, no finite element{others}", bars(np.zeros(1), 0.0, 0.0))
    counts, edges = np.histogram(finite, bins)
    span = f"{finite.min():.4g} to {finite.max():.4g}"
    return ElementsPicture(f"{short(tensor)}, {span}{others}", bars(counts, edges[0], edges[-1]))


def bars(counts: np.ndarray, least: float, greatest: float) -> str:
    """A histogram as SVG."""
    wide, high = WIDTH / len(counts), HEIGHT / max(counts.max(), 1)
    drawn = "".join(
        f'<rect x="{RIM + place * wide:.1f}" y="{RIM + HEIGHT - count * high:.1f}" width="{wide:.1f}" '
        f'height="{count * high:.1f}" fill="#6d9eeb" stroke="white"><title>{int(count)}</title></rect>'
        for place, count in enumerate(counts)
    )
    text = 'font-family="monospace" font-size="11" fill="#52606d"'
    below = RIM + HEIGHT + 14
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 2 * RIM}" height="{HEIGHT + 2 * RIM}">{drawn}'
        f'<text x="{RIM}" y="{below}" {text}>{least:.4g}</text>'
        f'<text x="{WIDTH + RIM}" y="{below}" text-anchor="end" {text}>{greatest:.4g}</text></svg>'
    )


def image(tensor: Any) -> ElementsPicture:
    """The elements as pixels: from black, the least, to white, the greatest. What is not finite is black.

    Args:
        tensor: of shape (height, width), or with three colours as (3, height, width) or (height, width, 3).

    Raises:
        TypeError: no tensor.
        ValueError: another shape, or no elements to be read.

    >>> torch.viz.image(torch.eye(8))
    <picture: f32[8, 8], 0 to 1>
    """
    numbers = numbers_of(tensor, "image")
    pixels = np.squeeze(numbers, 0) if numbers.ndim == 3 and numbers.shape[0] == 1 else numbers
    if pixels.ndim == 3 and pixels.shape[0] == 3:
        pixels = np.moveaxis(pixels, 0, -1)
    if not pixels.size or pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[-1] != 3):
        expected = "(height, width), (3, height, width) or (height, width, 3)"
        raise ValueError(message("image(): the shape", expected=expected, got=tuple(tensor.shape)))
    finite = pixels[np.isfinite(pixels)]
    least, greatest = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    scaled = (np.where(np.isfinite(pixels), pixels, least) - least) * (255 / ((greatest - least) or 1.0))
    return ElementsPicture(f"{short(tensor)}, {least:.4g} to {greatest:.4g}", png_from(scaled.round().astype(np.uint8)))
