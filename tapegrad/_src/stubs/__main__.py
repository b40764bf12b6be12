"""``python -m tapegrad._src.stubs`` writes the ``.pyi`` files anew."""

from pathlib import Path

from tapegrad._src.stubs.writing import FILES, written

if __name__ == "__main__":
    for file in FILES:
        (Path(__file__).parents[2] / f"{file}.pyi").write_text(written(file))
