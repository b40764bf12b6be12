"""The state of autocast: for modules, which must not refuse what it will cast."""

from tapegrad._src.tape.modes import thread


def _is_any_autocast_enabled() -> bool:
    """Tell whether arguments are cast now, on any type of device."""
    return bool(thread.modes.autocast)
