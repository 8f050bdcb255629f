import JuiceDomain
import JuiceEngine
import JuiceMessages

/// A Kafka cluster in memory, single-threaded and deterministic: partitions, consumer groups, a transaction coordinator and
/// a clock. The scheduler decides how long anything takes that takes time in a real cluster, such as markers and sessions.
final class SimulatedCluster {
    /// How many partitions stores live in.
    let partitionCount: Int32
    /// Milliseconds since 1970.
    var now: Timestamp = 1_700_000_000_000
    /// Whether no broker answers.
    var isDown = false
    /// The consumer groups by number. All tests but those of rivals have one.
    var groups: [SimulatedGroup]
    var transactions = SimulatedTransactions()
    /// First copies of requests that were resent, still under way.
    var lateRequests: [LateRequest] = []
    /// Offsets that groups have not received yet, by the group's number.
    var lateOffsets: [(group: Int, offsets: [Place: Offset])] = []
    /// Producers with records under way, some of processes that are no more.
    var sending: [SimulatedProducer] = []
    /// What happens in the middle of calls, in percent: records arrive out of order or later, as do markers and late requests.
    var disorder = 0.0
    /// How many transactional requests are sent twice, in percent.
    var resending = 0.0
    var random = SeededGenerator(seed: 0)
    /// Called with a line for what happens.
    var trace: ((String) -> Void)?
    /// How many logs have lost their ends.
    private(set) var truncations = 0
    /// By topic, then by number.
    private var partitions: [[SimulatedPartition]]
    private(set) var journals: [SimulatedJournal] = []

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

    /// Whether something out of the ordinary happens now.
    func isDisorderly() -> Bool { disorder > 0 && random.chance(disorder) }

    /// The number of a topic's partitions.
    func count(of topic: Topic) -> Int32 { Int32(partitions[topic.rawValue].count) }

    subscript(place: Place) -> SimulatedPartition {
        partitions[place.topic.rawValue][Int(place.partition)]
    }

    subscript(topic: Topic, partition: Int32) -> SimulatedPartition {
        partitions[topic.rawValue][Int(partition)]
    }

