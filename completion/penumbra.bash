# Bash completion for penumbra. Commands, options and their values are those of the command's own
# tables, so that this file stays true when they change.

# First words of the indented lines below "Commands:".
_penumbra_commands() { # PENUMBRA
    "$1" --help 2>/dev/null |
        awk '$0 == "Commands:" { on = 1; next }
             /^[^ ]/ || !NF { on = 0 }
             on && /^  [^ ]/ { print $1 }'
}

# One line an option, its parts divided by tabs: letter, name, what it takes, its values, help.
_penumbra_options() { # PENUMBRA COMMAND
    "$1" "$2" --list-options 2>/dev/null
}

# A part of the line of OPTION, as typed.
_penumbra_part() { # OPTIONS OPTION PART
    awk -F '\t' -v option="$2" -v part="$3" '$1 == option || $2 == option { print $part }' <<<"$1"
}

# Whether OPTION, as typed, takes an argument in the next word.
_penumbra_takes_argument() { # OPTIONS OPTION
    local value
    value=$(_penumbra_part "$1" "$2" 3)
    [ -n "$value" ] && [ "${value:0:1}" != "[" ]
}

# Where the program to record begins among the words, or the number of words.
_penumbra_program_index() { # OPTIONS
    local i
    for ((i = 2; i < ${#COMP_WORDS[@]}; i++)); do
        case ${COMP_WORDS[i]} in
        --)
            i=$((i + 1))
            break
            ;;
        -*)
            if [ "${COMP_WORDS[i + 1]:-}" = = ]; then
                i=$((i + 2))
            elif _penumbra_takes_argument "$1" "${COMP_WORDS[i]}"; then
                i=$((i + 1))
            fi
            ;;
        *) break ;;
        esac
    done
    echo "$i"
}

_penumbra_words() { # WORDS: offers those that begin with $cur
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_penumbra() {
    local penumbra=${COMP_WORDS[0]} command=${COMP_WORDS[1]} cur=${COMP_WORDS[COMP_CWORD]}
    local prev=${COMP_WORDS[COMP_CWORD - 1]} options program words
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _penumbra_words "$(_penumbra_commands "$penumbra") --help --version"
        return
    elif [ "$command" = help ]; then
        _penumbra_words "$(_penumbra_commands "$penumbra")"
        return
    fi

    options=$(_penumbra_options "$penumbra" "$command")
    if [ "$command" = record ] || [ "$command" = simulate ]; then
        program=$(_penumbra_program_index "$options")
        if [ "$COMP_CWORD" -ge "$program" ]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset "$program"
            elif [ "$COMP_CWORD" -eq "$program" ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            fi
            return
        fi
    fi

    [ "$cur" != = ] || cur=
    [ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}
    words=$(_penumbra_part "$options" "$prev" 4)
    if [ -n "$words" ] && _penumbra_takes_argument "$options" "$prev"; then
        _penumbra_words "$words"
    elif [[ $cur == -* ]]; then
        _penumbra_words "$(awk -F '\t' '{ print $2; if ($1 != " ") print $1 }' <<<"$options")"
    elif [ "$command" = query ]; then
        _penumbra_words "top tree services diff"
    elif [ "$command" = db ]; then
        _penumbra_words "gc check export make"
    elif [ "$command" = symbols ] && [[ " ${COMP_WORDS[*]:2:COMP_CWORD-2} " != *" upload "* ]]; then
        _penumbra_words upload
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

complete -F _penumbra penumbra
