"""Rules of gathers, scatters and slices whose places are numbers of the data."""

from __future__ import annotations
