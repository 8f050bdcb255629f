import JuiceAudit

/// Judges restock bots from what is in the topics: each shortage that the answers show is refilled once.
///
/// It knows the contract and the bots' settings, and shares no code with them. A bot names a refill `GROUP/PARTITION-OFFSET`
/// after the answer that showed the shortage, or after the answer to the previous refill. It may send a refill more than once:
/// the first copy counts, the others are repeats. The topics must be complete and all commands answered.
///
/// ```swift
/// let audit = RefillAudit(of: topics, by: RefillAuditRules(group: "juice-restock-bot", low: 5, target: 30))
/// ```
struct RefillAudit: Sendable {
    /// Every shortage that was not refilled once, and every refill without one.
    private(set) var faults: [String] = []
    /// Refills that were made.
    private(set) var refills = 0
    /// Refills that the service rejected.
    private(set) var rejected = 0
    /// Refills that were sent again.
    private(set) var copies = 0
    /// Copies that the service made again, since it had forgotten the first.
    private(set) var forgotten = 0

    private let rules: RefillAuditRules

    /// Audits all restocks and answers.
    init(of topics: AuditTopics, by rules: RefillAuditRules) {
        self.rules = rules
        for (partition, answers) in topics[.results].enumerated() {
            let restocks = partition < topics[.restocks].count ? topics[.restocks][partition] : []
            judge(answers, sent(restocks, partition), partition)
        }
    }

    /// What identifies a refill.
    private struct Name: Hashable {
        let store: [UInt8]
        let id: String
    }

    private struct Store {
        /// The offset of the answer to the last refill.
        var answered: Int64 = -1
        var fruits: [String: Fruit] = [:]
    }

    private struct Fruit {
        var level = 10
        /// The levels in answers since its last refill, that one included.
        var seen: Set<Int> = []
        /// What orders needed in vain, while that is more than there is.
        var needed: Int?
        /// Whether an order found too little since its last refill.
        var wasMissing = false
        /// The level at which a refill of it alone was rejected.
        var refusedAt: Int?

        mutating func update(_ level: Int, needed: Int?, target: Int) {
            self.level = level
            seen.insert(level)
            if refusedAt != level { refusedAt = nil }
            self.needed = [self.needed, needed].compactMap { $0 }.max()
            if let needed = self.needed, level >= min(needed, target) { self.needed = nil }
            if needed != nil { wasMissing = true }
        }

        mutating func refill() { self = Fruit(level: level, seen: [level]) }
    }

    /// The refills of a partition and what the first copy of each adds.
    private mutating func sent(_ restocks: [AuditRecord], _ partition: Int) -> [Name: [String: Int]] {
        var json = JSONReader()
        var sent: [Name: [String: Int]] = [:]
        for record in restocks {
            guard let key = record.key, let value = record.value else { continue }
            value.withUnsafeBufferPointer { value in
                guard json.readObject(value), let id = json.string("restockId"),
                    id.hasPrefix(rules.prefix(partition))
                else { return }
                let name = Name(store: key, id: id)
                if sent[name] == nil { sent[name] = json.amounts("add") } else { copies += 1 }
            }
        }
        return sent
    }

    private mutating func judge(_ answers: [AuditRecord], _ sent: [Name: [String: Int]], _ partition: Int) {
        var json = JSONReader()
        var stores: [[UInt8]: Store] = [:]
        var answered: [Name: Int64] = [:]
        for record in answers {
            guard let key = record.key, let value = record.value else { continue }
            value.withUnsafeBufferPointer { value in
                guard json.readObject(value) else { return }
                // A duplicate repeats old levels.
                guard json.value("duplicate") == nil else { return }
                var store = stores[key] ?? Store()
                let left = json.amounts("left")
                for (fruit, level) in left {
                    store.fruits[fruit, default: Fruit()].update(level, needed: nil, target: rules.target)
                }
                for (fruit, level, needed) in json.missing {
                    store.fruits[fruit, default: Fruit()].update(level, needed: needed, target: rules.target)
                }
                if let id = json.string("restockId"), id.hasPrefix(rules.prefix(partition)) {
                    let name = Name(store: key, id: id)
                    let outcome: Outcome = json.string("type") == "restocked" ? .made : .rejected
                    if let first = answered[name] {
                        judgeAgain(name, first, record, partition, outcome == .made ? Array(left.keys) : [], &store)
                    } else {
                        answered[name] = record.timestamp
                        judge(name, sent[name], record, partition, outcome, &store)
                    }
                    store.answered = record.offset
                }
                stores[key] = store
            }
        }
        for (key, store) in stores { judgeEnd(of: store, quoted(key), partition) }
    }

