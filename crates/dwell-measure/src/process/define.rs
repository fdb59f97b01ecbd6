//! Definitions that a process writes when its events first use them: functions, regions, parameters and counters, call
//! sites and their modules, windows, groups and communicators.

use std::fmt;
use std::io;

use dwell_model::archive::{self, Meaning};
use dwell_model::layer::Layer;
use dwell_model::operation::{Mode, Operation, Progress};
use dwell_unify::facts::{self, Fact};
use dwell_unify::unify::{Group, Member};
use otf2::enums::{Paradigm, ParameterType, RegionRole, Type};
use otf2::id::RmaWinRef;

use super::{Definitions, LOOKED_UP, Process};
use crate::counters::Counting;
use crate::entry;
use crate::filter::Decision;
use crate::hook::{Hook, paradigm};
use crate::modules;
use crate::sites::Sites;
use crate::windows::Window;
use crate::wrapping::{Functions, Wrapping};

impl Process {
    /// Defines the region of a hooked function, on its first recorded call, and returns its id.
    #[cold]
    #[inline(never)]
    pub(crate) fn define_region(&self, hook: &Hook) -> u32 {
        entry::keeping_errno(|| {
            self.definitions(|definitions| {
                if let Some(region) = hook.region() {
                    return region; // Another thread was quicker.
                }
                let id = definitions.regions;
                let mut meaning = crate::text::Text::<256>::default();
                let decision = self.selection.decide(hook.layer, hook.row);
                meaning.format(format_args!("{}", hook.meaning));
                meaning.format(format_args!(
                    "{}",
                    match decision {
                        Decision::Record => "",
                        Decision::Aggregate => archive::SUMMED_UP,
                        Decision::Follow | Decision::Bypass => archive::LEFT_OUT,
                    }
                ));
                hook.settle(decision);
                let fact = Fact::Region {
                    id: id.into(),
                    name: hook.row.name(),
                    meaning: meaning.as_str(),
                    role: u8::from(hook.role()).into(),
                    paradigm: u8::from(paradigm(hook.layer)).into(),
                };
                if let Err(error) = definitions.stream.append(&fact) {
                    self.fail("no space for definitions", &error);
                }
                definitions.regions += 1;
                hook.set_region(id);
                id
            })
        })
    }

    /// Returns the id of the region of a function of the program, and defines it if it is new.
    pub(crate) fn function(&self, address: usize) -> Option<u32> {
        self.code.find(address).or_else(|| {
            self.define_code(address, |definitions, id| {
                self.define_module(definitions, address)?;
                let (id, address) = (id.into(), address as u64);
                definitions.stream.append(&Fact::Function { id, address })
            })
        })
    }

    /// Returns the id of a region that the program names, and defines it if it is new. `meaning` is its description.
    pub(crate) fn named_region(&self, name: &str, meaning: &str) -> Option<u32> {
        let (role, paradigm) = (RegionRole::Code, Paradigm::User);
        let key = key_of(meaning.len() as u64, &[name]);
        self.region_of(key, name, role, paradigm, format_args!("{meaning}"))
    }

    /// Returns the id of a region that a language runtime reports, and defines it if it is new. `meaning` is its
    /// description.
    pub(crate) fn reported_region(&self, name: &str, meaning: &str) -> Option<u32> {
        let (role, paradigm) = (RegionRole::Function, Paradigm::Upc);
        let key = key_of(5 << 8, &[name, meaning]);
        self.region_of(key, name, role, paradigm, format_args!("{meaning}"))
    }

    /// Returns the id of a region in which the recorder communicates through a runtime. Requests of other processes
    /// make progress meanwhile. The analysis counts [`Operation::Initialise`] as start-up, and not as time of the run.
    pub(crate) fn talking_region(
        &self,
        name: &str,
        layer: Layer,
        operation: Operation,
    ) -> Option<u32> {
        let meaning = Meaning {
            layer,
            operation,
            mode: Mode::Blocking,
            progress: Progress::Always,
            completes_remote: false,
        };
        let (role, paradigm) = (RegionRole::Artificial, Paradigm::MeasurementSystem);
        let key = key_of(4 << 8, &[name]);
        self.region_of(key, name, role, paradigm, format_args!("{meaning}"))
    }

