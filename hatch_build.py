"""Build hook: with CAROM_BUILD_KERNELS=1 the wheel brings compiled kernels, and is one for this Python and platform.

CAROM_BUILD_BASELINE names the processors it is for, one of `BASELINES` in carom/kernels/shipped.py, else x86-64-v3.
CAROM_BUILD_KERNELS may also name families of kernels instead of 1, separated by spaces, for a trial.
"""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FAMILIES = os.environ.get("CAROM_BUILD_KERNELS", "").split()


class KernelBuildHook(BuildHookInterface):
    """Compiles the kernels into a temporary folder, which becomes `carom/kernels/compiled` of the wheel."""

    def dependencies(self):
        return list(self.metadata.core.dependencies) if FAMILIES else []

    def initialize(self, version, build_data):
        if version == "standard" and FAMILIES:
            folder = self.folder = tempfile.TemporaryDirectory(prefix="carom-kernels-")
            kernels = Path(folder.name, "compiled")
            kernels.mkdir()
            machine = platform.machine().lower()
            default = "x86-64-v3" if machine in ("x86_64", "amd64") else "generic"
            paths = filter(None, [str(Path(self.root, "src")), os.environ.get("PYTHONPATH")])
            settings = {
                "CAROM_CACHE_DIR": folder.name,
                "NUMBA_CPU_NAME": os.environ.get("CAROM_BUILD_BASELINE", default),
                "NUMBA_CPU_FEATURES": "",  # those that the name stands for
                "PYTHONHASHSEED": "0",
                "PYTHONPATH": os.pathsep.join(paths),
            }
            families = [] if FAMILIES == ["1"] else FAMILIES
            build = "import pathlib, sys; from carom.kernels import shipped; "
            build += "shipped.build(pathlib.Path(sys.argv[1]), sys.argv[2:])"
            command = [sys.executable, "-c", build, kernels, *families]
            subprocess.run(command, env={**os.environ, **settings}, check=True)
            build_data["force_include"][str(kernels)] = "carom/kernels/compiled"
            build_data["pure_python"] = False
            python = f"cp{sys.version_info.major}{sys.version_info.minor}"
            # Machine code of kernels is linked to nothing but the functions of the process that loads it.
            if sys.platform == "linux":
                build_data["tag"] = f"{python}-{python}-manylinux_2_28_{machine}"
            else:
                build_data["infer_tag"] = True

    def finalize(self, version, build_data, artifact_path):
        if hasattr(self, "folder"):
            self.folder.cleanup()
