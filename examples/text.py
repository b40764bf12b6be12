"""The text that examples learn from: the repository's README."""

from pathlib import Path


def read(most=20_000):
    """Its beginning, without signs that are rare."""
    text = Path(__file__).resolve().parent.parent.joinpath("README.md").read_text(encoding="utf-8")[:most]
    return "".join(letter for letter in text if letter.isascii())
