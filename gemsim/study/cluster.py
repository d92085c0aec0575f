"""The workers of a Dask cluster as an executor: same batches, same rows, on other machines.

Each call is made by a child process of the Dask worker, under watch. So what crashes or hangs ends the child, is named,
and leaves the cluster as it was; a Dask worker that is lost has its batches given to others by the scheduler.
"""

from __future__ import annotations

import hashlib
import json
import logging
import pickle
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import gemsim
from gemsim.errors import GemsimError, printable, show
from gemsim.files import is_file, read_file
from gemsim.study.child import UNBEGUN
from gemsim.study.children import Lost

CONNECT_S = 20.0  # for the scheduler to answer
LARGEST_FILE = 1_000_000  # bytes of a scheduler file
COUNT_S = 2.0  # between two counts of the workers
T = TypeVar("T")


@contextmanager
def connected(address: str, *, say: Callable[[str], None]) -> Iterator[Callable[[int], Executor]]:
    """For `sweep(make_executor=...)`: executors over the cluster at `address`, or of that scheduler file.

    GemsimError if `distributed` is missing, the scheduler does not answer, or a worker has another gemsim or none.
    """
    with _quiet():
        client = _client(address)
        try:
            refuse_others(_gemsim_of_workers(client))
            if not client.nthreads():
                say(f"{address}: no worker has come yet; waiting for the first")
            yield lambda jobs: DaskExecutor(client)
        finally:
            client.close()


