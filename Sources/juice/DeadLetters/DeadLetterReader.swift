import JuiceService
import Kafka

/// Reads the dead letters, and the notes between them that mark some as resent.
final class DeadLetterReader {
    /// Dead letters, oldest first, and the positions that were resent.
    struct Letters {
        /// Each letter once, even if it stands twice: where it stands first.
        private(set) var letters: [DeadLetter] = []
        private(set) var resent: Set<LetterPosition> = []
        private var firsts: [DeadLetter.Identity: LetterPosition] = [:]
        private var copies: [LetterPosition: LetterPosition] = [:]

        /// Where the letter at a position stands first.
        func first(of position: LetterPosition) -> LetterPosition { copies[position] ?? position }

        /// Adds the next record of its partition: a letter, or a note. A letter and its copies are in one partition, and the notes
        /// of them behind them.
        mutating func add(_ record: DeadLetter, where isMeant: (DeadLetter) -> Bool = { _ in true }) {
            let position = record.position
            if let letter = record.resentLetter {
                guard letter.partition == position.partition, letter < position else { return }
                resent.insert(first(of: letter))
            } else {
                if let identity = record.identity {
                    let first = firsts[identity] ?? position
                    firsts[identity] = first
                    guard first == position else { return copies[position] = first }
                }
                if isMeant(record) { letters.append(record) }
            }
        }

        mutating func sort() {
            letters.sort { ($0.timestamp ?? 0, $0.position) < ($1.timestamp ?? 0, $1.position) }
        }

        mutating func keep(_ isMeant: (DeadLetter) -> Bool) { letters.removeAll { !isMeant($0) } }
    }

    private let reader: TopicReader

    /// - Parameter end: where reading ends; the high watermark waits for open transactions.
    init(_ connection: Connection, upTo end: TopicReader.End = .lastStableOffset, deadline: Deadline) throws(Failure) {
        reader = try TopicReader(connection, topic: connection.topics.deadLetters, upTo: end, deadline: deadline)
    }

    /// The offsets that the topic still holds.
    func range(of partition: Int32) -> Range<Offset>? { wholeLog[partition] }

    /// The last matching dead letters.
    func last(
        _ count: Int,
        idleTimeout: Duration,
        where isMeant: (DeadLetter, _ isResent: Bool) -> Bool
    ) throws(Failure) -> Letters {
        var found = Letters()
        let last = try reader.last(count) { window throws(Failure) in
            found = try read(window, idleTimeout: idleTimeout)
            return found.letters.filter { isMeant($0, found.resent.contains($0.position)) }.map(\.position)
        }
        let positions = Set(last)
        found.keep { positions.contains($0.position) }
        return found
    }

    /// The dead letters at these positions, as far as they exist. One that stands twice is found where it stands first.
    func at(_ positions: Set<LetterPosition>, idleTimeout: Duration) throws(Failure) -> Letters {
        let partitions = Set(positions.map(\.partition))
        var found = try read(wholeLog.filter { partitions.contains($0.key) }, idleTimeout: idleTimeout)
        let firsts = Set(positions.map(found.first))
        found.keep { firsts.contains($0.position) }
        return found
    }

    /// All matching dead letters.
    func all(idleTimeout: Duration, where isMeant: (DeadLetter) -> Bool) throws(Failure) -> Letters {
        try read(wholeLog, idleTimeout: idleTimeout, where: isMeant)
    }

    private var wholeLog: [Int32: Range<Offset>] {
        reader.watermarks.mapValues { $0.low..<max($0.low, $0.high) }
    }

    /// Starts to read after the current end. Call it once, before ``follow(timeout:_:)``.
    func startFollowing() throws(Failure) { try reader.startAtEnds() }

    /// Calls `body` with each available record, after waiting up to `timeout` for the first.
    func follow(timeout: Duration, _ body: (DeadLetter) -> Void) throws(Failure) {
        try reader.poll(timeout: timeout) { record in body(DeadLetter(record)) }
    }

    private func read(
        _ ranges: [Int32: Range<Offset>],
        idleTimeout: Duration,
        where isMeant: (DeadLetter) -> Bool = { _ in true }
    ) throws(Failure) -> Letters {
        var found = Letters()
        try reader.read(ranges, idleTimeout: idleTimeout) { record in found.add(DeadLetter(record), where: isMeant) }
        found.sort()
        return found
    }
}
