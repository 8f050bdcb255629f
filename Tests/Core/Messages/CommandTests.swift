import JuiceDomain
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
    func malformedCommandsAreDeadLetters(value: String, code: String) {
        #expect(order(value) == code)
        #expect(restock(value.replacing("orderId", with: "restockId")) == code || value.contains("restockId"))
    }

    @Test func anOrderAmongTheRestocksIsADeadLetter() {
        for value in [#"{"orderId":"a","juice":"kiwi"}"#, #"{"orderId":"a","cancel":true}"#] {
            #expect(restock(value) == "wrongTopic")
        }
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

    @Test func rejectionsClipLongNames() {
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
                "wrongTopic: it is a restock among the orders (it has a restockId), or an order among the restocks (an orderId)",
                "badID: the id must be given once, as a string of 1 to 128 bytes",
                "badStore: the key must be a store's id, 1 to 128 bytes of UTF-8",
                "misplaced: the record was forwarded before and still is not in the partition of its store",
                "badHeaders: the record has too many headers, or they cannot be read; this copy has none of them",
            ])
    }
}

@Suite struct OutgoingCommandTests {
    private func json(_ command: OutgoingCommand) -> String { String(decoding: command.value, as: UTF8.self) }

    @Test func orders() {
        let order = OutgoingCommand.order(id: "pos-7-000123", store: "gangnam", juice: "strawberryBanana")
        #expect(json(order) == #"{"orderId":"pos-7-000123","juice":"strawberryBanana","quantity":1}"#)
        #expect((order.kind, order.id, order.store) == (.order, "pos-7-000123", "gangnam"))
        let odd = OutgoingCommand.order(id: "\"", store: "", juice: "\n", quantity: -7)
        #expect(json(odd) == #"{"orderId":"\"","juice":"\n","quantity":-7}"#)
    }

    @Test func restocks() {
        let amounts = [FruitAmount(fruit: "strawberry", amount: 16), FruitAmount(fruit: "kiwi", amount: -2)]
        let add = OutgoingCommand.restock(id: "bot-1-42", store: "gangnam", .add, amounts)
        #expect(json(add) == #"{"restockId":"bot-1-42","add":{"strawberry":16,"kiwi":-2}}"#)
        #expect((add.kind, add.id, add.store) == (.restock, "bot-1-42", "gangnam"))
        let mango = [FruitAmount(fruit: "mango", amount: 30)]
        let set = OutgoingCommand.restock(id: "r", store: "", .set, mango)
        #expect(json(set) == #"{"restockId":"r","set":{"mango":30}}"#)
    }

    @Test func baskets() {
        let items = [OrderedJuice(juice: "kiwi", quantity: 2), OrderedJuice(juice: "strawberryBanana", quantity: 1)]
        let basket = OutgoingCommand.basket(id: "pos-7-000124", store: "gangnam", items)
        #expect(
            json(basket)
                == #"{"orderId":"pos-7-000124","items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana","quantity":1}]}"#
        )
        #expect((basket.kind, basket.id, basket.store) == (.order, "pos-7-000124", "gangnam"))
        #expect(
            json(.basket(id: "\"", store: "", [OrderedJuice(juice: "\n", quantity: 0)]))
                == #"{"orderId":"\"","items":[{"juice":"\n","quantity":0}]}"#)
        #expect(json(.basket(id: "a", store: "", [])) == #"{"orderId":"a","items":[]}"#)
    }

    @Test func cancels() {
        let cancel = OutgoingCommand.cancel(id: "pos-7-\"000124", store: "gangnam")
        #expect(json(cancel) == #"{"orderId":"pos-7-\"000124","cancel":true}"#)
        #expect((cancel.kind, cancel.id, cancel.store) == (.cancel, "pos-7-\"000124", "gangnam"))
    }

    @Test func theDecoderReadsWhatIsWritten() {
        let decoder = CommandDecoder(menu: .standard)
        let order = OutgoingCommand.order(id: "a\\b", store: "", juice: "kiwi", quantity: 7)
        #expect(order.value.withUnsafeBytes { summary(decoder.decodeOrder($0)) } == "a\\b: 7 kiwi")
        let items = [OrderedJuice(juice: "kiwi", quantity: 7), OrderedJuice(juice: "mango", quantity: 100)]
        let basket = OutgoingCommand.basket(id: "b", store: "", items)
        #expect(basket.value.withUnsafeBytes { summary(decoder.decodeOrder($0)) } == "b: [7 kiwi, 100 mango]")
        let cancel = OutgoingCommand.cancel(id: "b\n", store: "")
        #expect(cancel.value.withUnsafeBytes { summary(decoder.decodeOrder($0)) } == "b\n: cancel")
        let least = [FruitAmount(fruit: "mango", amount: .min)]
        let restock = OutgoingCommand.restock(id: "r", store: "", .set, least)
        #expect(restock.value.withUnsafeBytes { summary(decoder.decodeRestock($0)) } == "r: set mango -9223372036854775808")
    }
}

@Suite struct StoreIDTests {
    @Test(
        arguments: [
            ([], "main"), ([UInt8]("gangnam"), "gangnam"), ([UInt8]("강남점🍓"), "강남점🍓"), ([0], "\u{0}"),
            ([UInt8](repeating: 0x61, count: 128), String(repeating: "a", count: 128)), ([UInt8](repeating: 0x61, count: 129), nil),
            ([0xFF], nil), ([0x61, 0xC3], nil), ([0xED, 0xA0, 0x80], nil), ([0xC0, 0xAF], nil), ([0x80], nil),
            ([0xF4, 0x90, 0x80, 0x80], nil),
        ] as [([UInt8], String?)]
    )
    func aKeyNamesAStore(key: [UInt8], store: String?) {
        key.withUnsafeBytes { #expect(StoreID.read(key: $0).map(String.init) == store) }
    }

    /// Different ids are shown differently, and ids that are easily confused have the same look.
    @Test(
        arguments: [
            ("gangnam", "gangnam", "gangnam"), ("강남점 2🍓", "강남점 2🍓", "강남점 2🍓"), ("a  b", "a  b", "a b"),
            ("gangnam ", #""gangnam ""#, "gangnam"), (" ", #"" ""#, ""), ("\u{3000}", #""\u3000""#, ""),
            ("gangnam\r", #""gangnam\u000d""#, "gangnam"), ("gang\u{200B}nam", #""gang\u200bnam""#, "gangnam"),
            ("gang\u{A0}nam", #""gang\u00a0nam""#, "gang nam"), ("a\u{202E}b", #""a\u202eb""#, "ab"),
            ("\u{3164}", #""\u3164""#, ""),
            ("e\u{301}", #""e\u0301""#, "é"), ("\u{1112}\u{1169}", #""\u1112\u1169""#, "호"), ("\u{E0001}", #""\udb40\udc01""#, ""),
            ("a\"\\", "a\"\\", "a\"\\"), ("\"a\\ \"", #""\"a\\ \"""#, "a\\"),
            ("Gangnam", "Gangnam", "gangnam"), ("\"gangnam\"", #""\"gangnam\"""#, "gangnam"), ("\"\"", #""\"\"""#, "\"\""),
        ])
    func showsIDsDistinctlyAndFindsLookalikes(id: String, visible: String, look: String) {
        #expect(StoreID.visible(id) == visible)
        #expect(StoreID.look(of: id) == look)
    }

    @Test func noKeyMeansMain() { #expect(StoreID.read(key: nil).map(String.init) == StoreID.main) }
}
