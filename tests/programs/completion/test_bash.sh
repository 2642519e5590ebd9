#!/bin/bash
# usage: test_bash.sh PENUMBRA COMPLETION
#
# Completes command lines in bash as its completion would and looks at what is offered.
set -u
PATH=$(dirname "$1"):$PATH
source "$2"
wrong=0

offers() { # the words of a command line, the last one being completed; prints the candidates
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _penumbra
    printf '%s\n' "${COMPREPLY[@]}"
}
expect() { # CANDIDATE "in"|"not in" WORDS...
    local candidate=$1 how=$2
    shift 2
    if offers "$@" | grep -qxF -- "$candidate"; then local is=in; else local is="not in"; fi
    if [ "$is" = "$how" ]; then echo "ok: $candidate $how completions of: $*"; else
        echo "WRONG: $candidate is $is the completions of: $*"
        wrong=1
    fi
}

expect record in penumbra ""
expect report in penumbra re
expect export "not in" penumbra re
expect --version in penumbra --
expect export in penumbra help e
expect --output in penumbra record --o
expect -F in penumbra record -
expect --frequency in penumbra record -o x.pnb --f
expect page-faults in penumbra record -e p
expect exact in penumbra record --carrier e
expect edges in penumbra record --tool e
expect ls in penumbra record --exact --tool edges l
expect page-faults in penumbra record --event = p
expect --output "not in" penumbra record -- --o
expect --output "not in" penumbra record ls --o
expect ls in penumbra record -o ls l
expect ls in penumbra record --output = x l
expect ls "not in" penumbra record -o l
expect folded in penumbra export -f f
expect --format in penumbra export --
expect --html in penumbra report --h
expect live in penumbra report --metric l
expect auto in penumbra record --threads a

# Every long option of every command's help is offered, and nothing else.
for command in record report export recover calibrate symbolize annotate compare merge; do
    help=$(penumbra "$command" "$([ "$command" = record ] && echo --help-all || echo --help)" | grep -oE '^ +(-[A-Za-z], )?--[a-z-]+' |
        grep -oE -- '--[a-z-]+' | sort -u)
    offered=$(offers penumbra "$command" -- | sort -u)
    if [ "$help" = "$offered" ] && [ -n "$help" ]; then echo "ok: options of $command"; else
        echo "WRONG: options of $command: help has" $help "; offered are" $offered
        wrong=1
    fi
done

# Tools that measure the engine are for --help-all.
if penumbra record --help-all | grep -qw written && ! penumbra record --help | grep -qw written; then
    echo "ok: tools for measuring"
else
    echo "WRONG: tools for measuring are in --help, or not in --help-all"
    wrong=1
fi

# So are knobs for experiments.
for knob in seed barrier-timeout code-cache load; do
    if penumbra record --help-all | grep -q -- "--$knob " && ! penumbra record --help | grep -q -- "--$knob "; then
        echo "ok: --$knob"
    else
        echo "WRONG: --$knob is in --help, or not in --help-all"
        wrong=1
    fi
done

# The formats that the completion knows by heart are those of the program.
for format in $(offers penumbra export --format ""); do
    message=$(penumbra export --format "$format" /nonexistent 2>&1)
    case $message in
    *"no format"*)
        echo "WRONG: $message"
        wrong=1
        ;;
    esac
done
exit $wrong
