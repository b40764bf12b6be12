"""Pictures and explanations of tapes, and what tensors, modules and reports look like in notebooks.

>>> w = torch.ones(3, requires_grad=True)
>>> picture = torch.viz.graph((w * 2).sum(), {"w": w})
>>> "MulBackward0" in picture.svg()
True
"""

from tapegrad.declaring import on_demand

__getattr__, __dir__ = on_demand(
    __name__,
    TapeGraph="tapegrad.viz.tape_graph",
    diff="tapegrad.viz.explanations.differences",
    explain="tapegrad.viz.explanations.costs",
    explain_nan="tapegrad.viz.explanations.nonfinite",
    graph="tapegrad.viz.tape_graph",
    histogram="tapegrad.viz.plots",
    image="tapegrad.viz.plots",
    page_of="tapegrad.viz.pages",
    record="tapegrad.viz.recording",
    saved="tapegrad.viz.explanations.keeping",
    walk="tapegrad.viz.explanations.walking",
    watch="tapegrad.viz.explanations.watching",
    who_holds="tapegrad.viz.explanations.keeping",
    why_no_grad="tapegrad.viz.explanations.missing",
    why_none="tapegrad.viz.explanations.missing",
)
del on_demand
__all__ = [
    "TapeGraph", "diff", "explain", "explain_nan", "graph", "histogram", "image", "page_of", "record", "saved", "walk",
    "watch", "who_holds", "why_no_grad", "why_none",
]  # fmt: skip
