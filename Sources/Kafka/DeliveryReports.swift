import CRdKafka
import Synchronization

/// The context of a transactional client, which collects its delivery reports.
final class DeliveryReports: ClientContext, @unchecked Sendable {
    /// Consecutive records of one partition. The topic is the address of librdkafka's object.
    private typealias Run = (topic: UInt, partition: Int32, offsets: ClosedRange<Offset>)

    private let first = Mutex(KafkaError?.none)
    private let runs = Mutex([Run]())

    /// Called for each record, so it makes no error value on success.
    func add(_ message: UnsafePointer<rd_kafka_message_t>) {
        let (partition, offset) = (message.pointee.partition, message.pointee.offset)
        guard message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let place = ConsumedRecord(message: message).place
            return first.withLock { $0 = $0 ?? KafkaError(message.pointee.err)?.with(\.place, place) }
        }
        let topic = UInt(bitPattern: message.pointee.rkt)
        runs.withLock { runs in
            if let last = runs.last, last.topic == topic, last.partition == partition, last.offsets.upperBound + 1 == offset {
                runs[runs.count - 1].offsets = last.offsets.lowerBound...offset
            } else if offset >= 0 {
                runs.append((topic, partition, offset...offset))
            }
        }
    }

    var failure: KafkaError? { first.withLock { $0 } }

    /// The first failure, and the offsets that were delivered since the last call. The client must exist.
    func take() -> (failure: KafkaError?, runs: [DeliveredOffsets.Run]) {
        let runs = runs.withLock { runs in
            defer { runs = [] }
            return runs
        }
        let named = runs.map { topic, partition, offsets in
            let name = String(cString: rd_kafka_topic_name(OpaquePointer(bitPattern: topic)))
            return (TopicPartition(topic: name, partition: partition), offsets)
        }
        return (failure, named)
    }
}

/// The offsets of the records that a session wrote. In a topic that was recreated or truncated, later records get lower offsets.
/// Nothing else shows the loss, since brokers accept the records.
struct DeliveredOffsets {
    typealias Run = (place: TopicPartition, offsets: ClosedRange<Offset>)

    /// The last offset written to each partition, committed or not.
    private(set) var last: [TopicPartition: Offset] = [:]
    /// The offsets of the last transaction, in order.
    private(set) var transaction: [TopicPartition: [Range<Offset>]] = [:]
    private var shortened: Set<TopicPartition> = []

    mutating func begin() { transaction.removeAll(keepingCapacity: true) }

    /// Returns a partition, if any, that turns out to lack records written to it before.
    mutating func add(_ runs: [Run]) -> TopicPartition? {
        var found: TopicPartition?
        for (place, offsets) in runs {
            if let last = last[place], offsets.lowerBound <= last {
                shortened.insert(place)
                found = place
            }
            last[place] = offsets.upperBound
            transaction[place, default: []].append(Range(offsets))
        }
        return found
    }

    mutating func takeLoss(of place: TopicPartition, endingAt end: Offset) -> Bool {
        let isShort = last[place].map { end <= $0 } ?? false
        if isShort { last[place] = nil }
        return shortened.remove(place) != nil || isShort
    }
}
