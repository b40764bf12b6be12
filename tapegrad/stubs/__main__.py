"""``python -m tapegrad.stubs`` writes the ``.pyi`` files anew."""

from pathlib import Path

from tapegrad.stubs.writing import FILES, written

if __name__ == "__main__":
    for file in FILES:
        (Path(__file__).parents[1] / f"{file}.pyi").write_text(written(file))
