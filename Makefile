# Needs Python 3.10 or newer and make, nothing else. Another interpreter: make demo PYTHON=python3.12
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SHELL := /bin/sh
# Two processes (tests/processes.py), which share compiled kernels through the cache. PARALLEL= runs all in one.
PARALLEL ?= --processes=2
# Interpreters for which `make dist-check` installs the wheel.
PYTHONS ?= $(PYTHON)

# Engines beside which the benchmarks run; the names are those of the files in benchmarks/engines.
ENGINES := rapier mujoco bullet chipmunk cholmod

# Scenes of docs/scene_library.md and the gallery with the parameters of their stills; the last --size counts.
STILLS := butterfly matryoshka cradle_3d pool_break_3d two_rabbits_box rabbits_in_pot dolls card_house repose pebbles \
	"rube_goldberg --size 800x450" cube_packing "cross_packing --size 720x405" "sphere_packing --size 800x450" \
	"rabbit_pile --set detail=24 --size 800x450" "rabbits_and_pawns --set detail=24 --size 800x450" \
	"granular_wave --set count=1500 --set side=10" "vibrated_layer --set width=40 --set periods=30 --size 800x450" \
	$(foreach still,newtons_cradle_disturbed three_ball_chain bernoulli energy_drum box_stack \
	compass_walker falling_chain cradle_on_strings_3d ragdoll four_bar arm_strikes_balls rimless_wheel rocking_block \
	two_tetrahedra box_2x2x1 box_tower_3d trefoil_drop spinning_top_free,"$(still) --size 640x360") \
	"granular_wave_2d --set rows=8 --size 640x360" "hopper --size 640x360" "gun --size 640x360"

# Films of docs/gallery.md, together less than 1 MB.
FILMS := "cradle_3d --to 4" "pool_break_3d --to 4 --camera elevation=28" "card_house --from 9.8 --to 12.8" \
	"rube_goldberg --speed 4"

# Runs that docs/gallery.md plays, recorded in less than 0.6 MB.
RUNS := "pool_break --duration 6 --frame-rate 40" "newtons_cradle --frame-rate 40" \
	"maxwells_demon --duration 12 --frame-rate 25" "cradle_3d --duration 4 --frame-rate 40" \
	"pool_break_3d --duration 4 --frame-rate 30" "card_house --duration 13 --frame-rate 20" \
	"matryoshka --frame-rate 40" "dolls --duration 6 --frame-rate 25"

.DEFAULT_GOAL := help
.PHONY: help demo test test-long fuzz bench lint format docs dist dist-check dist-kernels stills films playback clean

help: ## print this list
	@echo "Carom: simultaneous impact of rigid bodies"
	@echo
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'
	@echo
	@echo "Everything is installed into $(VENV) with $(PYTHON); PYTHON=... and VENV=... change that."

# Kernels are compiled while packages are installed, which takes one processor: they need the packages of FOR_KERNELS
# alone. $(1) are the families of kernels, none for all, $(2) what is installed meanwhile.
FOR_KERNELS := $(shell grep -oE '"(numpy|scipy|numba|matplotlib|h5py|tomli-w)[<>=][^"]*"' pyproject.toml)
WARM_UP := PYTHONPATH=src $(BIN)/python -m carom.kernels.warmup
READY = $(WARM_UP) $(1) & compiling=$$!; \
	$(MAKE) -s --no-print-directory $(2) || { kill $$compiling; exit 1; }; \
	wait $$compiling || $(WARM_UP) $(1)
# Byte code is written when a module is imported first: without it each of the many processes would compile all modules.
demo test test-long: export PYTHONDONTWRITEBYTECODE :=

demo: $(VENV)/.for-kernels ## Newton's cradle under every law, a pool break under three: tables here, pictures in out/
	@$(call READY,demo,$(VENV)/.installed)
	@$(BIN)/carom demo -o out

