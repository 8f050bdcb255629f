import CRdKafka
import Synchronization

/// Reads the offsets that a consumer group has committed, without being a member of it.
///
/// Several threads may use it at the same time.
final class GroupOffsets: Sendable {
    /// Which of a partition's committed offsets to read.
    enum Isolation {
        /// The offset at hand, even if a transaction is about to replace it.
        case latest
        /// The same, but only once no transaction includes an offset of the partition.
        case stable
    }

    private let configuration: KafkaConfiguration
    private let hooks: ClientHooks
    let client: Mutex<Client>

    /// - Parameter configuration: needs `group.id`.
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    init(configuration: KafkaConfiguration, hooks: ClientHooks) throws(KafkaError) {
        (self.configuration, self.hooks) = (configuration, hooks)
        client = Mutex(try Client(configuration, hooks))
    }

    /// Waits, and serves the hooks: events of a client that is never polled pile up.
    func pause(for duration: Duration) {
        client.withLock(\.self).handle.poll(timeout: duration)
    }

    /// The committed offset of a partition; nil if there is none.
    ///
    /// - Throws: ``KafkaError``, with ``KafkaError/Code/unstableOffsetCommit`` if `isolation` forbids an answer now.
    func committed(
        _ partition: TopicPartition,
        _ isolation: Isolation,
        timeout: Duration
    ) throws(KafkaError) -> Offset? {
        let client = client.withLock(\.self)
        do throws(KafkaError) {
            return try client.committed(partition, isolation, timeout: timeout)
        } catch {
            // librdkafka remembers a group's coordinator for a quarter of an hour, whatever that answers.
            if error.code.leavesCoordinator { try replace(client) }
            throw error
        }
    }

    /// Makes a client that looks for the coordinator anew, unless another thread has done so.
    private func replace(_ former: Client) throws(KafkaError) {
        let new = try Client(configuration, hooks)
        new.handle.connect()
        client.withLock { if $0 === former { $0 = new } }
    }
}

extension GroupOffsets {
    /// A librdkafka client, which several threads may share.
    final class Client: Sendable {
        nonisolated(unsafe) let handle: ClientHandle
        private let group: String

        init(_ configuration: KafkaConfiguration, _ hooks: ClientHooks) throws(KafkaError) {
            group = configuration["group.id"] ?? ""
            // A consumer, since the answer "not coordinator" to a producer's request of this kind ends the process: in all versions
            // up to 2.15 librdkafka then tells the client's group, and a producer has none.
            handle = try ClientHandle(.consumer, configuration: configuration, hooks: hooks)
        }

        func committed(
            _ partition: TopicPartition,
            _ isolation: Isolation,
            timeout: Duration
        ) throws(KafkaError) -> Offset? {
            let list = PartitionList([partition])
            var request = list.withPointer { rd_kafka_ListConsumerGroupOffsets_new(group, $0) }
            defer { rd_kafka_ListConsumerGroupOffsets_destroy(request) }
            let event = try handle.request(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeout: timeout) {
                options,
                queue in
                let error = rd_kafka_AdminOptions_set_require_stable_offsets(
                    options,
                    isolation == .stable ? 1 : 0
                )
                if let error { rd_kafka_error_destroy(error) }
                rd_kafka_ListConsumerGroupOffsets(handle.pointer, &request, 1, options, queue)
            }
            defer { rd_kafka_event_destroy(event) }

            var count = 0
            let result = rd_kafka_event_ListConsumerGroupOffsets_result(event)
            let groups = rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count)
            guard count > 0, let group = groups?[0], let offsets = rd_kafka_group_result_partitions(group)
            else {
                throw .outOfMemory
            }
            guard let element = PartitionList.elements(of: UnsafeMutablePointer(mutating: offsets)).first
            else {
                return nil
            }
            if let error = KafkaError(element.err) { throw error }
            return element.offset < 0 ? nil : element.offset
        }
    }
}
