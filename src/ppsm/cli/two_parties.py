"""``ppsm follower``, ``ppsm leader``, ``ppsm identities``: the mechanism between two parties."""

import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ppsm.cases import load_case
from ppsm.cases.sides import market_digest
from ppsm.cli import options
from ppsm.cli.app import EXIT_NO_ANSWER, app, examples, interruptible
from ppsm.cli.output import writable_directory
from ppsm.cli.progress import steps
from ppsm.cli.secret import read_secret
from ppsm.errors import InputError
from ppsm.extras import insist_on
from ppsm.files import OWNER_MODE, alone, write_atomically

if TYPE_CHECKING:
    from ppsm.cases.schema import Case
    from ppsm.protocol.desk import FollowerDesk
    from ppsm.protocol.leader_round import LeaderResult

follower_commands = typer.Typer(name="follower", help="The side that has the secret.", no_args_is_help=True)
leader_commands = typer.Typer(name="leader", help="The side that decides first.", no_args_is_help=True)
app.add_typer(follower_commands)
app.add_typer(leader_commands)

SETTINGS = "settings.json"
# Ten years: certificates for trials need no more.
_MOST_DAYS = 3650.0
IdentityOption = Annotated[Path, typer.Option(help="Directory with this party's keys and those it knows.")]


@follower_commands.callback()
def _follower() -> None:
    """The side that has the secret."""


@leader_commands.callback()
def _leader() -> None:
    """The side that decides first."""


@follower_commands.command(
    epilog=examples(
        "ppsm follower serve --case gas-case --gas-stress 0.5 --ledger ledger.db --policy policy.toml "
        "--identity ids/gas"
    )
)
def serve(
    case: Annotated[str, typer.Option(help="A built-in case or the follower's case directory.")],
    ledger: Annotated[Path, typer.Option(help="The privacy ledger, with a grant for the policy's data set.")],
    policy: Annotated[Path, typer.Option(help="What is allowed to whom, a TOML file.")],
    identity: IdentityOption = Path("identity"),
    demand: options.DemandFile = None,
    demand_unit: options.DemandUnit = None,
    demand_sheet: options.DemandSheet = None,
    gas_stress: options.GasStress = None,
    rounds: Annotated[
        Path, typer.Option(help="Directory for rounds: what was said, dossiers, transcripts.")
    ] = Path("rounds"),
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.")] = 8443,
    tls: Annotated[bool, typer.Option(help="Serve with the certificate of the identity.")] = True,
) -> None:
    """Answer leaders until stopped. Its page is at the same address, with the identity's page-token."""
    insist_on("protocol", "what two parties do")
    from ppsm.coordinations.gas_side import GasSide
    from ppsm.privacy import Ledger
    from ppsm.protocol.desk import FollowerDesk
    from ppsm.protocol.identities import Identity
    from ppsm.protocol.policy import Policy
    from ppsm.protocol.round_store import RoundStore
    from ppsm.protocol.service import make_app, server
    from ppsm.protocol.shared_market import Market

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    rules, who, loaded = Policy.read(policy), Identity.read(identity), load_case(case)
    secret = read_secret(loaded, demand, gas_stress, rules.dataset, unit=demand_unit, sheet=demand_sheet)
    home = writable_directory(rounds)
    home.chmod(0o700)
    busy = f"another follower is at work in {home}: end it, or choose another --rounds."
    market = Market(GasSide(loaded), market_digest(loaded))
    with interruptible(), alone(home / "follower.lock", busy):
        store, book = RoundStore(home / "rounds.db"), Ledger(ledger)
        desk = FollowerDesk(market, secret, book, rules, who, store, home)
        _warn_of_policy(desk)
        server(make_app(desk), host, port, who if tls else None).run()


def _warn_of_policy(desk: "FollowerDesk") -> None:
    """Say at the start what every round would end with."""
    dataset, log = desk.policy.dataset, logging.getLogger("ppsm.protocol")
    if desk.policy.research_seed is not None:
        log.warning(
            "NOT PRIVATE: the policy has a research seed, so each leader learns '%s' exactly", dataset
        )
        return
    try:
        is_empty = desk.ledger.balance(dataset).left <= 0
    except InputError:
        is_empty = True
    if is_empty:
        log.warning("the ledger has nothing for '%s': rounds end as 'budget' until it grants", dataset)


