//! The rules of each pattern.

use super::*;

impl Found {
    pub(super) fn progress(&mut self, trace: &Trace) {
        let sure: Vec<_> = (0..trace.processes).map(|q| regions(trace, q, false)).collect();
        let wide: Vec<_> = (0..trace.processes).map(|q| regions(trace, q, true)).collect();
        let first = |list: &[Stretch], start: u64| list.iter().copied().find(|r| r.1 > start);
        // What the target did is not known where one of its threads did not record, or all had ended.
        let blind = |target: usize, start: u64, leave: u64| {
            let until = first(&sure[target], start).map_or(leave, |r| r.0.min(leave));
            let threads = || trace.locations.iter().filter(|it| it.process == target);
            let silent = |gap: &Stretch| gap.0 < until && gap.1 > start;
            threads().any(|it| it.gaps.iter().any(silent)) || threads().all(|it| it.end < until)
        };
        // The same up to the last time that it came.
        let blind_until_last = |target: usize, start: u64, leave: u64| {
            let begins = sure[target].iter().map(|it| it.0).filter(|it| *it < leave);
            let until = begins.max().unwrap_or(0);
            let threads = || trace.locations.iter().filter(|it| it.process == target);
            let silent = |gap: &Stretch| gap.0 < until && gap.1 > start;
            threads().any(|it| it.gaps.iter().any(silent)) || threads().all(|it| it.end < until)
        };
        let waiters = targets(trace);
        let node = |process: usize| process / trace.per_node;
        // When a request can have come to its target at the earliest.
        let there = |origin: usize, target: usize, start: u64| {
            start + trace.latency[usize::from(node(origin) == node(target))]
        };

        // What progressed without its target.
        let mut evidence: BTreeMap<(Class, usize, usize), u64> = BTreeMap::new();
        for (&call, (targets, (_, leave))) in &waiters {
            let call = &trace.calls[call];
            for (&target, &(start, class, early)) in targets {
                let come = there(call.process, target, start);
                if early {
                    self.blind += u64::from(blind_until_last(target, come, *leave));
                    continue;
                }
                let spare = come - start;
                let near = |r: &Stretch| r.1 + spare > start && r.0 < leave + spare;
                if blind(target, come, *leave) {
                    self.blind += u64::from(!class.0.is_ascii_uppercase());
                } else if class.2.is_some() && !wide[target].iter().any(near) {
                    *evidence.entry((class, call.process, target)).or_default() += 1;
                }
            }
        }

        // Bounds of each wait, before its class is judged.
        let mut waits: Vec<Judged> = Vec::new();
        for (&call, &(ref targets, (enter, leave))) in &waiters {
            let call = &trace.calls[call];
            let all = |regions: &[Vec<Stretch>]| -> Vec<Option<Visits>> {
                let of = |(&target, &(start, _, early)): (&usize, &(u64, Class, bool))| {
                    let come = there(call.process, target, start);
                    let apart = (come - start).max(10_000);
                    let visits = |come| Visits::of(&regions[target], come, (enter, leave), apart);
                    if early {
                        let known = !blind_until_last(target, come, leave);
                        // Whenever it was there before, it may have been enough.
                        return known.then(|| Some(Visits { first: (0, 0), ..visits(0)? }))?;
                    }
                    (!blind(target, come, leave)).then(|| visits(come))?
                };
                targets.iter().map(of).collect()
            };
            let (all_sure, all_wide) = (all(&sure), all(&wide));
            let bounds = |all: &[Option<Visits>]| match all {
                [None] => (0, 0),
                [Some(it)] if it.count > 10 && it.gaps >= 50_000_000 => (it.gaps, it.gaps),
                [Some(it)] => (it.first.0.saturating_sub(enter), it.gaps),
                several => {
                    let there = || several.iter().flatten();
                    let came = there().map(|it| it.first).filter(|r| r.1 > enter).map(|r| r.0);
                    let low = came.max().unwrap_or(enter).saturating_sub(enter);
                    // Someone was away who had yet to come for the last time.
                    let last = there().map(|it| it.last).max().unwrap_or(enter).max(enter);
                    let edges: Vec<Stretch> = there()
                        .flat_map(|it| it.regions.iter().copied().chain([(it.last, it.last)]))
                        .collect();
                    let away = |twice: u64| {
                        let mut some = there();
                        some.any(|it| twice < 2 * it.last && !within(&it.regions, twice))
                    };
                    (low, measure(&edges, enter, last, away).max(low))
                }
            };
            let (one, two) = (bounds(&all_sure), bounds(&all_wide));
            let (mut low, mut high) = (one.0.min(two.0), one.1.max(two.1));
            let mut unlikely = match all_sure.as_slice() {
                [Some(it)] if it.gaps > 0 => unlikely(leave - it.last, it.gap),
                _ => 0,
            };
            // The target that was the last to come at all stands for all.
            let last = all_sure
                .iter()
                .zip(targets)
                .filter_map(|(it, (&target, &(_, class, _)))| {
                    let it = it.as_ref()?;
                    Some(((it.first.0, it.last), target, class))
                })
                .max();
            let of_first = || targets.iter().next().map(|(&target, it)| ((0, 0), target, it.1));
            let (_, target, class) = last.or_else(of_first).unwrap();
            let last_of =
                |all: &[Option<Visits>], at: usize| all[at].as_ref().map_or(enter, |it| it.last);
            let came = |at: usize| last_of(&all_sure, at).max(last_of(&all_wide, at)).max(enter);
            // The thread that came last of all has ended it.
            let (until, last) = (0..).map(came).zip(targets.keys().copied()).max().unwrap();
            if targets.len() > 1 && last == target {
                let at = targets.keys().position(|it| *it == target).unwrap();
                unlikely = match &all_sure[at] {
                    Some(it) if it.gaps > 0 => super::unlikely(leave - it.last, it.gap),
                    _ => 0,
                };
            }
            // What was contention is no wait for progress.
            if let Some(lock) = lock_of(call) {
                let held = held_by_others(trace, call.process, lock);
                let free = |until: u64| measure(&held, enter, until, |twice| !within(&held, twice));
                high = high.min(free(leave));
                low = free(enter + low).min(high);
                unlikely = if free(leave) < leave - enter { 0 } else { unlikely };
            }
            if high > 0 {
                let (location, process) = (call.location, call.process);
                let multi = targets.len() > 1;
                let culprit = entered(trace, last, until);
                let mut parts = vec![((enter, until), culprit, (low, high))];
                if multi && lock_of(call).is_none() {
                    parts = several(trace, targets, enter, [&all_sure, &all_wide]);
                    parts.push(((enter, until), culprit, (0, high - low)));
                    parts.retain(|it| it.2.1 > 0);
                }
                waits.push(Judged {
                    call: call.number,
                    location,
                    process,
                    target,
                    class,
                    low,
                    high,
                    unlikely,
                    multi,
                    parts,
                });
            }
        }

        for (&number, (targets, when)) in &waiters {
            let of_call = |it: &&Judged| it.call == number;
            let before = waits.iter().find(of_call).map_or(0, |it| it.high);
            let first = |target: usize, start: u64| {
                let come = there(trace.calls[number].process, target, start);
                let known = !blind(target, come, when.1);
                first(&sure[target], come).filter(|it| known && it.1 > when.0 && it.0 < when.1)
            };
            let came = targets.iter().filter_map(|(&target, it)| Some(first(target, it.0)?.0));
            let since = came.max().unwrap_or(when.0).max(when.0);
            waits.extend(held(trace, &waiters, (number, since, before), &sure));
        }

        for it in &waits {
            let alike: Vec<&Judged> = waits
                .iter()
                .filter(|other| other.class == it.class)
                .filter(|other| (other.process, other.target) == (it.process, it.target))
                .collect();
            let aligned: Vec<&&Judged> = alike.iter().filter(|it| it.unlikely > 0).collect();
            let time =
                |list: &mut dyn Iterator<Item = &Judged>| list.map(|it| it.high).sum::<u64>();
            let of_aligned = time(&mut aligned.iter().map(|it| **it));
            // What need not wait is no wait unless arrivals show that it does.
            let at_origin = it.class.0.is_ascii_uppercase();
            let part = if at_origin { 5 } else { 8 };
            let depends = of_aligned * 10 >= time(&mut alike.iter().copied()) * part
                && aligned.iter().map(|it| it.unlikely).sum::<u64>() >= 4_600;
            let own = evidence.get(&(it.class, it.process, it.target)).copied();
            let nodes = (node(it.process), node(it.target));
            let near = |other: &(Class, usize, usize)| {
                other.0 == it.class && (node(other.1), node(other.2)) == nodes
            };
            let count = aligned.len() as u64;
            let (low, high) = match own {
                None if aligned.is_empty() && evidence.keys().any(near) => (0, 0),
                None if depends && it.unlikely > 0 => (it.high, it.high),
                None if at_origin && !depends => (0, 0),
                None => (it.low, it.high),
                Some(own) if depends && it.unlikely > 0 && count > own => (it.high, it.high),
                Some(own) if depends && it.unlikely > 0 && 10 * count > own => (0, it.high),
                Some(_) => (0, 0),
            };
            use Quantity as Q;
            let wait = if it.multi { Wait::WaitForProgressMulti } else { Wait::WaitForProgress };
            self.add(it.location, Q::Wait(wait), low);
            self.add(it.location, Q::Margin(wait), high - low);
            if !at_origin {
                self.add(it.location, Q::Unconfirmed(wait), it.high - high);
            }
            for &(when, culprit, of) in it.parts.iter().filter(|_| high > 0) {
                // A single stretch has what was judged; several have their parts of what was found.
                let bounds = if it.parts.len() == 1 { (low, high) } else { of };
                let (waiter, what) = (it.location, Q::Wait(wait));
                self.pieces.push(Piece { waiter, what, culprit, when, bounds });
            }
            let exact = depends && it.unlikely > 0;
            if !exact {
                self.add(it.location, Q::ByRule(wait), high);
            }
        }
    }

