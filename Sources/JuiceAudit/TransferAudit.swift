/// Checks that what the journal says was handed on is there: the copy of each command that was forwarded, and the dead letter of
/// each record that was put aside.
///
/// Either may be there twice: written, and then its transaction torn or taken back by an operator. Only one copy may be handled,
/// the others must be taken for copies. What is handed on is read at other times than where it comes from: only what is
/// unmatched is held.
struct TransferAudit {
    /// What the journal says was handed on.
    struct Sent {
        /// What may have come of the record; nil if that is unknown.
        let contents: [UInt64]?
        /// When a forwarded record was sent; nil if its copy need not have the same time. Only a whole one must.
        var timestamp: Int64?
        /// The partition that a record was forwarded to; nil if it became a dead letter.
        var owner: Int?
        /// When the journal said so.
        let notedAt: Int64
    }

    /// What says that it was handed on. Of a record in an input, a client may say so, too.
    struct Received {
        let place: Place
        let contents: UInt64
        let timestamp: Int64
        /// Whether it was answered or put aside, and not taken for a second copy.
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

    /// The record that was handed on, and to where.
    private struct Origin: Hashable {
        let place: Place
        let isLetter: Bool
    }

    private var faults: [(origin: Place, fault: Fault)] = []
    private var forwarded = 0
    /// How many records are copies of clients' records.
    private var copies = 0
    private var sent: [Origin: Sent] = [:]
    private var received: [Origin: [Received]] = [:]
    /// The latest that were matched, and what was handled.
    private var matched = Recent<Origin, (sent: Sent, handled: Place)>(65_536)
    /// From when on all letters are there: older ones have expired.
    var lettersSince = Int64.min

    /// The journal says that a record was handed on, and will say so again if an operator moves its position back.
    mutating func send(_ sent: Sent, from place: Place, isLetter: Bool) {
        let origin = Origin(place: place, isLetter: isLetter)
        guard matched[origin] == nil, self.sent.updateValue(sent, forKey: origin) == nil else { return }
        if !isLetter { forwarded += 1 }
        match(origin)
    }

    /// A record says that it was handed on from a place.
    mutating func receive(_ record: Received, from place: Place, isLetter: Bool) {
        let origin = Origin(place: place, isLetter: isLetter)
        if let match = matched[origin] { return judge(record, match.sent, origin, match.handled) }
        received[origin, default: []].append(record)
        match(origin)
    }

    private mutating func match(_ origin: Origin) {
        guard let sent = sent[origin], let received = received[origin],
            let handled = received.first(where: { $0.isHandled && $0.isRight(for: sent) })?.place
        else { return }
        matched[origin] = (sent, handled)
        (self.sent[origin], self.received[origin]) = (nil, nil)
        for record in received { judge(record, sent, origin, handled) }
    }

    private mutating func judge(_ record: Received, _ sent: Sent, _ origin: Origin, _ handled: Place) {
        let isRight = record.isRight(for: sent)
        if origin.isLetter {
            if !isRight { report(.wrong, record.place, origin, "\(origin.place) is put aside otherwise than it must be") }
        } else if isRight {
            copies += 1
            guard record.isHandled, record.place != handled else { return }
            report(.doubled, record.place, origin, "it was forwarded from \(origin.place), and handled before as \(handled)")
        }
    }

    private mutating func report(_ category: Fault.Category, _ place: Place, _ origin: Origin, _ problem: String) {
        faults.append((origin.place, Fault(category, place, problem)))
    }

    /// Reports what has no counterpart in any partition.
    mutating func finish(_ audit: inout Audit) {
        for (origin, sent) in sent.sorted(by: { $0.key.place < $1.key.place }) {
            let received = received.removeValue(forKey: origin) ?? []
            for record in received { judge(record, sent, origin, record.place) }
            guard sent.contents != nil, !received.contains(where: { $0.isRight(for: sent) }) else { continue }
            let owner = sent.owner.map { Place(topic: origin.place.topic, partition: $0, offset: 0) }
            if sent.notedAt <= owner.map({ audit.judged[$0.partitionName]?.since ?? .max }) ?? lettersSince {
                audit.counts.unjudged += 1
            } else {
                let problem = owner.map { "it was forwarded to partition \($0.partition), which has no such copy" }
                report(.missing, origin.place, origin, problem ?? "it has no such dead letter")
            }
        }
        for (origin, received) in received.sorted(by: { $0.key.place < $1.key.place }) where origin.isLetter {
            guard audit.judged[origin.place.partitionName]?.offsets.contains(origin.place.offset) ?? true else { continue }
            // It may have been put aside by a part of the journal that was lost, before an operator went on behind it.
            let place = origin.place
            let isSkipped = audit.anchors.contains {
                $0.topic == place.topic && $0.partition == place.partition
                    && ($0.from ?? .max)..<max($0.from ?? .max, $0.to) ~= place.offset
            }
            if isSkipped {
                audit.counts.unjudged += received.count
                continue
            }
            for letter in received { report(.wrong, letter.place, origin, "\(origin.place) was not to be put aside") }
        }
        for (origin, fault) in faults {
            // Where an operator moved the position back, another record may be at the place by now.
            let isMoved = audit.anchors.contains {
                $0.topic == origin.topic && $0.partition == origin.partition && $0.to <= min(origin.offset, $0.from ?? 0)
            }
            if isMoved, fault.category != .doubled { audit.counts.unjudged += 1 } else { audit.add(fault) }
        }
        audit.counts.forwarded += forwarded
        audit.counts.records -= copies
    }
}
