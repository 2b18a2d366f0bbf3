# Every target is a thin line over `python -m grader`. Without make, run that instead.
# The first use of a target creates the virtual environment, with what the target needs.

PYTHON ?= python3
VENV ?= .venv
STEP ?=
ANSWER ?=
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
ALL ?=
BASE ?=
CORPUS ?=
MOST ?=
JOBS ?=
ISOLATION ?=
SCHEDULER ?=
BENCH ?= check watch explore notebook submission classes
WEIGHTS ?=
HTML ?=
PROMPT ?=
TOKENS ?=
# A variable of the environment may have been set for something else.
GIVEN := $(if $(filter command,$(origin SEED)),$(SEED))
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
RUN := $(BIN)/python -m grader
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Workers write no bytecode, so without this each of them would compile its own modules anew.
COMPILE := $(BIN)/python -m compileall -q grader tests/visible
# The CPU build of torch, or the default index's if that index does not answer.
TORCH := --retries 0 --extra-index-url https://download.pytorch.org/whl/cpu torch==2.13.0

.PHONY: check watch list hint quiz reset handin lab exam gpt2 llama leakmap costs train grade course
.PHONY: export serve nbgrader release gradescope proof causes build book test coverage lint bench setup
.PHONY: clean try look write review solution explore bonus help case recap same
.DEFAULT_GOAL := check

##@ Every day

check: $(VENV)/.light   ## run the visible checks on your exercises
	@$(RUN) check $(STEP) $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

watch: $(VENV)/.light   ## run them on every save
	@$(RUN) watch $(if $(SUBMISSION),--submission "$(SUBMISSION)")

hint: $(VENV)/.light   ## STEP=3: give the next hint for that step
	@$(RUN) hint $(STEP) $(if $(ANSWER),"$(ANSWER)") $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

try: $(VENV)/.light   ## STEP=3: run its "try first" lines, then stay at a prompt
	@$(RUN) try $(STEP)

quiz: $(VENV)/.light   ## STEP=3: ask about that lesson; STEP=3b ANSWER=12 answers
	@$(RUN) quiz $(if $(ANSWER),"$(STEP)" "$(ANSWER)",$(STEP)) || test $$? -eq 1

look: $(VENV)/.light   ## STEP=5: draw what your functions do, in the terminal
	@$(RUN) look $(STEP)

##@ Student

list: $(VENV)/.light   ## list the steps and how far each is
	@$(RUN) list $(if $(SUBMISSION),--submission "$(SUBMISSION)")

case: $(VENV)/.light   ## STEP=5: write that step's first failing case as a small program
	@$(RUN) case $(STEP)

review: $(VENV)/.light   ## ask again about finished steps: two minutes, when it is due
	@$(RUN) review

recap: $(VENV)/.light   ## look back on a part that you finished; STEP=part1
	@$(RUN) recap $(STEP)

bonus: $(VENV)/.light   ## check the exercises beyond the steps, in exercises/bonus.py
	@$(RUN) bonus

solution: $(VENV)/.light   ## STEP=3: show the solution, once yours passes or after the last hint
	@$(RUN) solution $(STEP) $(if $(SUBMISSION),--submission "$(SUBMISSION)")

reset: $(VENV)/.light   ## STEP=3: put the stub back and keep the old file
	@$(RUN) reset $(STEP)

handin: $(VENV)/.light   ## write a zip to hand in, and a receipt
	@$(RUN) handin --out "$(HANDIN)" $(if $(SUBMISSION),--submission "$(SUBMISSION)")

lab: $(VENV)/.lab   ## open the notebooks in JupyterLab, at your first unfinished step or STEP=3
	@$(RUN) lab $(STEP) $(ARGS)

exam: $(VENV)/.exam   ## run the hidden checks on your exercises, on new inputs
	@$(RUN) check $(STEP) --suite hidden $(if $(GIVEN),--seed $(GIVEN)) $(if $(SUBMISSION),--submission "$(SUBMISSION)")

##@ Demos

