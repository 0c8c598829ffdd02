"""Looks at the certificate that devices are shown, and at its key."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deniable._paths import told
from deniable_aggregator.doctor._check import OTHERS, CannotLook, Check, Subject, Wrong
from deniable_aggregator.serving.certificates import Certificates

__all__ = ["CHECKS"]

_SOON = 21 * 86_400
"""Seconds: as long as who renews certificates has to notice that it does not work."""
_NO_TIME = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME: how old a certificate is, is judged here."""
_MISMATCH = 62
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH."""
_ROUNDS = 20


def _files(subject: Subject) -> tuple[Path, Path]:
    access = subject.settings.access
    if access.certificate is None or access.key is None:
        raise CannotLook
    return access.certificate, access.key


async def _goes_together(subject: Subject) -> AsyncIterator[Wrong]:
    """Certificate, key and whom clients are signed by can be read, and are of one set."""
    certificate, key = _files(subject)
    try:
        Certificates(certificate, key, subject.settings.access.client_ca).credentials()
    except OSError as error:
        yield (
            told(error),
            "put the certificate (whole chain) and its own key there, both PEM, the key without a password",
        )


async def _lasts(subject: Subject) -> AsyncIterator[Wrong]:
    """It is valid, and will be for a while."""
    certificate, key = _files(subject)
    shown, now = _shown(certificate, key), subject.clock()
    begins, ends = (ssl.cert_time_to_seconds(shown[name]) for name in ("notBefore", "notAfter"))
    day = datetime.fromtimestamp(ends, UTC).date().isoformat()
    renew = "renew it: replace both files, nothing is restarted; and look why what renews it has not"
    if now >= ends:
        yield f"{certificate} has expired on {day}: no device connects", renew
    elif now >= ends - _SOON:
        yield f"{certificate} expires on {day}, in {int((ends - now) // 86_400)} days", renew
    if now < begins:
        yield f"{certificate} is not valid yet", "set this machine's clock right, or use the certificate of before"


async def _has_the_name(subject: Subject) -> AsyncIterator[Wrong]:
    """It has the name by which devices reach the aggregator."""
    certificate, key = _files(subject)
    if subject.endpoint is None:
        raise CannotLook
    host = subject.endpoint.rpartition("/")[2].rpartition(":")[0].strip("[]")
    try:
        _shown(certificate, key, host)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == _MISMATCH or "match" in str(error):
            names = ", ".join(value for _, value in _shown(certificate, key).get("subjectAltName", ())) or "no name"
            yield (
                f"{certificate} is for {names}, and devices reach {host}",
                f"get a certificate that has {host} among its alternative names (SAN)",
            )


async def _is_cheap(subject: Subject) -> AsyncIterator[Wrong]:
    """Its key is on an elliptic curve."""
    _files(subject)
    if subject.settings.access.costs_more():
        yield (
            "the certificate is RSA: devices that connect cost 2.4 times as much as with ECDSA",
            "ask for a certificate with an ECDSA key (P-256)",
        )


async def _key_is_kept(subject: Subject) -> AsyncIterator[Wrong]:
    """Nobody else may read the key."""
    _, key = _files(subject)
    try:
        mode = key.stat().st_mode
    except OSError as error:
        raise CannotLook(told(error)) from error
    if mode & OTHERS:
        yield (
            f"{key} can be read or written by others of this machine",
            f"chmod 640 {key}, its group being that of the account that serves, or 600 where it is that account's",
        )


def _shown(certificate: Path, key: Path, host: str | None = None) -> dict[str, Any]:
    """What a client sees of a certificate, found out without a connection; where a host is said, of one for it."""
    try:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(certificate, key, password="")
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname = host is not None
        client.load_verify_locations(certificate)
    except (OSError, ValueError) as error:
        raise CannotLook(f"{certificate}: {error}") from error
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VerifyFlags(_NO_TIME)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (client.wrap_bio(back, there, server_hostname=host), server.wrap_bio(there, back, server_side=True))
    for _ in range(_ROUNDS):
        waiting = False
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                waiting = True
        if not waiting:
            break
    return dict(ends[0].getpeercert() or {})


CHECKS = (
    Check("certificate", _goes_together),
    Check("certificate's days", _lasts),
    Check("certificate's names", _has_the_name),
    Check("certificate's kind", _is_cheap),
    Check("private key", _key_is_kept),
)
