# Everything runs in .venv, made on first use with nothing but Python and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup demo test lint types check bench clean

help:
	@echo "make demo    a simulated feed, from its log to a decision, and the truth"
	@echo "make test    run all tests; what is skipped is named with its reason"
	@echo "make lint    ruff: style and formatting"
	@echo "make types   mypy --strict on src/"
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
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: $(VENV)/.ready
	$(BIN)/mypy

check: lint types test

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/.work counterrank-demo
