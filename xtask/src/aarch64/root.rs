//! Prepares this machine for AArch64 programs: compilers, an emulator, and libraries.
//!
//! Debian's packages for AArch64 are downloaded and unpacked into the target directory, without installing anything or
//! running their scripts. Compilers under the names that tests use call the cross compiler with these libraries. The
//! emulator must be registered with the kernel (`binfmt_misc`). Debian's packages do so where they have the permission;
//! where they did not, this module does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::ci::install;
use crate::process;
use crate::workspace::Workspace;

/// Packages that are installed on this machine.
const TOOLS: &[&str] = &[
    "gcc-aarch64-linux-gnu",
    "g++-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "qemu-user-static",
    "openmpi-bin",
    "mpich",
    "otf2-tools",
];

/// Packages that are unpacked, together with all packages that they depend on.
const LIBRARIES: &[&str] = &["libopenmpi-dev", "libmpich-dev", "libstdc++6", "libgfortran5"];

/// Prefixes of the names of development packages (`-dev`) that are left out: those of the compilers, because the cross
/// compilers of this machine provide their files.
const OF_COMPILERS: &[&str] = &["libc6-", "libgcc-", "libstdc++-", "libgfortran-"];

/// Directories of the libraries and the compilers.
pub(super) struct Root {
    /// Directory that serves as the root of an AArch64 system.
    pub(super) libraries: PathBuf,
    /// Directory with compilers under the names that tests use.
    pub(super) compilers: PathBuf,
}

/// Installs and unpacks the packages that are missing, writes the compilers and registers the emulator.
pub(super) fn prepare(workspace: &Workspace) -> Result<Root> {
    install::debian_packages(TOOLS)?;
    let folder = workspace.target.join("aarch64");
    let root = Root { libraries: folder.join("root"), compilers: folder.join("bin") };
    // Written last, so that an interrupted attempt is repeated.
    let complete = root.libraries.join("complete");
    if !complete.exists() {
        unpack(&folder, &root.libraries)?;
        fs::write(&complete, "").context("cannot mark the libraries as complete")?;
    }
    write_compilers(&root)?;
    register_emulator()?;
    Ok(root)
}

/// Downloads packages and unpacks them. Apt gets a state of its own in which no package is installed, so that it
/// downloads all dependencies.
fn unpack(folder: &Path, into: &Path) -> Result<()> {
    let apt = folder.join("apt");
    for directory in ["lists/partial", "archives/partial"] {
        fs::create_dir_all(apt.join(directory)).context("cannot create directories for apt")?;
    }
    fs::write(apt.join("status"), "")?;
    let apt_get = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        let set = |name: &str, value: &Path| format!("{name}={}", value.display());
        for option in [
            set("Dir::State::lists", &apt.join("lists")),
            set("Dir::State::status", &apt.join("status")),
            set("Dir::State::extended_states", &apt.join("extended_states")),
            set("Dir::Cache", &apt),
            set("Dir::Log", &apt),
        ] {
            command.arg("-o").arg(option);
        }
        command.args(["-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64"]);
        command.args(["-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1"]);
        command.args(["-qq"]).args(arguments);
        command
    };
    process::run(&mut apt_get(&["update"]))?;
    let download = ["install", "-y", "--no-install-recommends", "--download-only"];
    process::run(apt_get(&download).args(LIBRARIES))?;
    for entry in fs::read_dir(apt.join("archives"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_wanted(&name) {
            let unpacked = Command::new("dpkg-deb").arg("-x").arg(&path).arg(into).status()?;
            ensure!(unpacked.success(), "{name} cannot be unpacked");
        }
    }
    // Emulated programs would run programs from these directories instead of those of this machine.
    for directory in ["usr/bin", "usr/sbin", "bin", "sbin", "usr/share"] {
        let _ = fs::remove_dir_all(into.join(directory));
    }
    fs::remove_dir_all(apt).context("cannot remove the downloaded packages")
}

