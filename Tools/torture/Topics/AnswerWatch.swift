import Kafka
import Synchronization

/// Reads the answers as they are committed, to detect when the service is working again.
final class AnswerWatch: Sendable {
    /// The awaited answers: one from each of these partitions, written after a given time.
    struct Expectation: Sendable {
        let partitions: Set<Int32>
        /// Milliseconds since 1970. Earlier answers may come from instances that are gone.
        let madeAfter: Int64
        fileprivate(set) var arrivals: [Int32: ContinuousClock.Instant] = [:]

        /// When the first answer arrived.
        var first: ContinuousClock.Instant? { arrivals.values.min() }
        /// When the last partition answered; nil before that.
        var all: ContinuousClock.Instant? { arrivals.count == partitions.count ? arrivals.values.max() : nil }
    }

    private struct State {
        var expectation: Expectation?
        var gaps = ArrivalGaps()
        var count = 0
        var failure: String?
    }

    private let state = Mutex(State())
    private let mayGoOn = Atomic(true)

    init(plan: Plan) {
        _ = Worker("answers") { [self] in
            do throws(KafkaError) {
                try run(plan)
            } catch {
                state.withLock { $0.failure = "the answers cannot be read: \(error)" }
            }
        }
    }

    /// Returns the longest gaps in the answers since the last call.
    func drainGaps() -> ArrivalGaps.Longest { state.withLock { $0.gaps.drain() } }

    /// The number of answers read.
    var count: Int { state.withLock { $0.count } }

    var failure: String? { state.withLock { $0.failure } }

    func stop() { mayGoOn.store(false, ordering: .relaxed) }

    func expect(from partitions: Set<Int32>, madeAfter: Int64) {
        state.withLock { $0.expectation = Expectation(partitions: partitions, madeAfter: madeAfter) }
    }

    var expectation: Expectation? { state.withLock { $0.expectation } }

    private func run(_ plan: Plan) throws(KafkaError) {
        let consumer = try Consumer(configuration: plan.reader, hooks: silentHooks)
        defer { consumer.close() }
        let partitions = (0..<Int32(plan.partitions)).map {
            TopicPartition(topic: plan.topic("results"), partition: $0)
        }
        try consumer.assign(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
        while mayGoOn.load(ordering: .relaxed) {
            let batch = try consumer.poll(maxRecords: 1_000, timeout: .milliseconds(100))
            let now = ContinuousClock.now
            state.withLock { state in
                for case .record(let record) in batch {
                    state.count += 1
                    state.gaps.record(arrivalFrom: record.partition, at: now)
                    guard let expectation = state.expectation, let timestamp = record.timestamp,
                        timestamp > expectation.madeAfter, expectation.partitions.contains(record.partition),
                        expectation.arrivals[record.partition] == nil
                    else { continue }
                    state.expectation?.arrivals[record.partition] = now
                }
            }
        }
    }
}
