"""nginx in front of a server, as deploy/nginx has it, but without TLS: attackers here speak HTTP/2 as it is."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["edge"]

_CONFIGURED = Path(__file__).resolve().parent.parent / "deploy/nginx"
_PATIENCE_SECONDS = 60.0


@contextlib.contextmanager
def edge(room: Path, behind: int) -> Iterator[int]:
    """The port at which it takes the calls of devices, for a server at another one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (room / "nginx.conf").write_text(_plain((_CONFIGURED / "nginx.conf").read_text(), port))
    upstreams = (_CONFIGURED / "upstreams.conf").read_text().replace("127.0.0.1:8470", f"127.0.0.1:{behind}")
    for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
        upstreams += f"{kind}_temp_path {room / kind};\n"
    (room / "upstreams.conf").write_text(upstreams)
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        raise SystemExit("no nginx: make system-tools")
    own = f"daemon off; pid {room / 'pid'};"
    command = [program, "-p", str(room), "-c", str(room / "nginx.conf"), "-e", "stderr", "-g", own]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            _await(port)
            yield port
        finally:
            process.terminate()


def _plain(text: str, port: int) -> str:
    """Its configuration with the server for devices alone, at a port of this machine, and nothing of TLS."""
    people = text.index("  server {", text.index("listen [::]:443"))
    lines = (text[:people] + "}\n").replace("listen 443 ssl", f"listen 127.0.0.1:{port}").splitlines()
    return "\n".join(line for line in lines if "listen [::]" not in line and not line.strip().startswith("ssl_"))


def _await(port: int) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), _PATIENCE_SECONDS):
            return
        time.sleep(0.05)
    raise SystemExit("nginx does not listen")