class DaskExecutor(Executor):
    """The workers of a Dask client, which stays open: `make_executor=lambda jobs: DaskExecutor(client)`.

    A call whose worker is lost is given to others by the scheduler, up to its `allowed-failures`; then it is Lost.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._inner = client.get_executor(pure=False, retries=0)
        self._counted, self._slots = -COUNT_S, 0

    @property
    def slots(self) -> int:
        """How many calls the cluster makes at once, as of a moment ago: workers come and go."""
        now = time.monotonic()
        if now - self._counted >= COUNT_S:
            try:
                self._slots = sum(self._client.nthreads().values())
            except Exception as error:
                raise _gone(self._client) from error
            self._counted = now
        return self._slots

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As Executor.submit. The call and its answer travel as bytes, so that a scheduler needs no gemsim."""
        outer: Future[T] = Future()
        try:
            payload = pickle.dumps((fn, args, kwargs), pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # it may not travel
            outer.set_exception(error)
            return outer
        inner = self._inner.submit(_caller(), payload, fingerprint())
        inner.add_done_callback(partial(self._answer, outer))
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what is submitted, or give it up: what a worker is at goes on there, to its end or its limit."""
        self._inner.shutdown(wait=wait and not cancel_futures)

    def _answer(self, outer: Future[Any], inner: Future[Any]) -> None:
        if inner.cancelled():
            outer.set_exception(_gone(self._client))
            return
        error = inner.exception()
        if error is not None:
            outer.set_exception(_told(error))
            return
        good, value = pickle.loads(inner.result())
        if good:
            outer.set_result(value)
        else:
            outer.set_exception(value)


def _caller() -> Callable[[bytes, Mapping[str, str]], bytes]:
    """The function that a Dask worker runs: it travels by value, as it must say itself that gemsim is missing there."""

    def call(payload: bytes, expected: Mapping[str, str]) -> bytes:
        import pickle
        import socket

        try:
            from gemsim.study.cluster import answer
        except ImportError as error:
            raise RuntimeError(f"{socket.gethostname()}: has no gemsim of this version ({error})") from None
        return answer(payload, expected, socket.gethostname(), pickle.HIGHEST_PROTOCOL)

    return call


def answer(payload: bytes, expected: Mapping[str, str], host: str, protocol: int) -> bytes:
    """Of a worker: make the call in `payload` if the code here is that of the caller; what came of it, as bytes."""
    try:
        refuse_others({host: fingerprint()}, expected)
        fn, args, kwargs = pickle.loads(payload)
        return pickle.dumps((True, fn(*args, **kwargs)), protocol)
    except Exception as error:
        return pickle.dumps((False, error), protocol)


@cache
def fingerprint() -> dict[str, str]:
    """What must be the same on all machines for rows to be the same bit for bit."""
    root = Path(gemsim.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    packages = {name: version(name) for name in ("numpy", "scipy", "simpy")}
    python = ".".join(platform.python_version_tuple()[:2])
    return {"gemsim": gemsim.__version__, "code": digest.hexdigest()[:12], "python": python, **packages}


def refuse_others(found: Mapping[str, Mapping[str, str] | None], expected: Mapping[str, str] | None = None) -> None:
    """Raise GemsimError where a worker (by its name) has another fingerprint than `expected` (else: ours), or None."""
    ours = fingerprint() if expected is None else expected
    for name, theirs in found.items():
        cure = "install the same version for all, as a shared environment does (docs/cluster.md)"
        if theirs is None:
            raise GemsimError(f"{name}: this Dask worker has no gemsim of this version; {cure}")
        other = [f"{what} {theirs.get(what)}, not {mine}" for what, mine in ours.items() if theirs.get(what) != mine]
        if other:
            said = ", ".join(other).replace("code", "the code of gemsim is")
            raise GemsimError(f"{name}: this Dask worker would not give the same rows: {said}; {cure}")


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise GemsimError(f"--dask needs `distributed` ({error}); pip install 'gemsim[cluster]'") from None
    by_file = address.endswith(".json") or "/" in address.partition("://")[2 if "://" in address else 0]
    where = _address_in(Path(address)) if by_file else address
    try:
        _refuse_no_address(where)
        return Client(where, timeout=CONNECT_S, set_as_default=False, name="gemsim")
    except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        hint = "give its address as it says it itself, such as tcp://10.0.0.1:8786, or its scheduler file"
        raise GemsimError(
            printable(f"{address or show(address)}: no Dask scheduler answers there ({why}); {hint}")
        ) from None


def _address_in(file: Path) -> str:
    """The address that a scheduler wrote into its file."""
    todo = "`dask scheduler --scheduler-file` writes one"
    if not is_file(file):
        raise GemsimError(printable(f"{file}: there is no such scheduler file; {todo}"))
    try:
        return str(json.loads(read_file(file, most=LARGEST_FILE))["address"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise GemsimError(printable(f"{file}: is no file of a scheduler ({type(error).__name__}); {todo}")) from None


def _refuse_no_address(address: str) -> None:
    """Raise ValueError for what can be no address: a client that is half made of one leaves a traceback behind."""
    from distributed.comm.addressing import resolve_address

    with suppress(OSError):  # a name that nobody knows is told when it is connected to
        resolve_address(address)


def _gemsim_of_workers(client: Any) -> dict[str, Mapping[str, str] | None]:
    """The fingerprint of each worker that is there; None where it has no such module."""

    def ask() -> dict[str, str] | None:
        try:
            from gemsim.study.cluster import fingerprint
        except ImportError:
            return None
        return fingerprint()

    found: dict[str, Mapping[str, str] | None] = client.run(ask)
    return found


def _told(error: BaseException) -> BaseException:
    """What Dask says, in our words."""
    if type(error).__name__ == "KilledWorker":
        return Lost("several Dask workers were lost while they ran it", UNBEGUN)
    if isinstance(error, RuntimeError) and "has no gemsim" in str(error):
        return GemsimError(f"a Dask worker cannot take part: {error}")
    return error


def _gone(client: Any) -> GemsimError:
    where = client.scheduler.address if client.scheduler else "where it was"
    return GemsimError(f"the Dask scheduler is gone, or dropped the work ({where}); the same command again goes on")


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask logs each try to connect and each worker that is lost; the one error says it all."""
    with suppress(ImportError):
        import distributed  # noqa: F401 - its import sets the levels of some of its loggers
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
