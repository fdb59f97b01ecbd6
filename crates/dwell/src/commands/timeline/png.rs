//! Pixels for PNG files, drawn by resvg.
//!
//! resvg and the libraries that it needs take a ninth of the time of a build, for one option of one command. They are
//! behind the feature `png`, with which releases are built.

#[cfg(feature = "png")]
pub(super) use drawn::from_svg;

#[cfg(not(feature = "png"))]
pub(super) fn from_svg(_: &str) -> anyhow::Result<Vec<u8>> {
    anyhow::bail!(
        "this dwell was built without PNG: write .svg instead, which browsers, LaTeX and Inkscape read, \
         or build with `cargo build --release --features png`"
    )
}

#[cfg(feature = "png")]
mod drawn {
    use anyhow::Context;
    use resvg::{tiny_skia, usvg};

    use crate::terminal::note;

    /// Returns an SVG picture as PNG, with four pixels for each unit.
    pub(in super::super) fn from_svg(svg: &str) -> anyhow::Result<Vec<u8>> {
        const SCALE: f32 = 4.0;
        let mut options = usvg::Options::default();
        options.fontdb_mut().load_system_fonts();
        if options.fontdb.is_empty() {
            note!("there is no font on this machine, so that the picture has no text; .svg has it");
        }
        // Any font is better than none.
        let first = options.fontdb.faces().find(|it| it.post_script_name.contains("Sans"));
        let first = first.or(options.fontdb.faces().next());
        let family = first.and_then(|it| it.families.first()).map(|it| it.0.clone());
        if let Some(family) = family {
            options.fontdb_mut().set_sans_serif_family(family);
        }
        let tree = usvg::Tree::from_str(svg, &options).context("the picture cannot be drawn")?;
        let size = tree.size().to_int_size();
        let of = |length: u32| (length as f32 * SCALE) as u32;
        let pixmap = tiny_skia::Pixmap::new(of(size.width()), of(size.height()));
        let mut pixmap = pixmap.context("the picture is too large")?;
        let scale = tiny_skia::Transform::from_scale(SCALE, SCALE);
        resvg::render(&tree, scale, &mut pixmap.as_mut());
        pixmap.encode_png().context("the picture cannot be encoded")
    }
}

#[cfg(test)]
mod tests {
    const PICTURE: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>"#;

    #[test]
    #[cfg(feature = "png")]
    fn a_picture_becomes_pixels() {
        assert!(super::from_svg(PICTURE).unwrap().starts_with(b"\x89PNG"));
    }

    #[test]
    #[cfg(not(feature = "png"))]
    fn a_build_without_pixels_says_what_to_do() {
        let error = super::from_svg(PICTURE).unwrap_err().to_string();
        assert!(error.contains(".svg") && error.contains("--features png"), "{error}");
    }
}