/// Returns `true` if a package has libraries that programs need, or headers for them.
fn is_wanted(file: &str) -> bool {
    let package = file.split('_').next().unwrap_or_default();
    let of_compilers = OF_COMPILERS.iter().any(|start| package.starts_with(start));
    (package.starts_with("lib") || package.starts_with("zlib"))
        && !(of_compilers && package.ends_with("-dev"))
}

/// Writes scripts under the names of compilers that tests use.
fn write_compilers(root: &Root) -> Result<()> {
    fs::create_dir_all(&root.compilers).context("cannot create a directory for compilers")?;
    let libraries = root.libraries.join("usr/lib/aarch64-linux-gnu");
    let (at, also) = (libraries.display(), root.libraries.join("lib/aarch64-linux-gnu"));
    let all = format!("-L{at} -L{also} -Wl,-rpath-link,{at}:{also}", also = also.display());
    // Programs sign return addresses, as those of several distributions do, and the emulated processor checks them.
    let all = format!("-mbranch-protection=standard {all}");
    let headers = format!("-I{at}/openmpi/include");
    let open_mpi = format!("-L{at}/openmpi/lib {all} -lmpi");
    let shmem = format!("-L{at}/openmpi/lib {all} -loshmem -lmpi");
    let of_mpich = format!("-I{}/usr/include/aarch64-linux-gnu/mpich", root.libraries.display());
    let mpich = format!("{all} -lmpich");
    // Like the compilers of both libraries, those for C call another compiler if a variable names one.
    for (name, compiler, compile, link) in [
        ("mpicc.openmpi", "${OMPI_CC:-gcc}", &headers, &open_mpi),
        ("mpicxx.openmpi", "g++", &headers, &open_mpi),
        ("oshcc", "${OMPI_CC:-gcc}", &headers, &shmem),
        ("oshc++", "g++", &headers, &shmem),
        ("mpicc.mpich", "${MPICH_CC:-gcc}", &of_mpich, &mpich),
        ("mpicxx.mpich", "g++", &of_mpich, &mpich),
        ("gcc", "gcc", &String::new(), &all),
        ("g++", "g++", &String::new(), &all),
    ] {
        let path = root.compilers.join(name);
        let script = format!(
            "#!/bin/sh
case \"$1\" in
--showme:compile) echo \"{compile}\" ;;
--showme:link) echo \"{link}\" ;;
*) exec aarch64-linux-gnu-{compiler} \"$@\" {compile} {link} ;;
esac
"
        );
        fs::write(&path, script).with_context(|| path.display().to_string())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Registers the emulator with the kernel, unless one is registered.
fn register_emulator() -> Result<()> {
    const FOLDER: &str = "/proc/sys/fs/binfmt_misc";
    /// Entry of the emulator: the first bytes of an AArch64 program, the mask of the bits that are compared, and two
    /// flags. With `F` the emulator is opened now; with `P` it gets the name by which the program was called.
    const ENTRY: &str = concat!(
        r":qemu-aarch64:M::",
        r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:",
        r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:",
        r"/usr/bin/qemu-aarch64-static:PF",
    );
    let folder = Path::new(FOLDER);
    if !folder.join("register").exists() {
        let mount = ["-t", "binfmt_misc", "binfmt_misc", FOLDER];
        process::run(Command::new("mount").args(mount))?;
    }
    if folder.join("qemu-aarch64").exists() {
        return Ok(());
    }
    fs::write(folder.join("register"), ENTRY)
        .context("the kernel does not take an emulator (binfmt_misc); only root may tell it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_left_out_and_libraries_are_not() {
        for name in ["libgcc-s1", "libstdc++6", "libc6", "libopenmpi-dev", "zlib1g"] {
            assert!(is_wanted(&format!("{name}_1.2_arm64.deb")), "{name}");
        }
        for name in ["libgcc-12-dev", "libstdc++-12-dev", "libc6-dev", "gcc-12", "perl", "lock"] {
            assert!(!is_wanted(&format!("{name}_1.2_arm64.deb")), "{name}");
        }
    }
}
