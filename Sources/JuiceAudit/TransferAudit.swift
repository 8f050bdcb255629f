import JuiceMessages
import Synchronization

/// What left the partitions, for all of them.
final class Transfers: Sendable { let audit = Mutex(TransferAudit()) }

/// Checks that what the journal says left a partition is there: the copy of each command that was forwarded, and each dead letter.
///
/// Either may be there twice: written, and then its transaction was aborted or an operator moved the position back. Only one copy
/// may be handled, the others must have the note `copy`. Copies are read at other times than their originals, so what has no match
/// yet is held.
struct TransferAudit {
    /// What the journal says left its partition.
    struct Sent {
        /// What may have come of the record; nil if that is unknown.
        let contents: [Int]?
        /// When a forwarded record was sent; nil if its copy need not have the same time. Only a whole one must.
        var timestamp: Int64?
        /// The partition that a record was forwarded to; nil if it became a dead letter.
        var owner: Int32?
        /// When the journal said so.
        let notedAt: Int64
    }

    /// A record that says it is such a copy. In an input, a client may say so, too.
    struct Received {
        let place: Place
        let contents: Int
        let timestamp: Int64
        /// Whether it was answered or became a dead letter, and was not taken for a second copy.
        let isHandled: Bool

        func isRight(for sent: Sent) -> Bool {
            guard sent.contents?.contains(contents) ?? true else { return false }
            guard let owner = sent.owner else { return true }
            // The duplicate window counts from this time. An invalid one counts as the moment of reading, when the copy was made.
            return place.partition == owner
                && (contents != sent.contents?.first
                    || sent.timestamp.map { timestamp == SendTimes.effective($0, readAt: timestamp) } ?? true)
        }
    }

    /// The record that left, and whether as a dead letter.
    private struct Origin: Hashable {
        let place: Place
        let isDeadLetter: Bool
    }

    private var faults: [(origin: Origin, timestamp: Int64, fault: Fault)] = []
    private var forwarded = 0
    /// How many records are copies of clients' records.
    private var copies = 0
    private var sent: [Origin: Sent] = [:]
    private var received: [Origin: [Received]] = [:]
    /// The latest that were matched, and what was handled.
    private var matched = Recent<Origin, (sent: Sent, handled: Place)>(65_536)
    /// From when on all dead letters are there: older ones have expired.
    var deadLettersSince = Int64.min

    /// The journal says that a record left, and will say so again if an operator moves its position back.
    mutating func send(_ sent: Sent, from place: Place, isDeadLetter: Bool) {
        let origin = Origin(place: place, isDeadLetter: isDeadLetter)
        guard matched[origin] == nil, self.sent.updateValue(sent, forKey: origin) == nil else { return }
        if !isDeadLetter { forwarded += 1 }
        match(origin)
    }

    /// A record says that it is the copy of the one at a place.
    mutating func receive(_ record: Received, from place: Place, isDeadLetter: Bool) {
        let origin = Origin(place: place, isDeadLetter: isDeadLetter)
        if let match = matched[origin] { return check(record, match.sent, origin, match.handled) }
        received[origin, default: []].append(record)
        match(origin)
    }

    private mutating func match(_ origin: Origin) {
        guard let sent = sent[origin], let received = received[origin],
            let handled = received.first(where: { $0.isHandled && $0.isRight(for: sent) })?.place
        else { return }
        matched[origin] = (sent, handled)
        (self.sent[origin], self.received[origin]) = (nil, nil)
        for record in received { check(record, sent, origin, handled) }
    }

    private mutating func check(_ record: Received, _ sent: Sent, _ origin: Origin, _ handled: Place) {
        let isRight = record.isRight(for: sent)
        if origin.isDeadLetter {
            if !isRight { report(.wrong, record, origin, "it is not the dead letter that \(origin.place) must have") }
        } else if isRight {
            copies += 1
            guard record.isHandled, record.place != handled else { return }
            report(.doubled, record, origin, "it was forwarded from \(origin.place), and handled before as \(handled)")
        }
    }

    private mutating func report(_ category: Fault.Category, _ record: Received, _ origin: Origin, _ problem: String) {
        faults.append((origin, record.timestamp, Fault(category, record.place, problem)))
    }

