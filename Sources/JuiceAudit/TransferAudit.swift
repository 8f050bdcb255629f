import JuiceMessages
import Synchronization

final class Transfers: Sendable { let audit = Mutex(TransferAudit()) }

/// Checks that everything exists that left a partition according to the journal: copies of forwarded commands, and dead letters.
///
/// Either may exist twice: its transaction was aborted after it was written, or an operator moved the position back. Copies and
/// originals are read at different times, so records wait for their match. That a copy is handled once is checked where it is read.
struct TransferAudit {
    struct Sent {
        /// Hashes of what the record may have become; nil if that is unknown.
        let contents: [Int]?
        /// When a forwarded record was sent; nil if its copy need not have that time. Only a copy of the whole record must.
        var timestamp: Int64?
        /// The partition that a record was forwarded to; nil if it became a dead letter.
        var owner: Int32?
        let notedAt: Int64
    }

    /// A record that says it is such a copy. In an input, any client may say so.
    struct Received {
        let place: Place
        let contents: Int
        let timestamp: Int64
        /// From this offset on, all records of its partition were read, up to itself.
        var since: Int64 = 0

        func isRight(for sent: Sent) -> Bool {
            guard sent.contents?.contains(contents) ?? true else { return false }
            guard let owner = sent.owner else { return true }
            guard place.partition == owner, contents == sent.contents?.first, let time = sent.timestamp, time >= 0 else {
                return place.partition == owner
            }
            // The duplicate window counts from this time, unless the topic might refuse it.
            return timestamp == time || timestamp &- time > Self.oldestKept
        }

        /// From this age on, in milliseconds, a copy may have the time of forwarding: a week, less the differences of clocks.
        private static let oldestKept: Int64 = 7 * 24 * 3_600_000 - 60_000 - 7_200_000

        /// Whether the other one is a second copy of the same record.
        func isRepeated(by other: Received) -> Bool { place != other.place && contents == other.contents }
    }

    /// The record that left, and whether as a dead letter.
    private struct Origin: Hashable {
        let place: Place
        let isDeadLetter: Bool
    }

    /// From a partition to a stretch of another partition's records, which was read from `reading` on.
    private struct Route: Hashable {
        let source: InputPartition
        let reading: Place
    }

    private var faults: [(origin: Origin, timestamp: Int64, fault: Fault)] = []
    private var forwarded = 0
    private var sent: [Origin: Sent] = [:]
    private var received: [Origin: [Received]] = [:]
    private var matched = Recent<Origin, Sent>(65_536)
    /// The lowest offset whose record was forwarded on each route.
    private var firsts: [Route: Int64] = [:]
    /// From when on all dead letters are there: older ones have expired.
    var deadLettersSince = Int64.min

    /// The journal says that a record left, and will say so again if an operator moves its position back.
    mutating func send(_ sent: Sent, from place: Place) {
        let origin = Origin(place: place, isDeadLetter: sent.owner == nil)
        guard matched[origin] == nil, self.sent.updateValue(sent, forKey: origin) == nil else { return }
        if !origin.isDeadLetter { forwarded += 1 }
        match(origin)
    }

    /// A record says that it is the copy of the one at a place.
    mutating func receive(_ record: Received, from place: Place) {
        let origin = Origin(place: place, isDeadLetter: record.place.topic == .deadLetters)
        if let sent = matched[origin] { return check(record, sent, origin) }
        received[origin, default: []].append(record)
        match(origin)
    }

    private mutating func match(_ origin: Origin) {
        guard let sent = sent[origin], let received = received[origin], received.contains(where: { $0.isRight(for: sent) })
        else { return }
        matched[origin] = sent
        (self.sent[origin], self.received[origin]) = (nil, nil)
        for record in received { check(record, sent, origin) }
        for record in received where record.isRight(for: sent) {
            let route = Route(source: origin.place.input, reading: record.place.at(record.since))
            firsts[route] = min(firsts[route] ?? .max, origin.place.offset)
        }
    }

    /// Whether the copy of a record may come before those that were read.
    ///
    /// Commands of one partition are forwarded in order. Times would not show it: each journal has those of its owner's clock.
    private func isUnread(_ record: Place, to owner: Int32, _ audit: Audit) -> Bool {
        let copies = Place(topic: record.topic, partition: owner, offset: 0)
        guard let since = audit.checked[copies.input]?.since else { return true }
        let first = firsts[Route(source: record.input, reading: copies.at(since))] ?? .max
        return since > .min && record.offset < first
    }

    /// In an input, a wrong copy may be a client's.
    private mutating func check(_ record: Received, _ sent: Sent, _ origin: Origin) {
        guard origin.isDeadLetter, !record.isRight(for: sent) else { return }
        let fault = Fault(.wrong, record.place, "it is not the dead letter that \(origin.place) must have")
        faults.append((origin, record.timestamp, fault))
    }

