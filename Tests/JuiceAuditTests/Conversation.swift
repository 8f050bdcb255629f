@testable import JuiceAudit

/// What one store is asked, and what the journal says, line by line: `o` is an order or a cancel, `r` a restock, `a` an answer, `n`
/// a note, `s` the store's stock and `-` nothing but an offset of a topic.
///
/// The lines are a millisecond apart, unless one begins with a time, such as `@5000`. The journal begins with a claim. An answer
/// that names no offset is that of the last command of its topic.
struct Conversation {
    private(set) var topics = AuditTopics(orders: [[]], restocks: [[]], results: [[]], stock: [[]], deadLetters: [[]])
    private var time: Int64 = 1_000
    private var offsets: [AuditTopic: Int64] = [:]

    static let rules = AuditRules(partitionCount: 1, memoryWindow: 1_000, memoryCount: 100)

    init(_ lines: [String]) {
        add(Line.claim, to: .results)
        for line in lines {
            var parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            time += 1
            if parts[0].hasPrefix("@") {
                time = Int64(parts[0].dropFirst()) ?? time
                parts = parts[1].split(separator: " ", maxSplits: 1).map(String.init)
            }
            let value = parts[1]
            switch parts[0] {
            case "o": add(value, to: .orders)
            case "r": add(value, to: .restocks)
            case "a": add(answer(value), to: .results)
            case "n": add(value, to: .results)
            case "s": add(value, to: .stock)
            default: offsets[AuditTopic(rawValue: value) ?? .orders, default: 0] += 1
            }
        }
    }

    private func answer(_ value: String) -> String {
        guard !value.contains(#""offset""#) else { return value }
        let topic: AuditTopic = value.contains(#""restockId""#) ? .restocks : .orders
        return value.replacing(#""store":"g""#, with: #""store":"g","offset":\#((offsets[topic] ?? 0) - 1)"#, maxReplacements: 1)
    }

    private mutating func add(_ value: String, to topic: AuditTopic) {
        let offset = offsets[topic] ?? 0
        offsets[topic] = offset + 1
        let isNote = topic == .results && !value.contains(#""store""#)
        topics[records: topic][0].append(Story.record(offset, isNote ? nil : "g", value).with(timestamp: time))
    }

    var audit: Audit { Audit(of: topics, by: Self.rules) }

    /// What the faults say.
    var faults: [String] { audit.faults.map(\.description) }
}

/// Lines of a conversation.
enum Line {
    static let claim = claim("till-1")

    static func claim(_ instance: String, set: Int = 0, since: Int = 0, group: String = "juice-maker") -> String {
        #"{"type":"claim","ids":\#(ids(instance, set: set, group)),"since":\#(since),"group":"\#(group)","#
            + #""instance":"\#(instance)","partitions":1}"#
    }

    static func ids(_ instance: String, set: Int = 0, _ group: String = "juice-maker") -> String {
        #"["\#(group)/\#(instance)/0/\#(set)/0","\#(group)/\#(instance)/0/\#(set)/1"]"#
    }

    /// A position note of the first claim, unless another is named.
    static func position(_ positions: String, claim: Int = 0, ids: String = ids("till-1"), _ more: String = "") -> String {
        #"n {"type":"position",\#(positions),"stock":0,"claim":\#(claim),"ids":\#(ids)\#(more)}"#
    }

    static func anchored(_ offset: Int, topic: String = "orders") -> String {
        #"n {"type":"anchored","topic":"\#(topic)","offset":\#(offset),"by":"root@host","reason":"a test"}"#
    }

    static func order(_ id: String, _ items: String) -> String {
        items.hasPrefix("{")
            ? #"o {"orderId":"\#(id)","items":[\#(items)]}"# : #"o {"orderId":"\#(id)","juice":"\#(items)"}"#
    }

    static func cancel(_ id: String) -> String { #"o {"orderId":"\#(id)","cancel":true}"# }

    static func set(_ id: String, _ fruits: String) -> String {
        #"r {"restockId":"\#(id)","set":{\#(fruits)}}"#
    }

    /// - Parameter items: a basket's items, or the name of a juice that is ordered once.
    static func made(_ id: String, _ items: String, _ used: String, _ left: String, _ revision: Int) -> String {
        #"a {"type":"juiceMade","orderId":"\#(id)","store":"g",\#(named(items)),"#
            + #""used":{\#(used)},"left":{\#(left)},"revision":\#(revision),"message":"m"}"#
    }

    static func short(_ id: String, _ items: String, _ fruit: String, _ needed: Int, _ inStock: Int) -> String {
        #"a {"type":"outOfStock","orderId":"\#(id)","store":"g",\#(named(items)),"fruit":"\#(fruit)","#
            + #""missing":[{"fruit":"\#(fruit)","needed":\#(needed),"inStock":\#(inStock)}],"message":"m"}"#
    }

    static func restocked(_ id: String, _ left: String, _ revision: Int) -> String {
        #"a {"type":"restocked","restockId":"\#(id)","store":"g","left":{\#(left)},"revision":\#(revision),"message":"m"}"#
    }

    /// - Parameter revision: nil if nothing is returned.
    static func cancelled(_ id: String, _ returned: String = "", _ left: String = "", _ revision: Int? = nil) -> String {
        #"a {"type":"cancelled","orderId":"\#(id)","store":"g","returned":{\#(returned)},"left":{\#(left)},"#
            + (revision.map { #""revision":\#($0),"# } ?? "") + #""message":"m"}"#
    }

    static func rejected(_ id: String, _ reason: String) -> String {
        #"a {"type":"rejected","orderId":"\#(id)","store":"g","# + (reason == "wouldOverflow" ? #""cancel":true,"# : "")
            + #""reason":"\#(reason)","message":"m"}"#
    }

    static func again(_ answer: String) -> String {
        answer.replacing(#","orderId""#, with: #","duplicate":true,"orderId""#)
    }

    /// - Parameter levels: of strawberries, bananas, pineapples, kiwis and mangos.
    static func stock(_ revision: Int, _ levels: [Int]) -> String {
        "s " + Story.stock("g", revision, levels)
    }

    private static func named(_ items: String) -> String {
        items.hasPrefix("{") ? #""items":[\#(items)]"# : #""juice":"\#(items)","quantity":1"#
    }
}
