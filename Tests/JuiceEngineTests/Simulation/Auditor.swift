import Foundation

@testable import JuiceEngine

/// The contract in its own words, independent of the modules that implement it.
enum Contract {
    static let fruits = ["strawberry", "banana", "pineapple", "kiwi", "mango"]
    static let recipes: [String: [String: Int]] = [
        "strawberry": ["strawberry": 16],
        "banana": ["banana": 2],
        "kiwi": ["kiwi": 3],
        "pineapple": ["pineapple": 2],
        "strawberryBanana": ["strawberry": 10, "banana": 1],
        "mango": ["mango": 3],
        "mangoKiwi": ["mango": 2, "kiwi": 1],
    ]
}

/// Replays the committed topics against the contract. It knows nothing of the engine, and reads JSON with
/// Foundation rather than with the decoder under test.
struct Auditor {
    let cluster: SimulatedCluster
    let sent: [Int32: [(topic: InputTopic, id: String)]]

    private typealias Object = [String: Any]

    /// - Returns: every way in which the topics break the contract; empty when they keep it.
    func audit() -> [String] {
        (0..<cluster.partitionCount).flatMap(audit(partition:))
    }

    private func audit(partition: Int32) -> [String] {
        var faults: [String] = []
        let commands = commands(partition)
        var answered: Set<String> = []
        var stores: [String: [String: Int]] = [:]
        var revisions: [String: Int] = [:]

        for answer in objects(.results, partition) {
            let id = (answer["orderId"] ?? answer["restockId"]) as? String ?? ""
            guard let command = commands[id] else {
                faults.append("an answer to the unknown command \(id)")
                continue
            }
            guard answered.insert(id).inserted else {
                faults.append("command \(id) is answered twice")
                continue
            }
            let store = command.store
            var stock = stores[store] ?? Dictionary(uniqueKeysWithValues: Contract.fruits.map { ($0, 10) })
            let expected = Self.replay(command.body, on: &stock)
            if answer["type"] as? String != expected.type {
                faults.append("command \(id): not \(expected.type)")
            }
            if let left = answer["left"] as? [String: Int],
                left.contains(where: { stock[$0.key] != $0.value })
            {
                faults.append("command \(id): left \(left) where the replay has \(stock)")
            }
            if stock.values.contains(where: { $0 < 0 }) { faults.append("store \(store) is below zero") }
            if expected.changes {
                stores[store] = stock
                revisions[store, default: 0] += 1
            }
        }
        for command in sent[partition] ?? [] where !answered.contains(command.id) {
            faults.append("command \(command.id) has no answer")
        }
        return faults + auditStock(partition, stores, revisions)
    }

    private func auditStock(
        _ partition: Int32,
        _ stores: [String: [String: Int]],
        _ revisions: [String: Int]
    ) -> [String] {
        var last: [String: Object] = [:]
        for record in objects(.stock, partition) { last[record["store"] as? String ?? ""] = record }
        var faults: [String] = []
        for (store, stock) in stores {
            if last[store]?["stock"] as? [String: Int] != stock {
                faults.append("store \(store): the stock topic says otherwise than the replay")
            }
            if last[store]?["revision"] as? Int != revisions[store] {
                faults.append("store \(store): wrong revision")
            }
        }
        for store in last.keys where stores[store] == nil { faults.append("store \(store) never changed") }
        return faults
    }

    private static func replay(_ body: Object, on stock: inout [String: Int]) -> (type: String, changes: Bool)
    {
        if let juice = body["juice"] as? String {
            guard let recipe = Contract.recipes[juice] else { return ("rejected", false) }
            let quantity = body["quantity"] as? Int ?? 1
            guard recipe.allSatisfy({ stock[$0.key, default: 0] >= $0.value * quantity }) else {
                return ("outOfStock", false)
            }
            for (fruit, amount) in recipe { stock[fruit, default: 0] -= amount * quantity }
            return ("juiceMade", true)
        }
        var next = stock
        for (fruit, step) in body["add"] as? [String: Int] ?? [:] { next[fruit, default: 0] += step }
        for (fruit, level) in body["set"] as? [String: Int] ?? [:] { next[fruit] = level }
        guard next.values.allSatisfy({ (0...1_000_000_000).contains($0) }) else { return ("rejected", false) }
        stock = next
        return ("restocked", true)
    }

    private func commands(_ partition: Int32) -> [String: (store: String, body: Object)] {
        var commands: [String: (String, Object)] = [:]
        for topic in [SimulatedCluster.Topic.orders, .restocks] {
            for (_, record) in cluster[topic, partition].readCommitted(from: 0).records {
                let body = Self.object(record.value)
                let id = (body["orderId"] ?? body["restockId"]) as? String ?? ""
                commands[id] = (record.key.map { String(decoding: $0.view, as: UTF8.self) } ?? "main", body)
            }
        }
        return commands
    }

    private func objects(_ topic: SimulatedCluster.Topic, _ partition: Int32) -> [Object] {
        cluster[topic, partition].readCommitted(from: 0).records.map { Self.object($0.1.value) }
    }

    private static func object(_ bytes: StableBytes?) -> Object {
        let data = Data(bytes.map { Array($0.view) } ?? [])
        return (try? JSONSerialization.jsonObject(with: data)) as? Object ?? [:]
    }
}
