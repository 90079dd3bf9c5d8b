# Every target sets up its own environment: Python 3.11+ and make are all you need.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: run test lint format bench docs case cells gauc exactness bound-attack figures fidelity fidelity-markets \
        fidelity-exactness hostile \
        side-by-side random-games two-party party-faults party-wire party-load party-fuzz audit heat trades table1 table2 \
        figure3 clean help

help:            ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

# Why this cell: gas is scarce enough that the leader holds plants back to stay below the next step of supply, so
# that noise costs it real money; in milder cells noise is harmless, in harsher ones it mostly cannot be served.
run: $(READY)    ## compare the three mechanisms on the Northeast; the report is out/report.html
	$(BIN)/ppsm compare --case northeast --power-stress 0.42 --gas-stress 0.9 --draws 2 --time-limit 15 --out out

test: $(READY)   ## run the tests
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(READY)   ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY) ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## measure what the documentation claims (half an hour); for machines: make bench ARGS=--json
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(READY)   ## build the documentation into site/
	PYTHONPATH=src NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

case: $(READY)   ## rebuild the Northeast tables from the published files: make case PUBLISHED=dir
	@test -n "$(PUBLISHED)" || { echo "error: say where the published files are: make case PUBLISHED=dir"; exit 2; }
	$(BIN)/python -m ppsm.cases.calibration "$(PUBLISHED)"

cells: $(READY)  ## check the Northeast gas market in all 42 stress cells and under Laplace noise
	$(BIN)/python -m benchmarks.northeast

gauc: $(READY)   ## solve gas-aware unit commitment in all 42 stress cells and for noisy demands
	$(BIN)/python -m benchmarks.gauc

exactness: $(READY) ## compare the game's solver with two references on random small games (minutes)
	$(BIN)/python -m benchmarks.exactness

bound-attack: $(READY) ## two thousand claims of the game's bounds against the optimum of random small games (minutes)
	$(BIN)/python -m benchmarks.bound_attack $(ARGS)

figures: $(READY) ## solve stress cells of the Northeast and draw the documentation's pictures (minutes)
	$(BIN)/python -m benchmarks.figures

fidelity: $(READY) ## the long study of the fidelity phase on the Northeast case, against SCIP, and as networks grow
	$(BIN)/python -m benchmarks.fidelity $(ARGS)

fidelity-markets: $(READY) ## the fidelity phase on markets of nine structures, against SCIP (hours); ARGS="--seeds 1 --size small"
	$(BIN)/python -m benchmarks.fidelity_markets $(ARGS)

fidelity-exactness: $(READY) ## 400 small markets in all modes against enumeration of patterns (minutes); ARGS="--count 50"
	$(BIN)/python -m benchmarks.fidelity_exactness $(ARGS)

hostile: $(READY) ## ten thousand hostile inputs to the fidelity phase (a quarter of an hour); a part: ARGS="--first 0 --count 100"
	$(BIN)/python -m benchmarks.hostile $(ARGS)

random-games: $(READY) ## five thousand random small games against enumeration (a quarter of an hour); a part: ARGS="--first 0 --count 100"
	$(BIN)/python -m benchmarks.claims $(ARGS)

side-by-side: $(READY) ## games of six families against what users write by hand (hours); ARGS="--seconds 10 --family toll"
	$(BIN)/python -m benchmarks.side_by_side $(ARGS)

two-party: $(READY) ## a leader and a follower as two processes on the Northeast, one round, both dossiers, the check
	rm -rf out/two-party
	$(BIN)/python examples/two_party.py out/two-party

party-faults: $(READY) ## 300 rounds between two processes while everything goes wrong (half an hour); ARGS="--runs 20"
	$(BIN)/python -m benchmarks.party_faults $(ARGS)

party-wire: $(READY) ## all bytes of a round on the Northeast, searched for what the other must not learn (minutes)
	$(BIN)/python -m benchmarks.party_wire $(ARGS)

party-load: $(READY) ## 100 leaders at once, then 4,000 rounds (minutes)
	$(BIN)/python -m benchmarks.party_load $(ARGS)

party-fuzz: $(READY) ## ten thousand hostile requests to the follower's service (half an hour)
	$(BIN)/python -m benchmarks.party_fuzz $(ARGS)

audit: $(READY)  ## a hundred thousand whole releases of each mechanism against the auditor (hours); ARGS="--samples 500"
	TMPDIR=$(wildcard /dev/shm) $(BIN)/python -m benchmarks.mechanism_audit $(ARGS)

trades: $(READY) ## traffic and port power: how noise breaks the game; pictures (minutes)
	$(BIN)/python -m benchmarks.trades $(ARGS)

heat: $(READY)   ## heat and electricity over a year, Laplace against PPSM, and its picture (an hour); ARGS="--draws 12"
	$(BIN)/python -m benchmarks.heat $(ARGS)

# A stopped run goes on; a reduced one: make table1 REPS=2 OUT=results/small
WORKERS ?= 2
EXPERIMENTS := table1 table2 figure3
$(EXPERIMENTS): OUT ?= results/$@
table1: $(READY) ## run all instances of the paper's Table 1 and report them (hours on two cores)
table2: $(READY) ## the same for Table 2
figure3: $(READY) ## the same for Figure 3
$(EXPERIMENTS):
	$(BIN)/ppsm experiment $@ --workers $(WORKERS) $(if $(REPS),--reps $(REPS)) --out $(OUT)
	$(BIN)/ppsm report $(OUT)

clean:           ## remove what the targets made, except the rows of experiments
	rm -rf $(VENV) out site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Installed once; again only when the dependencies change.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than Python 3.11; install 3.11 or call make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[figures,scip,protocol,dev,docs]"
	@touch $@
