import JuiceMaker
import JuiceMessages
import JuiceSimulation
import Testing

@testable import JuiceEngine

/// The memory against a plain model of it, and its limits one by one.
@Suite struct DuplicateMemoryTests {
    private func command(_ id: Int, kind: CommandKind = .order, store: String = "gangnam")
        -> CommandFingerprint
    {
        BorrowedText.withText(store) { store in
            BorrowedText.withText("\(id)") { CommandFingerprint(kind, store: store, id: $0) }
        }
    }

    private func answer(_ id: Int) -> FirstAnswer { .verbatim(Array("answer \(id)".utf8)) }

    /// Which of these commands, sent anew at this time, are known.
    private func known(_ ids: ClosedRange<Int>, at time: Timestamp = 0, in memory: DuplicateMemory) -> [Int] {
        ids.filter { memory.firstAnswer(to: command($0), sentAt: time) != nil }
    }

    @Test func kindStoreAndIDTellCommandsApart() {
        var memory = DuplicateMemory(window: .standard)
        memory.remember(.order, command(1), answer(1), sentAt: 0)
        #expect(memory.firstAnswer(to: command(1), sentAt: 0) == answer(1))
        #expect(memory.firstAnswer(to: command(1, kind: .restock), sentAt: 0) == nil)
        #expect(memory.firstAnswer(to: command(1, store: "jamsil"), sentAt: 0) == nil)
        #expect(memory.firstAnswer(to: command(2), sentAt: 0) == nil)
    }

    @Test func storeAndIDDoNotRunIntoEachOther() {
        let joined = BorrowedText.withText("ab") { store in
            BorrowedText.withText("c") { CommandFingerprint(.order, store: store, id: $0) }
        }
        let other = BorrowedText.withText("a") { store in
            BorrowedText.withText("bc") { CommandFingerprint(.order, store: store, id: $0) }
        }
        #expect(joined != other)
    }

