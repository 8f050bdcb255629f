import JuiceMessages

/// Writes the records that are not answered where they were read: commands for stores of other partitions, and dead letters.
struct Relay {
    /// How many partitions stores live in.
    let partitionCount: Int32

    /// The most bytes of key and value together in a truncated dead letter: well below Kafka's default limit of 1 MB.
    private static let largestTruncated = 256 * 1024

    /// Forwards a command to the partition that owns its store, with the same bytes and headers.
    ///
    /// It does so only once. A command that was forwarded already was misplaced on purpose, or by a process that counts
    /// another number of partitions.
    ///
    /// - Parameter time: when it was sent. The copy carries the same time, from which the duplicate window counts.
    /// - Returns: the note of it for the journal.
    func forward(
        _ record: CommandRecord,
        sentAt time: Timestamp,
        to owner: Int32,
        _ output: inout Output
    ) throws(LogError) -> JournalNote {
        if output.treatment.isDeadLetter { return try deadLetter(record, because: .unanswerable, &output) }
        let headers = output.log.headers(of: record)
        guard !headers.contains(where: { $0.name == HeaderName.forwardedFrom }) else {
            return try deadLetter(record, because: .misplaced, &output)
        }
        let origin = MessageHeader(name: HeaderName.forwardedFrom, value: "\(record.partition)/\(record.offset)")
        try output.handOn(
            OutputRecord(
                topic: record.topic.topic, partition: owner, key: record.key, value: record.value,
                headers: (output.treatment == .whole ? headers : headers.ofTraces) + [origin],
                // The topic may refuse timestamps that are too old.
                timestamp: output.treatment == .whole ? time : nil))
        output.summary.forwarded += 1
        return .forwarded(place(of: record), to: owner)
    }

    /// Writes a dead letter: a record that has no answer, with its bytes and headers, the reason and its position.
    ///
    /// - Returns: the note of it for the journal.
    func deadLetter(
        _ record: CommandRecord,
        because reason: DeadLetterReason,
        _ output: inout Output
    ) throws(LogError) -> JournalNote {
        let reasons = [
            MessageHeader(name: HeaderName.errorCode, value: reason.code),
            MessageHeader(name: HeaderName.errorMessage, value: reason.message),
            MessageHeader(name: HeaderName.sourceTopic, value: output.log.name(of: record.topic)),
            MessageHeader(name: HeaderName.sourcePartition, value: String(record.partition)),
            MessageHeader(name: HeaderName.sourceOffset, value: String(record.offset)),
        ]
        let letter = contents(of: record, output.log.headers(of: record), output.treatment)
        try output.handOn(
            OutputRecord(
                topic: .deadLetters, partition: record.partition, key: letter.key, value: letter.value,
                headers: letter.headers + reasons))
        output.summary.deadLetters += 1
        if output.summary.firstDeadLetter == nil {
            let position = InputPosition(topic: record.topic, partition: record.partition, offset: record.offset)
            output.summary.firstDeadLetter = DeadLetter(position: position, reason: reason)
        }
        return .deadLetter(place(of: record), code: reason.code)
    }

    /// The place of a record, as its partition's journal names it.
    func place(of record: CommandRecord) -> InputPlace {
        InputPlace(
            topic: record.topic, partition: record.partition < partitionCount ? nil : record.partition, offset: record.offset)
    }

    /// The contents of a dead letter: all of the record or, if that is too large, the beginnings of key and value without
    /// headers. Only a record that came compressed can be too large.
    private func contents(of record: CommandRecord, _ headers: [MessageHeader], _ treatment: Trouble.Treatment) -> (
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [MessageHeader]
    ) {
        guard treatment != .whole, treatment != .deadLetter else { return (record.key, record.value, headers) }
        let headerSize = headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
        let size = headerSize + (record.key?.count ?? 0) + (record.value?.count ?? 0)
        let half = treatment == .reasonOnly ? 0 : Self.largestTruncated / 2
        let beginning = { (bytes: UnsafeRawBufferPointer?) in bytes.map { UnsafeRawBufferPointer(rebasing: $0.prefix(half)) } }
        return (
            beginning(record.key), beginning(record.value), [MessageHeader(name: HeaderName.truncatedFrom, value: String(size))]
        )
    }
}

extension Trouble.Treatment {
    /// Whether a command becomes a dead letter instead of being answered.
    var isDeadLetter: Bool { rawValue >= Self.deadLetter.rawValue }
}

extension [MessageHeader] {
    /// The most trace headers that are copied to an answer, and the most bytes of all together. The standard has one of each
    /// name and asks for at least 512 bytes. Without bounds an answer could be too large for any broker.
    private static let mostTraceHeaders = 8
    private static let mostTraceBytes = 16 * 1024
    /// The longest trace header that is copied, in bytes.
    private static let longestTraceHeader = 8 * 1024

    /// The trace headers, which an answer copies from its command.
    var ofTraces: [MessageHeader] {
        guard !isEmpty else { return [] }
        var taken: [MessageHeader] = []
        var size = 0
        for header in self where taken.count < Self.mostTraceHeaders {
            guard header.name == HeaderName.traceparent || header.name == HeaderName.tracestate else { continue }
            let count = header.value?.count ?? 0
            guard count <= Self.longestTraceHeader, size + count <= Self.mostTraceBytes else { continue }
            size += count
            taken.append(header)
        }
        return taken
    }
}
