"""How an aggregator is reached: with which credentials, and by TLS unless it is on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import grpc

__all__ = ["Credentials", "check_endpoint", "is_loopback"]


@dataclass(frozen=True, slots=True)
class Credentials:
    """How a device and an aggregator know each other. Endpoints that are not on this machine are reached by TLS."""

    roots: bytes | None = None
    """Certificates (PEM) to trust; None: those that gRPC comes with."""
    certificate: bytes | None = field(default=None, repr=False)
    """The device's own certificate chain (PEM), where the aggregator asks for one: one that all devices of an
    application share, for one of its own would identify it."""
    key: bytes | None = field(default=None, repr=False)
    """The certificate's private key (PEM)."""
    token: str | None = field(default=None, repr=False)
    """A bearer token, shared by all devices of an application."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("credentials: a certificate goes with its key: give both, certificate= and key=")
        if self.token is not None:
            own = self.token.strip()  # a file that it was written to ends with a line end
            if not own or not own.isascii() or not own.isprintable():
                raise ValueError(
                    "credentials: token= takes one token, as `deniable token new` prints it: one line, in ASCII"
                )
            object.__setattr__(self, "token", own)

    def channel(self, endpoint: str, options: Sequence[tuple[str, int]] = ()) -> grpc.Channel:
        """A channel there: by TLS, but for this machine where no roots are given."""
        import grpc

        if is_loopback(endpoint) and self.roots is None:
            return grpc.insecure_channel(endpoint, [("grpc.enable_http_proxy", 0), *options])
        secrets = grpc.ssl_channel_credentials(self.roots, self.key, self.certificate)
        return grpc.secure_channel(endpoint, secrets, options)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The token, as every call carries it."""
        return () if self.token is None else (("authorization", f"Bearer {self.token}"),)


_RESOLVED = ("unix", "unix-abstract", "dns", "ipv4", "ipv6", "vsock", "xds")
"""What may stand before a colon, for gRPC to find the place by."""


def check_endpoint(endpoint: str) -> None:
    """Refuse what no aggregator can be reached by; ValueError with the right form."""
    if not isinstance(endpoint, str):
        raise TypeError(
            f"endpoint: takes host:port as text, such as '127.0.0.1:8470', not a {type(endpoint).__name__}"
        )
    scheme, slashes, rest = endpoint.partition("://")
    if slashes and scheme not in _RESOLVED:
        host = rest.partition("/")[0]
        right = host if ":" in host else f"{host}:443" if scheme == "https" else f"{host}:8470"
        raise ValueError(f"endpoint: takes host:port without {scheme}://, such as {right!r}, not {endpoint!r}")
    if ":" not in endpoint and endpoint.strip():
        raise ValueError(f"endpoint: takes host:port, such as '{endpoint.strip()}:8470', not {endpoint!r}")
    if not endpoint.strip() or endpoint != endpoint.strip():
        raise ValueError(f"endpoint: takes host:port, such as '127.0.0.1:8470', not {endpoint!r}")


def is_loopback(endpoint: str) -> bool:
    """Whether an endpoint is on this machine, the only place that is reached without TLS."""
    import ipaddress

    if endpoint.startswith(("unix:", "unix-abstract:")):
        return True
    host = endpoint.rpartition("/")[2].rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
