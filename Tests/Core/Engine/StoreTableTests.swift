import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceEngine

/// The stores of a partition and their undo.
@Suite struct StoreTableTests {
    @discardableResult
    private func take(_ amount: Int, _ store: StaticString, from table: inout StoreTable) -> Int {
        var answer = AnswerContent()
        let edit = CommandContent.apply(StockEdit(.add, [.init(fruit: 1, amount: -amount)]))
        let key = ByteKeyTable.Key(BorrowedText(store).bytes)
        try? table.carryOut(edit, on: key, by: JuiceMaker(menu: .standard), &answer)
        return answer.revision
    }

    private func bananas(_ store: StaticString, in table: StoreTable) -> Int {
        table.state(of: BorrowedText(store)).store[1]
    }

    @Test func aRevisionStaysAtTheLargestInteger() {
        var table = StoreTable(menu: .standard)
        let key = ByteKeyTable.Key(BorrowedText("a").bytes)
        table.restore(key, FruitStore(menu: .standard), revision: .max)
        take(1, "a", from: &table)
        #expect(table.state(of: BorrowedText("a")).revision == .max)
        #expect(bananas("a", in: table) == 9)
    }

    @Test func aChangeGivesTheRevisionAfterIt() {
        var table = StoreTable(menu: .standard)
        #expect([take(1, "a", from: &table), take(1, "a", from: &table), take(1, "b", from: &table)] == [1, 2, 1])
        table.commit()
        #expect([take(1, "a", from: &table), take(100, "a", from: &table)] == [3, 0])
        table.undo()
        #expect(take(2, "a", from: &table) == 3)
    }

    @Test func undoAfterFailedChangesBetweenGoodOnes() {
        var table = StoreTable(menu: .standard)
        for store: StaticString in ["a", "b", "c"] { take(1, store, from: &table) }
        table.commit()
        take(100, "a", from: &table)
        take(5, "b", from: &table)
        take(100, "c", from: &table)
        take(6, "c", from: &table)
        take(100, "b", from: &table)
        #expect([bananas("a", in: table), bananas("b", in: table), bananas("c", in: table)] == [9, 4, 3])
        table.undo()
        #expect([bananas("a", in: table), bananas("b", in: table), bananas("c", in: table)] == [9, 9, 9])
    }

    /// Only committed changes are due to be written.
    @Test func eachChangedStoreIsUnwrittenUntilTheNextCommit() {
        var table = StoreTable(menu: .standard)
        take(1, "a", from: &table)
        take(1, "b", from: &table)
        take(1, "a", from: &table)
        #expect(unwritten(&table) == [])
        table.commit()
        #expect(unwritten(&table) == ["a 8 2", "b 9 1"])
        take(1, "c", from: &table)
        table.undo()
        #expect(unwritten(&table) == ["a 8 2", "b 9 1"])
        take(1, "b", from: &table)
        table.commit()
        #expect(unwritten(&table) == ["b 8 2"])
    }

    private func unwritten(_ table: inout StoreTable) -> [String] {
        var visited: [String] = []
        table.writeNext { name, store, revision in visited.append("\(String(name)) \(store[1]) \(revision)") }
        return visited
    }
}
