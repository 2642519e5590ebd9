# The front door. Meson and Ninja do the work: see meson.build; `make help` lists what is here.

BUILD = build
# A meson that runs: the first in PATH may be a version manager's shim that does not.
MESON = $(shell for m in meson /usr/bin/meson; do \
	$$m --version >/dev/null 2>&1 && { echo $$m; break; }; done)
PREFIX ?= /usr/local

.PHONY: all build deps deps-check deps-bench deps-deb deps-soak deps-peers deps-optimize demo \
	screenshots check check-kernels check-peers check-releases bench soak dist deb tarball install \
	clean help

all: build

build:
	@tools/install-deps --check build
	@test -f $(BUILD)/build.ninja || $(MESON) setup $(BUILD) -Dtests=false --prefix=$(PREFIX)
	@$(MESON) compile -C $(BUILD)

deps:
	@tools/install-deps build

deps-check:
	@tools/install-deps build check

deps-bench:
	@tools/install-deps build bench

demo: deps
	@$(MAKE) --no-print-directory build
	@tools/demo $(BUILD)

# The pictures of the page that the documents show: docs/images.
screenshots: deps-check
	@$(MAKE) --no-print-directory build
	@tools/screenshots $(BUILD)

check: deps-check
	@tools/check

# Kernels of Debian, in qemu without KVM; as root.
check-kernels:
	@tools/check-kernels

# Other releases of Debian, in chroots; as root.
check-releases: build
	@tools/check-releases --build $(BUILD)

deps-peers:
	@tools/install-deps build peers

# What tests of `penumbra export` for optimizers read it with; `make check` skips them without.
deps-optimize:
	@tools/install-deps optimize

# Test suites of others, from Debian's source packages; for hours.
check-peers: deps-peers
	@$(MAKE) --no-print-directory build
	@tests/peers/run --build $(BUILD)

dist: build
	@tools/make-dist $(BUILD) dist

deps-deb:
	@tools/install-deps build deb

deb: deps-deb
	@$(MAKE) --no-print-directory dist
	@tools/make-deb dist

tarball: build
	@tools/check-releases --build $(BUILD) tarball

bench: deps-bench
	@$(MAKE) --no-print-directory build
	@python3 bench/run.py

deps-soak:
	@tools/install-deps build check soak

soak: deps-soak
	@tests/soak/run

install: build
	@$(MESON) install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) build-check dist

help:
	@echo "make          build penumbra into $(BUILD)/"
	@echo "make deps     install the Debian packages that building needs (apt-get, sudo)"
	@echo "make demo     install, build, record xz at work, print the report"
	@echo "make screenshots  the pictures of the page that the documents show, into docs/images/"
	@echo "make check    install what the tests need, build with gcc and clang, run every test"
	@echo "make bench    measure overhead and accuracy (an hour or more); writes docs/results/"
	@echo "make check-releases  the same in chroots of other Debian releases, and the packages; as root"
	@echo "make check-kernels  tests on the kernels of Debian's releases, in qemu; as root"
	@echo "make check-peers  test suites of gcc, valgrind, perl and others, natively and recorded (hours)"
	@echo "make deps-optimize  install LLVM 19, with which tests read exports for optimizers"
	@echo "make soak     the long tests: fuzzing, SIGKILL at random moments, random system calls, real programs"
	@echo "make install  install under PREFIX ($(PREFIX))"
	@echo "make dist     the source tarball, into dist/"
	@echo "make deb      install what that needs; packages penumbra and penumbra-dbgsym, into dist/"
	@echo "make tarball  a tarball to unpack and run anywhere (glibc 2.31 or later), into dist/; as root"
	@echo "make clean    remove what was built"
