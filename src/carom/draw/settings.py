"""What a picture or a film can be told, declared once: the options of `carom render` are derived from it."""

from __future__ import annotations

from typing import Annotated, TypedDict

from ..settings import FLAG, LIST, NAME, NUMBER, Setting

CAMERA = (
    "Default: that of the scene's view. In 2D: fit, all, zoom, follow, follow:BODY or x,y,width. In 3D: fit, "
    "all, or any of azimuth=, elevation=, distance=, target=x:y:z, turn=, separated by commas."
)
TRAIL = "Draw the path of a body, or of its point that is at x,y,z from its center at the start; may be repeated."
COLOR = (
    "speed, body, group, depth, height, energy or contacts; default: that of the scene's view, else "
    "depth where bodies rest on each other and speed elsewhere, as in the viewer."
)
SIZE = "Pixels; default: 1920x1080, for films in 3D 1280x720, for a GIF 800x450."
AT = "Time of a still; default: that of the scene's view, or the end."


class PictureSettings(TypedDict, total=False):
    """Instant of a still, span and pace of a film, and the look of both."""

    at: Annotated[float | None, Setting(NUMBER, help=AT, metavar="TIME")]
    start: Annotated[float | None, Setting(NUMBER, help="Start of a film.", metavar="TIME", flag="--from")]
    stop: Annotated[float | None, Setting(NUMBER, help="End of a film.", metavar="TIME", flag="--to")]
    fps: Annotated[
        float | None, Setting(NUMBER, help="Pictures per second; default: 30, for a GIF 25.", metavar="RATE")
    ]
    speed: Annotated[
        float | None, Setting(NUMBER, help="Units of time per second of the film; default: 1.", metavar="FACTOR")
    ]
    size: Annotated[str | None, Setting(NAME, help=SIZE, metavar="WxH")]
    camera: Annotated[str | None, Setting(NAME, help=CAMERA, metavar="WHAT")]
    trails: Annotated[bool, Setting(FLAG, help="Draw the paths of all free bodies.", default=False)]
    trail: Annotated[list[str], Setting(LIST, help=TRAIL, metavar="BODY[:x,y,z]", default=[])]
    color: Annotated[str | None, Setting(NAME, help=COLOR, metavar="NAME")]
    color_map: Annotated[
        str,
        Setting(
            NAME,
            help="Color map: soft, viridis or cividis.",
            metavar="NAME",
            flag="--map",
            default="soft",
            shown=True,
        ),
    ]
    impulses: Annotated[
        bool, Setting(FLAG, help="Draw contact impulses as arrows, if they were recorded.", default=False)
    ]
    sound: Annotated[bool, Setting(FLAG, help="Let the impacts of a film (.mp4) be heard.", default=False)]
    caption: Annotated[
        bool,
        Setting(
            FLAG,
            help="Scene, law, time and legend above the picture.",
            flag="--caption/--no-caption",
            default=True,
        ),
    ]
    title: Annotated[str | None, Setting(NAME, help="Replaces the name of the scene.", metavar="TEXT")]
