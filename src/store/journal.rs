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

/// The newest rows, oldest of them first. A row of a later release that this one cannot read leaves a gap in the numbers.
pub(super) fn newest(transaction: &ReadTransaction, limit: usize) -> Result<Vec<JournalRow>, redb::Error> {
    let table = transaction.open_table(JOURNAL)?;
    let mut rows = Vec::new();
    for row in table.iter()?.rev().take(limit) {
        let (seq, bytes) = row?;
        if let Ok(entry) = decode(bytes.value()) {
            rows.push(JournalRow { seq: number(seq.value()), entry });
        }
    }
    rows.reverse();
    Ok(rows)
}
