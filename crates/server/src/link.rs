//! The way to the client while a statement is being answered: sends when the buffer is full, receives files.
//!
//! Here a thread may wait for a socket. It first tries without, and then waits as `env::blocking` says, so that others are
//! served.

use std::io;
use std::time::Duration;

use service::error::{
    ER_NET_ERROR_ON_WRITE, ER_NET_READ_ERROR, ER_NET_READ_INTERRUPTED, ER_NET_WRITE_INTERRUPTED,
};
use service::{ConnectionControl, Link, Outcome, SqlError};
use wire::packet::{PacketBuffer, PacketReader};

use crate::Shared;
use crate::io::{Io, READ_BYTES, Received};

/// The way to the client for a statement that is being answered.
pub(crate) struct SocketLink<'a> {
    io: &'a mut Io,
    control: &'a ConnectionControl,
    shared: &'a Shared,
    is_broken: bool,
}

impl<'a> SocketLink<'a> {
    pub(crate) fn new(io: &'a mut Io, control: &'a ConnectionControl, shared: &'a Shared) -> SocketLink<'a> {
        SocketLink { io, control, shared, is_broken: false }
    }

    /// Whether the client is gone: nothing can be answered any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    #[cold]
    fn broken(&mut self, error: &io::Error, write: bool) -> Box<SqlError> {
        self.is_broken = true;
        match (error.kind() == io::ErrorKind::TimedOut, write) {
            (false, true) => ER_NET_ERROR_ON_WRITE.bare(),
            (true, true) => ER_NET_WRITE_INTERRUPTED.bare(),
            (false, false) => ER_NET_READ_ERROR.bare(),
            (true, false) => ER_NET_READ_INTERRUPTED.bare(),
        }
    }

    fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut sent = self.io.send(bytes)?;
        while !sent {
            let timeout = Duration::from_secs(u64::from(self.shared.service.limits().net_write_timeout_s));
            self.io.wait(true, timeout, self.control)?;
            sent = self.io.flush()?;
        }
        Ok(())
    }

    fn receive_packet(&mut self, packets: &mut PacketBuffer, payload: &mut Vec<u8>) -> io::Result<()> {
        let mut scratch = vec![0; READ_BYTES];
        let mut reader = PacketReader::new(packets.sequence());
        let limits = self.shared.service.limits();
        loop {
            if !self.io.input.is_empty() {
                let input = std::mem::take(&mut self.io.input);
                let (used, whole) = reader
                    .feed(&input, limits.max_allowed_packet as usize)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{error:?}")))?;
                if used < input.len() {
                    self.io.input = input[used..].to_vec();
                }
                if whole {
                    *payload = reader.take_payload();
                    packets.set_sequence(reader.next_sequence());
                    return Ok(());
                }
            }
            match self.io.receive(&mut scratch)? {
                Received::InScratch { bytes, .. } => self.io.input.extend_from_slice(&scratch[..bytes]),
                Received::InInput { .. } => {}
                Received::Nothing => {
                    let timeout = Duration::from_secs(u64::from(limits.net_read_timeout_s));
                    self.io.wait(false, timeout, self.control)?;
                }
                Received::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

impl Link for SocketLink<'_> {
    fn send(&mut self, packets: &mut PacketBuffer, position: u64) -> Outcome {
        if position > 0 && position > self.shared.service.durable_position() {
            env::blocking::around(|| self.shared.service.sync_inline(position))?;
        }
        let sent = self.send_all(packets.frames());
        packets.clear_frames();
        sent.map_err(|error| self.broken(&error, true))
    }

    fn receive(&mut self, packets: &mut PacketBuffer, payload: &mut Vec<u8>) -> Outcome {
        self.receive_packet(packets, payload).map_err(|error| self.broken(&error, false))
    }
}
