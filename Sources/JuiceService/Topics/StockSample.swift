import JuiceMessages
import Kafka

/// A look at the first records of each partition of the stock topic, for when no claim says how many partitions stores live
/// in: the topic may have been enlarged since the records were written.
struct StockSample {
    /// A store whose record is not in its home partition.
    struct Misplaced: Equatable {
        let store: String
        let partition: Int32
        let home: Int32
    }

    /// Enough to detect nearly any enlargement, since it moves at least every other store.
    private static let size: Offset = 100

    /// The first store found in the wrong partition.
    ///
    /// - Parameters:
    ///   - partitionCount: how many partitions the topic has.
    ///   - consumer: reads the records; it has no assignment afterwards.
    static func misplaced(
        in topic: String,
        partitionCount: Int32,
        _ consumer: Consumer,
        timeout: Duration
    ) throws(KafkaError) -> Misplaced? {
        let partitions = (0..<partitionCount).map { TopicPartition(topic: topic, partition: $0) }
        let sample = try consumer.watermarks(of: partitions, timeout: timeout).mapValues { $0.low..<min($0.high, $0.low + size) }
            .filter { !$0.value.isEmpty }
        var found: Misplaced?
        try consumer.read(sample, timeout: timeout) { record in
            found = Misplaced(record, partitionCount: partitionCount)
            return found == nil
        }
        return found
    }
}

extension StockSample.Misplaced {
    /// Nil for a record in its home partition, and for one that is no store's stock.
    fileprivate init?(_ record: ConsumedRecord, partitionCount: Int32) {
        guard let key = record.key, record.value != nil else { return nil }
        let home = Murmur2.partition(of: key, count: partitionCount)
        guard home != record.partition else { return nil }
        self.init(store: String(decoding: key, as: UTF8.self), partition: record.partition, home: home)
    }
}
