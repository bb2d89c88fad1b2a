//! Where artifacts come from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{HttpUrl, OciReference};

/// A place to get an artifact from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// A file beside the manifest that names it.
    File {
        /// The manifest's directory.
        dir: PathBuf,
        /// A plain file name in it.
        name: String,
    },
    /// A web server.
    Http {
        /// The file's address.
        url: HttpUrl,
    },
    /// A registry.
    Oci {
        /// The image whose layer is the file.
        image: OciReference,
    },
}

impl Source {
    /// Does it need the network?
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::File { .. })
    }

    /// The name that devices see, if the source has one that fits into every URL and file system.
    pub fn file_name(&self) -> Option<&str> {
        match self {
            Self::File { name, .. } => Some(name),
            Self::Http { url } => url.file_name(),
            Self::Oci { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_stored_as_text() {
        let source = Source::Http { url: "https://a/b".parse().unwrap() };
        let json = serde_json::to_string(&source).unwrap();
        assert_eq!(json, r#"{"http":{"url":"https://a/b"}}"#);
        assert_eq!(serde_json::from_str::<Source>(&json).unwrap(), source);
        let source = Source::Oci { image: "r.example/os:1".parse().unwrap() };
        assert_eq!(serde_json::to_string(&source).unwrap(), r#"{"oci":{"image":"r.example/os:1"}}"#);
    }
}
