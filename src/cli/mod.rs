//! The command line: one file per subcommand. It sits on top of every room and may print.

pub mod simulate;
