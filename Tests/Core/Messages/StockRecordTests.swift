import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct StockRecordTests {
    private static let problem = "stock.kiwi: must be a whole number from 0 to 1000000000"
    let restorer = StockRestorer(menu: .standard)

    private func restore(_ json: String) throws -> (store: String, revision: Int, levels: [Int]) {
        try json.asValue { bytes in
            let restored = try restorer.restore(bytes)
            return (String(restored.store), restored.revision, restored.levels.levels)
        }
    }

    @Test func readsWhatTheServiceWrites() throws {
        let levels = [0, 9, 10, 1_000_000_000, 10]
        #expect(try restore(GoldenAnswers.stock) == ("gang\"nam", 17, levels))
        let record = try GoldenAnswers.stock.asValue { try StockDecoder().decode($0) }
        let amounts = zip(Menu.standard.fruits, levels).map { FruitAmount(fruit: $0.id, amount: $1) }
        #expect(record == StockRecord(store: "gang\"nam", revision: 17, stock: amounts))
    }

    @Test func theMenuOfTodayDecides() throws {
        // Durian has left the menu; pineapple and mango are new.
        let restored = try restore(#"{"stock":{"durian":-5,"kiwi":3,"banana":2,"strawberry":1},"revision":0,"store":"s","x":[]}"#)
        #expect(restored == ("s", 0, [1, 2, 10, 3, 10]))
        // The levels of one record must not carry over to the next.
        #expect(try restore(#"{"store":"t","revision":1,"stock":{}}"#) == ("t", 1, [10, 10, 10, 10, 10]))
    }

    @Test(
        arguments: [
            ("", "not a JSON document in UTF-8"), ("null", "not a JSON object"), ("{}", "store: missing"),
            (#"{"store":1}"#, "store: must be a string"), (#"{"store":"s"}"#, "revision: missing"),
            (#"{"store":"s","revision":"1"}"#, "revision: must be a whole number"),
            (#"{"store":"s","revision":-1}"#, "revision: must be from 0 to 9223372036854775807"),
            (#"{"store":"s","revision":1}"#, "stock: missing"),
            (#"{"store":"s","revision":1,"stock":[]}"#, "stock: must be an object"),
            (#"{"store":"s","revision":1,"stock":{"kiwi":1.5}}"#, problem),
            (#"{"store":"s","revision":1,"stock":{"kiwi":-1}}"#, problem),
            (#"{"store":"s","revision":1,"stock":{"kiwi":1000000001}}"#, problem),
            (#"{"store":"s","revision":1,"stock":{"kiwi":9223372036854775807}}"#, problem),
        ]
    )
    func aMalformedRecordIsRefused(json: String, problem: String) {
        let restoring = #expect(throws: MalformedMessage.self) { try restore(json) }
        #expect(restoring?.description == problem)
        let decoding = #expect(throws: MalformedMessage.self) {
            try json.asValue { try StockDecoder().decode($0) }
        }
        #expect(decoding?.description == problem)
    }

    @Test func aLevelGivenTwiceIsNotRestored() {
        let error = #expect(throws: MalformedMessage.self) {
            try restore(#"{"store":"s","revision":1,"stock":{"kiwi":1,"kiwi":1}}"#)
        }
        #expect(error?.description == "stock.kiwi: given twice")
    }
}
