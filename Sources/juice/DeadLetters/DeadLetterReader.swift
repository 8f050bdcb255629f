import JuiceClient
import JuiceService
import Kafka

/// Reads the dead letters, and the notes between them that mark some as resent.
final class DeadLetterReader {
    /// Dead letters, oldest first, and the positions that were resent.
    struct Letters {
        var letters: [DeadLetter] = []
        var resent: Set<LetterPosition> = []
    }

    private let reader: TopicReader

    /// - Parameter end: where reading ends; the high watermark waits for open transactions.
    init(_ connection: Connection, upTo end: TopicReader.End = .lastStableOffset, deadline: Deadline)
        throws(Failure)
    {
        reader = try TopicReader(
            connection,
            topic: connection.topics.deadLetters,
            upTo: end,
            deadline: deadline
        )
    }

    /// The offsets that the topic still holds.
    func range(of partition: Int32) -> Range<Offset>? {
        reader.watermarks[partition].map { $0.low..<max($0.low, $0.high) }
    }

    /// The last matching dead letters.
    func last(
        _ count: Int,
        idleTimeout: Duration,
        where isMeant: (DeadLetter, _ isResent: Bool) -> Bool
    ) throws(Failure) -> Letters {
        var found = Letters()
        found.letters = try reader.last(count) { window throws(Failure) in
            found = try read(window, idleTimeout: idleTimeout) { _ in true }
            return found.letters.filter { isMeant($0, found.resent.contains($0.position)) }
        }
        return found
    }

    /// The dead letters at these positions, as far as they exist, and the notes after them.
    func at(_ positions: Set<LetterPosition>, idleTimeout: Duration) throws(Failure) -> Letters {
        var starts: [Int32: Offset] = [:]
        for position in positions {
            starts[position.partition] = min(starts[position.partition] ?? .max, position.offset)
        }
        var ranges: [Int32: Range<Offset>] = [:]
        for (partition, start) in starts {
            guard let range = range(of: partition), start < range.upperBound else { continue }
            ranges[partition] = max(start, range.lowerBound)..<range.upperBound
        }
        return try read(ranges, idleTimeout: idleTimeout) { positions.contains($0.position) }
    }

    /// All matching dead letters.
    func all(idleTimeout: Duration, where isMeant: (DeadLetter) -> Bool) throws(Failure) -> Letters {
        try read(reader.watermarks.mapValues { $0.low..<$0.high }, idleTimeout: idleTimeout, where: isMeant)
    }

    /// Starts to read after the current end. Call it once, before ``follow(timeout:_:)``.
    func startFollowing() throws(Failure) { try reader.startAtEnds() }

    /// Calls `body` with each available dead letter, after waiting up to `timeout` for the first.
    func follow(timeout: Duration, _ body: (DeadLetter) -> Void) throws(Failure) {
        try reader.poll(timeout: timeout) { record in
            let letter = DeadLetter(record)
            if letter.resentLetter == nil { body(letter) }
        }
    }

    private func read(
        _ ranges: [Int32: Range<Offset>],
        idleTimeout: Duration,
        where isMeant: (DeadLetter) -> Bool
    ) throws(Failure) -> Letters {
        var found = Letters()
        try reader.read(ranges, idleTimeout: idleTimeout) { record in
            let letter = DeadLetter(record)
            if let position = letter.resentLetter {
                // A note is in the same partition as its letter, at a higher offset.
                if position.partition == record.partition, position.offset < record.offset {
                    found.resent.insert(position)
                }
            } else if isMeant(letter) {
                found.letters.append(letter)
            }
        }
        found.letters.sort(by: Self.isOlder)
        return found
    }

    private static func isOlder(_ first: DeadLetter, _ second: DeadLetter) -> Bool {
        (first.timestamp ?? 0, first.position) < (second.timestamp ?? 0, second.position)
    }
}
