import CLab
import Foundation
import JuiceDomain
import Kafka
import Synchronization

/// The clients and their shared state.
final class Load: Sendable {
    fileprivate struct State {
        /// The commands to repeat, with the numbers of the clients that repeat them.
        var repeats: [(due: ContinuousClock.Instant, client: Int, command: Command)] = []
        var gaps = ArrivalGaps()
        var sent = 0
        var running = 0
        var failure: String?
    }

    fileprivate let state = Mutex(State())
    private let mayGoOn = Atomic(true)

    /// Starts the clients, each on a thread of its own, because librdkafka's calls block.
    init(plan: Plan) {
        state.withLock { $0.running = plan.clients }
        for number in 0..<plan.clients {
            Thread.detachNewThread { [self] in
                do throws(KafkaError) {
                    try Client(number: number, plan: plan, load: self).run()
                } catch { state.withLock { $0.failure = "client \(number): \(error)" } }
                state.withLock { $0.running -= 1 }
            }
        }
    }

    var sent: Int { state.withLock { $0.sent } }

    /// Why a client failed, if one did.
    var failure: String? { state.withLock { $0.failure } }

    /// Lets the clients finish, including due repeats, and waits for them.
    func stop() throws {
        mayGoOn.store(false, ordering: .relaxed)
        let hasEnded = try wait(for: .seconds(150)) { state.withLock { $0.running == 0 } }
        if !hasEnded { throw ToolError("the clients do not get their records confirmed") }
    }

    /// Returns the longest gaps in the acknowledgements of orders since the last call.
    func drainGaps() -> ArrivalGaps.Longest { state.withLock { $0.gaps.drain() } }

    fileprivate var isWanted: Bool { mayGoOn.load(ordering: .relaxed) && !process_is_interrupted() }

    /// Removes and returns the commands that this client has to repeat now.
    fileprivate func dueRepeats(for client: Int) -> [Command] {
        let now = ContinuousClock.now
        return state.withLock { state in
            let due = state.repeats.filter { $0.client == client && $0.due <= now }
            if !due.isEmpty { state.repeats.removeAll { $0.client == client && $0.due <= now } }
            return due.map(\.command)
        }
    }
}

/// A client that sends commands at a steady rate, with a partitioner of its own.
private final class Client {
    private let number: Int
    private let plan: Plan
    private let load: Load
    private var producer: Producer
    /// How many records have no acknowledgement yet.
    private var outstanding = 0

    private static let mostOutstanding = 5_000
    /// The partitioners of different client libraries.
    private static let partitioners = ["murmur2_random", "consistent_random", "random"]

    init(number: Int, plan: Plan, load: Load) throws(KafkaError) {
        (self.number, self.plan, self.load) = (number, plan, load)
        producer = try Self.producer(number: number, plan: plan)
    }

    private static func producer(number: Int, plan: Plan) throws(KafkaError) -> Producer {
        try Producer(
            configuration: plan.client.merging([
                "partitioner": partitioners[number % partitioners.count],
                "linger.ms": "2", "message.timeout.ms": "120000",
                // Only some clients are idempotent.
                "enable.idempotence": number % 2 == 0 ? "true" : "false",
            ]), hooks: .silent)
    }

    func run() throws(KafkaError) {
        var mix = CommandMix(client: number, plan: plan)
        var random = SeededGenerator(seed: plan.seed &* 17 &+ UInt64(number))
        let start = ContinuousClock.now
        var due = 0
        while load.isWanted {
            let target = Int((ContinuousClock.now - start).seconds * plan.rate / Double(plan.clients))
            for _ in due..<max(due, target) where outstanding < Self.mostOutstanding {
                let command = mix.next()
                try send(command)
                if random.chance(12) { repeatLater(command, &mix, &random) }
            }
            due = max(due, target)
            try sendRepeats()
            producer.poll(timeout: .milliseconds(10))
        }
        try sendRepeats()
        while outstanding > 0, !process_is_interrupted() { producer.poll(timeout: .milliseconds(100)) }
    }

    /// Schedules one or two repeats, immediately or later.
    private func repeatLater(_ command: Command, _ mix: inout CommandMix, _ random: inout SeededGenerator) {
        for _ in 0..<(random.chance(70) ? 1 : 2) {
            let delay = random.chance(50) ? 0 : Int.random(in: 0..<20_000, using: &random)
            // Another client, if there is one.
            let step = plan.clients > 1 ? Int.random(in: 1..<plan.clients, using: &random) : 0
            let other = (number + step) % plan.clients
            let repeated = mix.repeating(command)
            load.state.withLock { $0.repeats.append((.now + .milliseconds(delay), other, repeated)) }
        }
    }

    private func sendRepeats() throws(KafkaError) {
        for command in load.dueRepeats(for: number) { try send(command) }
    }

    /// Sends a command. After a fatal error, such as a broken sequence after a broker restart, it creates a new producer,
    /// as clients do.
    private func send(_ command: Command) throws(KafkaError) {
        do throws(KafkaError) {
            try produce(command)
        } catch {
            guard error.isFatal else { throw error }
            producer = try Self.producer(number: number, plan: plan)
            try produce(command)
        }
    }

    private func produce(_ command: Command) throws(KafkaError) {
        let topic = plan.topic(command.topic)
        try producer.produce(topic: topic, key: command.key, value: command.value, headers: command.headers) { [self] result in
            outstanding -= 1
            // Restocks are too few to be steady.
            guard case .success(let delivery) = result, command.topic == "orders" else { return }
            load.state.withLock { $0.gaps.record(arrivalFrom: delivery.partition) }
        }
        outstanding += 1
        load.state.withLock { $0.sent += 1 }
    }
}
