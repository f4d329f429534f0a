"""Print what makes a shell complete commands, tools, flags, values and the names of passes.

eval "$(tilewright completion bash)"      in ~/.bashrc
eval "$(tilewright completion zsh)"       in ~/.zshrc, after compinit
tilewright completion fish | source       in ~/.config/fish/config.fish
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from shlex import quote
from typing import NamedTuple

from tilewright.cli.mlir_flags import Flag, dashed


class Word(NamedTuple):
    """A flag: what it is for, whether a value follows it, and which values there are if they are few."""

    text: str
    help: str
    takes_value: bool = False
    choices: tuple[str, ...] = ()


@dataclass
class CompletionPoint:
    """What can stand after some words of a command line: tools, or flags and files."""

    words: str
    summary: str
    flags: list[Word] = field(default_factory=list[Word])
    tools: list[CompletionPoint] = field(default_factory=list["CompletionPoint"])
    choices: tuple[str, ...] = ()
    """Of an argument that is neither a tool nor a file."""

    @property
    def name(self) -> str:
        return self.words.rsplit(" ", 1)[-1]

    def walk(self) -> Iterator[CompletionPoint]:
        yield self
        for tool in self.tools:
            yield from tool.walk()


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SCRIPTS, help="the shell that is to complete")


def run(args: Namespace) -> None:
    print(SCRIPTS[args.shell](_everything()))


def _everything() -> CompletionPoint:
    from tilewright.cli import aiecc_arguments
    from tilewright.cli.main import COMMANDS
    from tilewright.cli.opt_arguments import FLAGS
    from tilewright.cli.parsers import parser_of
    from tilewright.cli.translate_arguments import OPTIONS, TRANSLATIONS
    from tilewright.passes import PASSES

    root = CompletionPoint(
        "tilewright", "", [Word("--help", "print the commands"), Word("--version", "print the version")]
    )
    # these read their command lines themselves, so there is no parser to ask
    in_mlir_style = {
        "opt": [*_words(FLAGS), *(Word(f"--{name}", "pass") for name in sorted(PASSES))],
        "translate": _words(TRANSLATIONS | OPTIONS),
        "aiecc": _words(aiecc_arguments.FLAGS),
    }
    for name, summary in COMMANDS.items():
        words = f"{root.words} {name}"
        flags = in_mlir_style.get(name)
        root.tools.append(
            CompletionPoint(words, summary, flags) if flags else _of_parser(parser_of(name), words, summary)
        )
    return root


def _words(flags: Mapping[str, Flag]) -> list[Word]:
    return [Word(dashed(name), flag.help, bool(flag.value), flag.choices) for name, flag in flags.items()]


def _of_parser(parser: ArgumentParser, words: str, summary: str) -> CompletionPoint:
    from tilewright.cli.parsers import tools_of

    place = CompletionPoint(words, summary)
    for action in parser._actions:
        choices = tuple(map(str, action.choices or ()))
        # the last spelling is the long one
        if action.option_strings and action.help != SUPPRESS:
            place.flags.append(Word(action.option_strings[-1], action.help or "", action.nargs != 0, choices))
        elif action not in tools_of(parser):
            place.choices += choices
    for tools in tools_of(parser):
        about = {choice.dest: choice.help or "" for choice in tools._get_subactions()}
        place.tools += [_of_parser(tool, f"{words} {name}", about[name]) for name, tool in tools.choices.items()]
    return place


def _tool_places(root: CompletionPoint) -> list[CompletionPoint]:
    return [place for place in root.walk() if place is not root]


def _values(root: CompletionPoint) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Flags with few values, with the words before them."""
    return ((f"{p.words} {flag.text}", flag.choices) for p in root.walk() for flag in p.flags if flag.choices)


def _bash(root: CompletionPoint) -> str:
    steps = "|".join(quote(place.words) for place in _tool_places(root))
    values = "\n".join(f"    {quote(at)}) words={quote(' '.join(choices))} ;;" for at, choices in _values(root))
    others = "\n".join(
        f"    {quote(p.words)}) flags={quote(' '.join(f.text for f in p.flags))}"
        f" words={quote(' '.join([*(tool.name for tool in p.tools), *p.choices]))} ;;"
        for p in root.walk()
    )
    return f"""\
_tilewright() {{
  local place=tilewright current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} flags words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place ${{COMP_WORDS[i]}}" in
    {steps}) place="$place ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$place" in
{others}
  esac
  case "$place $previous" in
{values}
  esac
  [[ $current == -* ]] && words=$flags
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _tilewright tilewright"""


def _zsh(root: CompletionPoint) -> str:
    # values first: where a flag takes one of a few, nothing else can follow
    steps = "|".join(quote(place.words) for place in _tool_places(root))
    values = "\n".join(f"    ({quote(at)}) compadd -- {' '.join(choices)}; return ;;" for at, choices in _values(root))
    others = "\n".join(
        f"    ({quote(p.words)})\n"
        f"      flags=({' '.join(_described(flag.text, flag.help) for flag in p.flags)})\n"
        f"      tools=({' '.join([*(_described(t.name, t.summary) for t in p.tools), *map(quote, p.choices)])}) ;;"
        for p in root.walk()
    )
    return f"""\
#compdef tilewright
_tilewright() {{
  local place=tilewright word
  local -a flags tools
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$place $word" in
    ({steps}) place="$place $word" ;;
    esac
  done
  case "$place $words[CURRENT-1]" in
{values}
  esac
  case "$place" in
{others}
  esac
  if [[ $words[CURRENT] == -* ]]; then _describe option flags
  elif (( $#tools )); then _describe command tools
  else _files
  fi
}}
compdef _tilewright tilewright"""


def _described(name: str, help: str) -> str:
    return quote(f"{name}:{help}" if help else name)


def _fish(root: CompletionPoint) -> str:
    steps = " ".join(_fish_quote(place.words) for place in _tool_places(root))
    return f"""\
function __tilewright_at
  set -l place tilewright
  for word in (commandline -opc)[2..]
    switch "$place $word"
    case {steps}
      set place "$place $word"
    end
  end
  test "$place" = "$argv"
end
complete -c tilewright -e
""" + "\n".join(line for place in root.walk() for line in _fish_lines(place))


def _fish_lines(place: CompletionPoint) -> Iterator[str]:
    start = f"complete -c tilewright -n {_fish_quote(f'__tilewright_at {place.words}')}"
    for tool in place.tools:
        yield f"{start} -f -a {tool.name} -d {_fish_quote(tool.summary)}"
    if place.choices:
        yield f"{start} -f -a {_fish_quote(' '.join(place.choices))}"
    for flag in place.flags:
        kind = "-l" if flag.text.startswith("--") else "-s"
        values = f" -xa {_fish_quote(' '.join(flag.choices))}" if flag.choices else " -r" if flag.takes_value else ""
        yield f"{start} {kind} {flag.text.lstrip('-')}{values} -d {_fish_quote(flag.help)}"


def _fish_quote(text: str) -> str:
    # fish takes backslashes inside single quotes, other shells do not
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""Scripts by the shell that reads them."""
