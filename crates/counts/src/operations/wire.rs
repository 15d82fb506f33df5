//! Packets, parameters and rows.

use wire::command::Command;
use wire::packet::{PacketReader, next_packet};
use wire::parameter::{ParameterValue, Parameters, put_parameters};
use wire::row;
use wire::{
    Capabilities, ColumnDefinition, ColumnFlags, ColumnType, EncodedColumns, OkPacket, PacketBuffer,
    StatusFlags,
};

use crate::count::Counter;

pub(crate) fn count(counter: &mut Counter) {
    let capabilities = Capabilities(Capabilities::PROTOCOL_41.0 | Capabilities::DEPRECATE_EOF.0);
    let mut packets = PacketBuffer::new();
    let text = [b'x'; 119];

    let mut execute = vec![23, 1, 0, 0, 0, 0, 1, 0, 0, 0];
    put_parameters(
        &mut execute,
        &[ParameterValue::Int(4711), ParameterValue::Bytes(b"some text"), ParameterValue::Null],
        false,
    );
    let mut frame = Vec::new();
    frame.extend_from_slice(&(execute.len() as u32).to_le_bytes()[..3]);
    frame.push(0);
    frame.extend_from_slice(&execute);
    counter.count("wire.next_packet", 512, |_| {
        matches!(next_packet(&frame), wire::packet::Incoming::Packet { .. })
    });
    counter.count("wire.packet_reader", 512, |_| {
        let mut reader = PacketReader::new(0);
        reader.feed(&frame, 1 << 20).map(|(used, whole)| (used, whole, reader.payload().len()))
    });
    counter.count("wire.command_decode", 512, |_| Command::decode(&execute).is_ok());
    let mut kinds = Vec::new();
    counter.count("wire.parameters_decode", 512, |_| {
        let mut values = Parameters::read(&execute[10..], 0, false, 3, &mut kinds).expect("they are whole");
        (values.next_value(false), values.next_value(false), values.next_value(false))
    });
    counter.count("wire.ok_encode", 512, |_| {
        packets.clear_frames();
        let ok = OkPacket {
            affected_rows: 1,
            last_insert_id: 4711,
            status: StatusFlags::AUTOCOMMIT,
            warnings: 0,
            info: b"",
            state_changes: &[],
        };
        ok.encode(wire::message::OK_HEADER, capabilities, packets.begin());
        packets.end();
    });
    counter.count("wire.row_text_encode", 512, |number| {
        packets.clear_frames();
        let out = packets.begin();
        row::put_text_i64(out, i64::from(number));
        row::put_text_f64(out, f64::from(number) * 0.25);
        row::put_text_null(out);
        row::put_text_bytes(out, &text);
        packets.end();
    });
    counter.count("wire.row_binary_encode", 512, |number| {
        packets.clear_frames();
        let out = packets.begin();
        let bitmap = row::begin_binary(out, 4);
        row::put_binary_i64(out, i64::from(number));
        row::put_binary_f64(out, f64::from(number) * 0.25);
        row::set_binary_null(out, bitmap, 2);
        row::put_binary_bytes(out, &text);
        packets.end();
    });
    let column = |name: &'static [u8]| ColumnDefinition {
        schema: b"sbtest",
        table: b"sbtest1",
        org_table: b"sbtest1",
        name,
        org_name: name,
        collation: 255,
        length: 480,
        column_type: ColumnType::String,
        flags: ColumnFlags::NOT_NULL,
        decimals: 0,
    };
    counter.count("wire.columns_encode", 256, |_| {
        EncodedColumns::new([column(b"c"), column(b"pad")].into_iter()).bytes()
    });
    let encoded = EncodedColumns::new([column(b"c"), column(b"pad")].into_iter());
    counter.count("wire.columns_put", 512, |_| {
        packets.clear_frames();
        encoded.put_with_count(&mut packets);
    });
    let mut answer = Vec::new();
    row::put_text_i64(&mut answer, 4711);
    row::put_text_bytes(&mut answer, &text);
    row::put_text_null(&mut answer);
    counter.count("wire.row_text_decode", 512, |_| {
        let mut bytes = 0;
        wire::client::text_row(&answer, |cell| bytes += cell.map_or(0, <[u8]>::len)).expect("it is whole");
        bytes
    });
}
