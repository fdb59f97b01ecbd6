//! Recognises the launcher that started this process, from the variables that launchers set.
//!
//! A launcher such as `mpirun` starts several copies of a program and tells each its number. This module reads that
//! without MPI, so that it works before a library is chosen and where none is installed.

use std::fmt;

/// Program that started several copies of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// `mpirun` or `oshrun` of Open MPI, with its major version: 4 stands for 4 and earlier, 5 for 5 and later.
    OpenMpi(u32),
    /// Hydra, the launcher of MPICH and Intel MPI, or another one with the same interface to processes (PMI).
    Pmi,
    /// `srun` of Slurm, for a step of a job.
    Slurm,
    /// Another launcher, by its name. Libraries of several projects may work with it.
    Other(&'static str),
}

impl fmt::Display for Launcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenMpi(4) => out.write_str("the launcher of Open MPI 4"),
            Self::OpenMpi(major) => write!(out, "the launcher of Open MPI {major}"),
            Self::Pmi => out.write_str("the launcher of MPICH or Intel MPI"),
            Self::Slurm => out.write_str("srun"),
            Self::Other(name) => out.write_str(name),
        }
    }
}

/// The launch that this process belongs to, as the variables that its launcher has set describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Program that started this process, which tells which MPI libraries fit.
    pub launcher: Launcher,
    /// Number of this process in the launch, counted from 0.
    pub rank: usize,
    /// Number of processes in the launch, if the launcher says it.
    pub size: Option<usize>,
    /// Number of this process among those on its node, counted from 0, if the launcher says it.
    pub local: Option<usize>,
}

