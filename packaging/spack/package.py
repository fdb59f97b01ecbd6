# Recipe of Spack for the release tarball. Put this directory into a repository of packages as `dwell`, and
# @TARBALL@ into the current directory:
#
#   spack repo create site site && mkdir -p site/packages/dwell && cp package.py site/packages/dwell
#   spack repo add site && spack install dwell
#
# SPDX-License-Identifier: MIT OR Apache-2.0

import os

try:
    from spack_repo.builtin.build_systems.generic import Package
except ImportError:  # Spack before 1.0
    pass

from spack.package import *


class Dwell(Package):
    """Shows where one-sided parallel programs dwell in wait states, why, and what would remove the wait."""

    manual_download = True
    url = f"file://{os.getcwd()}/@TARBALL@"

    license("MIT OR Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    # No MPI: Dwell serves every MPI and OpenSHMEM of the machine, and links none.
    conflicts("platform=darwin", msg="Dwell runs on Linux")
    conflicts("platform=windows", msg="Dwell runs on Linux")
    requires("target=@ARCH@:", msg="this recipe installs the tarball for @ARCH@")

    def install(self, spec, prefix):
        for directory in ("bin", "lib", "include", "share"):
            install_tree(directory, join_path(prefix, directory))

    def setup_run_environment(self, env):
        env.set("DWELL_ROOT", self.prefix)

    @run_after("install")
    def check_install(self):
        Executable(self.prefix.bin.dwell)("--version")
