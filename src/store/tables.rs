//! The tables: how a snapshot lies in redb, how it is read, and how a batch is written.
//!
//! Keys and values are bytes, in all tables alike: redb's own `&str` panics on bytes that are not UTF-8, and each other pair of
//! types is another copy of its trees in the binary, 50 kB that stay resident. Numbers are big-endian, so that they sort.

use std::fmt::Display;
use std::str::{self, FromStr};

use redb::{ReadTransaction, ReadableTable, Table, TableDefinition, TableError, WriteTransaction};

use super::encoding::{LostNote, Record, Unreadable, decode, encode};
use super::record::{Batch, Snapshot};
use crate::model::{ControllerId, Digest, RolloutId, ServiceName, StandingOrder};

type Bytes = &'static [u8];
type Rows = TableDefinition<'static, Bytes, Bytes>;

/// The shape of the tables. Raised when an older binary could not even find the records.
///
/// Should redb's own file format ever change, the new file needs another name: older binaries take it for garbage.
pub(super) const FORMAT: u64 = 1;

const META: Rows = TableDefinition::new("meta");
const SITE: Rows = TableDefinition::new("site");
const GATEWAYS: Rows = TableDefinition::new("gateways");
const ROLLOUTS: Rows = TableDefinition::new("rollouts");
/// The rollout's number, and behind it the gateway's id.
const MEMBERS: Rows = TableDefinition::new("members");
const ARTIFACTS: Rows = TableDefinition::new("artifacts");
/// Not in stores of before there were drops.
const DROPS: Rows = TableDefinition::new("drops");
/// What people said on the spot; not in stores of before that.
const ORDERS: Rows = TableDefinition::new("orders");
/// Not in stores of before there were services.
const SERVICES: Rows = TableDefinition::new("services");
pub(super) const JOURNAL: Rows = TableDefinition::new("journal");

const FORMAT_KEY: &[u8] = b"format";
const SITE_KEY: &[u8] = b"site";
const TIME_KEY: &[u8] = b"time";
const LOST_KEY: &[u8] = b"lost";

/// Why the tables are not a snapshot.
#[derive(Debug)]
pub(super) enum LoadError {
    Store(Box<redb::Error>),
    Record(Unreadable),
}

impl<E: Into<redb::Error>> From<E> for LoadError {
    fn from(error: E) -> Self {
        Self::Store(Box::new(error.into()))
    }
}

fn garbage(what: impl Display) -> LoadError {
    LoadError::Record(Unreadable::Garbage(what.to_string()))
}

/// Makes the tables of a new store.
pub(super) fn create(transaction: &WriteTransaction, note: Option<&LostNote>) -> Result<(), redb::Error> {
    transaction.open_table(META)?.insert(FORMAT_KEY, &number_key(FORMAT)[..])?;
    let mut site = transaction.open_table(SITE)?;
    put(&mut site, TIME_KEY, Some(&Snapshot::default().time))?;
    put(&mut site, LOST_KEY, note)?;
    transaction.open_table(GATEWAYS)?;
    transaction.open_table(ROLLOUTS)?;
    transaction.open_table(MEMBERS)?;
    transaction.open_table(ARTIFACTS)?;
    transaction.open_table(JOURNAL)?;
    Ok(())
}

/// Reads everything but the journal, the format before anything else.
pub(super) fn load(transaction: &ReadTransaction) -> Result<(Snapshot, Option<LostNote>), LoadError> {
    let format = transaction.open_table(META)?.get(FORMAT_KEY)?.ok_or_else(|| garbage("its format is missing"))?;
    match number(format.value())? {
        FORMAT => {}
        found if found > FORMAT => {
            return Err(LoadError::Record(Unreadable::Newer { what: "its format", found, known: FORMAT }));
        }
        found => return Err(garbage(format!("its format is {found}"))),
    }
    let mut snapshot = Snapshot::default();
    let note = load_site(transaction, &mut snapshot)?;
    load_tables(transaction, &mut snapshot)?;
    transaction.open_table(JOURNAL)?;
    Ok((snapshot, note))
}

fn load_site(transaction: &ReadTransaction, snapshot: &mut Snapshot) -> Result<Option<LostNote>, LoadError> {
    let site = transaction.open_table(SITE)?;
    snapshot.site = site.get(SITE_KEY)?.map(|bytes| record(bytes.value())).transpose()?;
    let time = site.get(TIME_KEY)?.ok_or_else(|| garbage("the saved time is missing"))?;
    snapshot.time = record(time.value())?;
    site.get(LOST_KEY)?.map(|bytes| record(bytes.value())).transpose()
}

