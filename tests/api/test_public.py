"""What `import gemsim as gs` gives stays as it is: names, signatures, examples, and an import that costs nothing."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys

import pytest

import gemsim as gs

SIGNATURES = {
    "compare": "(designs, reference=None, *, column='ettr')",
    "fit_log": "(log, *, nodes=None, window=None, gpus_per_node=None, replications=200, seed=0)",
    "load_profile": "(name)",
    "load_results": "(folder)",
    "load_study": "(path, quick=False)",
    "predict": "(study, *, screen=False, jobs=1)",
    "recommend": ("(study, *, out=None, jobs=None, replications=None, seed=None, confirm=None, quiet=False)"),
    "simulate": "(study, *, replications=None, seed=None, jobs=1)",
    "sweep": (
        "(study, *, out=None, jobs=None, replications=None, seed=None, limit=None, fail_fast=False, dask=None,"
        " executor=None, quiet=False)"
    ),
}
ATTRIBUTES = {
    "FittedLog": "answer classes failures found gpus_per_node holds section source",
    "GemsimError": "add_note args with_traceback",
    "Profile": "copy_bandwidth cost found kind name points provenance samples",
    "Recommendation": "answer break_even choice confirmed data folder found front measure_next study",
    "Results": "answer best costs failed folder found replications report rows seed study summary",
    "Study": "loaded path point points quick replications seed set text title with_",
}
METHODS = {
    "Profile.cost": "(self, *, k, m, bytes, lost=0)",
    "Study.point": "(self, *choice, index=None)",
    "Study.set": "(self, path, value)",
    "Study.with_": "(self, changes=None, /, **more)",
}
MODULES = [
    f"gemsim.api.{name}" for name in ("compare", "fitted", "profile", "recommendation", "results", "run", "study")
]


def _signature(found: object) -> str:
    """Without annotations, which mypy holds."""
    assert callable(found)
    signature = inspect.signature(found)
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def test_the_names_are_frozen() -> None:
    assert sorted(gs.__all__) == sorted([*SIGNATURES, *ATTRIBUTES, "__version__"])
    assert set(gs.__all__) <= set(dir(gs))


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_signature_is_frozen(name: str) -> None:
    assert _signature(getattr(gs, name)) == SIGNATURES[name]


@pytest.mark.parametrize("name", METHODS)
def test_the_signature_of_a_method_is_frozen(name: str) -> None:
    owner, method = name.split(".")
    assert _signature(getattr(getattr(gs, owner), method)) == METHODS[name]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_what_a_class_has_is_frozen(name: str) -> None:
    found = getattr(gs, name)
    fields = getattr(found, "__dataclass_fields__", {})
    assert sorted({one for one in (*dir(found), *fields) if not one.startswith("_")}) == ATTRIBUTES[name].split()


@pytest.mark.parametrize("name", [*SIGNATURES, *ATTRIBUTES])
def test_a_name_is_documented(name: str) -> None:
    assert len(inspect.getdoc(getattr(gs, name)) or "") > 40


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'swep'; it has .*sweep"):
        _ = gs.swep  # type: ignore[attr-defined]


def test_importing_brings_nothing_with_it() -> None:
    heavy = ("pandas", "numpy", "pydantic", "gemsim.api", "gemsim.errors", "typing")
    code = (
        f"import sys; sys.modules.pop('typing', None); import gemsim; print([m for m in {heavy} if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
                           env={"PYTHONPATH": ":".join(sys.path)})  # fmt: skip
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_hold(name: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def test_each_function_has_an_example_that_runs() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    tried = {name for name in SIGNATURES if finder.find(getattr(gs, name))[0].examples}
    assert set(SIGNATURES) - tried == {"load_results", "fit_log"}  # docs/python.md has theirs
