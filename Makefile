# Both commands do all of their own set-up: a virtual environment, the packages, and for the tests a broker.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # else each of the many processes of the tests compiles all sources anew
INSTALL ?= $(BIN)/python -m pip install --quiet --no-compile
EXTRAS ?= dev
PROGRAMS ?= mosquitto chromium promtool
comma := ,
CLUSTER := --override-ini "addopts=--doctest-modules --strict-markers --strict-config -ra --ignore=tests/cluster/spark/soak.py" \
	--override-ini filterwarnings=default tests/cluster/spark streamfs/cluster/spark
QUICK := classifiers costs data engine evaluation feature_extractors gateway/core gateway/messages gateway/settings \
	oracles procedure relief selection sensors_sim

.PHONY: demo demo-devices demo-node test programs test-cluster cluster-soak collected quick check kernels mutants fuzz simulate docs snippets lock screenshots release-check wheels matrix \
	bench soak device-kills standby-kills clean

demo: $(VENV)/demo
	$(BIN)/streamfs demo

# Simulated devices of all profiles and a gateway on a real broker, for some seconds.
demo-devices: $(VENV)/dev
	@sh tests/install.sh mosquitto
	PYTHONPATH=.:tests $(BIN)/python tests/helpers/demo_devices.py

# A fleet of which half decides by itself, by the model in C, beside the same fleet that a gateway decides.
demo-node: $(VENV)/dev
	@sh tests/install.sh mosquitto
	PYTHONPATH=.:tests $(BIN)/python tests/helpers/demo_node.py

test:
	@$(MAKE) --jobs 2 $(VENV)/dev programs
	@$(MAKE) --jobs 2 check collected
	$(BIN)/pytest --numprocesses 4 --dist worksteal

programs:
	@sh tests/install.sh $(PROGRAMS)

# Build the kernels in C again if their sources have changed, and compile most others before several processes would
# each do so; with a cache it takes two seconds.
kernels: $(VENV)/dev
	@STREAMFS_KERNELS=c $(BIN)/python -c 'import feature_extractors._compiled as k; k.in_c()' 2>/dev/null \
		|| $(INSTALL) --no-deps --editable .
	PYTHONPATH=.:tests $(BIN)/python tests/helpers/compile_kernels.py

# Collect the tests once, so that they are compiled before several processes would each do so.
collected: kernels
	@$(BIN)/pytest --collect-only --quiet > /dev/null

# The unit tests of the rooms, with few examples of each law: no broker, no processes, no long training.
quick: $(VENV)/dev
	$(BIN)/pytest --numprocesses 2 --dist worksteal --hypothesis-profile quick -m "not slow and not mqtt" \
		$(addprefix tests/,$(QUICK))

check: $(VENV)/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Change one place of a room at a time, and count how many changes its tests notice.
mutants: $(VENV)/mutants
	$(BIN)/python tests/house/mutants.py

# Fuzz each parser of what comes from outside for a minute, guided by coverage.
fuzz: $(VENV)/fuzz
	@for target in $$(ls tests/fuzz/corpus); do \
		PYTHONPATH=.:tests $(BIN)/python tests/fuzz/fuzz.py $$target 60 || exit 1; \
	done

# The tests that need Spark, or those named ONLY; they install it, and Java 17 by the system's packages.
test-cluster: $(VENV)/cluster
	@sh tests/install.sh java mosquitto
	$(BIN)/pytest $(CLUSTER) $(if $(ONLY),-k "$(ONLY)")

# Kill executors, drivers and a gateway while a million samples, and live readings, are decided on Spark.
cluster-soak: $(VENV)/cluster
	@sh tests/install.sh java mosquitto
	PYTHONPATH=.:tests:tests/faults:tests/cluster/spark $(BIN)/python tests/cluster/spark/soak.py

# Run the gateway in simulated worlds for SECONDS, and shrink those in which something is wrong; with fresh seeds, or
# those from FIRST on, or those after the ones that are noted in the file LEDGER.
SECONDS ?= 60
simulate: $(VENV)/dev
	PYTHONPATH=.:tests $(BIN)/python tests/world/simulate.py --seconds $(SECONDS) $(if $(FIRST),--first $(FIRST)) \
		$(if $(LEDGER),--ledger $(LEDGER))

docs: $(VENV)/docs
	$(BIN)/mkdocs build

# Run the snippets of the documentation, and those that take too long for each test run.
snippets: $(VENV)/dev
	STREAMFS_ALL_SNIPPETS=1 $(BIN)/pytest --quiet tests/house/test_snippets.py -k "snippets"

