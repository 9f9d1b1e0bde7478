# Weir: every verb. `make help` lists them; each does the set-up it needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# The Python that makes the environment, pytest's options; core or unit, device, speed and seeds of `make timing`; the
# unit of `make waves`; a board (folder of fpga-boards/) and its JTAG adapter, whether a release builds the boards'
# bitstreams, and the seed of their placement or of `make mutate`, its units and how many faults each gets.
PYTHON ?= python3
PYTEST_ARGS ?=
PRESET ?= ten-gig
UNIT ?=
DEVICE ?= LFE5UM5G-85F
SPEED ?= 8
SEEDS ?= 3
RECORD ?=
CHECK ?=
T ?=
SECONDS ?= 600
BOARD ?=
CABLE ?=
BITSTREAMS ?=
SEED ?= 1
UNITS ?=
SITES ?= 15

PY := .venv/bin/python
PYTHON_SOURCES := conftest.py cocotb-tests scripts sim sw-driver
SCALA := $(shell find hw/src/main -name '*.scala')
GENERATE = mvn -q -B -f hw/pom.xml compile exec:java -Dexec.args

# A stamp says that a step was done after the files it depends on last changed.
TOOLS := build/stamps/tools
VENV := .venv/stamp
RTL := build/stamps/rtl
FORMAL_RTL := build/stamps/formal-rtl
LIB := build/stamps/lib
MODEL := build/stamps/model
MODEL_AQM := build/stamps/model-aqm
MODEL_RED := build/stamps/model-red
MODEL_NETWORK := build/stamps/model-network
MODEL_NETWORK_JUMBO := build/stamps/model-network-jumbo
NS3_VENV := .venv-ns3/stamp
NS3 := build/stamps/ns3

.PHONY: help setup ready demo serve live test long collide soak lint rtl formal bench timing bitstream flash info cores
.PHONY: release area ns3 reproduce waves mutate ports docs clean model lib format lock

help: ## this list
	@echo "usage: make <verb>"
	@sed -n 's/^\([a-z0-9]*\):.*## \(.*\)/  \1|\2/p' Makefile | while IFS='|' read -r verb what; do \
	  printf '%-10s %s\n' "$$verb" "$$what"; done

setup: $(VENV) ## check for the tools of the system (as root: install them), make .venv

demo: $(VENV) $(MODEL) $(LIB) ## replay a capture of real TCP traffic with every policy, and as jumbo frames: build/demo/; 3 minutes the first time
	@$(PY) sim/demo/demo.py

serve: $(VENV) $(MODEL) $(LIB) ## a core behind the socket /tmp/weir, with twice the traffic that its link takes, for weirctl: until Ctrl-C
	@$(PY) -m weir_sim serve --socket /tmp/weir --traffic 2Gbit --link-rate 1Gbit

live: $(VENV) $(MODEL_AQM) $(LIB) ## real Linux TCP through the core, Drop-Tail, RED, FN and PIE: build/live/
	@$(PY) sim/live/session.py

# What tests need is built two at a time: Java, installing and linking leave a core idle.
TESTED := $(LIB) $(MODEL) $(NS3) $(MODEL_NETWORK) $(MODEL_NETWORK_JUMBO)

# All that lint, docs, proofs and tests need; -j 2 generates and builds while packages are installed.
ready: $(VENV) $(RTL) $(FORMAL_RTL) $(TESTED)

test: $(VENV) ## the tests, 24 minutes on two cores; PYTEST_ARGS='-k ewma' chooses
	@$(MAKE) --no-print-directory -j 2 $(TESTED)
	@$(PY) -m pytest -n 2 --dist worksteal $(PYTEST_ARGS)

long: $(VENV) ## tests that take minutes each: clocks that stand still, every set of policies, synthesis by FuseSoC, the clock on record, boards that fit; SHORT=1 without those that others cover in part
	@$(MAKE) --no-print-directory -j 2 $(TESTED)
	@$(PY) -m pytest -n 2 --dist worksteal -m "long$(if $(SHORT), and not full)" $(PYTEST_ARGS)

