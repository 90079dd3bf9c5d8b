"""``ppsm transcript``: check what two parties have said to each other."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ppsm.cli.app import app, examples
from ppsm.errors import InputError, ProtocolError, printable
from ppsm.extras import insist_on

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

commands = typer.Typer(
    name="transcript", help="What two parties have said to each other.", no_args_is_help=True
)
app.add_typer(commands)


@commands.callback()
def _transcript() -> None:
    """What two parties have said to each other."""


@commands.command(
    short_help="Check what was said, of one side or both.",
    epilog=examples("ppsm transcript verify round --identity power"),
)
def verify(
    kept: Annotated[Path, typer.Argument(help="A transcript, or a directory with its dossier and seal.")],
    other: Annotated[Path | None, typer.Argument(help="What the other party has kept of the round.")] = None,
    key: Annotated[list[str] | None, typer.Option(help="A party's public key, as NAME=FILE.pem.")] = None,
    identity: Annotated[
        Path | None, typer.Option(help="Take the public keys of an identity and of its peers.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check order, chain, signatures and seals, of one side alone or of both against each other.

    Public keys are enough. Exit codes: 0 nothing was found; 2 unusable input; 7 something was found.
    """
    insist_on("protocol", "what two parties do")
    from ppsm.protocol.dossiers import TRANSCRIPT, check_seal
    from ppsm.protocol.transcript import Transcript, check_transcript, compare_transcripts

    keys = _keys(key or [], identity)
    findings: list[str] = []
    read = []
    for place in (kept, *([] if other is None else [other])):
        found = Transcript.read(place / TRANSCRIPT if place.is_dir() else place)
        read.append(found)
        mine = list(check_transcript(found, keys).findings)
        mine += check_seal(place, keys) if place.is_dir() else []
        findings += [f"{place}: {finding}" for finding in mine]
    if len(read) == 2:
        findings += compare_transcripts(*read).findings
    last = read[0].messages[-1] if read[0].messages else None
    summary = {
        "ok": not findings,
        "round": None if last is None else last.round,
        "messages": len(read[0].messages),
        "ends_with": None if last is None else last.kind,
        "head": read[0].head,
        "findings": findings,
    }
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
    elif not findings:
        both = "" if other is None else f", '{read[0].kept_by}' and '{read[1].kept_by}' have kept the same"
        typer.echo(
            f"Round {summary['round']}: {summary['messages']} messages up to '{summary['ends_with']}', chain "
            f"and signatures are right{both}; head {summary['head']}."
        )
    else:
        for finding in findings:
            typer.echo(printable(finding))
    if findings:
        raise typer.Exit(ProtocolError.exit_code)


def _keys(named: list[str], identity: Path | None) -> "dict[str, Ed25519PublicKey]":
    from ppsm.protocol.identities import Identity, read_public_key

    keys = {} if identity is None else Identity.read(identity).public_keys
    for text in named:
        name, equals, file = text.partition("=")
        if not equals:
            raise InputError(f"the key is '{text}', expected NAME=FILE.pem.")
        keys[name] = read_public_key(Path(file))
    if not keys:
        raise InputError("no public key was given: name them with --key NAME=FILE.pem, or --identity DIR.")
    return keys
