import JuiceEngine
import JuiceMessages

/// The simulation's own judgement of a partition. It shares no code with the engine and the audit, and knows no menu: it reads the
/// bytes of journal and stock with Foundation's JSON reader, and follows offsets, revisions and levels.
///
/// It needs journals from their beginning, so it does not judge runs that lose records, or in which an operator moves positions.
struct SimulatedTruth {
    private let cluster: SimulatedCluster
    private let partition: Int32
    private(set) var faults: [String] = []
    /// The next offset of each input.
    private var next: [Place: Offset] = [:]
    private var revisions: [String: Int] = [:]
    private var levels: [String: [String: Int]] = [:]

    /// A store's initial level of each fruit.
    private static let initialLevel = 10

    init(_ cluster: SimulatedCluster, _ partition: Int32) {
        (self.cluster, self.partition) = (cluster, partition)
        for (offset, record) in cluster[.results, partition].read(ignoringDamage: true).records {
            guard let value = record.value?.view else { continue }
            let members = SimulatedJournal.members(of: value)
            if members.isEmpty { faults.append("truth: results[\(partition)]@\(offset) is not JSON") }
            if let handled = SimulatedJournal.handled(value) {
                handle(Place(topic: handled.topic.topic, partition: handled.partition ?? partition), handled.offset)
            }
            if let store = members["store"] as? String, members["revision"] != nil, members["duplicate"] == nil {
                change(store, members, at: offset)
            }
            if members["type"] as? String == "position" { follow(SimulatedJournal.positions(in: members, of: partition)) }
        }
        checkStock()
    }

    /// Checks that a handled record is the next one of its input.
    private mutating func handle(_ place: Place, _ offset: Offset) {
        let due = cluster[place].read(from: next[place] ?? 0, max: 1).records.first?.offset
        if due != offset { faults.append("truth: \(place)@\(offset) is handled, and \(due ?? -1) is the next one") }
        next[place] = max(next[place] ?? 0, offset + 1)
    }

    /// Checks that a position note neither passes over a committed record nor moves back.
    private mutating func follow(_ noted: [Place: Offset]) {
        for (place, offset) in noted {
            let passed = cluster[place].read(from: next[place] ?? 0, max: 1).records.first?.offset ?? .max
            if passed < offset || offset < next[place] ?? 0 { faults.append("truth: \(place)@\(passed) is passed over") }
            next[place] = max(next[place] ?? 0, offset)
        }
    }

    private mutating func change(_ store: String, _ members: [String: Any], at offset: Offset) {
        let revision = members["revision"] as? Int ?? 0
        if revision != (revisions[store] ?? 0) + 1 {
            faults.append(
                "truth: results[\(partition)]@\(offset): revision \(revision) of \(store) follows \(revisions[store] ?? 0)")
        }
        revisions[store] = revision
        let (used, returned) = (members["used"] as? [String: Int], members["returned"] as? [String: Int])
        for (fruit, level) in members["left"] as? [String: Int] ?? [:] {
            let before = levels[store]?[fruit] ?? Self.initialLevel
            let right = before - (used?[fruit] ?? 0) + (returned?[fruit] ?? 0)
            if used != nil || returned != nil, level != right {
                faults.append(
                    "truth: results[\(partition)]@\(offset): \(store) has \(level) of \(fruit) left, should have \(right)")
            }
            levels[store, default: [:]][fruit] = level
        }
    }

    /// Checks that a store's last stock record has the levels of its answers.
    private mutating func checkStock() {
        var last: [String: [String: Any]] = [:]
        for (_, record) in cluster[.stock, partition].read(ignoringDamage: true).records {
            let members = record.value.map { SimulatedJournal.members(of: $0.view) } ?? [:]
            if let store = members["store"] as? String { last[store] = members }
        }
        for (store, members) in last where members["revision"] as? Int == revisions[store] {
            for (fruit, level) in members["stock"] as? [String: Int] ?? [:]
            where level != levels[store]?[fruit] ?? Self.initialLevel {
                faults.append("truth: stock[\(partition)]: \(store) has \(level) of \(fruit)")
            }
        }
    }
}
