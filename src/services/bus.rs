//! The system bus, as far as systemd is asked over it. It blocks: each job has a thread and a connection of its own.

use std::time::{Duration, Instant};

use rustbus::connection::ll_conn::force_finish_on_error;
use rustbus::connection::{Error, Timeout};
use rustbus::message_builder::MarshalledMessage;
use rustbus::wire::ObjectPath;
use rustbus::wire::unmarshal::traits::{Unmarshal, Variant};
use rustbus::{MessageBuilder, MessageType, RpcConn, standard_messages};

const SYSTEMD: &str = "org.freedesktop.systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const ROOT: &str = "/org/freedesktop/systemd1";
/// systemd answers within this time or not at all.
const PATIENCE: Duration = Duration::from_secs(25);

/// Why the bus gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum BusError {
    /// systemd says no: the error's name, and its words.
    #[error("{1} ({0})")]
    Said(String, String),
    /// There is no answer in time.
    #[error("systemd does not answer over D-Bus")]
    TimedOut,
    /// The bus cannot be reached, or broke off.
    #[error("the system bus cannot be used: {0}")]
    Bus(String),
}

impl From<Error> for BusError {
    fn from(error: Error) -> Self {
        match error {
            Error::TimedOut => Self::TimedOut,
            Error::PathDoesNotExist(path) => {
                Self::Bus(format!("there is no {path}; is dbus installed, and its socket mounted?"))
            }
            error => Self::Bus(error.to_string()),
        }
    }
}

impl From<rustbus::wire::errors::UnmarshalError> for BusError {
    fn from(error: rustbus::wire::errors::UnmarshalError) -> Self {
        Self::Bus(error.to_string())
    }
}

impl From<rustbus::wire::errors::MarshalError> for BusError {
    fn from(error: rustbus::wire::errors::MarshalError) -> Self {
        Self::Bus(error.to_string())
    }
}

/// A job of systemd's: its object path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JobPath(String);

/// A unit's object path.
#[derive(Debug)]
pub(super) struct UnitPath(String);

/// A connection.
pub(super) struct Bus(RpcConn);

impl Bus {
    pub fn connect() -> Result<Self, BusError> {
        Ok(Self(RpcConn::system_conn(Timeout::Duration(PATIENCE))?))
    }

    /// The unit, loaded if it was not.
    pub fn load(&mut self, unit: &str) -> Result<UnitPath, BusError> {
        let mut call = manager("LoadUnit");
        call.body.push_param(unit)?;
        let answer = self.ask(&mut call)?;
        Ok(UnitPath(answer.body.parser().get::<ObjectPath<&str>>()?.as_ref().to_owned()))
    }

    /// A property of a unit, read by `read` as it has one of D-Bus's types.
    pub fn get<T>(
        &mut self,
        unit: &UnitPath,
        interface: &str,
        name: &str,
        read: impl FnOnce(&Variant) -> Result<T, rustbus::wire::errors::UnmarshalError>,
    ) -> Result<T, BusError> {
        let mut call = MessageBuilder::new()
            .call("Get")
            .with_interface("org.freedesktop.DBus.Properties")
            .on(unit.0.as_str())
            .at(SYSTEMD)
            .build();
        call.body.push_param2(format!("{SYSTEMD}.{interface}"), name)?;
        let answer = self.ask(&mut call)?;
        let value = answer.body.parser().get::<Variant>()?;
        Ok(read(&value)?)
    }

    /// Hear of jobs that end; before any is begun.
    pub fn hear_jobs(&mut self) -> Result<(), BusError> {
        let rule = format!("type='signal',sender='{SYSTEMD}',interface='{MANAGER}',member='JobRemoved'");
        self.ask(&mut standard_messages::add_match(&rule))?;
        self.ask(&mut manager("Subscribe"))?;
        Ok(())
    }

    /// Begins a job: `RestartUnit` or one of its like.
    pub fn begin(&mut self, method: &str, unit: &str) -> Result<JobPath, BusError> {
        let mut call = manager(method);
        call.body.push_param2(unit, "replace")?;
        let answer = self.ask(&mut call)?;
        Ok(JobPath(answer.body.parser().get::<ObjectPath<&str>>()?.as_ref().to_owned()))
    }

    /// Waits for a job's end: its result.
    pub fn end(&mut self, job: &JobPath, longest: Duration) -> Result<String, BusError> {
        let until = Instant::now() + longest;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(BusError::TimedOut);
            }
            let signal = self.0.wait_signal(Timeout::Duration(left))?;
            if signal.dynheader.member.as_deref() != Some("JobRemoved") {
                continue;
            }
            let (_, path, _, result) = signal.body.parser().get4::<u32, ObjectPath<&str>, &str, &str>()?;
            if path.as_ref() == job.0 {
                return Ok(result.to_owned());
            }
        }
    }

    /// Forgets that a unit failed, and how often it was started.
    pub fn reset_failed(&mut self, unit: &str) -> Result<(), BusError> {
        let mut call = manager("ResetFailedUnit");
        call.body.push_param(unit)?;
        self.ask(&mut call).map(drop)
    }

    fn ask(&mut self, call: &mut MarshalledMessage) -> Result<MarshalledMessage, BusError> {
        let patience = Timeout::Duration(PATIENCE);
        let serial = self.0.send_message(call)?.write(patience).map_err(force_finish_on_error)?;
        let answer = self.0.wait_response(serial, patience)?;
        if answer.typ == MessageType::Error {
            let words = answer.body.parser().get::<&str>().unwrap_or_default().to_owned();
            return Err(BusError::Said(answer.dynheader.error_name.unwrap_or_default(), words));
        }
        Ok(answer)
    }
}

fn manager(method: &str) -> MarshalledMessage {
    MessageBuilder::new().call(method).with_interface(MANAGER).on(ROOT).at(SYSTEMD).build()
}

/// Reads a variant as a type that borrows nothing.
pub(super) fn as_<T>(value: &Variant) -> Result<T, rustbus::wire::errors::UnmarshalError>
where
    T: for<'b, 'f> Unmarshal<'b, 'f>,
{
    value.get::<T>()
}
