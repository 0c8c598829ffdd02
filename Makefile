# Each target sets up what it needs: a machine with Python 3.11 or later, its venv module and make is enough.
#
#   make demo    a fleet of simulated devices against a real aggregator (ONCE=1: exit after the table)
#   make quick   the tests that need no server: a minute of a processor
#   make test    every test, in some minutes
#   make test-busy  every test, while an endless loop keeps each processor busy
#   make test-shuffled  every test, in an order drawn from SEED
#   make fuzz TARGET=batches GUIDED=100000 CHANGED=0  inputs that nobody has thought of, guided by coverage; then by chance
#   make test-versions  the tests that need no server, on every later Python that is here
#   make check   format, lint, types, the rules of the house, the wire
#   make docs    the documentation as a site, in build/docs; make docs-view serves it on this machine
#   make bench   every figure that the README states
#   make proto   the generated code, anew
#   make dist    wheels and source distributions of both packages, with what they are made of, in dist/
#   make lock    the locked requirements, anew

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PROTO_VENV := .venv-proto
PROTO_READY := $(PROTO_VENV)/.ready
FLOWER_VENV := .venv-flower
FLOWER_READY := $(FLOWER_VENV)/.ready
FUZZ_VENV := .venv-fuzz
FUZZ_READY := $(FUZZ_VENV)/.ready
RELEASE_READY := .venv-release/.ready
PYTHONS ?= python3.12 python3.13 python3.14
DEPLOY_VENV := .venv-deploy
DEPLOY_READY := $(DEPLOY_VENV)/.ready
DEVICES ?= 10000
SEED ?= 1
TARGET ?= batches
GUIDED ?= 100000
CHANGED ?= 0
JOBS ?= 4
# What waits for nothing is done by as many processes as there are processors: each further one imports all anew.
QUICK_JOBS ?= 2
SLOW := $(addprefix client/,test_client test_client_file test_client_sending test_testing device/test_consent) \
  $(addprefix client/,device/test_memo device/test_transcript wire/test_upload) $(addprefix mechanisms/test_,adding codewords) \
  consistency/test_whole_numbers estimators/test_projective_geometry
QUICK := $(addprefix tests/,client consistency estimators golden kinds mechanisms tools) \
  $(addprefix --ignore=tests/,$(addsuffix .py,$(SLOW)))
TOOLS := chromium-headless-shell:chromium-headless-shell prometheus:prometheus promtool:prometheus redis-server:redis-server \
  h2load:nghttp2-client nginx:nginx-light openssl:openssl systemd-analyze:systemd
POLICY := /usr/sbin/policy-rc.d

.DEFAULT_GOAL := help
.PHONY: help demo system-tools test quick test-busy test-shuffled test-deep fuzz test-versions check docs docs-view bench proto promise dist lock format clean

help:
	@sed -n 's/^#   //p' Makefile

$(READY): requirements/dev.txt client/pyproject.toml aggregator/pyproject.toml
	@echo "Setting up $(VENV) (once; about half a minute)..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Deniable needs Python 3.11 or later: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/dev.txt
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e client -e aggregator
	@touch $@

# Flower wants an older protobuf than the house is tested with, and fuzzers bring much that nothing else needs.
$(FLOWER_READY) $(FUZZ_READY): .venv-%/.ready: requirements/%.txt client/pyproject.toml aggregator/pyproject.toml
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check uv
	@VIRTUAL_ENV=$(@D) $(@D)/bin/uv pip install --quiet --compile-bytecode --require-hashes -r $<
	@VIRTUAL_ENV=$(@D) $(@D)/bin/uv pip install --quiet --no-deps --no-build-isolation -e client -e aggregator
	@touch $@

# Programs that make or check something, each sort in an environment that nothing else needs.
$(PROTO_READY) $(RELEASE_READY) $(DEPLOY_READY): .venv-%/.ready: requirements/%.txt
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check uv
	@VIRTUAL_ENV=$(@D) $(@D)/bin/uv pip install --quiet --compile-bytecode --require-hashes -r $<
	@touch $@

