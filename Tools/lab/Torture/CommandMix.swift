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
    private let stores: Int
    private var count = 0
    /// Commands that cancel the latest orders: at most ``mostRecent``.
    private var cancels: [Command] = []
    /// Orders that were cancelled before they were sent.
    private var early: [Command] = []

    private static let mostRecent = 50

    init(client: Int, plan: Plan) {
        random = SeededGenerator(seed: plan.seed &* 31 &+ UInt64(client))
        commands = RandomCommands(seed: plan.seed &* 37 &+ UInt64(client))
        self.client = client
        stores = plan.stores
    }

    mutating func next() -> Command {
        if !early.isEmpty, random.chance(20) { return early.removeFirst() }
        if random.chance(5), let cancel = random.pick(cancels) { return cancel }
        let command = orderOrRestock()
        guard command.topic == "orders" else { return command }
        let cancel = Command(topic: "orders", key: command.key, value: Array(#"{"orderId":"\#(id)","cancel":true}"#.utf8))
        if cancels.count == Self.mostRecent { cancels.removeFirst() }
        cancels.append(cancel)
        guard random.chance(2) else { return command }
        early.append(command)
        return cancel
    }

    /// A repeat of the command, sometimes with another body.
    mutating func repeating(_ command: Command) -> Command {
        guard random.chance(5), let value = command.value else { return command }
        var other = command
        other.value = Array(String(decoding: value, as: UTF8.self).replacing(#""juice":"kiwi""#, with: #""juice":"mango""#).utf8)
        return other
    }

    private mutating func orderOrRestock() -> Command {
        count += 1
        let isOrder = random.chance(70)
        var command = Command(
            topic: isOrder ? "orders" : "restocks", key: key(),
            value: Array((isOrder ? commands.order(id, of: .standard) : commands.restock(id, of: .standard)).utf8))
        if random.chance(20) {
            let trace = "00-\(String(count, radix: 16))-\(client)-01"
            command.headers.append(RecordHeader(name: "traceparent", value: trace))
            if random.chance(20) { command.headers.append(RecordHeader(name: "tracestate", value: "till=\(client)")) }
        }
        if random.chance(10) { command.headers.append(RecordHeader(name: "shop", value: nil)) }
        if random.chance(4) { poison(&command) }
        return command
    }

    private mutating func key() -> [UInt8]? {
        // The default partitioner may place a record without a key on any partition.
        if random.chance(3) { return random.chance(50) ? nil : [] }
        return Array("store-\(Int.random(in: 0..<stores, using: &random))".utf8)
    }

    private var id: String { "\(client)-\(count)" }

    /// Makes a command invalid in a random way.
    private mutating func poison(_ command: inout Command) {
        switch random.number(0...10) {
        case 0: (command.key, command.headers) = ([0xFF, 0x00], [])
        // A header that claims the record was forwarded from an offset that does not exist.
        case 1: command.headers.append(RecordHeader(name: "juice.forwarded.from", value: "0/\(Int64.max)"))
        case 2: command.value = Array(repeating: UInt8(ascii: " "), count: 70_000)
        case 3...6:
            let (kind, value) = commands.rejected(id)
            command = Command(topic: "\(kind.inputTopic)", key: command.key, value: Array(value.utf8), headers: command.headers)
        default: command.value = commands.undecodable(id)
        }
    }
}
