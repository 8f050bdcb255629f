import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Commands that arrive in a partition that does not own their store.
@Suite struct ForwardingTests {
    private let harness = Harness(partitions: 2)
    private var cluster: SimulatedCluster { harness.cluster }
    private static let value = #"{"orderId":"a","juice":"banana"}"#

    /// A store that lives in partition 1.
    private var store: String { cluster.store(in: 1) }

    /// Sends an order to partition 1, with a header that names where it was first read.
    private func order(_ id: String, from place: String, timestamp: Timestamp? = nil) {
        let header = MessageHeader(name: "juice.forwarded.from", value: place)
        cluster.send(
            .orders, partition: 1, key: store, #"{"orderId":"\#(id)","juice":"kiwi"}"#, headers: [header], timestamp: timestamp)
    }

    /// The copy is a little larger than the original, which may already have the largest size that the topic accepts.
    @Test func aCommandWithTooLargeHeadersIsForwardedWithoutThem() throws {
        harness.refuse { $0.size > 300_000 }
        let receipt = MessageHeader(name: "x-receipt", value: String(repeating: "x", count: 300_000))
        let sent = cluster.now - 1_000
        cluster.send(
            .orders, key: store, Self.value, headers: [MessageHeader(name: "traceparent", value: "00-1"), receipt],
            timestamp: sent)
        harness.run()
        #expect(cluster.answers(partition: 1) == ["juiceMade a"])
        let copy = try #require(cluster.records(.orders, partition: 1).first)
        #expect(copy.headers.map(\.name) == ["traceparent", "juice.forwarded.from"])
        #expect(copy.timestamp == sent)
    }

    /// Without the right to read the topic's settings, the service does not know the limit.
    @Test func aCommandWhoseTimeIsRefusedIsForwardedWithAnother() throws {
        let now = cluster.now
        harness.log.refusal = {
            $0.timestamp ?? now < now - 60_000
                ? LogError(.startOver, "too old", subject: .time($0.topic, partition: $0.partition)) : nil
        }
        let till = MessageHeader(name: "x-till", value: "7")
        cluster.send(.orders, key: store, Self.value, headers: [till], timestamp: now - 120_000)
        harness.run()
        #expect(cluster.answers(partition: 1) == ["juiceMade a"])
        let copy = try #require(cluster.records(.orders, partition: 1).first)
        #expect(copy.headers.first == till && copy.timestamp >= now)
        #expect(!harness.hasFailing)
    }

    /// The store's owner must be able to read the forwarded copy, and consumers the dead letter.
    @Test func aCommandWithTooManyHeadersForACopyIsADeadLetterWithoutThem() {
        let header = MessageHeader(name: "h", value: nil)
        for (id, count) in [("a", 99_989), ("b", 99_990)] {
            let order = #"{"orderId":"\#(id)","juice":"banana"}"#
            cluster.send(.orders, key: store, order, headers: Array(repeating: header, count: count))
        }
        harness.run()
        #expect(cluster.answers(partition: 1) == ["juiceMade a"])
        #expect(cluster.records(.orders, partition: 1).map(\.headers.count) == [99_990])
        #expect(cluster.records(.deadLetters).map(\.headers.count) == [5])
    }

    /// The duplicate window counts from the time at which the client sent the command.
    @Test func aCopyKeepsItsTimestampUnlessThatIsInvalid() {
        let now = cluster.now
        let sent = [now - 5_000, now, now + 60_000, 0, .min, .max]
        for (id, time) in sent.enumerated() { cluster.order("\(id)", "kiwi", store: store, timestamp: time) }
        harness.run()
        #expect(cluster.records(.orders, partition: 1).map(\.timestamp) == [now - 5_000, now, now, now, now, now])
    }

    /// With the command's own time, the topic would refuse the copy, and the transaction would fail.
    @Test func aCopyOfAnOldCommandHasTheTimeOfForwarding() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let harness = Harness(cluster, oldestForward: 60_000)
        let now = cluster.now
        let till = MessageHeader(name: "x-till", value: nil)
        for age in [0, 59_000, 60_000, 3_600_000] as [Timestamp] {
            cluster.send(
                .orders, key: store, #"{"orderId":"\#(age)","juice":"kiwi"}"#, headers: [till], timestamp: now - age)
        }
        harness.run()
        let copies = cluster.records(.orders, partition: 1)
        #expect(copies.map { $0.timestamp - now >= 0 ? 0 : $0.timestamp - now } == [0, -59_000, 0, 0])
        #expect(copies.allSatisfy { $0.headers.first == till })
        #expect(!harness.hasStartedOver)
    }

    /// An anchor may move the source partition back, to before a command that was never forwarded.
    @Test func aSecondCopyIsKnownAlsoBehindACommandFromAnEarlierPlace() {
        for (id, source) in [("a", "0/5"), ("b", "0/3"), ("a", "0/5")] { order(id, from: source) }
        harness.run()
        #expect(cluster.answers(partition: 1) == ["juiceMade a", "juiceMade b"])
    }

    /// An order that arrives after its cancel is rejected. Once the cancel is evicted, nothing remembers that answer.
    @Test func recognizesACopyByItsPlaceAfterForgettingItsAnswer() {
        let harness = Harness(cluster, member: "two", window: DuplicateWindow(age: 60_000, count: 1))
        cluster.cancel("a", partition: 1, timestamp: cluster.now - 1_000)
        for round in 0..<2 {
            order("a", from: "0/0")
            cluster.order("other \(round)", "banana", partition: 1)
            harness.run()
        }
        #expect(cluster.answers(partition: 1) == ["cancelled a", "rejected a", "juiceMade other 0", "juiceMade other 1"])
    }

    /// The source partition may be down for longer than the window, while the owner restarts.
    @Test func recognizesACopyByItsPlaceWithoutARestoredAnswer() {
        let sent = cluster.now
        order("a", from: "0/0", timestamp: sent)
        for round in 0..<5 {
            let harness = Harness(cluster, member: "\(round)", window: DuplicateWindow(age: 60_000, count: 1_000))
            cluster.order("other \(round)", "banana", partition: 1)
            harness.run()
            if round == 4 { order("a", from: "0/0", timestamp: sent) }
            harness.runAndLeave()
            cluster.now += 50_000
        }
        #expect(cluster.answers(partition: 1) == ["juiceMade a"] + (0..<5).map { "juiceMade other \($0)" })
    }

    /// Any client can write the header. A forged one must not suppress the answers to other commands.
    @Test func aForgedSourceSuppressesNoOtherCommand() {
        order("x", from: "0/1000000")
        harness.run()
        for id in ["x", "a"] {
            cluster.order(id, "kiwi", store: store)
            harness.run()
        }
        #expect(cluster.answers(partition: 1) == ["juiceMade x", "juiceMade x again", "juiceMade a"])
    }

    @Test func stockInAPartitionThatDoesNotOwnItStopsThePartition() {
        cluster.send(.stock, key: store, #"{"store":"\#(store)","revision":1,"stock":{"kiwi":1}}"#)
        harness.run()
        #expect(harness.fault?.reason.contains("belongs in partition 1 of 2") == true)
    }
}
