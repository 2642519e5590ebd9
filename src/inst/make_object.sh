#!/bin/sh
# make_object.sh LD OBJCOPY OUTPUT INST GUEST SIGSAFE: one object of three archives, from which
# nothing but the contract's two functions can be seen.
set -e
ld=$1 objcopy=$2 output=$3
shift 3
whole=$1
shift
"$ld" -r -o "$output.all" --whole-archive "$whole" --no-whole-archive "$@" "$@"
"$objcopy" --keep-global-symbol=__penumbra_inst_register \
    --keep-global-symbol=__penumbra_inst_unregister \
    --keep-global-symbol=__penumbra1_owner "$output.all" "$output"
rm -f "$output.all"
