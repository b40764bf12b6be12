"""Imported first, it makes ``tapegrad`` mean PyTorch: whether these are programs that PyTorch runs is shown by it."""

import importlib
import sys
import types

for name in ("nn", "func", "library", "utils.data", "utils.checkpoint", "distributions"):
    importlib.import_module(f"torch.{name}")
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] == "torch":
        sys.modules[f"tapegrad{name[5:]}"] = module
sys.modules["tapegrad.errors"] = types.SimpleNamespace(warn_once=types.SimpleNamespace(given=set()))  # type: ignore
