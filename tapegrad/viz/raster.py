"""Pictures of pixels: an SVG as PNG, and arrays as PNG."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from tapegrad.errors import message


def png_of(svg: str, scale: float = 1.0) -> bytes:
    """An SVG as a PNG file, by resvg, with the fonts that matplotlib brings along: a machine may have none.
    Raises ModuleNotFoundError: one of them isn't there.
    """
    try:
        import matplotlib
        from resvg_py import svg_to_bytes
    except ImportError as error:
        hint = "pip install 'tapegrad[viz]', or save SVG, HTML or DOT"
        raise ModuleNotFoundError(message(f"a PNG wants {error.name}, which is not installed", hint=hint)) from None
    fonts = str(Path(matplotlib.get_data_path()) / "fonts" / "ttf")
    return bytes(svg_to_bytes(svg_string=svg, zoom=scale, font_dirs=[fonts], monospace_family="DejaVu Sans Mono"))


def png_from(pixels: np.ndarray) -> bytes:
    """Bytes of shape (height, width) or (height, width, 3) as a PNG file.

    >>> png_from(np.zeros((2, 3), np.uint8))[:4]
    b'\\x89PNG'
    """
    height, width, *colours = pixels.shape
    rows = pixels.reshape(height, -1)
    data = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()  # each row says: not filtered
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if colours else 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(data)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
