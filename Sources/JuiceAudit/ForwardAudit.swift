/// Checks that every misplaced command has exactly one copy, in the partition of its store, and no other record has one.
struct ForwardAudit {
    private(set) var list = FaultList()
    private(set) var count = 0

    init(_ topics: AuditTopics, _ intake: Intake) {
        var copies: [Place: [(place: Place, record: AuditRecord)]] = [:]
        for copy in intake.copies {
            guard let origin = Self.origin(of: copy) else { continue }
            guard intake.misplaced[origin] != nil else {
                checkNeedless(copy, of: origin, topics)
                continue
            }
            copies[origin, default: []].append(copy)
        }
        for (origin, original) in intake.misplaced.sorted(by: { $0.key < $1.key }) {
            check(copies[origin] ?? [], of: original.record, at: origin, owner: original.owner)
        }
    }

    /// The original according to the header. A client may write such a header itself, with any value.
    private static func origin(of copy: (place: Place, record: AuditRecord)) -> Place? {
        let headers = copy.record.headers.filter { $0.name == Contract.forwardedFrom }
        guard let value = headers.last?.value else { return nil }
        let parts = value.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, let partition = JSONReader.integer(parts[0]),
            let offset = JSONReader.integer(parts[1])
        else { return nil }
        return Place(topic: copy.place.topic, partition: partition, offset: Int64(offset))
    }

    private mutating func check(
        _ copies: [(place: Place, record: AuditRecord)],
        of original: AuditRecord,
        at origin: Place,
        owner: Int
    ) {
        guard let copy = copies.first else {
            let problem = "it belongs to partition \(owner) and was not forwarded"
            return list.add(.missing, origin.topic, origin.partition, origin.offset, problem)
        }
        count += 1
        for extra in copies.dropFirst() {
            report(.doubled, extra.place, "it is forwarded from \(origin.description) once more")
        }
        if copy.place.partition != owner {
            report(.wrong, copy.place, "it is forwarded to this partition instead of \(owner)")
        }
        if copy.record.key != original.key {
            report(.wrong, copy.place, "forwarded from \(origin.description) with another key")
        }
        if copy.record.value != original.value {
            report(.wrong, copy.place, "forwarded from \(origin.description) with another value")
        }
        if Array(copy.record.headers.dropLast()) != original.headers
            || copy.record.headers.last?.name != Contract.forwardedFrom
        {
            report(.wrong, copy.place, "forwarded from \(origin.description) with other headers")
        }
        // The duplicate window counts from this time. An invalid one counts as the moment of reading, when the copy was made.
        let sent = SendTimes.effective(original.timestamp, readAt: copy.record.timestamp)
        if copy.record.timestamp != sent {
            report(.wrong, copy.place, "forwarded from \(origin.description) with another timestamp")
        }
    }

    /// A client's own record may claim anything. But a copy equal to an original to the byte was forwarded needlessly.
    private mutating func checkNeedless(
        _ copy: (place: Place, record: AuditRecord),
        of origin: Place,
        _ topics: AuditTopics
    ) {
        let partitions = topics[origin.topic]
        guard partitions.indices.contains(origin.partition),
            let original = record(at: origin.offset, in: partitions[origin.partition]),
            original.key == copy.record.key, original.value == copy.record.value,
            original.headers == copy.record.headers.dropLast()
        else { return }
        report(.doubled, copy.place, "\(origin.description) was not to be forwarded")
    }

    private mutating func report(_ category: Fault.Category, _ place: Place, _ problem: String) {
        list.add(category, place.topic, place.partition, place.offset, problem)
    }
}

/// The record at an offset, of records in offset order.
func record(at offset: Int64, in records: [AuditRecord]) -> AuditRecord? {
    var (low, high) = (0, records.count)
    while low < high {
        let middle = (low + high) / 2
        if records[middle].offset < offset { low = middle + 1 } else { high = middle }
    }
    return low < records.count && records[low].offset == offset ? records[low] : nil
}
