import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceEngine

/// The stores of a partition and their undo.
@Suite struct StoreTableTests {
    /// Takes a banana.
    private func take(_ store: StaticString, from table: inout StoreTable) {
        var answer = AnswerContent()
        let edit = CommandContent.apply(StockEdit(.add, [.init(fruit: 1, amount: -1)]))
        let key = ByteKeyTable.Key(BorrowedText(store).bytes)
        try? table.carryOut(edit, on: key, by: JuiceMaker(menu: .standard), &answer)
    }

    @Test func aRevisionStaysAtTheLargestInteger() {
        var table = StoreTable(menu: .standard)
        let key = ByteKeyTable.Key(BorrowedText("a").bytes)
        table.restore(key, FruitStore(menu: .standard), revision: .max)
        take("a", from: &table)
        #expect(table.state(of: BorrowedText("a")).revision == .max)
        #expect(table.state(of: BorrowedText("a")).store[1] == 9)
    }

    /// Only committed changes are due to be written.
    @Test func eachChangedStoreIsUnwrittenUntilTheNextCommit() {
        var table = StoreTable(menu: .standard)
        take("a", from: &table)
        take("b", from: &table)
        take("a", from: &table)
        #expect(unwritten(&table) == [])
        table.commit()
        #expect(unwritten(&table) == ["a 8 2", "b 9 1"])
        take("c", from: &table)
        table.undo()
        #expect(unwritten(&table) == ["a 8 2", "b 9 1"])
        take("b", from: &table)
        table.commit()
        #expect(unwritten(&table) == ["b 8 2"])
    }

    private func unwritten(_ table: inout StoreTable) -> [String] {
        var visited: [String] = []
        table.writeNext { name, store, revision in visited.append("\(String(name)) \(store[1]) \(revision)") }
        return visited
    }
}
