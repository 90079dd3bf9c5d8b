"""Who is who: a party's own keys, and what it knows of the others.

An identity is a directory::

    identity.toml            party = "gas"
    signing-key.pem          Ed25519, for messages and dossiers; its owner alone can read it
    tls-key.pem, tls-certificate.pem, authority.pem
    token                    what this party shows where it has no certificate
    page-token               what a person types to see the follower's page
    peers/power.pem          another party's public key
    peers/power.token-sha256 and the hash of its token

:func:`make_identities` makes one for each party, with an authority, for tests and demonstrations. In
earnest each party makes its own keys and sends its public key over a channel that both trust.
"""

import datetime
import hashlib
import ipaddress
import re
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ppsm.errors import FileFormatError, InputError
from ppsm.files import OWNER_MODE, write_bytes_atomically

IDENTITY, SIGNING_FILE, TLS_FILE, TLS_CERTIFICATE = (
    "identity.toml",
    "signing-key.pem",
    "tls-key.pem",
    "tls-certificate.pem",
)
# As messages.py has it for whoever sends.
_PARTY = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
AUTHORITY, TOKEN, PAGE_TOKEN, PEERS = "authority.pem", "token", "page-token", "peers"


@dataclass(frozen=True, eq=False)
class Peer:
    """Another party: its public key, and the hash of its token if it has one."""

    name: str
    key: Ed25519PublicKey
    token_sha256: str | None


@dataclass(frozen=True, eq=False)
class Identity:
    """A party with its keys and those whom it knows."""

    name: str
    key: Ed25519PrivateKey
    peers: Mapping[str, Peer]
    directory: Path

    @classmethod
    def read(cls, directory: Path) -> "Identity":
        """Read a directory as it is described above."""
        try:
            name = str(tomllib.loads((directory / IDENTITY).read_text(encoding="utf-8"))["party"])
            key = serialization.load_pem_private_key((directory / SIGNING_FILE).read_bytes(), password=None)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileFormatError(
                f"{directory} is no identity ({type(error).__name__}), expected {IDENTITY} with party = NAME "
                f"and {SIGNING_FILE}: make them, for tests with 'ppsm identities'."
            ) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise FileFormatError(f"{directory / SIGNING_FILE} is no Ed25519 key: make one.")
        if not _PARTY.fullmatch(name):
            raise FileFormatError(
                f"{directory / IDENTITY} has the party '{name}', expected small letters, digits and '-': "
                "give it such a name."
            )
        peers = {file.stem: _read_peer(file) for file in sorted((directory / PEERS).glob("*.pem"))}
        return cls(name, key, peers, directory)

    def peer(self, name: str) -> Peer:
        """Another party that this one knows."""
        if name not in self.peers:
            raise InputError(
                f"{self.directory / PEERS} has no key of '{name}': put its public key there as {name}.pem."
            )
        return self.peers[name]

    @property
    def public_keys(self) -> dict[str, Ed25519PublicKey]:
        """All that is needed to check a transcript."""
        return {self.name: self.key.public_key(), **{name: peer.key for name, peer in self.peers.items()}}

    def text(self, name: str) -> str | None:
        """A token of this identity; None where it has none."""
        file = self.directory / name
        return _token(file)


def read_public_key(file: Path) -> Ed25519PublicKey:
    """Read a public key."""
    try:
        key = serialization.load_pem_public_key(file.read_bytes())
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{file} is no public key ({type(error).__name__}): give a PEM file.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise FileFormatError(f"{file} is no Ed25519 key: give one that signs messages.")
    return key


def _read_peer(file: Path) -> Peer:
    hashed = file.with_suffix(".token-sha256")
    return Peer(file.stem, read_public_key(file), _token(hashed))


def _token(file: Path) -> str | None:
    """The one word that a file holds; None where there is no file. A token is not quoted."""
    try:
        return file.read_text(encoding="ascii").strip() if file.exists() else None
    except UnicodeDecodeError:
        raise FileFormatError(f"{file} is no token: give a line of plain letters.") from None


