"""Files in HDF5 that survive the death of their writer, forged bytes, and readers at the same time.

HDF5 is what this field reads everywhere, but its library changes bytes in the middle of a file in an order of its own,
follows every address that a file names, and locks files by their names. The modules of this package stand between h5py
and the file. They guarantee:

- **A killed process loses what came after its last commit, and nothing else.** Whenever it dies, also by a full disk,
  the file is the last committed one, possibly followed by unused bytes, or a journal beside it holds all changes to the
  next one (`safe_file.py`, `journal.py`). The next reader replaces the pages of the file by those of the journal in
  memory; the next writer completes the commit. A journal of another file or of another commit is left alone.
- **A reader sees one commit**, whether or not another process writes the file at the same time (`snapshot.py`). It
  needs no lock and blocks nobody. Two writers exclude each other where the system has locks.
- **No byte of a file can make the library loop, open another file, run a filter that is a program, or take memory out
  of proportion to the size of the file.** Every address is followed before the library sees it, and all blocks lie
  inside the file and apart (`structure.py`). New files and journals are not written or read through links.
- **Damage is noticed.** Chunks have checksums of the library; all else that does not change during a run has a digest,
  and checkpoints, the head of the file and journals have checksums of their own.
- **A checkpoint of any size is written once**, into one of two slots at fixed places, and becomes the current one with
  the commit (`slots.py`).

Guards: `python -m fuzz kills trajectories forgeries` kills writers at every instant, damages and forges files.
"""