# Tests are collected while kernels are compiled; the first one waits for the stamp of these. $(1) are variables and
# $(2) arguments of pytest, $(3) is the extra with the packages of the tests. Options of tests/processes.py need the "=":
# before pytest knows them, it takes a word that stands alone for a path, and if that exists already (the stamp, with
# kernels from the cache), it looks for conftest.py beside it only and never finds the one that declares the options.
RUN_TESTS = rm -f $(VENV)/.compiled; \
	( trap 'kill $$!' TERM; $(WARM_UP) & wait $$!; touch $(VENV)/.compiled ) & compiling=$$!; \
	$(MAKE) -s --no-print-directory $(VENV)/.installed-$(3) $(VENV)/.browser || { kill $$compiling; exit 1; }; \
	$(1) $(BIN)/python -m pytest $(PARALLEL) --after=$(VENV)/.compiled $(2) $(ARGS)

test: $(VENV)/.for-kernels ## the test suite without its long part
	@$(call RUN_TESTS,,-m "not long",test)

test-long: $(VENV)/.for-kernels ## the whole test suite
	@$(call RUN_TESTS,HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-long},,test-long)

fuzz: $(VENV)/.installed-test ## random cases against the library, minutes; ARGS="NAME --count 1000 --seed 7"
	@$(BIN)/carom warmup
	@$(BIN)/python -m fuzz $(ARGS)

bench: $(VENV)/.installed-bench $(ENGINES:%=$(VENV)-engines/%/.tried) ## the benchmarks, with other solvers and engines beside them
	@$(BIN)/carom warmup
	@CAROM_ENGINES=$(VENV)-engines $(BIN)/python -m benchmarks $(ARGS)

lint: $(VENV)/.installed-dev ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/.installed-dev ## let ruff put imports and layout in order
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(VENV)/.installed-docs docs/katex/katex.min.js ## the documentation site in out/site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open out/site/index.html"

dist: $(VENV)/.installed-dev ## wheel and sdist in dist/; the wheel is built from the sdist
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist .

dist-check: dist dist-kernels ## installs both wheels, read-only and with an empty kernel cache, for each of PYTHONS, and runs them
	@$(BIN)/python tests/check_dist.py dist $(PYTHONS)
	@$(BIN)/python tests/check_dist.py dist/kernels $(PYTHON)

# The environment of the project builds them, so that the kernels are those of its Numba.
dist-kernels: $(VENV)/.installed-dev ## the wheel with compiled kernels for this Python and platform in dist/kernels, minutes
	@$(PIP) "hatchling>=1.21"
	@rm -rf dist/kernels
	@CAROM_BUILD_KERNELS=$${CAROM_BUILD_KERNELS:-1} $(BIN)/python -m build --no-isolation --wheel --outdir dist/kernels .

stills: $(VENV)/.installed ## the stills of the gallery, many minutes; STILLS="dolls repose" makes some of them
	@for still in $(STILLS); do \
		$(BIN)/carom render --size 960x540 $$still -o docs/images/scene_$${still%% *}.png --overwrite || exit 1; done
	@$(BIN)/python -c "$$FEWER_COLORS" docs/images/scene_*.png

films: $(VENV)/.installed ## the films of docs/gallery.md, many minutes; FILMS=cradle_3d makes one of them
	@for film in $(FILMS); do \
		$(BIN)/carom render --size 640x360 --fps 20 $$film -o docs/images/film_$${film%% *}.mp4 --overwrite || exit 1; done

playback: $(VENV)/.installed ## the runs that docs/gallery.md plays, minutes; RUNS=cradle_3d makes one of them
	@mkdir -p out docs/playback; for run in $(RUNS); do name=$${run%% *}; \
		$(BIN)/carom run $$run -q -o out/$$name.h5 --overwrite && \
		$(BIN)/python docs/playback.py out/$$name.h5 || exit 1; done

# Pictures of more than 150 KiB are stored with 128 colors.
define FEWER_COLORS
import os, sys
from PIL import Image
for path in sys.argv[1:]:
    if os.path.getsize(path) > 150 * 1024:
        Image.open(path).quantize(128).save(path, optimize=True)
