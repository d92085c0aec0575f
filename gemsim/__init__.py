"""gemsim: how to protect the state of a large training job, judged by simulation with the closed form beside it.

`import gemsim as gs` gives what a program or a notebook needs (docs/python.md). A name is imported when it is first
used, so that importing gemsim costs nothing.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"
TYPE_CHECKING = False  # true for a type checker; typing itself would be the dearest part of this import

if TYPE_CHECKING:
    from gemsim.api.compare import compare
    from gemsim.api.fitted import FittedLog, fit_log
    from gemsim.api.profile import Profile, load_profile
    from gemsim.api.recommendation import Recommendation, recommend
    from gemsim.api.results import Results, load_results
    from gemsim.api.run import predict, simulate, sweep
    from gemsim.api.study import Study, load_study
    from gemsim.errors import GemsimError

_WHERE = {  # name to the module that has it
    "FittedLog": "gemsim.api.fitted",
    "GemsimError": "gemsim.errors",
    "Profile": "gemsim.api.profile",
    "Recommendation": "gemsim.api.recommendation",
    "Results": "gemsim.api.results",
    "Study": "gemsim.api.study",
    "compare": "gemsim.api.compare",
    "fit_log": "gemsim.api.fitted",
    "load_profile": "gemsim.api.profile",
    "load_results": "gemsim.api.results",
    "load_study": "gemsim.api.study",
    "predict": "gemsim.api.run",
    "recommend": "gemsim.api.recommendation",
    "simulate": "gemsim.api.run",
    "sweep": "gemsim.api.run",
}

__all__ = [
    "FittedLog",
    "GemsimError",
    "Profile",
    "Recommendation",
    "Results",
    "Study",
    "__version__",
    "compare",
    "fit_log",
    "load_profile",
    "load_results",
    "load_study",
    "predict",
    "recommend",
    "simulate",
    "sweep",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would take it that every name exists

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for (PEP 562)."""
        if name not in _WHERE:
            raise AttributeError(f"module 'gemsim' has no attribute {name!r}; it has {', '.join(_WHERE)}")
        found = getattr(importlib.import_module(_WHERE[name]), name)
        globals()[name] = found
        return found
