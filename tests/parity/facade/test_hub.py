"""``torch.hub``, and what programs ask of ``torch.__config__`` and ``torch._utils``, beside PyTorch's."""

import hashlib
import io
import os
import pickle
import subprocess
import sys

import pytest
import torch.hub
from harness import attempt
from transcripts import MODULES, same_transcript

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed")]

HUBCONF = '''
"""Models for a test."""
from beside import factor

dependencies = ["math"]


def double(x, times=1):
    """Twice a number."""
    return factor * x * times


def _hidden():
    pass


constant = 3
'''


@pytest.fixture
def hub(tmp_path):
    """A folder that offers something, as it is, and in a cache; both libraries look there."""
    for folder in (tmp_path / "own", tmp_path / "owner_models_main", tmp_path / "pytorch_models_v1_x"):
        folder.mkdir()
        (folder / "hubconf.py").write_text(HUBCONF)
        (folder / "beside.py").write_text("factor = 2\n")
    needy = tmp_path / "needy"
    needy.mkdir()
    (needy / "hubconf.py").write_text("dependencies = ['math', 'surely_not_there', 'nor_this']\ndef f(): pass\n")
    before = [module.hub._hub_dir if module is torch else module.hub._chosen_dir for module in MODULES]
    for module in MODULES:
        module.hub.set_dir(tmp_path)
    yield tmp_path
    torch.hub._hub_dir, tapegrad.hub._chosen_dir = before


CALLS = [
    lambda torch, at: torch.hub.load(f"{at}/own", "double", 3, times=2, source="local"),
    lambda torch, at: torch.hub.load(f"{at}/own", "double", 3, source="LOCAL"),
    lambda torch, at: torch.hub.load("pytorch/models:v1/x", "double", 3, skip_validation=True),
    lambda torch, at: torch.hub.list("owner/models:main", trust_repo=True),
    lambda torch, at: torch.hub.help("owner/models:main", "double", trust_repo="check"),
    lambda torch, at: torch.hub.load(f"{at}/own", "nothing", source="local"),
    lambda torch, at: torch.hub.load(f"{at}/own", "constant", source="local"),
    lambda torch, at: torch.hub.load(f"{at}/own", 3, source="local"),
    lambda torch, at: torch.hub.load(f"{at}/needy", "f", source="local"),
    lambda torch, at: torch.hub.load(f"{at}/none", "f", source="local"),
    lambda torch, at: torch.hub.load(f"{at}/own", "double", 3, source="elsewhere"),
    lambda torch, at: torch.hub.get_dir(),
]


@pytest.mark.parametrize("call", CALLS)
def test_hub(hub, call, capsys):
    seen = []
    for module in MODULES:
        path = sys.path[:]
        got = attempt(lambda module=module: call(module, hub))
        assert sys.path == path
        seen.append((got, capsys.readouterr().err))
        sys.modules.pop("beside", None)
    assert seen[1] == seen[0]


@pytest.mark.parametrize("answer", ["y", "YES", "n", "", "perhaps"])
def test_who_is_trusted(hub, answer, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or answer)
    seen = [
        (attempt(lambda module=module: module.hub.list("owner/models:main", trust_repo=False)), capsys.readouterr().out)
        for module in MODULES
    ]
    assert seen[1] == seen[0] and asked[1] == asked[0]


def test_no_code_is_downloaded(hub):
    for more in ({}, {"force_reload": True}):
        with pytest.raises(RuntimeError, match=r"clone https://github.com/some/body, and load it by its folder"):
            tapegrad.hub.load("some/body:main", "model", **more)
    with pytest.raises(RuntimeError, match="owner/models is not downloaded again"):
        tapegrad.hub.list("owner/models", force_reload=True)


def test_the_folder_is_where_the_environment_says(monkeypatch):
    monkeypatch.setattr(tapegrad.hub, "_chosen_dir", None)
    monkeypatch.setattr(torch.hub, "_hub_dir", None)
    for name, place in (("XDG_CACHE_HOME", "/cache"), ("TORCH_HOME", "~/home"), ("TORCH_HUB", "old")):
        monkeypatch.setenv(name, place)
        same_transcript("torch.hub.get_dir()")