fn load_tables(transaction: &ReadTransaction, snapshot: &mut Snapshot) -> Result<(), LoadError> {
    for row in transaction.open_table(GATEWAYS)?.iter()? {
        let (key, value) = row?;
        snapshot.gateways.insert(text(key.value())?, record(value.value())?);
    }
    for row in transaction.open_table(ROLLOUTS)?.iter()? {
        let (key, value) = row?;
        snapshot.rollouts.insert(RolloutId(number(key.value())?), record(value.value())?);
    }
    for row in transaction.open_table(MEMBERS)?.iter()? {
        let (key, value) = row?;
        let (rollout, gateway) =
            key.value().split_at_checked(8).ok_or_else(|| garbage("a member's key is too short"))?;
        snapshot.members.insert((RolloutId(number(rollout)?), text(gateway)?), record(value.value())?);
    }
    for row in transaction.open_table(ARTIFACTS)?.iter()? {
        let (key, value) = row?;
        snapshot.artifacts.insert(Digest::new(key.value().try_into().map_err(garbage)?), record(value.value())?);
    }
    each_later(transaction, DROPS, |key, value| {
        snapshot.drops.insert(Digest::new(key.try_into().map_err(garbage)?), record(value)?);
        Ok(())
    })?;
    each_later(transaction, ORDERS, |key, value| {
        let key = str::from_utf8(key).map_err(garbage)?;
        snapshot.orders.insert(StandingOrder::from_str(key).map_err(garbage)?, record(value)?);
        Ok(())
    })?;
    each_later(transaction, SERVICES, |key, value| {
        let key = str::from_utf8(key).map_err(garbage)?;
        snapshot.services.insert(ServiceName(key.to_owned()), record(value)?);
        Ok(())
    })
}

/// Reads a table that older stores do not have.
fn each_later(
    transaction: &ReadTransaction,
    table: Rows,
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let rows = match transaction.open_table(table) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        rows => rows?,
    };
    for row in rows.iter()? {
        let (key, value) = row?;
        take(key.value(), value.value())?;
    }
    Ok(())
}

fn record<R: Record>(bytes: &[u8]) -> Result<R, LoadError> {
    decode(bytes).map_err(LoadError::Record)
}

pub(super) fn number_key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn number(key: &[u8]) -> Result<u64, LoadError> {
    Ok(u64::from_be_bytes(key.try_into().map_err(garbage)?))
}

fn text(key: &[u8]) -> Result<ControllerId, LoadError> {
    let text = str::from_utf8(key).map_err(garbage)?;
    ControllerId::from_str(text).map_err(garbage)
}

/// Writes everything of a batch but its journal rows. Tables without a change are not touched: each costs pages.
pub(super) fn write(transaction: &WriteTransaction, batch: &Batch, had_note: bool) -> Result<(), redb::Error> {
    let mut site = transaction.open_table(SITE)?;
    put(&mut site, TIME_KEY, Some(&batch.time))?;
    if batch.site.is_some() {
        put(&mut site, SITE_KEY, batch.site.as_ref())?;
        if had_note {
            put::<LostNote>(&mut site, LOST_KEY, None)?;
        }
    }
    if !batch.gateways.is_empty() {
        let mut table = transaction.open_table(GATEWAYS)?;
        batch.gateways.iter().try_for_each(|(id, to)| put(&mut table, id.as_str().as_bytes(), to.as_ref()))?;
    }
    if !batch.rollouts.is_empty() {
        let mut table = transaction.open_table(ROLLOUTS)?;
        batch.rollouts.iter().try_for_each(|(id, to)| put(&mut table, &number_key(id.0), to.as_ref()))?;
    }
    if !batch.members.is_empty() {
        let mut table = transaction.open_table(MEMBERS)?;
        for ((rollout, gateway), to) in &batch.members {
            put(&mut table, &[&number_key(rollout.0), gateway.as_str().as_bytes()].concat(), to.as_ref())?;
        }
    }
    if !batch.artifacts.is_empty() {
        let mut table = transaction.open_table(ARTIFACTS)?;
        batch.artifacts.iter().try_for_each(|(id, to)| put(&mut table, id.bytes(), to.as_ref()))?;
    }
    if !batch.drops.is_empty() {
        let mut table = transaction.open_table(DROPS)?;
        batch.drops.iter().try_for_each(|(id, to)| put(&mut table, id.bytes(), to.as_ref()))?;
    }
    if !batch.orders.is_empty() {
        let mut table = transaction.open_table(ORDERS)?;
        batch.orders.iter().try_for_each(|(id, to)| put(&mut table, id.to_string().as_bytes(), to.as_ref()))?;
    }
    if !batch.services.is_empty() {
        let mut table = transaction.open_table(SERVICES)?;
        batch.services.iter().try_for_each(|(name, to)| put(&mut table, name.0.as_bytes(), to.as_ref()))?;
    }
    Ok(())
}

fn put<R: Record>(table: &mut Table<'_, Bytes, Bytes>, key: &[u8], to: Option<&R>) -> Result<(), redb::Error> {
    match to {
        Some(record) => drop(table.insert(key, &encode(record)?[..])?),
        None => drop(table.remove(key)?),
    }
    Ok(())
}
