"""What `pip install` gives somebody: a wheel from tracked files alone, installed into an empty environment, which runs.

Needs the package index and about a minute, so `make wheel-check` runs it apart from `make test`.
"""

from __future__ import annotations

import email
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from gemsim.cli.example import names

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.wheel, pytest.mark.timeout(900)]

WATCHED_RUN = """
import json, os, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from gemsim.cli.main import main
code = main(sys.argv[1:])
import gemsim, gemsim_kernels
found = {
    "code": code, "path": sys.path, "opened": [os.path.realpath(name) for name in opened if not name.isdigit()],
    "packages": [gemsim.__file__, gemsim_kernels.__file__],
}
json.dump(found, open("told.json", "w"))
"""


def tracked() -> list[str]:
    """The files under version control, as they are here now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution of a clean checkout, and the wheel made from that distribution."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: what is tracked cannot be known")
    checkout, made = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in tracked():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, checkout / name)
    subprocess.run([sys.executable, "-m", "build", "--outdir", made, checkout], check=True, env=bare())
    return made


def bare(**more: str) -> dict[str, str]:
    """The environment without what points to this checkout."""
    ours = {"VIRTUAL_ENV", "GEMSIM_TRACES", "GEMSIM_BROWSER"}
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON") and key not in ours}
    return {**kept, **more}


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("gemsim-*-py3-none-any.whl")
    return found


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel and what it requires, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, env=bare())
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True, env=bare())
    return python


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """An empty folder to work in, beside an empty home."""
    (tmp_path / "home").mkdir()
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def called(command: list[str | Path], away: Path) -> subprocess.CompletedProcess[str]:
    """A command in the empty folder, as a new user would call it."""
    env = {"PATH": f"{Path(command[0]).parent}:/usr/bin:/bin", "HOME": str(away.parent / "home"), "LANG": "C.UTF-8"}
    return subprocess.run(command, cwd=away, env=env, capture_output=True, text=True, check=False)


def test_the_example_runs_in_an_empty_environment(installed: Path, away: Path) -> None:
    done = called([installed.parent / "gemsim", "sweep", "--example", "widths", "--quick"], away)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Which stripe width")
    assert "ETTR, 95 %" in done.stdout
    out = away / "out" / "widths-quick"
    assert len((out / "summary.csv").read_text().splitlines()) > 10
    assert [path.name for path in away.iterdir()] == ["out"]


def test_nothing_of_the_checkout_is_used(installed: Path, away: Path) -> None:
    done = called(
        [installed, "-c", WATCHED_RUN, "sweep", "--example", "widths", "--quick", "--replications", "1"], away
    )
    assert done.returncode == 0, done.stderr
    told = json.loads((away / "told.json").read_text())
    assert told["code"] == 0
    environment = str(installed.parents[1])
    assert all(name.startswith(environment) for name in told["packages"])
    for name in (*told["path"], *told["opened"]):
        assert name != str(ROOT)
        assert not name.startswith((f"{ROOT}{os.sep}gemsim", f"{ROOT}{os.sep}kernels", f"{ROOT}{os.sep}studies"))
    assert any("_data/studies/widths.yaml" in name for name in told["opened"])


def test_other_commands_find_what_they_ship(installed: Path, away: Path) -> None:
    gemsim = installed.parent / "gemsim"
    for words in (["systems"], ["check", "--example", "systems/gemini"], ["calibrate", "--check", "nvidia-h100"]):
        done = called([gemsim, *words], away)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    version = called([gemsim, "--version"], away).stdout.split()[1]
    assert version == _metadata_version()
    assert list(away.iterdir()) == []


def _metadata_version() -> str:
    text = (ROOT / "gemsim" / "__init__.py").read_text()
    return text.partition('__version__ = "')[2].partition('"')[0]


def test_the_wheel_holds_the_packages_and_their_data_alone(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = [name for name in tracked() if name.startswith("gemsim/")]
    wanted += [name.removeprefix("kernels/") for name in tracked() if name.startswith("kernels/gemsim_kernels/")]
    for folder, of in (
        ("studies", "studies"),
        ("calibration/profiles", "profiles"),
        ("calibration/published", "published"),
    ):
        files = [name for name in tracked() if name.startswith(f"{folder}/")]
        wanted += [f"gemsim/_data/{of}/{name.removeprefix(f'{folder}/')}" for name in files]
    assert {name for name in held if ".dist-info/" not in name} == set(wanted)
    assert {"gemsim/py.typed", "gemsim_kernels/py.typed"} <= held
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in held)
    assert wheel.stat().st_size < 3e6


def test_the_source_distribution_holds_what_is_tracked(dist: Path) -> None:
    (archive,) = dist.glob("gemsim-*.tar.gz")
    with tarfile.open(archive) as file:
        held = {name.partition("/")[2] for name in file.getnames()}
    lacking = {name for name in tracked() if not name.startswith(".")} - held
    strange = held - set(tracked()) - {"PKG-INFO", ".gitignore"}
    assert lacking == set()
    assert strange == set()


def metadata(wheel: Path) -> Message:
    archive = zipfile.ZipFile(wheel)
    name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(archive.read(name))


def test_the_metadata_say_what_pyproject_says(wheel: Path) -> None:
    told, project = metadata(wheel), tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert told["Name"] == "gemsim"
    assert told["Version"] == _metadata_version()
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == project["requires-python"]
    assert told.get_all("Classifier") == project["classifiers"]
    assert set(told.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
    required = [one for one in told.get_all("Requires-Dist", []) if "extra ==" not in one]
    assert len(required) == len(project["dependencies"])


def test_the_metadata_name_no_place_of_a_machine(wheel: Path) -> None:
    told = metadata(wheel)
    told.set_payload("")
    for word in ("localhost", "127.0.0.1", "file:", str(ROOT), str(Path.home())):
        assert word not in told.as_string()


def test_every_example_has_a_name() -> None:
    assert {"widths", "gem", "systems/gemini", "recommend"} <= set(names())
