@testable import JuiceAudit

/// Handwritten topics that keep the contract: two partitions with a store in each.
enum Story {
    static let first = store(in: 0)
    static let second = store(in: 1)
    static let rules = rules(memoryWindow: 1_000, memoryCount: 3)

    /// The answers are without revisions, of which ``LedgerTests`` has all.
    static func rules(memoryWindow: Int64, memoryCount: Int) -> AuditRules {
        AuditRules(
            partitionCount: 2,
            memoryWindow: memoryWindow,
            memoryCount: memoryCount,
            versions: .alsoOlder
        )
    }

    static func store(in partition: Int) -> String {
        let names = (0..<100).lazy.map { "store-\($0)" }
        return names.first {
            Array($0.utf8).withUnsafeBufferPointer { Ownership.partition(of: $0, count: 2) } == partition
        } ?? ""
    }

    static let trace = AuditHeader("traceparent", Array("00-1-2-01".utf8))
    static let own = AuditHeader("x", nil)

    static func forwarded(from origin: String) -> AuditHeader {
        AuditHeader("juice.forwarded.from", Array(origin.utf8))
    }

    static let topics = AuditTopics(
        orders: [
            [
                record(0, first, #"{"orderId":"o1","juice":"strawberryBanana"}"#, [trace, own]),
                record(1, first, #"{"orderId":"o2","juice":"strawberry","quantity":1}"#),
                record(3, first, #"{"orderId":"o1","juice":"mango"}"#),
                record(
                    4,
                    first,
                    #"{"orderId":"o5","juice":"kiwi","quantity":2}"#,
                    [own, forwarded(from: "1/0")]
                ).with(timestamp: 1_000),
                record(5, first, "nope", [own]),
                record(6, first, #"{"orderId":"o3","juice":"durian"}"#),
            ],
            [
                record(0, first, #"{"orderId":"o5","juice":"kiwi","quantity":2}"#, [own]),
                record(
                    1,
                    first,
                    #"{"orderId":"o6","juice":"kiwi"}"#,
                    [forwarded(from: "0/999")]
                ),
                record(2, second, #"{"orderId":"o7","juice":"mangoKiwi","quantity":4}"#),
                record(3, second, #"{"orderId":"o8","juice":"mangoKiwi","quantity":2}"#),
            ],
        ],
        restocks: [
            [
                record(0, first, #"{"restockId":"r1","add":{"kiwi":-2,"strawberry":16}}"#),
                record(1, first, #"{"restockId":"r2","set":{"mango":30}}"#),
                record(2, first, #"{"restockId":"r3","add":{"banana":-100}}"#),
            ],
            [record(0, second, #"{"restockId":"r1","add":{"pineapple":5}}"#)],
        ],
        results: [
            [
                record(
                    0,
                    first,
                    made("o1", "strawberryBanana", 1, "10,\"banana\":1", "0,\"banana\":9"),
                    [trace]
                ),
                record(
                    1,
                    first,
                    #"{"type":"outOfStock","orderId":"o2","store":"\#(first)","juice":"strawberry""#
                        + #","quantity":1,"fruit":"strawberry""#
                        + #","missing":[{"fruit":"strawberry","needed":16,"inStock":0}],"message":"m"}"#
                ),
                record(
                    3,
                    first,
                    made("o1", "strawberryBanana", 1, "10,\"banana\":1", "0,\"banana\":9")
                        .replacing(#""orderId""#, with: #""duplicate":true,"orderId""#, maxReplacements: 1)
                ),
                record(4, first, made("o5", "kiwi", 2, "6", "4")),
                record(5, first, restocked("r1", #""strawberry":16,"kiwi":2"#)),
                record(6, first, restocked("r2", #""mango":30"#)),
                record(7, first, rejected("orderId", "o3", "unknownJuice")),
                record(8, first, rejected("restockId", "r3", "wouldGoNegative")),
            ],
            [
                record(
                    0,
                    second,
                    #"{"type":"juiceMade","orderId":"o7","store":"\#(second)","juice":"mangoKiwi""#
                        + #","quantity":4,"used":{"mango":8,"kiwi":4}"#
                        + #","left":{"mango":2,"kiwi":6},"message":"m"}"#
                ),
                record(
                    1,
                    second,
                    #"{"type":"outOfStock","orderId":"o8","store":"\#(second)","juice":"mangoKiwi""#
                        + #","quantity":2,"fruit":"mango""#
                        + #","missing":[{"fruit":"mango","needed":4,"inStock":2}],"message":"m"}"#
                ),
                record(
                    2,
                    second,
                    #"{"type":"restocked","restockId":"r1","store":"\#(second)","left":{"pineapple":15},"message":"m"}"#
                ),
            ],
        ],
        stock: [
            [
                record(0, first, stock(first, 1, [0, 9, 10, 10, 10])),
                record(2, first, stock(first, 4, [16, 9, 10, 2, 30])),
            ],
            [
                record(0, second, stock(second, 1, [10, 10, 10, 6, 2])),
                record(1, second, stock(second, 2, [10, 10, 15, 6, 2])),
            ],
        ],
        deadLetters: [
            [record(0, first, "nope", [own] + reasons("notJSON", "orders", 0, 5))],
            [
                record(
                    0,
                    first,
                    #"{"orderId":"o6","juice":"kiwi"}"#,
                    [forwarded(from: "0/999")] + reasons("misplaced", "orders", 1, 1)
                )
            ],
        ]
    )

    /// Records one millisecond apart.
    static func record(_ offset: Int64, _ key: String?, _ value: String?, _ headers: [AuditHeader] = [])
        -> AuditRecord
    {
        AuditRecord(
            offset: offset,
            timestamp: 1_000 + offset,
            key: key.map { Array($0.utf8) },
            value: value.map { Array($0.utf8) },
            headers: headers
        )
    }

    static func made(_ id: String, _ juice: String, _ quantity: Int, _ used: String, _ left: String) -> String
    {
        let fruit = juice == "strawberryBanana" ? "strawberry" : juice
        return
            #"{"type":"juiceMade","orderId":"\#(id)","store":"\#(first)","juice":"\#(juice)","quantity":\#(quantity),"#
            + #""used":{"\#(fruit)":\#(used)},"left":{"\#(fruit)":\#(left)},"message":"juice made"}"#
    }

    static func restocked(_ id: String, _ left: String) -> String {
        #"{"type":"restocked","restockId":"\#(id)","store":"\#(first)","left":{\#(left)},"message":"restocked"}"#
    }

    static func rejected(_ field: String, _ id: String, _ reason: String) -> String {
        #"{"type":"rejected","\#(field)":"\#(id)","store":"\#(first)","reason":"\#(reason)","message":"rejected"}"#
    }

    static func stock(_ store: String, _ revision: Int, _ levels: [Int]) -> String {
        let names = ["strawberry", "banana", "pineapple", "kiwi", "mango"]
        let amounts = zip(names, levels).map { "\"\($0)\":\($1)" }.joined(separator: ",")
        return #"{"store":"\#(store)","revision":\#(revision),"stock":{\#(amounts)}}"#
    }

    static func reasons(_ code: String, _ topic: String, _ partition: Int, _ offset: Int) -> [AuditHeader] {
        [
            ("code", code), ("message", "a sentence"), ("topic", "juice.\(topic)"),
            ("partition", "\(partition)"),
            ("offset", "\(offset)"),
        ].map { name, value in
            let prefix = name == "code" || name == "message" ? "error" : "source"
            return AuditHeader("juice.\(prefix).\(name)", Array(value.utf8))
        }
    }
}

extension AuditRecord {
    /// A copy with changes.
    func with(
        offset: Int64? = nil,
        timestamp: Int64? = nil,
        key: [UInt8]?? = nil,
        value: String? = nil,
        headers: [AuditHeader]? = nil
    ) -> AuditRecord {
        AuditRecord(
            offset: offset ?? self.offset,
            timestamp: timestamp ?? self.timestamp,
            key: key ?? self.key,
            value: value.map { Array($0.utf8) } ?? self.value,
            headers: headers ?? self.headers
        )
    }

    /// A copy with a text in its value replaced.
    func replacing(_ text: String, with other: String) -> AuditRecord {
        with(value: String(decoding: value ?? [], as: UTF8.self).replacing(text, with: other))
    }
}
