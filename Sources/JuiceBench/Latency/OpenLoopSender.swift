import Foundation
import JuiceClient
import Kafka
import Synchronization

/// Sends orders when they are due, without waiting for answers (an open loop), on a thread of its own.
final class OpenLoopSender: Sendable {
    private struct State {
        var start: ContinuousClock.Instant?
        var failure: Failure?
        var lateness: [Double] = []
        var isStopped = false
    }

    private let connection: Connection
    private let topic: String
    private let plan: LatencyPlan
    private let state = Mutex(State())

    init(_ connection: Connection, topic: String, plan: LatencyPlan) {
        self.connection = connection
        self.topic = topic
        self.plan = plan
    }

    /// Starts the thread, which connects and then sends.
    func start() {
        let thread = Thread { [self] in
            do throws(Failure) {
                try send()
            } catch {
                state.withLock { $0.failure = error }
            }
        }
        thread.name = "orders"
        thread.start()
    }

    func stop() { state.withLock { $0.isStopped = true } }

    /// When the first order is due; nil before the thread has connected.
    ///
    /// - Throws: the ``Failure`` of the thread.
    func firstDue() throws(Failure) -> ContinuousClock.Instant? {
        let (start, failure) = state.withLock { ($0.start, $0.failure) }
        if let failure { throw failure }
        return start
    }

    /// How late each order was sent, in milliseconds: the sender's own share of the latencies.
    var lateness: [Double] { state.withLock { $0.lateness } }

    private func send() throws(Failure) {
        let producer = try connection.producer(timeout: BenchSite.idleTimeout)
        try connection.reach(producer, deadline: Deadline(after: .seconds(10)))
        let start = ContinuousClock.now + .milliseconds(100)
        state.withLock { $0.start = start }

        var orders = BenchOrders(stores: plan.stores)
        var lateness: [Double] = []
        lateness.reserveCapacity(plan.orders)
        for number in 0..<plan.orders {
            let due = start + plan.due(number)
            if !wait(until: due, producer) { return }
            let (key, value) = orders.next(number: number)
            try connection.ask { () throws(KafkaError) in
                try producer.produce(topic: topic, key: key, value: value) { [self] result in
                    guard case .failure(let error) = result else { return }
                    state.withLock { $0.failure = connection.failure(error) }
                }
            }
            lateness.append((ContinuousClock.now - due) / .milliseconds(1))
        }
        state.withLock { $0.lateness = lateness }
        // Destroying the producer would drop undelivered records.
        while !state.withLock({ $0.isStopped }) { producer.poll(timeout: .milliseconds(20)) }
    }

    /// - Returns: false if the sender was stopped or has failed.
    private func wait(until due: ContinuousClock.Instant, _ producer: Producer) -> Bool {
        producer.poll(timeout: .zero)
        while true {
            if state.withLock({ $0.isStopped || $0.failure != nil }) { return false }
            let rest = due - .now
            guard rest > .zero else { return true }
            usleep(UInt32(max(1, min(rest, .milliseconds(20)) / .microseconds(1))))
        }
    }
}
