"""What the papers' feature charts say, to be held against what is measured."""

from __future__ import annotations

# Smith 2012, table 1, and Zhang 2015, table 1 (its "MON" is MOM). Each set lists what the chart ticks; a
# desideratum that a chart does not have is in neither its columns nor a set.
CHARTS: dict[str, tuple[tuple[str, ...], dict[str, frozenset[str]]]] = {
    "Smith 2012": (
        ("BRK", "SYM", "KIN", "MOM", "ONE"),
        {
            "gr": frozenset({"BRK", "SYM", "KIN", "MOM", "ONE"}),
            "lcp": frozenset({"SYM", "KIN", "MOM", "ONE"}),
            "gauss_seidel": frozenset({"BRK", "KIN", "MOM", "ONE"}),
            "jacobi": frozenset({"BRK", "SYM", "MOM", "ONE"}),
        },
    ),
    "Zhang 2015": (
        ("WAV", "BRK", "SYM", "KIN", "MOM", "ONE"),
        {
            "qce": frozenset({"WAV", "BRK", "SYM", "KIN", "MOM", "ONE"}),
            "gr": frozenset({"BRK", "SYM", "KIN", "MOM", "ONE"}),
            "lcp": frozenset({"SYM", "KIN", "MOM", "ONE"}),
        },
    ),
}


def published(law: str, desideratum: str) -> dict[str, bool]:
    """Paper -> whether its chart ticks the desideratum for the law. Empty if no chart has that cell."""
    return {
        paper: desideratum in ticks[law]
        for paper, (columns, ticks) in CHARTS.items()
        if law in ticks and desideratum in columns
    }
