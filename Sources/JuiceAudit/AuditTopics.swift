/// One committed record, as a consumer with `read_committed` sees it.
package struct AuditRecord: Sendable {
    package let offset: Int64
    /// Milliseconds since 1970.
    package let timestamp: Int64
    package let key, value: [UInt8]?
    package let headers: [AuditHeader]

    package init(offset: Int64, timestamp: Int64, key: [UInt8]?, value: [UInt8]?, headers: [AuditHeader] = []) {
        (self.offset, self.timestamp, self.key, self.value, self.headers) = (offset, timestamp, key, value, headers)
    }
}

package struct AuditHeader: Sendable, Equatable {
    package let name: String
    package let value: [UInt8]?

    package init(_ name: String, _ value: [UInt8]?) { (self.name, self.value) = (name, value) }
}

/// A topic of the contract.
package enum AuditTopic: String, Sendable, CaseIterable, Encodable {
    case orders
    case restocks
    /// The journal: the answers, and notes of what else was done.
    case results
    case stock
    case deadLetters = "dead-letters"

    /// The topics of the commands.
    static let inputs: [AuditTopic] = [.orders, .restocks]

    /// The member that holds a command's id.
    var idField: StaticString { self == .restocks ? "restockId" : "orderId" }
}

/// The place of a record, or where it would be.
package struct Place: Sendable, Hashable, Comparable, Encodable, CustomStringConvertible {
    package let topic: AuditTopic
    package let partition: Int
    package let offset: Int64

    package var description: String { "\(topic.rawValue) \(partition)@\(offset)" }

    /// The partition as position notes have it.
    var partitionName: String { "\(topic.rawValue)/\(partition)" }

    /// The place as the header of a forwarded record has it, and its answer.
    var header: String { "\(partition)/\(offset)" }

    package static func < (first: Place, second: Place) -> Bool {
        (first.topic.rawValue, first.partition, first.offset) < (second.topic.rawValue, second.partition, second.offset)
    }
}

/// Where an audit reads the five topics. Different partitions may be read at the same time.
package protocol AuditSource: Sendable {
    func partitionCount(of topic: AuditTopic) -> Int

    /// The first offset of a partition that has not expired.
    func firstOffset(of topic: AuditTopic, partition: Int) -> Int64

    /// The first committed records of a partition at or after an offset, in their order.
    ///
    /// An audit reads on from where it was, with few exceptions: where an operator moved a position, for example.
    ///
    /// - Returns: as many as are at hand; none at the end.
    /// - Throws: what keeps the source from reading, which ends the audit.
    func records(of topic: AuditTopic, partition: Int, from offset: Int64) throws -> [AuditRecord]

    /// The end of what the journal has from another cluster: records at other offsets, and no gaps between transactions.
    func endOfCopy(partition: Int) -> Int64

    /// What could not be read of a partition so far, though it was there when the audit began.
    func gaps(of topic: AuditTopic, partition: Int) -> [AuditGap]
}

extension AuditSource {
    package func endOfCopy(partition: Int) -> Int64 { 0 }

    package func gaps(of topic: AuditTopic, partition: Int) -> [AuditGap] { [] }
}

/// Offsets of a partition whose records cannot be read.
package struct AuditGap: Sendable, Hashable {
    package let offsets: Range<Int64>
    /// What is wrong with them; nil if they expired while they were to be read.
    package let problem: String?

    package init(_ offsets: Range<Int64>, _ problem: String?) { (self.offsets, self.problem) = (offsets, problem) }
}

/// The records of one partition, one after the other.
struct RecordCursor {
    let topic: AuditTopic
    let partition: Int
    /// The first offset that has not expired.
    let first: Int64
    private let source: any AuditSource
    private var records: [AuditRecord] = []
    private var position = 0
    private var offset: Int64
    private var isAtEnd: Bool
    /// What could not be read before the records at hand.
    private(set) var gaps: [AuditGap] = []

    init(_ source: any AuditSource, _ topic: AuditTopic, _ partition: Int) {
        (self.source, self.topic, self.partition) = (source, topic, partition)
        isAtEnd = partition >= source.partitionCount(of: topic)
        // Compaction moves the first offset of the stock, which says nothing.
        first = isAtEnd || topic == .stock ? 0 : source.firstOffset(of: topic, partition: partition)
        offset = first
    }

