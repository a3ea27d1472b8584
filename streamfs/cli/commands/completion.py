"""Install the completion of words in a shell."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from streamfs.cli.parameters import example_text

PLACES = {
    "bash": ".local/share/bash-completion/completions/streamfs",
    "fish": ".config/fish/completions/streamfs.fish",
    "zsh": ".zfunc/_streamfs",
}
"""Where each shell looks for completions, in the user's home."""

NOTES = {
    "bash": "it needs the package bash-completion; open a new shell",
    "fish": "open a new shell",
    "zsh": "add 'fpath+=~/.zfunc; autoload -Uz compinit && compinit' to ~/.zshrc, and open a new shell",
}
"""What else is to be done."""


@click.command(
    epilog=example_text("streamfs completion", "streamfs completion zsh", "streamfs completion bash --show")
)
@click.argument("shell", type=click.Choice(sorted(PLACES)), required=False)
@click.option("--show", is_flag=True, help="Print the script instead of installing it.")
def completion(shell: str | None, show: bool) -> None:
    """Install the completion of commands and options.

    SHELL is that of the environment by default.
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(name)
    if name not in PLACES or kind is None:
        expected = ", ".join(sorted(PLACES))
        raise click.UsageError(f"the shell is {name or 'not known'!r}, expected one of {expected}: name it.")
    script = kind(click.get_current_context().find_root().command, {}, "streamfs", "_STREAMFS_COMPLETE").source()
    if show:
        click.echo(script)
        return
    place = Path.home() / PLACES[name]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(script, encoding="utf-8")
    click.echo(f"wrote {place}; {NOTES[name]}", err=True)