    fn region_of(
        &self,
        key: usize,
        name: &str,
        role: RegionRole,
        paradigm: Paradigm,
        meaning: fmt::Arguments<'_>,
    ) -> Option<u32> {
        self.code.find(key).or_else(|| {
            self.define_code(key, |definitions, id| {
                let mut text = crate::text::Text::<256>::default();
                text.format(meaning);
                definitions.stream.append(&Fact::Region {
                    id: id.into(),
                    name,
                    meaning: text.as_str(),
                    role: u8::from(role).into(),
                    paradigm: u8::from(paradigm).into(),
                })
            })
        })
    }

    /// Returns the id of a parameter, and defines it if it is new.
    pub(crate) fn parameter(&self, name: &str, kind: ParameterType) -> Option<u32> {
        let kind = u64::from(u8::from(kind));
        self.named(key_of(1 << 8 | kind, &[name]), |definitions| {
            let id = next(&mut definitions.parameters);
            definitions.stream.append(&Fact::Parameter { id: id.into(), kind, name }).map(|()| id)
        })
    }

    /// Returns the id of a counter, and defines it if it is new.
    pub(crate) fn counter(&self, name: &str, unit: &str, kind: Type) -> Option<u32> {
        let kind = u64::from(u8::from(kind));
        self.named(key_of(2 << 8 | kind, &[name, unit]), |definitions| {
            let id = next(&mut definitions.counters);
            let fact = Fact::Counter { id: id.into(), kind, name, unit };
            definitions.stream.append(&fact).map(|()| id)
        })
    }

    /// Defines the counters that are sampled from now on. Called before the recording begins.
    ///
    /// # Errors
    /// If there is no space for the definition.
    pub(crate) fn sample_counters(&self, mut counting: Counting) -> io::Result<()> {
        let members: Vec<Member> = counting.members().collect();
        let mut bytes = vec![0; 8192];
        let used = facts::encode_members(&members, &mut bytes);
        let members = used.and_then(|used| bytes.get(..used));
        let members = members.ok_or_else(|| io::Error::other("names of counters are too long"))?;
        self.definitions(|definitions| {
            let id = next(&mut definitions.counters);
            counting.class = id;
            definitions.stream.append(&Fact::Sample { id: id.into(), members })
        })?;
        // It is set once, before any thread records.
        let _ = self.counting.set(counting);
        Ok(())
    }

    /// Returns the id of a text that is the value of a parameter, and defines it if it is new.
    pub(crate) fn text(&self, text: &str) -> Option<u32> {
        self.named(key_of(3 << 8, &[text]), |definitions| {
            let id = next(&mut definitions.texts);
            definitions.stream.append(&Fact::Text { id: id.into(), text }).map(|()| id)
        })
    }

    /// Returns the id under which something that the program named is defined, such as a region or a parameter. `key`
    /// identifies it; if the key is new, `define` writes the definition. Returns `None` if there is no space for it.
    fn named(
        &self,
        key: usize,
        define: impl FnOnce(&mut Definitions) -> io::Result<u32>,
    ) -> Option<u32> {
        self.names.find(key).or_else(|| {
            entry::keeping_errno(|| {
                self.definitions(|definitions| {
                    self.names.add_numbered(key, || {
                        let defined = define(definitions);
                        defined.map_err(|e| self.fail("no space for definitions", &e)).ok()
                    })
                })
            })
        })
    }

    /// Defines a region of the program's own code.
    #[cold]
    fn define_code(
        &self,
        key: usize,
        define: impl FnOnce(&mut Definitions, u32) -> io::Result<()>,
    ) -> Option<u32> {
        entry::keeping_errno(|| {
            self.definitions(|definitions| {
                self.code.add_numbered(key, || {
                    let id = definitions.regions;
                    let written = define(definitions, id);
                    definitions.regions += 1;
                    written
                        .map_err(|error| self.fail("no space for definitions", &error))
                        .is_ok()
                        .then_some(id)
                })
            })
        })
    }

