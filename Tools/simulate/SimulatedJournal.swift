import Foundation
import JuiceEngine
import JuiceMessages

/// The state that one partition's committed journal describes, for the scheduler and the operator. It has its own parser.
final class SimulatedJournal {
    private let log: SimulatedPartition
    private let partition: Int32
    private var next: Offset = 0
    private var losses = 0
    /// The next offset of each input.
    private(set) var positions: [Place: Offset] = [:]
    /// The ids of the last claim.
    private(set) var claimer: [String] = []
    /// The offset of the last claim or position note; -1 if there is none.
    private var namedAt: Offset = -1
    /// Whether the journal had an owner, and no longer names it.
    var hasLostOwner: Bool { !claimer.isEmpty && namedAt < log.start }

    init(_ log: SimulatedPartition, partition: Int32) { (self.log, self.partition) = (log, partition) }

    /// Reads the records that were committed since the last call.
    func read() {
        if losses != log.losses { (next, losses, positions, namedAt) = (0, log.losses, [:], -1) }
        while next < log.lastStableOffset {
            // Damage must not hide records from the scheduler.
            let span = log.read(from: next, ignoringDamage: true)
            for (offset, record) in span.records {
                if let value = record.value?.view { read(value, at: offset) }
            }
            next = span.next
        }
    }

    private func read(_ value: UnsafeRawBufferPointer, at offset: Offset) {
        if let (topic, next) = Self.answered(value) {
            positions[place(topic, nil)] = next
            return
        }
        let note = Self.members(of: value)
        if note["ids"] != nil { namedAt = offset }
        if let noted = Self.place(in: note) {
            let isAnchor = note["type"] as? String == "anchored"
            positions[place(noted.topic, noted.partition)] = isAnchor ? noted.offset : noted.offset + 1
        } else if note["type"] as? String == "position" {
            positions.merge(Self.positions(in: note, of: partition)) { $1 }
        } else if let ids = note["ids"] as? [String] {
            claimer = ids
        }
    }

    /// The next offsets that a position note of a partition names.
    static func positions(in note: [String: Any], of partition: Int32) -> [Place: Offset] {
        var positions: [Place: Offset] = [:]
        for topic in InputTopic.allCases {
            positions[Place(topic: topic.topic, partition: partition)] = (note["\(topic)"] as? Int).map { Offset($0) }
        }
        for (input, next) in note["added"] as? [String: Int] ?? [:] {
            let parts = input.split(separator: "/")
            positions[Place(topic: parts[0] == "orders" ? .orders : .restocks, partition: Int32(parts[1]) ?? 0)] = Offset(next)
        }
        return positions
    }

    /// The members of a record's JSON object; empty if it is none.
    static func members(of value: UnsafeRawBufferPointer) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(value))) as? [String: Any] ?? [:]
    }

    /// The place that a note is about.
    private static func place(in note: [String: Any]) -> InputPlace? {
        guard let topic = note["topic"] as? String, let offset = note["offset"] as? Int else { return nil }
        return InputPlace(
            topic: topic == "orders" ? .orders : .restocks, partition: (note["partition"] as? Int).map { Int32($0) },
            offset: Offset(offset))
    }

    private func place(_ topic: InputTopic, _ partition: Int32?) -> Place {
        .init(topic: topic.topic, partition: partition ?? self.partition)
    }

    /// The place of the input record that a journal record handles; nil if it handles none.
    static func handled(_ value: UnsafeRawBufferPointer) -> InputPlace? {
        if let (topic, next) = answered(value) { return InputPlace(topic: topic, partition: nil, offset: next - 1) }
        let note = members(of: value)
        return note["type"] as? String == "anchored" ? nil : place(in: note)
    }

    /// The topic of an answer's command, and the offset after that command; nil for a note.
    static func answered(_ value: UnsafeRawBufferPointer) -> (InputTopic, Offset)? {
        // In an answer, the members come in a fixed order. Within a text, a quote has a backslash before it.
        guard let id = find(#"Id":""#, in: value, from: 8), let offset = find(#","offset":"#, in: value, from: id) else {
            return nil
        }
        return (value[id - 6] == UInt8(ascii: "r") ? .orders : .restocks, number(at: offset, in: value) + 1)
    }

    static func isPosition(_ record: SimulatedPartition.Record) -> Bool {
        record.key == nil && record.value.map { find(#""type":"position""#, in: $0.view, from: 0) != nil } ?? false
    }

    /// The revision that an answer or a stock record names; 0 if it names none.
    static func revision(_ record: SimulatedPartition.Record) -> Int {
        guard let value = record.value?.view, let place = find(#""revision":"#, in: value, from: 0) else { return 0 }
        return Int(number(at: place, in: value))
    }

    /// The number that begins at a place.
    static func number(at place: Int, in value: UnsafeRawBufferPointer) -> Offset {
        value[place...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.reduce(0) {
            $0 * 10 + Offset($1 - UInt8(ascii: "0"))
        }
    }

    /// The place after the first occurrence of a text.
    static func find(_ text: StaticString, in value: UnsafeRawBufferPointer, from start: Int) -> Int? {
        let size = text.utf8CodeUnitCount
        guard value.count >= start + size else { return nil }
        for place in start...(value.count - size) where value[place] == text.utf8Start[0] {
            if (0..<size).allSatisfy({ value[place + $0] == text.utf8Start[$0] }) { return place + size }
        }
        return nil
    }
}
