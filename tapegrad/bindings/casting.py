"""Whether autocast is on: for modules, which must not refuse what it will cast."""

from tapegrad.tape.modes import thread


def _is_any_autocast_enabled() -> bool:
    """Whether arguments are cast now, on any type of device."""
    return bool(thread.modes.autocast)
