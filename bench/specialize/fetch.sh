#!/bin/sh
# Sources of gzip and povray as this Debian machine's own apt would fetch them, unpacked with Debian's patches into
# bench/work/by-hand/plain/NAME; and the parts of Boost that povray is compiled with, unpacked beside them, not installed.
# Where packages come from is what apt is configured with here; the machine's own lists are not touched.
set -eu
bench=$(cd "$(dirname "$0")/.." && pwd)
work=$bench/work/by-hand
mkdir -p "$work"
cd "$work"

own() {
    "$bench/own-apt" "$work/apt" "$@"
}
if [ -d plain/gzip ] && [ -d plain/povray ] && [ -d boost ]; then exit 0; fi

mkdir -p plain
for name in gzip povray; do
    test ! -d "plain/$name" || continue
    version=$(dpkg-query -W -f '${source:Version}' "$name")   # the one that is installed
    own apt-get -qq source --download-only "$name=$version"
    rm -rf "$name.new"
    dpkg-source -x "$name"_"${version#*:}".dsc "$name.new" > /dev/null
    mv "$name.new" "plain/$name"
done

if [ ! -d boost ]; then
    rm -rf boost.new
    for part in "" -thread -date-time -system -atomic -chrono -serialization; do
        own apt-get -qq download "libboost${part}1.74-dev"
    done
    own apt-get -qq download libboost-thread1.74.0 libboost-date-time1.74.0 libboost-system1.74.0
    for deb in libboost*.deb; do dpkg -x "$deb" boost.new; done
    rm libboost*.deb
    mv boost.new boost
fi
