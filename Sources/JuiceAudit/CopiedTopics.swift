/// Topics that were copied from another cluster, as an audit can read them: where their journal goes by the offsets of that
/// cluster, it is rewritten to go by those of the copy.
///
/// A copy lacks transaction markers and whatever had expired, but has the same records in the same order. The anchor with which an
/// operator went on says which offset was which. So what was handled before it is counted back from there.
package struct CopiedTopics: AuditSource {
    /// An input that was copied.
    private struct Input {
        /// The anchor's offset in the journal, and when it was written.
        let anchor: Int64
        let anchoredAt: Int64
        /// When the anchor before it was written: what is older goes by other offsets still.
        let begunAt: Int64
        /// Where reading goes on in the copy, and what that was in the other cluster.
        let next, told: Int64
        /// The offsets in the other cluster of what was handled, in order, and those in the copy.
        var handled: ArraySlice<Int64> = []
        var offsets: ArraySlice<Int64> = []

        /// The first place of the copy that is not before an offset of the other cluster.
        func position(_ other: Int64) -> Int64 {
            let index = handled.partitioningIndex { $0 >= other }
            return index < handled.endIndex ? offsets[offsets.startIndex + (index - handled.startIndex)] : next
        }

        /// The place of a record that was handled; beyond all places if the copy lacks it.
        func place(_ other: Int64) -> Int64 { other < told ? position(other) : Contract.lacking + other }
    }

    /// A partition of the journal.
    private struct Journal {
        /// From where on it is judged.
        var first: Int64 = 0
        /// The end of what goes by other offsets.
        var end: Int64 = 0
        var claims: [(offset: Int64, ids: [[UInt8]])] = []
    }

    private let source: any AuditSource
    private var journals: [Journal] = []
    /// By names such as `orders/3`.
    private var inputs: [String: Input] = [:]
    private let topicPrefix: String

    /// Reads the results, and the offsets of orders and restocks.
    ///
    /// - Throws: what the source throws.
    package init(_ source: some AuditSource, topicPrefix: String) throws {
        (self.source, self.topicPrefix) = (source, topicPrefix)
        for partition in 0..<source.partitionCount(of: .results) { journals.append(try survey(partition)) }
    }

    package func partitionCount(of topic: AuditTopic) -> Int { source.partitionCount(of: topic) }

    package func firstOffset(of topic: AuditTopic, partition: Int) -> Int64 {
        let first = source.firstOffset(of: topic, partition: partition)
        return topic == .results ? max(first, journals[partition].first) : first
    }

    package func gaps(of topic: AuditTopic, partition: Int) -> [AuditGap] { source.gaps(of: topic, partition: partition) }

    package func records(of topic: AuditTopic, partition: Int, from offset: Int64) throws -> [AuditRecord] {
        let records = try source.records(of: topic, partition: partition, from: offset)
        switch topic {
        case .results:
            guard let first = records.first, first.offset < journals[partition].end else { return records }
            var json = JSONReader()
            return records.map { $0.offset < journals[partition].end ? rewritten($0, partition, &json) : $0 }
        case .deadLetters: return records.map(rewritten)
        case .orders, .restocks, .stock: return records
        }
    }

    package func endOfCopy(partition: Int) -> Int64 { journals[partition].end }

    // MARK: - What was copied

    /// Reads a partition of the journal, and finds in the inputs what was handled before the anchors.
    private mutating func survey(_ partition: Int) throws -> Journal {
        var journal = Journal()
        /// What each input's anchor is about, and what was handled since its last one, with the offsets in the journal.
        var copied: [String: Input] = [:]
        var handled: [String: [(told: Int64, at: Int64)]] = [:]
        var starts: [String: (offset: Int64, time: Int64)] = [:]
        var json = JSONReader()
        var isFirst = true
        try forEachRecord(of: .results, partition) { record in
            (record.value ?? []).withUnsafeBufferPointer { value in
                guard json.readObject(value) else { return }
                if isFirst, json.integer("since") != 0 { journal.first = record.offset + 1 }
                isFirst = false
                if json.isType("claim") { journal.claims.append((record.offset, json.idTexts)) }
                guard let (name, told) = json.told(partition) else { return }
                guard json.isType("anchored") else {
                    // A copy may have records twice.
                    if told > handled[name]?.last?.told ?? -1 { handled[name, default: []].append((told, record.offset)) }
                    return
                }
                if let was = json.integer("copied") {
                    journal.end = record.offset
                    // An operator made sure.
                    if copied[name] != nil, was == told { return }
                    copied[name] = Input(
                        anchor: record.offset, anchoredAt: record.timestamp, begunAt: starts[name]?.time ?? .min, next: told,
                        told: Int64(was),
                        handled: (handled[name] ?? []).map(\.told)[...], offsets: (handled[name] ?? []).map(\.at)[...])
                    journal.first = max(journal.first, starts[name]?.offset ?? 0)
                }
                (handled[name], starts[name]) = ([], (record.offset + 1, record.timestamp))
            }
        }
        for (name, input) in copied {
            let (input, first) = try aligned(input, name)
            inputs[name] = input
            journal.first = max(journal.first, first)
        }
        if copied.isEmpty { journal.first = 0 }
        return journal
    }

    /// Finds the records of the copy that were handled, counting back from the anchor.
    ///
    /// - Parameter input: its `offsets` are still those of the journal.
    /// - Returns: the input, and where the journal names the first of them.
    private func aligned(_ input: Input, _ name: String) throws -> (Input, first: Int64) {
        let parts = name.split(separator: "/")
        guard let topic = AuditTopic(rawValue: String(parts[0])), let partition = Int(parts[1]) else { return (input, 0) }
        var offsets: [Int64] = []
        try forEachRecord(of: topic, partition, before: input.next) { offsets.append($0.offset) }
        var aligned = input
        let handled = input.handled.prefix { $0 < input.told }
        let count = min(handled.count, offsets.count)
        (aligned.handled, aligned.offsets) = (handled.suffix(count), offsets.suffix(count))
        let lost = handled.count - count
        return (aligned, lost > 0 ? input.offsets[input.offsets.startIndex + lost - 1] + 1 : 0)
    }

    private func forEachRecord(
        of topic: AuditTopic, _ partition: Int, before end: Int64 = .max, _ body: (AuditRecord) -> Void
    ) throws {
        var next = source.firstOffset(of: topic, partition: partition)
        while next < end {
            let records = try source.records(of: topic, partition: partition, from: next)
            guard let last = records.last else { return }
            for record in records where record.offset < end { body(record) }
            next = last.offset + 1
        }
    }

    // MARK: - Rewriting

    private func rewritten(_ record: AuditRecord, _ partition: Int, _ json: inout JSONReader) -> AuditRecord {
        let value = record.value ?? []
        let other = value.withUnsafeBufferPointer { bytes -> [UInt8]? in
            guard json.readObject(bytes), !json.isType("anchored") else { return nil }
            if json.isType("position") { return position(String(decoding: bytes, as: UTF8.self), record.offset, partition, json) }
            if json.isType("claim") {
                guard let since = json.integer("since"), since > record.offset else { return nil }
                return value.replacing(Array(#""since":\#(since)"#.utf8), with: Array(#""since":\#(record.offset)"#.utf8))
            }
            guard let (name, told) = json.told(partition), let input = inputs[name], record.offset < input.anchor else {
                return nil
            }
            // No text of JSON has such quotes, so this is the member.
            let rewritten = value.replacing(
                Array(#""offset":\#(told)"#.utf8), with: Array(#""offset":\#(input.place(told))"#.utf8), maxReplacements: 1)
            // The copies of what was forwarded still name this place.
            return json.isType("forwarded") ? rewritten.dropLast() + Array(#","was":\#(told)}"#.utf8) : rewritten
        }
        return other.map { record.with(value: $0) } ?? record
    }

    private func position(_ text: String, _ offset: Int64, _ partition: Int, _ json: JSONReader) -> [UInt8] {
        var text = text
        func replace(_ member: String, _ name: String) {
            guard let input = inputs[name], offset < input.anchor, let range = text.firstRange(of: #""\#(member)":"#) else {
                return
            }
            let digits = text[range.upperBound...].prefix(while: \.isNumber)
            guard let told = Int64(digits) else { return }
            text.replaceSubrange(digits.startIndex..<digits.endIndex, with: "\(input.position(told))")
        }
        // The members of `added` come before those of `forwarded`, which have other offsets.
        for name in json.offsets("added").keys { replace(name, name) }
        for topic in AuditTopic.inputs { replace(topic.rawValue, "\(topic.rawValue)/\(partition)") }
        let ids = json.idTexts
        if let claim = json.integer("claim") {
            let own = journals[partition].claims.last { $0.offset < offset && $0.ids == ids }?.offset ?? 0
            text = text.replacing(#""claim":\#(claim),"#, with: #""claim":\#(own),"#, maxReplacements: 1)
        }
        return Array(text.utf8)
    }

    /// A dead letter that names the place of a record by the other cluster's offset.
    private func rewritten(_ letter: AuditRecord) -> AuditRecord {
        let own = letter.headers.suffix(5).reduce(into: [:]) { $0[$1.name] = String(decoding: $1.value ?? [], as: UTF8.self) }
        guard let name = own[Contract.sourceTopic]?.dropFirst(topicPrefix.count), let partition = own[Contract.sourcePartition],
            let told = own[Contract.sourceOffset].flatMap({ Int64($0) }), let input = inputs["\(name)/\(partition)"],
            letter.timestamp < input.anchoredAt
        else { return letter }
        guard letter.timestamp >= input.begunAt, told >= input.handled.first ?? told else {
            // Nothing is known of its record. So it counts as little as the note about a letter that was sent again.
            return AuditRecord(
                offset: letter.offset, timestamp: letter.timestamp, key: nil, value: nil,
                headers: [AuditHeader(Contract.resentLetter, nil)])
        }
        // What was not handled yet follows without markers in between.
        let place = told < input.told ? input.position(told) : input.next + (told - input.told)
        let headers = letter.headers.enumerated().map { index, header in
            index >= letter.headers.count - 5 && header.name == Contract.sourceOffset
                ? AuditHeader(header.name, Array("\(place)".utf8)) : header
        }
        return AuditRecord(
            offset: letter.offset, timestamp: letter.timestamp, key: letter.key, value: letter.value, headers: headers)
    }
}

extension AuditRecord {
    fileprivate func with(value: [UInt8]) -> AuditRecord {
        AuditRecord(offset: offset, timestamp: timestamp, key: key, value: value, headers: headers)
    }
}

extension JSONReader {
    /// The input that a record of the journal is about, such as `orders/3`, and the offset there.
    fileprivate func told(_ partition: Int) -> (String, Int64)? {
        if let answer = Answer(self) {
            return (answer.kind == .restock ? "restocks/\(partition)" : "orders/\(partition)", answer.offset)
        }
        guard value("orderId") == nil, value("restockId") == nil, let topic = string("topic"), let offset = integer("offset") else {
            return nil
        }
        return ("\(topic)/\(integer("partition") ?? partition)", Int64(offset))
    }

    fileprivate var idTexts: [[UInt8]] {
        guard let ids = value("ids"), tokens[ids].kind == .array else { return [] }
        return elements(of: ids).map { Array(text($0)) }
    }
}

extension RandomAccessCollection {
    /// The first index whose element is so, if all that follow are.
    fileprivate func partitioningIndex(_ isSo: (Element) -> Bool) -> Index {
        var (low, count) = (startIndex, count)
        while count > 0 {
            let middle = index(low, offsetBy: count / 2)
            if isSo(self[middle]) { count /= 2 } else { (low, count) = (index(after: middle), count - count / 2 - 1) }
        }
        return low
    }
}
