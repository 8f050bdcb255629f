import JuiceDomain
import JuiceEngine
import JuiceMessages

/// A Kafka cluster in memory, single-threaded and deterministic: partitions, consumer groups, a transaction coordinator and a
/// clock. The scheduler decides how long things take that need time in a real cluster, such as markers and sessions.
final class SimulatedCluster {
    /// The number of partitions that hold stores.
    let partitionCount: Int32
    /// Milliseconds since 1970, by the brokers' clocks, which are right.
    var now: Timestamp = 1_700_000_000_000
    /// How far the members' clocks are ahead, in milliseconds; negative if they are behind.
    var clockOffsets: [String: Timestamp] = [:]
    /// Whether the topics limit the timestamps of their records.
    var limitsTimes = false
    /// Whether no broker answers.
    var isDown = false
    /// The workers' consumer groups by number. Only rivals use the second.
    var groups: [SimulatedGroup]
    /// By the numbers of their ids, see ``number(of:)``.
    var transactions: [SimulatedTransaction] = []
    /// First copies of resent requests, still in flight.
    var lateRequests: [LateRequest] = []
    /// Offsets that groups have not received yet, by the group's number.
    var lateOffsets: [(group: Int, offsets: [Place: GroupOffset])] = []
    /// Producers with records in flight, some of them of processes that have ended.
    var sending: [SimulatedProducer] = []
    /// How irregular calls are, in percent: records, markers and late requests arrive late or out of order.
    var disorder = 0.0
    /// How many transactional requests are sent twice, in percent.
    var resending = 0.0
    var random = SeededGenerator(seed: 0)
    /// The topic that refuses large records now.
    var refusing: RefusingTopic?
    /// Called with a line for each event.
    var trace: ((String) -> Void)?
    /// The menu of the workers that start now, and of operators.
    var menu = Menu.standard
    /// Anchors that should have been refused.
    private(set) var wrongAnchors: [String] = []
    /// The offsets that other programs wrote to the stock.
    private(set) var strangeStock: [Int32: Set<Offset>] = [:]
    /// How often logs have lost their ends.
    private(set) var truncations = 0
    /// By topic, then by number.
    private var partitions: [[SimulatedPartition]]
    private var journals: [SimulatedJournal] = []
    private var anchorCount = 0
    /// Where transactions of other programs are open, and the first of their numbers.
    private(set) var foreignTransactions: [Place] = []
    private static let firstForeign = 1_000_000

    init(partitionCount: Int32) {
        self.partitionCount = partitionCount
        groups = (0..<2).map { _ in SimulatedGroup(partitionCounts: InputTopic.allCases.map { _ in partitionCount }) }
        partitions = Topic.allCases.map { _ in (0..<partitionCount).map { _ in SimulatedPartition() } }
        journals = (0..<partitionCount).map { SimulatedJournal(self[.results, $0], partition: $0) }
    }

    var group: SimulatedGroup {
        get { groups[0] }
        set { groups[0] = newValue }
    }

    /// Whether something irregular happens now.
    func isDisorderly() -> Bool { disorder > 0 && random.chance(disorder) }

    /// The number of a topic's partitions.
    func count(of topic: Topic) -> Int32 { Int32(partitions[topic.rawValue].count) }

    subscript(place: Place) -> SimulatedPartition { self[place.topic, place.partition] }

    subscript(topic: Topic, partition: Int32) -> SimulatedPartition { partitions[topic.rawValue][Int(partition)] }

    /// The inputs of a worker that is assigned these partitions of the orders.
    func assignment(ofOrders orders: [Int32]) -> InputAssignment {
        InputAssignment(
            orders: orders, partitionCount: partitionCount, orderCount: count(of: .orders), restockCount: count(of: .restocks))
    }

    /// Adds partitions, as an operator would. The group learns of them later.
    func enlarge(_ topic: Topic, to count: Int32) {
        while self.count(of: topic) < count { partitions[topic.rawValue].append(SimulatedPartition()) }
    }