lint: $(VENV) $(RTL) $(LIB) ## ruff, mypy, Verilator's lint; warnings of the C compiler are errors
	@$(PY) -m ruff check $(PYTHON_SOURCES)
	@$(PY) -m ruff format --check $(PYTHON_SOURCES)
	@$(PY) -m mypy
	@$(PY) scripts/lint_rtl.py

rtl: $(RTL) ## Verilog of every preset and unit, register files: build/rtl/
	@echo "build/rtl: $$(cd build/rtl && echo */*.v boards/*/*.v)"

formal: $(VENV) $(FORMAL_RTL) ## proofs, cover statements, and seeded faults that must be found
	@$(PY) scripts/formal.py

collide: $(VENV) ## the benches and the tests of the cycle model with block RAMs whose words are wrong while they are written (scripts/collide.py), half an hour or more
	@$(MAKE) --no-print-directory -j 2 $(TESTED)
	@$(PY) scripts/collide.py --model -- -n 2 -m "not long" cocotb-tests sim/tests

mutate: $(VENV) $(RTL) $(LIB) ## faults that benches have to notice: build/mutation.json; hours; UNITS=<unit,…> SEED=1 SITES=15
	@$(PY) scripts/mutate.py --units '$(UNITS)' --seed $(SEED) --sites $(SITES)

ports: $(VENV) $(RTL) ## after `make test`: ports of units that no bench drives to a second value or reads
	@$(PY) cocotb-tests/ports.py

soak: $(VENV) $(MODEL) $(LIB) ## random traffic through core and merger for SECONDS=600
	@WEIR_SOAK=$(SECONDS) $(PY) -m pytest -n 0 -s -k "four_queues or merge_then_split"

bench: $(VENV) $(MODEL) $(MODEL_RED) $(MODEL_NETWORK) $(LIB) ## speed, latency and accuracy against their goals: build/bench.json
	@$(PY) -m weir_sim bench

timing: $(VENV) $(RTL) ## clock and size of PRESET=ten-gig, UNIT=<unit> or BOARD=<board>: build/timing.json; docs/timing.md
	@$(if $(BOARD),$(if $(strip $(foreach name,PRESET UNIT DEVICE SPEED CHECK RECORD,$(filter command environment, \
	  $(firstword $(origin $(name)))))),$(error make timing BOARD=$(BOARD) takes SEEDS alone; the others are of cores)))
	@$(if $(BOARD),$(PY) scripts/boards.py timing $(BOARD) --seeds $(SEEDS),$(PY) scripts/timing.py --preset $(PRESET) \
	  --unit '$(UNIT)' --device $(DEVICE) --speed $(SPEED) --seeds $(SEEDS) \
	  $(if $(filter-out 0,$(CHECK)),--check) $(if $(filter-out 0,$(RECORD)),--record))

bitstream: $(VENV) $(RTL) ## bitstream of a board: BOARD=<board>, SEED=1 of the placement: build/boards/<board>/board.bit, 10 minutes
	@$(PY) scripts/boards.py bitstream $(BOARD) --seed $(SEED)

flash: $(VENV) ## write a board's bitstream to its flash: BOARD=<board>; CABLE=<name>: another JTAG adapter, as openFPGALoader names it
	@$(PY) scripts/boards.py flash $(BOARD) $(if $(CABLE),--cable $(CABLE))

info: $(VENV) ## the boards; with BOARD=<board> what its last build came to
	@$(PY) scripts/boards.py info $(BOARD)

cores: $(VENV) $(RTL) ## FuseSoC cores of every preset and board: build/cores/
	@$(PY) scripts/cores.py

release: $(VENV) $(RTL) ## archive for integrators, the same bytes each time: build/release/; BITSTREAMS=1 builds those first, 20 minutes
	@$(PY) scripts/release.py $(if $(filter-out 0,$(BITSTREAMS)),--bitstreams)

area: $(VENV) $(RTL) ## size of every policy on an ECP5: build/area.json
	@$(PY) scripts/area.py

ns3: $(NS3) ## ns-3 with the core's cycle model as a queue, the experiments' programs: build/ns3/
	@echo "build/ns3: libweir-ns3.so, $$(cd build/ns3/bin && echo *)"

