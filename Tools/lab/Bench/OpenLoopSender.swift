import Foundation
import Kafka
import Synchronization

/// Sends orders when they are due, without waiting for answers (an open loop), on a thread of its own.
final class OpenLoopSender: Sendable {
    private struct State {
        var start: ContinuousClock.Instant?
        var failure: KafkaError?
        var lateness: [Double] = []
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Starts the thread, which connects and then sends.
    init(_ cluster: BenchCluster, topic: String, _ schedule: Schedule, stores: Int) {
        Thread.detachNewThread { [self] in
            do throws(KafkaError) {
                try send(cluster, topic, schedule, OrderGenerator(stores: stores))
            } catch {
                state.withLock { $0.failure = error }
            }
        }
    }

    func stop() { state.withLock { $0.isStopped = true } }

    /// When the first order is due; nil before the thread has connected. Throws the error of a failed thread.
    func firstDue() throws(KafkaError) -> ContinuousClock.Instant? {
        let (start, failure) = state.withLock { ($0.start, $0.failure) }
        if let failure { throw failure }
        return start
    }

    /// How late each order was sent, in milliseconds.
    var lateness: [Double] { state.withLock(\.lateness) }

    private func send(_ cluster: BenchCluster, _ topic: String, _ schedule: Schedule, _ orders: OrderGenerator) throws(KafkaError) {
        var orders = orders
        let producer = try cluster.producer(["linger.ms": "0", "message.timeout.ms": "30000"])
        _ = try producer.metadata(topics: [topic], timeout: .seconds(10))
        let start = ContinuousClock.now + .milliseconds(100)
        state.withLock { $0.start = start }

        var lateness: [Double] = []
        lateness.reserveCapacity(schedule.orders)
        for number in 0..<schedule.orders {
            let due = start + schedule.due(number)
            guard wait(until: due, producer) else { return }
            let (key, value) = orders.next(number: number)
            try producer.produce(topic: topic, key: key, value: value) { [self] result in
                if case .failure(let error) = result { state.withLock { $0.failure = error } }
            }
            lateness.append((ContinuousClock.now - due) / .milliseconds(1))
        }
        state.withLock { $0.lateness = lateness }
        // Destroying the producer would drop undelivered records.
        while !state.withLock(\.isStopped) { producer.poll(timeout: .milliseconds(20)) }
    }

    /// - Returns: false if the sender was stopped or has failed.
    private func wait(until due: ContinuousClock.Instant, _ producer: Producer) -> Bool {
        producer.poll(timeout: .zero)
        while !state.withLock({ $0.isStopped || $0.failure != nil }) {
            let rest = due - .now
            guard rest > .zero else { return true }
            usleep(UInt32(max(1, min(rest, .milliseconds(20)) / .microseconds(1))))
        }
        return false
    }
}
