import FaultyNetwork
import JuiceEngine
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceService

@Suite(.concurrencyLimited) struct PositionAnchorTests {
    private static let success = KafkaError.Code(rawValue: 0)

    /// A running service takes the partition back, and fences the anchor while it claims or writes the note. Then nothing is
    /// written, or the note is there although its commit seemed to fail.
    static let fences = [
        Fault("claim", .endTransaction, [.producerFenced]), Fault("note", .produce, [success, .producerFenced]),
        Fault("note that is there", .endTransaction, [success, .producerFenced]),
        Fault("both", .endTransaction, [.producerFenced, success, .producerFenced]),
    ]

    private static func anchor(_ configuration: ServiceConfiguration) throws -> PositionAnchor {
        try PositionAnchor(
            configuration: configuration, topic: .orders, partition: 0, author: "somebody", timeout: .seconds(60),
            logger: quietLogger)
    }

    @Test(arguments: fences) func startsOverWhenFenced(fence: Fault) async throws {
        let cluster = try await TestCluster.embedded { cluster in
            try cluster.leaveSomeStock()
            for _ in 0..<3 { _ = try Till(cluster).order() }
        }
        try await onThread {
            let broker = cluster.broker
            let configuration = cluster.serviceConfiguration()
            // A look takes over no transactional ids: another anchor may be writing under them.
            broker.fail(next: .initProducerID, with: [Self.success])
            let anchor = try Self.anchor(configuration)
            let moves = try anchor.look(.latest).moves
            let end = InputPosition(topic: .orders, partition: 0, offset: 3)
            #expect(moves == [.init(from: 0, to: end, log: 0..<3)])
            #expect(broker.pendingFailures(of: .initProducerID) == 1)
            broker.fail(next: fence.request, with: fence.codes)
            try anchor.move(moves, reason: "a test")
            #expect(broker.pendingFailures(of: fence.request) == 0)
            let place = InputPlace(topic: .orders, partition: nil, offset: 3)
            let note = JournalNote.anchored(place, by: "somebody", reason: "a test")
            #expect(try cluster.journal().filter { $0 == note }.count == 1)
        }
    }

    /// It would answer a lookup by time with the log's end, so commands would be skipped.
    @Test func anEmbeddedBrokerFindsNoTimes() async throws {
        let cluster = try await TestCluster.embedded { _ = try Till($0).order() }
        let error = try await onThread {
            let anchor = try Self.anchor(cluster.serviceConfiguration())
            return #expect(throws: ServiceError.self) { try anchor.look(.time(0)) }
        }
        #expect(error?.description.contains("give --offset") == true, "\(error?.description ?? "")")
    }

    @Test(.onRealBroker) func itFindsTimesOnARealBroker() async throws {
        let cluster = try await TestCluster.real(partitionCount: 1)
        try await onThread {
            try cluster.makeProducer().send(
                (0..<3).map { (cluster.topics.orders, 0, nil, Array(#"{"orderId":"\#($0)","juice":"kiwi"}"#.utf8)) })
            let sent = try cluster.read(.orders, partitionCount: 1) { $0.count == 3 }.compactMap(\.timestamp)
            let anchor = try Self.anchor(cluster.serviceConfiguration())
            func next(since time: Timestamp) throws -> Offset? { try anchor.look(.time(time)).moves.first?.to.offset }
            #expect(try next(since: 0) == 0)
            let second = try #require(sent.dropFirst().first)
            #expect(try next(since: second) == Int64(sent.firstIndex(of: second) ?? -1))
            #expect(try next(since: (sent.max() ?? 0) + 1) == 3)
        }
    }

    /// A busy service notices at once that it is fenced.
    @Test(.onRealBroker)
    func itMovesThePositionBesideAServiceOnARealBroker() async throws {
        let cluster = try await TestCluster.real(partitionCount: 1)
        let configuration = cluster.serviceConfiguration()
        try await withRunningService(configuration) { _ in
            let producer = try cluster.makeProducer()
            for round in 0..<5 {
                try producer.send(
                    (0..<1000).map { number in
                        let order = #"{"orderId":"\#(round)-\#(number)","juice":"kiwi"}"#
                        return (cluster.topics.orders, 0, nil, Array(order.utf8))
                    })
                let anchor = try Self.anchor(configuration)
                try anchor.move(try anchor.look(.earliest).moves, reason: "\(round)")
            }
            let last = try cluster.read(.results, partitionCount: 1) {
                $0.last?.text.contains(#""orderId":"4-999""#) ?? false
            }
            #expect(last.last?.text.contains(#""orderId":"4-999""#) == true)
            let reasons = try cluster.journal().compactMap { note in
                if case .anchored(_, _, let reason, _) = note { reason } else { nil }
            }
            #expect(reasons == (0..<5).map(String.init))
        }
    }
}

extension TestCluster {
    /// The notes in the journal of partition 0.
    fileprivate func journal() throws -> [JournalNote] {
        let reader = try Consumer(configuration: serviceConfiguration().changelogConsumer, hooks: ClientHooks(logger: quietLogger))
        let place = topics[.results, 0]
        let end = try reader.endOffsets(of: [place], timeout: .seconds(60))[place] ?? 0
        var notes: [JournalNote] = []
        try reader.read([place: 0..<end], timeout: .seconds(60)) { _, record in
            if let value = record.value, let note = JournalNote(value) { notes.append(note) }
            return true
        }
        return notes
    }
}
