"""Planted faults: see README.md here. A law check counts only when a planted fault makes it reject."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from tests import statcheck


@contextmanager
def replaced(target: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """A fault: while it lasts, `module:name` or `module:Class.name` is `make(original)`.

    Name the module that *uses* the function: one imported by name elsewhere is not reached.
    """
    module, _, path = target.partition(":")
    owner: Any = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    with patch.object(owner, name, make(getattr(owner, name))):
        yield


def must_reject(check: Callable[[], None], fault: AbstractContextManager[None]) -> None:
    """`check` passes as the code stands and is Rejected with the fault planted; an Underpowered check is an error.

    Only `statcheck.Rejected` and plain assertion failures count as a rejection: a crash under the fault does not.
    """
    with statcheck.unbooked():
        check()
        with fault:
            try:
                check()
            except AssertionError:
                return
    raise AssertionError("the check accepts the planted fault")
