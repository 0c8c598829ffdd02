"""The collection that many tests ask about: an editor's, of which each takes what it needs."""

from __future__ import annotations

__all__ = ["BROWSER", "DARK", "HEAD", "MINUTES"]

HEAD = """
[collection]
name = "editor"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 5.0
[segments]
platform = ["linux", "windows"]
"""
BROWSER = """\
[metrics.browser]
kind = "category"
description = "The default browser"
values = ["chrome", "edge", "firefox", "safari"]
epsilon = 1.0
"""
DARK = """\
[metrics.dark]
kind = "boolean"
description = "The dark theme is on"
epsilon = 1.0
"""
MINUTES = """\
[metrics.minutes]
kind = "number"
description = "Minutes in the foreground"
range = [0, 480]
unit = "minutes"
epsilon = 1.0
"""
