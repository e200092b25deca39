# gdsim: build, run, test. Everything generated goes under out/.
#
#   make run      install what is missing, build, print the worked table
#   make test     install what is missing, build, run every test
#   make mpi-test the sweep under MPI (MPI=1 builds out/build/mpicc-release/bin/gdsim)
#   MODE=release|debug|asan|tsan|cov   CC=gcc|clang   V=1 shows the commands

MODE   ?= release
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
# MPI=1: gdsim sweep under mpirun. The default build knows nothing of MPI.
MPI ?= 0
ifeq ($(MPI),1)
CC := mpicc
endif
V ?= 0
Q := $(if $(filter 0,$(V)),@,)

BUILD := out/build/$(notdir $(CC))-$(MODE)
BIN   := out/bin
ifneq ($(MODE)-$(notdir $(CC)),release-gcc)
BIN   := $(BUILD)/bin
endif

# ---- tool chain ------------------------------------------------------------------------------
# A field that an initializer does not name is zero in C: no warning for that.
WARN := -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wconversion \
        -Wdouble-promotion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef -Wcast-qual -Wwrite-strings -Werror
OPT_release := -O2 -g
OPT_debug   := -O0 -g
OPT_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_tsan    := -O1 -g -fsanitize=thread
OPT_cov     := -O0 -g --coverage
OPT_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
# -ffp-contract=off: the same bits from gcc and clang, with and without FMA units.
CFLAGS_ALL = -std=c17 -D_XOPEN_SOURCE=700 -ffp-contract=off $(OPT_$(MODE)) $(WARN) -I. \
             $(PKG_CFLAGS) $(if $(filter 1,$(MPI)),-DGDSIM_MPI) -MMD -MP $(CFLAGS)
PKGS := gsl yaml-0.1 lua5.4 jansson expat
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS   = $(shell pkg-config --libs $(PKGS)) -lcsv -lm -lpthread

