"""The committed notebooks: run from top to bottom, without errors, and nothing in them tells where they ran."""

import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.once("notebooks run in processes of their own")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def cells(path):
    return json.loads(path.read_text())["cells"]


def test_there_are_notebooks_and_the_readme_knows_them():
    assert [path.stem[:2] for path in NOTEBOOKS] == [f"{number:02}" for number in range(1, 13)]
    readme = (NOTEBOOKS[0].parent.parent / "README.md").read_text()
    assert not [path.name for path in NOTEBOOKS if f"(notebooks/{path.name})" not in readme]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_with_outputs_of_one_run_from_the_top(path):
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert len(outputs) > len(code) / 3
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_small_and_without_paths_of_a_machine(path):
    text = path.read_text()
    assert len(text) < 400_000
    assert not re.search(r"/(home|root|tmp|usr|Users)/|[A-Z]:\\\\", text)
