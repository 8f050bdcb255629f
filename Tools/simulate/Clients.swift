import JuiceDomain
import JuiceEngine
import JuiceMessages
import MessageSamples

/// POS systems and restock bots: they write commands, repeat some, and disagree about the partition of a store. Some write records
/// that are not commands.
struct Clients {
    private struct Record {
        let topic: InputTopic
        let key: [UInt8]?
        let value: [UInt8]?
        var headers: [MessageHeader] = []
        /// Nil for a record that is not a command.
        var id: String?
    }

    /// A record with its destination.
    private typealias Parcel = (record: Record, partition: Int32, timestamp: Timestamp)

    private let scenario: Scenario
    private var commands: RandomCommands
    /// Records that could not be delivered yet.
    private var held: [Parcel] = []
    private var written: [Record] = []
    private var count = 0
    /// The only topic that clients write to; nil for both.
    var only: InputTopic?

    init(_ scenario: Scenario, seed: UInt64) { (self.scenario, commands) = (scenario, RandomCommands(seed: seed)) }

    /// Sends a command. While no broker answers, it is held back and delivered later with its original timestamp.
    mutating func send(to cluster: SimulatedCluster, using random: inout SeededGenerator) {
        if !cluster.isDown, !held.isEmpty, random.chance(50) { return deliver(held.removeFirst(), to: cluster) }
        var record = nextRecord(using: &random)
        while let only, record.topic != only { record = nextRecord(using: &random) }
        let partition = partition(of: record.key, knownCount(of: record.topic, cluster), using: &random)
        let parcel = (record, partition, scenario.clocks.timestamp(at: cluster.now, using: &random))
        guard cluster.isDown else { return deliver(parcel, to: cluster) }
        held.append(parcel)
        cluster.trace?("client: holds back \(Self.text(record.value))")
    }

    /// Delivers all records that were held back.
    mutating func deliverAll(to cluster: SimulatedCluster) {
        for parcel in held { deliver(parcel, to: cluster) }
        held = []
    }

    /// Forgets all records so far: none is delivered late or repeated.
    mutating func forget() { (held, written) = ([], []) }

    private func deliver(_ parcel: Parcel, to cluster: SimulatedCluster) {
        let (record, partition, timestamp) = parcel
        guard cluster.takes(timestamp, in: record.topic.topic) else {
            cluster.trace?("client: \(record.topic)[\(partition)] refuses the time of \(Self.text(record.value))")
            return
        }
        cluster.send(
            record.topic.topic, partition: partition, key: record.key, value: record.value, headers: record.headers,
            timestamp: timestamp)
        guard let trace = cluster.trace else { return }
        let place = "\(record.topic)[\(partition)]@\(cluster[record.topic.topic, partition].end - 1)"
        let time = timestamp.subtractingReportingOverflow(cluster.now).partialValue
        trace("client: \(place) at \(time) ms \(Self.text(record.key)) \(Self.text(record.value))")
    }

    static func text(_ bytes: [UInt8]?, _ longest: Int = 100) -> String {
        bytes.map { String(decoding: $0.prefix(longest), as: UTF8.self) } ?? "null"
    }

    /// Two consecutive commands share an id. Mostly they differ in store or kind and so are two commands; otherwise the second
    /// is a repeat with other contents.
    private var id: String { "\(count / 2)" }

