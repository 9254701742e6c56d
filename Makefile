# make demo   what kafkactl does, in its own small environment    make test   sets up and runs the whole suite, lab included
# make check  no Kafka, under 2 minutes            make lab    the long campaigns; figures go to docs/proof/
# make campaigns  those of tests/campaigns alone, which has a page on each
# make docs   what is generated in docs/            make bench  ratios against Kafka's own tools, on a quiet machine
# make pictures   screenshots of the report and pictures of terminals in docs/pictures (needs Chromium)
# make site   the documentation as a site in build/site, links checked
# make dist   sdist, wheel and bill of materials in dist/, checked, installed and tried in a fresh environment
# make requirements   newest versions of all dependencies, with hashes, to requirements/
.PHONY: setup system check unit static ruff layout types layers format test lab campaigns bench demo docs pictures site dist requirements clean

VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

setup: $(INSTALLED)

# Python compiles a module when it is first imported, which most modules of the tools never are.
$(INSTALLED): pyproject.toml
	@test -x $(BIN)/python || { python=$$(scripts/pick_python.sh) && "$$python" -m venv $(VENV); }
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -e '.[dev]'
	@touch $@

system: setup
	@scripts/system_packages.sh $(BIN)/python

# A third worker on two cores: tests that wait for sockets and processes leave a core free for half of their time.
check: setup
	@$(MAKE) --no-print-directory -j 5 --output-sync=target static unit

# The sign + shows the tests as they run; what the checks beside them say is shown when each is done.
unit: setup
	+KAFKACTL_HYPOTHESIS=quick $(BIN)/python -m pytest -q --ignore=tests/lab -m "not lab and not campaign and not slow and not many" -n 3

static: ruff layout types layers

ruff: setup
	$(BIN)/ruff check .

layout: setup
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports --config setup.cfg --no-logo

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# With a class archive each start of a node costs a quarter less; a Java without a base archive goes on without.
ARCHIVED := 3.9.2 4.3.1 4.4.0

# Three workers on two cores: two of them have tests with live nodes, which wait more than they compute. A fourth saves
# a minute, and elections are late then. While Kafka is fetched, pytest compiles the tests once for all workers.
test: setup system
	$(BIN)/python -m pytest -q --collect-only >/dev/null 2>&1 & $(BIN)/python -m tests.lab.harness.class_archive $(ARCHIVED); wait
	$(BIN)/python -m pytest -m "not campaign" -n 3

lab: campaigns
	$(BIN)/python -m pytest -m campaign --timeout=0

campaigns: setup
	@scripts/system_packages.sh $(BIN)/python --campaigns
	$(BIN)/python -m pytest --timeout=0 tests/campaigns

bench: setup system
	$(BIN)/python -m bench.noise
	$(BIN)/python -m bench.startup
	$(BIN)/python -m bench.format
	$(BIN)/python -m bench.codec
	$(BIN)/python -m bench.log_dump
	$(BIN)/python -m bench.replay
	$(BIN)/python -m bench.replay 10000000
	$(BIN)/python -m bench.shapes
	$(BIN)/python -m bench.memory
	$(BIN)/python -m bench.memory 3000000 1000000
	$(BIN)/python -m bench.loader 1000000
	$(BIN)/python -m bench.report
	$(BIN)/python -m bench.simulate
	$(BIN)/python -m bench.spark
	$(BIN)/python -m bench.tiered 100000
	$(BIN)/python -m bench.tiered 1000000
	$(BIN)/python -m bench.tiered --listing 100000
	$(BIN)/python -m bench.zookeeper
	$(BIN)/python -m bench.live

demo:
	@scripts/demo.sh

docs: setup
	$(BIN)/python -m scripts.make_answers
	$(BIN)/python -m scripts.make_reference
	$(BIN)/python -m scripts.make_man
	$(BIN)/python -m scripts.make_layers
	$(BIN)/python -m scripts.make_states
	$(BIN)/python -m scripts.make_checks
	$(BIN)/python -m scripts.make_rights
	$(BIN)/python -m scripts.make_picture

pictures: setup
	$(BIN)/python -m scripts.make_pictures

site: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "The site is in build/site; $(BIN)/python -m mkdocs serve shows it while pages are edited."

# The time of the commit is that of the files in the wheel: the same commit gives the same wheel.
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date +%s)
dist: setup
	rm -rf build dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m scripts.make_sbom dist
	$(BIN)/python -m scripts.try_dist dist

requirements: setup
	$(BIN)/python -m scripts.make_requirements

clean:
	rm -rf $(VENV) .bench build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage demo
