import Testing

@testable import JuiceAudit

@Suite struct ReadingTests {
    private func read(_ value: String, _ topic: AuditTopic = .orders) -> String {
        func describe(_ reading: CommandReader.Reading) -> String {
            switch reading {
            case .undecodable(let codes): codes.map(\.rawValue).joined(separator: "|")
            case .command(let id, _, .make(let order)):
                "\(String(decoding: id, as: UTF8.self)) \(order.needs.map { [$0.fruit, $0.amount] })"
                    + String(decoding: order.text, as: UTF8.self)
            case .command(let id, let kind, .putBack): "\(kind) \(String(decoding: id, as: UTF8.self))"
            case .command(_, _, .reject(let reason)): reason.rawValue
            case .command(_, _, .add(let amounts)): "add \(amounts.map { [$0.fruit, $0.amount] })"
            case .command(_, _, .set(let amounts)): "set \(amounts.map { [$0.fruit, $0.amount] })"
            }
        }
        var reader = CommandReader(.builtIn)
        defer { withExtendedLifetime(reader) {} }
        return Array(value.utf8).withUnsafeBufferPointer { describe(reader.read($0, topic)) }
    }

    /// Ids on a menu may be any text.
    @Test func textsAreWrittenAsTheServiceWritesThem() {
        var text: [UInt8] = []
        text.add(quoted: "강\n\r\t\u{0}\u{1f} \"\\/".utf8)
        #expect(String(decoding: text, as: UTF8.self) == #""강\n\r\t\u0000\u001f \"\\/""#)
    }

    private static func nested(_ depth: Int) -> String {
        #"{"orderId":"a","x":"# + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}"
    }

    private static let oneKiwi = #"a [[3, 3]],"juice":"kiwi","quantity":1"#

