import Foundation
import Testing

@testable import JuiceAudit

/// Values of the records of a store. An answer has no offset before ``Swift/String/at(_:from:store:)``.
enum Line {
    static let rules = AuditRules(partitionCount: 1, memoryWindow: 1_000, memoryCount: 100)
    static let claim = claim("till-1")

    /// A claim whose writer has fenced till-1, unless others are named.
    static func claim(
        _ instance: String, set: Int = 0, since: Int = 0, fenced: String = ids("till-1"), group: String = "juice-maker",
        partitions: Int = 1
    ) -> String {
        #"{"type":"claim","ids":\#(ids(instance, set: set, group)),"since":\#(since),"group":"\#(group)","#
            + #""instance":"\#(instance)","partitions":\#(partitions),"fenced":\#(fenced)}"#
    }

    static func ids(_ instance: String, set: Int = 0, _ group: String = "juice-maker") -> String {
        #"["\#(group)/\#(instance)/0/\#(set)/0","\#(group)/\#(instance)/0/\#(set)/1"]"#
    }

    /// A position note of the first claim, unless another is named.
    static func position(
        _ orders: Int?, _ restocks: Int?, claim: Int = 0, ids: String = ids("till-1"), _ more: String = ""
    ) -> String {
        let positions = [("orders", orders), ("restocks", restocks)].map { name, offset in
            offset.map { #""\#(name)":\#($0),"# } ?? ""
        }
        return #"{"type":"position",\#(positions.joined())"claim":\#(claim),"ids":\#(ids)\#(more)}"#
    }

    /// A note of a record of an input.
    static func note(_ type: String, _ offset: Int, topic: String = "orders", _ more: String = "") -> String {
        #"{"type":"\#(type)","topic":"\#(topic)","offset":\#(offset)\#(more)}"#
    }

    static func anchored(_ offset: Int) -> String { note("anchored", offset, #","by":"root@host","reason":"a test""#) }

    static func putAside(_ offset: Int, _ code: String) -> String { note("deadLetter", offset, #","code":"\#(code)""#) }

    /// - Parameter items: a basket's items, or the name of a juice.
    static func order(_ id: String, _ items: String, _ quantity: Int? = nil) -> String {
        items.hasPrefix("{")
            ? #"{"orderId":"\#(id)","items":[\#(items)]}"#
            : #"{"orderId":"\#(id)","juice":"\#(items)"\#(quantity.map { #","quantity":\#($0)"# } ?? "")}"#
    }

    static func cancel(_ id: String) -> String { #"{"orderId":"\#(id)","cancel":true}"# }

    static func add(_ id: String, _ fruits: String) -> String { #"{"restockId":"\#(id)","add":{\#(fruits)}}"# }

    static func set(_ id: String, _ fruits: String) -> String { #"{"restockId":"\#(id)","set":{\#(fruits)}}"# }

    /// - Parameter member: `orderId` or `restockId`.
    static func lost(_ id: String, _ was: String, member: String = "orderId", cancel: String = "") -> String {
        #"{"type":"answerLost","duplicate":true,"\#(member)":"\#(id)","store":"m"\#(cancel),"was":"\#(was)","message":"m"}"#
    }

    static func lostCancel(_ id: String, _ was: String) -> String { lost(id, was, cancel: #","cancel":true"#) }

    /// - Parameter items: a basket's items, or the name of a juice.
    static func made(
        _ id: String, _ items: String, quantity: Int = 1, _ used: String, _ left: String, _ revision: Int
    ) -> String {
        #"{"type":"juiceMade","orderId":"\#(id)","store":"m",\#(named(items, quantity)),"#
            + #""used":{\#(used)},"left":{\#(left)},"revision":\#(revision),"message":"m"}"#
    }

    static func short(
        _ id: String, _ items: String, quantity: Int = 1, _ fruit: String, _ needed: Int, _ inStock: Int
    ) -> String {
        #"{"type":"outOfStock","orderId":"\#(id)","store":"m",\#(named(items, quantity)),"fruit":"\#(fruit)","#
            + #""missing":[{"fruit":"\#(fruit)","needed":\#(needed),"inStock":\#(inStock)}],"message":"m"}"#
    }

    static func restocked(_ id: String, _ left: String, _ revision: Int) -> String {
        #"{"type":"restocked","restockId":"\#(id)","store":"m","left":{\#(left)},"revision":\#(revision),"message":"m"}"#
    }

    /// - Parameter revision: nil if nothing is returned.
    static func cancelled(_ id: String, _ returned: String = "", _ left: String = "", _ revision: Int? = nil) -> String {
        #"{"type":"cancelled","orderId":"\#(id)","store":"m","returned":{\#(returned)},"left":{\#(left)},"#
            + (revision.map { #""revision":\#($0),"# } ?? "") + #""message":"m"}"#
    }

    static func rejected(_ id: String, _ reason: String, of field: String = "orderId", isCancel: Bool = false) -> String {
        #"{"type":"rejected","\#(field)":"\#(id)","store":"m","#
            + (isCancel || field == "orderId" && reason == "wouldOverflow" ? #""cancel":true,"# : "")
            + #""reason":"\#(reason)","message":"m"}"#
    }

    static func again(_ answer: String) -> String { answer.replacing(#","orderId""#, with: #","duplicate":true,"orderId""#) }

    /// - Parameter levels: of strawberries, bananas, pineapples, kiwis and mangos.
    static func stock(_ revision: Int, _ levels: [Int], store: String = "m") -> String {
        let fruits = zip(["strawberry", "banana", "pineapple", "kiwi", "mango"], levels).map { #""\#($0)":\#($1)"# }
        return #"{"store":"\#(store)","revision":\#(revision),"stock":{\#(fruits.joined(separator: ","))}}"#
    }

    private static func named(_ items: String, _ quantity: Int) -> String {
        items.hasPrefix("{") ? #""items":[\#(items)]"# : #""juice":"\#(items)","quantity":\#(quantity)"#
    }
}

extension String {
    /// An answer, to the command at an offset.
    func at(_ offset: Int, from: String? = nil, store: String = "m") -> String {
        let from = from.map { #","from":"\#($0)""# } ?? ""
        return replacing(#""store":"m""#, with: #""store":"\#(store)","offset":\#(offset)\#(from)"#, maxReplacements: 1)
    }
}

extension AuditTopics {
    /// Topics without records.
    init(partitionCount: Int) {
        let none = [[AuditRecord]](repeating: [], count: partitionCount)
        self.init(Dictionary(uniqueKeysWithValues: AuditTopic.allCases.map { ($0, none) }))
    }

    /// One partition of the store `m`, record by record; what a record says decides its topic, and `- orders` is an offset of
    /// the orders without a record.
    ///
    /// The records are a millisecond apart, unless one begins with a time, such as `@5000`. The journal begins with a claim. An
    /// answer that names no offset is that of the last command of its topic.
    init(_ lines: [String]) {
        self.init(partitionCount: 1)
        var time: Int64 = 1_000
        var next: [AuditTopic: Int64] = [:]
        for var line in [Line.claim] + lines {
            if line.hasPrefix("@") {
                let parts = line.dropFirst().split(separator: " ", maxSplits: 1)
                (time, line) = (Int64(parts[0]) ?? time, String(parts[1]))
            }
            let gap = line.hasPrefix("- ") ? AuditTopic(rawValue: String(line.dropFirst(2))) : nil
            let starts = [(#"{"orderId""#, AuditTopic.orders), (#"{"restockId""#, .restocks), (#"{"store""#, .stock)]
            let topic = gap ?? starts.first { line.hasPrefix($0.0) }?.1 ?? .results
            let isNote = topic == .results && !line.contains(#""store""#)
            if topic == .results, !isNote, !line.contains(#""offset""#) {
                line = line.at(Int(next[line.contains(#""restockId""#) ? .restocks : .orders] ?? 0) - 1)
            }
            if gap == nil {
                let key = isNote ? nil : Array("m".utf8)
                self[topic][0].append(
                    AuditRecord(offset: next[topic] ?? 0, timestamp: time, key: key, value: Array(line.utf8)))
            }
            next[topic, default: 0] += 1
            time += 1
        }
    }

    /// The record at a place such as `orders 0@6`; set to nil, it is removed.
    subscript(place: String) -> AuditRecord? {
        get {
            let (topic, partition, offset) = Self.parse(place)
            return self[topic][partition].first { $0.offset == offset }
        }
        set {
            let (topic, partition, offset) = Self.parse(place)
            self[topic][partition].removeAll { $0.offset == offset }
            let index = self[topic][partition].firstIndex { $0.offset > offset } ?? self[topic][partition].count
            if let newValue { self[topic][partition].insert(newValue.with(offset: offset), at: index) }
        }
    }

    private static func parse(_ place: String) -> (AuditTopic, partition: Int, offset: Int64) {
        let parts = place.split { $0 == " " || $0 == "@" }
        return (AuditTopic(rawValue: String(parts[0])) ?? .orders, Int(parts[1]) ?? 0, Int64(parts[2]) ?? 0)
    }

    /// Writes a record at a time that its offset tells. Unless a key is given, it is that of a note or of the partition's store.
    mutating func add(_ place: String, _ value: String?, key: String?? = .none, _ headers: [AuditHeader] = []) {
        let (_, partition, offset) = Self.parse(place)
        let isNote = value?.hasPrefix(#"{"type""#) == true && value?.contains(#""store""#) == false
        let key = key ?? (isNote ? nil : partition == 0 ? Story.first : Story.second)
        self[place] = AuditRecord(
            offset: offset, timestamp: 1_000 + offset, key: key.map { Array($0.utf8) }, value: value.map { Array($0.utf8) },
            headers: headers)
    }

    /// Replaces a text in the value of a record.
    mutating func replace(_ place: String, _ text: String, _ other: String) {
        let value = String(decoding: self[place]?.value ?? [], as: UTF8.self)
        self[place] = self[place]?.with(value: value.replacing(text, with: other))
    }
}

// MARK: - Accounts

/// What a position note says that its journal holds, computed apart from the audit.
struct Account {
    var before: Int64?
    var records = 0
    var changes = 0
    var sum: UInt64 = 0

    /// The last handled record of each input.
    var last: [String: String] = [:]

    /// A handled record, as notes name it.
    static func handled(_ offset: Int, _ digest: String) -> String { #"{"offset":\#(offset),"digest":"\#(digest)"}"# }

    /// Each input's last handled record, in the order in which notes name them.
    var lastMember: String {
        let members = last.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }
        return members.isEmpty ? "" : #","last":{\#(members.joined(separator: ","))}"#
    }

    /// The members of a note.
    var members: String {
        (before.map { #","before":\#($0)"# } ?? "")
            + #","records":\#(records),"changes":\#(changes),"sum":"\#(sum)","menu":"0aa3d1b74f877d1a""#
    }

    /// How much a change of a store adds to the sum.
    static func weight(_ store: String) -> UInt64 { sipHash(store) | 1 }

    /// SipHash-1-3 of whole words: the text, padded so that its length is the last byte.
    static func sipHash(_ text: String) -> UInt64 { sipHash(Array(text.utf8), mark: 0xFF).reduce(0, ^) }

    /// The same in 128 bits, as digits.
    static func digest(_ bytes: [UInt8]) -> String {
        let halves = [sipHash(bytes, mark: 0xEE), sipHash(bytes, mark: 0xEE, again: true)].map { $0.reduce(0, ^) }
        return halves.flatMap { half in (0..<8).map { String(format: "%02x", Int(half >> (8 * $0) & 0xFF)) } }.joined()
    }

    /// - Parameters:
    ///   - mark: what ends the text: of 64 bits or of 128.
    ///   - again: whether it is for the second half.
    private static func sipHash(_ text: [UInt8], mark: UInt64, again: Bool = false) -> [UInt64] {
        let padded = text + Array(repeating: 0, count: 7 - text.count % 8) + [UInt8(truncatingIfNeeded: text.count)]
        func words(_ bytes: [UInt8]) -> [UInt64] {
            stride(from: 0, to: bytes.count, by: 8).map { start in
                (0..<8).map { UInt64(bytes[start + $0]) << (8 * $0) }.reduce(0, |)
            }
        }
        let key = words(Array("juice journal v1".utf8))
        var v = zip(words(Array("uespemosmodnarodarenegylsetybdet".utf8)), key + key).map { $0 ^ $1 }
        func add(_ into: Int, _ from: Int, rotatedBy bits: UInt64) {
            v[into] = v[into] &+ v[from]
            v[from] = (v[from] << bits | v[from] >> (64 - bits)) ^ v[into]
        }
        func mix() {
            add(0, 1, rotatedBy: 13)
            v[0] = v[0] << 32 | v[0] >> 32
            add(2, 3, rotatedBy: 16)
            add(0, 3, rotatedBy: 21)
            add(2, 1, rotatedBy: 17)
            v[2] = v[2] << 32 | v[2] >> 32
        }
        if mark == 0xEE { v[1] ^= 0xEE }
        for word in words(padded) {
            v[3] ^= word
            mix()
            v[0] ^= word
        }
        v[2] ^= mark
        for _ in 0..<3 { mix() }
        if again {
            v[1] ^= 0xDD
            for _ in 0..<3 { mix() }
        }
        return v
    }
}

extension AuditTopics {
    /// The topics with the right digests, and the right account and last records in each position note that has none.
    var accounted: AuditTopics { completed(withAccounts: true) }

    /// The same without the accounts.
    var digested: AuditTopics { completed(withAccounts: false) }

    private func completed(withAccounts: Bool) -> AuditTopics {
        var topics = self
        for (partition, records) in self[.results].enumerated() {
            var account = Account()
            for (index, record) in records.enumerated() {
                var value = record.value ?? []
                func set(_ text: String) {
                    value = Array(text.utf8)
                    topics[.results][partition][index] = record.with(value: text)
                }
                func add(_ members: String) { set(String(decoding: value.dropLast(), as: UTF8.self) + members + "}") }
                guard let members = try? JSONSerialization.jsonObject(with: Data(value)) as? [String: Any] else { continue }
                switch members["type"] as? String {
                case "claim": break
                case "anchored":
                    account.before = nil
                    if let topic = members["topic"] { account.last["\(topic)/\(members["partition"] ?? partition)"] = nil }
                case "position":
                    // Naming an older answer than must be is right.
                    if withAccounts, members["records"] == nil { add(account.members + (record.offset > 0 ? #","oldest":0"# : "")) }
                    if members["last"] == nil { add(account.lastMember) }
                    account.before = record.offset
                default:
                    guard members["topic"] ?? members["store"] != nil, let offset = members["offset"] as? Int else { continue }
                    account.records += 1
                    if let topic = members["topic"] as? String {
                        let number = members["partition"] as? Int ?? partition
                        if members["digest"] == nil, let inputs = AuditTopic(rawValue: topic).map({ self[$0] }),
                            inputs.indices.contains(number), let read = inputs[number].first(where: { $0.offset == offset })
                        {
                            let length = read.key.map { UInt64($0.count) } ?? .max
                            let bytes = (0..<8).map { UInt8(length >> (8 * $0) & 0xFF) } + (read.key ?? []) + (read.value ?? [])
                            add(#","digest":"\#(Account.digest(bytes))""#)
                        }
                        if ["copy", "deadLetter", "forwarded"].contains(members["type"] as? String) {
                            let note = try? JSONSerialization.jsonObject(with: Data(value)) as? [String: Any]
                            account.last["\(topic)/\(number)"] = Account.handled(offset, note?["digest"] as? String ?? "")
                        }
                        continue
                    }
                    guard let store = members["store"] as? String else { continue }
                    let isOrder = members["orderId"] != nil
                    if let id = members["orderId"] ?? members["restockId"] {
                        let isCancel = members["type"] as? String == "cancelled" || members["cancel"] != nil
                        let command = [
                            (isOrder ? isCancel ? UInt8(ascii: "c") : UInt8(ascii: "o") : UInt8(ascii: "r")),
                            UInt8(store.utf8.count),
                        ]
                        let digest = Account.digest(command + Array(store.utf8) + Array("\(id)".utf8))
                        account.last["\(isOrder ? "orders" : "restocks")/\(partition)"] = Account.handled(offset, digest)
                    }
                    guard members["revision"] != nil, members["duplicate"] == nil else { continue }
                    account.changes += 1
                    account.sum &+= Account.weight(store)
                }
            }
        }
        return topics
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

/// Topics that keep the contract: two partitions with a store in each.
enum Story {
    static let first = "m"
    static let second = "g"
    static let rules = AuditRules(partitionCount: 2, memoryWindow: 1_000, memoryCount: 3)

    static let trace = AuditHeader("traceparent", Array("00-1-2-01".utf8))
    static let own = AuditHeader("x", nil)

    static func forwarded(from origin: String) -> AuditHeader { AuditHeader("juice.forwarded.from", Array(origin.utf8)) }

    static func reasons(_ code: String, _ partition: Int, _ offset: Int) -> [AuditHeader] {
        [
            ("error.code", code), ("error.message", "a sentence"), ("source.topic", "juice.orders"),
            ("source.partition", "\(partition)"), ("source.offset", "\(offset)"),
        ].map { AuditHeader("juice.\($0)", Array($1.utf8)) }
    }

    static let topics: AuditTopics = {
        var topics = AuditTopics(partitionCount: 2)
        let bananas = Line.made("o1", "strawberryBanana", #""strawberry":10,"banana":1"#, #""strawberry":0,"banana":9"#, 1)

        topics.add("orders 0@0", Line.order("o1", "strawberryBanana"), [trace, own])
        topics.add("orders 0@1", Line.order("o2", "strawberry", 1))
        topics.add("orders 0@3", Line.order("o1", "mango"))
        topics.add("orders 0@4", Line.order("o5", "kiwi", 2), [own, forwarded(from: "1/0")])
        topics["orders 0@4"] = topics["orders 0@4"]?.with(timestamp: 1_000)
        topics.add("orders 0@5", "nope", [own])
        topics.add("orders 0@6", Line.order("o3", "durian"))
        topics.add("restocks 0@0", Line.add("r1", #""kiwi":-2,"strawberry":16"#))
        topics.add("restocks 0@1", Line.set("r2", #""mango":30"#))
        topics.add("restocks 0@2", Line.add("r3", #""banana":-100"#))

        topics.add("results 0@0", Line.claim("till-1", partitions: 2))
        topics.add("results 0@1", Line.position(0, 0))
        topics.add("results 0@2", bananas.at(0), [trace])
        topics.add("results 0@3", Line.short("o2", "strawberry", "strawberry", 16, 0).at(1))
        topics.add("results 0@4", Line.again(bananas).at(3))
        topics.add("results 0@5", Line.made("o5", "kiwi", quantity: 2, #""kiwi":6"#, #""kiwi":4"#, 2).at(4, from: "1/0"))
        topics.add("results 0@6", Line.restocked("r1", #""strawberry":16,"kiwi":2"#, 3).at(0))
        topics.add("results 0@7", Line.restocked("r2", #""mango":30"#, 4).at(1))
        topics.add("results 0@8", Line.putAside(5, "notJSON"))
        topics.add("results 0@9", Line.rejected("o3", "unknownJuice").at(6))
        topics.add("results 0@10", Line.position(7, 2, #","forwarded":{"orders/1":0}"#))
        topics.add("results 0@11", Line.rejected("r3", "wouldGoNegative", of: "restockId").at(2))
        topics.add("stock 0@0", Line.stock(1, [0, 9, 10, 10, 10]))
        topics.add("stock 0@2", Line.stock(4, [16, 9, 10, 2, 30]))
        topics.add("dead-letters 0@0", "nope", [own] + reasons("notJSON", 0, 5))

        topics.add("orders 1@0", Line.order("o5", "kiwi", 2), key: first, [own])
        topics.add("orders 1@1", Line.order("o6", "kiwi"), key: first, [forwarded(from: "0/999")])
        topics.add("orders 1@2", Line.order("o7", "mangoKiwi", 4))
        topics.add("orders 1@3", Line.order("o8", "mangoKiwi", 2))
        topics.add("restocks 1@0", Line.add("r1", #""pineapple":5"#))

        topics.add("results 1@0", Line.claim("till-1", partitions: 2))
        topics.add("results 1@1", Line.note("forwarded", 0, #","to":0"#))
        topics.add("results 1@2", Line.putAside(1, "misplaced"))
        let mangos = Line.made("o7", "mangoKiwi", quantity: 4, #""mango":8,"kiwi":4"#, #""mango":2,"kiwi":6"#, 1)
        topics.add("results 1@3", mangos.at(2, store: second))
        topics.add("results 1@4", Line.short("o8", "mangoKiwi", quantity: 2, "mango", 4, 2).at(3, store: second))
        topics.add("results 1@5", Line.restocked("r1", #""pineapple":15"#, 2).at(0, store: second))
        topics.add("stock 1@0", Line.stock(1, [10, 10, 10, 6, 2], store: second))
        topics.add("stock 1@1", Line.stock(2, [10, 10, 15, 6, 2], store: second))
        topics.add(
            "dead-letters 1@0", Line.order("o6", "kiwi"), key: first, [forwarded(from: "0/999")] + reasons("misplaced", 1, 1))
        return topics
    }()
}

extension Audit {
    init(_ lines: [String]) throws { try self.init(of: AuditTopics(lines).accounted, by: Line.rules) }
}

/// Topics, and the faults that must be found in them: each fault contains its text. None if the contract is kept.
struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let expected: [String]
    let topics: AuditTopics
    var rules = Line.rules

    /// The story with a change.
    init(_ name: String, _ expected: String..., change: (inout AuditTopics) -> Void) {
        var topics = Story.topics
        change(&topics)
        self.init(name, expected, topics)
    }

    init(_ name: String, _ expected: [String], _ story: AuditTopics) {
        (testDescription, self.expected, topics, rules) = (name, expected, story, Story.rules)
    }

    /// The story with a change, where copies need not have the times of what was forwarded.
    static func timedByBrokers(_ name: String, _ expected: String..., change: (inout AuditTopics) -> Void) -> Case {
        var topics = Story.topics
        change(&topics)
        var `case` = Case("timed by brokers: \(name)", expected, topics)
        `case`.rules.keepsTimes = false
        return `case`
    }

    /// The story with a text of a record replaced.
    static func edit(_ place: String, _ text: String, _ other: String, _ expected: String...) -> Case {
        var topics = Story.topics
        topics.replace(place, text, other)
        return Case("\(place): \(text) -> \(other)", expected, topics)
    }

    /// A store's lines.
    init(_ lines: [String], _ name: String = "", _ expected: [String] = []) {
        (testDescription, self.expected, topics) = (name, expected, AuditTopics(lines))
    }

    /// Whether the faults are found, each once, and no others.
    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
        expect(try Audit(of: topics.accounted, by: rules), expected, sourceLocation: sourceLocation)
    }
}

func expect(_ audit: Audit, _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    let faults = audit.faults.map(\.description)
    #expect(faults.count == expected.count, "\(faults)", sourceLocation: sourceLocation)
    for text in expected {
        #expect(faults.contains { $0.contains(text) }, "\(text) is not in \(faults)", sourceLocation: sourceLocation)
    }
}