    /// Returns the id of a call site, and defines it if it is new. An address with the bit [`LOOKED_UP`] is the id of a
    /// calling context already.
    pub(crate) fn site(&self, address: usize) -> Option<u32> {
        if address & LOOKED_UP != 0 {
            return Some((address & !LOOKED_UP) as u32);
        }
        if self.has_contexts() {
            return self.context(None, address);
        }
        if address == 0 {
            return None;
        }
        self.define_site(address, address, |id| Fact::Site { id, address: address as u64 })
    }

    /// Returns the id of a calling context: a call site in a function that was called from `caller`. Defines it if it
    /// is new.
    pub(crate) fn context(&self, caller: Option<u32>, address: usize) -> Option<u32> {
        if address == 0 {
            return None;
        }
        let parent = caller.map_or(0, |caller| u64::from(caller) + 1);
        let key = match parent {
            0 => address,
            parent => {
                let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
                let mixed = (mixed ^ parent).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                // Not one of an address, nor none.
                (mixed ^ mixed >> 29) as usize | 1 << 63
            }
        };
        self.define_site(key, address, |id| Fact::Context { id, address: address as u64, parent })
    }

    /// Returns the id of a call site whose call was made by a wrapper, and defines it if it is new. `caller` is the calling
    /// context of its function, if it is known.
    pub(crate) fn wrapped_site(
        &self,
        caller: Option<u32>,
        address: usize,
        wrapper: &str,
    ) -> Option<u32> {
        let parent = self.has_contexts().then(|| caller.map_or(0, |it| u64::from(it) + 1));
        let key = key_of(address as u64 ^ parent.unwrap_or(0).rotate_left(48), &[wrapper]);
        self.define_site(key, address, |id| {
            let (context, address) = (parent.map_or(0, |it| it + 1), address as u64);
            Fact::Wrapped { id, context, address, wrapper }
        })
    }

    /// Returns the id of a call site in a file of an interpreted language whose call was made by a wrapper, and defines it if
    /// it is new.
    pub(crate) fn line_site(
        &self,
        file: &str,
        line: u32,
        function: &str,
        wrapper: &str,
    ) -> Option<u32> {
        let key = key_of(6 << 8 | u64::from(line) << 16, &[file, function, wrapper]);
        let context = u64::from(self.has_contexts());
        self.define_site(key, 0, |id| Fact::Line {
            id,
            context,
            line: line.into(),
            file,
            function,
            wrapper,
        })
    }

    /// Adds a number to a table, or returns the one that is there.
    pub(crate) fn number(
        &self,
        table: &Sites,
        key: usize,
        number: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        self.definitions(|_| table.add_numbered(key, number))
    }

    /// Writes a property of the process to the stream.
    pub(crate) fn states(&self, name: &str, value: &str) {
        self.must_define(&Fact::Property { name, value });
    }

