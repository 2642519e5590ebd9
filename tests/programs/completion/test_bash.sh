#!/bin/bash
# usage: test_bash.sh PENUMBRA COMPLETION MANUAL-PAGES
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
expect tnv in penumbra record --summary t
expect off in penumbra record --code-cache o
expect function in penumbra compare --by f
expect instructions in penumbra diff --normalize i
expect malloc in penumbra annotate --metric m
expect flat "not in" penumbra report --json f
expect upload in penumbra symbols --store x ""
expect upload "not in" penumbra symbols --store x upload ""

# Every long option of every command's help is offered, and nothing else.
for command in record report export recover calibrate symbolize annotate compare diff merge push symbols; do
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

# The values that are offered are those that the program takes.
for format in $(offers penumbra export --format ""); do
    message=$(penumbra export --format "$format" /nonexistent 2>&1)
    case $message in
    *"no format"*)
        echo "WRONG: $message"
        wrong=1
        ;;
    esac
done

# Every option of every command is in the manual page of that command, with its letter, and as one
# that takes a value or none; and no other is.
manual_options() { # PAGE: lines "-o --output x", "- --json"
    sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$1" | sed 's/\\-/-/g; s/\\f[RIB]//g' |
        awk '/^\.TP/ { head = 1; next }
             head && /^\.B/ {
                 head = 0
                 letter = "-"
                 line = $0
                 sub(/^\.(BR|BI|B) /, "", line)
                 gsub(/[",]/, " ", line)
                 n = split(line, word, " ")
                 for (i = 1; i <= n; i++) {
                     if (word[i] ~ /^-[A-Za-z]$/) letter = word[i]
                     if (word[i] ~ /^--/) {
                         takes = i < n && word[i + 1] !~ /^--/ ? " x" : ""
                         print letter " " word[i] takes
                         letter = "-"
                     }
                 }
             }' | sort
}
table_options() { # COMMAND
    penumbra "$1" --list-options |
        awk -F '\t' '{ takes = $3 != "" && $3 !~ /^\[/ ? " x" : ""
                       print ($1 == " " ? "-" : $1) " " $2 takes }' | sort
}
for command in record report export recover calibrate symbolize annotate compare diff merge push symbols; do
    if difference=$(diff <(table_options "$command") <(manual_options "$3/penumbra-$command.1")); then
        echo "ok: manual page of $command"
    else
        echo "WRONG: penumbra $command (<) and its manual page (>) differ:"
        echo "$difference"
        wrong=1
    fi
done
exit $wrong
