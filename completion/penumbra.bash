# Bash completion for penumbra. Commands, options and events are those that the command's own help
# names, so that this file stays true when they change.

# All that a command's help says, where --help itself is a part of it.
_penumbra_help() { # PENUMBRA [COMMAND]
    if [ "${2:-}" = record ]; then "$@" --help-all; else "$@" --help; fi 2>/dev/null
}

# First words of the indented lines below "TITLE:".
_penumbra_section() { # PENUMBRA TITLE [COMMAND]
    local penumbra=$1 title=$2
    shift 2
    _penumbra_help "$penumbra" "$@" |
        awk -v title="$title:" '$0 == title { on = 1; next }
                                /^[^ ]/ || !NF { on = 0 }
                                on && /^  [^ ]/ { print $1 }'
}

# One line an option: "-o --output FILE", where there is no letter "- --budget PERCENT".
_penumbra_options() { # PENUMBRA COMMAND
    _penumbra_help "$1" "$2" |
        sed -nE 's/^ +((-[A-Za-z]), )?(--[a-z-]+)([ =]\[?([A-Z]+)\S*)?( .*)?$/\2 \3 \5/p' |
        sed 's/^ /- /'
}

# Whether OPTION, as typed, takes an argument in the next word.
_penumbra_takes_argument() { # OPTIONS OPTION
    awk -v option="$2" '($1 == option || $2 == option) && $3 { found = 1 } END { exit !found }' \
        <<<"$1"
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
    local prev=${COMP_WORDS[COMP_CWORD - 1]} options program
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _penumbra_words "$(_penumbra_section "$penumbra" Commands) --help --version"
        return
    elif [ "$command" = help ]; then
        _penumbra_words "$(_penumbra_section "$penumbra" Commands)"
        return
    fi

    options=$(_penumbra_options "$penumbra" "$command")
    if [ "$command" = record ]; then
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
    case $prev in
    -e | --event) _penumbra_words "$(_penumbra_section "$penumbra" Events "$command")" ;;
    --carrier) _penumbra_words "handler burst shadow exact auto" ;;
    --summary) _penumbra_words "concise tnv" ;;
    --code-cache) _penumbra_words "on off" ;;
    --threads) _penumbra_words "auto one all" ;;
    --metric) _penumbra_words "allocated live peak $(_penumbra_section "$penumbra" Events record)" ;;
    --tool) _penumbra_words "$(_penumbra_section "$penumbra" Tools "$command")" ;;
    -f | --format) _penumbra_words "pprof folded callgrind" ;;
    *)
        if [[ $cur == -* ]]; then
            _penumbra_words "$(awk '{ print $2; if ($1 != "-") print $1 }' <<<"$options")"
        else
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        fi
        ;;
    esac
}

complete -F _penumbra penumbra