    private mutating func nextRecord(using random: inout SeededGenerator) -> Record {
        if random.chance(scenario.repeated), let record = random.pick(written.suffix(random.number(1...100))) { return record }
        count += 1
        if random.chance(scenario.poison) { return poison(using: &random) }
        let store = random.number(0...scenario.storeCount)
        // An order that may be cancelled: mostly one that was sent before, sometimes one that is sent later or never.
        let sent = written.suffix(30).filter { $0.topic == .orders }
        let earlier = random.chance(75) ? random.pick(sent) : nil
        let other = earlier?.id ?? "\(count / 2 + random.number(0...2))"
        let (kind, id, value) = random.chance(10) ? commands.rejected(id) : commands.valid(id, earlier: other)
        let key = id == earlier?.id ? earlier?.key : store == 0 ? nil : Array("store-\(store)".utf8)
        var record = Record(topic: kind.inputTopic, key: key, value: Array(value.utf8), id: id)
        if random.chance(10) { record.headers.append(MessageHeader(name: "traceparent", value: "00-\(count)-01")) }
        if random.chance(5) { record.headers.append(MessageHeader(name: "x-till", value: nil)) }
        written.append(record)
        return record
    }

    private mutating func poison(using random: inout SeededGenerator) -> Record {
        let order = Array(#"{"orderId":"\#(count)","juice":"kiwi"}"#.utf8)
        switch random.number(0...3) {
        case 0:
            let keys = [Array(repeating: UInt8(ascii: "k"), count: 129), [0xC3, 0x28]]
            return Record(topic: .orders, key: random.pick(keys) ?? [], value: order)
        case 1:
            // Its header says that it was forwarded, and it may land in the wrong partition.
            let forged = MessageHeader(name: HeaderName.forwardedFrom, value: "\(1_000 + count)/7")
            return Record(topic: .orders, key: Array("store-1".utf8), value: order, headers: [forged])
        default:
            let header = MessageHeader(name: "x-till", value: "7")
            return Record(
                topic: random.pick(InputTopic.allCases) ?? .orders, key: Array("store-1".utf8),
                value: commands.undecodable(), headers: random.chance(50) ? [header] : [])
        }
    }

    /// Some clients do not know of added partitions yet.
    private func knownCount(of topic: InputTopic, _ cluster: SimulatedCluster) -> Int32 {
        count.isMultiple(of: 3) ? cluster.partitionCount : cluster.count(of: topic.topic)
    }

    /// Most clients partition keys as Java clients do, some differently. Records without a key go anywhere.
    private func partition(of key: [UInt8]?, _ count: Int32, using random: inout SeededGenerator) -> Int32 {
        let key = key ?? (scenario.isTidy ? Array("main".utf8) : nil)
        guard let key, !random.chance(scenario.foreign) else { return Int32(random.number(0...Int(count) - 1)) }
        return key.withUnsafeBytes { Murmur2.partition(of: $0, count: count) }
    }
}

/// The clocks of clients: most are right, some are skewed, some return invalid times.
struct ClientClocks {
    // In percent of the commands.
    private let skewed: Double
    private let nonsense: Double
    private let late: Double

    /// In milliseconds.
    private let skews: [Timestamp]
    private let longestDelay: Int

    static let right = ClientClocks()

    private init() { (skewed, nonsense, late, skews, longestDelay) = (0, 0, 0, [], 0) }

    /// - Parameter age: the age of the duplicate window, in milliseconds. Skews and delays are multiples of it.
    init(age: Timestamp, using random: inout SeededGenerator) {
        func rate(_ most: Double) -> Double {
            random.chance(50) ? 0 : Double.random(in: 0...most, using: &random)
        }
        skewed = rate(100)
        nonsense = rate(30)
        late = rate(30)
        let most = Int(age) * 4
        skews = (0..<3).map { _ in Timestamp(random.number(-most...most)) }
        longestDelay = random.chance(50) ? Int(age) / 2 : most
    }

    /// The timestamp of a command that some client sends now.
    func timestamp(at now: Timestamp, using random: inout SeededGenerator) -> Timestamp {
        if random.chance(nonsense) {
            return random.pick([-1, 0, -10_000_000_000_000, .min, .max, now - 700_000_000, now + 1]) ?? 0
        }
        let delay = random.chance(late) ? random.number(0...longestDelay) : random.number(0...3)
        let skew = random.chance(skewed) ? random.pick(skews) ?? 0 : 0
        return now + skew - Timestamp(delay)
    }
}