    pub(super) fn locks(&mut self, trace: &Trace) {
        for call in &trace.calls {
            if let Some(lock) = lock_of(call) {
                let held = held_by_others(trace, call.process, lock);
                let wait = measure(&held, call.enter, call.leave, |twice| within(&held, twice));
                self.add(call.location, Quantity::Wait(Wait::LockContention), wait);
                // Every nanosecond belongs to the holder who was there first.
                let mut list = holders(trace, call.process, lock);
                list.sort_unstable_by_key(|it| {
                    (it.0.0.max(call.enter), it.0.1.min(call.leave), it.1)
                });
                let mut reached = call.enter;
                for ((begin, end), holder) in list {
                    let (begin, end) = (begin.max(reached), end.min(call.leave));
                    self.piece(call.location, Wait::LockContention, holder, (begin, end));
                    reached = reached.max(end);
                }
            }
        }
    }

    pub(super) fn signals(&mut self, trace: &Trace) {
        // Begin, place of the call, target, offset, bytes.
        let mut signals: Vec<(u64, usize, usize, u64, u64)> = Vec::new();
        for call in &trace.calls {
            for (_, record) in &call.records {
                if let Record::Issue { target, bytes, offset: Some(offset), .. } = *record {
                    signals.push((call.enter, call.number, target, offset, bytes));
                }
            }
        }
        for call in &trace.calls {
            for (_, record) in &call.records {
                let Record::Change(Some(address)) = *record else { continue };
                let covers = |it: &&(u64, usize, usize, u64, u64)| {
                    let range = it.3..it.3 + it.4;
                    it.2 == call.process && range.contains(&address) && it.0 < call.leave
                };
                let last = signals.iter().filter(covers).max();
                let Some(last) = last.filter(|it| it.0 > call.enter) else { continue };
                let culprit = &trace.calls[last.1];
                if culprit.process != call.process {
                    self.wait(call, Wait::LateSignal, culprit, last.0);
                }
            }
        }
    }