    /// The offset of the next record; nil at the end.
    mutating func nextOffset() throws -> Int64? {
        if position == records.count, !isAtEnd {
            (records, position) = (try source.records(of: topic, partition: partition, from: offset), 0)
            gaps = source.gaps(of: topic, partition: partition)
            isAtEnd = records.isEmpty
            if let last = records.last { offset = last.offset + 1 }
        }
        return position < records.count ? records[position].offset : nil
    }

    /// - Parameter end: the offset that stops the reading.
    mutating func next(before end: Int64 = .max) throws -> AuditRecord? {
        guard let offset = try nextOffset(), offset < end else { return nil }
        position += 1
        return records[position - 1]
    }

    /// Goes on at this offset.
    mutating func move(to offset: Int64) {
        (records, position, self.offset) = ([], 0, offset)
        isAtEnd = partition >= source.partitionCount(of: topic)
    }

    func place(_ offset: Int64) -> Place { Place(topic: topic, partition: partition, offset: offset) }

    /// Whether it is unknown what was at some of these offsets.
    func lacks(_ offsets: Range<Int64>) -> Bool {
        offsets.lowerBound < first || gaps.contains { $0.offsets.overlaps(offsets) }
    }

    /// What is wrong with records that cannot be read.
    var faults: [Fault] {
        gaps.compactMap { gap in
            gap.problem.map { Fault(.wrong, place(gap.offsets.lowerBound), "up to offset \(gap.offsets.upperBound - 1): \($0)") }
        }
    }
}

extension AuditRecord {
    /// The headers that an answer must carry over from its command, of these headers.
    var traces: [AuditHeader] {
        var room = Contract.mostTraceBytes
        let fitting = headers.filter { header in
            let size = header.value?.count ?? 0
            let fits = Contract.traceHeaders.contains(header.name) && size <= min(Contract.longestTraceHeader, room)
            if fits { room -= size }
            return fits
        }
        return Array(fitting.prefix(Contract.mostTraceHeaders))
    }

    /// Whether it says that it was forwarded. A client may say so, too.
    var isForwarded: Bool { !headers.isEmpty && headers.contains { $0.name == Contract.forwardedFrom } }

    /// Where it was forwarded from, in its topic, if its header is such as `3/42`: partition 3, offset 42. A client may write a
    /// header of this name itself, with any value.
    func source(in topic: AuditTopic) -> Place? {
        guard !headers.isEmpty, let header = headers.first(where: { $0.name == Contract.forwardedFrom })?.value else { return nil }
        let parts = header.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, let partition = JSONReader.integer(parts[0]), let offset = JSONReader.integer(parts[1]),
            0...Int(Int32.max) ~= partition, offset >= 0
        else { return nil }
        let place = Place(topic: topic, partition: partition, offset: Int64(offset))
        // No leading zeros.
        return place.header.utf8.elementsEqual(header) ? place : nil
    }

    /// The digest of its key and value, as in the notes about it.
    var digest: String {
        let length = key.map { UInt64($0.count) } ?? .max
        return AccountAudit.digest(of: withUnsafeBytes(of: length.littleEndian, Array.init) + (key ?? []) + (value ?? []))
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

    /// How large it is, as far as it matters to brokers. They may refuse to take what came compressed uncompressed.
    private var size: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }

    private var mayBeRefused: Bool { size > 2 * Contract.truncatedHalf }

    /// What the copy of a forwarded record may hold: all of it or, if the broker refuses that, no headers but those of traces.
    var forwards: [UInt64] {
        let bare = AuditRecord(offset: 0, timestamp: 0, key: key, value: value, headers: traces)
        return [contents()] + (mayBeRefused ? [bare.contents()] : [])
    }

    /// Whether the service may not copy its headers. Those that librdkafka cannot read are not among these.
    var mayHaveBadHeaders: Bool { headers.isEmpty || headers.count >= 99_990 }

    /// What the letter of the record may hold: all of it or, if the broker refuses that, the beginnings, or nothing.
    func letters(_ code: String) -> [UInt64] {
        let header = AuditHeader(Contract.truncatedFrom, Array("\(size)".utf8))
        let cut = [Contract.truncatedHalf, 0].map { half in
            let (key, value) = (key.map { Array($0.prefix(half)) }, value.map { Array($0.prefix(half)) })
            return AuditRecord(offset: 0, timestamp: 0, key: key, value: value, headers: [header]).contents(code)
        }
        let bare = AuditRecord(offset: 0, timestamp: 0, key: key, value: value, headers: [])
        return [code == "badHeaders" ? bare.contents(code) : contents(code)] + (mayBeRefused ? cut : [])
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
