import Foundation
import JuiceRestockBot
import Kafka

/// Writes refills, each exactly once: restocks and the positions up to which the answers were read are one transaction, sent as
/// the member of the group that owns these partitions. Once they are another's, the broker refuses it.
final class RefillWriter {
    enum Outcome {
        case committed
        /// Nothing is known but that this instance cannot go on from what it believed: it must look how things stand. An
        /// abort is among that.
        case lost(KafkaError)
        /// The cluster did not answer for as long as it was worth waiting.
        case givenUp
    }

    /// Names this process among all bots, now and before: the note at every offset it commits.
    let name: String
    private let clients: BotClients
    private var producer: (client: TransactionalProducer, restocks: TransactionalTopic)?
    private var isReady = false

    private static let callTimeout = Duration.seconds(1)

    init(_ clients: BotClients) {
        self.clients = clients
        name = "\(clients.plan.group)/\(UUID().uuidString.lowercased())"
    }

    /// Writes refills and positions. What takes long is tried on until `isWorthWaiting` says no.
    func write(
        _ refills: [Refill],
        positions: [TopicPartition: Offset],
        of membership: BotMembership,
        while isWorthWaiting: () -> Bool
    ) -> Outcome {
        // Without partitions there is nothing to write for.
        guard let generation = membership.generation else { return .givenUp }
        let waiting = { [clients] in
            clients.probe(membership.consumer)
            return isWorthWaiting()
        }
        do throws(KafkaError) {
            try makeReady(waiting)
            guard let producer, isReady else { return .givenUp }
            try producer.client.begin()
            for refill in refills { try produce(refill, to: producer.restocks) }
            try retrying(waiting) { () throws(KafkaError) in
                try producer.client.sendOffsets(
                    positions,
                    note: name,
                    membership: generation,
                    timeout: Self.callTimeout
                )
            }
            try retrying(waiting) { () throws(KafkaError) in
                try producer.client.commit(timeout: Self.callTimeout)
            }
            clients.watch.reached()
            return .committed
        } catch {
            return undo(after: error, waiting)
        }
    }

    private func undo(after error: KafkaError, _ waiting: () -> Bool) -> Outcome {
        guard error.remedy == .abort, let producer, isReady else {
            // What became of the transaction is for the successor to find out: another producer, or another bot.
            drop()
            return error.remedy == .retry ? .givenUp : .lost(error)
        }
        do throws(KafkaError) {
            try retrying(waiting) { () throws(KafkaError) in
                try producer.client.abort(timeout: Self.callTimeout)
            }
        } catch {
            drop()
        }
        return .lost(error)
    }

    /// Takes over the transactional id.
    private func makeReady(_ waiting: () -> Bool) throws(KafkaError) {
        guard !isReady else { return }
        let client = try clients.producer(id: name)
        producer = (client, try client.topic(clients.connection.topics.restocks))
        try retrying(waiting) { () throws(KafkaError) in
            try client.initTransactions(timeout: Self.callTimeout)
        }
        isReady = true
    }

    private func drop() {
        producer = nil
        isReady = false
    }

    private func produce(_ refill: Refill, to topic: TransactionalTopic) throws(KafkaError) {
        let command = OutgoingCommand.restock(
            id: refill.id.text,
            store: refill.store,
            RestockAmounts(adding: refill.amounts)
        )
        let result: Result<Void, KafkaError> = Array(refill.store.utf8).withUnsafeBytes { key in
            command.value.withUnsafeBytes { value in
                Result { () throws(KafkaError) in
                    // The partition that owns the store is the one whose answers told of it.
                    try topic.produce(partition: refill.id.partition, key: key, value: value, headers: [])
                }
            }
        }
        try result.get()
    }

    private func retrying(
        _ waiting: () -> Bool,
        _ call: () throws(KafkaError) -> Void
    ) throws(KafkaError) {
        while true {
            do throws(KafkaError) {
                return try call()
            } catch {
                guard error.remedy == .retry, waiting() else { throw error }
            }
        }
    }
}