def token_hash(token: str) -> str:
    """What others may keep of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def certified_name(certificate: Mapping[str, Any] | None) -> str | None:
    """The party that a certificate is of, as :mod:`ssl` tells of one that it has checked: its common name."""
    subject = (certificate or {}).get("subject", ())
    names = [value for part in subject for key, value in part if key == "commonName"]
    return names[0] if len(names) == 1 else None


def make_identities(
    directory: Path,
    parties: Sequence[str],
    *,
    hosts: Sequence[str] = ("localhost", "127.0.0.1"),
    lifetime: datetime.timedelta = datetime.timedelta(days=30),
) -> dict[str, Identity]:
    """An authority and an identity for each party, all known to each other; for tests.

    Parameters
    ----------
    directory
        Gets a directory for each party, and ``authority`` with the key that signed the certificates.
    hosts
        Names and addresses that the certificates are for.
    lifetime
        Of the certificates.
    """
    if (directory / "authority").exists():
        raise InputError(f"{directory} has identities already: choose another directory.")
    for name in parties:
        if not _PARTY.fullmatch(name) or name == "authority" or list(parties).count(name) > 1:
            raise InputError(
                f"a party is called '{name}', expected names of small letters, digits and '-', each once and "
                "none of them 'authority'."
            )
    authority = _Authority.made(lifetime)
    keys = {name: Ed25519PrivateKey.generate() for name in parties}
    tokens = {name: secrets.token_urlsafe(32) for name in parties}
    (directory / "authority").mkdir(parents=True)
    _write(directory / "authority" / "key.pem", _private_pem(authority.key), OWNER_MODE)
    for name, key in keys.items():
        home = directory / name
        (home / PEERS).mkdir(parents=True)
        home.chmod(0o700)
        _write(home / IDENTITY, f'party = "{name}"\n'.encode())
        _write(home / SIGNING_FILE, _private_pem(key), OWNER_MODE)
        _write(home / TOKEN, tokens[name].encode(), OWNER_MODE)
        _write(home / PAGE_TOKEN, secrets.token_urlsafe(16).encode(), OWNER_MODE)
        for other in (each for each in parties if each != name):
            _write(home / PEERS / f"{other}.pem", _public_pem(keys[other].public_key()))
            _write(home / PEERS / f"{other}.token-sha256", token_hash(tokens[other]).encode())
        _write_certificate(home, authority, name, hosts, lifetime)
    return {name: Identity.read(directory / name) for name in parties}


@dataclass(frozen=True, eq=False)
class _Authority:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def made(cls, lifetime: datetime.timedelta) -> "_Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("ppsm test authority")
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = (
            _dated(x509.CertificateBuilder(), lifetime)
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(key, builder.sign(key, hashes.SHA256()))


def _write_certificate(
    home: Path, authority: _Authority, name: str, hosts: Sequence[str], lifetime: datetime.timedelta
) -> None:
    """A certificate that serves at both ends of a connection."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
    uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    issuer_key = authority.key.public_key()
    certificate = (
        _dated(x509.CertificateBuilder(), lifetime)
        .subject_name(_name(name))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .add_extension(names, critical=False)
        .add_extension(uses, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    _write(home / TLS_FILE, _private_pem(key), OWNER_MODE)
    _write(home / TLS_CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM))
    _write(home / AUTHORITY, authority.certificate.public_bytes(serialization.Encoding.PEM))


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _dated(builder: x509.CertificateBuilder, lifetime: datetime.timedelta) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    # Clocks of two machines differ a little.
    start = now - datetime.timedelta(minutes=5)
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(now + lifetime)
    )


def _private_pem(key: Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _public_pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def _write(file: Path, content: bytes, mode: int = 0o644) -> None:
    write_bytes_atomically(file, content, mode=mode)
