import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Commands that arrive in a partition that does not own their store.
@Suite struct ForwardingTests {
    @Test func aCommandIsForwardedToItsStoresPartitionAndAnsweredThere() throws {
        let harness = Harness(SimulatedCluster(partitionCount: 3))
        let cluster = harness.cluster
        let store = cluster.store(in: 2)
        let till = MessageHeader(name: "x-till", value: nil)
        cluster.send(.orders, partition: 0, key: store, value: #"{"orderId":"a","juice":"banana"}"#, headers: [till])
        harness.run()
        #expect(cluster.answers(partition: 0).isEmpty)
        #expect(cluster.answers(partition: 2) == ["juiceMade a"])
        let (_, copy) = try #require(cluster[.orders, 2].readCommitted().records.first)
        #expect(copy.key.map { String(decoding: $0.view, as: UTF8.self) } == store)
        #expect(copy.value.map { String(decoding: $0.view, as: UTF8.self) } == #"{"orderId":"a","juice":"banana"}"#)
        #expect(copy.headers == [till, MessageHeader(name: "juice.forwarded.from", value: "0/0")])
    }

    @Test func aForwardedCommandInTheWrongPartitionBecomesADeadLetter() {
        let harness = Harness(SimulatedCluster(partitionCount: 2))
        let cluster = harness.cluster
        let forged = MessageHeader(name: "juice.forwarded.from", value: "0/0")
        cluster.send(
            .orders, partition: 1, key: cluster.store(in: 0), value: #"{"orderId":"a","juice":"banana"}"#, headers: [forged])
        harness.run()
        #expect(cluster.answers(partition: 0).isEmpty && cluster.answers(partition: 1).isEmpty)
        let letter = cluster[.deadLetters, 1].readCommitted().records.first?.record
        #expect(letter?.headers.contains(MessageHeader(name: "juice.error.code", value: "misplaced")) == true)
    }

    /// The copy is a little larger than the original, which may already have the largest size that the topic accepts.
    @Test func aCommandWithTooLargeHeadersIsForwardedWithoutThem() throws {
        let harness = Harness(SimulatedCluster(partitionCount: 2))
        let cluster = harness.cluster
        harness.log.largestRecord = 100_000
        cluster.send(
            .orders, partition: 0, key: cluster.store(in: 1), value: #"{"orderId":"a","juice":"banana"}"#,
            headers: [
                MessageHeader(name: "traceparent", value: "00-1"),
                MessageHeader(name: "x-receipt", value: String(repeating: "x", count: 100_000)),
            ], timestamp: cluster.now - 1_000)
        harness.run()
        #expect(cluster.answers(partition: 1) == ["juiceMade a"])
        let (_, copy) = try #require(cluster[.orders, 1].readCommitted().records.first)
        #expect(copy.headers.map(\.name) == ["traceparent", "juice.forwarded.from"])
        // It goes without a timestamp too, since that may be what the topic refused.
        #expect(copy.timestamp > cluster.now - 1_000)
    }

    /// The duplicate window counts from the time at which the client sent the command.
    @Test func aCopyKeepsItsTimestampUnlessThatIsInvalid() {
        let harness = Harness(SimulatedCluster(partitionCount: 2))
        let cluster = harness.cluster
        let now = cluster.now
        let sent = [now - 5_000, now, now + 60_000, 0, .min, .max]
        for (id, time) in sent.enumerated() {
            cluster.order("\(id)", "kiwi", store: cluster.store(in: 1), partition: 0, timestamp: time)
        }
        harness.run()
        let copies = cluster[.orders, 1].readCommitted().records.map(\.record.timestamp)
        #expect(copies == [now - 5_000, now, now, now, now, now])
    }

    /// Nothing is missed that was sent to an added partition before the worker knew of it.
    @Test(arguments: [InputTopic.orders, .restocks])
    func aPartitionThatWasAddedIsForwardedFromItsBeginning(topic: JuiceMessages.InputTopic) {
        let harness = Harness(SimulatedCluster(partitionCount: 2))
        let cluster = harness.cluster
        harness.run()
        cluster.enlarge(topic.topic, to: 4)
        let store = cluster.store(in: 1)
        let value =
            topic == .orders
            ? #"{"orderId":"a","juice":"banana"}"# : #"{"restockId":"a","add":{"kiwi":1}}"#
        cluster.send(topic.topic, partition: 3, key: store, value: value)
        harness.run()
        #expect(cluster.answers(partition: 1).isEmpty)
        cluster.announcePartitions(of: topic)
        harness.run()
        cluster.send(topic.topic, partition: 3, key: store, value: value)
        harness.run()
        let answer = topic == .orders ? "juiceMade a" : "restocked a"
        #expect(cluster.answers(partition: 1) == [answer, "\(answer) again"])
        #expect(cluster.isDrained)
        #expect(harness.held.partitions == 2)
    }

    /// Answers and stock do not use added partitions. Dead letters do if their topic has them.
    @Test func aDeadLetterComesFromAnAddedPartition() {
        let harness = Harness(SimulatedCluster(partitionCount: 2))
        let cluster = harness.cluster
        for topic in [Topic.orders, .results, .stock] { cluster.enlarge(topic, to: 4) }
        cluster.announcePartitions(of: .orders)
        cluster.send(.orders, partition: 3, key: cluster.store(in: 0), value: "juice, please")
        cluster.order("a", "banana", store: cluster.store(in: 0), partition: 2)
        harness.run()
        #expect(cluster.values(.deadLetters, partition: 1) == ["juice, please"])
        #expect(cluster.answers(partition: 0) == ["juiceMade a"])
        #expect(cluster.values(.stock, partition: 0).count == 1)
        #expect(cluster.isDrained)
    }

    /// A transaction may be torn between the forward and the note of it. Then the command is forwarded again.
    @Test func aCommandThatWasForwardedTwiceIsAnsweredOnce() {
        let harness = Harness(SimulatedCluster(partitionCount: 2))
        let cluster = harness.cluster
        let store = cluster.store(in: 1)
        for _ in 0..<2 { cluster.forwardedOrder("a", from: "0/0", store: store) }
        harness.run()
        #expect(cluster.answers(partition: 1) == ["juiceMade a"])
        #expect(cluster.values(.results, partition: 1).contains(#"{"type":"copy","topic":"orders","offset":1}"#))
    }

    /// An order that was cancelled before it came has an answer that nothing remembers, once the cancel is forgotten.
    @Test func aSecondCopyIsToldByItsPlaceWhenItsAnswerIsForgotten() {
        let harness = Harness(SimulatedCluster(partitionCount: 2), window: DuplicateWindow(age: 60_000, count: 1))
        let cluster = harness.cluster
        let store = cluster.store(in: 1)
        cluster.cancel("a", store: store, partition: 1, timestamp: cluster.now - 1_000)
        for round in 0..<2 {
            cluster.forwardedOrder("a", from: "0/0", store: store)
            cluster.order("other \(round)", "banana", store: store, partition: 1)
            harness.run()
        }
        #expect(cluster.answers(partition: 1) == ["cancelled a", "rejected a", "juiceMade other 0", "juiceMade other 1"])
    }

    /// Anybody can write the header. A forged one must not keep others' commands from being answered.
    @Test func aForgedSourceSuppressesNoOtherCommand() {
        let harness = Harness(SimulatedCluster(partitionCount: 2))
        let cluster = harness.cluster
        let store = cluster.store(in: 1)
        cluster.forwardedOrder("x", from: "0/1000000", store: store)
        harness.run()
        cluster.order("x", "kiwi", store: store, partition: 0)
        harness.run()
        cluster.order("a", "kiwi", store: store, partition: 0)
        harness.run()
        #expect(cluster.answers(partition: 1) == ["juiceMade x", "juiceMade x again", "juiceMade a"])
    }

    @Test func stockInAPartitionThatDoesNotOwnItStopsThePartition() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let store = cluster.store(in: 1)
        let stock = #"{"store":"\#(store)","revision":1,"stock":{"kiwi":1}}"#
        cluster.send(.stock, partition: 0, key: Array(store.utf8), value: Array(stock.utf8))
        let harness = Harness(cluster)
        harness.run()
        #expect(harness.faults.first?.reason.contains("belongs in partition 1 of 2") == true)
    }
}

extension SimulatedCluster {
    /// Sends an order to partition 1 whose header says that it was read first at a place.
    fileprivate func forwardedOrder(_ id: String, from place: String, store: String) {
        send(
            .orders, partition: 1, key: store, value: #"{"orderId":"\#(id)","juice":"kiwi"}"#,
            headers: [MessageHeader(name: "juice.forwarded.from", value: place)])
    }
}
