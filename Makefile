# Everything runs in .venv, made on first use with nothing but Python and make, in stages: a target
# waits only for what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what is imported when it is; compiling all of SciPy and Spark takes longer.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install --no-compile -c constraints.txt

.PHONY: help setup demo test test-others test-spark lint types check bench simulate calibrate reproductions torture docs release clean

help:
	@echo "make demo    a simulated feed, from its log to a decision, and the truth"
	@echo "make test    run all tests; what is skipped is named with its reason"
	@echo "make lint    ruff: style and formatting"
	@echo "make types   mypy --strict on src/"
	@echo "make docs    run every example of docs/, then build the site in build/docs"
	@echo "make release build what would be published, and try it in clean environments"
	@echo "make bench   the same work by counterrank and by its peers (takes a while)"
	@echo "make torture  mutated documents and command lines, faults while writing, at length (ten minutes)"
	@echo "make simulate  how often intervals hold the truth, at full size, into docs/coverage.md (an hour)"
	@echo "make calibrate  how often verdicts and claims are right, into docs/calibration.md (two hours; ARGS='--share 0.1 --anew')"
	@echo "make reproductions  all published studies at full size, into docs/reproductions (COUNTERRANK_DATA=DIR)"

$(VENV)/.demo: pyproject.toml constraints.txt
	@echo "Setting up $(VENV), once."
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(VENV)/.ready: $(VENV)/.demo
	@echo "Adding what tests need, Spark and MLflow among it, once; this takes about two minutes."
	$(PIP) -e '.[dev]'
	@touch $@

$(VENV)/.release: $(VENV)/.demo
	$(PIP) -e '.[release]'
	@touch $@

$(VENV)/.studies: $(VENV)/.demo
	$(PIP) -e '.[studies]'
	@touch $@

setup: $(VENV)/.ready

demo: $(VENV)/.demo
	$(BIN)/counterrank demo

# Tests start Python hundreds of times, so what it compiles is kept, whatever the environment says;
# threads of BLAS would wait for work at full speed, as they would of the command line.
# Spark's wait for their cluster at times: they run beside the others, and what they say comes last.
test test-others test-spark: export PYTHONDONTWRITEBYTECODE =
test test-others test-spark: export OPENBLAS_NUM_THREADS ?= 1
test: $(VENV)/.ready
	@$(MAKE) --no-print-directory --keep-going --jobs 2 test-others test-spark; \
	  failed=$$?; cat build/test-spark.txt; exit $$failed

test-others: $(VENV)/.ready
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not spark"

test-spark: $(VENV)/.ready
	@mkdir -p build
	$(BIN)/python -m pytest -m spark tests/parity tests/extension > build/test-spark.txt 2>&1

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests benchmarks release
	$(BIN)/ruff format --check src tests benchmarks release

types: $(VENV)/.ready
	$(BIN)/mypy

check: lint types test

docs: $(VENV)/.ready
	$(BIN)/python -m pytest -q docs README.md
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs build/docs
	@echo "The site is build/docs/index.html."

release: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python release/check.py

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/run.py

simulate: $(VENV)/.ready
	$(BIN)/python tests/simulation/table.py
	COUNTERRANK_FULL=1 $(BIN)/python -m pytest -n auto --dist worksteal tests/coverage

calibrate: $(VENV)/.ready
	$(BIN)/python tests/calibration/run.py $(ARGS)

reproductions: $(VENV)/.studies
	@for study in $$($(BIN)/python -m counterrank.studies.pipeline); do \
	  $(BIN)/counterrank reproduce $$study --out build/reproductions/$$study || exit 1; done
	$(BIN)/python -m counterrank.studies.pipeline build/reproductions docs

torture: $(VENV)/.ready
	$(BIN)/python tests/faults/torture.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/.work build dist counterrank-demo
