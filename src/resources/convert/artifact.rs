//! What is to be installed: one file, or one for each type of hardware.

use super::{Checked, FieldError, Setting, parse, selector};
use crate::model::{self, ArtifactKey, ArtifactSpec, Selector, Source, Variant, Variants, Version};
use crate::resources::Artifact;

/// A file as typed, and at which field.
struct Typed<'t> {
    at: String,
    sources: Option<&'t Vec<String>>,
    digest: Option<&'t String>,
    size_bytes: Option<i64>,
}

/// The rollout's file, and the variants of which it is the first.
pub(super) fn files(typed: &Artifact, setting: &Setting) -> Checked<(ArtifactSpec, Option<Variants>)> {
    if !is_artifact_name(&typed.name) {
        let why = "should have 1 to 64 letters, digits, '-', '.' and '_', beginning and ending with a letter or digit";
        return Err(FieldError::new("spec.artifact.name", why));
    }
    let version: Version = parse("spec.artifact.version", &typed.version)?;
    let Some(variants) = &typed.variants else {
        let at = "spec.artifact".into();
        let typed_file =
            Typed { at, sources: typed.sources.as_ref(), digest: typed.digest.as_ref(), size_bytes: typed.size_bytes };
        return Ok((file(&typed_file, &typed.name, &version, setting)?, None));
    };
    let both = [
        ("sources", typed.sources.is_some()),
        ("digest", typed.digest.is_some()),
        ("sizeBytes", typed.size_bytes.is_some()),
    ];
    if let Some((field, _)) = both.into_iter().find(|(_, said)| *said) {
        let why = "stands beside variants; each variant has its own, so move it into one of them";
        return Err(FieldError::new(format!("spec.artifact.{field}"), why));
    }
    let mut all = Vec::new();
    for (index, variant) in variants.iter().enumerate() {
        let at = format!("spec.artifact.variants[{index}]");
        let matches =
            Selector { match_labels: selector(&format!("{at}.match"), variant.matches.match_labels.as_ref())? };
        if matches.match_labels.is_empty() {
            let why = "is empty, which means no gateway; name a label, or an attribute as attr.lamplighter.dev/KEY";
            return Err(FieldError::new(format!("{at}.match"), why));
        }
        let (sources, digest) = (Some(&variant.sources), Some(&variant.digest));
        let typed_file = Typed { at, sources, digest, size_bytes: Some(variant.size_bytes) };
        let artifact = file(&typed_file, &typed.name, &version, setting)?;
        all.push(Variant { matches, artifact });
    }
    one_size(&all)?;
    if all.len() > Variants::MOST {
        let why = format!("has {} variants; use at most {}", all.len(), Variants::MOST);
        return Err(FieldError::new("spec.artifact.variants", why));
    }
    let mut all = all.into_iter();
    let Some(Variant { matches: first, artifact }) = all.next() else {
        return Err(FieldError::new("spec.artifact.variants", "is empty; name at least one, or leave it out"));
    };
    Ok((artifact, Some(Variants { first, others: all.collect() })))
}

/// Several variants may bring one file, and a file has one size.
fn one_size(all: &[Variant]) -> Checked<()> {
    for (index, variant) in all.iter().enumerate() {
        let (digest, size) = (variant.artifact.key.digest, variant.artifact.size);
        let earlier = all.iter().take(index).map(|earlier| &earlier.artifact);
        if let Some(other) = earlier.into_iter().find(|other| other.key.digest == digest && other.size != size) {
            let why = format!("is {size}, but another variant says {} for the same digest; correct one", other.size);
            return Err(FieldError::new(format!("spec.artifact.variants[{index}].sizeBytes"), why));
        }
    }
    Ok(())
}

fn file(typed: &Typed<'_>, name: &str, version: &Version, setting: &Setting) -> Checked<ArtifactSpec> {
    let at = |field: &str| format!("{}.{field}", typed.at);
    let missing = |field: &str| FieldError::new(at(field), "is missing; write it, or spec.artifact.variants instead");
    let sources = typed.sources.ok_or_else(|| missing("sources"))?;
    let digest = typed.digest.ok_or_else(|| missing("digest"))?;
    let size = typed.size_bytes.ok_or_else(|| missing("sizeBytes"))?;
    let size = u64::try_from(size).ok().filter(|size| *size > 0);
    let size = size.ok_or_else(|| FieldError::new(at("sizeBytes"), "should be the file's size, at least 1"))?;
    let sources = sources.iter().enumerate().map(|(index, text)| {
        source(text, setting).map_err(|why| FieldError::new(at(&format!("sources[{index}]")), why))
    });
    let sources = sources.collect::<Checked<Vec<_>>>()?;
    if sources.is_empty() {
        return Err(FieldError::new(at("sources"), "is empty; name at least one, such as file:firmware.swu"));
    }
    let key = ArtifactKey { name: name.to_owned(), version: version.clone(), digest: parse(&at("digest"), digest)? };
    Ok(ArtifactSpec { key, size, sources })
}

fn is_artifact_name(name: &str) -> bool {
    let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    name.len() <= 64
        && ends(name.bytes().next())
        && ends(name.bytes().last())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

fn source(text: &str, setting: &Setting) -> Result<Source, String> {
    const FORMS: &str = "https://HOST/PATH, oci://REGISTRY/REPOSITORY:TAG, or file:NAME for a file beside the manifest";
    let Some((scheme, rest)) = text.split_once(':') else {
        return Err(format!("{text:?} has no scheme; write {FORMS}"));
    };
    match scheme {
        "file" => file_name(rest).map(|name| Source::File { dir: setting.dir.clone(), name: name.to_owned() }),
        "https" | "http" => text.parse().map(|url| Source::Http { url }).map_err(|error: model::Invalid| error.0),
        "oci" => {
            let image = rest.strip_prefix("//").unwrap_or(rest).parse();
            image.map(|image| Source::Oci { image }).map_err(|error: model::Invalid| error.0)
        }
        _ => Err(format!("{scheme:?} is not a scheme that this version knows; write {FORMS}")),
    }
}

/// A plain name: whatever could lead out of the manifest's directory, or hide in it, is refused.
fn file_name(name: &str) -> Result<&str, String> {
    let why = if name.is_empty() {
        "names no file"
    } else if name.contains('/') {
        "has a slash: the file must lie in the manifest's own directory"
    } else if name.starts_with('.') {
        "begins with a dot: hidden files, `.` and `..` are not served"
    } else if name.len() > 255 {
        "is longer than the 255 bytes that a file name may have"
    } else if name.chars().any(char::is_control) {
        "has a control character"
    } else {
        return Ok(name);
    };
    let shown: String = name.chars().take(80).collect();
    Err(format!("file {shown:?} {why}; write file:NAME with the plain name of a file beside the manifest"))
}
