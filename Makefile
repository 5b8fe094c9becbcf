# `make demo` shows what this is; `make test` checks all of it. Both need Python 3.11 to 3.13 and nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# What `make test` runs, each a target of its own: mypy needs one core only, so it runs beside the tests.
PARTS := lint format types tests

.PHONY: demo help test $(PARTS) docs build check-build mutants torture setup clean

demo: $(VENV)/.package ## train all strategies on FourRoom and write a report
	$(BIN)/rle study demo --out runs/demo
	$(BIN)/rle report runs/demo

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' $(firstword $(MAKEFILE_LIST)) | while read -r name what; do printf '%-12s %s\n' "$$name" "$$what"; done

test: setup ## all checks: lint, format, types, tests (which build the docs); the last line says which failed
	@mkdir -p build; failed=; \
	$(MAKE) --no-print-directory types > build/types.log 2>&1 & types=$$!; \
	for part in lint format tests; do \
		echo "== $$part"; $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; \
	wait $$types || failed="$$failed types"; echo "== types"; cat build/types.log; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed"; exit 1; fi; \
	echo "PASSED: $(PARTS)"

lint: setup ## ruff's rules
	$(BIN)/ruff check .

format: setup ## is the code formatted? (`ruff format .` formats it)
	$(BIN)/ruff format --check .

types: setup ## mypy, strict
	$(BIN)/mypy

docs: setup ## the documentation, as pages in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Tests run side by side, one core each: PyTorch must not take all cores in each of them.
tests: setup ## every test that is not marked slow
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" --numprocesses auto --maxprocesses 8 --dist worksteal

build: setup ## sdist and wheel, in dist
	rm -rf dist build/lib
	$(BIN)/python -m build

check-build: build ## install the wheel into an empty environment and train there, without the repository
	PYTHON="$(PYTHON)" tools/check_build.sh

# Half an hour on one core. See docs/testing.md.
mutants: setup ## do the tests notice small mistakes in the source?
	nice $(BIN)/python -m tools.mutants

KILLS ?= 20
DAMAGES ?= 3
LINES ?= 1000

# Minutes; with KILLS=200 DAMAGES=200 LINES=10000 hours. See docs/reliability.md.
torture: setup ## kill runs, damage their files and fuzz the command: is anything lost?
	rm -rf build/torture
	nice $(BIN)/python -m tools.torture --kills $(KILLS) --damages $(DAMAGES) --lines $(LINES)

setup: $(VENV)/.tests ## .venv with all that the above need

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.package: $(VENV)/.venv pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

$(VENV)/.tests: $(VENV)/.venv pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/.package

clean: ## remove all that was made here
	rm -rf $(VENV) runs build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
