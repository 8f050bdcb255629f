import Testing

@testable import torture

@Suite("Late requests are let go when they meet a later transaction")
struct LateRequestsTests {
    private static let done = Answer(error: 0)
    private static let refused = Answer(error: 47)

    /// A transaction that has begun.
    private func open(_ late: inout LateRequests, epoch: Int16 = 0) throws {
        _ = late.answered(try request(.addPartitions, epoch: epoch), Self.done)
    }

    private func end(_ late: inout LateRequests, epoch: Int16 = 0) throws {
        _ = late.answered(try request(.endTxn, epoch: epoch), Self.done)
    }

    @Test func beforeItsMomentItMeetsOnlyItsOwnTransaction() throws {
        var late = LateRequests()
        try open(&late)
        _ = late.keep(try request(.endTxn), until: .before(.endTxn), at: .zero)
        // The client resends it; that is still the same transaction.
        #expect(late.forwarding(try request(.endTxn)) == [])
        try end(&late)
        #expect(late.forwarding(try request(.endTxn)) == [])
    }

    @Test(arguments: [
        (Moment.answered(.addPartitions), "open"), (.before(.produce), "produce"),
        (.answered(.produce), "produced"), (.before(.endTxn), "end"),
        // A request without a better moment is forwarded before the end.
        (.answered(.endTxn), "end"), (.before(.initProducerID), "end"),
    ])
    func itIsLetGoAtItsMoment(moment: Moment, step: String) throws {
        var late = LateRequests()
        try open(&late)
        let id = late.keep(try request(.endTxn), until: moment, at: .zero)
        try end(&late)
        let steps: [(String, (inout LateRequests) throws -> [LateRequests.ID])] = [
            ("open", { $0.answered(try request(.addPartitions), Self.done) }),
            ("produce", { $0.forwarding(try request(.produce)) }), ("produced", { $0.answered(try request(.produce), Self.done) }),
            ("end", { $0.forwarding(try request(.endTxn)) }),
        ]
        for (name, take) in steps { #expect(try take(&late) == (name == step ? [id] : []), "\(name)") }
        #expect(late.isUnderWay(for: "t"))
        _ = late.ended(id, Self.done)
        #expect(!late.isUnderWay(for: "t"))
    }

    @Test func anotherTransactionalIdIsNoneOfItsBusiness() throws {
        var late = LateRequests()
        try open(&late)
        _ = late.keep(try request(.endTxn), until: .before(.endTxn), at: .zero)
        try end(&late)
        _ = late.answered(try request(.addPartitions, of: "u"), Self.done)
        #expect(late.forwarding(try request(.endTxn, of: "u")) == [])
    }

    @Test func refusedAddPartitionsOpensNothing() throws {
        var late = LateRequests()
        try open(&late)
        _ = late.keep(try request(.endTxn), until: .answered(.addPartitions), at: .zero)
        try end(&late)
        #expect(late.answered(try request(.addPartitions), Answer(error: 51)) == [])
        #expect(late.answered(try request(.addPartitions), Self.done) == [1])
    }

    @Test func initProducerIdEndsWhatWasOpen() throws {
        var late = LateRequests()
        try open(&late)
        _ = late.keep(try request(.produce), until: .before(.endTxn), at: .zero)
        let bumped = Answer(error: 0, producer: ProducerIdentity(id: 4_000, epoch: 1))
        _ = late.answered(try request(.initProducerID), bumped)
        try open(&late, epoch: 1)
        #expect(late.forwarding(try request(.endTxn, epoch: 1)) == [1])
        _ = late.ended(1, Self.refused)
        #expect(late.power.met == 1)
        #expect(late.power.sameEpoch == 0)
        #expect(late.power.refused == [47: 1])
    }

    @Test func firstAddPartitionsBelongsToTheTransactionThatItOpens() throws {
        var late = LateRequests()
        _ = late.keep(try request(.addPartitions), until: .answered(.addPartitions), at: .zero)
        // The resend opens the first transaction; only the second one is later.
        #expect(late.answered(try request(.addPartitions), Self.done) == [])
        try end(&late)
        #expect(late.answered(try request(.addPartitions), Self.done) == [1])
    }

    @Test func delayIsKeptAndBounded() throws {
        var late = LateRequests()
        _ = late.keep(try request(.endTxn), until: .after(.seconds(2)), at: .seconds(1))
        _ = late.keep(try request(.endTxn), until: .before(.endTxn), at: .seconds(2))
        _ = late.keep(try request(.endTxn), until: .after(.seconds(90)), at: .seconds(3))
        #expect(late.due(at: .milliseconds(2_999)) == [])
        #expect(late.due(at: .seconds(3)) == [1])
        // It is forwarded only once.
        #expect(late.due(at: .seconds(4)) == [])
        #expect(late.due(at: .seconds(32)) == [2])
        #expect(late.due(at: .seconds(33)) == [3])
    }

    @Test func powerIsCounted() throws {
        var late = LateRequests()
        try open(&late)
        for key in [ApiKey.endTxn, .addPartitions, .addPartitions, .initProducerID, .produce] {
            _ = late.keep(try request(key), until: .before(.endTxn), at: .zero)
        }
        // Too early: its own transaction is still open.
        _ = late.keep(try request(.endTxn), until: .after(.zero), at: .zero)
        #expect(late.due(at: .zero) == [6])
        _ = late.ended(6, Self.done)
        try open(&late)
        #expect(late.forwarding(try request(.endTxn)) == [1, 2, 3, 4, 5])
        let answers: [Answer?] = [Self.done, Self.done, Self.refused, Answer(error: 90), nil]
        for (id, answer) in zip(1...5, answers) { _ = late.ended(id, answer) }
        let power = late.power
        #expect(power.late == 6)
        #expect(power.met == 5)
        #expect(power.sameEpoch == 4)
        #expect(power.carriedOut == [.endTxn: 1, .addPartitions: 1])
        #expect(power.refused == [47: 1, 90: 1])
        #expect(power.unanswered == 1)
    }

    @Test func lateEndHarmsAtOnce() throws {
        var late = LateRequests()
        try open(&late)
        for _ in 0..<2 { _ = late.keep(try request(.endTxn), until: .answered(.addPartitions), at: .zero) }
        try end(&late)
        try open(&late)
        let wasHarmful = late.ended(1, Self.done)
        #expect(wasHarmful)
        let wasHarmfulThoughRefused = late.ended(2, Self.refused)
        #expect(!wasHarmfulThoughRefused)
    }
}
