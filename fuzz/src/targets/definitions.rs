//! Any bytes as definition, marker and thumbnail files: every field of every record is looked at,
//! and what the index finds is what the stream had.

use std::sync::Arc;

use otf2::id::LocationRef;
use otf2::store::{FileKind, Memory};
use otf2::{Anchor, Archive, Value};

/// Looks at a value as a printer would.
fn look(value: Value<'_>) {
    match value {
        Value::List(items) => items.each(&mut look),
        Value::Map(map) => assert_eq!(map.iter().count(), map.len()),
        Value::Text(text) => drop(text.to_string()),
        _ => {}
    }
}

pub(crate) fn run(data: &[u8]) {
    let location = LocationRef(0);
    let mut store = Memory::default();
    store.insert(FileKind::Anchor, Anchor::default().to_bytes());
    let files = [
        FileKind::GlobalDefs,
        FileKind::LocalDefs(location),
        FileKind::Markers,
        FileKind::Thumbnail(0),
    ];
    for file in files {
        store.insert(file, data);
    }
    let archive = Archive::from_store(Arc::new(store)).expect("the anchor is sound");

    let mut count = 0;
    for reader in
        [archive.global_definitions().ok(), archive.local_definitions(location).ok().flatten()]
    {
        let Some(mut reader) = reader else { continue };
        while let Ok(Some(definition)) = reader.next() {
            count += 1;
            definition.fields(&mut |_, value| look(value));
            drop(format!("{definition:?}"));
        }
    }
    if let Ok(definitions) = archive.definitions() {
        assert!(definitions.len() <= count);
        assert_eq!(definitions.iter().count(), definitions.len());
        for definition in definitions.iter() {
            if let Some((kind, id)) = definition.key() {
                assert_eq!(definitions.find(kind, id).and_then(|d| d.key()), Some((kind, id)));
                definitions.name(kind, id);
            }
        }
    }
    archive.local_tables(location);
    if let Ok(Some(mut markers)) = archive.markers() {
        while let Ok(Some(marker)) = markers.next() {
            marker.fields(&mut |_, value| look(value));
        }
    }
    if let Ok(mut thumbnail) = archive.thumbnail(0) {
        while let Ok(Some(record)) = thumbnail.next() {
            record.fields(&mut |_, value| look(value));
        }
    }
}
