import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceEngine
@testable import JuiceService
@testable import simulate

/// What the engine may rely on, call by call, of a real broker, of the embedded one, and of the simulated cluster: what is proven
/// in the simulation holds only for ports that behave like the simulated one.
@Suite(.concurrencyLimited) struct PortTests {
    @Test func theSimulatedPortKeepsItsWord() throws {
        let cluster = SimulatedCluster(partitionCount: 1)
        let assignment = cluster.assignment(ofOrders: [0])
        let stage = Stage(
            isTransactional: true, order: { cluster.send(.orders, partition: 0, key: nil, value: Array($0.utf8)) },
            makePort: { SimulatedPort(cluster: cluster, member: $0 ? "worker" : "other", operatorOf: $0 ? nil : assignment) },
            settle: {
                cluster.writeAllMarkers()
                cluster.now += 20
            })
        try stage.walk()
    }

    @Test func thePortToAnEmbeddedBrokerKeepsItsWord() async throws {
        let cluster = try await TestCluster.embedded()
        try await onThread { try Stage(cluster, cluster.impatientConfiguration()).walk() }
    }

    @Test(.onRealBroker) func thePortToARealBrokerKeepsItsWord() async throws {
        let cluster = try await TestCluster.real(partitionCount: 1)
        try await onThread { try Stage(cluster, cluster.serviceConfiguration()).walk() }
    }
}

/// Logs of one partition, and a walk through the calls of a port to them.
private struct Stage {
    /// Whether aborted records are hidden, and former owners fenced. The embedded broker does neither.
    let isTransactional: Bool
    /// Sends an order with this value.
    let order: (String) throws -> Void
    /// Makes the port of a worker, or of another process.
    let makePort: (_ isWorker: Bool) throws -> any KafkaPort
    /// Lets time pass.
    let settle: () -> Void

    private static let orders = InputPartition(topic: .orders, partition: 0)
    private static let restocks = InputPartition(topic: .restocks, partition: 0)

