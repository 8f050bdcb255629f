import JuiceClient
import JuiceMessages
import JuiceService
import Kafka

/// The stock of all stores, or of one, as the stock topic tells it.
final class StockReader {
    /// A store's latest record, and the bytes it came in.
    struct Entry {
        let record: StockRecord
        let bytes: [UInt8]
    }

    private let reader: TopicReader
    private let decoder = StockDecoder()
    private let store: String?
    private var entries: [String: Entry] = [:]

    /// - Parameter store: nil reads all stores.
    init(_ connection: Connection, store: String?, deadline: Deadline) throws(Failure) {
        reader = try TopicReader(connection, topic: connection.topics.stock, deadline: deadline)
        self.store = store
    }

    /// The latest entry of each store, by name.
    var latest: [Entry] {
        entries.values.sorted { $0.record.store < $1.record.store }
    }

    /// Reads the topic from its start to its present end.
    func readAll(idleTimeout: Duration) throws(Failure) {
        try reader.readAll(idleTimeout: idleTimeout) { record in take(record) }
    }

    /// Goes on after that end. To be called once, before ``follow(timeout:)``.
    func startFollowing() throws(Failure) {
        try reader.startAtEnds()
    }

    /// Takes in what is at hand, after waiting for the first record for at most `timeout`.
    ///
    /// - Returns: the changes, in order.
    func follow(timeout: Duration) throws(Failure) -> [Entry] {
        var changes: [Entry] = []
        try reader.poll(timeout: timeout) { record in
            if let entry = take(record) { changes.append(entry) }
        }
        return changes
    }

    /// Takes in a record. One that is no stock record is skipped: a monitor must not stop over it.
    @discardableResult
    private func take(_ record: ConsumedRecord) -> Entry? {
        guard let key = record.key else { return nil }
        let name = String(decoding: key, as: UTF8.self)
        if let store, store != name { return nil }
        guard let value = record.value else {
            entries[name] = nil
            return nil
        }
        guard let stock = try? decoder.decode(value) else { return nil }
        let entry = Entry(record: stock, bytes: Array(value))
        entries[name] = entry
        return entry
    }
}
