"""Checks wheel and sdist as a user meets them: `python tests/check_dist.py dist [INTERPRETER ...]`.

Both archives must have exactly the files under version control, and a wheel with compiled kernels those, too. For each
interpreter the wheel is installed into an empty environment, which is then made read-only, and used without a network,
if root runs this by another user, from a folder outside the repository with an empty kernel cache: `carom doctor`,
Newton's cradle, a run in 3D with its check and picture, a new scene. At the end the environment must have the files
that it had before. With the kernels of a wheel the commands of FIRST_USES have to keep their time, and nothing may be
compiled in any scene of the library and under any law (`every_run.py`). Needs an index of packages. Not a test of the
suite: it takes minutes per interpreter.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

with contextlib.suppress(ImportError):  # Windows has none: there no time is checked
    import resource

ROOT = Path(__file__).resolve().parent.parent

CRADLE = """
import carom
problem = carom.ImpactProblem.chain([1] * 5, [1, 0, 0, 0, 0])
after = carom.solve_impact(problem, "gr").velocity
assert abs(after - [0, 0, 0, 0, 1]).max() < 1e-9, after  # the tolerance of the law is 1e-10
"""
USES = {
    "doctor": ["carom", "doctor"],
    "Newton's cradle": ["python", "-c", CRADLE],
    "a run in 3D": ["carom", "run", "flat_box", "-o", "run.h5"],
    "its check": ["carom", "check", "run.h5"],
    "its picture": ["carom", "render", "run.h5", "-o", "end.png", "--size", "320x180"],
    "a new scene": ["carom", "new", "first.toml"],
    "its validation": ["carom", "validate", "first.toml"],
}
README_BLOCK = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1].partition("```")[0]
FIRST_USES = {  # of a wheel with kernels, with the processor seconds that they may take
    "the README's block": (["python", "-c", README_BLOCK], 2.0),
    "a pool break": (["carom", "run", "pool_break", "-o", "break.h5"], 3.0),
    "a 3D run, friction": (["carom", "run", "sliding_box", "-o", "sliding.h5"], 4.0),
}
EVERY_RUN = ["python", "every_run.py"]  # with the kernels of a wheel
SHIPPED = "carom/kernels/compiled/"
NOBODY = "65534"  # user and group


def main(folder: str, *interpreters: str) -> None:
    (wheel,) = Path(folder).glob("*.whl")
    check_contents(wheel, next(Path(folder).glob("*.tar.gz"), None))
    for interpreter in interpreters or (sys.executable,):
        check_install(wheel.resolve(), interpreter)


def check_contents(wheel: Path, sdist: Path | None) -> None:
    """Nothing is missing and nothing is superfluous, compared with the files under version control."""
    tracked = set(subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split())
    if sdist is not None:
        with tarfile.open(sdist) as archive:
            packed = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
        aside = {name for name in tracked if name.startswith((".ci/", ".github/", ".pre-commit"))}
        compare(sdist.name, packed, tracked - aside)
    files = {name for name in names_of(wheel) if ".dist-info/" not in name and not name.startswith(SHIPPED)}
    compare(wheel.name, files, {name.removeprefix("src/") for name in tracked if name.startswith("src/")})


def names_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def compare(archive: str, found: set[str], expected: set[str]) -> None:
    missing, superfluous = sorted(expected - found), sorted(found - expected)
    if missing or superfluous:
        sys.exit(f"{archive}: missing {missing}, superfluous {superfluous}")
    print(f"{archive}: {len(found)} files, none missing, none superfluous")


def check_install(wheel: Path, interpreter: str) -> None:
    with tempfile.TemporaryDirectory(prefix="carom-dist-") as name:
        home = Path(name)
        environment = home / "environment"
        subprocess.run([interpreter, "-m", "venv", environment], check=True)
        scripts = environment / ("Scripts" if os.name == "nt" else "bin")
        pip = [scripts / "python", "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "download", "--quiet", "--dest", home / "wheels", wheel], check=True)
        offline = ["--no-index", "--find-links", home / "wheels"]
        subprocess.run([*pip, "install", "--quiet", *offline, wheel], check=True)
        subprocess.run([*pip, "check"], check=True)
        set_writable(environment, False)
        before = snapshot(environment)
        try:
            use(scripts, home, any(name.startswith(SHIPPED) for name in names_of(wheel)))
            if snapshot(environment) != before:
                sys.exit(f"{interpreter}: the installation was written to")
        finally:
            set_writable(environment, True)
    print(f"{interpreter}: passed")


def use(scripts: Path, home: Path, kernels: bool) -> None:
    """Runs the commands. With the kernels of a wheel none of them may compile anything or take too long."""
    work, cache = home / "work", home / "cache"
    work.mkdir()
    cache.mkdir()
    shutil.copy(ROOT / "tests" / EVERY_RUN[1], work)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("CAROM_", "NUMBA_", "PYTHON", "VIRTUAL_ENV"))}
    variables = inherited | {"HOME": str(home), "XDG_CACHE_HOME": str(cache), "LOCALAPPDATA": str(cache)}
    drop = stranger(scripts, home)
    uses = {label: (command, None) for label, command in USES.items()}
    if kernels:
        uses = {**FIRST_USES, **uses, "every scene and law": (EVERY_RUN, None)}
    for label, (command, limit) in uses.items():
        start, before = time.perf_counter(), processor_seconds()
        program = [*drop, scripts / command[0], *command[1:]]
        done = subprocess.run(program, cwd=work, env=variables, capture_output=True, text=True)
        took = processor_seconds() - before
        late = limit is not None and took > limit
        compiled = sorted(path.name for path in cache.rglob("*.kernel")) if kernels else []
        verdict = "FAILED" if done.returncode or late or compiled else "ok"
        print(f"  {label:20} {verdict}  {time.perf_counter() - start:.1f} s, processor {took:.1f} s", flush=True)
        if verdict != "ok":
            sys.exit(f"{done.stdout}{done.stderr}at most {limit} s; compiled: {compiled}")


def stranger(scripts: Path, home: Path) -> list[str]:
    """Before a command: lets root run it as another user, or at least bound by permissions, and without a network."""
    if not hasattr(os, "getuid") or os.getuid() != 0 or not shutil.which("setpriv"):
        return []
    offline = ["unshare", "--net"] if shutil.which("unshare") else []
    other = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
    home.chmod(0o755)
    again = "import carom, subprocess, sys; subprocess.check_call([sys.executable, '-c', ''])"  # setpriv may do more
    tried = [*offline, *other, scripts / "python", "-c", again]
    if subprocess.run(tried, cwd=home, capture_output=True).returncode:  # the interpreter may lie in root's own folder
        print("  as root without its rights: another user cannot run this interpreter")
        return [*offline, "setpriv", "--bounding-set", "-dac_override"]
    for folder in (home / "work", home / "cache"):
        for path in (folder, *folder.iterdir()):
            os.chown(path, int(NOBODY), int(NOBODY))
    print("  as another user")
    return [*offline, *other]


def processor_seconds() -> float:
    if "resource" not in globals():
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def set_writable(folder: Path, writable: bool) -> None:
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | stat.S_IWUSR if writable else mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))


def snapshot(folder: Path) -> dict[Path, tuple[int, int]]:
    facts = ((path, path.lstat()) for path in folder.rglob("*"))
    return {path: (fact.st_size, fact.st_mtime_ns) for path, fact in facts}


if __name__ == "__main__":
    if len(sys.argv) < 2 or not shutil.which("git"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
