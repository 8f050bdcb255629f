import JuiceDomain
import Testing

@testable import JuiceAudit
@testable import JuiceMessages
@testable import simulate

/// Values of a store's records. An answer has no offset until ``Swift/String/at(_:from:store:)`` adds it.
enum Line {
    static let rules = AuditRules(partitionCount: 1, window: DuplicateWindow(age: 1_000, count: 100))
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

    /// A position note of the first claim, unless another is named. ``AuditTopics/completed()`` adds what it lacks.
    static func position(
        _ orders: Int, _ restocks: Int, claim: Int = 0, ids: String = ids("till-1"), _ more: String = ""
    ) -> String {
        #"{"type":"position","orders":\#(orders),"restocks":\#(restocks),"claim":\#(claim),"ids":\#(ids)\#(more)}"#
    }

    /// A note about an input record.
    static func note(_ type: String, _ offset: Int, topic: String = "orders", _ more: String = "") -> String {
        #"{"type":"\#(type)","topic":"\#(topic)","offset":\#(offset)\#(more)}"#
    }

    static func anchored(_ offset: Int) -> String { note("anchored", offset, #","by":"root@host","reason":"a test""#) }

    static func deadLetter(_ offset: Int, _ code: String) -> String { note("deadLetter", offset, #","code":"\#(code)""#) }

    /// - Parameter items: such as `kiwi`, `2 kiwi` or, in a basket, `2 kiwi, mango`.
    static func order(_ id: String, _ items: String) -> String { #"{"orderId":"\#(id)",\#(self.items(items, isAnswer: false))}"# }

    static func cancel(_ id: String) -> String { #"{"orderId":"\#(id)","cancel":true}"# }

    /// - Parameter fruits: such as `kiwi 2, mango -3`, as everywhere here.
    static func add(_ id: String, _ fruits: String) -> String { #"{"restockId":"\#(id)","add":\#(object(fruits))}"# }

    static func set(_ id: String, _ fruits: String) -> String { #"{"restockId":"\#(id)","set":\#(object(fruits))}"# }

    /// - Parameter member: `orderId` or `restockId`.
    static func lost(_ id: String, _ was: String, member: String = "orderId", cancel: String = "") -> String {
        #"{"type":"answerLost","duplicate":true,"\#(member)":"\#(id)","store":"m"\#(cancel),"was":"\#(was)","message":"m"}"#
    }

    static func lostCancel(_ id: String, _ was: String) -> String { lost(id, was, cancel: #","cancel":true"#) }

    static func made(_ id: String, _ items: String, _ used: String, _ left: String, _ revision: Int) -> String {
        #"{"type":"juiceMade","orderId":"\#(id)","store":"m",\#(self.items(items, isAnswer: true)),"used":\#(object(used)),"#
            + #""left":\#(object(left)),"revision":\#(revision),"message":"m"}"#
    }

    /// A mango juice, which takes three mangos.
    static func mango(_ id: String, left: Int, _ revision: Int) -> String {
        made(id, "mango", "mango 3", "mango \(left)", revision)
    }

    static func short(_ id: String, _ items: String, _ fruit: String, _ needed: Int, _ inStock: Int) -> String {
        #"{"type":"outOfStock","orderId":"\#(id)","store":"m",\#(self.items(items, isAnswer: true)),"fruit":"\#(fruit)","#
            + #""missing":[{"fruit":"\#(fruit)","needed":\#(needed),"inStock":\#(inStock)}],"message":"m"}"#
    }

    static func restocked(_ id: String, _ left: String, _ revision: Int) -> String {
        #"{"type":"restocked","restockId":"\#(id)","store":"m","left":\#(object(left)),"revision":\#(revision),"message":"m"}"#
    }

    /// - Parameter revision: nil if nothing is returned.
    static func cancelled(_ id: String, _ returned: String = "", _ left: String = "", _ revision: Int? = nil) -> String {
        #"{"type":"cancelled","orderId":"\#(id)","store":"m","returned":\#(object(returned)),"left":\#(object(left)),"#
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
        let fruits = zip(["strawberry", "banana", "pineapple", "kiwi", "mango"], levels).map { "\($0) \($1)" }
        return #"{"store":"\#(store)","revision":\#(revision),"stock":\#(object(fruits.joined(separator: ", ")))}"#
    }

    /// An answer names the number of each juice.
    private static func items(_ text: String, isAnswer: Bool) -> String {
        let items = text.split(separator: ", ").map { item in
            let parts = item.split(separator: " ")
            let number = parts.count > 1 ? String(parts[0]) : isAnswer ? "1" : nil
            return #""juice":"\#(parts.last ?? "")""# + (number.map { #","quantity":\#($0)"# } ?? "")
        }
        return items.count == 1 ? items[0] : #""items":[\#(items.map { "{\($0)}" }.joined(separator: ","))]"#
    }

    private static func object(_ fruits: String) -> String {
        let members = fruits.split(separator: ", ").map { fruit in
            let parts = fruit.split(separator: " ")
            return #""\#(parts[0])":\#(parts[1])"#
        }
        return "{\(members.joined(separator: ","))}"
    }
}

extension String {
    /// The answer with its command's offset.
    func at(_ offset: Int, from: String? = nil, store: String = "m") -> String {
        let from = from.map { #","from":"\#($0)""# } ?? ""
        return replacing(#""store":"m""#, with: #""store":"\#(store)","offset":\#(offset)\#(from)"#, maxReplacements: 1)
    }
}

extension AuditTopics {
    /// Topics without records.
    init(partitionCount: Int) {
        let none = [[AuditRecord]](repeating: [], count: partitionCount)
        self.init(Dictionary(uniqueKeysWithValues: Topic.allCases.map { ($0, none) }))
    }

    /// One partition with the store `m`, record by record. A record's content decides its topic; `- orders` is an offset of the
    /// orders without a record.
    ///
    /// The records are a millisecond apart, unless one begins with a time, such as `@5000`. The journal begins with a claim. An
    /// answer without an offset answers the last command of its topic.
    init(_ lines: [String]) {
        self.init(partitionCount: 1)
        var time: Int64 = 1_000
        var next: [Topic: Int64] = [:]
        for var line in [Line.claim] + lines {
            if line.hasPrefix("@") {
                let parts = line.dropFirst().split(separator: " ", maxSplits: 1)
                (time, line) = (Int64(parts[0]) ?? time, String(parts[1]))
            }
            let gap = line.hasPrefix("- ") ? Topic(String(line.dropFirst(2))) : nil
            let starts = [(#"{"orderId""#, Topic.orders), (#"{"restockId""#, .restocks), (#"{"store""#, .stock)]
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

    private static func parse(_ place: String) -> (Topic, partition: Int, offset: Int64) {
        let parts = place.split { $0 == " " || $0 == "@" }
        return (Topic(String(parts[0])) ?? .orders, Int(parts[1]) ?? 0, Int64(parts[2]) ?? 0)
    }

    /// Writes a record with a time derived from its offset. By default its key is nil for a note, else the partition's store.
    mutating func add(_ place: String, _ value: String?, key: String?? = .none, _ headers: [MessageHeader] = []) {
        let (_, partition, offset) = Self.parse(place)
        let isNote = value?.hasPrefix(#"{"type""#) == true && value?.contains(#""store""#) == false
        let key = key ?? (isNote ? nil : partition == 0 ? Story.first : Story.second)
        self[place] = AuditRecord(
            offset: offset, timestamp: 1_000 + offset, key: key.map { Array($0.utf8) }, value: value.map { Array($0.utf8) },
            headers: headers)
    }

    /// Replaces a text in the value of a record.
    mutating func replace(_ place: String, _ text: String, _ other: String) {
        self[place] = self[place].map { $0.with(value: $0.text.replacing(text, with: other)) }
    }
}

extension AuditTopics {
    /// The topics without the records before the first offset of each partition.
    func starting(at first: [Topic: [Int64]]) -> AuditTopics {
        AuditTopics(Dictionary(uniqueKeysWithValues: Topic.allCases.map { ($0, self[$0]) }), starts: first)
    }

    /// The topics, with digests added to notes without one, and last records and accounts to position notes without them.
    func completed() -> AuditTopics {
        var topics = self
        let reader = JournalReader(menu: .standard)
        for (number, records) in self[.results].enumerated() {
            let (partition, menu) = (Int32(number), JournalAccount.digest(of: .standard))
            var account = JournalAccount(before: nil, records: 0, changes: StockChanges(), oldest: nil, menu: menu)
            var last: [InputPartition: HandledRecord] = [:]
            for (index, record) in records.enumerated() {
                let value = record.value ?? []
                value.withUnsafeBytes { bytes in
                    guard let entry = try? reader.read(bytes, partition: partition) else { return }
                    switch entry.content {
                    case .note(.position(var note)):
                        if note.last.isEmpty, !record.text.contains(#""last""#) { note.last = last }
                        if note.account == nil {
                            let menu = record.text.firstMatch(of: /"menu":"([0-9a-f]+)"/).flatMap { UInt64($0.1, radix: 16) }
                            note.account = account
                            note.account?.menu = menu ?? account.menu
                            // The oldest answer may be older than necessary.
                            note.account?.oldest = record.offset > 0 ? 0 : nil
                        }
                        topics[.results][number][index] = record.with(value: JournalNote.position(note).text)
                        account.before = record.offset
                    case .note(.anchored(let place, _, _, _)):
                        account.before = nil
                        last[place.input(in: partition)] = nil
                    default:
                        guard let (input, offset, noted) = entry.handled else { return }
                        account.records += 1
                        if let answer = entry.answer, answer.revision > 0, !answer.head.isDuplicate {
                            account.changes.add(ofWeight: StockChanges.weight(of: answer.head.store.bytes))
                        }
                        if case .unknown = entry.content { return }
                        let handled = self["\(input.topic.topic.name) \(input.partition)@\(offset)"]
                        guard let digest = entry.digest ?? handled?.digest else { return }
                        last[input] = HandledRecord(offset: offset, digest: digest)
                        guard entry.answer == nil, noted == nil else { return }
                        let text = #"\#(record.text.dropLast()),"digest":"\#(digest.hex)"}"#
                        topics[.results][number][index] = record.with(value: text)
                    }
                }
            }
        }
        return topics
    }
}

extension Topic {
    init?(_ name: String) {
        guard let topic = Topic.allCases.first(where: { $0.name == name }) else { return nil }
        self = topic
    }
}

extension AuditRecord {
    var text: String { String(decoding: value ?? [], as: UTF8.self) }

    /// A copy with changes.
    func with(
        offset: Int64? = nil, timestamp: Int64? = nil, key: [UInt8]?? = nil, value: String? = nil, headers: [MessageHeader]? = nil
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
    static let rules = AuditRules(partitionCount: 2, window: DuplicateWindow(age: 1_000, count: 3))

    static let trace = MessageHeader(name: "traceparent", value: "00-1-2-01")
    static let own = MessageHeader(name: "x", value: nil)

    static func forwarded(from origin: String) -> MessageHeader { MessageHeader(name: "juice.forwarded.from", value: origin) }

    static func reasons(_ code: String, _ partition: Int, _ offset: Int) -> [MessageHeader] {
        [
            ("error.code", code), ("error.message", "a sentence"), ("source.topic", "juice.orders"),
            ("source.partition", "\(partition)"), ("source.offset", "\(offset)"),
        ].map { MessageHeader(name: "juice.\($0)", value: $1) }
    }

    /// The first answer.
    static let bananas = Line.made("o1", "strawberryBanana", "strawberry 10, banana 1", "strawberry 0, banana 9", 1)

    static let topics: AuditTopics = {
        var topics = AuditTopics(partitionCount: 2)

        topics.add("orders 0@0", Line.order("o1", "strawberryBanana"), [trace, own])
        topics.add("orders 0@1", Line.order("o2", "1 strawberry"))
        topics.add("orders 0@3", Line.order("o1", "mango"))
        topics.add("orders 0@4", Line.order("o5", "2 kiwi"), [own, forwarded(from: "1/0")])
        topics["orders 0@4"] = topics["orders 0@4"]?.with(timestamp: 1_000)
        topics.add("orders 0@5", "nope", [own])
        topics.add("orders 0@6", Line.order("o3", "durian"))
        topics.add("restocks 0@0", Line.add("r1", "kiwi -2, strawberry 16"))
        topics.add("restocks 0@1", Line.set("r2", "mango 30"))
        topics.add("restocks 0@2", Line.add("r3", "banana -100"))

        topics.add("results 0@0", Line.claim("till-1", partitions: 2))
        topics.add("results 0@1", Line.position(0, 0))
        topics.add("results 0@2", bananas.at(0), [trace])
        topics.add("results 0@3", Line.short("o2", "strawberry", "strawberry", 16, 0).at(1))
        topics.add("results 0@4", Line.again(bananas).at(3))
        topics.add("results 0@5", Line.made("o5", "2 kiwi", "kiwi 6", "kiwi 4", 2).at(4, from: "1/0"))
        topics.add("results 0@6", Line.restocked("r1", "strawberry 16, kiwi 2", 3).at(0))
        topics.add("results 0@7", Line.restocked("r2", "mango 30", 4).at(1))
        topics.add("results 0@8", Line.deadLetter(5, "notJSON"))
        topics.add("results 0@9", Line.rejected("o3", "unknownJuice").at(6))
        topics.add("results 0@10", Line.position(7, 2, #","forwarded":{"orders/1":0}"#))
        topics.add("results 0@11", Line.rejected("r3", "wouldGoNegative", of: "restockId").at(2))
        topics.add("stock 0@0", Line.stock(1, [0, 9, 10, 10, 10]))
        topics.add("stock 0@2", Line.stock(4, [16, 9, 10, 2, 30]))
        topics.add("dead-letters 0@0", "nope", [own] + reasons("notJSON", 0, 5))

        topics.add("orders 1@0", Line.order("o5", "2 kiwi"), key: first, [own])
        topics.add("orders 1@1", Line.order("o6", "kiwi"), key: first, [forwarded(from: "0/999")])
        topics.add("orders 1@2", Line.order("o7", "4 mangoKiwi"))
        topics.add("orders 1@3", Line.order("o8", "2 mangoKiwi"))
        topics.add("restocks 1@0", Line.add("r1", "pineapple 5"))

        topics.add("results 1@0", Line.claim("till-1", partitions: 2))
        topics.add("results 1@1", Line.note("forwarded", 0, #","to":0"#))
        topics.add("results 1@2", Line.deadLetter(1, "misplaced"))
        let mangos = Line.made("o7", "4 mangoKiwi", "mango 8, kiwi 4", "mango 2, kiwi 6", 1)
        topics.add("results 1@3", mangos.at(2, store: second))
        topics.add("results 1@4", Line.short("o8", "2 mangoKiwi", "mango", 4, 2).at(3, store: second))
        topics.add("results 1@5", Line.restocked("r1", "pineapple 15", 2).at(0, store: second))
        topics.add("stock 1@0", Line.stock(1, [10, 10, 10, 6, 2], store: second))
        topics.add("stock 1@1", Line.stock(2, [10, 10, 15, 6, 2], store: second))
        topics.add(
            "dead-letters 1@0", Line.order("o6", "kiwi"), key: first, [forwarded(from: "0/999")] + reasons("misplaced", 1, 1))
        return topics
    }()
}

extension Audit {
    init(_ lines: [String]) throws { try self.init(of: AuditTopics(lines).completed(), by: Line.rules) }
}

/// Topics, and a part of the text of each fault that must be found in them; none if they keep the contract.
struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let expected: [String]
    let topics: AuditTopics
    let rules: AuditRules

    /// The story with a change.
    init(_ name: String, _ expected: String..., change: (inout AuditTopics) -> Void) {
        var topics = Story.topics
        change(&topics)
        self.init(name, expected, topics)
    }

    init(_ name: String, _ expected: [String], _ story: AuditTopics) {
        (testDescription, self.expected, topics, rules) = (name, expected, story, Story.rules)
    }

    /// The story with a text of a record replaced.
    static func edit(_ place: String, _ text: String, _ other: String, _ expected: String...) -> Case {
        var topics = Story.topics
        topics.replace(place, text, other)
        return Case("\(place): \(text) -> \(other)", expected, topics)
    }

    /// A store's lines.
    init(_ lines: [String], _ name: String = "", _ expected: [String] = []) {
        (testDescription, self.expected, topics, rules) = (name, expected, AuditTopics(lines), Line.rules)
    }

    /// Expects exactly these faults, each once.
    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
        expect(try Audit(of: topics.completed(), by: rules), expected, sourceLocation: sourceLocation)
    }
}

func expect(_ audit: Audit, _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    let faults = audit.faults.map(\.description)
    #expect(faults.count == expected.count, "\(faults)", sourceLocation: sourceLocation)
    for text in expected {
        #expect(faults.contains { $0.contains(text) }, "\(text) is not in \(faults)", sourceLocation: sourceLocation)
    }
}
