# make run [STUDY=studies/widths.yaml]   install into .venv and sweep a study in its quick form
# make test                              install the test tools too, then lint, types, import rules and the suite
# make test-long                         the same with the full sizes (up to an hour)
# make wheel-check                       build the wheel, install it into an empty environment and run it (index, a minute)
# make bench                             CPU seconds and ratios of the engine, the twin and the machinery of sweeps
# make gpu-check                         right bytes, speed and variants of the kernels on a GPU, in about 4 minutes;
#                                        PYTHON needs numpy, cupy and pytest, nothing of this project is installed
PYTHON ?= python3
STUDY ?= studies/widths.yaml
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test test-long wheel-check lint bench gpu-check clean

run: $(VENV)/.installed
	$(BIN)/gemsim sweep $(STUDY) --quick
	@echo "next: $(BIN)/gemsim check $(STUDY), or $(BIN)/gemsim sweep $(STUDY) for the full study"

test: lint
	$(BIN)/python -m pytest -n 2 -m "not long and not wheel"

test-long: lint
	$(BIN)/python -m pytest -n 2 --timeout 3000 -m "not wheel"

wheel-check: $(VENV)/.installed-tests
	$(BIN)/python -m pytest -n 0 -m wheel tests/wheel

lint: $(VENV)/.installed-tests
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/twin.py
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/analytic.py --structures

gpu-check:
	@$(PYTHON) -c 'import numpy' 2>/dev/null || \
	  { echo "$(PYTHON) has no numpy; name one that has numpy, cupy and pytest with make gpu-check PYTHON=..."; exit 1; }
	PYTHONPATH=kernels $(PYTHON) kernels/gpu_check.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gemsim needs Python 3.11 or later; name one with make PYTHON=...")'
	@echo "installing into $(VENV) (about half a minute)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-tests: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	touch $@
