import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct CommandDecoderTests {
    let decoder = CommandDecoder(menu: .standard)

    private func order(_ value: String) -> String { read(value, .orders) }

    private func restock(_ value: String) -> String { read(value, .restocks) }

    private func read(_ value: String, _ topic: InputTopic) -> String {
        BorrowedText.withText(value) { GoldenCommands.summary(decoder.decode($0.bytes, of: topic)) }
    }

    @Test(arguments: GoldenCommands.orders) func ordersAreRead(value: String, expected: String) {
        #expect(order(value) == expected)
    }

    @Test(arguments: GoldenCommands.faultyOrders + GoldenCommands.subtleOrders)
    func ordersAreRejected(members: String, expected: Rejection) {
        #expect(order(GoldenCommands.order(members)) == "a: \(expected)")
    }

    @Test(arguments: GoldenCommands.restocks) func restocksAreRead(value: String, expected: String) {
        #expect(restock(value) == expected)
    }

    @Test(arguments: GoldenCommands.faultyRestocks + GoldenCommands.subtleRestocks)
    func restocksAreRejected(members: String, expected: Rejection) {
        #expect(restock(GoldenCommands.restock(members)) == "a: \(expected)")
    }

    /// As orders, and with the ids exchanged as restocks.
    @Test(arguments: GoldenCommands.deadLetters + GoldenCommands.subtleDeadLetters)
    func malformedCommandsAreDeadLetters(value: String, code: String) {
        #expect(order(value) == code)
        let exchanged = value.replacing("orderId", with: "#").replacing("restockId", with: "orderId")
        #expect(restock(exchanged.replacing("#", with: "restockId")) == code)
    }

    @Test func noValueIsADeadLetter() {
        for topic in InputTopic.allCases {
            #expect(GoldenCommands.summary(decoder.decode(nil, of: topic)) == "emptyValue")
        }
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
    @Test(arguments: GoldenCommands.outgoing)
    func aCommandIsWrittenToTheByte(command: OutgoingCommand, kind: CommandKind, json: String) {
        #expect(String(decoding: command.value, as: UTF8.self) == json)
        #expect((command.kind, command.id, command.store) == (kind, "a\"", "s"))
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
