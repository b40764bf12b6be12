"""Rules of cumulative sums and their like, sorting and searching."""

from __future__ import annotations
