import JuiceDomain
import Kafka
import MessageSamples

/// A record as a client sends it.
struct Command: Sendable {
    /// `orders` or `restocks`.
    let topic: String
    var key: [UInt8]?
    var value: [UInt8]?
    var headers: [RecordHeader] = []
}

/// Generates commands: mostly valid ones, and some invalid ones of each kind.
struct CommandMix {
    private var random: SeededGenerator
    private var commands: RandomCommands
    private let client: Int
    private let plan: Plan
    private var count = 0

    init(client: Int, plan: Plan) {
        random = SeededGenerator(seed: plan.seed &* 31 &+ UInt64(client))
        commands = RandomCommands(seed: plan.seed &* 37 &+ UInt64(client))
        (self.client, self.plan) = (client, plan)
    }

    mutating func next() -> Command {
        count += 1
        // An order that may be cancelled, at times before it is sent.
        let other = random.chance(90) ? max(1, count - random.number(1...50)) : count + random.number(1...50)
        let new = "\(client)-\(count)"
        let (kind, id, value) =
            random.chance(2) ? commands.rejected(new) : commands.valid(new, earlier: "\(client)-\(other)")
        let key = key(of: id == new ? count : other)
        var command = Command(topic: "\(kind.inputTopic)", key: key, value: Array(value.utf8))
        if random.chance(20) {
            let trace = "00-\(String(count, radix: 16))-\(client)-01"
            command.headers.append(RecordHeader(name: "traceparent", value: trace))
            if random.chance(20) { command.headers.append(RecordHeader(name: "tracestate", value: "till=\(client)")) }
        }
        if random.chance(10) { command.headers.append(RecordHeader(name: "shop", value: nil)) }
        if random.chance(3) { poison(&command) }
        return command
    }

    /// A repeat of the command, sometimes with another body.
    mutating func repeating(_ command: Command) -> Command {
        guard random.chance(5), let value = command.value else { return command }
        var other = command
        other.value = Array(String(decoding: value, as: UTF8.self).replacing(#""juice":"kiwi""#, with: #""juice":"mango""#).utf8)
        return other
    }

    /// The store of the command with this number, so that a later one about the same order reaches it.
    private func key(of number: Int) -> [UInt8]? {
        var random = SeededGenerator(seed: plan.seed &* 41 &+ UInt64(number))
        // The default partitioner may place a record without a key on any partition.
        if random.chance(3) { return random.chance(50) ? nil : [] }
        return Array("store-\(random.number(0...plan.stores - 1))".utf8)
    }

    /// Makes a record that is no command of its store.
    private mutating func poison(_ command: inout Command) {
        switch random.number(0...5) {
        case 0: (command.key, command.headers) = ([0xFF, 0x00], [])
        // A header that claims the record was forwarded from an offset that does not exist.
        case 1: command.headers.append(RecordHeader(name: "juice.forwarded.from", value: "0/\(Int64.max)"))
        case 2: command.value = Array(repeating: UInt8(ascii: " "), count: 70_000)
        default: command.value = commands.undecodable()
        }
    }
}