# Take the pictures of the page anew, in Chromium.
screenshots: $(VENV)/dev
	@sh tests/install.sh chromium
	STREAMFS_SCREENSHOTS=docs/images $(BIN)/pytest --quiet tests/page/test_browser.py -k "themes"

# Pin what the image installs, to the newest versions that fit, with the hashes of all their files.
lock: $(VENV)/python
	$(INSTALL) uv
	echo 'setuptools>=77' | $(BIN)/uv pip compile --quiet --upgrade --python-version 3.11 --python-platform linux \
		--generate-hashes --no-annotate --extra train --extra gateway --extra page --extra sign --custom-compile-command "make lock" \
		--output-file deploy/requirements.txt pyproject.toml -

# Build the wheel, install it into an empty environment as a stranger would, and run the demo from there. Install it as
# the image does, too, and write the image's bill of materials (CycloneDX).
release-check: $(VENV)/dev
	rm -rf dist
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv dist/stranger
	dist/stranger/bin/python -m pip install --quiet "$$(ls dist/*.whl)[demo]"
	cd dist && stranger/bin/streamfs --version && stranger/bin/streamfs demo
	$(PYTHON) -m venv dist/image
	dist/image/bin/python -m pip install --quiet --require-hashes --requirement deploy/requirements.txt
	dist/image/bin/python -m pip install --quiet --no-deps --no-build-isolation .
	dist/image/bin/streamfs --version
	$(BIN)/python -m pip install --quiet cyclonedx-bom
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-file dist/streamfs.cdx.json dist/image/bin/python

# Build wheels for aarch64 and armv7, and compare their decisions with those of this machine, where qemu-user is.
wheels: $(VENV)/cross
	PYTHONPATH=.:tests $(BIN)/python tests/helpers/cross_wheels.py dist/cross

# Compile exported models by each compiler that is installed, and run their tests, emulated where there is qemu-user.
matrix: $(VENV)/cross
	@PYTHONPATH=.:tests $(BIN)/python tests/helpers/node_matrix.py

bench: $(VENV)/bench
	$(BIN)/python benchmarks/results.py

soak: $(VENV)/dev
	@sh tests/install.sh mosquitto
	$(BIN)/python benchmarks/soak.py

# Kill gateway, guard, broker and devices at random, KILLS times, while streams begin and end to need the devices.
KILLS ?= 200
device-kills: $(VENV)/dev
	@sh tests/install.sh mosquitto
	PYTHONPATH=.:tests:tests/faults $(BIN)/python tests/faults/device_kills.py --kills $(KILLS)

# Kill gateways, whose disks are then gone, KILLS times, each followed by its standby.
standby-kills: $(VENV)/dev
	@sh tests/install.sh mosquitto
	PYTHONPATH=.:tests:tests/faults $(BIN)/python tests/faults/standby_kills.py --kills $(KILLS)

clean:
	find . -name '*.nb[ci]' -delete  # compiled kernels
	rm -f feature_extractors/_serving*.so
	rm -rf $(VENV) build dist streamfs-demo *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "streamfs needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV) || { echo "no venv module: on Debian, apt-get install python3-venv" >&2; exit 1; }
	touch $@

$(VENV)/demo: $(VENV)/python pyproject.toml
	$(INSTALL) --editable '.[demo]'
	touch $@

# What is installed into an environment for tests leaves streamfs there as it is: else its kernels would be built again.
$(VENV)/mutants: $(VENV)/dev
	$(INSTALL) 'streamfs[mutants]'
	touch $@

$(VENV)/fuzz: $(VENV)/dev
	$(INSTALL) 'streamfs[fuzz]'
	touch $@

$(VENV)/cluster: $(VENV)/dev
	$(INSTALL) 'streamfs[cluster]'
	touch $@

$(VENV)/cross: $(VENV)/dev
	$(INSTALL) 'setuptools>=77' wheel ziglang
	touch $@

$(VENV)/bench: $(VENV)/dev
	$(INSTALL) 'streamfs[bench]'
	touch $@

$(VENV)/docs: $(VENV)/python pyproject.toml
	$(INSTALL) --editable '.[docs]'
	touch $@

$(VENV)/dev: $(VENV)/python pyproject.toml setup.py backend.py
	$(INSTALL) --editable '.[$(EXTRAS)]'
	$(INSTALL) --no-deps 'aeon>=1.6' Deprecated wrapt  # aeon asks for older packages than it runs with
	touch $(VENV)/demo $(addprefix $(VENV)/,$(subst $(comma), ,$(EXTRAS)))