    @Test(arguments: [
        (#"{"orderId":"a","juice":"kiwi"}"#, oneKiwi), ("\u{feff}{\"orderId\":\"a\",\"juice\":\"kiwi\"}", oneKiwi),
        (#" {"quantity" : 100 , "juice" : "mango" , "orderId" : "b" } "#, #"b [[4, 300]],"juice":"mango","quantity":100"#),
        (#"{"order\u0049d":"\uac00\n\ud83e\udd5d\/","juice":"k\u0069wi"}"#, "가\n🥝/ [[3, 3]],\"juice\":\"kiwi\",\"quantity\":1"),
        (#"{"x":{"orderId":1},"orderId":"a","x":1e999,"juice":"kiwi","quantity":null,"":[[]]}"#, oneKiwi),
        (#"{"orderId":"\u00\u0061","juice":"kiwi"}"#, "notJSON"), (#"{"orderId":"\ud800"}"#, "notJSON"),
        (#"{"orderId":"\ud800\u0061"}"#, "notJSON"), (#"{"orderId":"\udc00"}"#, "notJSON"), (#"{"orderId":"\x"}"#, "notJSON"),
        (#"{"orderId":"\ud800x\udc00"}"#, "notJSON"), (#"{"orderId":"\u+123"}"#, "notJSON"), (#"{"orderId":"\"}"#, "notJSON"),
        (#"{"orderId":"a"}"#, "badCommand"), (#"{"orderId":"a","juice":7}"#, "badCommand"),
        (#"{"orderId":"a","juice":"kiwi","juice":"kiwi"}"#, "badCommand"),
        (#"{"orderId":"a","juice":"kiwi","quantity":1,"quantity":1}"#, "badCommand"),
        (#"{"orderId":"a","juice":"Kiwi","quantity":0}"#, "unknownJuice"),
        (#"{"orderId":"a","juice":"kiwi","quantity":0}"#, "badQuantity"),
        (#"{"orderId":"a","juice":"kiwi","quantity":101}"#, "badQuantity"),
        (#"{"orderId":"a","juice":"kiwi","quantity":1.0}"#, "badQuantity"),
        (#"{"orderId":"a","juice":"kiwi","quantity":9223372036854775808}"#, "badQuantity"),
        ("", "emptyValue"), (" ", "notJSON"), ("[]", "notJSON"), ("{}", "missingID"), (#"{"orderId":null}"#, "missingID"),
        (#"{"orderId":""}"#, "badID"), (#"{"orderId":7}"#, "badID"), (#"{"orderId":"a","orderId":null}"#, "badID"),
        (#"{"orderId":"\#(String(repeating: "가", count: 43))"}"#, "badID"), (#"{"orderId":"a","x":01}"#, "notJSON"),
        (#"{"orderId":"a"}}"#, "notJSON"), (#"{"orderId":"a",}"#, "notJSON"), ("{\"orderId\":\"a\nb\"}", "notJSON"),
        (nested(128), "badCommand"), (nested(129), "tooDeep|notJSON"), (nested(20_000), "tooDeep|notJSON"),
        (String(repeating: "[", count: 65_536), "tooDeep|notJSON"), (String(repeating: " ", count: 65_537), "tooLarge"),
    ])
    func ordersAreRead(value: String, expected: String) {
        #expect(read(value) == expected)
    }

    private static func basket(_ items: String, _ others: String = "") -> String {
        #"{"orderId":"a",\#(others)"items":[\#(items)]}"#
    }

    private static let kiwi = #"{"juice":"kiwi"}"#
    private static let kiwiBasket = #"a [[3, 3]],"items":[{"juice":"kiwi","quantity":1}]"#

    @Test(arguments: [
        (basket(kiwi), kiwiBasket), (basket(#"{"juice":"kiwi","quantity":null}"#, #""juice":null,"quantity":null,"#), kiwiBasket),
        (
            basket(#"{"juice":"mangoKiwi","quantity":2,"x":[]},\#(kiwi),{"quantity":100,"juice":"mangoKiwi"}"#),
            #"a [[4, 204], [3, 105]],"items":[{"juice":"mangoKiwi","quantity":102},{"juice":"kiwi","quantity":1}]"#
        ),
        (
            basket(Array(repeating: kiwi, count: 20).joined(separator: ",")),
            #"a [[3, 60]],"items":[{"juice":"kiwi","quantity":20}]"#
        ),
        (basket(Array(repeating: kiwi, count: 21).joined(separator: ",")), "badCommand"),
        (basket(""), "badCommand"), (basket("7"), "badCommand"), (basket("{}"), "badCommand"),
        (#"{"orderId":"a","items":{}}"#, "badCommand"), (#"{"orderId":"a","items":null,"items":null}"#, "badCommand"),
        (basket(kiwi, #""juice":"kiwi","#), "badCommand"), (basket(kiwi, #""quantity":1,"#), "badCommand"),
        (basket(#"{"juice":"durian"},7"#), "unknownJuice"), (basket(#"7,{"juice":"durian"}"#), "badCommand"),
        (basket(#"{"juice":"kiwi","juice":"kiwi"}"#), "badCommand"),
        (basket(#"{"juice":"kiwi","quantity":1,"quantity":1}"#), "badCommand"),
        (basket(#"{"juice":"kiwi","quantity":0},{"juice":"durian"}"#), "badQuantity"),
        (basket(#"{"juice":"durian","quantity":0}"#), "unknownJuice"),
    ])
    func basketsAreRead(value: String, expected: String) {
        #expect(read(value) == expected)
    }

    @Test(arguments: [
        (#"{"orderId":"a","cancel":true}"#, "cancel a"), (#"{"cancel":true}"#, "missingID"),
        (#"{"cancel":true,"orderId":"a","juice":7,"items":7,"items":7,"quantity":0}"#, "cancel a"),
        (#"{"orderId":"a","cancel":false,"juice":"kiwi"}"#, oneKiwi), (#"{"orderId":"a","cancel":null,"juice":"kiwi"}"#, oneKiwi),
        (#"{"orderId":"a","cancel":false}"#, "badCommand"), (#"{"orderId":"a","cancel":"true"}"#, "badCommand"),
        (#"{"orderId":"a","cancel":1,"juice":"durian"}"#, "badCommand"),
        (#"{"orderId":"a","cancel":true,"cancel":true}"#, "badCommand"),
    ])
    func cancelsAreRead(value: String, expected: String) {
        #expect(read(value) == expected)
    }

    @Test(arguments: [
        (#"{"restockId":"r","add":{"kiwi":-2,"strawberry":16}}"#, "add [[0, 16], [3, -2]]"),
        (#"{"restockId":"r","add":null,"set":{"mango":-9223372036854775808}}"#, "set [[4, -9223372036854775808]]"),
        (#"{"restockId":"r"}"#, "emptyRestock"), (#"{"restockId":"r","add":{}}"#, "emptyRestock"),
        (#"{"restockId":"r","add":{},"set":[]}"#, "badCommand"), (#"{"restockId":"r","add":[]}"#, "badCommand"),
        (#"{"restockId":"r","set":null,"set":null}"#, "badCommand"), (#"{"orderId":"a"}"#, "missingID"),
        (#"{"restockId":"r","add":{"kiwi":1,"kiwi":1}}"#, "badCommand"),
        (#"{"restockId":"r","add":{"kiwi":1,"durian":{}}}"#, "unknownFruit"),
        (#"{"restockId":"r","add":{"kiwi":null,"durian":1}}"#, "badAmount"),
    ])
    func restocksAreRead(value: String, expected: String) {
        #expect(read(value, .restocks) == expected)
    }

    @Test(arguments: [[0x80], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]])
    func textIsUTF8(bytes: [UInt8]) {
        var reader = JSONReader()
        let isRead = ([0x22] + bytes + [0x22]).withUnsafeBufferPointer { reader.read($0) }
        #expect(!isRead)
        var names = Names(partitionCount: 1)
        #expect(names.store(key: bytes) == nil)
    }

    @Test func everyCutOfADocumentIsFound() {
        var reader = JSONReader()
        let document = Array(#"{"a":[1,-2.5e3,"b\u00e9\\",{"c":null}],"딸기":true}"#.utf8)
        for length in document.indices {
            let isRead = document[..<length].withUnsafeBufferPointer { reader.read($0) }
            #expect(!isRead, "cut at \(length)")
        }
        let isRead = document.withUnsafeBufferPointer { reader.read($0) }
        #expect(isRead)
    }

    /// The values that Apache Kafka's own tests have for its partitioner's hash.
    @Test(
        arguments: [
            ("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536), ("abc", 479_470_107),
            ("a-little-bit-longer-string", -1_486_304_829), ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ] as [(String, Int32)])
    func theHashIsKafkas(text: String, hash: Int32) {
        let found = Array(text.utf8).withUnsafeBufferPointer { Names.murmur2($0) }
        #expect(Int32(bitPattern: found) == hash)
    }

    @Test func theLatestAreHeld() {
        var recent = Recent<Int, Int>(3)
        for number in 0..<5 { recent[number] = number }
        #expect((0..<5).allSatisfy { recent[$0] == $0 })
        #expect(!recent.hasForgotten)
        recent[4] = nil
        #expect(recent[4] == nil)
        for number in 5..<7 { recent[number] = number }
        #expect(recent[0] == nil && recent[3] == 3 && recent.hasForgotten)
    }
}