# ---- sources: a new file in one of these folders is picked up by itself ------------------------
LIB_SRC := $(sort $(wildcard models/*.c sim/core/*.c sim/load/*.c sim/script/*.c sim/study/*.c \
                             sim/report/*.c))
CLI_SRC := $(sort $(wildcard sim/cli/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
HELP_SRC := $(sort $(wildcard tests/unit/help_*.c))
PROBE_SRC := $(sort $(wildcard probe/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
HELP_OBJ := $(HELP_SRC:%.c=$(BUILD)/%.o)
PROBE_OBJ := $(PROBE_SRC:%.c=$(BUILD)/%.o)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/%)
FUZZ_BIN := $(patsubst tests/fuzz/%.c,out/build/clang-fuzz/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
ALL_C := $(wildcard models/*.[ch] sim/*/*.[ch] tests/*/*.[ch] probe/*.[ch])

.PHONY: all run test unit validate fakes deps deps-dev deps-mpi mpi-test asan compilers fuzz bench format format-check \
        headers-check install clean help
.DEFAULT_GOAL := all
.SECONDARY:

all: $(BIN)/gdsim $(BIN)/gdprobe

run: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(BIN)/gdsim run scenarios/worked-table.yaml

test: deps
	$(Q)$(MAKE) --no-print-directory unit all fakes
	$(Q)GDSIM=$(BIN)/gdsim GDPROBE=$(BIN)/gdprobe BUILD=$(BUILD) tests/run.sh

unit: $(UNIT_BIN)

# Sanitizers: the whole test run, built with address and undefined-behaviour checks.
asan: deps
	$(Q)$(MAKE) --no-print-directory test MODE=asan

# The same bytes from gcc and clang builds.
compilers: deps-dev
	$(Q)$(MAKE) --no-print-directory all CC=gcc
	$(Q)$(MAKE) --no-print-directory all CC=clang
	$(Q)tests/compilers.sh out/bin/gdsim out/build/clang-release/bin/gdsim

# Predicted beside measured, in the README and, with every row, in out/validation.csv.
validate: all
	$(Q)UPDATE=1 GDSIM=$(BIN)/gdsim tests/docs.sh
	$(Q)$(BIN)/gdsim validate --brief -o out/validation.csv

# The same bytes from two processes as from one.
mpi-test: deps-mpi
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(MAKE) --no-print-directory all MPI=1
	$(Q)GDSIM=$(BIN)/gdsim MPI_GDSIM=out/build/mpicc-$(MODE)/bin/gdsim tests/mpi.sh

# Fuzz targets, each for FUZZ_SECONDS.
fuzz: deps-dev
	$(Q)$(MAKE) --no-print-directory CC=clang MODE=fuzz fuzz-targets
	$(Q)tests/fuzz/run.sh $(FUZZ_BIN)
fuzz-targets: $(FUZZ_BIN)

# ---- packages: asks the package manager nothing when all are there -----------------------------
DEB_PKGS := gcc make pkg-config libc6-dev libgsl-dev libyaml-dev liblua5.4-dev libcsv-dev \
            libjansson-dev libcmocka-dev libexpat1-dev
DEB_DEV_PKGS := clang clang-format libclang-rt-14-dev valgrind time bsdextrautils
DEB_MPI_PKGS := libopenmpi-dev openmpi-bin
deps:
	$(Q)tests/deps.sh $(DEB_PKGS)
deps-mpi:
	$(Q)tests/deps.sh $(DEB_PKGS) $(DEB_MPI_PKGS)
deps-dev:
	$(Q)tests/deps.sh $(DEB_PKGS) $(DEB_DEV_PKGS)

# ---- compile and link --------------------------------------------------------------------------
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  CC   $<",)
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(BUILD)/libgdsim.a: $(LIB_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

$(BIN)/gdsim: $(CLI_OBJ) $(BUILD)/libgdsim.a
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  LINK $@",)
	$(Q)$(CC) $(OPT_$(MODE)) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

# gdprobe: libc and libdl, so that it builds on any machine.
$(BUILD)/probe/%.o: PKG_CFLAGS =
$(BUILD)/libgdprobe.a: $(filter-out $(BUILD)/probe/main.o,$(PROBE_OBJ))
	$(Q)rm -f $@ && ar rcs $@ $^

$(BIN)/gdprobe: $(BUILD)/probe/main.o $(BUILD)/libgdprobe.a
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  LINK $@",)
	$(Q)$(CC) $(OPT_$(MODE)) $(LDFLAGS) -o $@ $^ -ldl

# Pretended vendors' libraries, and a program to be watched, for gdprobe's tests.
FAKES := $(addprefix $(BUILD)/fake/,libcuda.so.1 libnvidia-ml.so.1 libcufile.so.0 libgdrapi.so.2 \
                               libibverbs.so.1 traffic)
fakes: $(FAKES)
$(BUILD)/tests/probe/%.o: PKG_CFLAGS = -fPIC
$(BUILD)/fake/libcuda.so.1: $(BUILD)/tests/probe/fake_cuda.o
$(BUILD)/fake/libnvidia-ml.so.1: $(BUILD)/tests/probe/fake_nvml.o
$(BUILD)/fake/libcufile.so.0: $(BUILD)/tests/probe/fake_cufile.o
$(BUILD)/fake/libgdrapi.so.2: $(BUILD)/tests/probe/fake_gdrapi.o
$(BUILD)/fake/libibverbs.so.1: $(BUILD)/tests/probe/fake_verbs.o
$(BUILD)/fake/lib%:
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT_$(MODE)) -shared -o $@ $^ -lpthread
$(BUILD)/fake/traffic: $(BUILD)/tests/probe/traffic.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT_$(MODE)) -o $@ $^

$(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(HELP_OBJ) $(BUILD)/libgdsim.a $(BUILD)/libgdprobe.a
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  LINK $@",)
	$(Q)$(CC) $(OPT_$(MODE)) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -ldl -lcmocka

out/build/clang-fuzz/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/libgdsim.a $(BUILD)/libgdprobe.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT_$(MODE)) -fsanitize=fuzzer -o $@ $^ $(PKG_LIBS) -ldl

# ---- upkeep --------------------------------------------------------------------------------------
format: deps-dev
	$(Q)clang-format -i $(ALL_C)
format-check: deps-dev
	$(Q)clang-format --dry-run -Werror $(ALL_C) && echo "format: ok"
headers-check:
	$(Q)set -e; for h in $(filter %.h,$(ALL_C)); do \
	    $(CC) $(CFLAGS_ALL) -MF /dev/null -fsyntax-only -x c $$h; done; echo "headers: ok"

bench: deps-dev
	$(Q)$(MAKE) --no-print-directory all
	$(Q)GDSIM=$(BIN)/gdsim tests/bench/run.sh
	$(Q)GDSIM=$(BIN)/gdsim tests/bench/sweep.sh

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/gdsim/models
	install -m 755 $(BIN)/gdsim $(BIN)/gdprobe $(DESTDIR)$(PREFIX)/bin/
	cp -R models/catalog $(DESTDIR)$(PREFIX)/share/gdsim/models/
	cp -R lua scenarios $(DESTDIR)$(PREFIX)/share/gdsim/

clean:
	rm -rf out/build out/bin

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(HELP_OBJ:.o=.d) $(PROBE_OBJ:.o=.d) $(UNIT_SRC:%.c=$(BUILD)/%.d) \
         $(patsubst %.c,$(BUILD)/%.d,$(wildcard tests/fuzz/*.c tests/bench/*.c))
