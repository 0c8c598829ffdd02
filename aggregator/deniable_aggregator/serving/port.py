"""The port: kept for workers that share it, by a socket that takes no calls itself."""

from __future__ import annotations

import errno
import socket

__all__ = ["reserved", "whose"]


def whose(error: BaseException) -> str:
    """Who may have an address that is not to be had, where that is why."""
    taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    return ": it is taken, maybe by a demo or another deniable serve, which can be ended" if taken else f": {error}"


def reserved(listen: str) -> socket.socket:
    """A socket that keeps the port for the workers without taking calls itself; an OSError where it is taken.

    Ports that are shared are shared with anybody of this user who asks for it: so it is first taken alone.
    """
    host, _, port = listen.rpartition(":")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]") or None, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            taken = socket.socket(family, kind, protocol)
            taken.setsockopt(socket.SOL_SOCKET, option, 1)
            if family == socket.AF_INET6:
                taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            try:
                taken.bind(address)
                address = (address[0], taken.getsockname()[1], *address[2:])
            except OSError:
                taken.close()
                raise
            if option == socket.SO_REUSEADDR:
                taken.listen(1)  # two that only bind do not notice each other
                taken.close()
    except (OSError, ValueError) as error:
        raise OSError(f"can not listen on {listen}{whose(error)}; --listen HOST:PORT has another") from error
    return taken