    /// Judges a refill that was answered before, at `time`. The service makes a copy again that lay unread for longer than it
    /// remembers, and that is not the bots' fault.
    private mutating func judgeAgain(
        _ name: Name, _ time: Int64, _ record: AuditRecord, _ partition: Int, _ fruits: [String], _ store: inout Store
    ) {
        if record.timestamp - time <= rules.memory { report("doubled", partition, record, "\(name.id) is carried out again") }
        forgotten += 1
        for fruit in fruits { store.fruits[fruit]?.refill() }
    }

    /// What became of a refill.
    private enum Outcome { case made, rejected }

    /// Judges the refill of an answer whose levels are already applied.
    private mutating func judge(
        _ name: Name, _ amounts: [String: Int]?, _ record: AuditRecord, _ partition: Int, _ outcome: Outcome, _ store: inout Store
    ) {
        guard let amounts, let origin = Int64(name.id.dropFirst(rules.prefix(partition).count)) else {
            return report("wrong", partition, record, "\(name.id) was never sent")
        }
        if origin < store.answered {
            let problem = "\(name.id) goes back behind the answer to the refill before, at \(store.answered)"
            report("doubled", partition, record, problem)
        }
        switch outcome {
        case .made: refills += 1
        case .rejected: rejected += 1
        }
        for (fruit, amount) in amounts {
            let state = store.fruits[fruit] ?? Fruit()
            if outcome == .made {
                if let problem = problem(of: amount, to: state) {
                    report("wrong", partition, record, "\(fruit) of \(quoted(name.store)): \(problem)")
                }
                store.fruits[fruit]?.refill()
            } else if amounts.count == 1 {
                store.fruits[fruit, default: state].refusedAt = state.level
            }
        }
    }

    /// A refill must be decided by an answer since the previous refill. Two by the same answer would be two for one shortage.
    private func problem(of amount: Int, to fruit: Fruit) -> String? {
        let level = rules.target - amount
        guard fruit.seen.contains(level) else {
            return "\(amount) were added, but there never were \(level) since the refill before"
        }
        return level <= rules.low || fruit.wasMissing ? nil : "\(amount) were added, but \(level) were enough"
    }

    private mutating func judgeEnd(of store: Store, _ name: String, _ partition: Int) {
        for (fruit, state) in store.fruits where state.level <= rules.low || state.needed != nil {
            guard state.refusedAt == nil else { continue }
            let problem = "\(state.level) of \(fruit) are left in \(name), and nothing was refilled"
            faults.append("missing: restocks \(partition): \(problem)")
        }
    }

    private mutating func report(_ category: String, _ partition: Int, _ record: AuditRecord, _ problem: String) {
        faults.append("\(category): results \(partition)@\(record.offset): \(problem)")
    }

    private func quoted(_ store: [UInt8]) -> String { "\"\(String(decoding: store, as: UTF8.self))\"" }
}

/// The restock bots' settings, and what the contract says about copies.
struct RefillAuditRules: Sendable {
    let group: String
    let low: Int
    let target: Int
    /// How long a copy may lie unread and still be recognised as a repeat, in milliseconds.
    let memory: Int64

    /// The rules for bots of this group, which refill a fruit with at most `low` left up to `target`.
    ///
    /// - Parameter memoryWindow: how long the service recognises repeats, in milliseconds.
    init(group: String, low: Int, target: Int, memoryWindow: Int64 = 3_600_000) {
        (self.group, self.low, self.target) = (group, low, target)
        memory = memoryWindow + min(memoryWindow, 300_000)
    }

    func prefix(_ partition: Int) -> String { "\(group)/\(partition)-" }
}

extension JSONReader {
    /// The fruits and amounts of a member; empty if it is not an object.
    fileprivate func amounts(_ name: StaticString) -> [String: Int] {
        var amounts: [String: Int] = [:]
        guard let object = value(name), tokens[object].kind == .object else { return amounts }
        forEachMember(of: object) { name, value in
            amounts[String(decoding: text(name), as: UTF8.self)] = integer(value)
            return true
        }
        return amounts
    }

    /// What an answer reports as missing for its order.
    fileprivate var missing: [(fruit: String, level: Int, needed: Int)] {
        var missing: [(String, Int, Int)] = []
        guard let array = value("missing"), tokens[array].kind == .array else { return missing }
        var element = array + 1
        while element < tokens[array].next {
            if let fruit = value("fruit", of: element).flatMap(string), let level = value("inStock", of: element).flatMap(integer),
                let needed = value("needed", of: element).flatMap(integer)
            {
                missing.append((String(decoding: fruit, as: UTF8.self), level, needed))
            }
            element = tokens[element].next
        }
        return missing
    }
}
