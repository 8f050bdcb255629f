import Testing

@testable import FaultyNetwork

@Suite("Late requests are let go when they meet a later transaction") struct LateRequestsTests {
    private static let done = Response()
    private static let refused = Response(error: 47)

    private var late = LateRequests()

    private mutating func forwarding(_ key: ApiKey, of id: String = "t", epoch: Int16 = 0) throws -> [LateRequests.ID] {
        late.forwarding(try request(key, of: id, epoch: epoch))
    }

    private mutating func answered(
        _ key: ApiKey, of id: String = "t", epoch: Int16 = 0, _ response: Response = done
    ) throws -> [LateRequests.ID] {
        late.answered(try request(key, of: id, epoch: epoch), response)
    }

    /// Keeps a request of an open transaction, which then ends.
    private mutating func keep(_ keys: ApiKey..., until moment: Moment) throws {
        _ = try answered(.addPartitionsToTxn)
        for key in keys { _ = late.keep(try request(key, of: "t"), until: moment) }
        _ = try answered(.endTxn)
    }

    @Test mutating func beforeItsMomentItMeetsOnlyItsOwnTransaction() throws {
        _ = try answered(.addPartitionsToTxn)
        _ = late.keep(try request(.endTxn, of: "t"), until: .before(.endTxn))
        // The client sends it again; that is still the same transaction.
        #expect(try forwarding(.endTxn) == [])
        _ = try answered(.endTxn)
        #expect(try forwarding(.endTxn) == [])
    }

    @Test(arguments: [
        (Moment.answered(.addPartitionsToTxn), "open"), (.before(.produce), "produce"), (.answered(.produce), "produced"),
        (.before(.endTxn), "end"),
        // A request without a better moment is forwarded before the end.
        (.answered(.endTxn), "end"), (.before(.initProducerId), "end"),
    ])
    mutating func itIsLetGoAtItsMoment(moment: Moment, step: String) throws {
        try keep(.endTxn, until: moment)
        #expect(try answered(.addPartitionsToTxn) == (step == "open" ? [1] : []))
        #expect(try forwarding(.produce) == (step == "produce" ? [1] : []))
        #expect(try answered(.produce) == (step == "produced" ? [1] : []))
        #expect(try forwarding(.endTxn) == (step == "end" ? [1] : []))
        #expect(late.isUnderWay(for: "t"))
        let isLetGoAgain = late.release(1)
        #expect(!isLetGoAgain)
        _ = late.ended(1, Self.done)
        #expect(!late.isUnderWay(for: "t"))
    }

    @Test mutating func neitherAnotherTransactionalIdNorARefusalOpensOne() throws {
        try keep(.endTxn, until: .answered(.addPartitionsToTxn))
        #expect(try answered(.addPartitionsToTxn, of: "u") == [])
        #expect(try forwarding(.endTxn, of: "u") == [])
        #expect(try answered(.addPartitionsToTxn, Response(error: 51)) == [])
        #expect(try answered(.addPartitionsToTxn) == [1])
    }

    @Test mutating func initProducerIdEndsWhatWasOpen() throws {
        _ = try answered(.addPartitionsToTxn)
        _ = late.keep(try request(.produce, of: "t"), until: .before(.endTxn))
        _ = try answered(.initProducerId, Response(producer: ProducerIdentity(id: 4_000, epoch: 1)))
        _ = try answered(.addPartitionsToTxn, epoch: 1)
        #expect(try forwarding(.endTxn, epoch: 1) == [1])
        _ = late.ended(1, Self.refused)
        #expect(
            late.power.line.hasPrefix("power: 1 late requests, 1 met a later transaction of their transactional id, 0 of these"))
    }

    @Test mutating func firstAddPartitionsBelongsToTheTransactionThatItOpens() throws {
        _ = late.keep(try request(.addPartitionsToTxn, of: "t"), until: .answered(.addPartitionsToTxn))
        // The resent request opens the first transaction; only the second one is later.
        #expect(try answered(.addPartitionsToTxn) == [])
        _ = try answered(.endTxn)
        #expect(try answered(.addPartitionsToTxn) == [1])
    }

    @Test func waitIsBounded() {
        #expect(Moment.after(.seconds(2)).wait == .seconds(2))
        #expect(Moment.after(.seconds(90)).wait == .seconds(30))
        #expect(Moment.before(.endTxn).wait == .seconds(30))
    }

    @Test mutating func powerIsOneLine() throws {
        _ = late.keep(try request(.endTxn, of: "t"), until: .after(.zero))
        _ = late.release(1)
        _ = late.ended(1, Self.done)
        #expect(late.power.line.hasSuffix("none met a later transaction: this run proves nothing about late requests"))
        try keep(.endTxn, .addPartitionsToTxn, .addPartitionsToTxn, .initProducerId, .produce, until: .before(.endTxn))
        _ = try answered(.addPartitionsToTxn)
        #expect(try forwarding(.endTxn) == [2, 3, 4, 5, 6])
        let responses: [Response?] = [Self.done, Self.done, Self.refused, Response(error: 90), nil]
        for (id, response) in zip(2...6, responses) { _ = late.ended(id, response) }
        #expect(
            late.power.line == "power: 6 late requests, 5 met a later transaction of their transactional id, 4 of these in its "
                + "own epoch; of the 5, brokers carried out 2 and refused 2")
    }

    @Test mutating func lateEndHarmsUnlessRefused() throws {
        try keep(.endTxn, .endTxn, until: .answered(.addPartitionsToTxn))
        _ = try answered(.addPartitionsToTxn)
        let (harmed, refused) = (late.ended(1, Self.done), late.ended(2, Self.refused))
        #expect(harmed == "t")
        #expect(refused == nil)
    }

    @Test func onlyTheFirstHarmCountsAndOnlyWhileItIsAwaited() {
        let start = ContinuousClock.now
        var cue = KillCue()
        cue.signal(harmed: "a", at: start)
        #expect(cue.transactionalID == nil)
        cue = KillCue(isArmed: true)
        cue.signal(harmed: "b", at: start)
        cue.signal(harmed: "c", at: start)
        #expect(cue.transactionalID == "b")
        #expect(cue.isHolding("b", at: start))
        #expect(!cue.isHolding("c", at: start))
        #expect(!cue.isHolding("b", at: start + KillCue.pause))
    }
}
