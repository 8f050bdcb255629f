import JuiceMessages

@testable import JuiceEngine

/// A seeded random number generator (SplitMix64): the same seed, the same run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Up to three workers, clients, and a scheduler that decides by chance who does the next thing and what fails.
struct Simulation {
    private let cluster = SimulatedCluster(partitionCount: 3)
    private var random: SeededGenerator
    private var workers: [String: Harness] = [:]
    private var sent: [Int32: [(topic: InputTopic, id: String)]] = [:]
    private var commandCount = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private mutating func chance(_ percent: Double) -> Bool {
        Double.random(in: 0..<100, using: &random) < percent
    }

    private mutating func pick<Choice>(_ choices: [Choice]) -> Choice? {
        choices.randomElement(using: &random)
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps {
            if chance(30) { sendCommand() }
            if chance(3) { startOrCrash() }
            if chance(1) { timeOutTransaction() }
            if chance(50) { writeMarker() }
            guard let name = pick(workers.keys.sorted()), let worker = workers[name] else { continue }
            injectFault(worker)
            worker.step()
        }
    }

    private mutating func sendCommand() {
        commandCount += 1
        let partition = Int32.random(in: 0..<3, using: &random)
        let store = "store-\(partition)-\(Int.random(in: 0..<3, using: &random))"
        let id = "\(commandCount)"
        if chance(25) {
            let fruit = pick(["strawberry", "banana", "pineapple", "kiwi", "mango"]) ?? ""
            let body =
                chance(70)
                ? #""add":{"\#(fruit)":\#(Int.random(in: -5..<20, using: &random))}"#
                : #""set":{"\#(fruit)":\#(Int.random(in: 0..<30, using: &random))}"#
            cluster.restock(id, body, store: store, partition: partition)
            sent[partition, default: []].append((.restocks, id))
        } else {
            let juice = pick(Contract.recipes.keys.sorted() + ["durian"]) ?? ""
            cluster.order(
                id,
                juice,
                store: store,
                quantity: Int.random(in: 1...2, using: &random),
                partition: partition
            )
            sent[partition, default: []].append((.orders, id))
        }
    }

    private mutating func startOrCrash() {
        let name = "worker-\(Int.random(in: 0..<3, using: &random))"
        if workers.removeValue(forKey: name) != nil {
            // A crash: the group notices some time later or, as often, at once.
            if chance(50) { cluster.remove(name) }
        } else {
            workers[name] = Harness(cluster, member: name, maxBatch: 5)
        }
    }

    private mutating func timeOutTransaction() {
        guard let id = pick(cluster.coordinations.keys.sorted()) else { return }
        cluster.timeOut(id)
    }

    private mutating func writeMarker() {
        let due = cluster.coordinations.keys.sorted().filter(cluster.hasUnwrittenMarkers)
        guard let id = pick(due), let count = cluster.coordinations[id]?.unwrittenMarkers.count else {
            return
        }
        cluster.writeMarker(id, at: Int.random(in: 0..<count, using: &random))
    }

    private mutating func injectFault(_ worker: Harness) {
        worker.log.fault = { _ in nil }
        worker.log.lostReply = { _ in nil }
        guard chance(8) else { return }
        let call = pick(SimulatedLog.Call.allCases) ?? .commit
        let remedies: [LogError.Remedy] =
            call == .produce ? [.abort, .startOver] : [.abort, .retry, .startOver]
        let remedy = pick(remedies) ?? .retry
        if [.sendOffsets, .commit, .abort].contains(call), chance(50) {
            // What happened cannot be told to be aborted: only asked for again, or looked up.
            let remedy: LogError.Remedy = chance(50) ? .retry : .startOver
            worker.loseReply(of: call, with: LogError(remedy, "injected"))
        } else {
            worker.fail(call, with: LogError(remedy, "injected"))
        }
    }

    /// Ends all faults, lets the workers catch up, and compares what is committed with what was sent.
    mutating func settleAndAudit() -> [String] {
        for id in cluster.coordinations.keys.sorted() { cluster.timeOut(id) }
        for member in cluster.members where workers[member] == nil { cluster.remove(member) }
        if workers.isEmpty { workers["last"] = Harness(cluster, member: "last") }
        for round in 0..<400 {
            cluster.writeAllMarkers()
            for name in workers.keys.sorted() {
                workers[name]?.log.fault = { _ in nil }
                workers[name]?.log.lostReply = { _ in nil }
                workers[name]?.step()
            }
            // Enough for every worker to be told of the last rebalance, to restore and to drain its partitions.
            if round > 100, isDrained { break }
        }
        return isDrained ? Auditor(cluster: cluster, sent: sent).audit() : ["commands are still unread"]
    }

    private var isDrained: Bool {
        (0..<cluster.partitionCount).allSatisfy { partition in
            [SimulatedCluster.Topic.orders, .restocks].allSatisfy {
                cluster.committedOffsets[.init(topic: $0, partition: partition), default: 0]
                    == cluster[$0, partition].end
            }
        }
    }
}
