# Every target is a thin line over `python -m grader`; where there is no make, run that instead.
# The virtual environment is made on first use, with what the target needs and nothing more.

PYTHON ?= python3
VENV ?= .venv
STEP ?=
ANSWER ?=
SEED ?=
SUBMISSION ?=
SUBMISSIONS ?=
OUT ?=
COURSE ?=
ROSTER ?=
FORMAT ?=
INTO ?=
COLUMN ?=
GRADED ?= graded
HANDIN ?= handin.zip
RELEASE ?= release
FAST ?=
JOBS ?=
ISOLATION ?=
SCHEDULER ?=
BENCH ?= bench notebook sandboxes where_time_goes coordinator classes autograding gpt2
WEIGHTS ?=
HTML ?=
PROMPT ?=
TOKENS ?=
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
RUN := $(BIN)/python -m grader
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The CPU build of torch where that index answers; what the default index has where it does not.
TORCH := --retries 0 --extra-index-url https://download.pytorch.org/whl/cpu torch==2.13.0

.PHONY: check watch list hint quiz reset handin lab exam gpt2 llama leakmap costs train grade course
.PHONY: export serve nbgrader release gradescope proof causes build book test coverage lint bench setup
.PHONY: clean look bonus solution explore
.DEFAULT_GOAL := check

check: $(VENV)/.light   ## my exercises against the visible checks
	@$(RUN) check $(STEP) $(if $(SUBMISSION),--submission "$(SUBMISSION)")

watch: $(VENV)/.light   ## the same on every save, at once
	@$(RUN) watch $(if $(SUBMISSION),--submission "$(SUBMISSION)")

list: $(VENV)/.light   ## the steps and their state
	@$(RUN) list

hint: $(VENV)/.light   ## STEP=3: the next hint for that step
	@$(RUN) hint $(STEP)

quiz: $(VENV)/.light   ## STEP=3: questions about that lesson; STEP=3b ANSWER=12 to answer one
	@$(RUN) quiz $(STEP) $(if $(ANSWER),"$(ANSWER)")

look: $(VENV)/.light   ## STEP=5: what my functions do, drawn in the terminal
	@$(RUN) look $(STEP)

bonus: $(VENV)/.light   ## exercises beyond the steps, in exercises/bonus.py
	@$(RUN) bonus

solution: $(VENV)/.light   ## STEP=3: the kit's solution, once mine passes or after the last hint
	@$(RUN) solution $(STEP) $(if $(SUBMISSION),--submission "$(SUBMISSION)")

reset: $(VENV)/.light   ## STEP=3: the stub back; the old file is kept aside
	@$(RUN) reset $(STEP)

handin: $(VENV)/.light   ## a zip to hand in, with the right names, and a receipt
	@$(RUN) handin --out "$(HANDIN)" $(if $(SUBMISSION),--submission "$(SUBMISSION)")

lab: $(VENV)/.lab   ## JupyterLab on the notebooks
	@$(RUN) lab $(ARGS)

leakmap: $(VENV)/.light   ## what one layer without a mask lets through
	@$(RUN) leakmap $(if $(WEIGHTS),--weights "$(WEIGHTS)") $(if $(SUBMISSION),--submission "$(SUBMISSION)")

explore: $(VENV)/.light   ## a page on what my own decoder does with my own words: PROMPT="the fox has a key"
	@$(RUN) explore $(if $(filter command environment,$(origin PROMPT)),--prompt "$(PROMPT)") $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

costs: $(VENV)/.light   ## what the next token costs, with a cache and without
	@$(RUN) costs $(if $(SUBMISSION),--submission "$(SUBMISSION)")

train: $(VENV)/.light   ## my decoder learns a text: TEXT=file, STEPS=400, OUT=trained, CHEAT=1, HTML=page.html
	@$(RUN) train $(if $(TEXT),--text "$(TEXT)") $(if $(STEPS),--steps $(STEPS)) $(if $(OUT),--out "$(OUT)") $(if $(CHEAT),--cheat) $(if $(HTML),--html "$(HTML)") $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

exam: $(VENV)/.exam   ## my exercises as they would be graded: hidden checks, fresh seed
	@$(RUN) check $(STEP) --suite hidden $(if $(SEED),--seed $(SEED)) $(if $(SUBMISSION),--submission "$(SUBMISSION)")

gpt2: $(VENV)/.gpt2   ## GPT-2 on my exercises: PROMPT="Once upon a time", WEIGHTS=folder, TOKENS=100
	@$(RUN) gpt2 $(if $(WEIGHTS),--weights "$(WEIGHTS)") $(if $(filter command environment,$(origin PROMPT)),--prompt "$(PROMPT)") $(if $(TOKENS),--tokens $(TOKENS)) $(if $(SEED),--seed $(SEED)) $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

llama: $(VENV)/.gpt2   ## the same with a model of the Llama family, on step 25
	@$(RUN) llama $(if $(WEIGHTS),--weights "$(WEIGHTS)") $(if $(PROMPT),--prompt "$(PROMPT)") $(if $(TOKENS),--tokens $(TOKENS)) $(if $(SEED),--seed $(SEED)) $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

