//! The journal: bounded, in order, numbered without end.

use lamplighter::model::JournalEntry;
use lamplighter::store::{Batch, Db, JOURNAL_ROWS, Span, Written};

use super::sample::{empty_store, entry, time};

fn rows(from: u64, to: u64) -> Batch {
    Batch { time: time(from), journal: (from..=to).map(entry).collect::<Vec<JournalEntry>>(), ..Batch::default() }
}

#[test]
fn the_oldest_rows_go_at_ten_thousand_and_the_numbers_go_on() {
    let disk = empty_store();
    let (mut db, _) = Db::open_on(disk.backend(), &Written::default()).unwrap();
    db.commit(&rows(1, 9_000)).unwrap();
    db.commit(&rows(9_001, 10_000)).unwrap();
    assert_eq!(db.journal(usize::MAX).unwrap().len() as u64, JOURNAL_ROWS);
    for n in 10_001..10_250 {
        db.commit(&rows(n, n)).unwrap();
        if n % 33 != 0 && n != 10_001 {
            continue; // reading it all takes a while in a debug build
        }
        let rows = db.journal(usize::MAX).unwrap();
        assert!((9_900..=10_000).contains(&rows.len()), "{}", rows.len());
        let (oldest, newest) = (&rows[0], &rows[rows.len() - 1]);
        assert_eq!((newest.seq, &newest.entry), (n, &entry(n)));
        assert_eq!(oldest.seq, n + 1 - rows.len() as u64);
    }
    db.commit(&rows(10_250, 30_000)).unwrap();
    db.close().unwrap();

    let (db, _) = Db::open_on(disk.backend(), &Written::default()).unwrap();
    let rows = db.journal(3).unwrap();
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [29_998, 29_999, 30_000]);
    assert_eq!(rows[2].entry, entry(30_000));
    assert_eq!(db.journal(0).unwrap(), []);
    assert!(db.journal(usize::MAX).unwrap().len() as u64 <= JOURNAL_ROWS);
}

#[test]
fn rows_are_read_on_from_a_number_and_only_those_that_are_wanted() {
    let disk = empty_store();
    let (mut db, _) = Db::open_on(disk.backend(), &Written::default()).unwrap();
    let page = |db: &Db, span, limit, wanted: &[u64]| {
        let page = db.journal_page(span, limit, |row| wanted.is_empty() || wanted.iter().any(|n| *row == entry(*n)));
        let page = page.unwrap();
        (page.rows.iter().map(|row| row.seq).collect::<Vec<_>>(), page.last)
    };
    assert_eq!(page(&db, Span::After(0), 5, &[]), (vec![], 0));
    db.commit(&rows(1, 20)).unwrap();
    assert_eq!(page(&db, Span::Newest, 3, &[]), (vec![18, 19, 20], 20));
    assert_eq!(page(&db, Span::Newest, 2, &[3, 7, 9]), (vec![7, 9], 20));
    assert_eq!(page(&db, Span::After(0), 2, &[3, 7, 9]), (vec![3, 7], 7), "it goes on behind the last that was wanted");
    assert_eq!(page(&db, Span::After(7), 2, &[3, 7, 9]), (vec![9], 20), "or behind the end");
    assert_eq!(page(&db, Span::After(20), 2, &[]), (vec![], 20));
    assert_eq!(
        page(&db, Span::After(u64::MAX), 2, &[]),
        (vec![], 20),
        "whoever knows another journal sees it end earlier"
    );
}
