#!/bin/sh
# gzip and povray from Debian's sources, as they are and with each patch NAME-*.patch of this folder, in
# bench/work/by-hand: plain/build/NAME and NAME-PATCH/build/NAME. What is there is not built again.
#
#     build.sh [NAME...]      gzip takes a minute, povray ten on one core
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=$(dirname "$here")
work=$bench/work/by-hand
sh "$here/fetch.sh"

configure_gzip() {
    ../../gzip/configure DEFS=NO_ASM CFLAGS="-g -O2"
}

# Without what the benchmark does not need: a window, and image formats that it does not write.
configure_povray() {
    (cd ../../povray/unix && ./prebuild.sh)
    libraries=$work/boost/usr/lib/x86_64-linux-gnu
    ../../povray/configure --disable-optimiz --disable-strip --disable-optimiz-arch --with-boost="$work/boost/usr" \
        --with-boost-libdir="$libraries" --with-boost-thread=boost_thread --without-x --without-libsdl \
        --without-openexr --without-libtiff --without-libmkl NON_REDISTRIBUTABLE_BUILD=yes COMPILED_BY="a benchmark" \
        CPPFLAGS="-I$work/boost/usr/include" LDFLAGS="-L$libraries" CXXFLAGS="-g -O2 -w"
}

make_plain() {
    test ! -e "$work/plain/build/$1/built" || return 0
    mkdir -p "$work/plain/build/$1"
    cd "$work/plain/build/$1"
    test -e Makefile || "configure_$1" > configure.log 2>&1
    make MAKEINFO=true > make.log 2>&1
    touch built
}

# A copy of what was built, patched, so that make compiles only what the patch changes.
make_patched() {
    name=$(basename "$1" .patch)
    program=${name%%-*}
    test ! -e "$work/$name/build/$program/patched" || return 0
    rm -rf "${work:?}/$name"
    mkdir -p "$work/$name/build"
    cp -a "$work/plain/$program" "$work/$name/"
    cp -a "$work/plain/build/$program" "$work/$name/build/"
    patch -d "$work/$name/$program" -p1 < "$1"
    cd "$work/$name/build/$program"
    make MAKEINFO=true > make.log 2>&1
    touch patched
}

for program in ${*:-gzip povray}; do
    make_plain "$program"
    for patch in "$here/$program"-*.patch; do make_patched "$patch"; done
done
