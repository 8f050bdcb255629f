import JuiceClient
import Kafka

/// Fills topics fast, with each record on the partition that owns its store.
///
/// Use it on one thread.
final class BulkProducer {
    private let connection: Connection
    private let producer: Producer
    private let state = State()

    private final class State {
        var written = 0
        var failure: KafkaError?
    }

    init(_ connection: Connection) throws(Failure) {
        self.connection = connection
        producer = try connection.producer(
            timeout: .seconds(300),
            pace: ["linger.ms": "50", "queue.buffering.max.messages": "200000", "queue.buffering.max.kbytes": "100000"])
    }

    /// Writes `count` records and returns once all are acknowledged.
    ///
    /// - Parameters:
    ///   - partition: nil is the one that owns the key's store.
    ///   - record: creates the record with this number.
    ///   - onProgress: called periodically with the number of acknowledged records; may throw to end the filling.
    func fill(
        _ topic: String, partition: Int32? = nil, count: Int, record: (Int) -> (key: [UInt8], value: [UInt8]),
        onProgress: (Int) throws -> Void
    ) throws {
        state.written = 0
        var deadline = Deadline(after: BenchSite.idleTimeout)
        for number in 0..<count {
            let (key, value) = record(number)
            while try !enqueue(topic, partition, key, value) {
                producer.poll(timeout: .milliseconds(20))
                try check(deadline)
            }
            guard number % 4096 == 0 else { continue }
            producer.poll(timeout: .zero)
            deadline = Deadline(after: BenchSite.idleTimeout)
            try onProgress(state.written)
        }
        var last = state.written
        while state.written < count {
            producer.poll(timeout: .milliseconds(20))
            if state.written > last { deadline = Deadline(after: BenchSite.idleTimeout) }
            last = state.written
            try check(deadline)
            try onProgress(last)
        }
        try check(deadline)
    }

    /// Hands a record to librdkafka.
    ///
    /// - Returns: false if its queue is full.
    private func enqueue(_ topic: String, _ partition: Int32?, _ key: [UInt8], _ value: [UInt8]) throws(Failure) -> Bool {
        do throws(KafkaError) {
            try producer.produce(topic: topic, partition: partition, key: key, value: value) { [state] result in
                if case .failure(let error) = result { state.failure = error }
                state.written += 1
            }
            return true
        } catch {
            guard error.code == .queueFull else { throw connection.failure(error) }
            return false
        }
    }

    private func check(_ deadline: Deadline) throws(Failure) {
        if let failure = state.failure { throw connection.failure(failure) }
        if deadline.isOver { throw connection.unavailable }
    }
}
