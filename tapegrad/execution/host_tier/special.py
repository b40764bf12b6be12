"""Rules of special functions."""

from __future__ import annotations
