//! The one-byte types that OTF2 1.0 had where later versions have role, paradigm and flags.
//!
//! They are read for old archives and written for old readers; nothing else uses them.

use crate::enums::{GroupFlag, GroupType, Paradigm, RegionFlag, RegionRole};

/// Legacy types of OpenMP and MPI regions, with their roles and paradigms.
const FIXED: &[(u8, RegionRole, Paradigm)] = &[
    (5, RegionRole::Parallel, Paradigm::Openmp),
    (6, RegionRole::Loop, Paradigm::Openmp),
    (7, RegionRole::Sections, Paradigm::Openmp),
    (8, RegionRole::Section, Paradigm::Openmp),
    (9, RegionRole::Workshare, Paradigm::Openmp),
    (10, RegionRole::Single, Paradigm::Openmp),
    (11, RegionRole::Master, Paradigm::Openmp),
    (12, RegionRole::Critical, Paradigm::Openmp),
    (13, RegionRole::Atomic, Paradigm::Openmp),
    (14, RegionRole::Barrier, Paradigm::Openmp),
    (15, RegionRole::ImplicitBarrier, Paradigm::Openmp),
    (16, RegionRole::Flush, Paradigm::Openmp),
    (17, RegionRole::CriticalSblock, Paradigm::Openmp),
    (18, RegionRole::SingleSblock, Paradigm::Openmp),
    (19, RegionRole::Wrapper, Paradigm::Openmp),
    (20, RegionRole::Task, Paradigm::Openmp),
    (21, RegionRole::TaskWait, Paradigm::Openmp),
    (22, RegionRole::Barrier, Paradigm::Mpi),
    (23, RegionRole::CollOne2all, Paradigm::Mpi),
    (24, RegionRole::CollAll2one, Paradigm::Mpi),
    (25, RegionRole::CollAll2all, Paradigm::Mpi),
    (26, RegionRole::CollOther, Paradigm::Mpi),
    (33, RegionRole::TaskCreate, Paradigm::Openmp),
    (34, RegionRole::Ordered, Paradigm::Openmp),
    (35, RegionRole::OrderedSblock, Paradigm::Openmp),
];

/// Converts a legacy region type to a role, a paradigm and flags.
pub(super) fn region(legacy: u8) -> (RegionRole, Paradigm, RegionFlag) {
    const DYNAMIC: RegionFlag = RegionFlag::DYNAMIC;
    const DYNAMIC_PHASE: RegionFlag = RegionFlag(RegionFlag::DYNAMIC.0 | RegionFlag::PHASE.0);
    if let Some(&(_, role, paradigm)) = FIXED.iter().find(|row| row.0 == legacy) {
        return (role, paradigm, RegionFlag::NONE);
    }
    match legacy {
        1 | 3 => (RegionRole::Function, Paradigm::Unknown, RegionFlag::NONE),
        2 => (RegionRole::Loop, Paradigm::User, RegionFlag::NONE),
        4 => (RegionRole::FileIo, Paradigm::User, RegionFlag::NONE),
        27 => (RegionRole::Code, Paradigm::User, RegionFlag::NONE),
        28 => (RegionRole::Code, Paradigm::User, DYNAMIC),
        29 => (RegionRole::Code, Paradigm::User, DYNAMIC_PHASE),
        30 => (RegionRole::Loop, Paradigm::User, DYNAMIC),
        31 => (RegionRole::Function, Paradigm::User, DYNAMIC),
        32 => (RegionRole::Loop, Paradigm::User, DYNAMIC_PHASE),
        _ => (RegionRole::Unknown, Paradigm::Unknown, RegionFlag::NONE),
    }
}

/// Returns the legacy type for a region, or 0 if OTF2 1.0 had none.
pub(super) fn region_type(role: RegionRole, paradigm: Paradigm, flags: RegionFlag) -> u8 {
    let dynamic = flags.contains(RegionFlag::DYNAMIC);
    let phase = flags.contains(RegionFlag::PHASE);
    match (role, paradigm) {
        (RegionRole::Function, Paradigm::Unknown | Paradigm::Compiler) => 1,
        (RegionRole::Function, Paradigm::User) => {
            if dynamic {
                31
            } else {
                3
            }
        }
        (RegionRole::FileIo, Paradigm::User) => 4,
        (RegionRole::Loop, Paradigm::User) => match (dynamic, phase) {
            (false, false) => 2,
            (false, true) => 0,
            (true, false) => 30,
            (true, true) => 32,
        },
        (RegionRole::Code, Paradigm::User) => match (dynamic, phase) {
            (false, false) => 1,
            (false, true) => 27,
            (true, false) => 28,
            (true, true) => 29,
        },
        _ => FIXED.iter().find(|row| row.1 == role && row.2 == paradigm).map_or(0, |row| row.0),
    }
}

/// Converts a legacy group type to a group type and a paradigm.
pub(super) fn group(legacy: u8) -> (GroupType, Paradigm) {
    match legacy {
        1 => (GroupType::Locations, Paradigm::Unknown),
        2 => (GroupType::Regions, Paradigm::Unknown),
        3 => (GroupType::Metric, Paradigm::Unknown),
        4 => (GroupType::CommGroup, Paradigm::Mpi),
        5 => (GroupType::CommSelf, Paradigm::Mpi),
        6 => (GroupType::CommLocations, Paradigm::Mpi),
        _ => (GroupType::Unknown, Paradigm::Unknown),
    }
}

/// Returns the legacy type for a group, or 0 if OTF2 1.0 had none.
pub(super) fn group_type(kind: GroupType, paradigm: Paradigm, flags: GroupFlag) -> u8 {
    if flags != GroupFlag::NONE {
        return 0;
    }
    match (kind, paradigm) {
        (GroupType::Locations, Paradigm::Unknown) => 1,
        (GroupType::Regions, Paradigm::Unknown) => 2,
        (GroupType::Metric, Paradigm::Unknown) => 3,
        (GroupType::CommGroup, Paradigm::Mpi) => 4,
        (GroupType::CommSelf, Paradigm::Mpi) => 5,
        (GroupType::CommLocations, Paradigm::Mpi) => 6,
        _ => 0,
    }
}
