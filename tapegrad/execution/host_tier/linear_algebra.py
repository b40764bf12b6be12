"""Rules of factorizations and solutions of linear systems."""

from __future__ import annotations
