# make demo   everything but the training of the demo models, whose weights are stored in the repository
# make train    trains the demo models again
# make test   all tests
# make fuzz   damaged files for every reader, 30 minutes of processor time each in all (MINUTES=5: fewer); goes on where
#             its log ends
# make flips  bits turned in a copy of all results here, after make demo or dvc pull: docs/corruption.md
# make crash  kills runs, fills disks and the like, some hours on two cores: docs/reliability.md; SEED=2 tries other
#             points, CRASH=FOLDER keeps them elsewhere
# make scale  what the full matrix costs: runs at parts of it (PARTS="1000 100 10"), the engines on all of it
# make reproduce   two clones, two engines, every byte compared (PROFILE=small takes minutes, the demo longer)
# make slurm  the pipeline on a real Slurm of this machine, disturbed; needs root, slurm-wlm and munge (Debian)
# PYTHON=python3.12 chooses the interpreter, TORCH=cpu|cuda the build of torch (default: what fits), CORES=4 how
# many stages of the demo run at once
PYTHON ?= python3
TORCH ?= auto
CORES ?= 2
MINUTES ?= 30
SEED ?= 1
CRASH ?= $(or $(TMPDIR),/tmp)/vouch-crash
PARTS ?= 1000 100
PROFILE ?= demo
RUN := PATH="$(CURDIR)/.venv/bin:$$PATH" HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
BENCHMARKS := $(basename $(notdir $(wildcard benchmarks/[a-z]*.py)))

.PHONY: demo train test fuzz crash scale reproduce slurm install browser servers flips bench lint lock clean

demo: install
	@$(RUN) dvc pull --quiet train || echo "demo: not all stored weights came; what is missing is trained"
	@$(RUN) snakemake --quiet all --cores $(CORES) train vary
	@$(RUN) vouch store warm --jobs $(CORES)
	@$(RUN) snakemake --quiet all --cores $(CORES)
	@$(RUN) vouch show

train: install
	@$(RUN) dvc repro --force train

test: install lint browser servers
	@$(RUN) python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

fuzz: install
	@$(RUN) python -m tests.fuzz --minutes $(MINUTES)

install:
	@TORCH=$(TORCH) $(PYTHON) tools/install.py

browser:
	@$(PYTHON) tools/browser.py

servers:
	@$(PYTHON) tools/servers.py

flips: install
	@$(RUN) python -m tools.flips

lint: install
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy

bench: install
	@for name in $(BENCHMARKS); do $(RUN) python -m benchmarks.$$name || exit 1; done

crash: install
	@$(RUN) python -m tools.crash --seed $(SEED) $(CRASH)

scale: install
	@$(RUN) python -m tools.scale $(PARTS)
	@$(RUN) python -m benchmarks.engines

reproduce: install
	@$(RUN) python -m tools.reproduce $(PROFILE)

slurm: install
	@$(RUN) python -m tools.slurm docs/cluster-log.txt

lock: install
	@$(RUN) pip install --quiet uv
	@$(RUN) python tools/lock.py

clean:
	rm -rf .venv .vouch/stamps build *.egg-info
