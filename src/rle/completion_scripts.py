"""What each shell is told to do at the tab key: ask `rle __complete`, and offer what it answers."""

from __future__ import annotations

FILES = ":files"
"""The answer where files are wanted: shells complete those themselves."""

BASH = r"""# bash completion for rle; needs bash 4
_rle() {
    local line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^:=]/} start="" candidate
    local -a words reply
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    mapfile -t reply < <("$1" __complete "${words[@]:1}" 2>/dev/null)
    COMPREPLY=()
    if [[ ${reply[0]} == :files ]]; then
        compopt -o default
        return
    fi
    # To bash, a colon or an equals sign begins a new word: what stands before it stays.
    [[ -n $breaks ]] && start=${words[-1]%"${words[-1]##*[$breaks]}"}
    for candidate in "${reply[@]}"; do
        candidate=${candidate%%$'\t'*}
        COMPREPLY+=("${candidate#"$start"}")
    done
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace
    return 0
}
complete -F _rle rle
"""

ZSH = r"""#compdef rle
_rle() {
    local line name
    local -a reply whole open
    reply=("${(@f)$("${(Q)words[1]}" __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
    if [[ ${reply[1]} == :files ]]; then
        _files
        return
    fi
    for line in "${(@)reply}"; do
        [[ -n $line ]] || continue
        name=${line%%$'\t'*}
        line=${line#*$'\t'}
        line=${name//:/\\:}${line:+:$line}
        if [[ $name == */ ]]; then open+=("$line"); else whole+=("$line"); fi
    done
    _describe rle whole -- open -S ''
}
compdef _rle rle
"""

FISH = r"""# fish completion for rle
function __rle_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l reply ($words[1] __complete $words[2..-1] "$word" 2>/dev/null)
    if test "$reply[1]" = ":files"
        __fish_complete_path "$word"
    else
        printf '%s\n' $reply
    end
end
complete -c rle -f -a '(__rle_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
