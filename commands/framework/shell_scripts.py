"""Completion scripts for bash and fish, where those of click lose a part of some words.

In bash `=` and `:` end a word: `--feature group.version=1` reaches a function as four words where there are two, and
what it gives back replaces the last piece alone. So this script gives the line as it was typed. Click's script for fish
cuts words at a comma, as in `--target 1,2`.
"""

from __future__ import annotations

import os
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, FishComplete, split_arg_string

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local response completion type value

    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
KAFKACTL_COMP_LINE="${COMP_LINE:0:COMP_POINT}" KAFKACTL_COMP_BREAKS="$COMP_WORDBREAKS" \\
%(complete_var)s=bash_complete $1 2>/dev/null)

    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        case $type in
            dir) COMPREPLY=(); compopt -o dirnames ;;
            file) COMPREPLY=(); compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done

    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


_FISH = """\
function %(complete_func)s;
    set -l response (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp | string collect) \
COMP_CWORD=(commandline -ct | string collect) %(prog_name)s 2>/dev/null);

    for completion in $response;
        set -l parts (string split --max 1 "," -- $completion);

        switch $parts[1];
            case dir;
                __fish_complete_directories $parts[2];
            case file;
                __fish_complete_path $parts[2];
            case plain;
                echo $parts[2];
        end;
    end;
end;

complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)";
"""


class FishCompletion(FishComplete):
    """Completion for fish, which keeps words with commas whole."""

    source_template = _FISH


class BashCompletion(BashComplete):
    """Completion for bash, of the line up to the cursor; scripts of earlier versions lack the line and still work."""

    source_template = _BASH

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._prefix = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is completed, and that word."""
        line = os.environ.get("KAFKACTL_COMP_LINE")
        if line is None:
            return super().get_completion_args()
        words = split_arg_string(line)
        incomplete = "" if not words or line[-1:].isspace() else words.pop()
        breaks = [char for char in "=:" if char in os.environ.get("KAFKACTL_COMP_BREAKS", "")]
        kept = max((incomplete.rfind(char) for char in breaks), default=-1)
        self._prefix = incomplete[: kept + 1]
        if incomplete.startswith("-"):  # what is offered for --feature=group.ver is the value alone
            self._prefix = self._prefix.partition("=")[2]
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return the item without the pieces that bash keeps."""
        return f"{item.type},{item.value.removeprefix(self._prefix)}"