    @Test func theOldestAreForgottenBeyondTheCount() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1000, count: 3))
        for id in 1...5 { memory.remember(.order, command(id), answer(id), sentAt: 0) }
        // Until the commit an undo may still need the oldest.
        #expect(memory.count == 5)
        memory.commit(at: 0)
        #expect(known(1...5, in: memory) == [3, 4, 5])
    }

    /// The window's age, when the repeat was sent after the first, and whether it is known. Times are rounded to 16 ms here,
    /// so that up to 32 ms more are within the window.
    @Test(
        arguments: [
            (1000, 0, true), (1000, 999, true), (1000, 1000, true), (1000, 1032, false),
            (1000, 1_000_000, false),
            (1000, -5000, true), (1000, -604_800_000, true), (0, 0, true), (0, 32, false),
            (0, 10_000_000_000, false), (31_536_000_000, 31_536_000_000, true), (3_600_000, 3_600_000, true),
            (3_600_000, 3_604_096, false),
        ] as [(Timestamp, Timestamp, Bool)]
    )
    func aRepeatIsKnownByTheTimeBetweenTheTwo(age: Timestamp, later: Timestamp, isKnown: Bool) {
        for first in [1_700_000_000_000, 1_700_000_001_999, 0] as [Timestamp] {
            var memory = DuplicateMemory(window: DuplicateWindow(age: age, count: 100))
            memory.remember(.order, command(1), answer(1), sentAt: first)
            #expect((memory.firstAnswer(to: command(1), sentAt: first + later) != nil) == isKnown)
        }
    }

    @Test func whatIsTooOldIsRememberedAnew() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1000, count: 4))
        memory.remember(.order, command(1), answer(1), sentAt: 0)
        memory.commit(at: 0)
        memory.remember(.order, command(1), answer(2), sentAt: 5000)
        #expect(memory.firstAnswer(to: command(1), sentAt: 5500) == answer(2))
        // It was not carried out anew after all.
        memory.undo()
        #expect(memory.firstAnswer(to: command(1), sentAt: 500) == answer(1))
        #expect(memory.firstAnswer(to: command(1), sentAt: 5500) == nil)
        for round in 2...3 {
            memory.remember(.order, command(1), answer(round), sentAt: Timestamp(round) * 5000)
        }
        memory.undo()
        #expect(memory.firstAnswer(to: command(1), sentAt: 500) == answer(1))
        memory.remember(.order, command(1), answer(4), sentAt: 5000)
        memory.commit(at: 5000)
        // The earlier answer leaves the queue, and not the later one with it.
        for id in 2...4 { memory.remember(.order, command(id), answer(id), sentAt: 5000) }
        memory.commit(at: 5000)
        #expect(memory.count == 4)
        #expect(memory.firstAnswer(to: command(1), sentAt: 5000) == answer(4))
    }

    @Test func anUndoForgetsWhatIsNotCommitted() {
        var memory = DuplicateMemory(window: .standard)
        memory.remember(.order, command(1), answer(1), sentAt: 0)
        memory.commit(at: 0)
        memory.remember(.order, command(2), answer(2), sentAt: 0)
        memory.undo()
        #expect(memory.firstAnswer(to: command(1), sentAt: 0) == answer(1))
        #expect(memory.firstAnswer(to: command(2), sentAt: 0) == nil)
        memory.remember(.order, command(2), answer(3), sentAt: 0)
        #expect(memory.firstAnswer(to: command(2), sentAt: 0) == answer(3))
    }

    @Test func aCommandReadBackTwiceHasItsLaterAnswer() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1000, count: 3))
        for (id, text) in [(1, 1), (2, 2), (1, 3), (4, 4)] {
            memory.restore(.order, command(id), answer(text), answeredAt: 0)
        }
        memory.commit(at: 0)
        #expect(memory.firstAnswer(to: command(1), sentAt: 0) == answer(3))
        #expect(memory.firstAnswer(to: command(2), sentAt: 0) == answer(2))
    }

    @Test func aWindowOfNothingRemembersNothing() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 0, count: 0))
        memory.remember(.order, command(1), answer(1), sentAt: 0)
        memory.commit(at: 0)
        #expect(memory.count == 0 && memory.firstAnswer(to: command(1), sentAt: 0) == nil)
    }

    @Test func aMillionCommandsTakeFortyTwoBytesEach() {
        var memory = DuplicateMemory(window: .standard)
        let encoder = AnswerEncoder(menu: .standard)
        let kiwi = BorrowedText.withText("any") { OrderCommand(id: $0, juice: 2, quantity: 1) }
        let answer = encoder.compactJuiceMade(kiwi, left: FruitStore(menu: .standard)).map(
            FirstAnswer.compact
        )
        // As many as there are, and a batch that is not committed yet.
        for id in 0..<1_010_000 { memory.remember(.order, command(id), answer ?? .verbatim([]), sentAt: 0) }
        memory.commit(at: 0)
        #expect(memory.count == 1_000_000)
        #expect(memory.firstAnswer(to: command(10_000), sentAt: 0) == answer)
        #expect(memory.firstAnswer(to: command(9_999), sentAt: 0) == nil)
        #expect(memory.footprint <= 42 * memory.count)
    }

    /// Thousands of remembered, committed, undone and forgotten commands, through several growths of the ring.
    @Test(arguments: 0..<20) func itDoesWhatAPlainModelDoes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let window = DuplicateWindow(age: 1 << 20, count: [5, 50, 700][Int(seed % 3)])
        var memory = DuplicateMemory(window: window)
        var model: [(id: Int, text: Int, time: Timestamp)] = []
        var committed = 0
        // In whole units, so that nothing is rounded.
        func time() -> Timestamp { Timestamp.random(in: 0...4096, using: &random) << 10 }
        func first(_ id: Int, _ time: Timestamp) -> Int? {
            model.last { $0.id == id }.flatMap { time - $0.time <= window.age ? $0.text : nil }
        }
        for text in 0..<4000 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<5:
                memory.undo()
                model.removeSubrange(committed...)
            case 5..<20:
                memory.commit(at: 0)
                if model.count > window.count { model.removeFirst(model.count - window.count) }
                committed = model.count
            default:
                let (id, time) = (Int.random(in: 0..<2000, using: &random), time())
                guard first(id, time) == nil else { continue }
                memory.remember(.order, command(id), answer(text), sentAt: time)
                model.append((id, text, time))
            }
            let (probe, time) = (Int.random(in: 0..<2000, using: &random), time())
            #expect(memory.firstAnswer(to: command(probe), sentAt: time) == first(probe, time).map(answer))
            #expect(memory.count == model.count)
        }
    }
}