@leader_commands.command(
    epilog=examples(
        "ppsm leader run --follower https://gas.example:8443 --case power-case --identity ids/power "
        "--out round-1"
    )
)
def run(
    follower: Annotated[str, typer.Option(help="Its address, such as https://HOST:PORT.")],
    case: Annotated[str, typer.Option(help="A built-in case or the leader's case directory.")],
    identity: IdentityOption = Path("identity"),
    out: Annotated[Path, typer.Option(help="Directory for this round: dossier, transcript, page.")] = Path(
        "round"
    ),
    power_stress: Annotated[float, typer.Option(help="Relative increase of all loads.")] = 0.0,
    follower_name: Annotated[
        str | None, typer.Option(help="Which party is asked, where the identity knows several.")
    ] = None,
    research: Annotated[bool, typer.Option(help="Take seeded noise, which is NOT private.")] = False,
    patience: Annotated[float, typer.Option(help="Seconds to try while nobody answers.")] = 120.0,
    time_limit: options.ClearSeconds = 300.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Run a whole round with a follower; stopped, the same command goes on.

    A directory is for one round: where it is over, the same command tells again what came of it, and asks
    for nothing. Another round needs another --out.

    Exit codes: 0 done; 1 the market cannot be cleared with the release; 2 unusable input; 7 the follower
    does not answer, is not to be trusted, or has ended the round; 130 interrupted.
    """
    insist_on("protocol", "what two parties do")
    from ppsm.cases.stress import check_stress
    from ppsm.coordinations import GaucCoordination
    from ppsm.protocol.identities import Identity
    from ppsm.protocol.leader_round import PARTS, LeaderRound
    from ppsm.protocol.round_pages import write_leader_page
    from ppsm.protocol.round_store import RoundStore
    from ppsm.protocol.shared_market import Market
    from ppsm.protocol.transport import HttpTransport

    loaded, who = load_case(case), Identity.read(identity)
    check_stress(loaded, power_stress, None)
    home = writable_directory(out)
    name = _other_party(list(who.peers), follower_name)
    transport = HttpTransport(follower, who, name)
    busy = f"another leader is at work in {home}: wait for it, or choose another --out."
    with interruptible(), alone(home / "leader.lock", busy):
        _insist_on_settings(home, loaded, power_stress, name)
        market = Market(GaucCoordination(loaded, power_stress, time_limit=time_limit), market_digest(loaded))
        store = RoundStore(home / "rounds.db")
        leader = LeaderRound(
            market, who, name, store, transport, home, research=research, patience_s=patience
        )
        with steps(len(PARTS)) as say:
            result = leader.run(say)
            write_leader_page(home, loaded, result, store.messages(result.round_id))
    _report(home, result, as_json=as_json)
    if not result.cleared.feasible:
        raise typer.Exit(EXIT_NO_ANSWER)


def _insist_on_settings(home: Path, case: "Case", power_stress: float, follower: str) -> None:
    """A round goes on with what it was begun with: its files are of one market, and of one other party."""
    from ppsm.markets.gauc.memory import case_fingerprint

    file = home / SETTINGS
    mine = {
        "market": market_digest(case),
        "units": case_fingerprint(case),
        "power_stress": power_stress,
        "follower": follower,
    }
    if not file.exists():
        write_atomically(file, json.dumps(mine) + "\n", mode=OWNER_MODE)
        return
    try:
        begun = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        begun = {}
    changed = [name for name in mine if begun.get(name) != mine[name]] if isinstance(begun, dict) else [*mine]
    if changed:
        raise InputError(
            f"the round of {home} was begun with other settings ({', '.join(changed).replace('_', ' ')}): "
            "use them again, or choose another --out."
        )


def _other_party(known: list[str], named: str | None) -> str:
    if named is None and len(known) != 1:
        raise InputError(
            f"the identity knows {', '.join(known) or 'nobody'}: say who is asked with --follower-name."
        )
    return known[0] if named is None else named


def _report(home: Path, result: "LeaderResult", *, as_json: bool) -> None:
    cleared, told = result.cleared, result.told
    summary = {
        "round": result.round_id,
        "directory": str(home),
        "private": result.dossier.private,
        "faithful": result.certificate.faithful,
        "bands_widened_by": result.widening,
        "status": cleared.status.value,
        "leader_cost": cleared.leader_cost,
        "gas_value_told": None if told is None else told.value,
        "statement": result.dossier.statement,
    }
    if as_json:
        typer.echo(json.dumps(summary, indent=2, allow_nan=False))
        return
    for name, value in summary.items():
        typer.echo(f"{name.replace('_', ' ')}: {value}")


@app.command(
    short_help="Keys, certificates and tokens to try things out.",
    epilog=examples("ppsm identities keys power gas"),
)
def identities(
    directory: Annotated[Path, typer.Argument(help="Gets a directory for each party.")],
    parties: Annotated[list[str], typer.Argument(help="Their names, such as: gas power")],
    host: Annotated[
        list[str] | None, typer.Option(help="Names and addresses that the certificates are for.")
    ] = None,
    days: Annotated[
        float, typer.Option(min=0.0, max=_MOST_DAYS, help="How long the certificates are good.")
    ] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the directories as JSON.")] = False,
) -> None:
    """Make keys, certificates and tokens for parties that try things out; in earnest each makes its own."""
    insist_on("protocol", "what two parties do")
    from ppsm.protocol.identities import make_identities

    hosts = host or ["localhost", "127.0.0.1"]
    made = make_identities(directory, parties, hosts=hosts, lifetime=timedelta(days=days))
    directories = {name: str(directory / name) for name in made}
    if as_json:
        typer.echo(json.dumps(directories, indent=2))
        return
    for path in directories.values():
        typer.echo(f"made {path}")
