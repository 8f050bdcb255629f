import JuiceMessages

/// Hands on the records that are not answered where they were read: commands for other partitions' stores, and what is no
/// command.
struct Relay {
    /// Whether what is handed on is cut: dead letters to ``largestAbridged``, forwarded commands to the headers that
    /// answers have. For when the log has refused a record for its size.
    var abridges = false

    /// What an abridged dead letter keeps of key and value, in bytes. Well below Kafka's default limit of 1 MB.
    private static let largestAbridged = 256 * 1024

    /// Hands a command on to the partition that owns its store, its bytes and headers untouched. Once: one that was
    /// forwarded before was sent astray on purpose, or by a process that counts other partitions.
    func forward(
        _ record: CommandRecord,
        to owner: Int32,
        log: some CommandLog,
        summary: inout TransactionSummary
    ) throws(LogError) {
        guard !record.headers.contains(where: { $0.name == HeaderName.forwardedFrom }) else {
            return try putAside(record, because: .misplaced, log: log, summary: &summary)
        }
        let origin = Header(name: HeaderName.forwardedFrom, value: "\(record.partition)/\(record.offset)")
        try log.produce(
            OutputRecord(
                topic: OutputTopic(forwarding: record.topic),
                partition: owner,
                key: record.key,
                value: record.value,
                headers: (abridges ? record.traceHeaders : record.headers) + [origin]
            )
        )
        summary.forwarded += 1
    }

    /// Puts aside a record that names no command: its bytes and headers untouched, and why and where from.
    func putAside(
        _ record: CommandRecord,
        because reason: DeadLetterReason,
        log: some CommandLog,
        summary: inout TransactionSummary
    ) throws(LogError) {
        let reasons = [
            Header(name: HeaderName.errorCode, value: reason.code),
            Header(name: HeaderName.errorMessage, value: reason.message),
            Header(name: HeaderName.sourceTopic, value: log.name(of: record.topic)),
            Header(name: HeaderName.sourcePartition, value: String(record.partition)),
            Header(name: HeaderName.sourceOffset, value: String(record.offset)),
        ]
        let letter = contents(of: record)
        try log.produce(
            OutputRecord(
                topic: .deadLetters,
                partition: record.partition,
                key: letter.key,
                value: letter.value,
                headers: letter.headers + reasons
            )
        )
        summary.deadLetters += 1
        if summary.firstDeadLetter == nil {
            let position = InputPosition(
                topic: record.topic,
                partition: record.partition,
                offset: record.offset
            )
            summary.firstDeadLetter = DeadLetter(position: position, reason: reason)
        }
    }

    /// What a dead letter keeps of a record: all of it. Of one that is too large for that, which only one that came
    /// compressed can be, it keeps the beginnings of key and value and none of the headers.
    private func contents(
        of record: CommandRecord
    ) -> (key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [Header]) {
        let headerSize = record.headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
        let size = headerSize + (record.key?.count ?? 0) + (record.value?.count ?? 0)
        guard abridges, size > Self.largestAbridged else {
            return (record.key, record.value, record.headers)
        }
        let half = { (bytes: UnsafeRawBufferPointer?) in
            bytes.map { UnsafeRawBufferPointer(rebasing: $0.prefix(Self.largestAbridged / 2)) }
        }
        return (
            half(record.key), half(record.value),
            [Header(name: HeaderName.truncatedFrom, value: String(size))]
        )
    }
}

extension CommandRecord {
    /// The longest trace header that is copied to an answer, in bytes. The standard asks for at least 512.
    private static let longestTraceHeader = 8 * 1024

    /// The headers that an answer has in common with its command.
    var traceHeaders: [Header] {
        guard !headers.isEmpty else { return [] }
        return headers.filter {
            ($0.name == HeaderName.traceparent || $0.name == HeaderName.tracestate)
                && ($0.value?.count ?? 0) <= Self.longestTraceHeader
        }
    }
}
