import Testing

@testable import torture

@Suite("The report tells what was done to the network and whether that proves anything")
struct NetworkReportTests {
    @Test func requestsAreCountedByKind() {
        var counts = RequestCounts()
        counts.add(.passed, of: .fetch)
        counts.add(.passed, of: .endTxn)
        counts.add(.heldBack, of: .endTxn)
        counts.add(.heldBack, of: .endTxn)
        let cells = counts.lines.map { $0.split(separator: " ").map(String.init) }
        #expect(
            cells == [
                ["requests", "passed", "held", "back", "cut", "delayed", "answer", "dropped", "replayed"],
                ["EndTxn", "1", "2", "0", "0", "0", "0"], ["Fetch", "1", "0", "0", "0", "0", "0"],
            ])
    }

    @Test func runWithoutPowerSaysSo() {
        var power = NetworkPower()
        power.record(.endTxn, Answer(error: 0), hasMet: false, isSameEpoch: true)
        #expect(
            power.line == "power: 1 late requests, and no late request met a later transaction: "
                + "this run proves nothing about late requests")
    }

    @Test func powerIsToldInOneLine() {
        var power = NetworkPower()
        power.record(.endTxn, Answer(error: 0), hasMet: true, isSameEpoch: true)
        power.record(.addPartitions, Answer(error: 47), hasMet: true, isSameEpoch: false)
        power.record(.endTxn, nil, hasMet: true, isSameEpoch: false)
        power.record(.endTxn, nil, hasMet: false, isSameEpoch: false)
        #expect(
            power.line == "power: 4 late requests, 3 met a later transaction of their transactional id, "
                + "1 of these in its own epoch; of the 3, brokers carried out 1 (EndTxn 1), "
                + "refused 1 (47 INVALID_PRODUCER_EPOCH: 1), left unanswered 1")
    }
}
