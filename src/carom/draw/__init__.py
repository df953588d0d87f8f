"""Drawing: worlds and runs as figures, stills, films and web pages.

| module | contents |
| --- | --- |
| `style`, `colors` | the style of all figures; quantities of a run as colors |
| `drawables` | from a world to its different shapes and the bodies that have them, for viewer, exports and web pages |
| `primitives`, `world2d`, `world3d`, `meshes` | discs, polygons, lines and triangle meshes; from a world to them |
| `framing`, `camera`, `timeline` | what a picture shows; 3D cameras; the state of a run at any time |
| `raster`, `vector`, `raycast` | back ends: pixels in 2D, Matplotlib, pixels in 3D |
| `figures`, `run_figures` | one frame on Matplotlib axes; the figures of `carom plot` |
| `films`, `settings`, `caption`, `marks`, `encoding` | stills and films of `carom render`, and what it can be told |
| `viewer`, `web_picture` | the web page of `carom view`; primitives for the play page and exported pages |
"""