    fn define_site<'f>(
        &self,
        key: usize,
        address: usize,
        fact: impl Fn(u64) -> Fact<'f>,
    ) -> Option<u32> {
        self.sites.find(key).or_else(|| {
            self.definitions(|definitions| {
                self.sites.add(key, |id| {
                    let site = fact(id.into());
                    let written = self
                        .define_module(definitions, address)
                        .and_then(|()| definitions.stream.append(&site));
                    written.map_err(|error| self.fail("no space for definitions", &error)).is_ok()
                })
            })
        })
    }

    /// Defines the module that contains an address, if it is not known yet.
    fn define_module(&self, definitions: &mut Definitions, address: usize) -> io::Result<()> {
        let Definitions { stream, modules, module_count, .. } = definitions;
        let known = modules.get(..*module_count).unwrap_or_default();
        if known.iter().any(|range| range.contains(address)) {
            return Ok(());
        }
        let Some(place) = modules.get_mut(*module_count) else { return Ok(()) };
        let mut result = Ok(());
        modules::find(address, |module| {
            let range = module.whole();
            *place = range;
            let path = module.path();
            result = stream.append(&Fact::Module {
                id: *module_count as u64,
                start: range.start as u64,
                end: range.end as u64,
                bias: range.bias as u64,
                path: if path.is_empty() { &self.program } else { path },
                build_id: module.build_id().bytes(),
            });
            *module_count += 1;
        });
        result
    }

    /// Returns `true` if the code at a return address is in a wrapper. Before the first wrapper, sites that were defined are not.
    pub(crate) fn is_wrapped(&self, address: usize) -> bool {
        match self.wrapping.get() {
            Some(wrapping) => wrapping.is_wrapper(address),
            None if self.sites.find(address).is_some() => false,
            None => entry::keeping_errno(|| self.notice_wrapper(address)),
        }
    }

    /// Prepares for the calls of a wrapper if an address is in one. Returns `true` if it is.
    fn notice_wrapper(&self, address: usize) -> bool {
        let mut is_wrapper = false;
        modules::find(address.wrapping_sub(1), |module| {
            is_wrapper = self.wrappers.of_file(module.path()).is_some();
        });
        if is_wrapper && let Ok(found) = Wrapping::new(self.wrappers, Functions::default()) {
            // Another thread may have been quicker.
            drop(self.wrapping.set(found));
        }
        is_wrapper
    }

    /// Returns `true` if call sites are calling contexts with callers.
    fn has_contexts(&self) -> bool {
        self.rules.is_some()
    }

    /// Returns the id of a window, and defines it if it is new.
    pub(crate) fn window(&self, window: Window) -> RmaWinRef {
        self.windows.number(window, |id| self.define_window(id, window))
    }

    pub(super) fn define_window(&self, id: RmaWinRef, window: Window) {
        let Window { paradigm, group, context } = window;
        self.must_define(&Fact::Window {
            id: id.0.into(),
            paradigm: paradigm.into(),
            start: group.start.into(),
            stride: group.stride.into(),
            size: group.size.into(),
            context: context.into(),
        });
    }

    /// Defines a group of processes and returns its id, or `None` if there is no space for it.
    pub(crate) fn define_group(&self, group: &Group) -> Option<u32> {
        self.definitions(|definitions| {
            let id = definitions.groups;
            let mut rest = group.runs();
            while !rest.is_empty() {
                let mut room = [0; 2048];
                let (count, used) = facts::encode_runs(rest, &mut room);
                let paradigm = group.paradigm().into();
                let runs = room.get(..used).unwrap_or_default();
                let fact = Fact::Members { group: id.into(), paradigm, runs };
                if let Err(error) = definitions.stream.append(&fact) {
                    self.fail("no space for definitions", &error);
                    return None;
                }
                rest = rest.get(count.max(1)..).unwrap_or_default();
            }
            definitions.groups += 1;
            Some(id)
        })
    }

    /// Defines a communicator and returns its id.
    pub(crate) fn define_comm(
        &self,
        group: u32,
        remote: Option<u32>,
        identity: u64,
        name: &str,
    ) -> Option<u32> {
        self.definitions(|definitions| {
            let id = definitions.comms;
            let remote = remote.map_or(0, |remote| u64::from(remote) + 1);
            let fact = Fact::Comm { id: id.into(), group: group.into(), remote, identity, name };
            if let Err(error) = definitions.stream.append(&fact) {
                self.fail("no space for definitions", &error);
                return None;
            }
            definitions.comms += 1;
            Some(id)
        })
    }

    /// Defines a window of a communicator and returns its id, which is in the same space as those of
    /// [`Process::window`].
    pub(crate) fn define_comm_window(&self, comm: u32, number: u64, name: &str) -> RmaWinRef {
        self.windows.reserve(|id| {
            let (id, comm) = (id.0.into(), comm.into());
            self.must_define(&Fact::CommWindow { id, comm, number, name });
        })
    }
}

/// Returns the key of a name: a hash, with a seed for each kind. Two names with the same hash would be taken for one,
/// which has a probability of one in 2^62.
fn key_of(seed: u64, names: &[&str]) -> usize {
    let mix = |mixed: u64, byte: u8| {
        (mixed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    };
    let mixed = names.iter().fold(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), |mixed, name| {
        mix(name.bytes().fold(mixed, mix), 0)
    });
    // No function begins at an odd address so high.
    (mixed | 1 << 63 | 1) as usize
}

/// Returns a counter and increments it.
fn next(count: &mut u32) -> u32 {
    *count += 1;
    *count - 1
}
