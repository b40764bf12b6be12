"""Rules of random numbers."""

from __future__ import annotations