    /// Reports what has no counterpart in any partition.
    mutating func finish(_ audit: inout Audit) {
        let anchors = audit.anchors
        for (origin, sent) in sent.sorted(by: { $0.key.place < $1.key.place }) {
            let received = received.removeValue(forKey: origin) ?? []
            for record in received { check(record, sent, origin, record.place) }
            guard sent.contents != nil, !received.contains(where: { $0.isRight(for: sent) }) else { continue }
            let owner = sent.owner.map { Place(topic: origin.place.topic, partition: $0, offset: 0).input }
            if sent.notedAt <= owner.map({ audit.checked[$0]?.since ?? .max }) ?? deadLettersSince {
                audit.counts.unjudged += 1
            } else {
                let problem = owner.map { "it was forwarded to partition \($0.partition), which has no such copy" }
                faults.append((origin, sent.notedAt, Fault(.missing, origin.place, problem ?? "it has no such dead letter")))
            }
        }
        for (origin, received) in received.sorted(by: { $0.key.place < $1.key.place }) where origin.isDeadLetter {
            let place = origin.place
            guard audit.checked[place.input]?.offsets.contains(place.offset) ?? true else { continue }
            // Its note may have been in a part of the journal that was lost, before an operator went on after it.
            let isSkipped = anchors.contains { $0.moved(place) && ($0.from ?? .max)..<max($0.from ?? .max, $0.to) ~= place.offset }
            for deadLetter in received {
                let fault = Fault(.wrong, deadLetter.place, "the journal does not say that \(place) is a dead letter")
                if isSkipped { audit.counts.unjudged += 1 } else { faults.append((origin, deadLetter.timestamp, fault)) }
            }
        }
        for (origin, timestamp, fault) in faults {
            let isVoid = anchors.contains { anchor in
                guard anchor.moved(origin.place) else { return false }
                // Where an operator moved the position back, another record may be at the place by now.
                let isMovedBack = anchor.to <= min(origin.place.offset, anchor.from ?? 0) && fault.category != .doubled
                // A dead letter that was copied from another cluster names its record by the offset there.
                return isMovedBack || anchor.isOfCopy && origin.isDeadLetter && timestamp < anchor.at.timestamp
            }
            if isVoid { audit.counts.unjudged += 1 } else { audit.add(fault) }
        }
        audit.counts.forwarded += forwarded
        audit.counts.records -= copies
    }
}

// MARK: - What a record must become

extension AuditRecord {
    private static let (mostTraceHeaders, longestTraceHeader, mostTraceBytes) = (8, 8 * 1024, 16 * 1024)
    /// How many bytes of key and of value a truncated dead letter keeps.
    private static let truncatedHalf = 128 * 1024

    /// The headers that an answer must carry over from its command, of these headers.
    var traces: [AuditHeader] {
        var room = Self.mostTraceBytes
        let fitting = headers.filter { header in
            let size = header.value?.count ?? 0
            let isTrace = header.name == HeaderName.traceparent || header.name == HeaderName.tracestate
            guard isTrace, size <= min(Self.longestTraceHeader, room) else { return false }
            room -= size
            return true
        }
        return Array(fitting.prefix(Self.mostTraceHeaders))
    }

    /// Whether it says that it was forwarded. A client may say so, too.
    var isForwarded: Bool { !headers.isEmpty && headers.contains { $0.name == HeaderName.forwardedFrom } }

    /// Where it was forwarded from, if its header says so. A client may write a header of this name, with any value.
    var source: ForwardSource? {
        headers.isEmpty ? nil : headers.first { $0.name == HeaderName.forwardedFrom }?.value.flatMap { ForwardSource($0) }
    }

    /// The digest of its key and value, as in the notes about it.
    var digest: RecordDigest { key.withBytes { key in value.withBytes { RecordDigest(key: key, value: $0) } } }

    /// Stands for key, value, headers but for the last ones, and for what is added.
    func contents(without own: Int = 0, _ more: String = "") -> Int {
        var hasher = Hasher()
        hasher.combine(more)
        hasher.combine(key)
        hasher.combine(value)
        for header in headers.dropLast(own) { hasher.combine(header) }
        return hasher.finalize()
    }

    /// How large it is, as far as it matters to brokers. They may refuse to take what came compressed uncompressed.
    private var size: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }

    private var mayBeRefused: Bool { size > 2 * Self.truncatedHalf }

    private func with(key: [UInt8]?, value: [UInt8]?, _ headers: [AuditHeader]) -> AuditRecord {
        AuditRecord(offset: offset, timestamp: timestamp, key: key, value: value, headers: headers)
    }

    /// What the copy of a forwarded record may hold: all of it or, if the broker refuses that, no headers but those of traces.
    var forwards: [Int] { [contents()] + (mayBeRefused ? [with(key: key, value: value, traces).contents()] : []) }

    /// Whether the service may not copy its headers. Those that librdkafka cannot read are not among these.
    var mayHaveBadHeaders: Bool { headers.isEmpty || headers.count >= 99_990 }

    /// What the record's dead letter may hold: all of it or, if the broker refuses that, the beginnings, or nothing.
    func deadLetters(_ code: String) -> [Int] {
        let header = AuditHeader(HeaderName.truncatedFrom, Array("\(size)".utf8))
        let cut = [Self.truncatedHalf, 0].map { half in
            with(key: key.map { Array($0.prefix(half)) }, value: value.map { Array($0.prefix(half)) }, [header]).contents(code)
        }
        let isBare = code == DeadLetterReason.badHeaders.code
        let whole = isBare ? with(key: key, value: value, []) : self
        return [whole.contents(code)] + (mayBeRefused ? cut : [])
    }

    /// The place of the record that has this dead letter, and the code; nil if its headers do not say so.
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

    /// Whether `juice dead-letters resend` wrote it beside a dead letter that it sent again.
    var isResendNote: Bool {
        key == nil && value == nil && headers.contains { $0.name == HeaderName.resentLetter }
            && !headers.contains { $0.name == HeaderName.errorCode }
    }
}