def test_a_hubconf_gets_tapegrad_as_torch(hub):
    (hub / "own" / "hubconf.py").write_text("import torch\ndef model(): return torch.nn.Linear(1, 1)\n")
    program = "import sys, tapegrad; net = tapegrad.hub.load(sys.argv[1], 'model', source='local')"
    program += "; assert isinstance(net, tapegrad.nn.Linear) and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program, hub / "own"], check=True)


# Files at an address --------------------------------------------------------------------------------------------------


@pytest.fixture
def published(tmp_path):
    """The address of a state whose name says what it hashes to, and a folder for downloads."""
    data = io.BytesIO()
    tapegrad.save({"weight": tapegrad.arange(3.0)}, data)
    name = f"net-{hashlib.sha256(data.getvalue()).hexdigest()[:8]}.pth"
    (tmp_path / name).write_bytes(data.getvalue())
    (tmp_path / "net-00000000.pth").write_bytes(data.getvalue())
    return f"file://{tmp_path}/{name}", tmp_path / "downloads"


def test_states_are_downloaded_once(published, capsys):
    address, folder = published
    for module in MODULES:
        place = folder / module.__name__
        for _ in range(2):
            state = module.hub.load_state_dict_from_url(address, place, check_hash=True, progress=False)
            assert state["weight"].tolist() == [0, 1, 2]
        assert os.listdir(place) == [os.path.basename(address)]
        assert capsys.readouterr().out == f'Downloading: "{address}" to {place}/{os.path.basename(address)}\n'
    assert os.stat(place / os.path.basename(address)).st_mode & 0o777 == 0o666 & ~tapegrad.hub._umask()
    assert tapegrad.hub.load_state_dict_from_url(address, folder, file_name="mine.pth", weights_only=True)
    assert (folder / "mine.pth").exists()


def test_another_file_than_the_name_says(published):
    address, folder = published
    wrong = address.rpartition("/")[0] + "/net-00000000.pth"
    load = [module.hub.load_state_dict_from_url for module in MODULES]
    seen = [attempt(lambda one=one: one(wrong, folder, check_hash=True, progress=False)) for one in load]
    assert seen[1] == seen[0] and seen[0][1] == "RuntimeError" and os.listdir(folder) == []
    seen = [
        attempt(lambda module=module: module.hub.download_url_to_file(f"{address}x", f"{folder}/x", progress=False))
        for module in MODULES
    ]
    assert seen[1] == seen[0] and os.listdir(folder) == []


# What else reports and old pickles ask for ----------------------------------------------------------------------------


def test_settings():
    text = tapegrad.__config__.show()
    assert f"tapegrad {tapegrad.__version__}" in text and "jaxlib" in text
    same_transcript("torch.serialization.DEFAULT_PROTOCOL")
    assert tapegrad.serialization.MAP_LOCATION
    assert not any(getattr(tapegrad.backends, name).is_available() for name in ("mkldnn", "mkl", "openmp"))
    mkldnn = tapegrad.backends.mkldnn
    with mkldnn.flags(enabled=False):
        assert not mkldnn.enabled
    assert mkldnn.enabled and mkldnn.set_flags(_deterministic=True) == (True, False, True, "none")
    assert mkldnn.deterministic and mkldnn.set_flags(_deterministic=False)[1]


def test_functions_that_pickles_name():
    names = tapegrad._utils.__all__
    assert all(hasattr(torch._utils, name) for name in names) and len(names) >= 9
    storage = tapegrad.TypedStorage(wrap_storage=tapegrad.arange(6.0).untyped_storage(), dtype=tapegrad.float32)
    assert tapegrad._utils._rebuild_tensor_v2(storage, 1, (2, 2), (2, 1), False, {}).tolist() == [[1, 2], [3, 4]]
    assert pickle.loads(pickle.dumps(tapegrad._utils._rebuild_tensor_v2)) is tapegrad._utils._rebuild_tensor_v2
