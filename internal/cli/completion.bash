# Completion of piton for bash. It needs no package. Nothing of the line is executed: quotes and
# backslashes are taken off here, and the words go to piton as they are.

# __piton_split parts $1, the line up to the cursor, into words, as bash does. quote is what is open
# at its end: a quote, a backslash, "$" for a substitution, ">" for the file of a redirection.
__piton_split()
{
    local line=$1 i c n depth word='' begun='' file=''
    words=() quote=''
    for ((i = 0; i < ${#line}; i++)); do
        c=${line:i:1} n=${line:i+1:1}
        if [[ $quote != "'" && $c == '`' || $quote != "'" && $c$n == '$(' ]]; then
            # A substitution stays as it is written.
            word+=$c begun=1 depth=0
            for ((i++; i < ${#line}; i++)); do
                n=${line:i:1}
                word+=$n
                if [[ $c == '`' ]]; then
                    [[ $n == '`' ]] && break
                elif [[ $n == '(' ]]; then
                    ((depth++))
                elif [[ $n == ')' ]]; then
                    ((--depth)) || break
                fi
            done
            if ((i >= ${#line})); then
                quote='$'
                return
            fi
            continue
        fi
        if [[ -n $quote ]]; then
            if [[ $c == "$quote" ]]; then
                quote=''
            elif [[ $quote == '"' && $c == "\\" && $n == [\$\`\"\\] ]]; then
                word+=$n
                ((i++))
            else
                word+=$c
            fi
            continue
        fi
        case $c in
        [[:space:]])
            if [[ -n $begun ]]; then
                [[ -z $file ]] && words+=("$word")
                word='' begun='' file=''
            fi
            ;;
        "\\")
            if [[ -z $n ]]; then
                quote="\\"
                return
            fi
            word+=$n begun=1
            ((i++))
            ;;
        [\'\"])
            quote=$c begun=1
            ;;
        [\<\>])
            # The number in front is of the redirection.
            [[ -n $begun && -z $file && $word == *[!0-9]* ]] && words+=("$word")
            word='' begun='' file=1
            while [[ ${line:i+1:1} == [\<\>\&\|] ]]; do
                ((i++))
            done
            ;;
        [\;\|\&])
            if [[ $c$n == '&>' ]]; then
                [[ -n $begun && -z $file ]] && words+=("$word")
            else
                words=()
            fi
            word='' begun='' file=''
            ;;
        *)
            word+=$c begun=1
            ;;
        esac
    done
    if [[ -n $file ]]; then
        quote='>'
        return
    fi
    words+=("$word")
}

# __piton_quote writes $1 into quoted as it has to stand on the line, inside of quote.
__piton_quote()
{
    local i c
    quoted=''
    for ((i = 0; i < ${#1}; i++)); do
        c=${1:i:1}
        case $quote$c in
        "''") c="'\\''" ;;
        "'"*) ;;
        '"'[\$\`\"\\]) c="\\$c" ;;
        '"'*) ;;
        [[:space:]] | [\|\&\;\<\>\(\)\$\`\\\"\'\*\?\[\]\{\}\!\#\~]) c="\\$c" ;;
        esac
        quoted+=$c
    done
}

# __start_piton completes the word at the cursor. $1 is the program; readline replaces $2, the end of
# the line as it is written.
__start_piton()
{
    local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT} program=$1 typed=${2-} tab=$'\t'
    local words quote quoted cur out directive one text help i longest=0 room
    local found=() helps=()

    COMPREPLY=()
    __piton_split "$line"
    [[ $quote == [\\\$\>] ]] && return
    while ((${#words[@]} > 1)) && [[ ${words[0]} =~ ^[A-Za-z_][A-Za-z0-9_]*\+?= ]]; do
        words=("${words[@]:1}")
    done
    ((${#words[@]} > 1)) || return
    cur=${words[${#words[@]}-1]}

    [[ $program == "~/"* ]] && program=$HOME/${program:2}
    case $(type -t -- "$program") in
    file | function) ;;
    *) program=piton ;; # an alias
    esac
    out=$("$program" __complete "${words[@]:1}" 2>/dev/null </dev/null) || return
    directive=${out##*:}
    out=${out%:*}
    [[ $directive == *[!0-9]* || -z $directive ]] && return
    ((directive & 1)) && return # an error
    ((directive & 4)) && compopt +o default
    ((directive & 2)) && compopt -o nospace
    ((directive & 32)) && compopt -o nosort

    # Of --flag=value the value is completed.
    [[ $cur == -*=* ]] && cur=${cur#*=}
    # What is typed stays as it is written; only what is missing is added.
    [[ $line == *"$typed" ]] || typed=''
    while IFS='' read -r one; do
        text=${one%%"$tab"*} help=''
        [[ $one == *"$tab"* ]] && help=${one#*"$tab"}
        [[ -n $text && $text == "$cur"* ]] || continue
        __piton_quote "${text:${#cur}}"
        found+=("$typed$quoted")
        helps+=("$help")
        ((${#typed} + ${#quoted} > longest)) && longest=$((${#typed} + ${#quoted}))
    done <<<"$out"

    COMPREPLY=("${found[@]}")
    [[ ${COMP_TYPE-9} == 37 || ${COMP_TYPE-9} == 42 ]] && return # all are inserted: no descriptions
    if ((${#found[@]} == 1)); then
        # Readline closes an open quote behind the only one, though more has to follow.
        ((directive & 2)) && [[ -n $quote ]] && COMPREPLY+=("${found[0]}...")
        return
    fi
    for i in "${!found[@]}"; do
        [[ -n ${helps[i]} ]] || continue
        help=${helps[i]}
        room=$((${COLUMNS:-80} - longest - 4))
        printf -v one '%-*s' "$longest" "${found[i]}"
        if ((room <= 8)); then
            one=${found[i]} room=$((${COLUMNS:-80} - ${#found[i]} - 4))
        fi
        ((room > 0)) || continue
        ((${#help} > room)) && help=${help:0:room-1}…
        COMPREPLY[i]="$one  ($help)"
    done
}

complete -o default -F __start_piton piton
