"""``torch.export``: programs of modules, as StableHLO with the weights apart, that jax alone can run.

>>> ep = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),))
>>> print(ep.graph_signature)
<BLANKLINE>
# inputs
p_weight: PARAMETER target='weight'
p_bias: PARAMETER target='bias'
input: USER_INPUT
<BLANKLINE>
# outputs
linear: USER_OUTPUT
<BLANKLINE>
"""

from tapegrad._src.absent import refused, refusing
from tapegrad.export.dimensions import Dim, dims
from tapegrad.export.dynamic_shapes import AdditionalInputs, ShapesCollection
from tapegrad.export.exported_program import (
    CustomDecompTable,
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    default_decompositions,
)
from tapegrad.export.exporting import draft_export, export
from tapegrad.export.graph_signature import ExportBackwardSignature, ExportGraphSignature
from tapegrad.export.saving import load, save
from tapegrad.utils._pytree import register_dataclass

__getattr__ = refusing(__name__)
__all__ = [
    "AdditionalInputs", "CustomDecompTable", "Dim", "ExportBackwardSignature", "ExportGraphSignature",
    "ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection", "default_decompositions", "dims",
    "draft_export", "export", "load", "register_dataclass", "save", "unflatten",
]  # fmt: skip

unflatten = refused("torch.export.unflatten", "a program is flat; ep.module() runs it, with weights in their places")
