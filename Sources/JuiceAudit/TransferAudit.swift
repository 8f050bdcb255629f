import Synchronization

/// Checks that what the journal says was handed on is there: the copy of each command that was forwarded, and the dead letter of
/// each record that was put aside.
///
/// Either may be there twice: written, and then its transaction torn or taken back by an operator. Only one copy may be handled,
/// the others must be taken for copies. What is handed on is read at other times than where it comes from: only what is
/// unmatched is held.
final class TransferAudit: Sendable {
    /// What the journal says was handed on.
    struct Sent {
        /// What may have come of the record; nil if nobody knows.
        let contents: [UInt64]?
        /// When a forwarded record was sent.
        var timestamp: Int64?
        /// The partition that a record was forwarded to.
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
            guard let owner = sent.owner, let time = sent.timestamp else { return true }
            // The duplicate window counts from this time. An invalid one counts as the moment of reading, when the copy was made.
            return place.partition == owner && timestamp == SendTimes.effective(time, readAt: timestamp)
        }
    }

    /// The record that was handed on, and to where.
    fileprivate struct Origin: Hashable {
        let place: Place
        let isLetter: Bool
    }

    fileprivate struct State {
        var faults: [(origin: Place, fault: Fault)] = []
        var forwarded = 0
        /// Records that are copies of clients' records.
        var copies = 0
        var sent: [Origin: Sent] = [:]
        var received: [Origin: [Received]] = [:]
        /// The latest that were matched, and what was handled.
        var matched = Recent<Origin, (sent: Sent, handled: Place)>(65_536)
        /// From when on all letters are there: older ones have expired.
        var lettersSince = Int64.min
    }

    private let state = Mutex(State())

    /// The journal says that a record was handed on, and will say so again if an operator moves its position back.
    func send(_ sent: Sent, from place: Place, isLetter: Bool) {
        let origin = Origin(place: place, isLetter: isLetter)
        state.withLock { state in
            guard state.matched[origin] == nil, state.sent.updateValue(sent, forKey: origin) == nil else { return }
            if !isLetter { state.forwarded += 1 }
            state.match(origin)
        }
    }

    /// A record says that it was handed on from a place.
    func receive(_ received: Received, from place: Place, isLetter: Bool) {
        let origin = Origin(place: place, isLetter: isLetter)
        state.withLock { state in
            if let match = state.matched[origin] { return state.judge(received, match.sent, origin, match.handled) }
            state.received[origin, default: []].append(received)
            state.match(origin)
        }
    }

    /// The letters from before this time have expired.
    func expired(lettersBefore time: Int64) {
        state.withLock { $0.lettersSince = max($0.lettersSince, time) }
    }

    /// Reports what has no counterpart in any partition.
    func finish(_ findings: inout Findings) {
        var state = state.withLock { $0 }
        for (origin, sent) in state.sent.sorted(by: { $0.key.place < $1.key.place }) {
            let received = state.received.removeValue(forKey: origin) ?? []
            for record in received { state.judge(record, sent, origin, record.place) }
            guard sent.contents != nil, !received.contains(where: { $0.isRight(for: sent) }) else { continue }
            let owner = sent.owner.map { Place(topic: origin.place.topic, partition: $0, offset: 0) }
            if sent.notedAt <= owner.map({ findings.judged[$0]?.since ?? .max }) ?? state.lettersSince {
                findings.counts.unjudged += 1
            } else {
                let problem = owner.map { "it was forwarded to partition \($0.partition), which has no such copy" }
                state.report(.missing, origin.place, origin.place, problem ?? "it has no such dead letter")
            }
        }
        for (origin, received) in state.received.sorted(by: { $0.key.place < $1.key.place }) where origin.isLetter {
            guard findings.judged[origin.place.ofPartition]?.offsets.contains(origin.place.offset) ?? true else { continue }
            for letter in received {
                state.report(.wrong, letter.place, origin.place, "\(origin.place.description) was not to be put aside")
            }
        }
        for (origin, fault) in state.faults {
            // Where an operator moved the position back, another record may be at the place by now.
            let isMoved = findings.anchors.contains {
                $0.topic == origin.topic && $0.partition == origin.partition && $0.to <= min(origin.offset, $0.from ?? 0)
            }
            if isMoved, fault.category != .doubled { findings.counts.unjudged += 1 } else { findings.list.add(fault) }
        }
        findings.counts.forwarded += state.forwarded
        findings.counts.records -= state.copies
    }
}