    /// Makes an input's new partitions known to the groups.
    ///
    /// - Returns: whether there were any.
    @discardableResult func announcePartitions(of topic: InputTopic) -> Bool {
        let count = count(of: topic.topic)
        guard let index = InputTopic.allCases.firstIndex(of: topic), groups[0].partitionCounts[index] < count else { return false }
        for group in groups.indices { groups[group].partitionCounts[index] = count }
        return true
    }

    /// Whether every partition has a leader.
    var hasLeaders: Bool { partitions.allSatisfy { $0.allSatisfy { !$0.isLeaderless } } }

    func electLeaders() {
        for topic in partitions { for partition in topic { partition.isLeaderless = false } }
    }

    /// All partitions of the inputs.
    var inputs: [Place] {
        InputTopic.allCases.flatMap { topic in (0..<count(of: topic.topic)).map { Place(topic: topic.topic, partition: $0) } }
    }

    /// Loses the last entries of a partition, as in an election of a leader that was behind.
    func truncate(_ topic: Topic, _ partition: Int32, last count: Int) {
        self[topic, partition].truncate(last: count, number: truncations)
        truncations += 1
    }

    /// Whether a topic takes this timestamp: an input from a week behind to an hour ahead, any other topic up to two hours ahead.
    func takes(_ time: Timestamp, in topic: Topic) -> Bool {
        guard limitsTimes, time != -1 else { return true }
        guard topic == .orders || topic == .restocks else { return time <= now + 7_200_000 }
        return (now - CommandTimes.longestUnread...now + CommandTimes.furthestAhead).contains(time)
    }

    /// Which timestamps of commands count.
    var times: CommandTimes { CommandTimes(limitsAhead: limitsTimes, limitsBehind: limitsTimes) }

    /// Writes a record outside any transaction, as any client can; by default with the current time.
    func send(
        _ topic: Topic, partition: Int32, key: [UInt8]?, value: [UInt8]?, headers: [MessageHeader] = [], timestamp: Timestamp? = nil
    ) {
        self[topic, partition].append(
            SimulatedPartition.Record(
                key: key.map(StableBytes.init), value: value.map(StableBytes.init), headers: headers, timestamp: timestamp ?? now))
    }

    // MARK: - Other programs

    /// Writes a stock record that the audit must not blame on the service.
    func writeStrangeStock(_ partition: Int32, key: [UInt8], value: [UInt8]?) {
        strangeStock[partition, default: []].insert(self[.stock, partition].end)
        send(.stock, partition: partition, key: key, value: value)
    }

