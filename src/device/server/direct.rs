//! Artifact bytes from the kernel's memory to the socket, without a stop in ours.
//!
//! hyper writes what a body yields. On a plain socket a body yields stand-ins: zeros of one static block, as many as there
//! are bytes to come. The socket knows them by where they lie, and has the kernel send the file's bytes in their place, in
//! the order in which the body promised them. Only the socket that hyper itself writes to can do that: whatever lies
//! between the two, such as TLS, would take the zeros for the bytes, and gets none.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use rustix::fs::sendfile;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// The most bytes that one stand-in stands for.
pub(super) const MOST: usize = 256 * 1024;
/// The kernel reads files ahead in pieces of at least so much, as good as always; looking costs a little each time.
const LOOK_EVERY: usize = 128 * 1024;

/// Zeros that nobody reads: the kernel gives them no memory, and the binary need not carry them.
static STAND_IN: LazyLock<&[u8]> = LazyLock::new(|| vec![0; MOST].leak());

/// What a body has promised and its socket has not sent.
#[derive(Debug, Default)]
pub(super) struct Direct {
    pieces: RefCell<VecDeque<Piece>>,
    unreadable: Cell<bool>,
}

#[derive(Debug)]
struct Piece {
    file: Arc<File>,
    next: u64,
    left: usize,
}

impl Direct {
    /// Promises bytes of a file, at most [`MOST`], and gives their stand-in.
    pub(super) fn promise(&self, file: Arc<File>, from: u64, length: usize) -> Bytes {
        let stand_in: &'static [u8] = *STAND_IN;
        let stand_in = stand_in.get(..length).unwrap_or(stand_in);
        self.pieces.borrow_mut().push_back(Piece { file, next: from, left: stand_in.len() });
        Bytes::from_static(stand_in)
    }

    /// Sends what is promised next, and at most so much; how much it was.
    pub(super) fn send(&self, stream: &TcpStream, most: usize) -> io::Result<usize> {
        let mut pieces = self.pieces.borrow_mut();
        let Some(piece) = pieces.front_mut() else { return Err(io::ErrorKind::InvalidData.into()) };
        let most = most.min(piece.left);
        let sent =
            stream.try_io(Interest::WRITABLE, || Ok(sendfile(stream, &piece.file, Some(&mut piece.next), most)?));
        let sent = match sent {
            // the file got shorter meanwhile
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            sent => sent,
        };
        let fails = |error: &io::Error| {
            error.kind() == io::ErrorKind::UnexpectedEof || error.raw_os_error() == Some(Errno::IO.raw_os_error())
        };
        self.unreadable.set(sent.as_ref().is_err_and(fails));
        let sent = sent?;
        piece.left -= sent;
        if piece.left == 0 {
            pieces.pop_front();
        }
        Ok(sent)
    }

    /// A file did not give what was promised of it.
    pub(super) fn is_unreadable(&self) -> bool {
        self.unreadable.get()
    }
}

/// Does this stand for bytes of a file?
pub(super) fn is_stand_in(bytes: &[u8]) -> bool {
    !bytes.is_empty() && STAND_IN.as_ptr_range().contains(&bytes.as_ptr())
}

/// Does the kernel hold these bytes of a file, so that sending them waits for no disk?
///
/// # Errors
/// The file ends before them.
pub(super) fn is_held(file: &File, from: u64, length: usize) -> io::Result<bool> {
    let last = from + (length as u64).saturating_sub(1);
    let looks = (from..last).step_by(LOOK_EVERY).chain([last]);
    for at in looks {
        let mut byte = [0];
        match preadv2(file, &mut [io::IoSliceMut::new(&mut byte)], at, ReadWriteFlags::NOWAIT) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            // it would wait, or cannot say
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// Has the kernel read these bytes of a file; waits for the disk.
pub(super) fn hold(file: &File, from: u64, length: usize) -> io::Result<()> {
    let mut scrap = [0; 4 * 1024];
    let mut read = 0;
    while read < length {
        let most = scrap.len().min(length - read);
        let Some(scrap) = scrap.get_mut(..most) else { break };
        file.read_exact_at(scrap, from + read as u64)?;
        read += most;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_stand_in_is_known_by_where_it_lies_and_nothing_else() {
        let direct = Direct::default();
        let file = Arc::new(File::open("/dev/null").unwrap());
        let whole = direct.promise(Arc::clone(&file), 0, MOST);
        assert!(is_stand_in(&whole) && is_stand_in(&whole[MOST - 1..]) && is_stand_in(&whole[5..9]));
        assert!(!is_stand_in(&whole[MOST..]) && !is_stand_in(&[]) && !is_stand_in(&[0; 9]));
        assert_eq!(direct.promise(file, 0, 2 * MOST).len(), MOST, "never more than there is");
    }

    #[test]
    fn a_file_that_ends_too_soon_is_no_promise() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 3 * MOST / 2]).unwrap();
        assert!(is_held(&file, 0, MOST).is_ok());
        assert!(is_held(&file, MOST as u64, MOST).is_err());
        assert!(hold(&file, 0, MOST).is_ok() && hold(&file, MOST as u64, MOST).is_err());
    }
}