write: $(VENV)/.light   ## let steps 1 to 8 write a story: PROMPT="the owl", SEED=2
	@$(RUN) write $(if $(filter command,$(origin PROMPT)),--prompt "$(PROMPT)") $(if $(filter command,$(origin SEED)),--seed $(SEED))

leakmap: $(VENV)/.light   ## draw what one layer without a mask lets through; STEP=5: your own functions
	@$(RUN) leakmap $(STEP) $(if $(HTML),--html "$(HTML)") $(if $(SUBMISSION),--submission "$(SUBMISSION)")

explore: $(VENV)/.light   ## show in a browser what your functions do with your words: PROMPT="the fox has a key"
	@$(RUN) explore $(if $(filter command environment,$(origin PROMPT)),--prompt "$(PROMPT)") $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

costs: $(VENV)/.light   ## count what the next token costs, with a cache and without; from step 13 on
	@$(RUN) costs $(if $(SUBMISSION),--submission "$(SUBMISSION)")

train: $(VENV)/.light   ## train your decoder: TEXT=file, STEPS=400, OUT=trained, CHEAT=1, HTML=page.html
	@$(RUN) train $(if $(TEXT),--text "$(TEXT)") $(if $(STEPS),--steps $(STEPS)) $(if $(OUT),--out "$(OUT)") $(if $(CHEAT),--cheat) $(if $(HTML),--html "$(HTML)") $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

gpt2: $(VENV)/.gpt2   ## run GPT-2 on your exercises: PROMPT="Once upon a time", WEIGHTS=folder, TOKENS=100
	@$(RUN) gpt2 $(if $(WEIGHTS),--weights "$(WEIGHTS)") $(if $(filter command environment,$(origin PROMPT)),--prompt "$(PROMPT)") $(if $(TOKENS),--tokens $(TOKENS)) $(if $(GIVEN),--seed $(GIVEN)) $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

llama: $(VENV)/.gpt2   ## run a model of the Llama family on step 25, likewise
	@$(RUN) llama $(if $(WEIGHTS),--weights "$(WEIGHTS)") $(if $(filter command environment,$(origin PROMPT)),--prompt "$(PROMPT)") $(if $(TOKENS),--tokens $(TOKENS)) $(if $(GIVEN),--seed $(GIVEN)) $(if $(SUBMISSION),--submission "$(SUBMISSION)") $(ARGS)

##@ Instructor

# Status 1 means that nopeek could not grade somebody, whom it lists. For make this is a success.
grade: $(VENV)/.grade $(if $(SCHEDULER),$(VENV)/.cluster)   ## SUBMISSIONS=folder: grade a class into OUT=graded; COURSE=course.toml
	@$(if $(SUBMISSIONS),,echo "Which class? make grade SUBMISSIONS=folder"; exit 2)
	@$(RUN) grade "$(SUBMISSIONS)" $(if $(OUT),--out "$(OUT)") $(if $(COURSE),--course "$(COURSE)") $(if $(ROSTER),--roster "$(ROSTER)") $(if $(JOBS),--jobs $(JOBS)) $(if $(GIVEN),--seed $(GIVEN)) $(if $(ISOLATION),--isolation $(ISOLATION)) $(if $(SCHEDULER),--scheduler $(SCHEDULER)) $(foreach number,$(STEP),--step $(number)) $(ARGS) || test $$? -eq 1

course: $(VENV)/.light   ## COURSE=course.toml: check an assignment file
	@$(RUN) course $(if $(COURSE),"$(COURSE)")

export: $(VENV)/.grade   ## FORMAT=canvas INTO=file COLUMN="Title (1)" OUT=file: export the grades in GRADED=graded
	@$(RUN) export "$(GRADED)" $(if $(FORMAT),--format $(FORMAT)) $(if $(INTO),--into "$(INTO)") $(if $(COLUMN),--column "$(COLUMN)") $(if $(OUT),--out "$(OUT)") $(ARGS)

serve: $(VENV)/.grade   ## open the class in GRADED=graded in a browser, to change grades by hand
	@$(RUN) serve "$(GRADED)" $(ARGS)

