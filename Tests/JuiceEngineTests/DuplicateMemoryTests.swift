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

    @Test func kindStoreAndIDTellCommandsApart() {
        var memory = DuplicateMemory(window: .standard)
        memory.remember(command(1), answer(1), at: 0)
        #expect(memory.firstAnswer(to: command(1)) == answer(1))
        #expect(memory.firstAnswer(to: command(1, kind: .restock)) == nil)
        #expect(memory.firstAnswer(to: command(1, store: "jamsil")) == nil)
        #expect(memory.firstAnswer(to: command(2)) == nil)
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
        for id in 1...5 { memory.remember(command(id), answer(id), at: 0) }
        // Until the commit an undo may still need the oldest.
        #expect(memory.count == 5)
        memory.commit(at: 0)
        #expect(
            (1...5).map { memory.firstAnswer(to: command($0)) != nil } == [false, false, true, true, true]
        )
    }

    @Test func theOldAreForgottenBeyondTheAge() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1000, count: 100))
        for id in 1...4 {
            memory.remember(command(id), answer(id), at: Timestamp(id * 100))
            memory.commit(at: Timestamp(id * 100))
        }
        memory.commit(at: 1200)
        #expect(memory.firstAnswer(to: command(2)) == answer(2))
        memory.commit(at: 1250)
        #expect((1...4).map { memory.firstAnswer(to: command($0)) != nil } == [false, false, true, true])
    }

    @Test func aClockSetBackForgetsNothingEarly() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1000, count: 100))
        memory.remember(command(1), answer(1), at: 5000)
        memory.remember(command(2), answer(2), at: 100)
        memory.commit(at: 5500)
        #expect(memory.firstAnswer(to: command(2)) == answer(2))
        memory.commit(at: 6100)
        #expect(memory.count == 0)
    }

    @Test func anUndoForgetsWhatIsNotCommitted() {
        var memory = DuplicateMemory(window: .standard)
        memory.remember(command(1), answer(1), at: 0)
        memory.commit(at: 0)
        memory.remember(command(2), answer(2), at: 0)
        memory.undo()
        #expect(memory.firstAnswer(to: command(1)) == answer(1))
        #expect(memory.firstAnswer(to: command(2)) == nil)
        memory.remember(command(2), answer(3), at: 0)
        #expect(memory.firstAnswer(to: command(2)) == answer(3))
    }

    @Test func aCommandCarriedOutAgainHasItsLaterAnswer() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1000, count: 3))
        for (id, text) in [(1, 1), (2, 2), (1, 3), (4, 4)] {
            memory.remember(command(id), answer(text), at: 0)
        }
        memory.commit(at: 0)
        #expect(memory.firstAnswer(to: command(1)) == answer(3))
        #expect(memory.firstAnswer(to: command(2)) == answer(2))
    }

    @Test func aWindowOfNothingRemembersNothing() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 0, count: 0))
        memory.remember(command(1), answer(1), at: 0)
        memory.commit(at: 0)
        #expect(memory.count == 0 && memory.firstAnswer(to: command(1)) == nil)
    }

    @Test func aMillionCommandsTakeFortyTwoBytesEach() {
        var memory = DuplicateMemory(window: .standard)
        let encoder = AnswerEncoder(menu: .standard)
        let kiwi = BorrowedText.withText("any") { OrderCommand(id: $0, juice: 2, quantity: 1) }
        let answer = encoder.compactJuiceMade(kiwi, left: FruitStore(menu: .standard)).map(
            FirstAnswer.compact
        )
        // As many as there are, and a batch that is not committed yet.
        for id in 0..<1_010_000 { memory.remember(command(id), answer ?? .verbatim([]), at: 0) }
        memory.commit(at: 0)
        #expect(memory.count == 1_000_000)
        #expect(memory.firstAnswer(to: command(10_000)) == answer)
        #expect(memory.firstAnswer(to: command(9_999)) == nil)
        #expect(memory.footprint <= 42 * memory.count)
    }

    /// Thousands of remembered, committed, undone and forgotten commands, through several growths of the ring.
    @Test(arguments: 0..<20) func itDoesWhatAPlainModelDoes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let window = DuplicateWindow(age: 400, count: [5, 50, 700][Int(seed % 3)])
        var memory = DuplicateMemory(window: window)
        var model: [(id: Int, time: Timestamp)] = []
        var committed = 0
        var time: Timestamp = 0
        for _ in 0..<4000 {
            time += Timestamp.random(in: 0...2, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<5:
                memory.undo()
                model.removeSubrange(committed...)
            case 5..<20:
                memory.commit(at: time)
                model.removeAll { $0.time + window.age < time }
                if model.count > window.count { model.removeFirst(model.count - window.count) }
                committed = model.count
            default:
                let id = Int.random(in: 0..<100_000, using: &random)
                guard !model.contains(where: { $0.id == id }) else { continue }
                memory.remember(command(id), answer(id), at: time)
                model.append((id, time))
            }
            let probe = Int.random(in: 0..<100_000, using: &random)
            let known = model.contains { $0.id == probe }
            #expect(memory.firstAnswer(to: command(probe)) == (known ? answer(probe) : nil))
            #expect(memory.count == model.count)
        }
        for (id, _) in model { #expect(memory.firstAnswer(to: command(id)) == answer(id)) }
    }
}
