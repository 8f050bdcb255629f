import JuiceMaker
import Kafka

/// A client that sends commands at a steady rate, with a partitioner of its own.
struct Client {
    private let number: Int
    private let plan: Plan
    private let load: Load
    private var producer: Producer
    private let outstanding = Outstanding()

    /// The most records without an acknowledgement.
    private static let mostOutstanding = 5_000

    private final class Outstanding { var count = 0 }

    /// The partitioners of different client libraries.
    private static let partitioners = ["murmur2_random", "consistent_random", "random"]

    init(number: Int, plan: Plan, load: Load) throws(KafkaError) {
        self.number = number
        self.plan = plan
        self.load = load
        producer = try Self.producer(number: number, plan: plan)
    }

    private static func producer(number: Int, plan: Plan) throws(KafkaError) -> Producer {
        try Producer(
            configuration: plan.client.merging([
                "partitioner": plan.plain ? "murmur2_random" : partitioners[number % partitioners.count],
                "linger.ms": "2", "message.timeout.ms": "120000",
                // Only some clients are idempotent.
                "enable.idempotence": number % 2 == 0 ? "true" : "false",
            ]), hooks: silentHooks)
    }

    mutating func run() throws(KafkaError) {
        var mix = CommandMix(client: number, plan: plan)
        var random = SeededGenerator(seed: plan.seed &* 17 &+ UInt64(number))
        let start = ContinuousClock.now
        var due = 0
        while load.isWanted {
            let elapsed = (ContinuousClock.now - start).seconds
            let target = Int(elapsed * plan.rate / Double(plan.clients))
            for _ in due..<max(due, target) where outstanding.count < Self.mostOutstanding {
                let command = mix.next()
                try send(command)
                if !plan.plain, random.chance(12) { schedule(command, &mix, &random) }
            }
            due = max(due, target)
            try sendRepeats()
            producer.poll(timeout: .milliseconds(10))
        }
        try sendRepeats()
        while outstanding.count > 0, !Interruption.isRequested { producer.poll(timeout: .milliseconds(100)) }
    }

    /// Schedules one or two repeats, immediately or later.
    private func schedule(_ command: Command, _ mix: inout CommandMix, _ random: inout SeededGenerator) {
        for _ in 0..<(random.chance(70) ? 1 : 2) {
            let delay = random.chance(50) ? 0 : Int.random(in: 0..<20_000, using: &random)
            // Another client, if there is one.
            let step = plan.clients > 1 ? Int.random(in: 1..<plan.clients, using: &random) : 0
            load.schedule(mix.repeating(command), by: (number + step) % plan.clients, after: .milliseconds(delay))
        }
    }

    private mutating func sendRepeats() throws(KafkaError) {
        for command in load.dueRepeats(for: number) { try send(command) }
    }

    /// Sends a command. After a fatal error, such as a broken sequence after a broker restart, it creates a new producer,
    /// as clients do.
    private mutating func send(_ command: Command) throws(KafkaError) {
        do throws(KafkaError) {
            try produce(command)
        } catch {
            guard error.isFatal else { throw error }
            producer = try Self.producer(number: number, plan: plan)
            try produce(command)
        }
    }

    private func produce(_ command: Command) throws(KafkaError) {
        let (load, outstanding) = (load, outstanding)
        let topic = plan.topic(command.topic)
        try producer.produce(topic: topic, key: command.key, value: command.value, headers: command.headers) { result in
            outstanding.count -= 1
            // What is not acknowledged may have been written all the same.
            guard case .success(let delivery) = result else { return }
            load.record(
                Load.Acknowledged(
                    topic: command.topic, partition: delivery.partition, offset: delivery.offset, value: command.value))
        }
        outstanding.count += 1
        load.countSent()
    }
}
