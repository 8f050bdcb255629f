/// Checks that every record that cannot be answered has exactly one dead letter with its contents, and no other has one.
struct DeadLetterAudit {
    private(set) var list = FaultList()
    private(set) var count = 0

    private typealias Letter = (partition: Int, record: AuditRecord)

    init(_ topics: AuditTopics, _ intake: Intake, _ rules: AuditRules) {
        var letters: [Place: [Letter]] = [:]
        for (partition, records) in topics.deadLetters.enumerated() {
            for record in records {
                guard let source = Self.source(of: record, rules) else {
                    report(.wrong, (partition, record), "its headers do not say where it is from")
                    continue
                }
                guard intake.undeliverable[source] != nil else {
                    report(.wrong, (partition, record), "\(source.description) was not to be put aside")
                    continue
                }
                letters[source, default: []].append((partition, record))
            }
        }
        for (source, expected) in intake.undeliverable.sorted(by: { $0.key < $1.key }) {
            guard let letter = letters[source]?.first else {
                let codes = expected.codes.map(\.rawValue).joined(separator: " or ")
                let problem = "it has no dead letter (\(codes))"
                list.add(.missing, source.topic, source.partition, source.offset, problem)
                continue
            }
            count += 1
            for extra in letters[source]?.dropFirst() ?? [] {
                report(.doubled, extra, "\(source.description) is put aside once more")
            }
            check(letter, from: source, expected.record, expected.codes)
        }
    }

    /// The commands that became dead letters because the broker refused their answers.
    static func unanswerable(_ topics: AuditTopics, _ rules: AuditRules) -> Set<Place> {
        let code = Array(DeadLetterCode.unanswerable.rawValue.utf8)
        let letters = topics.deadLetters.joined().lazy.filter { record in
            own(record).map { value(Contract.errorCode, in: $0) == code } ?? false
        }
        return Set(letters.compactMap { source(of: $0, rules) })
    }

    /// The service's own headers, which are the last five. A record that was sent again from the dead letters has others of the
    /// same names before them.
    private static func own(_ record: AuditRecord) -> [AuditHeader]? {
        let own = record.headers.suffix(5)
        let names: Set = [
            Contract.errorCode, Contract.errorMessage, Contract.sourceTopic, Contract.sourcePartition,
            Contract.sourceOffset,
        ]
        return Set(own.map(\.name)) == names ? Array(own) : nil
    }

    private static func value(_ name: String, in headers: [AuditHeader]) -> [UInt8] {
        headers.first { $0.name == name }?.value ?? []
    }

    private static func source(of record: AuditRecord, _ rules: AuditRules) -> Place? {
        guard let own = own(record) else { return nil }
        let topic = value(Contract.sourceTopic, in: own)
        let input = AuditTopic.inputs.first { Array((rules.topicPrefix + $0.rawValue).utf8) == topic }
        guard let input, let partition = JSONReader.integer(value(Contract.sourcePartition, in: own)),
            let offset = JSONReader.integer(value(Contract.sourceOffset, in: own))
        else { return nil }
        return Place(topic: input, partition: partition, offset: Int64(offset))
    }

    private mutating func check(
        _ letter: Letter,
        from source: Place,
        _ original: AuditRecord,
        _ codes: [DeadLetterCode]
    ) {
        let own = Self.own(letter.record) ?? []
        let code = String(decoding: Self.value(Contract.errorCode, in: own), as: UTF8.self)
        if !codes.contains(where: { $0.rawValue == code }) {
            let expected = codes.map(\.rawValue).joined(separator: " or ")
            report(.wrong, letter, "\(source.description) is put aside as \(code), should be \(expected)")
        }
        if Self.value(Contract.errorMessage, in: own).isEmpty {
            report(.wrong, letter, "\(source.description) is put aside without a message")
        }
        let headers = Array(letter.record.headers.dropLast(5))
        if headers.count == 1, headers[0].name == Contract.truncatedFrom, original.headers != headers {
            return checkTruncated(letter, from: source, original, size: headers[0].value)
        }
        if letter.record.key != original.key || letter.record.value != original.value {
            report(.wrong, letter, "\(source.description) is put aside with another key or value")
        }
        if headers != original.headers {
            report(.wrong, letter, "\(source.description) is put aside with other headers")
        }
    }

    /// A record that came compressed may be too large for the broker when it is written uncompressed.
    private mutating func checkTruncated(
        _ letter: Letter,
        from source: Place,
        _ original: AuditRecord,
        size: [UInt8]?
    ) {
        let headerSize = original.headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
        let whole = headerSize + (original.key?.count ?? 0) + (original.value?.count ?? 0)
        let half = { (bytes: [UInt8]?) in bytes.map { Array($0.prefix(Contract.truncatedHalf)) } }
        if letter.record.key != half(original.key) || letter.record.value != half(original.value) {
            report(.wrong, letter, "\(source.description) is put aside with another key or value")
        }
        if size.flatMap(JSONReader.integer) != whole || whole <= 2 * Contract.truncatedHalf {
            report(.wrong, letter, "\(source.description), of \(whole) bytes, is put aside cut")
        }
    }

    private mutating func report(_ category: Fault.Category, _ letter: Letter, _ problem: String) {
        list.add(category, .deadLetters, letter.partition, letter.record.offset, problem)
    }
}
