"""``evalbench --web``: the same app in a browser, on this machine only.

Anyone who reaches the page can do everything the app can. So the server listens on 127.0.0.1,
accepts only the URL it printed, which contains a token that other users of the machine and other
pages in the browser do not know, and responds only to its own host name.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from evalbench.engine.errors import UsageError
from evalbench.engine.installed import install_command
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.port import HOST, listen
from evalbench.tui.cli.web_page import page_head

_POLICY = (
    "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'; connect-src 'self' ws://{address}; frame-ancestors 'none'"
)
"""Nothing is loaded from elsewhere; even the page's own template uses a font server."""

_SECONDS_TO_CLOSE = 5.0


def serve(port: int) -> int:
    """Serve the app until Ctrl-C; returns the exit code. Every visitor gets a separate app.

    Args:
        port: on 127.0.0.1; 0: any free one.

    Raises:
        UsageError: the extra ``web`` is missing, or the port is not available.
    """
    try:
        import textual_serve.server  # noqa: F401
    except ImportError:
        raise UsageError(
            "the app cannot be shown in a browser",
            why="textual-serve is not installed",
            hint=install_command("web"),
        ) from None
    with listen(port, "evalbench --web") as listener:
        asyncio.run(_serve(listener, stdout()))
    return 0


async def _serve(listener: socket.socket, out: Out) -> None:
    from aiohttp import web

    # Invalid requests from strangers are answered, and not worth a traceback here.
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    port: int = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    runner = web.AppRunner(
        await _application(port, token), access_log=None, shutdown_timeout=_SECONDS_TO_CLOSE
    )
    await runner.setup()
    await web.SockSite(runner, listener).start()
    out.line(f"evalbench is at http://{HOST}:{port}/?token={token}")
    out.line("for this machine only; Ctrl-C ends it, and runs go on")
    if os.environ.get("SSH_CONNECTION"):
        out.line(f"from where you are: ssh -L {port}:{HOST}:{port} {socket.gethostname()}")
    try:
        await ended.wait()
    finally:
        await runner.cleanup()


async def _application(port: int, token: str) -> Any:
    from textual_serve.server import Server

    class Door(Server):  # type: ignore[misc]
        """The server of textual-serve, without its output."""

        async def on_startup(self, app: Any) -> None:
            """Print nothing; the important things have been printed already."""

        async def on_shutdown(self, app: Any) -> None:
            """End the apps, which ends their connections."""
            for visit in list(visits):
                visit.cancel()
            await asyncio.gather(*visits, return_exceptions=True)

        async def handle_index(self, request: Any) -> Any:
            """The page, with what it lacks."""
            response = await super().handle_index(request)
            # After its own styles, which it would otherwise override.
            response.text = response.text.replace("</head>", f"{page_head()}</head>", 1)
            return response

        async def handle_websocket(self, request: Any) -> Any:
            """One visit: an app in its own process."""
            visit = asyncio.ensure_future(super().handle_websocket(request))
            visits.add(visit)
            try:
                return await visit
            finally:
                visits.discard(visit)

    visits: set[asyncio.Future[Any]] = set()
    app = await Door(app_command(), host=HOST, port=port, title="evalbench")._make_app()
    app.middlewares.append(_guard(port, token))
    return app


def app_command() -> str:
    """The shell command that runs one visitor's app."""
    words = [
        "env",
        "-u",
        "TMUX",
        "TEXTUAL_FPS=30",
        sys.executable,
        "-P",
        "-m",
        "evalbench.tui.cli.main",
    ]
    # With exec, the server is the app's parent, so that the app notices when it is gone.
    return "exec " + shlex.join(words)


Handler = Callable[[Any], Awaitable[Any]]


def _guard(port: int, token: str) -> Any:
    """Accepts requests with the token, under the server's own name, and from no other page."""
    from aiohttp import web

    address = f"{HOST}:{port}"
    cookie = f"evalbench-{port}"

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> Any:
        if request.host == f"localhost:{port}" and request.path == "/":
            raise web.HTTPFound(f"http://{address}{request.rel_url}")
        if request.host != address:
            # Another host name that resolves here is an attempt to get past the browser (DNS
            # rebinding).
            raise web.HTTPForbidden(text=f"evalbench is at http://{address} only\n")
        if request.headers.get("Origin", f"http://{address}") != f"http://{address}":
            raise web.HTTPForbidden(text="not from another page\n")
        shown = request.query.get("token", "") or request.cookies.get(cookie, "")
        if not hmac.compare_digest(shown.encode(), token.encode()):
            raise web.HTTPForbidden(text="open the whole address that evalbench printed\n")
        response = await handler(request)
        if not response.prepared:
            response.headers["Content-Security-Policy"] = _POLICY.format(address=address)
            response.headers["Referrer-Policy"] = "no-referrer"
            response.set_cookie(cookie, token, httponly=True, samesite="Strict")
        return response

    return guard