release: $(VENV)/.light   ## write the students' bundle into RELEASE=release; STEP=part1 or COURSE=course.toml
	@$(RUN) release $(STEP) --out "$(RELEASE)" $(if $(COURSE),--course "$(COURSE)")

gradescope: $(VENV)/.light   ## write an autograder for Gradescope into OUT=autograder.zip; STEP, COURSE as for release
	@$(RUN) release $(STEP) --gradescope "$(if $(OUT),$(OUT),autograder.zip)" $(if $(COURSE),--course "$(COURSE)")

nbgrader: $(VENV)/.nbgrader   ## install what notebooks/nbgrader needs; COURSE=course.toml OUT=folder writes an assignment
	@$(if $(COURSE),$(RUN) nbgrader "$(COURSE)" $(if $(OUT),--out "$(OUT)"),echo ". $(BIN)/activate; cd notebooks/nbgrader; nbgrader generate_assignment step02_scores")

##@ Contributor

proof: $(VENV)/.exam   ## show that known mistakes fail and fair variants pass
	@$(RUN) proof $(STEP)

causes: $(VENV)/.exam   ## count how many mistakes are named, and how many rightly; takes minutes
	@$(RUN) proof $(STEP) --causes

build: $(VENV)/.build   ## generate stubs, notebooks, stored values and the screens in the guides
	@$(RUN) build

book: $(VENV)/.book   ## build the lessons and guides as a site into OUT=site
	@$(RUN) book $(if $(OUT),--out "$(OUT)")

test: $(VENV)/.test   ## the tests of the kit, in minutes; ALL=1 for every one, FAST=1 for those of single modules
	@$(COMPILE)
	@PYTHONDONTWRITEBYTECODE= NOPEEK_TEST_ALL=$(ALL) $(BIN)/python -m pytest -n 3 --dist worksteal $(if $(FAST),tests/unit) $(ARGS)

same: $(VENV)/.test   ## BASE=commit: list what the grader now says otherwise of all corpora; STEP=3, CORPUS=wrong for less, ALL=1 for every variant
	@$(if $(BASE),,echo "Which commit? make same BASE=commit"; exit 2)
	@NOPEEK_TEST_ALL=$(ALL) $(BIN)/python -m tests.sameness "$(BASE)" $(foreach one,$(STEP),--step $(one)) $(foreach one,$(CORPUS),--corpus $(one)) $(if $(MOST),--most $(MOST))

coverage: $(VENV)/.test   ## list which lines the unit tests run; ARGS=tests runs all tests
	@$(PIP) --editable '.[coverage]'
	@$(BIN)/python -m coverage run -m pytest $(if $(ARGS),$(ARGS),tests/unit)
	@$(BIN)/python -m coverage report

lint: $(VENV)/.lint   ## run ruff, mypy, the import contract and the check of the English
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(RUN) dev english

bench: $(VENV)/.test   ## measure how long things take; BENCH=check runs one measurement
	@for name in $(BENCH); do echo; echo "== $$name"; $(BIN)/python tests/bench/$$name.py || exit 1; done

setup: $(VENV)/.test $(VENV)/.lint   ## install everything

clean:   ## remove .venv
	rm -rf $(VENV)

help:   ## list the commands for every day; ALL=1 for all
	@awk -F ':.*## ' '/^##@/ { if ("$(ALL)" == "" && ++groups > 1) exit; printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9]+:.*## / { line = sprintf("  make %-11s", $$1); n = split($$2, words, " "); \
	    for (i = 1; i <= n; i++) { if (length(line words[i]) > 78) { print line; line = sprintf("%18s", "") } \
	      line = line " " words[i] } print line }' $(MAKEFILE_LIST)
	@$(if $(ALL),,echo; echo '`make help ALL=1` lists all commands.')

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "nopeek needs Python 3.10 or newer: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 2; }
	@echo "Setting up $(VENV), once ..."
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "Python's venv is missing: on Debian or Ubuntu, sudo apt install python3-venv"; exit 2; }
	@touch $@

$(VENV)/.light: $(VENV)/.venv pyproject.toml
	@$(PIP) --editable .
	@$(COMPILE)
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
