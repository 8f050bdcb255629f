import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Commands that arrive in a partition that does not own their store.
@Suite struct ForwardingTests {
    private let harness = Harness(partitions: 2)
    private var cluster: SimulatedCluster { harness.cluster }

    /// A store that lives in partition 1.
    private var store: String { cluster.store(in: 1) }

    /// Sends an order to partition 1, with a header that names where it was first read.
    private func order(_ id: String, from place: String, timestamp: Timestamp? = nil) {
        let header = MessageHeader(name: "juice.forwarded.from", value: place)
        cluster.order(id, "kiwi", partition: 1, headers: [header], timestamp: timestamp)
    }

    /// The copy is a little larger than the original, which may already have the largest size that the topic accepts.
    @Test func aCommandWithTooLargeHeadersIsForwardedWithoutThem() throws {
        harness.refuse { $0.size > 300_000 }
        let receipt = MessageHeader(name: "x-receipt", value: String(repeating: "x", count: 300_000))
        let sent = cluster.now - 1_000
        let trace = MessageHeader(name: "traceparent", value: "00-1")
        cluster.order("a", "banana", store: store, headers: [trace, receipt], timestamp: sent)
        harness.run()
        #expect(cluster.answers(partition: 1) == ["made a"])
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
        cluster.order("a", "banana", store: store, headers: [till], timestamp: now - 120_000)
        harness.run()
        #expect(cluster.answers(partition: 1) == ["made a"])
        let copy = try #require(cluster.records(.orders, partition: 1).first)
        #expect(copy.headers.first == till && copy.timestamp >= now)
        #expect(harness.failures.isEmpty)
    }

    /// The store's owner must be able to read the forwarded copy, and consumers the dead letter.
    @Test func aCommandWithTooManyHeadersForACopyIsADeadLetterWithoutThem() {
        let header = MessageHeader(name: "h", value: nil)
        for (id, count) in [("a", 99_989), ("b", 99_990)] {
            cluster.order(id, "banana", store: store, headers: Array(repeating: header, count: count))
        }
        harness.run()
        #expect(cluster.answers(partition: 1) == ["made a"])
        #expect(cluster.records(.orders, partition: 1).map(\.headers.count) == [99_990])
        #expect(cluster.records(.deadLetters).map(\.headers.count) == [5])
    }

    /// With the command's own time, the topic would refuse the copy, and the transaction would fail.
    @Test func aCopyOfAnOldCommandHasTheTimeOfForwarding() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let harness = Harness(cluster, oldestForward: 60_000)
        let now = cluster.now
        let till = MessageHeader(name: "x-till", value: nil)
        for age in [0, 59_000, 60_000, 3_600_000] as [Timestamp] {
            cluster.order("\(age)", "kiwi", store: store, headers: [till], timestamp: now - age)
        }
        harness.run()
        let copies = cluster.records(.orders, partition: 1)
        #expect(copies.map { $0.timestamp - now >= 0 ? 0 : $0.timestamp - now } == [0, -59_000, 0, 0])
        #expect(copies.allSatisfy { $0.headers.first == till })
        #expect(harness.restarts == 0)
    }

    /// An anchor may move the source partition back, to before a command that was never forwarded.
    @Test func aSecondCopyIsKnownAlsoBehindACommandFromAnEarlierPlace() {
        for (id, source) in [("a", "0/5"), ("b", "0/3"), ("a", "0/5")] { order(id, from: source) }
        harness.run()
        #expect(cluster.answers(partition: 1) == ["made a", "made b"])
    }

    /// Any client can write the header. A forged one must not suppress the answers to other commands.
    @Test func aForgedSourceSuppressesNoOtherCommand() {
        order("x", from: "0/1000000")
        harness.run()
        for id in ["x", "a"] {
            cluster.order(id, "kiwi", store: store)
            harness.run()
        }
        #expect(cluster.answers(partition: 1) == ["made x", "made x again", "made a"])
    }

    @Test func stockInAPartitionThatDoesNotOwnItStopsThePartition() {
        cluster.send(.stock, key: store, #"{"store":"\#(store)","revision":1,"stock":{"kiwi":1}}"#)
        harness.run()
        #expect(harness.fault?.reason.contains("belongs in partition 1 of 2") == true)
    }
}
