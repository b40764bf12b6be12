"""Pictures of tapes, and what tensors, modules and reports look like in notebooks.

>>> import tapegrad as torch
>>> w = torch.ones(3, requires_grad=True)
>>> picture = torch.viz.graph((w * 2).sum(), {"w": w})
>>> "MulBackward0" in picture.svg()
True
"""

from tapegrad.declaring import on_demand

__getattr__, __dir__ = on_demand(
    __name__,
    TapeGraph="tapegrad.viz.tape_graph",
    graph="tapegrad.viz.tape_graph",
    histogram="tapegrad.viz.plots",
    image="tapegrad.viz.plots",
    page_of="tapegrad.viz.pages",
    record="tapegrad.viz.recording",
)
del on_demand
__all__ = ["TapeGraph", "graph", "histogram", "image", "page_of", "record"]
