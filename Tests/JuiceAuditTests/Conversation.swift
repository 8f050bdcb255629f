@testable import JuiceAudit

/// What one store is asked, and what it answers, line by line: `o` is an order or a cancel, `r` a restock, `a` an answer and
/// `s` the store's stock. The lines are a millisecond apart, unless one begins with a time, such as `@5000`.
struct Conversation {
    private(set) var topics = AuditTopics(
        orders: [[]],
        restocks: [[]],
        results: [[]],
        stock: [[]],
        deadLetters: [[]]
    )
    private var time: Int64 = 1_000

    static let rules = AuditRules(partitionCount: 1, memoryWindow: 1_000, memoryCount: 100)

    init(_ lines: [String]) {
        for line in lines {
            var parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            time += 1
            if parts[0].hasPrefix("@") {
                time = Int64(parts[0].dropFirst()) ?? time
                parts = parts[1].split(separator: " ", maxSplits: 1).map(String.init)
            }
            let value = parts[1]
            switch parts[0] {
            case "o": add(value, to: &topics.orders)
            case "r": add(value, to: &topics.restocks)
            case "a": add(value, to: &topics.results)
            default: add(value, to: &topics.stock)
            }
        }
    }

    private func add(_ value: String, to topic: inout [[AuditRecord]]) {
        let offset = Int64(topic[0].count)
        topic[0].append(Story.record(offset, "g", value).with(timestamp: time))
    }

    var audit: Audit { audit(versions: .current) }

    func audit(versions: AuditRules.Versions) -> Audit {
        var rules = Self.rules
        rules.versions = versions
        return Audit(of: topics, by: rules)
    }
}

// MARK: - Lines

extension Conversation {
    static func order(_ id: String, _ items: String) -> String {
        items.hasPrefix("{")
            ? #"o {"orderId":"\#(id)","items":[\#(items)]}"# : #"o {"orderId":"\#(id)","juice":"\#(items)"}"#
    }

    static func cancel(_ id: String) -> String { #"o {"orderId":"\#(id)","cancel":true}"# }

    static func set(_ id: String, _ fruits: String) -> String {
        #"r {"restockId":"\#(id)","set":{\#(fruits)}}"#
    }

    /// - Parameter items: a basket's items, or the name of a juice that is ordered once.
    static func made(_ id: String, _ items: String, _ used: String, _ left: String, _ revision: Int) -> String
    {
        #"a {"type":"juiceMade","orderId":"\#(id)","store":"g",\#(named(items)),"#
            + #""used":{\#(used)},"left":{\#(left)},"revision":\#(revision),"message":"m"}"#
    }

    static func short(_ id: String, _ items: String, _ fruit: String, _ needed: Int, _ inStock: Int) -> String
    {
        #"a {"type":"outOfStock","orderId":"\#(id)","store":"g",\#(named(items)),"fruit":"\#(fruit)","#
            + #""missing":[{"fruit":"\#(fruit)","needed":\#(needed),"inStock":\#(inStock)}],"message":"m"}"#
    }

    static func restocked(_ id: String, _ left: String, _ revision: Int) -> String {
        #"a {"type":"restocked","restockId":"\#(id)","store":"g","left":{\#(left)},"revision":\#(revision),"message":"m"}"#
    }

    /// - Parameter revision: nil if nothing is returned.
    static func cancelled(
        _ id: String,
        _ returned: String = "",
        _ left: String = "",
        _ revision: Int? = nil
    ) -> String {
        #"a {"type":"cancelled","orderId":"\#(id)","store":"g","returned":{\#(returned)},"left":{\#(left)},"#
            + (revision.map { #""revision":\#($0),"# } ?? "") + #""message":"m"}"#
    }

    static func rejected(_ id: String, _ reason: String) -> String {
        #"a {"type":"rejected","orderId":"\#(id)","store":"g","reason":"\#(reason)","message":"m"}"#
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
