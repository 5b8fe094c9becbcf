# `make demo` shows what this is; `make test` checks all of it. Both need Python 3.11 and nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test mutants setup lint clean

demo: $(VENV)/.package
	$(BIN)/rle study demo --out runs/demo
	$(BIN)/rle report runs/demo

test: setup lint
	$(BIN)/python -m pytest -m "not slow"

# Half an hour on one core: do the tests notice small mistakes in the source? See docs/testing.md.
mutants: setup
	nice $(BIN)/python -m tools.mutants

setup: $(VENV)/.tests

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.package: $(VENV)/.venv pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

$(VENV)/.tests: $(VENV)/.venv pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/.package

clean:
	rm -rf $(VENV) runs build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
