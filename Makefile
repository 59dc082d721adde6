# Every target does its own set-up: on a fresh Debian or Ubuntu with Python >= 3.11, and again at no cost.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
OUT ?= gallery

.PHONY: demo studio test bench docs reproduce lint format check-blender clean help

help:  ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/.ready  ## run marey on its built-in samples, write a gallery
	$(BIN)/marey demo --out $(OUT)

studio: $(VENV)/.ready  ## see, touch and change motion in the browser: make studio FILES=my.bvh
	$(BIN)/marey studio $(FILES)

# Each core has its own worker: threads of linear algebra would only get in their way. Compiled modules are kept,
# since some tests start many programs.
test: $(VENV)/.test $(VENV)/.docs .node/.ready  ## all tests, on all cores; some: make test TESTS=tests/io
	@tools/setup.sh --browser
	OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal $(TESTS)

lint: $(VENV)/.lint  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint  ## let ruff lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv-peers/.ready  ## marey beside its peers, same process, same work; some: make bench NAMES="bvh flow"
	.venv-peers/bin/python tools/bench_table.py $(NAMES)

reproduce: $(VENV)/.test  ## published tables and figures, ours beside theirs (real data where MAREY_DATA has it)
	@missed=0; for script in reproduce/[a-z]*.py; do \
		echo; echo "== $$script"; $(BIN)/python $$script || missed=1; \
	done; exit $$missed

docs: site/index.html  ## the documentation as a site that works offline: site/index.html

check-blender: $(VENV)/.test .venv-blender/.ready  ## do our BVH and GLB open in Blender, joints where ours are?
	$(BIN)/python tools/check_blender.py --blender-python .venv-blender/bin/python $(CLIPS)

clean:  ## remove what the other targets made
	rm -rf .venv .venv-peers .venv-blender .node gallery site test-artefacts .mypy_cache .ruff_cache .pytest_cache .hypothesis

# What a target needs and no more: the demo and the studio do without tools of tests, lint and docs.
$(VENV)/.ready: pyproject.toml constraints.txt tools/setup.sh
	tools/setup.sh $@ -c constraints.txt -e '.[video,studio]'

$(VENV)/.test $(VENV)/.lint $(VENV)/.docs: $(VENV)/.%: $(VENV)/.ready
	tools/setup.sh $@ -c constraints.txt -e '.[$*]'

# Rebuilt only where a page, the code it documents or what makes the pages has changed.
site/index.html: $(VENV)/.docs mkdocs.yml $(shell find docs tools/docs src/marey -type f -not -name '*.pyc')
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@touch $@

.venv-peers/.ready: pyproject.toml constraints.txt tools/setup.sh
	tools/setup.sh $@ -c constraints.txt -e '.[all,peers]'

.venv-blender/.ready: tools/setup.sh
	tools/setup.sh $@ bpy numpy

# The Khronos glTF validator and three.js are JavaScript packages; the tests that use them are skipped without npm.
.node/.ready:
	@mkdir -p .node
	@if command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --fetch-retries=0 --prefix .node gltf-validator@2.0.0-dev.3.10 three@0.187.0 >/dev/null 2>&1 \
		&& touch $@ || echo "glTF validator not installed (npm could not reach it); its tests are skipped"; \
	else echo "npm is not here: the glTF validator's tests are skipped"; fi
