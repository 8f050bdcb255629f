/// What a dead letter says, as hashes.
struct DeadLetter {
    let partition: Int
    let offset: Int64
    let source: Place
    /// Nil if the letter has another code than the contract's.
    let code: DeadLetterCode?
    let codeText: String
    let hasMessage: Bool
    let contents: Hash128
    let headers: Hash128
    /// The whole size that a truncated letter states. Nil if the header is missing or not the only one.
    let truncatedFrom: [UInt8]??

    /// Nil if the headers do not say where it is from.
    init?(_ record: AuditRecord, _ partition: Int, _ rules: AuditRules) {
        // The service's own headers are the last five. A record that was sent again from the dead letters has others of the
        // same names before them.
        let own = record.headers.suffix(5)
        guard Set(own.map(\.name)) == Self.ownNames else { return nil }
        func value(_ name: String) -> [UInt8] { own.first { $0.name == name }?.value ?? [] }
        let topic = value(Contract.sourceTopic)
        let input = AuditTopic.inputs.first { Array((rules.topicPrefix + $0.rawValue).utf8) == topic }
        guard let input, let source = JSONReader.integer(value(Contract.sourcePartition)),
            let offset = JSONReader.integer(value(Contract.sourceOffset))
        else { return nil }
        self.source = Place(topic: input, partition: source, offset: Int64(offset))
        (self.partition, self.offset) = (partition, record.offset)
        codeText = String(decoding: value(Contract.errorCode), as: UTF8.self)
        code = DeadLetterCode(rawValue: codeText)
        hasMessage = !value(Contract.errorMessage).isEmpty
        let others = record.headers.dropLast(5)
        contents = Hash128(key: record.key, value: record.value)
        headers = Hash128(headers: others)
        let isTruncated = others.count == 1 && others.first?.name == Contract.truncatedFrom
        truncatedFrom = isTruncated ? .some(others.first?.value) : nil
    }

    private static let ownNames: Set = [
        Contract.errorCode, Contract.errorMessage, Contract.sourceTopic, Contract.sourcePartition,
        Contract.sourceOffset,
    ]
}

/// What the letter of a record must say, as hashes.
struct ExpectedLetter {
    /// Whether the letter must be there. It may have expired, or not be written yet.
    enum Necessity { case required, optional }

    let codes: [DeadLetterCode]
    let necessity: Necessity
    private let contents: Hash128
    private let headers: Hash128
    /// The contents that are left if the letter is truncated.
    private let half: Hash128
    private let size: Int

    init(_ record: AuditRecord, _ codes: [DeadLetterCode], necessity: Necessity) {
        (self.codes, self.necessity) = (codes, necessity)
        contents = Hash128(key: record.key, value: record.value)
        headers = Hash128(headers: record.headers[...])
        let headerSize = record.headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
        size = headerSize + (record.key?.count ?? 0) + (record.value?.count ?? 0)
        half = Hash128(
            key: record.key?.prefix(Contract.truncatedHalf),
            value: record.value?.prefix(Contract.truncatedHalf)
        )
    }

    var codeNames: String { codes.map(\.rawValue).joined(separator: " or ") }

    /// In what a letter differs.
    func differences(from letter: DeadLetter) -> [String] {
        var problems: [String] = []
        if !codes.contains(where: { $0 == letter.code }) {
            problems.append("is put aside as \(letter.codeText), should be \(codeNames)")
        }
        if !letter.hasMessage { problems.append("is put aside without a message") }
        if let truncatedFrom = letter.truncatedFrom, letter.headers != headers {
            // A record that came compressed may be too large for the broker when it is written uncompressed.
            if letter.contents != half { problems.append("is put aside with another key or value") }
            if truncatedFrom.flatMap({ JSONReader.integer($0) }) != size || size <= 2 * Contract.truncatedHalf
            {
                problems.append("is put aside cut, and has \(size) bytes")
            }
            return problems
        }
        if letter.contents != contents { problems.append("is put aside with another key or value") }
        if letter.headers != headers { problems.append("is put aside with other headers") }
        return problems
    }
}

/// What `juice dead-letters resend` writes beside a letter that it sent again.
enum ResendNote {
    static func isNote(_ record: AuditRecord) -> Bool {
        record.key == nil && record.value == nil
            && record.headers.contains { $0.name == Contract.resentLetter }
            && !record.headers.contains { $0.name == Contract.errorCode }
    }
}

extension Hash128 {
    init(key: (some Collection<UInt8>)?, value: (some Collection<UInt8>)?) {
        var hasher = Hasher128()
        hasher.add(key)
        hasher.add(value)
        self = hasher.hash
    }

    init(headers: ArraySlice<AuditHeader>) {
        var hasher = Hasher128()
        for header in headers {
            hasher.add(.some(header.name.utf8))
            hasher.add(header.value)
        }
        self = hasher.hash
    }
}
