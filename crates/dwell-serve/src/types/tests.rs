#[test]
fn types_of_the_page_are_these() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/types.ts");
    let text = super::typescript();
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    let known = std::fs::read_to_string(file).unwrap_or_default();
    assert!(text == known, "web/src/types.ts is old: set DWELL_UPDATE_GOLDEN=1 and run again");
}
