"""PyTorch's vocabulary over the operators of the table: ``dim``, defaults, checks, composites, in-place twins, methods."""

import importlib  # TEMPORARY while the families are being written

for _name in (
    "unary", "pointwise", "selection", "comparison", "activation", "reduction", "norms", "softmax", "scans", "sorting", "shape", "slicing", "arrangement", "joining", "indexing", "creation",
    "random", "conversion", "subclass", "matmul", "loss", "convolution", "normalization", "inplace",
):
    try:
        importlib.import_module(f"tapegrad.functions.{_name}")
    except ModuleNotFoundError as _error:
        if not str(_error).endswith(f"functions.{_name}'"): print("BROKEN", _name, _error)
    except Exception as _error:
        print("BROKEN:", _name, type(_error).__name__, _error)
