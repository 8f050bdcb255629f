import JuiceClient
import JuiceMessages
import JuiceService
import Kafka

/// The answers of all stores, or of one, as the results topic tells them.
final class ResultsReader {
    /// An answer, the bytes it came in and when it was written.
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

    /// Calls `body` with every answer there is at present, in order within each partition.
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

    /// Goes on after the present end. To be called once, before ``follow(timeout:_:)``.
    func startFollowing() throws(Failure) {
        try reader.startAtEnds()
    }

    /// Calls `body` with the answers at hand, after waiting for the first for at most `timeout`.
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
