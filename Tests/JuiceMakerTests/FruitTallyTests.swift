import JuiceMaker
import Testing

@Suite struct FruitTallyTests {
    private func line(_ fruit: Int, _ amount: Int, _ level: Int = 10) -> FruitTally.Line {
        FruitTally.Line(fruit: fruit, amount: amount, level: level)
    }

    @Test func amountsOfOneFruitAreAddedUpInItsFirstPlace() {
        var tally = FruitTally()
        for (fruit, amount) in [(3, 2), (4, 1), (3, 5), (0, 7), (4, 1)] { tally.add(line(fruit, amount)) }
        #expect(tally.lines == [line(3, 7), line(4, 2), line(0, 7)])
    }

    @Test(arguments: [(9, 10, true), (10, 10, false), (11, 10, false), (0, 1, true), (0, 0, false)])
    func aFruitIsShortBelowItsAmount(level: Int, amount: Int, isShort: Bool) {
        #expect(line(0, amount, level).isShort == isShort)
    }

    @Test func aTallyThatIsSetAgainKeepsNothing() {
        var tally = FruitTally()
        for fruit in 0..<5 { tally.append(line(fruit, 1)) }
        tally.removeAll()
        #expect(tally.lines.isEmpty)
        // The amount of an earlier line of the same place or fruit does not count.
        tally.add(line(4, 2))
        #expect(tally.lines == [line(4, 2)])

        let edit = StockEdit(.add, [StockEdit.Entry(fruit: 3, amount: -2), StockEdit.Entry(fruit: 0, amount: 6)])
        tally.set(edit, left: FruitStore(menu: .standard))
        #expect(tally.lines == [line(0, 0), line(3, 0)])
    }
}

extension FruitTally {
    /// All lines, for tables of expected results.
    var lines: [Line] { (0..<count).map { self[$0] } }
}
