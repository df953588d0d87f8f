"""Drawing: worlds and runs as figures, stills, films and web pages.

| module | contents |
| --- | --- |
| `style`, `colors` | the style of all figures; quantities of a run as colors |
| `primitives`, `world2d`, `world3d`, `meshes` | discs, polygons, lines and triangle meshes; from a world to them |
| `framing`, `camera`, `timeline` | what a picture shows; 3D cameras; the state of a run at any time |
| `raster`, `vector`, `raycast` | back ends: pixels in 2D, Matplotlib, pixels in 3D |
| `figures`, `run_figures` | one frame on Matplotlib axes; the figures of `carom plot` |
| `films`, `caption`, `marks`, `encoding` | stills and films of `carom render` |
| `viewer` | the web page of `carom view`; the play page has its own drawings in `carom.play` |
"""
