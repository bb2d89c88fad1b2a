//! The journal's rows: appended with the batch, bounded, and read back from the newest.

use redb::{ReadTransaction, ReadableTable, ReadableTableMetadata, WriteTransaction};

use super::encoding::{decode, encode};
use super::tables::{JOURNAL, number_key};
use crate::model::JournalEntry;

/// The most rows that are kept.
pub const JOURNAL_ROWS: u64 = 10_000;
/// So many more go when the oldest go: a trim rewrites the pages at the journal's old end. Trimming with every commit was
/// measured at 8 kB more for each.
const SLACK: u64 = 100;

/// A row with its number: numbers only grow and are never used twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRow {
    /// The number.
    pub seq: u64,
    /// What happened.
    pub entry: JournalEntry,
}

/// Appends rows, oldest first, and drops the oldest beyond the bound.
pub(super) fn append(transaction: &WriteTransaction, rows: &[JournalEntry]) -> Result<(), redb::Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = transaction.open_table(JOURNAL)?;
    let mut next = table.last()?.map_or(1, |(seq, _)| number(seq.value()).saturating_add(1));
    for row in rows {
        table.insert(&number_key(next)[..], &encode(row)?[..])?;
        next = next.saturating_add(1);
    }
    if table.len()? > JOURNAL_ROWS {
        let kept = next.saturating_sub(JOURNAL_ROWS - SLACK);
        table.retain_in::<&[u8], _>(..&number_key(kept)[..], |_, _| false)?;
    }
    Ok(())
}

/// A key that is no number of ours counts as zero: the journal is for people, and no reason to set a store aside.
fn number(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

/// Which rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// The newest.
    Newest,
    /// Those that follow this number.
    After(u64),
}

/// Some rows, and where to read on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalPage {
    /// Oldest first.
    pub rows: Vec<JournalRow>,
    /// The last number that was looked at: whoever reads on reads after it.
    pub last: u64,
}

/// At most `limit` rows that `keep` wants, so that what is dropped never takes memory. A row of a later release that this
/// one cannot read leaves a gap in the numbers.
pub(super) fn page(
    transaction: &ReadTransaction,
    span: Span,
    limit: usize,
    keep: impl Fn(&JournalEntry) -> bool,
) -> Result<JournalPage, redb::Error> {
    let table = transaction.open_table(JOURNAL)?;
    let newest = table.last()?.map_or(0, |(seq, _)| number(seq.value()));
    let mut page = JournalPage { rows: Vec::new(), last: newest };
    let mut take = |seq: &[u8], bytes: &[u8]| {
        let seq = number(seq);
        page.rows.extend(decode(bytes).ok().filter(&keep).map(|entry| JournalRow { seq, entry }));
        (page.rows.len() >= limit).then_some(seq)
    };
    match span {
        _ if limit == 0 => {}
        Span::Newest => {
            for row in table.iter()?.rev() {
                let (seq, bytes) = row?;
                if take(seq.value(), bytes.value()).is_some() {
                    break;
                }
            }
            page.rows.reverse();
        }
        Span::After(after) => {
            for row in table.range::<&[u8]>(&number_key(after.saturating_add(1))[..]..)? {
                let (seq, bytes) = row?;
                if let Some(full) = take(seq.value(), bytes.value()) {
                    page.last = full;
                    break;
                }
            }
        }
    }
    Ok(page)
}
