"""Pictures and films of runs, made without a screen. `carom render` is the command."""

from .encode import check_film
from .film import Made, is_film, write_film, write_still
from .output import checked_path
from .studio import Look, Span
from .timeline import Timeline, film_times

__all__ = [
    "Look",
    "Made",
    "Span",
    "Timeline",
    "check_film",
    "checked_path",
    "film_times",
    "is_film",
    "write_film",
    "write_still",
]
