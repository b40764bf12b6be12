"""Lets tensors be asked for pictures. It is imported with the package, and imports the rest when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.tape.showing import page_writer, shown_in_html
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.viz import __getattr__ as part


@public("Tensor")
def graph(
    self: Tensor, names: Mapping[str, Tensor] | None = None, *, inputs: Any = None, title: str | None = None,
    fold: bool = True, most: int = 1000,
) -> Any:  # fmt: skip
    """The picture of this tensor's graph; see ``torch.viz.graph``.

    Args:
        names, inputs, title, fold, most: as there.

    >>> w = torch.ones(3, requires_grad=True)
    >>> "MulBackward0" in (w * 2).sum().graph({"w": w}).svg()
    True
    """
    return part("graph")(self, names, inputs=inputs, title=title, fold=fold, most=most)


def write_page(shown: Any) -> str:
    """Write what an object looks like in a notebook."""
    return part("page_of")(shown)


public("Tensor", name="_repr_html_")(shown_in_html)
page_writer.fill(write_page)
