import JuiceMaker
import Testing

@Suite struct FruitTallyTests {
    private func lines(_ tally: FruitTally) -> [FruitTally.Line] { (0..<tally.count).map { tally[$0] } }

    private func line(_ fruit: Int, _ amount: Int, level: Int = 0) -> FruitTally.Line {
        FruitTally.Line(fruit: fruit, amount: amount, level: level)
    }

    @Test func aFruitHasOneLineInThePlaceOfItsFirst() {
        var tally = FruitTally()
        for added in [line(3, 1), line(0, 2), line(3, 10), line(4, 5), line(0, 20)] { tally.add(added) }
        #expect(lines(tally) == [line(3, 11), line(0, 22), line(4, 5)])
    }

    @Test func whatWasRemovedLeavesNoTrace() {
        var tally = FruitTally()
        for fruit in 0..<3 { tally.append(line(fruit, 7, level: 9)) }
        tally.removeAll()
        #expect(tally.count == 0)
        // A fruit that had a line begins at 0 again.
        tally.add(line(1, 2))
        #expect(lines(tally) == [line(1, 2)])
    }

    @Test func anEditHasItsFruitsInMenuOrderAndTheirLevelsAfterIt() throws {
        var (store, tally) = (FruitStore(menu: .standard), FruitTally())
        tally.append(line(2, 1))
        let edit = StockEdit(.add, [(4, -3), (0, 6)].map { StockEdit.Entry(fruit: $0.0, amount: $0.1) })
        try store.apply(edit)
        tally.set(edit, left: store)
        #expect(lines(tally) == [line(0, 0, level: 16), line(4, 0, level: 7)])
    }

    @Test(arguments: [(2, 1, true), (2, 2, false), (0, 0, false)])
    func aFruitIsShortIfThereIsLessThanNeeded(amount: Int, level: Int, isShort: Bool) {
        #expect(line(0, amount, level: level).isShort == isShort)
    }
}
