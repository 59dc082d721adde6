"""`marey completion`: what a shell needs to complete commands and options."""

from typing import Literal

import click

from marey.cli._options import argument
from marey.cli._run import Output, command


@command()
def completion(shell: Literal["bash", "zsh", "fish"] = argument("Which shell.", "SHELL")) -> Output:
    """Print the lines that let a shell complete commands and options.

    Examples:
        eval "$(marey completion bash)"                                  in ~/.bashrc
        eval "$(marey completion zsh)"                                   in ~/.zshrc
        marey completion fish > ~/.config/fish/completions/marey.fish
    """
    from click.shell_completion import get_completion_class

    from marey.cli.main import COMPLETE, app

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(app, {}, "marey", COMPLETE).source())
    return Output(report=None)
