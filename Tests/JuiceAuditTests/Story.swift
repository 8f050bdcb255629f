@testable import JuiceAudit

/// Handwritten topics that keep the contract: two partitions with a store in each.
enum Story {
    static let first = store(in: 0)
    static let second = store(in: 1)
    static let rules = AuditRules(partitionCount: 2, memoryWindow: 1_000, memoryCount: 3)

    static func store(in partition: Int) -> String {
        var names = Names(partitionCount: 2)
        return (0..<100).lazy.map { "store-\($0)" }.first { name in
            names.store(key: Array(name.utf8)).map { names.owners[$0] } == partition
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
                )
                .with(timestamp: 1_000),
                record(5, first, "nope", [own]),
                record(6, first, #"{"orderId":"o3","juice":"durian"}"#),
            ],
            [
                record(0, first, #"{"orderId":"o5","juice":"kiwi","quantity":2}"#, [own]),
                record(1, first, #"{"orderId":"o6","juice":"kiwi"}"#, [forwarded(from: "0/999")]),
                record(2, second, #"{"orderId":"o7","juice":"mangoKiwi","quantity":4}"#),
                record(3, second, #"{"orderId":"o8","juice":"mangoKiwi","quantity":2}"#),
            ],
        ],
        restocks: [
            [
                record(0, first, #"{"restockId":"r1","add":{"kiwi":-2,"strawberry":16}}"#),
                record(1, first, #"{"restockId":"r2","set":{"mango":30}}"#),
                record(2, first, #"{"restockId":"r3","add":{"banana":-100}}"#),
            ], [record(0, second, #"{"restockId":"r1","add":{"pineapple":5}}"#)],
        ],
        results: [
            [
                note(0, claim),
                note(1, position(0, 0)),
                record(
                    2,
                    first,
                    made("o1", 0, "strawberryBanana", 1, "10,\"banana\":1", "0,\"banana\":9", 1),
                    [trace]
                ),
                record(
                    3,
                    first,
                    short("o2", 1, first, #""juice":"strawberry","quantity":1"#, "strawberry", 16, 0)
                ),
                record(
                    4,
                    first,
                    made("o1", 3, "strawberryBanana", 1, "10,\"banana\":1", "0,\"banana\":9", 1)
                        .replacing(#","orderId""#, with: #","duplicate":true,"orderId""#)
                ),
                record(5, first, made("o5", 4, "kiwi", 2, "6", "4", 2, from: "1/0")),
                record(6, first, restocked("r1", 0, first, #""strawberry":16,"kiwi":2"#, 3)),
                record(7, first, restocked("r2", 1, first, #""mango":30"#, 4)),
                note(8, #"{"type":"deadLetter","topic":"orders","offset":5,"code":"notJSON"}"#),
                record(9, first, rejected("orderId", "o3", 6, "unknownJuice")),
                note(10, position(7, 2, #","forwarded":{"orders/1":0}"#)),
                record(11, first, rejected("restockId", "r3", 2, "wouldGoNegative")),
            ],
            [
                note(0, claim), note(1, #"{"type":"forwarded","topic":"orders","offset":0,"to":0}"#),
                note(2, #"{"type":"deadLetter","topic":"orders","offset":1,"code":"misplaced"}"#),
                record(
                    3, second,
                    #"{"type":"juiceMade","orderId":"o7","store":"\#(second)","offset":2,"juice":"mangoKiwi","quantity":4,"#
                        + #""used":{"mango":8,"kiwi":4},"left":{"mango":2,"kiwi":6},"revision":1,"message":"m"}"#
                ),
                record(
                    4,
                    second,
                    short("o8", 3, second, #""juice":"mangoKiwi","quantity":2"#, "mango", 4, 2)
                ),
                record(5, second, restocked("r1", 0, second, #""pineapple":15"#, 2)),
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
                    0, first, #"{"orderId":"o6","juice":"kiwi"}"#, [forwarded(from: "0/999")] + reasons("misplaced", "orders", 1, 1)
                )
            ],
        ])

    /// Records one millisecond apart.
    static func record(_ offset: Int64, _ key: String?, _ value: String?, _ headers: [AuditHeader] = []) -> AuditRecord {
        AuditRecord(
            offset: offset, timestamp: 1_000 + offset, key: key.map { Array($0.utf8) }, value: value.map { Array($0.utf8) },
            headers: headers)
    }

    static func note(_ offset: Int64, _ value: String) -> AuditRecord { record(offset, nil, value) }

    static let claim = Line.claim.replacing(#""partitions":1"#, with: #""partitions":2"#)

    static func position(_ orders: Int, _ restocks: Int, _ more: String = "") -> String {
        #"{"type":"position","orders":\#(orders),"restocks":\#(restocks),"stock":0,"claim":0,"ids":\#(Line.ids("till-1"))\#(more)}"#
    }

    static func made(
        _ id: String, _ offset: Int, _ juice: String, _ quantity: Int, _ used: String, _ left: String, _ revision: Int,
        from: String? = nil
    ) -> String {
        let fruit = juice == "strawberryBanana" ? "strawberry" : juice
        return #"{"type":"juiceMade","orderId":"\#(id)","store":"\#(first)","offset":\#(offset),"#
            + (from.map { #""from":"\#($0)","# } ?? "") + #""juice":"\#(juice)","quantity":\#(quantity),"#
            + #""used":{"\#(fruit)":\#(used)},"left":{"\#(fruit)":\#(left)},"revision":\#(revision),"message":"juice made"}"#
    }

    static func short(
        _ id: String,
        _ offset: Int,
        _ store: String,
        _ order: String,
        _ fruit: String,
        _ needed: Int,
        _ inStock: Int
    ) -> String {
        #"{"type":"outOfStock","orderId":"\#(id)","store":"\#(store)","offset":\#(offset),\#(order),"fruit":"\#(fruit)","#
            + #""missing":[{"fruit":"\#(fruit)","needed":\#(needed),"inStock":\#(inStock)}],"message":"m"}"#
    }

    static func restocked(_ id: String, _ offset: Int, _ store: String, _ left: String, _ revision: Int) -> String {
        #"{"type":"restocked","restockId":"\#(id)","store":"\#(store)","offset":\#(offset),"left":{\#(left)},"#
            + #""revision":\#(revision),"message":"restocked"}"#
    }

    static func rejected(_ field: String, _ id: String, _ offset: Int, _ reason: String) -> String {
        #"{"type":"rejected","\#(field)":"\#(id)","store":"\#(first)","offset":\#(offset),"reason":"\#(reason)","message":"rejected"}"#
    }

    static func stock(_ store: String, _ revision: Int, _ levels: [Int]) -> String {
        let names = ["strawberry", "banana", "pineapple", "kiwi", "mango"]
        let amounts = zip(names, levels).map { "\"\($0)\":\($1)" }.joined(separator: ",")
        return #"{"store":"\#(store)","revision":\#(revision),"stock":{\#(amounts)}}"#
    }

    static func reasons(_ code: String, _ topic: String, _ partition: Int, _ offset: Int) -> [AuditHeader] {
        [
            ("error.code", code), ("error.message", "a sentence"), ("source.topic", "juice.\(topic)"),
            ("source.partition", "\(partition)"), ("source.offset", "\(offset)"),
        ].map { AuditHeader("juice.\($0)", Array($1.utf8)) }
    }
}

extension AuditTopics {
    subscript(records topic: AuditTopic) -> [[AuditRecord]] {
        get { self[topic] }
        set {
            switch topic {
            case .orders: orders = newValue
            case .restocks: restocks = newValue
            case .results: results = newValue
            case .stock: stock = newValue
            case .deadLetters: deadLetters = newValue
            }
        }
    }

    /// The record at an offset; set to nil, it is removed.
    subscript(topic: AuditTopic, partition: Int, offset: Int64) -> AuditRecord? {
        get { self[topic][partition].first { $0.offset == offset } }
        set {
            self[records: topic][partition].removeAll { $0.offset == offset }
            let place = self[topic][partition].firstIndex { $0.offset > offset } ?? self[topic][partition].count
            if let newValue { self[records: topic][partition].insert(newValue.with(offset: offset), at: place) }
        }
    }

    /// Replaces a text in the value of a record.
    mutating func replace(_ topic: AuditTopic, _ partition: Int, _ offset: Int64, _ text: String, _ other: String) {
        let value = String(decoding: self[topic, partition, offset]?.value ?? [], as: UTF8.self)
        self[topic, partition, offset] = self[topic, partition, offset]?.with(value: value.replacing(text, with: other))
    }
}

extension AuditRecord {
    /// A copy with changes.
    func with(
        offset: Int64? = nil, timestamp: Int64? = nil, key: [UInt8]?? = nil, value: String? = nil, headers: [AuditHeader]? = nil
    ) -> AuditRecord {
        AuditRecord(
            offset: offset ?? self.offset, timestamp: timestamp ?? self.timestamp, key: key ?? self.key,
            value: value.map { Array($0.utf8) } ?? self.value, headers: headers ?? self.headers)
    }
}