    /// Begins a transaction of another program, which stays open until ``endForeignTransactions()``, however long that takes.
    func beginForeignTransaction(in place: Place) {
        let producer = Self.firstForeign + foreignTransactions.count
        foreignTransactions.append(place)
        let record = SimulatedPartition.Record(
            key: nil, value: StableBytes(#"{"type":"foreign"}"#), headers: [], timestamp: now, transaction: nil)
        self[place].append(record, by: producer, epoch: 0)
    }

    /// Aborts the transactions of other programs.
    func endForeignTransactions() {
        for (index, place) in foreignTransactions.enumerated() {
            self[place].appendMarker(of: Self.firstForeign + index, .abort)
        }
        foreignTransactions = []
    }

    var hasForeignTransaction: Bool { !foreignTransactions.isEmpty }

    // MARK: - What the journals say

    /// The journal that covers a partition, read to its end.
    func journal(of partition: Int32) -> SimulatedJournal {
        let journal = journals[Int(partition % partitionCount)]
        journal.read()
        return journal
    }

    /// The offset after the last journalled record of an input; 0 if the journal does not say.
    func position(of input: Place) -> Offset { journal(of: input.partition).positions[input] ?? 0 }

    /// Whether every input record is journalled, except in partitions that have stopped.
    func isDrained(but stopped: Set<Int32> = []) -> Bool {
        inputs.allSatisfy { input in
            stopped.contains(input.partition % partitionCount)
                || self[input].read(from: position(of: input), max: 1, ignoringDamage: true).records.isEmpty
        }
    }

    /// Whether a restore of a partition reads no handled record of an input: at least three position notes have followed, and
    /// records of the other input more than twice this many milliseconds later.
    func isIdle(_ input: InputTopic, _ partition: Int32, for time: Timestamp) -> Bool {
        let records = self[.results, partition].read().records.map(\.record)
        func last(_ isWanted: (InputTopic) -> Bool) -> Int? {
            records.lastIndex { $0.value.flatMap { SimulatedJournal.handled($0.view) }.map { isWanted($0.topic) } ?? false }
        }
        guard let own = last({ $0 == input }), let other = last({ $0 != input }), own < other else { return false }
        return records[own...].count(where: SimulatedJournal.isPosition) > 2
            && records[other].timestamp > records[own].timestamp + 2 * time
    }

    /// The inputs with records that are not journalled, as text.
    var unread: String {
        inputs.filter { position(of: $0) < self[$0].end }.map { place in
            let results = self[.results, place.partition % partitionCount]
            return "\(place) \(position(of: place)) of \(self[place].end),"
                + " stable \(self[place].lastStableOffset), journal \(results.lastStableOffset) of \(results.end)"
        }.joined(separator: "; ")
    }

    /// Whether the group's offsets lag behind the ends of the inputs.
    var lags: Bool { inputs.contains { group.offsets[$0] ?? 0 < self[$0].end } }

    /// Moves a position with the code of the operator's tool. Nothing else happens meanwhile.
    ///
    /// - Parameters:
    ///   - missing: the loss that the operator accepts; by default the loss that the service reports, after an attempt with more.
    ///   - flaw: a flaw of the operator's tool.
    func anchor(_ position: InputPosition, accepting missing: Int64? = nil, flaw: Flaw? = nil) throws(LogError) {
        anchorCount += 1
        // The owner's claim may be lost. Then only a timeout ends its transaction.
        transactions.timeOut()
        let partition = position.partition % partitionCount
        let assignment = assignment(ofOrders: [partition])
        let log = SimulatedPort(cluster: self, member: "anchor-\(anchorCount)", operatorOf: assignment)
        let settings = WorkerSettings(
            menu: menu, language: .english, partitionCount: partitionCount, group: "group-0", instance: log.member)
        var anchoring = Anchoring(log: log, settings: settings, assignment: assignment)
        defer { writeAllMarkers() }
        var accepted = missing
        for _ in 0..<20 {
            do throws(LogError) {
                if accepted == nil {
                    let lost = try anchoring.inspect().fault?.missing ?? 0
                    if lost > 0 { tryAnchor(position, accepting: flaw == .anchorWithoutAccept ? lost : lost + 1) }
                    accepted = lost
                }
                return try anchoring.write([(position, nil)], by: "operator", reason: nil, accepting: accepted ?? 0)
            } catch {
                if error.remedy == .stop { throw error }
                if error.remedy == .startOver { try? anchoring.startOver() }
            }
        }
    }

    /// An anchor that does not accept exactly what is missing must be refused.
    private func tryAnchor(_ position: InputPosition, accepting missing: Int64) {
        guard (try? anchor(position, accepting: missing)) != nil else { return }
        wrongAnchors.append("\(position.topic)[\(position.partition)] is anchored without consent to what is missing")
    }
}

/// A partition of a topic.
struct Place: Hashable, Comparable, CustomStringConvertible {
    let topic: Topic
    let partition: Int32

    var description: String { "\(topic)[\(partition)]" }

    /// Sorting makes runs repeatable: the order of a dictionary is not.
    static func < (first: Place, second: Place) -> Bool {
        (first.partition, first.topic.rawValue) < (second.partition, second.topic.rawValue)
    }
}

extension Place {
    init(_ input: InputPartition) { self.init(topic: input.topic.topic, partition: input.partition) }
}
