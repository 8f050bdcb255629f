import Synchronization

/// Checks that every misplaced command has exactly one copy, in the partition of its store, and no other record has one.
///
/// Original and copy are in different partitions, which are read at different times: only what is unmatched is held.
final class ForwardAudit: Sendable {
    /// A misplaced command.
    struct Original {
        let record: Contents
        let letter: ExpectedLetter
        let owner: Int
        let isSettled: Bool
    }

    /// A record whose header says that it was forwarded.
    struct Copy {
        let place: Place
        let origin: Place
        let record: Contents
        /// Whether the service's header is the last one, as in any copy that it made.
        let isMarkedLast: Bool
    }

    /// A record without the header that a copy has besides.
    struct Contents {
        let key: Hash128
        let value: Hash128
        let headers: Hash128
        let timestamp: Int64
    }

    fileprivate struct State {
        var list = FaultList()
        var count = 0
        var originals: [Place: Original] = [:]
        var copies: [Place: [Copy]] = [:]
        var matched: Set<Place> = []
        var matchedOrder = Queue<Place>()
    }

    private let state = Mutex(State())
    fileprivate static let mostMatched = 65_536
    /// How many records that copies claim to be of are looked up at the end: clients write such headers rarely.
    private static let mostLookups = 1000

    func addOriginal(_ record: AuditRecord, at place: Place, owner: Int, _ bounds: AuditBounds) {
        let original = Original(
            record: Contents(record, record.headers[...]),
            letter: ExpectedLetter(record, [.unanswerable], necessity: .required),
            owner: owner,
            isSettled: place.offset < bounds.settled
        )
        state.withLock { state in
            if let copies = state.copies.removeValue(forKey: place) {
                state.match(copies, original, at: place)
            } else {
                state.originals[place] = original
            }
        }
    }

    func addCopy(_ record: AuditRecord, at place: Place) {
        guard let origin = Self.origin(of: record, in: place.topic) else { return }
        let copy = Copy(
            place: place,
            origin: origin,
            record: Contents(record, record.headers.dropLast()),
            isMarkedLast: record.headers.last?.name == Contract.forwardedFrom
        )
        state.withLock { state in
            if let original = state.originals.removeValue(forKey: origin) {
                state.match([copy], original, at: origin)
            } else {
                state.copies[origin, default: []].append(copy)
            }
        }
    }

    /// Reports what has no counterpart in any partition.
    ///
    /// - Returns: the faults, and how many commands were forwarded.
    func finish(_ source: some AuditSource, _ deadLetters: inout DeadLetterAudit) throws -> (FaultList, Int) {
        var state = state.withLock { $0 }
        for (place, original) in state.originals.sorted(by: { $0.key < $1.key }) where original.isSettled {
            if deadLetters.takeUnanswerable(place, original.letter) { continue }
            guard source.bounds(of: place.topic, partition: original.owner).first == 0 else { continue }
            let problem = "it belongs to partition \(original.owner) and was not forwarded"
            state.list.add(.missing, place.topic, place.partition, place.offset, problem)
        }
        var lookups = 0
        for (origin, copies) in state.copies.sorted(by: { $0.key < $1.key }) {
            if state.matched.contains(origin) {
                state.reportMore(copies, origin)
                continue
            }
            lookups += 1
            guard lookups <= Self.mostLookups, origin.partition < source.partitionCount(of: origin.topic),
                let record = try source.record(
                    of: origin.topic,
                    partition: origin.partition,
                    offset: origin.offset
                )
            else { continue }
            // A client's own record may claim anything. But a copy equal to an original to the byte was forwarded needlessly.
            let original = Contents(record, record.headers[...])
            for copy in copies where copy.record.isSame(as: original) {
                state.report(.doubled, copy.place, "\(origin.description) was not to be forwarded")
            }
        }
        return (state.list, state.count)
    }

    /// The original according to the header. A client may write such a header itself, with any value.
    private static func origin(of copy: AuditRecord, in topic: AuditTopic) -> Place? {
        let headers = copy.headers.filter { $0.name == Contract.forwardedFrom }
        guard let value = headers.last?.value else { return nil }
        let parts = value.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, let partition = JSONReader.integer(parts[0]),
            let offset = JSONReader.integer(parts[1])
        else { return nil }
        return Place(topic: topic, partition: partition, offset: Int64(offset))
    }
}

extension ForwardAudit.Contents {
    init(_ record: AuditRecord, _ headers: ArraySlice<AuditHeader>) {
        key = Hash128(key: record.key, value: [UInt8]?.none)
        value = Hash128(key: [UInt8]?.none, value: record.value)
        self.headers = Hash128(headers: headers)
        timestamp = record.timestamp
    }

    fileprivate func isSame(as other: Self) -> Bool {
        key == other.key && value == other.value && headers == other.headers
    }
}

extension ForwardAudit.State {
    fileprivate mutating func match(
        _ copies: [ForwardAudit.Copy],
        _ original: ForwardAudit.Original,
        at origin: Place
    ) {
        guard let copy = copies.first else { return }
        count += 1
        matched.insert(origin)
        matchedOrder.append(origin)
        if matchedOrder.count > ForwardAudit.mostMatched, let oldest = matchedOrder.popFirst() {
            matched.remove(oldest)
        }
        reportMore(Array(copies.dropFirst()), origin)
        if copy.place.partition != original.owner {
            report(.wrong, copy.place, "it is forwarded to this partition instead of \(original.owner)")
        }
        let subject = "forwarded from \(origin.description) with"
        if copy.record.key != original.record.key { report(.wrong, copy.place, "\(subject) another key") }
        if copy.record.value != original.record.value {
            report(.wrong, copy.place, "\(subject) another value")
        }
        if copy.record.headers != original.record.headers || !copy.isMarkedLast {
            report(.wrong, copy.place, "\(subject) other headers")
        }
        // The duplicate window counts from this time. An invalid one counts as the moment of reading, when the copy was made.
        let sent = SendTimes.effective(original.record.timestamp, readAt: copy.record.timestamp)
        if copy.record.timestamp != sent { report(.wrong, copy.place, "\(subject) another timestamp") }
    }

    fileprivate mutating func reportMore(_ copies: [ForwardAudit.Copy], _ origin: Place) {
        for copy in copies {
            report(.doubled, copy.place, "it is forwarded from \(origin.description) once more")
        }
    }

    fileprivate mutating func report(_ category: Fault.Category, _ place: Place, _ problem: String) {
        list.add(category, place.topic, place.partition, place.offset, problem)
    }
}
