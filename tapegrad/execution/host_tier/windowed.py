"""Rules of convolutions and windows that slide."""

from __future__ import annotations
