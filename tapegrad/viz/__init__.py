"""Pictures and explanations of tapes, and what tensors, modules and reports look like in notebooks.

>>> w = torch.ones(3, requires_grad=True)
>>> picture = torch.viz.graph((w * 2).sum(), {"w": w})
>>> "MulBackward0" in picture.svg()
True
"""

from tapegrad._src.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, {
    "tapegrad.viz.explanations.costs": "explain",
    "tapegrad.viz.explanations.differences": "diff",
    "tapegrad.viz.explanations.keeping": "saved who_holds",
    "tapegrad.viz.explanations.missing": "why_no_grad why_none",
    "tapegrad.viz.explanations.nonfinite": "explain_nan",
    "tapegrad.viz.explanations.walking": "walk",
    "tapegrad.viz.explanations.watching": "watch",
    "tapegrad.viz.pages": "page_of",
    "tapegrad.viz.plots": "histogram image",
    "tapegrad.viz.recording": "record",
    "tapegrad.viz.tape_graph": "TapeGraph graph",
})
del on_demand
__all__ = [
    "TapeGraph", "diff", "explain", "explain_nan", "graph", "histogram", "image", "page_of", "record", "saved", "walk",
    "watch", "who_holds", "why_no_grad", "why_none",
]  # fmt: skip
