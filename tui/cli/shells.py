"""Completion scripts for bash, zsh and fish: one lookup algorithm, written three times.

A script contains all tables, so completion does not start Python. What only the file system knows
(files, folders, runs) is looked up by the shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from string import Template

from evalbench.engine.errors import UsageError
from evalbench.engine.installed import version
from evalbench.engine.paths import usual_runs_dir
from evalbench.tui.cli.completing import WITH_BENCHMARKS, WITH_PROVIDERS, Tables

_BASH = Template(r"""# bash completion for evalbench $version, made by: evalbench completion bash
_evalbench_table() {
    case $$1 in
$cases
    *) return 1 ;;
    esac
}

_evalbench() {
    local IFS=$$' \t\n'
    local current=$${COMP_WORDS[COMP_CWORD]} before=$${COMP_WORDS[COMP_CWORD - 1]}
    local command=$${COMP_WORDS[1]} found="" values="" place=1 value="" model="" word key i
    local keys=("$$command")
    COMPREPLY=()
    # Bash cuts --flag=value into three words.
    if [[ $$current == = ]]; then
        current=""
    elif [[ $$before == = ]]; then
        before=$${COMP_WORDS[COMP_CWORD - 2]}
    fi
    # Without a command: the flags of the app.
    if ((COMP_CWORD == 1)) || [[ $$command == -* ]]; then
        command="" keys=("")
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=$${COMP_WORDS[i]}
        [[ $$i == 1 && -n $$command ]] && continue
        _evalbench_table "v:$$command $$word" && keys+=("v:$$command $$word")
        case " $benchmarks " in *" $$command "*)
            _evalbench_table "b:$$word" && keys+=("b:$$word") ;;
        esac
        case " $providers " in *" $$command "*)
            if [[ $$word == */* ]] && _evalbench_table "p:$${word%%/*}"; then
                keys+=("p:$${word%%/*}") model=yes
            fi ;;
        esac
        if [[ $$word == -- ]]; then
            return
        elif [[ $$word == = ]]; then
            value=yes
        elif [[ $$word == -* ]]; then
            value=""
            for key in "$${keys[@]}"; do
                _evalbench_table "$$key $$word" && value=yes
            done
        elif [[ -n $$value ]]; then
            value=""
        else
            ((place++))
        fi
    done
    # Without --model, runs ask a model of this machine.
    case " $benchmarks " in *" $$command "*) [[ -z $$model ]] && keys+=("p:local") ;; esac
    if [[ $$before == -* ]]; then
        for key in "$${keys[@]}"; do
            if _evalbench_table "$$key $$before"; then
                _evalbench_reply "$$found"
                return
            fi
        done
    fi
    if [[ $$current == -* || -z $$command ]]; then
        for key in "$${keys[@]}"; do
            _evalbench_table "$$key" && values+=" $$found"
        done
    else
        _evalbench_table "$$command $$place" || _evalbench_table "$$command +"
        values=$$found
    fi
    _evalbench_reply "$$values"
}

_evalbench_reply() {
    local one words="" runs=$runs
    if [[ -n $$EVALBENCH_HOME ]]; then
        runs=$$EVALBENCH_HOME/runs
    fi
    for one in $$1; do
        case $$one in
        @files) COMPREPLY+=($$(compgen -f -- "$$current")); compopt -o filenames 2>/dev/null ;;
        @folders) COMPREPLY+=($$(compgen -d -- "$$current")); compopt -o filenames 2>/dev/null ;;
        @runs) words+=" last $$(ls -- "$$runs" 2>/dev/null)" ;;
        */) words+=" $$one"; compopt -o nospace 2>/dev/null ;;
        *) words+=" $$one" ;;
        esac
    done
    COMPREPLY+=($$(compgen -W "$$words" -- "$$current"))
}

complete -F _evalbench evalbench
""")

_ZSH = Template(r"""#compdef evalbench
# zsh completion for evalbench $version, made by: evalbench completion zsh
_evalbench_table() {
    case $$1 in
$cases
    (*) return 1 ;;
    esac
}

