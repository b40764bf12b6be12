"""PyTorch's vocabulary over the operators of the table: ``dim``, defaults, checks, composites, in-place twins, methods."""

import importlib  # TEMPORARY while the families are being written
import pathlib

for _name in sorted(p.stem for p in pathlib.Path(__file__).parent.glob("*.py")):
    try:
        importlib.import_module(f"tapegrad.functions.{_name}")
    except Exception as _error:
        print("BROKEN:", _name, type(_error).__name__, _error)