/// Launchers with the variables for the number of a process, for the number of all, and for the number of a process on
/// its node, in the order in which they are asked. Slurm is last: it starts the daemons of other launchers, which pass its variables on. Its variables are
/// those of a job step, because a batch script has `SLURM_NTASKS` and `SLURM_PROCID` too but is one process.
const VARIABLES: &[(Launcher, &str, &str, &str)] = &[
    (
        Launcher::OpenMpi(4),
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
    ),
    (Launcher::Pmi, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    (
        Launcher::Other("mpirun_rsh"),
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_SIZE",
        "MV2_COMM_WORLD_LOCAL_RANK",
    ),
    (
        Launcher::Other("jsrun"),
        "JSM_NAMESPACE_RANK",
        "JSM_NAMESPACE_SIZE",
        "JSM_NAMESPACE_LOCAL_RANK",
    ),
    (Launcher::Other("Flux"), "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"),
    (Launcher::Other("PALS"), "PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_RANKID"),
    (Launcher::Slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
    (Launcher::Other("a PMIx launcher"), "PMIX_RANK", "", ""),
];

impl Launch {
    /// Reads the environment of this process. Returns `None` if no known launcher started it.
    pub fn detect() -> Option<Self> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Returns `true` if this is the only process of its launch or its first one.
    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// Returns `true` if this is the first process on its node, as far as the launcher says it.
    pub fn is_first_on_node(&self) -> bool {
        self.is_first() || self.local == Some(0)
    }

    /// Returns `true` if the launch has, or may have, several processes.
    pub fn is_shared(&self) -> bool {
        self.size != Some(1)
    }

    /// Returns a text that is the same in all processes of the launch and in no other launch, if the launcher gives one.
    /// Hydra gives none.
    pub fn id(&self) -> Option<String> {
        self.id_from_variables(|name| std::env::var(name).ok())
    }

    fn id_from_variables(&self, get: impl Fn(&str) -> Option<String>) -> Option<String> {
        let names: &[&str] = match self.launcher {
            Launcher::OpenMpi(_) | Launcher::Other("a PMIx launcher") => &["PMIX_NAMESPACE"],
            // Daemons of other launchers that Slurm starts have these variables too, with a step of their own on some
            // nodes. Slurm is recognised only where there is no other launcher.
            Launcher::Slurm => &["SLURM_JOB_ID", "SLURM_STEP_ID"],
            Launcher::Other("Flux") => &["FLUX_JOB_ID"],
            Launcher::Other("PALS") => &["PALS_APID"],
            Launcher::Pmi | Launcher::Other(_) => return None,
        };
        let values: Option<Vec<String>> =
            names.iter().map(|name| get(name).filter(|value| !value.is_empty())).collect();
        Some(values?.join("."))
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| get(name)?.parse::<usize>().ok();
        VARIABLES.iter().find_map(|(launcher, rank, size, local)| {
            let (rank, size, local) = (number(rank)?, number(size), number(local));
            let launcher = match launcher {
                // A step of Slurm says how many tasks it has; one that does not say it is not a step.
                Launcher::Slurm if size.is_none() => return None,
                Launcher::OpenMpi(_) if get("PRTE_LAUNCHED").is_some() => Launcher::OpenMpi(5),
                other => *other,
            };
            let fits = size.is_none_or(|size| rank < size);
            fits.then_some(Self { launcher, rank, size, local })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Launch, Launcher};

    fn detect(variables: &[(&str, &str)]) -> Option<(Launcher, usize, Option<usize>)> {
        let get = |name: &str| {
            let found = variables.iter().find(|variable| variable.0 == name);
            found.map(|variable| variable.1.to_owned())
        };
        Launch::from_variables(get).map(|it| (it.launcher, it.rank, it.size))
    }

    #[test]
    fn a_launch_has_an_id_where_all_its_processes_agree_on_one() {
        let id = |variables: &[(&str, &str)]| {
            let get = |name: &str| {
                let found = variables.iter().find(|variable| variable.0 == name);
                found.map(|variable| variable.1.to_owned())
            };
            Launch::from_variables(get)?.id_from_variables(get)
        };
        let step = [("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", "0")];
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("PMIX_NAMESPACE", "12")];
        assert_eq!(id(&open_mpi).as_deref(), Some("12"));
        let srun = [("SLURM_PROCID", "3"), ("SLURM_STEP_NUM_TASKS", "4"), step[0], step[1]];
        assert_eq!(id(&srun).as_deref(), Some("7.0"));
        assert_eq!(id(&[("PMI_RANK", "0"), ("PMI_SIZE", "3"), step[0], step[1]]), None);
        assert_eq!(id(&[("OMPI_COMM_WORLD_RANK", "1")]), None);
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        assert_eq!(detect(&[]), None);
        let open_mpi =
            [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_RANK", "1")];
        assert_eq!(detect(&open_mpi), Some((Launcher::OpenMpi(4), 1, Some(2))));
        let newer = [&open_mpi[..], &[("PRTE_LAUNCHED", "1")]].concat();
        assert_eq!(detect(&newer), Some((Launcher::OpenMpi(5), 1, Some(2))));
        let hydra = [("PMI_RANK", "0"), ("PMI_SIZE", "3"), ("MPI_LOCALNRANKS", "3")];
        assert_eq!(detect(&hydra), Some((Launcher::Pmi, 0, Some(3))));
        assert_eq!(
            detect(&[("PMIX_RANK", "7")]),
            Some((Launcher::Other("a PMIx launcher"), 7, None))
        );
    }

    #[test]
    fn each_node_has_a_first_process() {
        let first = |variables: &[(&str, &str)]| {
            let get = |name: &str| {
                variables.iter().find(|it| it.0 == name).map(|variable| variable.1.to_owned())
            };
            Launch::from_variables(get).unwrap().is_first_on_node()
        };
        let hydra = |rank, local| {
            first(&[("PMI_RANK", rank), ("PMI_SIZE", "4"), ("MPI_LOCALRANKID", local)])
        };
        assert!(hydra("0", "0") && !hydra("1", "1") && hydra("2", "0") && !hydra("3", "1"));
        assert!(first(&[("PMIX_RANK", "0")]) && !first(&[("PMIX_RANK", "1")]));
    }

    #[test]
    fn a_batch_script_of_slurm_is_no_launch_and_a_step_is() {
        let script = [("SLURM_NTASKS", "64"), ("SLURM_PROCID", "0")];
        assert_eq!(detect(&script), None);
        let step = [&script[..], &[("SLURM_STEP_NUM_TASKS", "64")]].concat();
        assert_eq!(detect(&step), Some((Launcher::Slurm, 0, Some(64))));
    }

    #[test]
    fn a_launcher_inside_a_step_of_slurm_comes_first() {
        let nested = [
            ("SLURM_PROCID", "1"),
            ("SLURM_STEP_NUM_TASKS", "2"),
            ("PMI_RANK", "5"),
            ("PMI_SIZE", "8"),
        ];
        assert_eq!(detect(&nested), Some((Launcher::Pmi, 5, Some(8))));
    }

    #[test]
    fn numbers_that_contradict_each_other_are_no_launch() {
        assert_eq!(detect(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")]), None);
        assert_eq!(detect(&[("PMI_RANK", "x"), ("PMI_SIZE", "4")]), None);
    }
}