extension TransferAudit.State {
    fileprivate mutating func match(_ origin: TransferAudit.Origin) {
        guard let sent = sent[origin], let received = received[origin],
            let handled = received.first(where: { $0.isHandled && $0.isRight(for: sent) })?.place
        else { return }
        matched[origin] = (sent, handled)
        (self.sent[origin], self.received[origin]) = (nil, nil)
        for record in received { judge(record, sent, origin, handled) }
    }

    fileprivate mutating func judge(
        _ record: TransferAudit.Received, _ sent: TransferAudit.Sent, _ origin: TransferAudit.Origin, _ handled: Place
    ) {
        let isRight = record.isRight(for: sent)
        if origin.isLetter {
            if !isRight {
                report(.wrong, record.place, origin.place, "\(origin.place.description) is put aside otherwise than it must be")
            }
        } else if isRight {
            copies += 1
            guard record.isHandled, record.place != handled else { return }
            let problem = "it was forwarded from \(origin.place.description), and handled before as \(handled.description)"
            report(.doubled, record.place, origin.place, problem)
        }
    }

    fileprivate mutating func report(_ category: Fault.Category, _ place: Place, _ origin: Place, _ problem: String) {
        faults.append((origin, Fault(category, place, problem)))
    }
}

// MARK: - Records

extension AuditRecord {
    /// Whether it says that it was forwarded. A client may say so, too.
    var isForwarded: Bool { !headers.isEmpty && headers.contains { $0.name == Contract.forwardedFrom } }

    /// Where it was forwarded from, in its topic, by its header.
    func source(in topic: AuditTopic) -> Place? {
        guard !headers.isEmpty else { return nil }
        return headers.first { $0.name == Contract.forwardedFrom }?.value.flatMap { Place($0, in: topic) }
    }

    /// Stands for key, value, headers but for the last ones, and for what comes besides.
    func contents(without own: Int = 0, _ more: String = "") -> UInt64 {
        var digest = Digest()
        digest.add(Array(more.utf8))
        digest.add(key)
        digest.add(value)
        for header in headers.dropLast(own) {
            digest.add(Array(header.name.utf8))
            digest.add(header.value)
        }
        return digest.value
    }

    /// What the letter of the record may hold. A record that came compressed may be too large for the broker when it is written
    /// uncompressed: then the letter is cut, or keeps nothing.
    func letters(_ code: String) -> [UInt64] {
        let size = headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
        let header = AuditHeader(Contract.truncatedFrom, Array("\(size)".utf8))
        let cut = [Contract.truncatedHalf, 0].map { half in
            let (key, value) = (key.map { Array($0.prefix(half)) }, value.map { Array($0.prefix(half)) })
            return AuditRecord(offset: 0, timestamp: 0, key: key, value: value, headers: [header]).contents(code)
        }
        return [contents(code)] + (size > 2 * Contract.truncatedHalf ? cut : [])
    }

    /// The place of the record that this is the letter of, and the code; nil if its headers do not say so.
    func letterOrigin(_ rules: AuditRules) -> (Place, code: String)? {
        // The service's own headers are the last five. A record that was sent again from the dead letters has others of the same
        // names before them.
        let own = headers.suffix(5).reduce(into: [:]) { $0[$1.name] = $1.value ?? [] }
        guard let topic = own[Contract.sourceTopic], let code = own[Contract.errorCode],
            let input = AuditTopic.inputs.first(where: { (rules.topicPrefix + $0.rawValue).utf8.elementsEqual(topic) }),
            let partition = own[Contract.sourcePartition].flatMap({ JSONReader.integer($0) }),
            let offset = own[Contract.sourceOffset].flatMap({ JSONReader.integer($0) }),
            own[Contract.errorMessage]?.isEmpty == false
        else { return nil }
        return (Place(topic: input, partition: partition, offset: Int64(offset)), String(decoding: code, as: UTF8.self))
    }

    /// Whether `juice dead-letters resend` wrote it beside a letter that it sent again.
    var isResendNote: Bool {
        key == nil && value == nil && headers.contains { $0.name == Contract.resentLetter }
            && !headers.contains { $0.name == Contract.errorCode }
    }
}
