//! Limits of memory, order of results, and addresses that no call can return to.

use std::fs;

use dwell_symbols::{Module, Options, Quality, Reason, Resolver, ReturnOffset};

use crate::support::{Workshop, check, have};

#[test]
fn a_resolver_can_go_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Resolver>();
}

#[test]
fn addresses_outside_are_not_covered() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.c_program("");
    let mut resolver = Resolver::new();
    for at in [0, 1, 2, 0x7fff_ffff_ffff, u64::MAX] {
        let site = resolver.resolve(&calls["last"].0, ReturnOffset(at));
        assert_eq!(site.quality, Quality::Module { reason: Reason::Uncovered }, "{at:#x}");
    }
}

#[test]
fn modules_that_do_not_fit_together_take_turns() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.c_program("");
    let (module, at) = &calls["inlined"];
    let copies: Vec<Module> = (0..3)
        .map(|number| {
            let path = workshop.path(&format!("copy{number}"));
            fs::copy(&module.path, &path).unwrap();
            Module { path, build_id: module.build_id.clone() }
        })
        .collect();
    let size = fs::metadata(&module.path).unwrap().len();
    let mut resolver = Options::new().memory(size * 3 / 2).resolver();
    for copy in copies.iter().cycle().take(7) {
        let site = resolver.resolve(copy, *at);
        assert_eq!(site.quality, Quality::Exact);
        check(&site, "chain.c", &[("inner", "inner"), ("middle", "middle"), ("outer", "outer")]);
    }
    let sites = resolver.resolve_all(copies.iter().cycle().take(100).map(|copy| (copy, *at)));
    assert!(sites.iter().all(|site| site.quality == Quality::Exact));

    let mut resolver = Options::new().memory(size - 1).resolver();
    let reason = Reason::TooLarge { path: module.path.clone() };
    assert_eq!(resolver.resolve(module, *at).quality, Quality::Module { reason });
}

#[test]
fn many_at_once_are_as_one_by_one() {
    if !have(&["gcc", "strip"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.c_program("-static");
    let whole = &calls["inlined"].0;
    let stripped = Module { path: workshop.path("stripped"), build_id: whole.build_id.clone() };
    workshop.run("strip -g program -o stripped");
    let absent = Module::new(workshop.path("absent"), [1, 2, 3]);
    let modules = [whole, &stripped, &absent];
    let mut random = fastrand::Rng::with_seed(1);
    let around = calls["inlined"].1.0;
    let sites: Vec<(&Module, ReturnOffset)> = (0..2000)
        .map(|_| (modules[random.usize(..3)], ReturnOffset(around - 500 + random.u64(..1000))))
        .collect();
    let together = Resolver::new().resolve_all(sites.iter().copied());
    let mut resolver = Resolver::new();
    let alone: Vec<_> = sites.iter().map(|(module, at)| resolver.resolve(module, *at)).collect();
    assert_eq!(together, alone);
    assert!(together.iter().any(|site| site.quality == Quality::Exact));
    assert!(together.iter().any(|site| matches!(site.quality, Quality::Symbol { .. })));
}
