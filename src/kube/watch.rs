//! One watch over the objects of one kind, from where the list ended.

use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Value, from_slice, from_value};

use super::connection::{Api, Lines, given_up_after};
use super::fault::Fault;
use super::item::{Item, Kind, Line, Meta};
use super::list::path;
use super::objects::Objects;
use super::settings::Patience;
use crate::model::Labels;

/// A watch under way.
pub(super) struct Watch {
    kind: Kind,
    lines: Lines,
    objects: Rc<Objects>,
}

/// What a watch says.
pub(super) enum Seen {
    /// It is there, as it is now.
    There(Box<Item>),
    /// It is not in the watch any more, as it was last.
    Away(Box<Item>),
    /// Nothing happened until this version.
    Nothing(String),
    /// The watch ended in order.
    End,
}

impl Watch {
    /// Begins where a list or another watch ended.
    pub async fn begin(
        api: &Api,
        objects: &Rc<Objects>,
        kind: Kind,
        selector: &Labels,
        version: &str,
    ) -> Result<Self, Fault> {
        let lines = open(api, objects, Some(version), |query| path(api, kind, selector, query)).await?;
        Ok(Self { kind, lines, objects: objects.clone() })
    }

    /// What is said next.
    pub async fn next(&mut self) -> Result<Seen, Fault> {
        loop {
            let Some(line) = self.lines.next().await? else { return Ok(Seen::End) };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let line: Line = from_slice(&line).map_err(Fault::garbled)?;
            match line.what.as_str() {
                "ADDED" | "MODIFIED" | "DELETED" => {
                    let away = line.what == "DELETED";
                    match from_value::<Item>(line.object) {
                        Ok(item) if away => return Ok(Seen::Away(item.into())),
                        Ok(item) => return Ok(Seen::There(item.into())),
                        // one that nobody can read must not hide the others
                        Err(error) => self.objects.cannot_read(self.kind, &error),
                    }
                }
                "BOOKMARK" => {
                    if let Some(version) = version(line.object) {
                        return Ok(Seen::Nothing(version));
                    }
                }
                "ERROR" => return Err(error(&line.object)),
                _ => {}
            }
        }
    }
}

/// Opens a watch from a version on, or from now; `path` makes its address out of a query.
pub(super) async fn open(
    api: &Api,
    objects: &Objects,
    version: Option<&str>,
    path: impl FnOnce(&str) -> String,
) -> Result<Lines, Fault> {
    let (least, most) = Patience::WATCH;
    let seconds = fastrand::u64(least..=most);
    let version = version.map(|version| format!("&resourceVersion={version}")).unwrap_or_default();
    objects.count(false);
    let query = format!("watch=1&allowWatchBookmarks=true{version}&timeoutSeconds={seconds}");
    api.lines(&path(&query), given_up_after(seconds)).await
}

fn version(object: Value) -> Option<String> {
    #[derive(Deserialize)]
    struct Bookmark {
        metadata: BookmarkMeta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct BookmarkMeta {
        resource_version: String,
    }
    from_value::<Bookmark>(object).ok().map(|bookmark| bookmark.metadata.resource_version).filter(|v| !v.is_empty())
}

/// An error inside a stream that began well: most often that the version is too old.
fn error(status: &Value) -> Fault {
    let code = status.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
    Fault::refused(code, status.to_string().as_bytes())
}

impl Meta {
    /// The version from which a watch goes on behind this object.
    pub fn version(&self) -> &str {
        &self.resource_version
    }
}