    /// What a worker reads that is assigned these partitions of the orders.
    func share(ofOrders orders: [Int32]) -> InputAssignment {
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
        for group in groups.indices { groups[group].setPartitionCount(count, ofTopic: index) }
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

    /// Writes a record outside any transaction, as any client can; by default with the time of day.
    func send(
        _ topic: Topic, partition: Int32, key: [UInt8]?, value: [UInt8]?, headers: [MessageHeader] = [], timestamp: Timestamp? = nil
    ) {
        self[topic, partition].append(
            SimulatedPartition.Record(
                key: key.map(StableBytes.init), value: value.map(StableBytes.init), headers: headers, timestamp: timestamp ?? now))
    }

    /// The journal that tells of an input partition.
    func journal(of input: Place) -> SimulatedJournal { journals[Int(input.partition % partitionCount)] }

    /// The next record of an input to be journalled; 0 if the journal does not say.
    func position(of input: Place) -> Offset { journal(of: input).positions[input] ?? 0 }

    /// Whether every record of the inputs is journalled, but for those of partitions that nobody reads.
    func isDrained(but stopped: Set<Int32>) -> Bool {
        for journal in journals { journal.read() }
        return inputs.allSatisfy { input in
            stopped.contains(input.partition % partitionCount)
                || self[input].read(.committed, from: position(of: input), max: 1, ignoringDamage: true).records.isEmpty
        }
    }

    var isDrained: Bool { isDrained(but: []) }

    /// Whether a worker wrote the last claim to a partition. Another one may find its logs to be newer than it knows.
    func isOwner(_ log: SimulatedLog, of partition: Int32) -> Bool {
        let journal = journals[Int(partition)]
        journal.read()
        return journal.claimer == log.producers.map(\.id)
    }

    /// What is not journalled, for people.
    var unread: String {
        inputs.filter { position(of: $0) < self[$0].end }.map { place in
            let results = self[.results, place.partition % partitionCount]
            return "\(place) \(position(of: place)) of \(self[place].end),"
                + " stable \(self[place].lastStableOffset), journal \(results.lastStableOffset) of \(results.end)"
        }.joined(separator: "; ")
    }

    /// Whether the group's offsets are not at the ends of the inputs.
    var lags: Bool { inputs.contains { (group.committed([$0])[$0] ?? 0) < self[$0].end } }
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

// MARK: - Transactions

/// The first copy of a transactional request that the client gave up on and resent.
struct LateRequest {
    enum Kind {
        /// InitProducerId.
        case takeOver
        /// AddPartitionsToTxn.
        case addPartition(Place)
        /// EndTxn.
        case end(Decision)

        var text: String {
            switch self {
            case .takeOver: "takeover"
            case .addPartition(let place): "addition of \(place)"
            case .end(let decision): decision.rawValue
            }
        }
    }

    let producer: Int
    let epoch: Int
    let kind: Kind
}

extension SimulatedCluster {
    /// Keeps the first copy of a request at times, which arrives when the scheduler decides, or never.
    ///
    /// A late Produce is not kept, since its sequence number identifies it.
    func keepLate(_ kind: LateRequest.Kind, _ producer: Int, _ epoch: Int) {
        guard resending > 0, random.chance(resending) else { return }
        lateRequests.append(LateRequest(producer: producer, epoch: epoch, kind: kind))
    }

    /// Delivers one of the late requests. The coordinator checks id and epoch only: it cannot tell transactions of one epoch
    /// apart.
    func receiveLateRequest() {
        guard !lateRequests.isEmpty else { return }
        // Those that may do harm now come first: a decision about a transaction that is open.
        let harmful = lateRequests.indices.filter {
            if case .end = lateRequests[$0].kind { transactions.isOngoing(lateRequests[$0].producer) } else { false }
        }
        guard let index = random.pick(harmful) ?? random.pick(lateRequests.indices) else { return }
        let request = lateRequests.remove(at: index)
        let (id, epoch) = (request.producer, request.epoch)
        let reply: SimulatedTransactions.Reply
        switch request.kind {
        case .takeOver: reply = transactions.takeOver(id) == nil ? .concurrent : .done
        case .addPartition(let place): reply = transactions.add(place, to: id, epoch: epoch, at: now)
        case .end(let decision): reply = transactions.end(id, epoch: epoch, decision)
        }
        trace?("late \(request.kind.text) of \(transactions.id(of: id)): \(reply)")
    }

    /// What others do in the middle of a call.
    func interlude() {
        guard isDisorderly() else { return }
        switch random.number(0...2) {
        case 0: receiveLateRequest()
        case 1: writeMarker()
        default: deliver()
        }
    }

    /// Delivers a record that is under way.
    func deliver() {
        sending.removeAll { !$0.hasQueue }
        random.pick(sending)?.deliver()
    }

    /// Writes one of the markers that are due.
    func writeMarker() {
        guard let producer = random.pick(transactions.ending) else { return }
        writeMarker(of: producer)
    }

    /// - Returns: whether one could be written.
    @discardableResult private func writeMarker(of producer: Int) -> Bool {
        let marker = transactions.nextMarker(of: producer, using: &random) { !self[$0].isLeaderless }
        guard let (place, decision) = marker else { return false }
        self[place].appendMarker(of: producer, decision)
        return true
    }

    /// Takes over transactional ids without a failure.
    func fenceAtOnce(_ ids: Set<String>) {
        for producer in ids.sorted().map({ transactions.number(of: $0) }) {
            for _ in 0..<2 where transactions.takeOver(producer) == nil { while writeMarker(of: producer) {} }
        }
    }

    func writeAllMarkers() {
        for producer in transactions.ending { while writeMarker(of: producer) {} }
    }
}