reproduce: $(VENV) $(MODEL_NETWORK) $(MODEL_NETWORK_JUMBO) $(NS3) ## the papers' experiments and the report: build/reproduce/; QUICK=1 a slice of each
	@$(PY) sim/reproduce/run.py $(if $(filter-out 0,$(QUICK)),--quick)

waves: $(VENV) $(RTL) $(LIB) ## waveform of a bench: T=<unit>; without T the list of units
	@$(PY) scripts/waves.py $(T)

docs: $(VENV) $(RTL) ## the site: build/site/index.html
	@$(PY) -m mkdocs build --strict > build/docs.log 2>&1 || { grep -v '^INFO' build/docs.log; exit 1; }
	@echo "build/site/index.html"

clean: ## remove build/ (the Python environment stays)
	@rm -rf build

model: $(MODEL) $(MODEL_NETWORK) $(MODEL_NETWORK_JUMBO)

lib: $(LIB)

format: $(VENV)
	@$(PY) -m ruff check --fix --quiet $(PYTHON_SOURCES)
	@$(PY) -m ruff format $(PYTHON_SOURCES)

lock: $(TOOLS)
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install -q --disable-pip-version-check pip-tools
	build/lock/bin/pip-compile -q --generate-hashes --allow-unsafe --no-emit-index-url --no-emit-find-links \
	  --output-file requirements.lock requirements.in
	build/lock/bin/pip-compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras \
	  --unsafe-package cppyy --unsafe-package cppyy-cling --unsafe-package cppyy-backend --unsafe-package cpycppyy \
	  --output-file requirements-ns3.lock requirements-ns3.in

$(TOOLS): scripts/tools.sh
	@mkdir -p $(@D)
	@PYTHON=$(PYTHON) scripts/tools.sh
	@touch $@

$(VENV): requirements.lock pyproject.toml | $(TOOLS)
	@echo "== .venv: Python packages of requirements.lock"
	@$(PY) -c '' 2>/dev/null || $(PYTHON) -m venv --clear .venv
	@$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@PYTHONWARNINGS=ignore $(PY) -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

# Without dependencies: the lock has them all, but for the Python bindings of ns-3, which nothing here uses.
$(NS3_VENV): requirements-ns3.lock | $(TOOLS)
	@echo "== .venv-ns3: ns-3 and Snakemake"
	@.venv-ns3/bin/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear .venv-ns3
	@.venv-ns3/bin/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements-ns3.lock
	@touch $@

$(RTL): hw/pom.xml $(SCALA) | $(TOOLS)
	@echo "== build/rtl: Verilog"
	@mkdir -p $(@D)
	@$(GENERATE)="build/rtl all" > build/rtl.log 2>&1 || { tail -n 60 build/rtl.log; exit 1; }
	@touch $@

# After $(RTL): two Maven runs at once would share their classes.
$(FORMAL_RTL): $(RTL)
	@echo "== build/rtl/formal: property components"
	@$(GENERATE)="build/rtl formal" > build/formal-rtl.log 2>&1 || { tail -n 60 build/formal-rtl.log; exit 1; }
	@touch $@

$(LIB): $(RTL) $(shell find sw-driver/lib -type f 2>/dev/null)
	@$(MAKE) -s --no-print-directory -C sw-driver/lib
	@touch $@

$(MODEL) $(MODEL_AQM) $(MODEL_RED) $(MODEL_NETWORK) $(MODEL_NETWORK_JUMBO): $(VENV) $(RTL) $(shell find sim/model -name '*.[ch]*' -o -name '*.py' 2>/dev/null)
	@$(PY) sim/model/build.py --preset $(patsubst model-%,%,$(@F:model=full))
	@touch $@

$(NS3): $(NS3_VENV) $(LIB) $(shell find sim/ns3 -name '*.cc' -o -name '*.h' -o -name Makefile 2>/dev/null) sim/model/weir_model.h
	@echo "== build/ns3: ns-3 with Weir's queue"
	@mkdir -p $(@D)
	@$(MAKE) -s --no-print-directory -C sim/ns3
	@touch $@
