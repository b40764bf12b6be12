"""An operator that PyTorch has not got is declared as ``CONTRIBUTING.md`` says, and has the forms that it says."""

import re
import shutil
import subprocess
import sys

import pytest
from sources import PACKAGE

from tapegrad._src.bindings.declaration.registry import public

pytestmark = pytest.mark.once("it runs in a process of its own, with another package")

GUIDE = (PACKAGE.parent / "CONTRIBUTING.md").read_text()

PROGRAM = """
import math
import tapegrad as torch

x = torch.tensor([0.5, -1.0], requires_grad=True)
y = torch.dawn(x)
y.sum().backward()
print([round(number, 4) for number in y.tolist()], [round(number, 4) for number in x.grad.tolist()])
target = torch.empty(2)
print(torch.dawn(x.detach(), out=target) is target, torch.equal(target, y))
z = x.detach().clone()
print(z.dawn_() is z, torch.equal(z, y), torch.equal(torch.dawn_(x.detach().clone()), y))
w = x * 1
print(w.dawn_().grad_fn is not None, w._version)
for call in (lambda: x.dawn_(), lambda: torch.dawn(x, out=target), lambda: torch.dawn([1.0])):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, str(error)[:60])
"""

SAYS = """\
[0.0387, -0.2532] [0.2212, 0.6321]
True True
True True True
True 1
RuntimeError a leaf Variable that requires grad is being used in an in-pl
RuntimeError dawn(): functions with out=... arguments don't support autom
TypeError dawn(): argument 'input' (position 1) must be Tensor, not li
"""


def snippets(text):
    """The declarations of the guide's operator."""
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    return [re.sub("(?m)^   ", "", block) for block in blocks if "dawn" in block]


@pytest.fixture
def package(tmp_path):
    """A copy of the package that has the operator."""
    copy = tmp_path / "tapegrad"
    shutil.copytree(PACKAGE, copy)
    operator, function = snippets(GUIDE)
    rooms = {path.parent.name: path for path in copy.rglob("activations.py")}
    for path, more in ((rooms["ops"], operator), (rooms["functions"], function)):
        path.write_text(f"{path.read_text()}\n\n{more}")
    return tmp_path


def test_the_guide_makes_an_operator_with_all_its_forms(package):
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=package, check=False)
    assert done.stderr == "" and done.stdout == SAYS


@pytest.mark.parametrize(("said", "unsaid"), [({}, "out= and in_place="), ({"out": True}, "in_place=")])
def test_a_method_of_our_own_says_which_forms_it_has(said, unsaid):
    def evening(input):
        return input

    says = f"public: evening has no signature.*without {unsaid}; in_place=True makes evening_"
    with pytest.raises(TypeError, match=says):
        public("torch", "Tensor", **said)(evening)
