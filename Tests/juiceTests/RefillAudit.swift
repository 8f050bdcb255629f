import Foundation
import JuiceMessages
import Testing

@testable import juice

/// Judges restock bots by the committed records alone: restocks and answers, in the order of their partitions.
struct RefillAudit {
    private(set) var faults: [String] = []
    private(set) var refills = 0
    private(set) var orders = 0
    private(set) var outOfStock = 0

    private let rules: (low: Int, target: Int)
    private var stores: [String: Store] = [:]

    private struct Store {
        /// In the order in which they were sent.
        var sent: [(id: String, amounts: [String: Int])] = []
        /// How many of them are answered, and where the last answer was.
        var answered = 0
        var lastAnswer: Int64 = -1
        var fruits: [String: Fruit] = [:]
    }

    private struct Fruit {
        var level = 10
        /// The levels that answers told since the last refill.
        var seen: Set<Int> = []
        /// Whether an order found too little of it since then.
        var wasShort = false
    }

    init(_ connection: Connection, group: String, low: Int, target: Int) throws {
        rules = (low, target)
        for record in try Self.read(connection, connection.topics.restocks) {
            let command = try #require(
                JSONSerialization.jsonObject(with: Data(record.value)) as? [String: Any]
            )
            let id = try #require(command["restockId"] as? String)
            #expect(id.hasPrefix(group + "/"))
            stores[record.store, default: Store()].sent.append(
                (id, try #require(command["add"] as? [String: Int]))
            )
            refills += 1
        }
        let decoder = AnswerDecoder()
        for record in try Self.read(connection, connection.topics.results) {
            let answer = try record.value.withUnsafeBytes { try decoder.decode($0) }
            var store = stores[record.store] ?? Store()
            take(answer, at: record.offset, &store)
            stores[record.store] = store
        }
        for (name, store) in stores {
            if store.answered != store.sent.count {
                faults.append("\(name): \(store.sent.count) refills, \(store.answered) answers")
            }
            for (fruit, state) in store.fruits where state.level <= low {
                faults.append("\(name): \(state.level) \(fruit) were left")
            }
        }
    }

    private mutating func take(_ answer: Answer, at offset: Int64, _ store: inout Store) {
        if answer.isDuplicate { faults.append("\(answer.store): \(answer.id) was sent twice") }
        switch answer.outcome {
        case .juiceMade(_, _, _, let left):
            for entry in left { note(entry.amount, &store.fruits[entry.fruit, default: Fruit()]) }
        case .outOfStock(_, _, let missing):
            outOfStock += 1
            for entry in missing {
                note(entry.inStock, &store.fruits[entry.fruit, default: Fruit()])
                store.fruits[entry.fruit]?.wasShort = true
            }
        case .rejected:
            if answer.command == .restock { faults.append("\(answer.store): \(answer.id) was rejected") }
        case .restocked(let left): refilled(answer, left, at: offset, &store)
        }
        if answer.command == .order { orders += 1 }
    }

    private func note(_ level: Int, _ fruit: inout Fruit) {
        fruit.level = level
        fruit.seen.insert(level)
    }

    private mutating func refilled(
        _ answer: Answer,
        _ left: [FruitAmount],
        at offset: Int64,
        _ store: inout Store
    ) {
        guard store.answered < store.sent.count, store.sent[store.answered].id == answer.id else {
            faults.append("\(answer.store): \(answer.id) was answered out of turn")
            return
        }
        let refill = store.sent[store.answered]
        // It says itself how far its sender had read: past the answer to the one before.
        let position = answer.id.split(separator: "-").last.flatMap { Int64($0) } ?? -1
        if position <= store.lastAnswer { faults.append("\(answer.store): \(answer.id) was sent too early") }
        store.answered += 1
        store.lastAnswer = offset
        for entry in left {
            let fruit = store.fruits[entry.fruit] ?? Fruit()
            let amount = refill.amounts[entry.fruit] ?? 0
            let place = "\(answer.store): \(answer.id) \(entry.fruit)"
            if entry.amount != fruit.level + amount {
                faults.append("\(place): \(fruit.level) + \(amount) = \(entry.amount)")
            }
            // What it was decided on was told since the refill before. Two for one shortage would be decided on the same.
            let decidedOn = rules.target - amount
            if !fruit.seen.contains(decidedOn) { faults.append("\(place): there were never \(decidedOn)") }
            if decidedOn > rules.low, !fruit.wasShort { faults.append("\(place): \(decidedOn) were enough") }
            if entry.amount > rules.target { faults.append("\(place): \(entry.amount) are too many") }
            store.fruits[entry.fruit] = Fruit(level: entry.amount, seen: [entry.amount])
        }
    }

    private struct Record {
        let store: String
        let value: [UInt8]
        let offset: Int64
    }

    /// Everything that is committed, in order within each partition.
    private static func read(_ connection: Connection, _ topic: String) throws -> [Record] {
        let reader = try TopicReader(connection, topic: topic, deadline: Deadline(after: .seconds(30)))
        var records: [Record] = []
        try reader.read(reader.watermarks.mapValues { $0.low..<$0.high }, patience: .seconds(30)) { record in
            guard let key = record.key, let value = record.value else { return }
            records.append(
                Record(
                    store: String(decoding: key, as: UTF8.self),
                    value: Array(value),
                    offset: record.offset
                )
            )
        }
        return records
    }
}