_evalbench() {
    local current=$$words[CURRENT] before=$$words[CURRENT-1] command=$$words[2]
    local place=1 value="" model="" word key i
    local -a found flags keys
    keys=("$$command")
    if [[ $$current == --*=* ]]; then
        before=$${current%%=*}
        compset -P '*='
        current=""
    fi
    # Without a command: the flags of the app.
    if ((CURRENT == 2)) || [[ $$command == -* ]]; then
        command="" keys=("")
    fi
    for ((i = 2; i < CURRENT; i++)); do
        word=$$words[i]
        [[ $$i == 2 && -n $$command ]] && continue
        _evalbench_table "v:$$command $$word" && keys+=("v:$$command $$word")
        if [[ " $benchmarks " == *" $$command "* ]]; then
            _evalbench_table "b:$$word" && keys+=("b:$$word")
        fi
        if [[ " $providers " == *" $$command "* && $${word#*=} == */* ]]; then
            key=p:$${$${word#*=}%%/*}
            _evalbench_table "$$key" && keys+=("$$key") && model=yes
        fi
        if [[ $$word == -- ]]; then
            return 1
        elif [[ $$word == -*=* ]]; then
            value=""
        elif [[ $$word == -* ]]; then
            value=""
            for key in "$${keys[@]}"; do
                _evalbench_table "$$key $$word" && value=yes
            done
        elif [[ -n $$value ]]; then
            value=""
        else
            ((place++))
        fi
    done
    # Without --model, runs ask a model of this machine.
    [[ " $benchmarks " == *" $$command "* && -z $$model ]] && keys+=("p:local")
    if [[ $$before == -* ]]; then
        for key in "$${keys[@]}"; do
            if _evalbench_table "$$key $$before"; then
                _evalbench_reply
                return
            fi
        done
    fi
    if [[ $$current == -* || -z $$command ]]; then
        for key in "$${keys[@]}"; do
            _evalbench_table "$$key" && flags+=("$${found[@]}")
        done
        found=("$${flags[@]}")
    else
        _evalbench_table "$$command $$place" || _evalbench_table "$$command +" || found=()
    fi
    _evalbench_reply
}

_evalbench_reply() {
    local one done=1 runs=$runs
    local -a plain open
    [[ -n $$EVALBENCH_HOME ]] && runs=$$EVALBENCH_HOME/runs
    for one in "$${found[@]}"; do
        case $$one in
        (@files) _files && done=0 ;;
        (@folders) _files -/ && done=0 ;;
        (@runs) plain+=(last $$runs/*(N/:t)) ;;
        (*/) open+=("$$one") ;;
        (*) plain+=("$$one") ;;
        esac
    done
    (($${#open})) && _describe -t models model open -S '' && done=0
    (($${#plain})) && _describe -t values value plain && done=0
    return done
}

if [[ $$zsh_eval_context[-1] == loadautofunc ]]; then
    _evalbench "$$@"
else
    compdef _evalbench evalbench
fi
""")

_FISH = Template(r"""# fish completion for evalbench $version, made by: evalbench completion fish
function __evalbench_table
    switch $$argv[1]
$cases
        case '*'
            return 1
    end
end

function __evalbench
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l before $$words[-1]
    set -l start ""
    set -l command ""
    set -l keys ""
    set -l first 2
    # Without a command: the flags of the app.
    if set -q words[2]; and not string match -q -- '-*' $$words[2]
        set command $$words[2]
        set keys $$command
        set first 3
    end
    if string match -q -- '--*=*' $$current
        set before (string replace -r -- '=.*' '' $$current)
        set start $$before=
    end
    set -l place 1
    set -l value ""
    set -l model ""
    for word in $$words[$$first..-1]
        __evalbench_table "v:$$command $$word" >/dev/null
        and set -a keys "v:$$command $$word"
        if string match -q -- "* $$command *" " $benchmarks "
            __evalbench_table "b:$$word" >/dev/null
            and set -a keys "b:$$word"
        end
        set -l name (string replace -r -- '^-.*=' '' $$word)
        if string match -q -- "* $$command *" " $providers "; and string match -q -- '*/*' $$name
            set -l key p:(string replace -r -- '/.*' '' $$name)
            if __evalbench_table $$key >/dev/null
                set -a keys $$key
                set model yes
            end
        end
        if test "$$word" = --
            return
        else if string match -q -- '-*' $$word
            set value ""
            for key in $$keys
                __evalbench_table "$$key $$word" >/dev/null
                and set value yes
            end
        else if test -n "$$value"
            set value ""
        else
            set place (math $$place + 1)
        end
    end
    # Without --model, runs ask a model of this machine.
    if string match -q -- "* $$command *" " $benchmarks "; and test -z "$$model"
        set -a keys p:local
    end
    if string match -q -- '-*' $$before
        for key in $$keys
            if __evalbench_table "$$key $$before" >/dev/null
                __evalbench_table "$$key $$before" | __evalbench_reply $$start
                return
            end
        end
    end
    if string match -q -- '-*' $$current; or test -z "$$command"
        for key in $$keys
            __evalbench_table $$key
        end
    else
        begin
            __evalbench_table "$$command $$place"
            or __evalbench_table "$$command +"
        end | __evalbench_reply ""
    end
end

function __evalbench_reply
    set -l runs $runs
    if test -n "$$EVALBENCH_HOME"
        set runs $$EVALBENCH_HOME/runs
    end
    set -l current (string replace -r -- '^--[^=]*=' '' (commandline -ct))
    while read -l line
        switch $$line
            case '@files*'
                __fish_complete_path $$current | string replace -r -- '^' "$$argv[1]"
            case '@folders*'
                __fish_complete_directories $$current "" | string replace -r -- '^' "$$argv[1]"
            case '@runs*'
                echo $$argv[1]last
                command ls -- $$runs 2>/dev/null | string replace -r -- '^' "$$argv[1]"
            case '*'
                echo $$argv[1]$$line
        end
    end
end

complete -c evalbench -f -a '(__evalbench)'
""")


def bash(tables: Tables) -> str:
    """For bash, version 3.2 or later. It shows no descriptions."""

    def case(key: str, pairs: Sequence[tuple[str, str]]) -> str:
        return f"    {_quoted(key)}) found={_quoted(' '.join(word for word, _ in pairs))} ;;"

    return _script(_BASH, tables, case, _quoted)


def zsh(tables: Tables) -> str:
    """For zsh, as a file in ``$fpath`` or sourced."""

    def case(key: str, pairs: Sequence[tuple[str, str]]) -> str:
        words = " ".join(
            _quoted(word.replace(":", r"\:") + (f":{text}" if text else "")) for word, text in pairs
        )
        return f"    ({_quoted(key)}) found=({words}) ;;"

    return _script(_ZSH, tables, case, _quoted)


def fish(tables: Tables) -> str:
    """For fish, version 3.0 or later."""

    def case(key: str, pairs: Sequence[tuple[str, str]]) -> str:
        lines = [f"        case {_fish_quoted(key)}"]
        lines += [
            rf"            printf '%s\t%s\n' {_fish_quoted(word)} {_fish_quoted(text)}"
            for word, text in pairs
        ]
        # A table may be empty but must exist.
        return "\n".join([*lines, "            return 0"])

    return _script(_FISH, tables, case, _fish_quoted)


def _script(
    template: Template,
    tables: Tables,
    case: Callable[[str, Sequence[tuple[str, str]]], str],
    quoted: Callable[[str], str],
) -> str:
    return template.substitute(
        version=version(),
        cases="\n".join(case(key, pairs) for key, pairs in tables.items()),
        runs=quoted(_runs()),
        benchmarks=" ".join(WITH_BENCHMARKS),
        providers=" ".join(WITH_PROVIDERS),
    )


def _runs() -> str:
    """Where runs are unless EVALBENCH_HOME, which the script itself reads, says otherwise."""
    try:
        return str(usual_runs_dir())
    except UsageError:
        # Without a home: a path that never exists.
        return "~/.local/share/evalbench/runs"


def _quoted(text: str) -> str:
    return shlex.quote(text) if text else "''"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
