"""The command group: sub-commands by name, loaded one at a time; `envcheck` alone is `envcheck check`."""

from __future__ import annotations

from importlib import import_module

import click

# name -> (module, what it does); the words stand here so that `--help` loads no command
COMMANDS = {
    "check": ("check", "Probe this host, judge it, say what to do. The default."),
    "probe": ("probe", "The facts only, each with its source."),
    "plan": ("plan", "The way to a running `vllm serve`, and its files."),
    "size": ("size", "Memory of a model on a GPU, and the settings that fit."),
    "defaults": ("defaults", "The defaults of a release on a GPU as they take effect."),
    "upgrade": ("upgrade", "What changes between two releases, and the command anew."),
    "sheet": ("sheet", "The one-page parameter sheet of a release."),
    "learn": ("learn", "Measured records of memory, out of start-up logs."),
    "diagnose": ("diagnose", "A failing log: what happened first, and what to do."),
    "explain": ("explain", "One finding code in full."),
    "matrix": ("matrix", "The compatibility facts: show, validate."),
    "batch": ("batch", "Many questions: one JSON object a line in, one out."),
}
_OF_THE_GROUP = frozenset({"--help", "-h", "--version"})


class LazyGroup(click.Group):
    """A group that imports the one command it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, its module loaded now."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"envcheck.cli.commands.{COMMANDS[cmd_name][0]}"), "command")  # noqa: B009 (typed Any on purpose)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, what) for name, (_, what) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a command name, everything belongs to `check`."""
        if not args or (args[0].startswith("-") and args[0] not in _OF_THE_GROUP):
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name where there is none."""
        if args[0] not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean `{near[0]}`?" if near else f" Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command '{args[0][:60]}'.{hint}")
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from envcheck.cli.output import to_stdout
    from envcheck.cli.version import version_text

    to_stdout(version_text())
    ctx.exit(0)


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="Exit status: 0 ready, 1 blocked, 2 usage, 3 a deciding fact is unknown, 4 invalid input, 5 internal error.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Version, date and place of the facts."
)
def cli() -> None:
    """From a bare GPU host to a running `vllm serve` at the first attempt."""
