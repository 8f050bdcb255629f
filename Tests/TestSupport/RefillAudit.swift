import JuiceAudit

/// Judges restock bots from what is in the topics: each shortage that the answers show is refilled once.
///
/// It knows the contract and the bots' settings, and shares no code with them. A bot names a refill `GROUP/PARTITION-OFFSET`
/// after the answer that showed the shortage, or after the answer to the previous refill. It may send a refill more than once:
/// the first copy counts, the others are repeats. The topics must be complete and all commands answered.
package struct RefillAudit: Sendable {
    /// Every shortage that was not refilled once, and every refill without one.
    package private(set) var faults: [String] = []
    /// Refills that were made.
    package private(set) var refills = 0
    /// Refills that were sent again.
    package private(set) var copies = 0

    private let group: String
    private let low: Int
    private let target: Int

    /// How long a copy may lie unread and still be recognised as a repeat, in milliseconds.
    private static let memory: Int64 = 3_600_000 + 300_000

    /// Audits all restocks and answers, by partition, for bots of this group, which refill a fruit with at most `low` left up to
    /// `target`.
    package init(restocks: [[AuditRecord]], answers: [[AuditRecord]], group: String, low: Int, target: Int) {
        (self.group, self.low, self.target) = (group, low, target)
        for (partition, answers) in answers.enumerated() {
            judge(answers, restocks.indices.contains(partition) ? sent(restocks[partition], partition) : [:], partition)
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
        /// The level at which a refill of its store was rejected.
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

        var refused: Fruit {
            var fruit = self
            (fruit.refusedAt, fruit.needed) = (level, nil)
            return fruit
        }
    }

    private func prefix(_ partition: Int) -> String { "\(group)/\(partition)-" }

    /// The refills of a partition and what the first copy of each adds.
    private mutating func sent(_ restocks: [AuditRecord], _ partition: Int) -> [Name: [String: Int]] {
        var json = JSONReader()
        var sent: [Name: [String: Int]] = [:]
        for record in restocks {
            json.readObject(of: record) { json, store in
                guard let id = json.string("restockId"), id.hasPrefix(prefix(partition)) else { return }
                let name = Name(store: store, id: id)
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
            json.readObject(of: record) { json, key in
                // A duplicate repeats old levels.
                guard json.value("duplicate") == nil else { return }
                var store = stores[key] ?? Store()
                let left = json.amounts("left")
                for (fruit, level) in left { store.fruits[fruit, default: Fruit()].update(level, needed: nil, target: target) }
                for (fruit, level, needed) in json.missing {
                    store.fruits[fruit, default: Fruit()].update(level, needed: needed, target: target)
                }
                if let id = json.string("restockId"), id.hasPrefix(prefix(partition)) {
                    let name = Name(store: key, id: id)
                    let isMade = json.string("type") == "restocked"
                    if let first = answered[name] {
                        // The service makes a copy again that lay unread for longer than it remembers.
                        if record.timestamp - first <= Self.memory {
                            report("doubled", record, partition, "\(id) is carried out again")
                        }
                        if isMade { for fruit in left.keys { store.fruits[fruit]?.refill() } }
                    } else {
                        answered[name] = record.timestamp
                        judge(name, sent[name], isMade: isMade, record, partition, &store)
                    }
                    store.answered = record.offset
                }
                stores[key] = store
            }
        }
        for (name, store) in stores { judgeEnd(of: store, name, partition) }
    }

    /// Judges the refill of an answer whose levels are already applied.
    private mutating func judge(
        _ name: Name, _ amounts: [String: Int]?, isMade: Bool, _ record: AuditRecord, _ partition: Int, _ store: inout Store
    ) {
        guard let amounts, let origin = Int64(name.id.dropFirst(prefix(partition).count)) else {
            return report("wrong", record, partition, "\(name.id) was never sent")
        }
        if origin < store.answered {
            let problem = "\(name.id) goes back behind the answer to the refill before, at \(store.answered)"
            report("doubled", record, partition, problem)
        }
        if isMade { refills += 1 }
        for (fruit, amount) in amounts {
            let state = store.fruits[fruit] ?? Fruit()
            if isMade {
                if let problem = problem(of: amount, to: state) {
                    report("wrong", record, partition, "\(fruit) of \(quoted(name.store)): \(problem)")
                }
                store.fruits[fruit]?.refill()
            }
        }
        // What was short waits until an order shows it again.
        if !isMade { store.fruits = store.fruits.mapValues { $0.refused } }
    }

    /// A refill must be decided by an answer since the previous refill. Two by the same answer would be two for one shortage.
    private func problem(of amount: Int, to fruit: Fruit) -> String? {
        let level = target - amount
        guard fruit.seen.contains(level) else {
            return "\(amount) were added, but there never were \(level) since the refill before"
        }
        return level <= low || fruit.wasMissing ? nil : "\(amount) were added, but \(level) were enough"
    }

    private mutating func judgeEnd(of store: Store, _ name: [UInt8], _ partition: Int) {
        for (fruit, state) in store.fruits where (state.level <= low || state.needed != nil) && state.refusedAt == nil {
            let problem = "\(state.level) of \(fruit) are left in \(quoted(name)), and nothing was refilled"
            faults.append("missing: restocks \(partition): \(problem)")
        }
    }

    private mutating func report(_ category: String, _ record: AuditRecord, _ partition: Int, _ problem: String) {
        faults.append("\(category): results \(partition)@\(record.offset): \(problem)")
    }

    private func quoted(_ store: [UInt8]) -> String { "\"\(String(decoding: store, as: UTF8.self))\"" }
}

extension JSONReader {
    /// Reads a record's value, if it is an object and the record names a store.
    fileprivate mutating func readObject(of record: AuditRecord, _ body: (JSONReader, _ store: [UInt8]) -> Void) {
        guard let store = record.key, let value = record.value else { return }
        value.withUnsafeBufferPointer { if readObject($0) { body(self, store) } }
    }

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
        guard let array = value("missing"), tokens[array].kind == .array else { return [] }
        let elements = sequence(first: array + 1) { tokens[$0].next }.prefix { $0 < tokens[array].next }
        return elements.compactMap { element in
            guard let fruit = value("fruit", of: element).flatMap(string),
                let level = value("inStock", of: element).flatMap(integer),
                let needed = value("needed", of: element).flatMap(integer)
            else { return nil }
            return (String(decoding: fruit, as: UTF8.self), level, needed)
        }
    }
}