    /// Reports what has no counterpart in any partition.
    mutating func finish(_ audit: inout Audit) {
        for (origin, sent) in sent.sorted(by: { $0.key.place < $1.key.place }) where sent.contents != nil {
            for record in received.removeValue(forKey: origin) ?? [] { check(record, sent, origin) }
            if sent.owner.map({ isUnread(origin.place, to: $0, audit) }) ?? (sent.notedAt <= deadLettersSince) {
                audit.counts.unjudged += 1
            } else {
                let problem = sent.owner.map { "it was forwarded to partition \($0), which has no such copy" }
                faults.append((origin, sent.notedAt, Fault(.missing, origin.place, problem ?? "it has no such dead letter")))
            }
        }
        for (origin, received) in received.sorted(by: { $0.key.place < $1.key.place }) where origin.isDeadLetter {
            let place = origin.place
            guard audit.checked[place.input]?.offsets.contains(place.offset) ?? true else { continue }
            for deadLetter in received {
                let fault = Fault(.wrong, deadLetter.place, "the journal does not say that \(place) is a dead letter")
                faults.append((origin, deadLetter.timestamp, fault))
            }
        }
        for (origin, timestamp, fault) in faults {
            let offset = origin.place.offset
            let isVoid = audit.anchors.lazy.filter { $0.moved(origin.place) }.contains { anchor in
                // Where an operator moved the position back, another record may be at the place by now.
                let isMovedBack = anchor.to <= min(offset, anchor.from ?? 0)
                // Where it was moved forward, the note may have been in a part of the journal that was lost.
                let isSkipped = offset < anchor.to && offset >= anchor.from ?? .max
                // A dead letter that was copied from another cluster names its record by the offset there.
                return isMovedBack || isSkipped || anchor.isOfCopy && origin.isDeadLetter && timestamp < anchor.at.timestamp
            }
            if isVoid { audit.counts.unjudged += 1 } else { audit.add(fault) }
        }
        audit.counts.forwarded += forwarded
    }
}

// MARK: - What a record must become

extension AuditRecord {
    /// Whether it says that it was forwarded. Any client may say so.
    var isForwarded: Bool { !headers.isEmpty && headers.contains { $0.name == HeaderName.forwardedFrom } }

    /// Where it was forwarded from, if its header says so. A client may write a header of this name, with any value.
    var source: RecordPosition? {
        headers.isEmpty ? nil : headers.first { $0.name == HeaderName.forwardedFrom }?.value.flatMap { RecordPosition($0) }
    }

    /// The digest of its key and value, as in the notes about it.
    var digest: RecordDigest { key.withBytes { key in value.withBytes { RecordDigest(key: key, value: $0) } } }

    /// A hash of the key, the value, `more`, and the headers without the last `own` ones.
    func contents(without own: Int = 0, _ more: String = "") -> Int {
        var hasher = Hasher()
        hasher.combine(more)
        hasher.combine(key)
        hasher.combine(value)
        for header in headers.dropLast(own) { hasher.combine(header) }
        return hasher.finalize()
    }

    /// Its size, as far as it matters to brokers. They may refuse to take a record uncompressed that arrived compressed.
    private var size: Int { headers.size + (key?.count ?? 0) + (value?.count ?? 0) }

    private var mayBeRefused: Bool { size > 2 * DeadLetterReason.mostKept }

    private func with(key: [UInt8]?, value: [UInt8]?, _ headers: [MessageHeader]) -> AuditRecord {
        AuditRecord(offset: offset, timestamp: timestamp, key: key, value: value, headers: headers)
    }

    /// What the copy of a forwarded record may hold: all of it or, if the broker refuses that, no headers but those of traces.
    var forwards: [Int] { [contents()] + (mayBeRefused ? [with(key: key, value: value, headers.ofTraces).contents()] : []) }

    /// Whether the service may be unable to copy its headers. If librdkafka cannot read them, there are none here.
    var mayHaveBadHeaders: Bool { headers.isEmpty || headers.count >= 99_990 }

    /// What the record's dead letter may hold: all of it or, if the broker refuses that, the beginnings.
    func deadLetters(_ code: String) -> [Int] {
        func beginning(_ bytes: [UInt8]?) -> [UInt8]? { bytes.map { Array($0.prefix(DeadLetterReason.mostKept)) } }
        let header = MessageHeader(name: HeaderName.truncatedFrom, value: "\(size)")
        let cut = with(key: beginning(key), value: beginning(value), [header])
        let isBare = code == DeadLetterReason.badHeaders.code
        let whole = isBare ? with(key: key, value: value, []) : self
        return [whole.contents(code)] + (mayBeRefused ? [cut.contents(code)] : [])
    }

    /// The place of the record that became this dead letter, and the code; nil if the headers do not name them.
    func deadLetterOrigin(_ topicPrefix: String) -> (Place, code: String)? {
        // The service's own headers are the last five. A record that was resent from the dead letters has others of the same names
        // before them.
        let own = headers.suffix(5).reduce(into: [:]) { $0[$1.name] = String(decoding: $1.value ?? [], as: UTF8.self) }
        guard let name = own[HeaderName.sourceTopic], let code = own[HeaderName.errorCode],
            let topic = InputTopic.allCases.first(where: { topicPrefix + $0.topic.name == name })?.topic,
            let partition = own[HeaderName.sourcePartition].flatMap({ Int32($0) }),
            let offset = own[HeaderName.sourceOffset].flatMap({ Int64($0) }), own[HeaderName.errorMessage]?.isEmpty == false
        else { return nil }
        return (Place(topic: topic, partition: partition, offset: offset), code)
    }

    /// Whether `juice dead-letters resend` wrote it as a note about a dead letter that it sent again.
    var isResendNote: Bool {
        key == nil && value == nil && headers.contains { $0.name == HeaderName.resentLetter }
            && !headers.contains { $0.name == HeaderName.errorCode }
    }
}
