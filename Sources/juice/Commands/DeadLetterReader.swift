import Kafka

/// Collects the dead letters among records: each once, where it stands first, and whether a note says that it was resent.
struct FoundLetters {
    private var letters: [DeadLetter] = []
    private var resent: Set<LetterPosition> = []
    private var firsts: [DeadLetter.Identity: LetterPosition] = [:]
    private var copies: [LetterPosition: LetterPosition] = [:]

    /// Where the letter at a position stands first.
    func first(of position: LetterPosition) -> LetterPosition { copies[position] ?? position }

    /// Adds the next record of its partition: a letter, or a note. A letter and its copies are in one partition, and the notes of
    /// them behind them.
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

    /// Takes the letters found since the last call. It still knows them, if one comes again.
    mutating func take() -> [DeadLetter] {
        defer { letters = [] }
        for index in letters.indices { letters[index].isResent = resent.contains(letters[index].position) }
        return letters
    }
}

/// Reads the dead letters, and the notes between them that mark some as resent.
final class DeadLetterReader {
    private let reader: TopicReader
    private var found = FoundLetters()

    /// - Parameter end: where reading ends; the high watermark waits for open transactions.
    init(_ clients: KafkaClients, upTo end: TopicReader.End = .lastStableOffset, deadline: Deadline) throws(Failure) {
        reader = try TopicReader(clients, topic: clients.topics.deadLetters, upTo: end, deadline: deadline)
    }

    /// The last matching dead letters, oldest first.
    func last(_ count: Int, idleTimeout: Duration, where isMeant: (DeadLetter) -> Bool) throws(Failure) -> [DeadLetter] {
        try reader.last(count) { window throws(Failure) in
            // Whether a letter was resent is known once all is read.
            try read(window, idleTimeout: idleTimeout).filter(isMeant)
        }
    }

    /// The dead letters at these positions, oldest first, and the positions without one. One that stands twice is found where it
    /// stands first.
    func at(
        _ positions: Set<LetterPosition>, idleTimeout: Duration
    ) throws(Failure) -> (letters: [DeadLetter], missing: [LetterPosition]) {
        let partitions = Set(positions.map(\.partition))
        let letters = try read(wholeLog.filter { partitions.contains($0.key) }, idleTimeout: idleTimeout)
        let firsts = Set(positions.map(found.first))
        let chosen = letters.filter { firsts.contains($0.position) }
        return (chosen, firsts.subtracting(chosen.map(\.position)).sorted())
    }

    /// All matching dead letters, oldest first.
    func all(idleTimeout: Duration, where isMeant: (DeadLetter) -> Bool) throws(Failure) -> [DeadLetter] {
        try read(wholeLog, idleTimeout: idleTimeout, where: isMeant)
    }

    /// Starts to read after the current end. Call it once, before ``follow(timeout:where:)``.
    func startFollowing() throws(Failure) { try reader.startAtEnds() }

    /// The matching dead letters that have come, after waiting up to `timeout` for the first.
    func follow(timeout: Duration, where isMeant: (DeadLetter) -> Bool) throws(Failure) -> [DeadLetter] {
        try reader.poll(timeout: timeout) { record in found.add(DeadLetter(record), where: isMeant) }
        return found.take()
    }

    /// The failure for a position without a dead letter.
    func missing(_ position: LetterPosition) -> Failure {
        var hint = "`juice dead-letters list` shows the positions"
        if let range = wholeLog[position.partition], position.offset < range.lowerBound {
            hint = "records before offset \(range.lowerBound) are no longer retained"
        }
        return Failure(.usage, "there is no dead letter at \(position.text)", hint: hint)
    }

    private var wholeLog: [Int32: Range<Offset>] { reader.watermarks }

    private func read(
        _ ranges: [Int32: Range<Offset>], idleTimeout: Duration, where isMeant: (DeadLetter) -> Bool = { _ in true }
    ) throws(Failure) -> [DeadLetter] {
        found = FoundLetters()
        try reader.read(ranges, idleTimeout: idleTimeout) { record in found.add(DeadLetter(record), where: isMeant) }
        return found.take().sorted { ($0.timestamp ?? 0, $0.position) < ($1.timestamp ?? 0, $1.position) }
    }
}
