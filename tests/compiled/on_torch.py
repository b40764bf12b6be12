"""``tapegrad`` means PyTorch: whether the programs of the table are such that PyTorch runs them is shown by it."""

import importlib
import sys
import types


def mean_pytorch() -> None:
    """Have imports of tapegrad find PyTorch from here on; before tapegrad is imported."""
    for name in ("nn", "func", "library", "utils.data", "utils.checkpoint", "distributions"):
        importlib.import_module(f"torch.{name}")
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch":
            sys.modules[f"tapegrad{name[5:]}"] = module
    sys.modules["tapegrad.errors"] = types.SimpleNamespace(warn_once=types.SimpleNamespace(given=set()))  # type: ignore
