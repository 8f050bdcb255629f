import JuiceMessages
import JuiceService
import Kafka

/// Reads the stock of all stores, or of one, from the stock topic.
final class StockReader {
    /// A store's latest record, and its bytes.
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
    var latest: [Entry] { entries.values.sorted { $0.record.store < $1.record.store } }

    /// Reads the topic from its start to its current end.
    func readAll(idleTimeout: Duration) throws(Failure) {
        try reader.readAll(idleTimeout: idleTimeout) { record in apply(record) }
    }

    /// Starts to read after that end. Call it once, before ``follow(timeout:)``.
    func startFollowing() throws(Failure) { try reader.startAtEnds() }

    /// Applies the available records, after waiting up to `timeout` for the first.
    ///
    /// - Returns: the changes, in order.
    func follow(timeout: Duration) throws(Failure) -> [Entry] {
        var changes: [Entry] = []
        try reader.poll(timeout: timeout) { record in if let entry = apply(record) { changes.append(entry) } }
        return changes
    }

    /// Applies a record. It skips invalid stock records: one of them must not stop a monitor.
    ///
    /// - Returns: the store's new entry; nil if the record was skipped or removed the store.
    @discardableResult
    private func apply(_ record: ConsumedRecord) -> Entry? {
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
