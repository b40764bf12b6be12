"""What is packed, and what the files around the package promise."""

import re
import tomllib
from pathlib import Path

import pytest

import tapegrad

pytestmark = pytest.mark.once("reads files")

HERE = Path(__file__).parents[2]
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text())


def test_the_version_is_said_once():
    assert PROJECT["project"]["version"] == tapegrad.__version__ == tapegrad.version.__version__


def test_the_license_is_there_and_packed():
    assert PROJECT["project"]["license"] == "MIT"
    assert "MIT License" in (HERE / "LICENSE").read_text() and "the tapegrad authors" in (HERE / "LICENSE").read_text()
    packed = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all((HERE / name).exists() for name in packed)
    assert {"LICENSE", "CHANGELOG.md", "README.md", "tapegrad", "tests", "notebooks"} <= set(packed)
    assert {"ARCHITECTURE.md", "CONTRIBUTING.md"} <= set(packed)


def test_the_changelog_has_a_place_for_what_is_not_released():
    headings = re.findall(r"^## (.*)$", (HERE / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"


def test_the_extras_that_the_readme_names_are_there():
    named = set(re.findall(r"-e '\.\[(\w+)\]'", (HERE / "README.md").read_text()))
    assert {"demo", "test", "jupyter"} <= named <= PROJECT["project"]["optional-dependencies"].keys()


def test_links_lead_somewhere():
    for page in (*HERE.glob("*.md"), *(HERE / "tapegrad").rglob("README.md")):
        text = page.read_text()
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
            assert target.startswith("http") or (page.parent / target).exists(), target


def test_the_list_of_where_pytorch_is_inaccurate_names_tests_that_are_there():
    text = (HERE / "docs" / "from_pytorch.md").read_text().partition("## Where PyTorch itself is inaccurate")[2]
    rows = text.partition("\n## ")[0]
    named = re.findall(r"`([\w/]+\.py)` \|$", rows, re.MULTILINE)
    assert len(named) > 10 and all((HERE / "tests" / name).exists() for name in named)