    /// Matches the n-th notification from one process to another with the n-th wait for it.
    pub(super) fn notifications(&mut self, trace: &Trace) {
        for from in 0..trace.processes {
            for to in 0..trace.processes {
                let raised = trace.records(from).into_iter();
                let raised = raised.filter(|it| matches!(*it.2, Record::Notify(it) if it == to));
                let waits = trace.records(to).into_iter();
                let waits = waits.filter(|it| matches!(*it.2, Record::Notified(it) if it == from));
                for ((raised, ..), (call, ..)) in raised.zip(waits) {
                    self.wait(call, Wait::LateSignal, raised, raised.enter);
                }
            }
        }
    }

    /// Matches the n-th wait of one partner for another with the n-th synchronisation of that one.
    pub(super) fn partners(&mut self, trace: &Trace) {
        let mut latest: BTreeMap<usize, &Call> = BTreeMap::new();
        for process in 0..trace.processes {
            for partner in (0..trace.processes).filter(|it| *it != process) {
                let of = |one: usize, other: usize| {
                    let with = move |record: &Record| matches!(record, Record::Partners(list) if list.contains(&other));
                    trace.records(one).into_iter().filter(move |it| with(it.2)).map(|it| it.0)
                };
                for (call, theirs) in of(process, partner).zip(of(partner, process)) {
                    let last = latest.entry(call.number).or_insert(theirs);
                    if (theirs.enter, theirs.process) > (last.enter, last.process) {
                        *last = theirs;
                    }
                }
            }
        }
        for (call, last) in latest {
            self.wait(&trace.calls[call], Wait::LatePartner, last, last.enter);
        }
    }

