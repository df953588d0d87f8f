"""The documentation is held to the code: tables, examples, outputs and links.

Run as a program, this file writes the tables that it checks: `python tests/test_docs.py`.
"""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import carom
from carom import laws
from carom.analysis.desiderata import ORDER
from carom.sweeps.workers import ThisProcess

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PLAYBACK = ROOT / "docs" / "playback"
LAWS_PAGE = ROOT / "docs" / "laws.md"
LARGEST_PICTURE = 300_000  # bytes; a page with four of them still loads at once
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
NAMES = {page.name: page for page in PAGES}


# -- tables ---------------------------------------------------------------------------------------------------


def laws_table() -> str:
    """The registered laws as a Markdown table: what each is, its paper, its claims, its restitution models."""
    head = ["law", "in words", "paper", *ORDER, "restitution models"]
    lines = [head, ["---"] * len(head)]
    for name, law in laws.every():
        ticks = ["✓" if mark in law.claims else "" for mark in ORDER]
        link = f"[{name}](docs/laws/{name}.md)"
        lines.append([link, law.title, law.paper.key, *ticks, ", ".join(law.restitution_models)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines).replace("|  |", "| |").replace("|  |", "| |")


def audit_table() -> str:
    """The table of measurements in docs/audit.md."""
    text = NAMES["audit.md"].read_text(encoding="utf-8")
    found = re.search(r"^\| law \| BRK .*?(?=\n\n)", text, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group()


def expected_tables(page: Path) -> dict[str, str]:
    """Marker -> the table that has to stand between `<!-- marker -->` and `<!-- /marker -->` on a page."""
    if page.name == "README.md":
        return {"laws": laws_table()}
    if page == LAWS_PAGE:
        return {"laws": laws_table().replace("docs/", "")}
    return {}


def between(text: str, marker: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n(.*?)<!-- /{marker} -->", text, flags=re.DOTALL)
    assert found is not None, f"no <!-- {marker} --> section"
    return found.group(1).strip()


@pytest.mark.parametrize("name", ["README.md", "laws.md"])
def test_tables_are_those_of_the_code(name):
    text = NAMES[name].read_text(encoding="utf-8")
    for marker, table in expected_tables(NAMES[name]).items():
        assert between(text, marker) == table, "run python tests/test_docs.py"


# -- laws -----------------------------------------------------------------------------------------------------


# The order of every page on a law, so that a reader finds the same thing at the same place.
LAW_HEADINGS = (
    "The idea",
    "Derivation",
    "Algorithm",
    "Three balls by hand",
    "What it preserves, and why",
    "Where it fails",
    "Reference",
)


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.+)$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", laws.names())
def test_every_law_has_its_page(name):
    """Headings in one order, a figure; paper in full, claims, restitution models and every option with its default."""
    law = laws.make(name)
    page = ROOT / "docs" / "laws" / f"{name}.md"
    assert page.exists(), f"no page docs/laws/{name}.md"
    text = page.read_text(encoding="utf-8")
    assert tuple(headings(text)) == (LAW_HEADINGS if name != "none" else ("Reference",))
    assert f"images/law_{name if name != 'none' else 'problem'}.svg" in text
    reference = " ".join(text.split("## Reference")[1].split())
    assert law.paper.key in reference and law.paper.text in reference
    claims = re.search(r"\*\*Claims:\*\* ([A-Z, ]+)\.", reference)
    assert claims is not None and set(claims.group(1).split(", ")) == set(law.claims)
    models = re.search(r"\*\*Restitution models:\*\* ([a-z_, ]+)", reference)
    assert models is not None and tuple(models.group(1).split(", ")) == law.restitution_models
    for option, value in law.options().items():
        default = f"{value:g}" if isinstance(value, float) else (f'"{value}"' if isinstance(value, str) else str(value))
        default = default.replace("1e+06", "1e6")
        assert f"`{option}` {default}" in reference, f"{name}: option {option} with default {default}"
    assert "**Bound:**" in reference


def test_the_default_law_is_the_same_everywhere(capsys):
    """Of scenes, of single impacts, of both commands, on the pages that advise, and in `carom laws`."""
    from carom.cli.main import main

    default = carom.Scene.law
    for function in (carom.solve_impact, carom.solve_impacts):
        assert inspect.signature(function).parameters["law"].default == default
    for name, says in {
        "README.md": f"The default law is `{default}`",
        "choosing.md": f"## Why {default} is the default",
        "laws.md": f"`{default}`, the default",
        f"{default}.md": f"`{default}` is the default law",
    }.items():
        assert says in " ".join(NAMES[name].read_text(encoding="utf-8").split()), name
    for arguments in (["laws"], ["resolve", "--help"]):
        with pytest.raises(SystemExit):
            main(arguments)
    printed = " ".join(capsys.readouterr().out.split())
    assert f"The default law is {default}" in printed and f"[default: {default}]" in printed


def test_figures_are_drawn_from_the_pages(monkeypatch, tmp_path):
    """The script runs the algorithm that a page prints and demands that it leads to the answer of the law."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    import figures

    for name in (*figures.LAWS, *figures.OTHERS):
        pictures = tmp_path / name
        pictures.mkdir()
        monkeypatch.setattr(figures, "PICTURES", pictures)
        figures.OTHERS[name]() if name in figures.OTHERS else figures.figure_of_law(name)
        drawn = list(pictures.glob("*.svg"))
        assert drawn and all(path.read_text(encoding="utf-8").count("<path") > 8 for path in drawn), name
    assert {f"law_{name}" for name in laws.names() if name != "none"} <= {path.stem for path in tmp_path.rglob("*.svg")}


# -- reading --------------------------------------------------------------------------------------------------

LONGEST_PAGE = 3000  # words
LONGEST_SENTENCE = 30  # words; code, a formula or a link is one
# Sentences that a reader has to complete, and words that no other text of the field has.
UNREADABLE = ("stop each other's slip in turn", "measured, and meant", "from which on", "where positions do not change")
READ = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))


def paragraphs(text: str) -> list[str]:
    """Paragraphs, items of lists and cells of tables, without code, formulas, links and tags."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->|</?[a-z][^>]*>|\$\$.*?\$\$", "\n\n", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`|\$[^$]+\$", "CODE", text)
    text = re.sub(r"\b(figs?|eqs?|No|e\.g|i\.e)\. ", r"\1 ", text)
    # A semicolon in an item or a cell separates what is listed; in a paragraph it does not end a sentence.
    text = re.sub(
        r"^ *(?:\||[-*] |\d+\. ).*(?:\n +\S.*)*", lambda m: m.group().replace(";", "."), text, flags=re.MULTILINE
    )
    text = re.sub(r"^( *(?:[-*]|\d+\.|#+|!!!) )", r"\n\n\1", text, flags=re.MULTILINE)
    text = re.sub(r"^ *\|.*", lambda m: "\n\n" + m.group().replace("|", "\n\n"), text, flags=re.MULTILINE)
    return re.split(r"\n\s*\n", text)


def long_sentences(text: str) -> list[str]:
    found = [s for part in paragraphs(text) for s in re.split(r"[.!?][)\"*_]*\s+", part)]
    return [" ".join(s.split()) for s in found if len(re.findall(r"\S*\w\S*", s)) > LONGEST_SENTENCE]


def test_pages_are_short_and_readable():
    for page in READ:
        text = page.read_text(encoding="utf-8")
        words = re.findall(r"\S*\w\S*", text)  # neither bars nor dashes of tables
        assert len(words) <= LONGEST_PAGE, f"{page.name} has {len(words)} words: divide it"
        joined = " ".join(text.split()).lower()
        assert not [phrase for phrase in UNREADABLE if phrase in joined], page.name
        assert not long_sentences(text), f"{page.name}: divide it"


def test_docstrings_and_help_texts_are_readable():
    import typer

    from carom.cli.main import app

    for name in carom.__all__:
        for label, value in [(name, getattr(carom, name)), *vars(getattr(carom, name)).items()]:
            if callable(value) and not label.startswith("_") and value.__doc__:
                assert not long_sentences(inspect.cleandoc(value.__doc__)), f"carom.{name}, {label}"

    def commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
        yield name, group
        for inner, command in getattr(group, "commands", {}).items():
            yield from commands(command, f"{name} {inner}")

    found = dict(commands(typer.main.get_command(app), "carom"))
    assert len(found) > 30
    for name, command in found.items():
        texts = [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
        assert not [s for text in texts for s in long_sentences(text)], name


def test_a_long_sentence_would_be_noticed():
    words = " ".join(["word"] * LONGEST_SENTENCE)
    assert long_sentences(f"A short one. {words} word. Another.") and not long_sentences(f"{words}. {words}.")
    assert long_sentences(f"{words}; word") and not long_sentences(f"- {words}; word")
    assert not long_sentences(f"| {words} | {words} |") and not long_sentences(
        f"{words[5:]} `some code of five words`."
    )


def test_the_notebooks_of_the_tutorial_are_its_chapters(monkeypatch):
    """The blocks of the chapters run in another test, so that the stored outputs are those of the code."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "tutorial")
    import notebooks

    assert len(notebooks.chapters()) == 8
    for chapter in notebooks.chapters():
        stored = chapter.with_suffix(".ipynb").read_text(encoding="utf-8")
        assert stored == notebooks.notebook(chapter.read_text(encoding="utf-8")), "python docs/tutorial/notebooks.py"
        assert any(cell.get("outputs") for cell in json.loads(stored)["cells"])


def test_the_conda_recipe_has_the_version_and_the_bounds_of_the_project():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "packaging" / "meta.yaml").read_text(encoding="utf-8")
    assert f'set version = "{carom.__version__}"' in recipe and f"python {project['requires-python']}" in recipe
    for needed in project["dependencies"]:
        name, bounds = re.fullmatch(r"([\w-]+)([^;]*).*", needed).groups()
        assert re.search(rf"- {name}(-base)? {re.escape(bounds.strip())}\n", recipe), needed
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert all(f"- {needed.replace('>', ' >', 1)}\n" in recipe for needed in backend)
    assert f"- carom = {project['scripts']['carom']}\n" in recipe
    image = (ROOT / "packaging" / "Dockerfile").read_text(encoding="utf-8")
    extras = re.findall(r"\[([\w,]+)\]", (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8") + image)
    assert {name for names in extras for name in names.split(",")} <= set(project["optional-dependencies"])
    for source in re.findall(r"^COPY (?!--)(.*) \S+$", image, flags=re.MULTILINE):
        assert all((ROOT / name).exists() for name in source.split())


def test_commands_of_image_and_recipe_are_understood():
    """By the parser of the command; `docker run` comes before them, or a dash."""
    import typer

    from carom.cli.main import app

    group = typer.main.get_command(app)
    texts = [(ROOT / "packaging" / name).read_text(encoding="utf-8") for name in ("Dockerfile", "meta.yaml")]
    lines = re.findall(
        r"(?:docker run .* |- |RUN )carom ((?:run|check|play|warmup|--version).*)$", "\n".join(texts), re.M
    )
    assert len(lines) >= 6
    for line in lines:
        name, *arguments = shlex.split(line)
        if name != "--version":
            group.commands[name].make_context(name, arguments)  # raises for an option that does not exist


def test_every_entry_of_the_evidence_has_its_page():
    from carom.reproduce.entries import ENTRIES

    assert {path.stem for path in (ROOT / "docs" / "evidence").glob("*.md")} == set(ENTRIES)
    rows = re.findall(
        r"^\| \[([\w.-]+)\]\(evidence", NAMES["reproduce.md"].read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert rows[: len(ENTRIES)] == list(ENTRIES)  # those at the size of the papers follow


def test_the_gallery_shows_scenes_with_their_code():
    from carom.scenes import SCENES

    page = NAMES["gallery.md"].read_text(encoding="utf-8")
    entries = page.split('<div class="shot')[1:]
    assert len(entries) >= 30 and all("```sh" in entry for entry in entries)
    for name in re.findall(r"carom (?:render|run|compare) ([a-z]\w*)", page):
        assert name in SCENES, name
    embedded = re.findall(r'<iframe src="playback/(\w+)\.html"', page)
    recorded = {path.name.removesuffix(".json.gz"): path.stat().st_size for path in PLAYBACK.glob("*")}
    assert len(embedded) >= 6 and set(embedded) == set(recorded) and sum(recorded.values()) < 600_000


def test_the_site_plays_recorded_runs_with_shared_code(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import playback

    playback.on_post_build({"site_dir": str(tmp_path)})
    pages = {path.stem: path.stat().st_size for path in (tmp_path / "playback").glob("*.html")}
    assert set(pages) == {path.name.removesuffix(".json.gz") for path in PLAYBACK.glob("*")}
    for name, size in pages.items():  # base64 takes four bytes for three, the page and its drawing 40 kB
        assert size < 1.34 * (PLAYBACK / f"{name}.json.gz").stat().st_size + 40_000
    assert (tmp_path / "playback" / "three.js").stat().st_size > 200_000


@pytest.mark.long
def test_the_audit_table_is_as_measured():
    """Every cell: the verdict; numbers of everyday size to their two digits, round-off only below its bound."""
    from carom.analysis.audit import audit_laws

    report = audit_laws()
    rows = [line.strip("| ").split(" | ") for line in audit_table().split("\n")[2:]]
    assert [law for law, *_ in rows] == report.laws
    for law, *cells in rows:
        for mark, cell in zip(ORDER, cells, strict=True):
            found, (verdict, number) = report.cell(law, mark), cell.split()
            assert (verdict == "✓") == found.passed, f"{law} {mark}"
            if abs(found.worst) > 1e-3:
                assert float(number) == pytest.approx(found.worst, rel=0.1), f"{law} {mark}"


# -- examples -------------------------------------------------------------------------------------------------


def same_text(got: str, said: str) -> None:
    """Word by word; numbers may differ by 1e-9, or by one part in 1000, since round-off depends on the processor."""
    left, right = words(got), words(said)
    assert len(left) == len(right), f"printed\n{got}\nsaid\n{said}"
    for a, b in zip(left, right, strict=True):
        if a != b:
            assert close(a, b), f"{a!r} was printed, {b!r} is said, in\n{got}"


def words(text: str) -> list[str]:
    return re.sub(r"([\[\](),])", r" \1 ", text).split()


def close(a: str, b: str) -> bool:
    try:
        return float(a) == pytest.approx(float(b), rel=1e-3, abs=1e-9)
    except ValueError:
        return False


def python_blocks(text: str) -> list[tuple[str, str | None]]:
    """Each python block with the text block right after it, if there is one."""
    found = list(FENCE.finditer(text))
    out: list[tuple[str, str | None]] = []
    for block, after in pairwise([*found, None]):
        assert block is not None
        if block.group(1) != "python":
            continue
        follows = after is not None and after.group(1) == "text" and not text[block.end() : after.start()].strip()
        out.append((block.group(2), after.group(2) if follows and after is not None else None))
    return out


WITH_PYTHON = [page.name for page in PAGES if python_blocks(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_python_blocks_print_what_they_say(name, capsys, monkeypatch, tmp_path):
    """All blocks of a page run in one namespace, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(laws, "_LAWS", dict(laws._LAWS))  # a page may register a law
    # Sweeps stay in this process: those of tests/sweeps start others, which takes seconds.
    monkeypatch.setattr("carom.sweeps.workers.Processes", lambda count: ThisProcess())
    space: dict[str, object] = {"__name__": "documentation"}
    for code, said in python_blocks(NAMES[name].read_text(encoding="utf-8")):
        exec(compile(code, name, "exec", dont_inherit=True), space)
        printed = capsys.readouterr().out
        if said is not None:
            same_text(printed, said)


def test_the_first_block_prints_the_same_on_every_machine(capsys):
    """Character by character: it has no number at the level of rounding, which depends on the processor."""
    code, said = python_blocks(NAMES["README.md"].read_text(encoding="utf-8"))[0]
    exec(compile(code, "README.md", "exec", dont_inherit=True), {"__name__": "documentation"})
    assert capsys.readouterr().out == said
    assert said is not None and not re.search(r"\de-1\d\b(?!:)", said)


def test_a_wrong_output_would_be_noticed():
    same_text("x [0.33333333 1e-17]", "x [0.3333 0.0]")
    for said in ("x [0.34 0.0]", "y [0.3333 0.0]", "x [0.3333]"):
        with pytest.raises(AssertionError):
            same_text("x [0.33333333 1e-17]", said)


def consoles(text: str) -> list[tuple[str, list[str]]]:
    """Commands of the console blocks and the lines shown for each."""
    out: list[tuple[str, list[str]]] = []
    for block in FENCE.finditer(text):
        if block.group(1) == "console":
            for line in block.group(2).splitlines():
                if line.startswith("$ "):
                    out.append((line[2:], []))
                else:
                    out[-1][1].append(line)
    return out


CONSOLES = consoles(NAMES["commands.md"].read_text(encoding="utf-8"))


@pytest.mark.parametrize(("command", "shown"), CONSOLES, ids=[command for command, _ in CONSOLES])
def test_commands_print_what_is_shown(command, shown, capsys, monkeypatch, tmp_path):
    """Every line shown is printed, in this order; `...` stands for any number of lines, or the rest of one."""
    from carom.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    page = NAMES["commands.md"].read_text(encoding="utf-8")
    json_block = next(block.group(2) for block in FENCE.finditer(page) if block.group(1) == "json")
    (tmp_path / "chain.json").write_text(json_block, encoding="utf-8")
    program, *arguments = shlex.split(command)
    assert program == "carom"
    with pytest.raises(SystemExit):
        main(arguments)
    captured = capsys.readouterr()
    printed = [line for line in (captured.out + captured.err).splitlines() if line.strip()]
    place = 0
    for line in shown:
        if line == "...":
            continue
        while place < len(printed) and not matches(printed[place], line):
            place += 1
        assert place < len(printed), f"{line!r} is not printed, or not here"
        place += 1


def matches(printed: str, shown: str) -> bool:
    if shown.endswith(" ..."):
        shown = shown[:-4]
        printed = printed[: len(shown)]
    try:
        same_text(printed, shown)
    except AssertionError:
        return False
    return True


def json_blocks() -> list[tuple[str, str]]:
    return [
        (page.name, block.group(2))
        for page in PAGES
        for block in FENCE.finditer(page.read_text(encoding="utf-8"))
        if block.group(1) == "json"
    ]


@pytest.mark.parametrize(("name", "text"), json_blocks(), ids=[f"{n}-{k}" for k, (n, _) in enumerate(json_blocks())])
def test_problem_files_load(name, text):
    from carom import solve_impact
    from carom.problem.files import from_dict

    solution = solve_impact(from_dict(json.loads(text), name), "gr")
    assert solution.status == "resolved"


# -- commands, links, pictures --------------------------------------------------------------------------------


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    spans = re.compile(r"`(?:\w+=\w+ )?make ([a-z-]+)|^make ([a-z-]+)", flags=re.MULTILINE)
    used = {a or b for page in PAGES for a, b in spans.findall(page.read_text(encoding="utf-8"))}
    assert {"demo", "test", "lint"} <= used
    assert used <= targets, f"no such target: {sorted(used - targets)}"


def test_the_citation_is_of_this_version():
    assert f"\nversion: {carom.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_no_text_installs_from_an_index_that_does_not_have_carom():
    texts = [*PAGES, *(ROOT / "src").rglob("*.py")]
    wrong = re.compile(r"pip install [^\n`]*\bcarom\b(?!\.)")
    assert wrong.search("pip install 'carom[view]'") and not wrong.search("pip install '.[view]' in a clone of Carom")
    assert [page.name for page in texts if wrong.search(page.read_text(encoding="utf-8"))] == []


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes from headings."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name):
    page = NAMES[name]
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name}: {link}"
        assert not anchor or anchor in anchors(target), f"{name}: {link}"


def test_pictures_are_used_and_small():
    used = {
        (page.parent / link).resolve()
        for page in PAGES
        for link in re.findall(
            r"(?:!\[[^\]]*\]\(|<(?:video|img) [^>]*src=\")([^)\"]+)", page.read_text(encoding="utf-8")
        )
    }
    assert used == {path for path in (ROOT / "docs" / "images").rglob("*") if path.is_file()}
    for picture in used:
        assert picture.stat().st_size < LARGEST_PICTURE, picture.name


def write_tables() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for marker, table in expected_tables(page).items():
            section = f"<!-- {marker} -->\n{table}\n<!-- /{marker} -->"
            text = re.sub(rf"<!-- {marker} -->.*?<!-- /{marker} -->", lambda _, s=section: s, text, flags=re.DOTALL)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    write_tables()
