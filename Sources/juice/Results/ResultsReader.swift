import JuiceMessages
import JuiceService
import Kafka

/// Reads the answers of all stores, or of one, from the results topic.
final class ResultsReader {
    /// An answer and its record. The answer is nil for a note of the journal, and if this version cannot decode it.
    struct Entry {
        let answer: Answer?
        let bytes: [UInt8]
        /// Milliseconds since 1970.
        let timestamp: Int64?
        let partition: Int32
        let offset: Offset
    }

    private let reader: TopicReader
    private let decoder = AnswerDecoder()
    private let store: String?
    private let showsNotes: Bool

    /// - Parameters:
    ///   - store: nil reads all stores.
    ///   - showsNotes: whether notes of the journal count as answers. They are of no store.
    init(_ connection: Connection, store: String?, showsNotes: Bool = false, deadline: Deadline) throws(Failure) {
        reader = try TopicReader(connection, topic: connection.topics.results, of: store, deadline: deadline)
        (self.store, self.showsNotes) = (store, showsNotes)
    }

    /// Calls `body` with every answer up to the current end, in order within each partition.
    ///
    /// - Parameters:
    ///   - time: begins in each partition with the first record at or after this, in milliseconds since 1970; nil begins at the
    ///     start.
    ///   - idleTimeout: how long to wait for the next records.
    ///   - body: receives the answers.
    func readAll(since time: Int64? = nil, idleTimeout: Duration, _ body: (Entry) -> Void) throws(Failure) {
        try reader.readAll(since: time, idleTimeout: idleTimeout) { record in if let entry = entry(record) { body(entry) } }
    }

    /// The last answers, oldest first.
    func last(_ count: Int, idleTimeout: Duration) throws(Failure) -> [Entry] {
        try reader.last(count) { window throws(Failure) in
            var found: [Entry] = []
            try reader.read(window, idleTimeout: idleTimeout) { record in if let entry = entry(record) { found.append(entry) } }
            return Self.sorted(found)
        }
    }

    /// Starts to read after the current end. Call it once, before ``follow(timeout:_:)``.
    func startFollowing() throws(Failure) { try reader.startAtEnds() }

    /// Calls `body` with each available answer, after waiting up to `timeout` for the first.
    func follow(timeout: Duration, _ body: (Entry) -> Void) throws(Failure) {
        try reader.poll(timeout: timeout) { record in if let entry = entry(record) { body(entry) } }
    }

    private func entry(_ record: ConsumedRecord) -> Entry? {
        guard let value = record.value else { return nil }
        if let store {
            guard let key = record.key, key.elementsEqual(store.utf8) else { return nil }
        }
        let answer = try? decoder.decode(value)
        guard answer != nil || showsNotes || !JournalNote.isNote(value) else { return nil }
        return Entry(
            answer: answer, bytes: Array(value), timestamp: record.timestamp, partition: record.partition, offset: record.offset)
    }

    /// By time, and within a partition by offset: clocks may differ, but the order of a store's answers must stay.
    private static func sorted(_ entries: [Entry]) -> [Entry] {
        var latest: [Int32: Int64] = [:]
        let timed = entries.map { entry in
            let time = max(entry.timestamp ?? 0, latest[entry.partition] ?? 0)
            latest[entry.partition] = time
            return (time: time, entry: entry)
        }
        return timed.sorted { ($0.time, $0.entry.partition, $0.entry.offset) < ($1.time, $1.entry.partition, $1.entry.offset) }.map(
            \.entry)
    }
}
