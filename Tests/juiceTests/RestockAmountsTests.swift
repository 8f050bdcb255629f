import JuiceClient
import JuiceMaker
import JuiceMessages
import Testing

@testable import juice

struct RestockAmountsTests {
    @Test(arguments: [
        (["strawberry=+16", "kiwi=-2"], StockEdit.Kind.add, [("strawberry", 16), ("kiwi", -2)]),
        (["mango=30"], .set, [("mango", 30)]),
        (["mango==30", "kiwi=0"], .set, [("mango", 30), ("kiwi", 0)]),
        (["딸기=+6"], .add, [("딸기", 6)]),
        (["mango==-1"], .set, [("mango", -1)]),
    ])
    func readsTheThreeForms(arguments: [String], kind: StockEdit.Kind, amounts: [(String, Int)]) throws {
        let read = try RestockAmounts(arguments)
        #expect(read.kind == kind)
        #expect(read.amounts == amounts.map { FruitAmount(fruit: $0.0, amount: $0.1) })
    }

    @Test(arguments: [
        [], ["mango"], ["=3"], ["mango="], ["mango=+"], ["mango=three"], ["mango=1.5"], ["mango=++3"], ["mango===3"],
        ["mango=99999999999999999999"], ["mango=+1", "kiwi=2"], ["mango=+1", "mango=+2"],
    ])
    func refusesAnythingElse(arguments: [String]) {
        let failure = #expect(throws: Failure.self) { try RestockAmounts(arguments) }
        #expect(failure?.status == .usage)
    }

    @Test func takesNamesForIDs() throws {
        let names = MenuNames(menu: .standard)
        let amounts = try RestockAmounts(["딸기=+6", "kiwi=+1"]).resolved(by: names)
        #expect(amounts.amounts.map(\.fruit) == ["strawberry", "kiwi"])
        #expect(throws: Failure.self) { try RestockAmounts(["딸기=+6", "strawberry=+1"]).resolved(by: names) }
    }
}
