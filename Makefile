# Everything runs in .venv, made on first use with nothing but Python and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup demo test lint types check bench docs clean

help:
	@echo "make demo    a simulated feed, from its log to a decision, and the truth"
	@echo "make test    run all tests; what is skipped is named with its reason"
	@echo "make lint    ruff: style and formatting"
	@echo "make types   mypy --strict on src/"
	@echo "make docs    run every example of docs/, then build the site in build/docs"
	@echo "make bench   the same work by counterrank and by its peers (takes a while)"

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "Setting up $(VENV), once; this takes about a minute."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(VENV)/.ready

demo: $(VENV)/.ready
	$(BIN)/counterrank demo

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not spark"
	$(BIN)/python -m pytest -m spark tests/parity

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: $(VENV)/.ready
	$(BIN)/mypy

check: lint types test

docs: $(VENV)/.ready
	$(BIN)/python -m pytest -q docs README.md
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs build/docs
	@echo "The site is build/docs/index.html."

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/.work build counterrank-demo