demo: $(READY)
	@$(BIN)/deniable demo --devices $(DEVICES) $(if $(ONCE),--once)

# What tests and benchmarks run, and pip does not carry: each with the package that has it. Debian starts what it installs,
# unless policy-rc.d says no.
system-tools:
	@missing=; PATH="$$PATH:/usr/sbin"; for each in $(TOOLS); do command -v $${each%:*} > /dev/null || missing="$$missing $${each#*:}"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "Installing$$missing (once)..."; \
	  test -e $(POLICY) || { trap 'rm -f $(POLICY)' EXIT; printf '#!/bin/sh\nexit 101\n' > $(POLICY); chmod +x $(POLICY); }; \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
	    $$missing > /dev/null; \
	else echo "What needs$$missing is skipped; to run it: sudo apt-get install$$missing"; fi

test: $(READY) $(DEPLOY_READY) $(FUZZ_READY) system-tools
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not deep"

quick: $(READY)
	$(BIN)/pytest -n $(QUICK_JOBS) --dist worksteal -m "not deep" $(QUICK)

test-busy: $(READY) $(DEPLOY_READY) $(FUZZ_READY) system-tools
	@$(BIN)/python tools/busy.py $(BIN)/pytest -n $(JOBS) --dist worksteal -m "not deep"

test-shuffled: $(READY) $(DEPLOY_READY) $(FUZZ_READY) system-tools
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not deep" --shuffled $(SEED)

test-deep: $(READY) $(FLOWER_READY) $(FUZZ_READY) $(DEPLOY_READY) system-tools
	$(BIN)/pytest -n $(JOBS) --dist worksteal --timeout 3600

fuzz: $(FUZZ_READY)
	PYTHONPATH=tests:. $(FUZZ_VENV)/bin/python -m fuzzing.run $(TARGET) --guided $(GUIDED) --changed $(CHANGED) --seed $(SEED)

test-versions:
	@for python in $(PYTHONS); do if $$python -c '' 2> /dev/null; then \
	    $(MAKE) PYTHON=$$python VENV=.venv-$$(basename $$python) quick || exit 1; \
	  else echo "There is no $$python here: not tested"; fi; done

check: $(READY) $(PROTO_READY) $(RELEASE_READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy client/deniable aggregator/deniable_aggregator tests benchmarks tools examples/lectures
	cd examples && MYPYPATH=../client $(abspath $(BIN))/mypy --strict --warn-unreachable --cache-dir ../.mypy_cache \
	  --exclude '^(flask|fastapi|lectures)/' .
	$(BIN)/python tools/check_imports.py
	$(BIN)/python tools/check_tests.py
	$(BIN)/python -m tools.site
	$(BIN)/python -m tools.figures
	$(BIN)/buf lint
	$(BIN)/python tools/check_wire.py
	$(PROTO_VENV)/bin/python tools/generate_proto.py --check
	$(BIN)/python -m tools.release build/release

docs: $(READY)
	@$(BIN)/python -m tools.site

docs-view: $(READY)
	@$(BIN)/python -m tools.site --serve

bench: $(READY) system-tools
	$(BIN)/python -m benchmarks

proto: $(PROTO_READY)
	$(PROTO_VENV)/bin/python tools/generate_proto.py

promise: $(READY)
	$(BIN)/buf build --exclude-source-info -o proto/promised.json

dist: $(READY) $(RELEASE_READY)
	@$(BIN)/python -m tools.release dist

lock: $(READY)
	for name in dev flower fuzz proto deploy release runtime tracing; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	    --no-emit-index-url --no-annotate $$(case $$name in runtime|tracing) echo -c requirements/dev.txt;; esac) \
	    requirements/$$name.in -o requirements/$$name.txt; done

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv* build dist .pytest_cache .mypy_cache .ruff_cache
