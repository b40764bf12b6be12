"""The page of operators, and what it says of complex numbers."""

import subprocess
import sys

from tapegrad.ops.operator import TABLE
from tapegrad.ops.page import families, page


def test_every_operator_is_on_the_page():
    rows = [row for _, members in families() for row in members]
    assert sorted(row.operator.partition("(")[0] for row in rows) == sorted(TABLE)
    assert f"{len(TABLE)} operators" in page()


def test_it_is_printed():
    command = [sys.executable, "-m", "tapegrad.ops", "--markdown"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "| `mul(x, y)` | elementwise | `x: y; y: x` | `x, y` | elementwise kind | yes | MulBackward0 |" in printed
    assert printed.count("\n## ") + printed.startswith("## ") == len(list(families()))
