# Everything runs in a virtual environment of its own (.venv), made when it is first needed.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= auto

.PHONY: help demo test lint types unit without-llvm bench fuzz docs pictures site site-serve format wheel release matrix clean

help:
	@echo "make demo     multiply matrices of several sizes with one build, on the simulated NPU"
	@echo "make test     ruff, pyright (strict, basic for tests), pytest on all cores; ONLY=tests/unit/sim for a part of the tests"
	@echo "make without-llvm  tests of the simulator as if llvmlite were not installed; ONLY= for others"
	@echo "make bench    compare with mlir-opt-22, stock xDSL, memcpy (QUICK=1: without what takes others minutes)"
	@echo "make fuzz     feed damaged inputs to all tools for SECONDS=600 or N=100000 cases; TARGETS=opt,run-txn; .fuzz keeps count"
	@echo "make docs     bring the output shown in the documents up to date"
	@echo "make pictures take the pictures of docs/report.md and docs/memcpy.md, with Chromium"
	@echo "make site     build the site from docs/ into build/site; VERSION=1.0 beside others"
	@echo "make site-serve  show it on this computer while pages are written"
	@echo "make format   let ruff format the code"
	@echo "make wheel    build the wheel into dist/"
	@echo "make release  build and check wheel, source distribution and SBOM; REHEARSE=1 before the changelog is ready"
	@echo "make matrix   run tests with all Pythons and NumPys that are here; ONLY=3.12"

demo: .venv/ready
	@$(BIN)/tilewright demo

test: lint types unit

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready-dev
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/pyright --pythonpath $(BIN)/python --project tests/pyrightconfig.json

unit: .venv/ready-dev
	$(BIN)/python -m pytest -rs --numprocesses $(JOBS) --dist loadfile $(ONLY)

# The simulator's tests, with programs executed in Python as if llvmlite were not installed. Those that take minutes then are
# in SLOW_WITHOUT_LLVM: make without-llvm ONLY='$(SLOW_WITHOUT_LLVM)'
WITHOUT_LLVM := tests/unit/sim $(patsubst %,tests/e2e/test_%.py,block_floats clock device_stories dma_compression \
  drop_in_guards gemm_sizes host_arrays iron_reconfiguration iron_runtime_sizes limits memcpy memcpy_random \
  memcpy_tile_dmas objectfifo_pools objectfifos packet_convergence queue_guards random_designs reconfiguration \
  runtime_fields runtime_lengths runtime_patterns seeded_bugs simulated_designs source_lines task_nests tracing)
SLOW_WITHOUT_LLVM := $(patsubst %,tests/e2e/test_%.py,gemm_designs iron_examples random_sequences report_page)

without-llvm: .venv/ready-dev
	$(BIN)/python -m pytest --without-llvm --numprocesses $(JOBS) --dist loadfile $(or $(ONLY),$(WITHOUT_LLVM))

bench: .venv/ready-dev
	@$(BIN)/python bench/run.py $(if $(QUICK),--quick) $(ONLY)

fuzz: .venv/ready-dev
	@PYTHONPATH=tests $(BIN)/python -m fuzz $(SECONDS:%=--seconds %) $(N:%=--total %) $(TARGETS:%=--targets %)

docs: .venv/ready-dev
	TILEWRIGHT_REFRESH_DOCS=1 $(BIN)/python -m pytest tests/unit/test_docs.py
	$(BIN)/python docs/clock.py
	$(BIN)/python docs/dma_tables.py
	$(BIN)/python docs/containers.py
	$(BIN)/python docs/shim_dma.py
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/notebooks.py
	$(BIN)/python docs/air_pictures.py

pictures: .venv/ready-dev
	$(BIN)/python docs/pictures.py

site: .venv/ready-dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --site-dir build/site/$(or $(VERSION),latest)
	@echo build/site/index.html

site-serve: .venv/ready-dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

format: .venv/ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: | .venv/bin/pip
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/tilewright-*.whl

release: .venv/ready-dev
	@$(BIN)/python tools/release.py $(if $(REHEARSE),--rehearse)

matrix: | .venv/bin/pip
	@$(BIN)/python tools/matrix.py $(if $(ONLY),--only $(ONLY))

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis

.venv/ready: pyproject.toml | .venv/bin/pip
	@echo "installing tilewright into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/ready-dev: pyproject.toml | .venv/bin/pip
	@echo "installing tilewright and its development tools into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch .venv/ready $@

# Debian keeps ensurepip in a package of its own. Where that is missing, the pip beside the interpreter serves, and where
# there is none either, root can install the package.
.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tilewright needs Python 3.11 or newer")'
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 \
	|| { $(PYTHON) -m venv --clear --without-pip .venv \
	     && $(PYTHON) -m pip --python .venv/bin/python install --quiet --disable-pip-version-check pip; } 2>/dev/null \
	|| { apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv --clear .venv; } \
	|| { echo "make: no virtual environment: install python3-venv or pip for $(PYTHON)" >&2; exit 1; }
