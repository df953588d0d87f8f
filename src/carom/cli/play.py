"""`carom play` serves a web page for teaching, with scenes, laws and sliders."""

from __future__ import annotations

import typer

from .arguments import HOST, PORT_HELP, whole_number
from .console import out, remarks
from .view import open_browser


def play(
    port: int = typer.Option(8090, "--port", parser=whole_number, metavar="N", help=PORT_HELP),
    host: str = HOST,
    no_browser: bool = typer.Option(False, "--no-browser", help="Only print the address."),
) -> None:
    """Open the page for teaching: impacts and runs with sliders, and laws side by side."""
    from ..play import open_server

    server = open_server(host, port)
    try:
        out().print(f"the play page is at [bold]{server.address}[/]")
        if server.server_address[1] != port and port:
            remarks().print(f"port {port} is taken")
        if host in ("0.0.0.0", "::"):
            remarks().print("every machine that can reach this one can use the page")
        remarks().print("press Ctrl-C to end the server")
        if not no_browser:
            open_browser(server.address)
        server.serve_forever()
    except KeyboardInterrupt:
        remarks().print("\nended; the port is free again")
    finally:
        server.close()
