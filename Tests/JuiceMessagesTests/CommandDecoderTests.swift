import JuiceMaker
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct CommandDecoderTests {
    let decoder = CommandDecoder(menu: .standard)

    private func order(_ value: String) -> String {
        BorrowedText.withText(value) { summary(decoder.decodeOrder($0.bytes)) }
    }

    private func restock(_ value: String) -> String {
        BorrowedText.withText(value) { summary(decoder.decodeRestock($0.bytes)) }
    }

    @Test(arguments: GoldenCommands.orders + GoldenCommands.baskets)
    func ordersAreRead(value: String, expected: String) {
        #expect(order(value) == expected)
    }

    @Test(arguments: GoldenCommands.cancels)
    func cancelsAreRead(value: String) {
        #expect(order(value) == "a: cancel")
    }

    @Test(
        arguments: GoldenCommands.rejectedOrders + GoldenCommands.rejectedBaskets
            + GoldenCommands.rejectedCancels
    )
    func ordersAreRejected(value: String, expected: Rejection) {
        #expect(order(value) == "a: \(expected)")
    }

    @Test func aBasketHoldsUpToTwentyItems() {
        func basket(_ count: Int) -> String {
            let items = Array(repeating: #"{"juice":"kiwi"}"#, count: count).joined(separator: ",")
            return order(#"{"orderId":"a","items":[\#(items)]}"#)
        }
        for count in 1...20 { #expect(basket(count) == "a: [\(count) kiwi]") }
        for count in [21, 100] { #expect(basket(count) == "a: \(Rejection.badCommand(.tooManyItems))") }
    }

    @Test(arguments: GoldenCommands.restocks)
    func restocksAreRead(value: String, expected: String) {
        #expect(restock(value) == expected)
    }

    @Test(arguments: GoldenCommands.rejectedRestocks)
    func restocksAreRejected(value: String, expected: Rejection) {
        #expect(restock(value) == "r: \(expected)")
    }

    @Test(arguments: GoldenCommands.deadLetters)
    func othersAreDeadLetters(value: String, code: String) {
        #expect(order(value) == code)
        #expect(restock(value.replacing("orderId", with: "restockId")) == code || code == "missingID")
    }

    @Test func noValueIsADeadLetter() {
        #expect(summary(decoder.decodeOrder(nil)) == "emptyValue")
        #expect(summary(decoder.decodeRestock(nil)) == "emptyValue")
    }

    @Test func theLongestIDsAreTaken() {
        for id in [String(repeating: "x", count: 128), String(repeating: "가", count: 42) + "ab"] {
            #expect(order(#"{"orderId":"\#(id)","juice":"kiwi"}"#) == "\(id): 1 kiwi")
        }
        // The limit is on the id, not on how it is escaped.
        let escaped = String(repeating: #"\u0041"#, count: 128)
        #expect(order(#"{"orderId":"\#(escaped)","juice":"kiwi"}"#).hasPrefix("AAAA"))
    }

    @Test func sizeIsJudgedFirst() {
        let order = #"{"orderId":"a","juice":"kiwi"}"#
        let padding = String(repeating: " ", count: 64 * 1024 - order.utf8.count)
        #expect(self.order(order + padding) == "a: 1 kiwi")
        #expect(self.order(order + padding + " ") == "tooLarge")
        #expect(self.order(String(repeating: "x", count: 1_000_000)) == "tooLarge")
        #expect(self.order(String(repeating: "[", count: 64 * 1024)) == "tooDeep")
    }

    @Test func rejectionsEchoOnlySoMuch() {
        let long = String(repeating: "두리안", count: 1000)
        let echo = String(long.prefix(64)) + "…"
        #expect(order(#"{"orderId":"a","juice":"\#(long)"}"#) == #"a: unknownJuice("\#(echo)")"#)
        #expect(restock(#"{"restockId":"r","add":{"\#(long)":1}}"#) == #"r: unknownFruit("\#(echo)")"#)
    }

    @Test func codesAndMessagesOfDeadLettersAreTheContract() {
        let list = DeadLetterReason.allCases.map { "\($0.code): \($0.message)" }
        #expect(
            list == [
                "emptyValue: the record has no value",
                "tooLarge: the value is longer than 65536 bytes",
                "notJSON: the value is not a JSON object in UTF-8",
                "tooDeep: the value is nested more than 128 levels deep",
                "missingID: the command has no id (an order's is orderId, a restock's is restockId)",
                "badID: the id must be given once, as a string of 1 to 128 bytes",
                "badStore: the key must be a store's id, 1 to 128 bytes of UTF-8",
                "misplaced: the record was forwarded before and still is not in the partition of its store",
                "unanswerable: the broker refused what the command is answered with, or the command itself where it was to be forwarded",
            ])
    }
}