endef
export FEWER_COLORS

# Formulas are rendered by KaTeX, which the site carries along: its npm package, without what no page needs. iframe-worker
# (MIT) lets the search run in a site that is opened as files.
docs/katex/katex.min.js:
	@echo "fetching KaTeX for the formulas of the site ..."
	@command -v npm >/dev/null || { echo "the formulas of the site need npm, which is not there" >&2; exit 1; }
	@mkdir -p out docs/katex && cd out && npm pack --silent katex@0.16 >/dev/null && tar xzf katex-*.tgz && rm katex-*.tgz
	@cp -r out/package/dist/katex.min.css out/package/dist/fonts docs/katex && rm -f docs/katex/fonts/*.ttf docs/katex/fonts/*.woff
	@cp out/package/LICENSE docs/katex && rm -rf out/iframe && mkdir out/iframe && cd out/iframe \
		&& npm pack --silent iframe-worker@1 >/dev/null && tar xzf iframe-worker-*.tgz
	@cp out/iframe/package/shim/index.js docs/katex/iframe-worker.js && rm -rf out/iframe
	@cp out/package/dist/katex.min.js docs/katex && rm -rf out/package

clean: ## remove the environment, caches and pictures; compiled kernels stay in the user's cache folder
	rm -rf $(VENV) $(VENV)-engines out docs/katex build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples benchmarks fuzz docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The stamps make a second run start at once: an install happens again only when pyproject.toml has changed.
# The source itself is installed in place, so edits need no install. Modules get their byte code when they are imported:
# to compile all of them takes half as long as the installation itself.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Carom needs Python 3.10 or newer; name one with PYTHON=..." >&2; exit 1; }
	@echo "making a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) "pip>=21.3"
	@touch $@

# Each engine has an environment of its own, since they need different versions of NumPy. They have wheels for some
# versions of Python only; without one its benchmarks are skipped.
$(VENV)-engines/rapier/.tried: PACKAGES := "rapier3d>=0.36,<1"
$(VENV)-engines/mujoco/.tried: PACKAGES := "mujoco>=3.3,<5"
$(VENV)-engines/bullet/.tried: PACKAGES := "pybullet>=3.2,<4"
$(VENV)-engines/chipmunk/.tried: PACKAGES := "pymunk>=7,<8"
$(VENV)-engines/cholmod/.tried: PACKAGES := "cvxopt>=1.3,<2" scipy
$(VENV)-engines/%/.tried:
	@echo "installing the engine $* for the benchmarks ..."
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: numpy $(PACKAGES) \
		&& touch $(@D)/.ready || echo "no wheel of $* for this Python: its benchmarks are skipped"
	@touch $@

# The pages are tested in a real browser. Root on Debian or Ubuntu gets one; others are told, and those tests skipped.
FIND_CHROMIUM := command -v chromium || command -v chromium-browser || command -v google-chrome
$(VENV)/.browser: $(VENV)/.created
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! { $(FIND_CHROMIUM); } >/dev/null; then \
		echo "installing chromium ..."; \
		apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || true; \
	fi
	@if { $(FIND_CHROMIUM); } >/dev/null; then touch $@; else echo "no chromium: the tests of the pages are skipped"; fi

$(VENV)/.for-kernels: pyproject.toml $(VENV)/.created
	@echo "installing what kernels need ..."
	@$(PIP) --no-compile $(FOR_KERNELS)
	@touch $@

$(VENV)/.installed: $(VENV)/.for-kernels
	@echo "installing carom, its viewer and what they need ..."
	@$(PIP) --no-compile -e ".[view,render]"
	@touch $@

$(VENV)/.installed-%: $(VENV)/.for-kernels
	@echo "installing carom[$*] and what it needs ..."
	@$(PIP) --no-compile -e ".[view,render,$*]"
	@touch $@ $(VENV)/.installed
