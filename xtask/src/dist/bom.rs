//! The bill of materials, in the form of `CycloneDX` 1.5.
//!
//! It lists every package that is linked into the command and the library, with version, licence, checksum and
//! dependencies, so that a site can look known vulnerabilities up without building anything. It contains neither a time
//! nor a random number, so that it is the same for every build of a commit.
//!
//! It is written here and not by cargo-cyclonedx, which writes a bill for each crate and not one for a product of two,
//! and whose lock file lists 279 packages that CI would build for these lines.

use anyhow::Result;
use serde_json::{Value, json};

use super::Product;
use super::licences::Package;

/// Name of the file.
pub(crate) const NAME: &str = "dwell.cdx.json";

/// Returns the bill of materials as JSON.
pub(crate) fn write(product: &Product<'_>, packages: &[Package]) -> Result<String> {
    let components: Vec<Value> = packages.iter().map(component).collect();
    let mut dependencies: Vec<Value> = packages.iter().map(dependency).collect();
    let product_ref = format!("dwell {} for {}", product.version, product.target);
    let roots: Vec<String> = packages
        .iter()
        .filter(|package| ["dwell", "dwell-preload"].contains(&package.name.as_str()))
        .map(|package| reference(&package.name, &package.version))
        .collect();
    dependencies.insert(0, json!({ "ref": product_ref, "dependsOn": roots }));
    let bill = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": product_ref,
                "name": "dwell",
                "version": product.version,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// Returns the identifier of a package in the bill: its package URL.
fn reference(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

fn component(package: &Package) -> Value {
    let reference = reference(&package.name, &package.version);
    let mut component = json!({
        "type": "library",
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "licenses": [{ "expression": package.licence }],
    });
    // Crates of this workspace are not on crates.io, and have no package URL.
    if let Some(sum) = &package.checksum {
        component["purl"] = json!(reference);
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

fn dependency(package: &Package) -> Value {
    let uses: Vec<String> =
        package.uses.iter().map(|(name, version)| reference(name, version)).collect();
    json!({ "ref": reference(&package.name, &package.version), "dependsOn": uses })
}
