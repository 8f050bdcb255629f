import JuiceClient
import JuiceMessages
import JuiceService
import Kafka

/// Reads the answers of all stores, or of one, from the results topic.
final class ResultsReader {
    /// An answer and its record. The answer is nil if this version cannot decode it.
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

    /// - Parameter store: nil reads all stores.
    init(_ connection: Connection, store: String?, deadline: Deadline) throws(Failure) {
        reader = try TopicReader(connection, topic: connection.topics.results, deadline: deadline)
        self.store = store
    }

    /// Calls `body` with every answer up to the current end, in order within each partition.
    func readAll(idleTimeout: Duration, _ body: (Entry) -> Void) throws(Failure) {
        try reader.readAll(idleTimeout: idleTimeout) { record in
            if let entry = entry(record) { body(entry) }
        }
    }

    /// The last answers, oldest first.
    func last(_ count: Int, idleTimeout: Duration) throws(Failure) -> [Entry] {
        try reader.last(count) { window throws(Failure) in
            var found: [Entry] = []
            try reader.read(window, idleTimeout: idleTimeout) { record in
                if let entry = entry(record) { found.append(entry) }
            }
            return found.sorted(by: Self.isOlder)
        }
    }

    /// Starts to read after the current end. Call it once, before ``follow(timeout:_:)``.
    func startFollowing() throws(Failure) {
        try reader.startAtEnds()
    }

    /// Calls `body` with each available answer, after waiting up to `timeout` for the first.
    func follow(timeout: Duration, _ body: (Entry) -> Void) throws(Failure) {
        try reader.poll(timeout: timeout) { record in
            if let entry = entry(record) { body(entry) }
        }
    }

    private func entry(_ record: ConsumedRecord) -> Entry? {
        guard let value = record.value else { return nil }
        if let store {
            guard let key = record.key, key.elementsEqual(store.utf8) else { return nil }
        }
        return Entry(
            answer: try? decoder.decode(value),
            bytes: Array(value),
            timestamp: record.timestamp,
            partition: record.partition,
            offset: record.offset
        )
    }

    private static func isOlder(_ first: Entry, _ second: Entry) -> Bool {
        (first.timestamp ?? 0, first.partition, first.offset)
            < (second.timestamp ?? 0, second.partition, second.offset)
    }
}
