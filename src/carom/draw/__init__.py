"""Drawing: worlds and runs as figures, stills, films and web pages.

`style` and `colors` are shared by everything that draws. `films` writes stills and films, `run_figures` the figures of
a run, `raycast` draws 3D worlds, `viewer` serves runs as a web page.
"""
