"""`carom play`: the page for teachers: pick a scene and laws, move sliders, press Run."""

from __future__ import annotations

import threading

import typer

from .console import out, remarks
from .run_arguments import whole_number


def play(
    port: int = typer.Option(
        8090, "--port", parser=whole_number, metavar="N", help="The next free one if it is taken."
    ),
    host: str = typer.Option("127.0.0.1", "--host", help="Address to listen at; 0.0.0.0 lets other machines in."),
    no_browser: bool = typer.Option(False, "--no-browser", help="Only say the address."),
) -> None:
    """Open the page for teachers: impacts and runs with sliders, laws side by side."""
    from ..play import open_server

    server = open_server(host, port)
    try:
        out().print(f"the play page is at [bold]{server.address}[/]")
        if server.server_address[1] != port and port:
            remarks().print(f"port {port} is taken")
        if host in ("0.0.0.0", "::"):
            remarks().print("every machine that reaches this one can use the page")
        remarks().print("Ctrl-C ends it")
        if not no_browser:
            _open_browser(server.address)
        server.serve_forever()
    except KeyboardInterrupt:
        remarks().print("\nended; the port is free again")
    finally:
        server.close()


def _open_browser(address: str) -> None:
    """In a thread: some browsers are started and waited for."""
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