# Status 1 says that somebody could not be graded, who is listed: that is no failure of make.
grade: $(VENV)/.grade $(if $(SCHEDULER),$(VENV)/.cluster)   ## SUBMISSIONS=folder: a class, into OUT=graded; COURSE=course.toml
	@$(if $(SUBMISSIONS),,echo "Which class? make grade SUBMISSIONS=folder"; exit 2)
	@$(RUN) grade "$(SUBMISSIONS)" $(if $(OUT),--out "$(OUT)") $(if $(COURSE),--course "$(COURSE)") $(if $(ROSTER),--roster "$(ROSTER)") $(if $(JOBS),--jobs $(JOBS)) $(if $(SEED),--seed $(SEED)) $(if $(ISOLATION),--isolation $(ISOLATION)) $(if $(SCHEDULER),--scheduler $(SCHEDULER)) $(foreach number,$(STEP),--step $(number)) $(ARGS) || test $$? -eq 1

course: $(VENV)/.light   ## COURSE=course.toml: look through an assignment file
	@$(RUN) course $(if $(COURSE),"$(COURSE)")

export: $(VENV)/.grade   ## FORMAT=canvas INTO=file COLUMN="Title (1)" OUT=file: the grades in GRADED=graded for another program
	@$(RUN) export "$(GRADED)" $(if $(FORMAT),--format $(FORMAT)) $(if $(INTO),--into "$(INTO)") $(if $(COLUMN),--column "$(COLUMN)") $(if $(OUT),--out "$(OUT)") $(ARGS)

serve: $(VENV)/.grade   ## the class in GRADED=graded in a browser, to change grades by hand
	@$(RUN) serve "$(GRADED)" $(ARGS)

release: $(VENV)/.exam   ## the bundle for students, into RELEASE=release; STEP=part1 for some steps, or COURSE=course.toml
	@$(RUN) release $(STEP) --out "$(RELEASE)" $(if $(COURSE),--course "$(COURSE)")

gradescope: $(VENV)/.exam   ## the autograder for Gradescope, into OUT=autograder.zip; STEP, COURSE as for release
	@$(RUN) release $(STEP) --gradescope "$(if $(OUT),$(OUT),autograder.zip)" $(if $(COURSE),--course "$(COURSE)")

nbgrader: $(VENV)/.nbgrader   ## everything for the course in notebooks/nbgrader; COURSE=course.toml OUT=folder for an assignment
	@$(if $(COURSE),$(RUN) nbgrader "$(COURSE)" $(if $(OUT),--out "$(OUT)"),echo ". $(BIN)/activate; cd notebooks/nbgrader; nbgrader generate_assignment step02_scores")

proof: $(VENV)/.exam   ## every known mistake rejected, every fair variant accepted
	@$(RUN) proof $(STEP)

causes: $(VENV)/.exam   ## how many mistakes are named, and how rightly; takes minutes
	@$(RUN) proof $(STEP) --causes

build: $(VENV)/.build   ## stubs, notebooks and stored values from the solutions
	@$(RUN) build

book: $(VENV)/.book   ## the lessons and guides as a site, into OUT=site
	@$(RUN) book $(if $(OUT),--out "$(OUT)")

test: $(VENV)/.test   ## the tests of the kit; FAST=1 for those of single modules
	@$(BIN)/python -m pytest -n 2 --dist worksteal $(if $(FAST),tests/unit) $(ARGS)

coverage: $(VENV)/.test   ## which lines the tests of single modules run; ARGS=tests for all
	@$(PIP) --editable '.[coverage]'
	@$(BIN)/python -m coverage run -m pytest $(if $(ARGS),$(ARGS),tests/unit)
	@$(BIN)/python -m coverage report

lint: $(VENV)/.lint   ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

bench: $(VENV)/.test   ## how long things take, side by side; BENCH=bench for one of them
	@for name in $(BENCH); do echo; echo "== $$name"; $(BIN)/python tests/bench/$$name.py || exit 1; done

setup: $(VENV)/.test $(VENV)/.lint   ## everything

clean:
	rm -rf $(VENV)

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "nopeek needs Python 3.10 or newer: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 2; }
	@echo "Setting up $(VENV), once ..."
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "Python's venv is missing: on Debian or Ubuntu, sudo apt install python3-venv"; exit 2; }
	@touch $@

$(VENV)/.light: $(VENV)/.venv pyproject.toml
	@$(PIP) --editable .
	@touch $@

$(VENV)/.exam: $(VENV)/.light
	@echo "Installing torch, the reference of the hidden checks, once ..."
	@$(PIP) $(TORCH)
	@touch $@

$(VENV)/.gpt2: $(VENV)/.exam pyproject.toml
	@echo "Installing transformers, to compare with, once ..."
	@$(PIP) --editable '.[gpt2]'
	@touch $@

$(VENV)/.lab: $(VENV)/.light
	@echo "Installing JupyterLab, once ..."
	@$(PIP) --editable '.[lab]'
	@touch $@

$(VENV)/.build: $(VENV)/.exam
	@$(PIP) --editable '.[build]'
	@touch $@

$(VENV)/.book: $(VENV)/.light pyproject.toml
	@$(PIP) --editable '.[book]'
	@touch $@

$(VENV)/.grade: $(VENV)/.exam pyproject.toml
	@$(PIP) --editable '.[grade]'
	@touch $@

$(VENV)/.nbgrader: $(VENV)/.grade pyproject.toml
	@$(PIP) --editable '.[nbgrader]'
	@touch $@

$(VENV)/.cluster: $(VENV)/.grade
	@$(PIP) --editable '.[cluster]'
	@touch $@

$(VENV)/.test: $(VENV)/.cluster $(VENV)/.nbgrader
	@$(PIP) --editable '.[test]'
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	@$(PIP) --editable '.[lint]'
	@touch $@
