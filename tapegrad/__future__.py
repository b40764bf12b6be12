"""``torch.__future__``: how modules are converted and loaded.

Note [Ways to convert a parameter]
``Module.to`` and its like leave parameters the tensors that they are, and give them other data. ``overwrite`` makes new
parameters instead; ``swap`` exchanges all that a parameter is with what was made (``torch.utils.swap_tensors``), for
classes of tensors that can't be given other data.
"""

_settings = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Say whether converting a module makes new parameters: Note [Ways to convert a parameter]."""
    _settings["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Tell whether converting a module makes new parameters."""
    return _settings["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Say whether parameters are swapped when a module is converted or loaded."""
    _settings["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """Tell whether parameters are swapped when a module is converted or loaded."""
    return _settings["swap"]