    func walk() throws {
        try order("first")
        let port = try makePort(true)
        defer { port.leave(handsOver: true) }

        #expect(try assignment(of: port) == [Self.orders, Self.restocks])
        for _ in 0..<3 { #expect(try poll(port).values == [], "a partition is read before its start") }
        let ids = try done { () throws(LogError) in try port.initTransactions() }
        #expect(!ids.isEmpty && Set(ids).count == ids.count)
        let empty = try extents(port)
        #expect(empty.inputs == [Self.orders: 0..<1, Self.restocks: 0..<0] && empty.results == 0..<0 && empty.stock == 0..<0)

        // The group's offsets.
        #expect(try offset(port) == nil)
        try done { () throws(LogError) in
            try port.confirmMembership([Self.orders: GroupOffset(offset: 0, mark: JournalMark(claim: 7, records: 3))])
        }
        #expect(try offset(port) == GroupOffset(offset: 0, mark: JournalMark(claim: 7, records: 3)))

        // The inputs.
        try port.start(at: [InputPosition(Self.orders, 0), InputPosition(Self.restocks, 0)])
        var (read, ends): ([String], Set<InputPosition>) = ([], [])
        let isRead = try wait {
            let polled = try poll(port)
            (read, ends) = (read + polled.values, ends.union(polled.ends))
            return ends.isSuperset(of: [InputPosition(Self.orders, 1), InputPosition(Self.restocks, 0)])
        }
        #expect(isRead && read == ["orders 0: first"], "\(read) \(ends)")
        let again = try done { () throws(LogError) in
            let (records, damaged) = try port.readBack([Self.orders: 0..<1])
            return (records.map { Self.text($0.value) }, damaged)
        }
        #expect(again.0 == ["first"] && again.1.isEmpty)

        // Transactions.
        try begin(port, ["one", "two"])
        #expect(try commit(port) == [0, 1])
        #expect(try journal(port, .committed) == ["one", "two"])
        let former = try isTransactional ? interrupt(port, ids) : ids
        try begin(port, ["four"])
        try commit(port)
        #expect(try journal(port, .committed) == ["one", "two", "four"])
        let next = try done { () throws(LogError) in try port.initTransactions() }
        #expect(Set(next).isDisjoint(with: former))

        // The group again.
        try wait {
            port.publish([Self.orders: GroupOffset(offset: 1, mark: nil)])
            return try offset(port)?.offset == 1
        }
        port.leave(handsOver: true)
        #expect(try poll(port).values == [])
        try port.rejoin()
        #expect(try assignment(of: port) == [Self.orders, Self.restocks])
    }

    /// Another process takes over the ids during a transaction.
    ///
    /// - Returns: the ids of a new set.
    private func interrupt(_ port: any KafkaPort, _ ids: [String]) throws -> [String] {
        try begin(port, ["three"])
        try done { () throws(LogError) in try port.flush() }
        // Its transaction begins after two records and a marker.
        #expect(try open(port) == [ChangelogPosition(topic: .results, partition: 0, offset: 3)])
        #expect(try journal(port, .uncommitted) == ["one", "two", "three"])

        let other = try makePort(false)
        defer { other.leave(handsOver: false) }
        #expect(try done { () throws(LogError) in try other.fence(Set(ids)) }.isEmpty)
        let error = #expect(throws: LogError.self) { try commit(port) }
        #expect(error?.remedy == .startOver)
        #expect(try wait { try open(port).isEmpty })
        #expect(try journal(port, .committed) == ["one", "two"])
        #expect(try journal(port, .uncommitted) == ["one", "two", "three"])

        let next = try done { () throws(LogError) in try port.initTransactions() }
        #expect(Set(next).isDisjoint(with: ids))
        return next
    }

    /// Makes a call, and again as long as it asks for that.
    @discardableResult
    private func done<Result>(_ call: () throws(LogError) -> Result) throws -> Result {
        var result: Result?
        try wait {
            settle()
            do throws(LogError) { result = try call() } catch { guard error.remedy == .retry else { throw error } }
            return result != nil
        }
        return try #require(result)
    }

    private func poll(_ port: any KafkaPort) throws -> (values: [String], ends: [InputPosition]) {
        settle()
        guard case .records(let records, let ends) = try port.poll(maxRecords: 10, wait: .briefly) else { return ([], []) }
        return (records.map { "\($0.topic) \($0.offset): \(Self.text($0.value))" }, ends)
    }

    /// The inputs of the partition, once the port has it.
    private func assignment(of port: any KafkaPort) throws -> [InputPartition] {
        var inputs: [InputPartition] = []
        try wait {
            settle()
            if case .assigned(let found) = try port.poll(maxRecords: 10, wait: .briefly) { inputs = found.inputs(of: 0) }
            return !inputs.isEmpty
        }
        return inputs
    }

    private func extents(_ port: any KafkaPort) throws -> PartitionExtents {
        let (extents, leaderless) = try done { () throws(LogError) in try port.extents(of: [0]) }
        #expect(leaderless == [:] && extents.count == 1)
        return try #require(extents.first)
    }

    private func offset(_ port: any KafkaPort) throws -> GroupOffset? {
        try done { () throws(LogError) in try port.groupOffsets(of: [Self.orders]) }[Self.orders]
    }

    private func open(_ port: any KafkaPort) throws -> [ChangelogPosition] {
        let extents = try extents(port)
        return try done { () throws(LogError) in try port.openTransactions(in: [extents]) }
    }

    private func begin(_ port: any KafkaPort, _ values: [String]) throws {
        try done { () throws(LogError) in try port.begin() }
        for value in values {
            try Array(value.utf8).withUnsafeBytes {
                try port.produce(OutputRecord(topic: .results, partition: 0, key: $0, value: $0))
            }
        }
    }

    /// - Returns: the offsets of the results.
    @discardableResult
    private func commit(_ port: any KafkaPort) throws -> [Offset] {
        try done { () throws(LogError) in try port.flush() }
        return try done { () throws(LogError) in try port.commit() }[0, default: []].flatMap { Array($0) }
    }

    /// The values in the results, up to where no transaction is open or, with uncommitted ones, to the end.
    private func journal(_ port: any KafkaPort, _ isolation: Isolation) throws -> [String] {
        if isolation == .committed { try wait { try open(port).isEmpty } }
        try done { () throws(LogError) in
            try port.openChangelog([ChangelogPosition(topic: .results, partition: 0, offset: 0)], isolation: isolation)
        }
        var (values, isAtEnd) = ([String](), false)
        try wait {
            let batch = try done { () throws(LogError) in
                let batch = try port.readChangelog()
                return (values: batch.records.map { Self.text($0.value) }, isAtEnd: !batch.ends.isEmpty)
            }
            (values, isAtEnd) = (values + batch.values, batch.isAtEnd)
            return isAtEnd
        }
        #expect(isAtEnd)
        return values
    }

    private static func text(_ bytes: UnsafeRawBufferPointer?) -> String {
        bytes.map { String(decoding: $0, as: UTF8.self) } ?? "none"
    }
}

extension Stage {
    init(_ cluster: TestCluster, _ configuration: ServiceConfiguration) {
        let (watch, assignment) = (
            BrokerWatch(bootstrapServers: cluster.bootstrapServers, logger: quietLogger),
            InputAssignment(orders: [0], partitionCount: 1, orderCount: 1, restockCount: 1)
        )
        self.init(
            isTransactional: cluster.embedded == nil,
            order: { try cluster.makeProducer().send([(cluster.topics.orders, 0, nil, Array($0.utf8))]) },
            makePort: { isWorker in
                try LibrdkafkaPort(
                    configuration: configuration, worker: 0, storePartitions: 1, assignment: isWorker ? nil : assignment,
                    watch: watch, logger: quietLogger)
            },
            settle: {})
    }
}
