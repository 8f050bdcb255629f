import Kafka

/// Tells letters from notes among records: each letter once, where it stands first, and whether a note says that it was resent.
struct LetterLog {
    private var resent: Set<LetterPosition> = []
    private var firsts: [DeadLetter.Identity: LetterPosition] = [:]
    private var copies: [LetterPosition: LetterPosition] = [:]

    /// Where the letter at a position stands first.
    func first(of position: LetterPosition) -> LetterPosition { copies[position] ?? position }

    /// Adds the next record of its partition; nil if that is a note or a copy. Copies are in their letter's partition, and notes
    /// behind it.
    mutating func letter(_ record: DeadLetter) -> DeadLetter? {
        let position = record.position
        if let letter = record.resentLetter {
            if letter.partition == position.partition, letter < position { resent.insert(first(of: letter)) }
            return nil
        }
        guard let identity = record.identity else { return record }
        if let first = firsts[identity], first != position {
            copies[position] = first
            return nil
        }
        firsts[identity] = position
        return record
    }

    /// The letters, with what the notes so far say of them.
    func marked(_ letters: [DeadLetter]) -> [DeadLetter] {
        letters.map { letter in
            var letter = letter
            letter.isResent = resent.contains(letter.position)
            return letter
        }
    }
}

/// Reads the dead letters, and the notes between them that mark some as resent.
final class DeadLetterReader {
    private let reader: TopicReader
    private var log = LetterLog()

    /// - Parameter end: where reading ends; the high watermark waits for open transactions.
    init(_ clients: KafkaClients, upTo end: TopicReader.End = .lastStableOffset, timeout: Duration) throws(Failure) {
        reader = try TopicReader(clients, topic: clients.topics.deadLetters, upTo: end, timeout: timeout)
    }

    /// All matching dead letters, oldest first.
    func all(where isMeant: (DeadLetter) -> Bool = { _ in true }) throws(Failure) -> [DeadLetter] {
        try read(reader.watermarks, where: isMeant)
    }

    /// The last matching dead letters, oldest first.
    func last(_ count: Int, where isMeant: (DeadLetter) -> Bool) throws(Failure) -> [DeadLetter] {
        guard count > 0 else { return [] }
        var size = Offset(clamping: count) * 2 + 64
        // Notes and copies take offsets too. So the window before the ends grows until each partition has enough letters in it.
        while true {
            let logs = reader.watermarks
            let window = logs.mapValues { max($0.lowerBound, $0.upperBound - size)..<$0.upperBound }
            // Whether a letter was resent is known once all is read.
            let letters = try read(window).filter(isMeant)
            let isEnough = logs.allSatisfy { place, log in
                window[place] == log || letters.count { $0.position.partition == place.partition } >= count
            }
            if isEnough { return letters.suffix(count) }
            size *= 8
        }
    }

    /// The dead letters at these positions, oldest first, and the positions without one. One that stands twice is found where it
    /// stands first.
    func at(_ positions: Set<LetterPosition>) throws(Failure) -> (letters: [DeadLetter], missing: [LetterPosition]) {
        let partitions = Set(positions.map(\.partition))
        let letters = try read(reader.watermarks.filter { partitions.contains($0.key.partition) })
        let firsts = Set(positions.map(log.first))
        let chosen = letters.filter { firsts.contains($0.position) }
        return (chosen, firsts.subtracting(chosen.map(\.position)).sorted())
    }

    /// Shows the dead letters that come after the current end, until asked to stop.
    func follow(until stop: StopSignal, show: ([DeadLetter]) -> Void) throws(Failure) {
        try reader.follow(until: stop, { log.letter(DeadLetter($0)) }, show: { show(log.marked($0)) })
    }

    /// The failure for a position without a dead letter.
    func missing(_ position: LetterPosition) -> Failure {
        var hint = "`juice dead-letters list` shows the positions"
        let start = reader.watermarks.first { $0.key.partition == position.partition }?.value.lowerBound
        if let start, position.offset < start { hint = "records before offset \(start) are no longer retained" }
        return Failure(.usage, "there is no dead letter at \(position.text)", hint: hint)
    }

    private func read(
        _ ranges: [TopicPartition: Range<Offset>], where isMeant: (DeadLetter) -> Bool = { _ in true }
    ) throws(Failure) -> [DeadLetter] {
        log = LetterLog()
        var letters: [DeadLetter] = []
        try reader.read(ranges) { record in
            if let letter = log.letter(DeadLetter(record)), isMeant(letter) { letters.append(letter) }
        }
        return log.marked(letters).sorted { ($0.timestamp ?? 0, $0.position) < ($1.timestamp ?? 0, $1.position) }
    }
}