    pub(super) fn messages(&mut self, trace: &Trace) {
        for to in 0..trace.processes {
            // Sender, number among its messages, call, time of the record.
            let mut unread: Vec<(usize, usize, &Call, u64)> = Vec::new();
            for from in 0..trace.processes {
                let sends = trace.records(from).into_iter();
                let sends =
                    sends.filter(|it| matches!(*it.2, Record::Send { to: it, .. } if it == to));
                unread.extend(
                    sends.enumerate().map(|(number, (call, time, _))| (from, number, call, time)),
                );
            }
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for (call, _, record) in trace.records(to) {
                let Record::Receive { from } = *record else { continue };
                let count = counts.entry(from).or_default();
                let at = unread.iter().position(|it| (it.0, it.1) == (from, *count)).unwrap();
                *count += 1;
                let (_, _, send, time) = unread.remove(at);
                let wait = send.enter.min(call.leave).saturating_sub(call.enter);
                self.wait(call, Wait::LateSender, send, send.enter);
                if wait > 0 && unread.iter().any(|it| it.3 < time) {
                    self.add(call.location, Quantity::Wait(Wait::LateSenderWrongOrder), wait);
                }
                if call.enter > send.enter && send.leave > call.enter {
                    self.wait(send, Wait::LateReceiver, call, call.enter);
                }
            }
        }
    }

    pub(super) fn collectives(&mut self, trace: &Trace) {
        use Quantity as Q;
        for ((window, _), parts) in instances(trace) {
            let members = &trace.windows[window as usize];
            self.partial += u64::from(parts.len() < members.len());
            let rank = |call: &Call| members.iter().position(|it| *it == call.process).unwrap();
            let late = |it: &&Call| (it.enter, it.process, it.location);
            let last = parts.iter().map(|it| it.0).max_by_key(late);
            let first_end = parts.iter().map(|it| it.1).min().unwrap();
            for &(call, end, root) in &parts {
                let others = parts.iter().map(|it| it.0).filter(|it| it.process != call.process);
                let (wait, culprit) = match call.operation() {
                    "barrier" | "sync" => (Wait::BarrierWait, last),
                    "all_to_all" | "all_reduce" => (Wait::NxnWait, last),
                    "allocate" => (Wait::WaitAtCreate, last),
                    "deallocate" => (Wait::WaitAtFree, last),
                    "broadcast" => {
                        let root = others.into_iter().find(|it| Some(it.process) == root);
                        (Wait::LateBroadcast, root)
                    }
                    "reduce" => {
                        let is_root = root == Some(call.process);
                        (Wait::EarlyReduce, others.filter(|_| is_root).max_by_key(late))
                    }
                    "scan" => {
                        let before = others.filter(|it| rank(it) < rank(call));
                        (Wait::EarlyScan, before.max_by_key(late))
                    }
                    other => panic!("{other}"),
                };
                if let Some(culprit) = culprit {
                    let count = self.pieces.len();
                    self.wait(call, wait, culprit, culprit.enter);
                    let roots = [Wait::LateBroadcast, Wait::EarlyReduce, Wait::EarlyScan];
                    if !roots.contains(&wait) {
                        let members = || members.iter().copied().collect();
                        self.among.extend(self.pieces[count..].iter().map(|it| (*it, members())));
                    }
                }
                match call.operation() {
                    "barrier" | "sync" => {
                        self.add(call.location, Q::Wait(Wait::BarrierCompletion), end - first_end);
                    }
                    "all_to_all" | "all_reduce" => {
                        self.add(call.location, Q::Wait(Wait::NxnCompletion), end - first_end);
                    }
                    _ => {}
                }
            }
        }
    }
}
